"""Compression of values far above the median: a point that fails badly should not set the scale for all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_number
from bostruct.contracts import Array, Batch, Info, Posterior, State, Surrogate


@dataclass(frozen=True)
class OutputWarping:
    """A surrogate that is told values far above the median in compressed form, as beyond + log(1 + z - beyond).

    z is the distance from the median, in root mean squares of the distances of the better half. Order is kept and
    nothing better than the median is touched, so incumbents and improvements are as they are. Predictions far above the
    median are on the compressed scale.

    surrogate: of the compressed values.
    beyond: z above which values are compressed, at least 0.

    Raises TypeError, ValueError.
    """

    surrogate: Surrogate
    beyond: float = 3.0

    def __post_init__(self) -> None:
        check_number("beyond", self.beyond, 0.0)

    def initial_state(self) -> State:
        return self.surrogate.initial_state()

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Learn from n points and their compressed values.

        xs: n points.
        values: (n,), in the user's units.
        state: of `initial_state`, or what the last call returned.
        rng: the only source of chance.

        Returns the posterior, the state for the next call, and what goes on record. Raises what `surrogate` raises.
        """
        return self.surrogate.condition(xs, compress_upper_tail(values, self.beyond), state, rng)


def compress_upper_tail(values: Array, beyond: float) -> Array:
    """Return the values as `OutputWarping` tells them (n,).

    values: (n,).
    beyond: as of `OutputWarping`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        middle = float(np.median(values))
    better = values[values <= middle] - middle
    largest = float(np.max(np.abs(better)))
    scale = largest * float(np.sqrt(np.mean(np.square(better / largest)))) if largest > 0.0 else 0.0
    if not 0.0 < scale < np.inf:
        return values
    with np.errstate(over="ignore"):
        z = (values - middle) / scale
    far = z > beyond
    if not far.any():
        return values
    told = values.copy()
    told[far] = middle + scale * (beyond + np.log1p(np.minimum(z[far], np.finfo(np.float64).max) - beyond))
    return told
