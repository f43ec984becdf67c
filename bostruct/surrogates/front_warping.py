"""Compression of objectives far behind the front: a point that fails badly should not set the scale of the front."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_number
from bostruct.contracts import Array, Batch, Info, Posterior, Prediction, State
from bostruct.goals.pareto import find_nondominated, is_feasible
from bostruct.surrogates.output_warping import Compression
from bostruct.surrogates.outputs import Outputs


@dataclass(frozen=True)
class FrontWarping:
    """A surrogate of several outputs that is told objectives far behind the front in compressed form.

    The front is that of the points told which keep all limits, or of all points where none does. z is by how much an
    objective is worse than its worst value on the front, in ranges of the front. Where the front has no range, the unit
    is the median distance of what lies behind. Where z is above `beyond`, the value becomes
    worst + unit * (beyond + log(1 + z - beyond)). Order is kept.

    So the front and what may extend it are in the user's units, in which a hypervolume is measured. `OutputWarping`
    compresses what is far above the median. Once most trials share the best value of an objective, such as the least
    size, that would be all other values, and the hypervolume in logarithms draws the search to that end of the front.

    surrogate: of all outputs.
    beyond: z above which values are compressed, at least 0.

    Raises TypeError, ValueError.
    """

    surrogate: Outputs
    beyond: float = 3.0

    def __post_init__(self) -> None:
        check_number("beyond", self.beyond, 0.0)

    @property
    def n_outputs(self) -> int:
        """The number of objectives and slacks."""
        return self.surrogate.n_outputs

    def initial_state(self) -> State:
        return self.surrogate.initial_state()

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Learn from n points and all their outputs, compressed objectives among them.

        xs: n points.
        values: (n, q), objectives and then slacks, in the user's units.
        state: of `initial_state`, or what the last call returned.
        rng: the only source of chance.

        Returns what `Outputs.condition` does, and raises what it raises.
        """
        return self.surrogate.condition(xs, self._compress(values), state, rng)

    def restore_units(self, prediction: Prediction, values: Array, objective: int = 0) -> Prediction:
        """Return a prediction of one objective in the user's units: `RestoresUnits`.

        prediction: of the posterior of that objective.
        values: as given to `condition` (n, q).
        objective: its position.
        """
        inner = self.surrogate.restore_units(prediction, self._compress(values), objective)
        return self._find_compressions(values)[objective].expand(inner)

    def _compress(self, values: Array) -> Array:
        """Return the outputs as they are told (n, q)."""
        told = values.copy()
        for j, compression in enumerate(self._find_compressions(values)):
            told[:, j] = compression.compress(values[:, j])
        return told

    def _find_compressions(self, values: Array) -> list[Compression]:
        """Return the compression of each objective."""
        objectives, slacks = np.split(values, [self.surrogate.n_objectives], axis=1)
        feasible = is_feasible(slacks)
        allowed = objectives[feasible] if feasible.any() else objectives
        front = allowed[find_nondominated(allowed)]
        return [_compress_behind(column, own, self.beyond) for column, own in zip(objectives.T, front.T, strict=True)]


def _compress_behind(values: Array, front: Array, beyond: float) -> Compression:
    """Return the compression of the values of one objective (n,) behind those of the front (m,)."""
    worst = float(front.max())
    with np.errstate(over="ignore"):
        behind = values[values > worst] - worst
        unit = float(np.ptp(front)) or (float(np.median(behind)) if len(behind) else 0.0)
    return Compression(worst, unit, beyond).fit_to(values)
