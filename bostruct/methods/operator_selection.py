"""Adaptive operator selection: a model's suggestions and mutations of the best point, whichever brings more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bostruct.checks import check_number, has_capability, try_mutation
from bostruct.contracts import ADDED_LATER, Domain, HasMutation, HasVariables, HistoryView, Point, State
from bostruct.domains.space.permutation import Permutation
from bostruct.domains.space.sequence import Sequence
from bostruct.methods.progress import recall_best
from bostruct.searchers.bayesian import Explored

Counts = list[list[float]]

MUTATION_TRIES = 20  # of which the first unseen point is taken
PRIOR = ((2.0, 1.0), (1.0, 2.0))  # gains and failures of the model, and of mutations, before the first suggestion
START: Counts = [[0.0, 0.0], [0.0, 0.0]]  # gains and failures of the model, and of mutations
OVERPROMISE = 10.0  # of sequences: models promise 8 times what comes on hidden motifs, 25 and more where they are lost


@dataclass(frozen=True)
class OperatorSelection:
    """A rule that mutates the best point where that has brought better values more often than the model of late.

    Many changes of an order leave the value as it is, and a model that cannot tell which ones do asks for one after
    another. Mutations walk along such a plateau: of equal best points the one told last is mutated. Which of the two is
    next is decided by Thompson sampling, whose counts of gains and failures are discounted (Raj and Kalyani 2017). Of
    points that are evaluated at the same time the last one suggested is credited with a better value.

    A model is left alone as long as it keeps what it promises: its suggestions have a chance each to be better than all
    before, and better values come about as often as the sum of the chances says. Where next to none come, the model has
    taken a plateau for a slope, and mutations have their turn.

    discount: factor of the counts at each suggestion, in (0, 1].
    overpromise: mutations have no turn until the model has promised more than this many better values for each that
        its suggestions brought, and for one more; at least 0, and with 0 they have it from the start.

    Raises TypeError, ValueError.
    """

    discount: float = 0.97
    overpromise: float = field(default=0.0, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        check_number("discount", self.discount, high=1.0, above=0.0)
        check_number("overpromise", self.overpromise, 0.0)

    def __call__(self, domain: HasMutation, history: HistoryView, state: State, rng: np.random.Generator) -> Explored:
        """Return an unseen mutation of the best point where it is its turn.

        domain: with mutations.
        history: all that was told so far, at least one value.
        state: what the last call returned, or `hear` since; None for the first.
        rng: the only source of chance.
        """
        values = history.values
        last = None if state is None else state["last"]
        is_better = state is not None and bool(np.min(values) < recall_best(state, values))
        counts = self._update(START if state is None else state["counts"], last, is_better)
        promises = self._count_promises({} if state is None else state, came=last == 0 and is_better)
        x = None
        if not promises or promises["promised"] > self.overpromise * (promises["kept"] + 1.0):
            x = mutate_best(domain, history, rng) if _draw_turn(counts, rng) else None
        memory = {"told": len(values), "last": int(x is not None), "counts": counts, **promises}
        return Explored(x, memory, "" if x is None else _explain(counts, promises), "mutation")

    def hear(self, state: State, chance: float) -> State:
        """Return the state once the model has suggested a point: `HearsPromises`.

        state: of the last call.
        chance: that the point is better than the best, as the model expects.
        """
        return state | {"promised": state["promised"] + chance} if self.overpromise else state

    def _count_promises(self, memory: dict[str, Any], *, came: bool) -> dict[str, float]:
        """Return how many better values the model has promised, and how many it brought; nothing where none counts."""
        if not self.overpromise:
            return {}
        return {"promised": memory.get("promised", 0.0), "kept": memory.get("kept", 0.0) + float(came)}

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


def _explain(counts: Counts, promises: dict[str, float]) -> str:
    """Say for the record why a mutation has its turn."""
    why = f"mutations gained {counts[1][0]:.2g}, the model {counts[0][0]:.2g}"
    if not promises:
        return why
    return f"the model promised {promises['promised']:.2g} better values and brought {promises['kept']:g}; {why}"


def mutate_best(domain: HasMutation, history: HistoryView, rng: np.random.Generator) -> Point | None:
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
    """Return the rule for a domain of choices and of orders without resources, or of choices and sequences; else None.

    Mutations of sequences have no turn as long as the model keeps what it promises. The rule was not measured on other
    values of several columns. Of an order whose items have resources the model tells which changes count.

    domain: any.
    """
    variables = domain.variables.values() if has_capability(domain, HasVariables) else ()
    wide = [one for one in variables if one.width > 1]
    if not wide or not has_capability(domain, HasMutation):
        return None
    if all(isinstance(one, Sequence) for one in wide):
        return OperatorSelection(overpromise=OVERPROMISE)
    are_orders = all(isinstance(one, Permutation) and one.resources is None for one in wide)
    return OperatorSelection() if are_orders else None
