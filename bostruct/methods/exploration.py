"""Rules of exploration: points on new branches or mutations of the best point replace the model's suggestions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bostruct.acquisition.pseudo_boolean import SemidefiniteRelaxation
from bostruct.checks import check_integer, check_number
from bostruct.contracts import BRANCH_REASON, Array, Batch, Domain, HistoryView, Point, Searcher, State
from bostruct.domains.space.single_changes import Layout
from bostruct.domains.space.variable import INACTIVE
from bostruct.methods.defaults import has_schedules
from bostruct.searchers.bayesian import Exploration, ExplorationStep
from bostruct.searchers.bocs import BOCS
from bostruct.searchers.proposals import mutate_unseen
from bostruct.surrogates.horseshoe import Monomials, RidgeRegression

CANDIDATES = 256  # random points, from which the branches are found
PROGRESS = 0.01  # share of the distance from the median value to the best: a smaller gain is ignored
Counts = list[list[float]]
WAIT, EVERY = 10, 3  # suggestions without a better value before a second search; of these, the last one is its own
FEWEST_BITS, MOST_PAIRED, MOST_BITS = 20, 60, 1_000  # variables of a regression, and those of which it has pairs
MUTATION_TRIES = 20  # mutations, of which the first unseen point is suggested
PRIOR = ((2.0, 1.0), (1.0, 2.0))  # gains and failures of the model, and of mutations, before the first suggestion
START: Counts = [[0.0, 0.0], [0.0, 0.0]]  # gains and failures of the model, and of mutations


@dataclass(frozen=True)
class BranchExploration(Exploration):
    """A rule that explores the branch with the fewest trials while nothing better is found.

    After a few bad values in a branch, a model expects bad values in all of it. Then the search would never reach a
    small region of the branch that contains the optimum. The point is drawn at random, because the model is least
    certain at the corners of the branch, and optima are rarely there. Branches that 256 random points miss are ignored.

    A value is better if it gains at least a hundredth of the distance from the median value to the best.

    every: number of suggestions without a better value, of which the last one explores, at least 2.

    Raises TypeError, ValueError.
    """

    every: int = 4

    def __post_init__(self) -> None:
        check_integer("every", self.every, 2)

    def __call__(self, domain: Domain, history: HistoryView, state: State, rng: np.random.Generator) -> ExplorationStep:
        """Return a random unseen point of the branch with the fewest trials, if exploration is due.

        No point is returned if all unseen points drawn are in one branch.

        history: all observations so far, at least one value.
        state: the memory that the last call returned; None in the first call.
        rng: random number generator.
        """
        values = history.values
        memory = count_suggestions(values, state, PROGRESS * float(np.median(values) - np.min(values)))
        asked = memory["asked"]
        if asked % self.every:
            return ExplorationStep(None, memory)
        drawn = domain.sample(CANDIDATES, rng)
        branches = label_branches(domain, drawn)
        tried = domain.join(history.completed, history.running, history.failed)
        trials = Counter(label_branches(domain, tried))
        order = sorted(range(len(drawn)), key=lambda i: trials[branches[i]])
        fresh = (i for i in order if domain.key(drawn[i]) not in history.seen)
        chosen = next(fresh, None)
        if chosen is None or all(branches[i] == branches[chosen] for i in fresh):
            return ExplorationStep(None, memory)
        count = f"{trials[branches[chosen]]} of {len(tried)}"
        return ExplorationStep(
            drawn[chosen], memory, f"no better value in {asked - 1} suggestions; {count} {BRANCH_REASON}"
        )


def has_conditions(domain: Domain) -> bool:
    """Return whether points of a domain, or of its parts, differ in which variables they have."""
    if domain.variables:
        return any(one.when for one in domain.variables.values())
    return any(map(has_conditions, domain.parts.values()))


def label_branches(domain: Domain, xs: Batch) -> list[Hashable]:
    """Return a label of the branch of each of m points, equal for points that have the same variables."""
    return [row.tobytes() for row in np.packbits(_find_variables(domain, xs), axis=1)]


def _find_variables(domain: Domain, xs: Batch) -> npt.NDArray[np.bool_]:
    """Return which variables each of m points has (m, d), bool, part by part."""
    if domain.variables:
        layout = Layout(tuple(one.width for one in domain.variables.values()))
        return np.asarray(xs)[:, layout.starts] != INACTIVE
    if domain.parts:
        return np.hstack([_find_variables(part, domain.part(name, xs)) for name, part in domain.parts.items()])
    return np.ones((len(xs), 0), dtype=np.bool_)


def explore_branches(domain: Domain) -> BranchExploration | None:
    """Return the rule for a domain: None if all points have the same variables."""
    return BranchExploration() if has_conditions(domain) else None


@dataclass(frozen=True)
class OperatorSelection(Exploration):
    """A rule that mutates the best point if mutations have recently found better values more often than the model.

    Many changes of an order leave the value unchanged, and a model that cannot predict which ones keeps suggesting
    them. Mutations walk along such a plateau: of equal best points, the last one observed is mutated. Thompson sampling
    chooses between the model and mutations; its counts of gains and failures are discounted (Raj and Kalyani 2017). If
    several points are evaluated at the same time, the last one suggested is credited with a better value.

    discount: factor of the counts at each suggestion, in (0, 1].

    Raises TypeError, ValueError.
    """

    discount: float = 0.97

    def __post_init__(self) -> None:
        check_number("discount", self.discount, high=1.0, above=0.0)

    def __call__(self, domain: Domain, history: HistoryView, state: State, rng: np.random.Generator) -> ExplorationStep:
        """Return an unseen mutation of the best point, if Thompson sampling chooses mutations.

        history: all observations so far, at least one value.
        state: the memory that the last call returned; None in the first call.
        rng: random number generator.
        """
        values = history.values
        last = None if state is None else state["last"]
        is_better = state is not None and bool(np.min(values) < recall_best(state, values))
        before: Counts = START if state is None else state["counts"]
        counts = [[self.discount * count for count in own] for own in before]  # gains and failures
        if last is not None:
            counts[last][0 if is_better else 1] += 1.0
        pairs = zip(counts, PRIOR, strict=True)
        drawn = [rng.beta(gains + own[0], failures + own[1]) for (gains, failures), own in pairs]  # Thompson sampling
        x = mutate_best(domain, history, rng) if drawn[1] > drawn[0] else None
        memory = {"told": len(values), "last": int(x is not None), "counts": counts}
        why = "" if x is None else f"mutations gained {counts[1][0]:.2g}, the model {counts[0][0]:.2g}"
        return ExplorationStep(x, memory, why, "mutation")


def select_operators(domain: Domain) -> OperatorSelection | None:
    """Return the rule for a domain with orders whose items have no resources; None for any other domain.

    Other variables are allowed, but none of several columns: the rule was tested only on orders. If the items of an
    order have resources, the model can predict which changes matter.
    """
    variables = domain.variables.values()
    wide = [one for one in variables if one.width > 1]
    are_orders = bool(wide) and all(one.is_order and one.resources is None for one in wide)
    return OperatorSelection() if are_orders and domain.traits.mutable else None


@dataclass(frozen=True)
class PlateauEscape(Exploration):
    """A rule that mutates the best point at every other suggestion while the search stays on a plateau.

    A model of schedules learns nothing about the durations of items from values that equal the best, however many there
    are. It may then be certain of wrong durations, and suggest one point of the plateau after another. A random change
    of the best point mostly leaves the plateau for worse values, which show which items the makespan waits for.

    On a plateau, none of the last `wait` values is better than all before, and half of them equal the best.

    wait: number of last values, at least 2.

    Raises TypeError, ValueError.
    """

    wait: int = 4

    def __post_init__(self) -> None:
        check_integer("wait", self.wait, 2)

    def __call__(self, domain: Domain, history: HistoryView, state: State, rng: np.random.Generator) -> ExplorationStep:
        """Return an unseen mutation of the best point, if the search is on a plateau and did not mutate last time.

        history: all observations so far, at least one value.
        state: whether the last call returned a mutation; None in the first call.
        rng: random number generator.
        """
        values = np.asarray(history.values)
        n_equal = int(np.sum(values[-self.wait :] == values.min()))
        is_better = len(values) <= self.wait or values[: -self.wait].min() > values.min()
        if is_better or 2 * n_equal < self.wait or state:
            return ExplorationStep(None, False)
        x = mutate_best(domain, history, rng)
        why = f"{n_equal} of the last {self.wait} values equal the best, and none is better"
        return ExplorationStep(x, x is not None, why, "mutation")


def escape_plateaus(domain: Domain) -> PlateauEscape | None:
    """Return the rule for a domain with orders whose items have resources; None for any other domain."""
    return PlateauEscape() if has_schedules(domain) else None


@dataclass(frozen=True)
class SecondSearch(Exploration):
    """A rule that uses another searcher for every third suggestion while nothing better is found.

    The model of a search that stands still has learned mostly from points around the best point. Points that another
    model chooses are elsewhere, and improve both models.

    searcher: it must need no state; its suggestions count if their origin is ``model``.
    """

    searcher: Searcher

    def __call__(self, domain: Domain, history: HistoryView, state: State, rng: np.random.Generator) -> ExplorationStep:
        """Return a suggestion of the other searcher if it is due, and there are no failures and no other outputs."""
        values = history.values
        memory = count_suggestions(values, state)
        n_outputs = history.objectives.shape[1] + history.violations.shape[1]
        if memory["asked"] <= WAIT or memory["asked"] % EVERY or n_outputs > 1 or len(history.failed):
            return ExplorationStep(None, memory)
        found = self.searcher.suggest(history, None, rng)
        if found.info["origin"] != "model":
            return ExplorationStep(None, memory)
        why = f"no better value in {memory['asked'] - 1} suggestions; a sample of a regression"
        return ExplorationStep(found.point, memory, why, "model")


def sample_regression(domain: Domain) -> SecondSearch | None:
    """Return a rule that minimizes posterior samples of a ridge regression; None if not all variables are bits.

    The rule is for 20 to 1,000 variables without conditions and constraints. The regression has bits and pairs if
    there are at most 60, else bits. It needs a third as many values as coefficients: it learns little from fewer.
    """
    variables, local = domain.variables.values(), domain.traits.local
    are_bits = all(one.choices is not None and len(one.choices) == 2 and not one.when for one in variables)
    if local is None or not are_bits or domain.constraints or not FEWEST_BITS <= len(variables) <= MOST_BITS:
        return None
    monomials = Monomials((2,) * len(variables), 2 if len(variables) <= MOST_PAIRED else 1)
    return SecondSearch(BOCS(local, RidgeRegression(monomials), SemidefiniteRelaxation(), monomials.count // 3))


def count_suggestions(values: Array, state: State, least: float = 0.0) -> dict[str, int]:
    """Return the memory of a rule: ``asked`` counts suggestions since a value better by `least`, and this one."""
    if state is None or np.min(values) < recall_best(state, values) - least:
        return {"told": len(values), "asked": 1}
    return state | {"asked": state["asked"] + 1}


def recall_best(memory: State, values: Array) -> float:
    """Return the best of the values that an earlier call saw, as they are now.

    Under outcome constraints, values are constrained ranks, which change with later observations. So the memory stores
    the number of values, ``told``. The memory of an older file stores the value itself, as ``best``.

    values: all values observed so far (n,), in the order observed.
    """
    return float(np.min(values[: memory["told"]])) if "told" in memory else float(memory["best"])


def mutate_best(domain: Domain, history: HistoryView, rng: np.random.Generator) -> Point | None:
    """Return an unseen mutation of the best observed point, the last of equal ones; None if 20 tries find none.

    history: all observations so far, at least one value.
    rng: random number generator.
    """
    values = np.asarray(history.values)
    center = int(np.flatnonzero(values == values.min())[-1])
    child = mutate_unseen(domain, history, [center] * MUTATION_TRIES, rng)
    return None if child is None else child[0]
