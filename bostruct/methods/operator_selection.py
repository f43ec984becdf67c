"""Adaptive operator selection: a model's suggestions and mutations of the best point, whichever brings more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_number, try_mutation
from bostruct.contracts import Domain, HistoryView, Point, State
from bostruct.domains.space.permutation import Permutation
from bostruct.methods.progress import recall_best
from bostruct.searchers.bayesian import Explored

Counts = list[list[float]]

MUTATION_TRIES = 20  # of which the first unseen point is taken
PRIOR = ((2.0, 1.0), (1.0, 2.0))  # gains and failures of the model, and of mutations, before the first suggestion
START: Counts = [[0.0, 0.0], [0.0, 0.0]]  # gains and failures of the model, and of mutations


@dataclass(frozen=True)
class OperatorSelection:
    """A rule that mutates the best point where that has brought better values more often than the model of late.

    Many changes of an order leave the value as it is, and a model that cannot tell which ones do asks for one after
    another. Mutations walk along such a plateau: of equal best points the one told last is mutated. Which of the two is
    next is decided by Thompson sampling, whose counts of gains and failures are discounted (Raj and Kalyani 2017). Of
    points that are evaluated at the same time the last one suggested is credited with a better value.

    discount: factor of the counts at each suggestion, in (0, 1].

    Raises TypeError, ValueError.
    """

    discount: float = 0.97

    def __post_init__(self) -> None:
        check_number("discount", self.discount, high=1.0, above=0.0)

    def __call__(self, domain: Domain, history: HistoryView, state: State, rng: np.random.Generator) -> Explored:
        """Return an unseen mutation of the best point where it is its turn.

        domain: with mutations.
        history: all that was told so far, at least one value.
        state: what the last call returned; None for the first.
        rng: the only source of chance.
        """
        values = history.values
        last = None if state is None else state["last"]
        is_better = state is not None and bool(np.min(values) < recall_best(state, values))
        counts = self._update(START if state is None else state["counts"], last, is_better)
        x = mutate_best(domain, history, rng) if _draw_turn(counts, rng) else None
        memory = {"told": len(values), "last": int(x is not None), "counts": counts}
        why = "" if x is None else f"mutations gained {counts[1][0]:.2g}, the model {counts[0][0]:.2g}"
        return Explored(x, memory, why, "mutation")

    def _update(self, counts: Counts, last: int | None, is_better: bool) -> Counts:
        """Return gains and failures of the model and of mutations, after what the last suggestion brought."""
        faded = [[self.discount * count for count in own] for own in counts]
        if last is not None:
            faded[last][0 if is_better else 1] += 1.0
        return faded


def _draw_turn(counts: Counts, rng: np.random.Generator) -> bool:
    """Draw whether it is the turn of a mutation, by Thompson sampling."""
    chances = [
        rng.beta(gains + own[0], failures + own[1]) for (gains, failures), own in zip(counts, PRIOR, strict=True)
    ]
    return chances[1] > chances[0]


def mutate_best(domain: Domain, history: HistoryView, rng: np.random.Generator) -> Point | None:
    """Return an unseen mutation of the best point told, of equal ones the last; None where 20 tries find none.

    domain: with mutations.
    history: all that was told so far, at least one value.
    rng: the only source of chance.
    """
    values = np.asarray(history.values)
    center = history.completed[int(np.flatnonzero(values == values.min())[-1])]
    for _ in range(MUTATION_TRIES):
        x = try_mutation(domain, center, rng)
        if x is not None and domain.key(x) not in history.seen:
            return x
    return None


def select_operators(domain: Domain) -> OperatorSelection | None:
    """Return the rule for a domain with orders, where these have no resources; None for any other.

    Other variables may stand beside the orders, but none of several columns: the rule was measured on orders alone. Of
    an order whose items have resources the model tells which changes count.

    domain: any.
    """
    variables = domain.variables.values()
    wide = [one for one in variables if one.width > 1]
    are_orders = bool(wide) and all(isinstance(one, Permutation) and one.resources is None for one in wide)
    return OperatorSelection() if are_orders and domain.traits.mutable else None
