"""Exploration of branches: the sets of points that have the same variables, because the same conditions hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Batch, HasVariables, HistoryView, Point
from bostruct.domains.space.variable import ABSENT, Variable

N_DRAWN = 256  # points that show which branches there are


def list_branches(domain: HasVariables[Variable], xs: Batch) -> list[Hashable]:
    """Return the branch of each of m points, equal for points that have the same variables.

    domain: of variables.
    xs: m points.
    """
    widths = np.array([one.width for one in domain.variables.values()])
    exists = np.asarray(xs)[:, np.cumsum(widths) - widths] != ABSENT
    return [row.tobytes() for row in np.packbits(exists, axis=1)]


@dataclass(frozen=True)
class BranchExploration:
    """A rule that explores the branch with the fewest trials while nothing better is found.

    A few bad values of a branch make a model expect little of all of it. Then the search would never see the small
    region where such a branch is best. Where the model is least sure are the corners of the branch, and optima are
    rarely there, so the point is drawn at random.

    every: after the best value, one of so many suggestions explores, at least 1.

    Raises TypeError, ValueError.
    """

    every: int = 4

    def __post_init__(self) -> None:
        check_integer("every", self.every, 1)

    def __call__(
        self, domain: HasVariables[Variable], history: HistoryView, rng: np.random.Generator
    ) -> tuple[Point, str] | None:
        """Return a random unseen point of the branch with the fewest trials, and why; None where it is not its turn.

        domain: of variables.
        history: all that was told so far, at least one value.
        rng: the only source of chance.
        """
        since_best = len(history.seen) - 1 - int(np.argmin(history.values))
        if since_best < 1 or since_best % self.every:
            return None
        tried = domain.join(history.completed, history.running, history.failed)
        trials = Counter(list_branches(domain, tried))
        drawn = domain.sample(N_DRAWN, rng)
        fresh = [i for i, key in enumerate(domain.keys(drawn)) if key not in history.seen]
        if not fresh:
            return None
        branches = list_branches(domain, drawn)
        chosen = min(fresh, key=lambda i: trials[branches[i]])
        return drawn[chosen], f"{trials[branches[chosen]]} trials so far have the variables that it has"
