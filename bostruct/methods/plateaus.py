"""A rule for schedules, whose suggestions may all end on the plateau of the best value: it mutates the best point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Domain, HistoryView, State
from bostruct.methods.default_kernels import has_schedules
from bostruct.methods.operator_selection import mutate_best
from bostruct.searchers.bayesian import Explored


@dataclass(frozen=True)
class PlateauEscape:
    """A rule that mutates the best point at every other suggestion while the search stays on a plateau.

    Values that equal the best teach a model of schedules nothing of how long items take, however many they are. It may
    be sure of wrong durations then, and ask for one point of the plateau after another. A random change of the best
    point mostly leaves the plateau for the worse, and such a value says which items the makespan waits for.

    A plateau is where none of the last `wait` values is better than all before, and half of them equal the best.

    wait: at least 2.

    Raises TypeError, ValueError.
    """

    wait: int = 4

    def __post_init__(self) -> None:
        check_integer("wait", self.wait, 2)

    def __call__(self, domain: Domain, history: HistoryView, state: State, rng: np.random.Generator) -> Explored:
        """Return an unseen mutation of the best point where it is its turn.

        domain: with mutations.
        history: all that was told so far, at least one value.
        state: what the last call returned; None for the first.
        rng: the only source of chance.
        """
        values = np.asarray(history.values)
        n_equal = int(np.sum(values[-self.wait :] == values.min()))
        is_better = len(values) <= self.wait or values[: -self.wait].min() > values.min()
        if is_better or 2 * n_equal < self.wait or state:
            return Explored(None, False)
        x = mutate_best(domain, history, rng)
        why = f"{n_equal} of the last {self.wait} values equal the best, and none is better"
        return Explored(x, x is not None, why, "mutation")


def escape_plateaus(domain: Domain) -> PlateauEscape | None:
    """Return the rule for a domain whose items have resources; None for any other.

    domain: any.
    """
    return PlateauEscape() if has_schedules(domain) else None
