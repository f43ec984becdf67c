"""Compression of slacks far from 0: a limit that is broken by far should not set the scale where it just holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_number
from bostruct.contracts import Array, Batch, Info, Posterior, State, Surrogate


@dataclass(frozen=True)
class SlackWarping:
    """A surrogate of the slack of a limit, which is told slacks far from 0 in compressed form.

    A slack z, in units of the median distance from 0, becomes sign(z) * (beyond + log(1 + abs(z) - beyond)) where it is
    further away than `beyond`. So 0, where the limit is just kept, stays 0, and no slack changes its sign, as it could
    if slacks above the median were compressed as `OutputWarping` compresses values. Nearer to 0 nothing changes: a
    linear slack, such as a weight, stays linear there.

    surrogate: of the compressed slacks.
    beyond: z above which slacks are compressed, at least 0.

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
        """Learn from n points and their compressed slacks.

        xs: n points.
        values: slacks (n,), in the user's units, at most 0 where the limit is kept.
        state: of `initial_state`, or what the last call returned.
        rng: the only source of chance.

        Returns the posterior, the state for the next call, and what goes on record. Raises what `surrogate` raises.
        """
        return self.surrogate.condition(xs, compress_far(values, self.beyond), state, rng)


def compress_far(slacks: Array, beyond: float) -> Array:
    """Return slacks as `SlackWarping` tells them (n,).

    slacks: (n,).
    beyond: as of `SlackWarping`.
    """
    size = np.abs(slacks)
    with np.errstate(over="ignore"):  # the sum of the two in the middle
        scale = float(np.median(size))
    if not 0.0 < scale < np.inf:
        return slacks
    with np.errstate(over="ignore"):
        z = np.minimum(size / scale, np.finfo(np.float64).max)
    far = z > beyond
    if not far.any():
        return slacks
    told = slacks.copy()
    told[far] = np.sign(slacks[far]) * scale * (beyond + np.log1p(z[far] - beyond))
    return told
