"""Exploration of branches: the sets of points that have the same variables, because the same conditions hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_integer
from bostruct.contracts import Array, Batch, Domain, HistoryView, State
from bostruct.domains.space.single_changes import Layout
from bostruct.domains.space.variable import ABSENT
from bostruct.methods.progress import recall_best
from bostruct.searchers.bayesian import Explored

CANDIDATES = 256  # random points, which show the branches
PROGRESS = 0.01  # of the distance from the median value to the best: a smaller gain is none


def has_conditions(domain: Domain) -> bool:
    """Tell whether points of a domain, or of its parts, differ in which variables they have.

    domain: any.
    """
    if domain.variables:
        return any(one.when for one in domain.variables.values())
    return any(map(has_conditions, domain.parts.values()))


def label_branches(domain: Domain, xs: Batch) -> list[Hashable]:
    """Return a label of the branch of each of m points, equal for points that have the same variables.

    domain: any; where neither it nor its parts have variables, all points are of one branch.
    xs: m points.
    """
    return [row.tobytes() for row in np.packbits(_find_variables(domain, xs), axis=1)]


def _find_variables(domain: Domain, xs: Batch) -> npt.NDArray[np.bool_]:
    """Tell of each of m points which variables it has (m, d), part by part."""
    if domain.variables:
        layout = Layout(tuple(one.width for one in domain.variables.values()))
        return np.asarray(xs)[:, layout.starts] != ABSENT
    if domain.parts:
        return np.hstack([_find_variables(part, domain.part(name, xs)) for name, part in domain.parts.items()])
    return np.ones((len(xs), 0), dtype=np.bool_)


@dataclass(frozen=True)
class BranchExploration:
    """A rule that explores the branch with the fewest trials while nothing better is found.

    A few bad values of a branch make a model expect little of all of it. Then the search would never see the small
    region where such a branch is best. Where the model is least sure are the corners of the branch, and optima are
    rarely there, so the point is drawn at random. The branches are those of 256 random points; a rarer one is not seen.

    Better means by at least a hundredth of the distance from the median value to the best.

    every: of so many suggestions without a better value the last one explores, at least 2.

    Raises TypeError, ValueError.
    """

    every: int = 4

    def __post_init__(self) -> None:
        check_integer("every", self.every, 2)

    def __call__(self, domain: Domain, history: HistoryView, state: State, rng: np.random.Generator) -> Explored:
        """Return a random unseen point of the branch with the fewest trials, where it is its turn.

        It is not where all unseen points drawn are of one branch.

        domain: any.
        history: all that was told so far, at least one value.
        state: what the last call returned; None for the first.
        rng: the only source of chance.
        """
        values = history.values
        memory = {"told": len(values), "asked": 1}
        if state is not None and np.min(values) >= recall_best(state, values) - PROGRESS * _reach(values):
            memory = state | {"asked": state["asked"] + 1}
        asked = memory["asked"]
        if asked % self.every:
            return Explored(None, memory)
        drawn = domain.sample(CANDIDATES, rng)
        branches = label_branches(domain, drawn)
        tried = domain.join(history.completed, history.running, history.failed)
        trials = Counter(label_branches(domain, tried))
        order = sorted(range(len(drawn)), key=lambda i: trials[branches[i]])
        fresh = (i for i in order if domain.key(drawn[i]) not in history.seen)
        chosen = next(fresh, None)
        if chosen is None or all(branches[i] == branches[chosen] for i in fresh):
            return Explored(None, memory)
        count = f"{trials[branches[chosen]]} of {len(tried)}"
        return Explored(
            drawn[chosen], memory, f"no better value in {asked - 1} suggestions; {count} trials were in this branch"
        )


def explore_branches(domain: Domain) -> BranchExploration | None:
    """Return the rule for a domain: None where all points have the same variables.

    domain: any.
    """
    return BranchExploration() if has_conditions(domain) else None


def _reach(values: Array) -> float:
    """Return the distance from the median value to the best."""
    return float(np.median(values) - np.min(values))
