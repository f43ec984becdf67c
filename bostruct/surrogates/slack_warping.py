"""Compression of slacks far from 0, where they would hide where the limit just holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_integer, check_number, has_capability
from bostruct.contracts import Array, Batch, HasLeaveOneOut, Info, IntArray, Posterior, State, Surrogate
from bostruct.numerics import log_density, log_mean_exp


@dataclass(frozen=True)
class SlackWarping:
    """A surrogate of the slack of a limit, which is told slacks far from 0 in compressed form where that helps.

    A slack z, in units of the median distance from 0, becomes sign(z) * (beyond + log(1 + abs(z) - beyond)) where it is
    further away than `beyond`. So 0, where the limit is just kept, stays 0, and no slack changes its sign, as it could
    if slacks above the median were compressed as `OutputWarping` compresses values.

    A few huge slacks, such as a time-out, would set the scale for all others. A sum, such as a weight, would no longer
    be one: once most trials keep close to the limit, the first ones are far away. So the surrogate learns from the
    slacks twice, as they are and compressed. The posterior is that which predicts the slacks that are not compressed
    better, each from all others. Where it cannot leave one out, it is that of the compressed slacks.

    surrogate: of the slacks.
    take: the domain's, chooses points of a batch.
    beyond: z above which slacks are compressed, at least 0.
    most: how many points to learn from, at least 2: of more the half is those whose slacks are nearest to 0, and the
        others are the last told.

    Raises TypeError, ValueError.
    """

    surrogate: Surrogate
    take: Callable[[Batch, IntArray], Batch]
    beyond: float = 3.0
    most: int = 1_000

    def __post_init__(self) -> None:
        check_number("beyond", self.beyond, 0.0)
        check_integer("most", self.most, 2)

    def initial_state(self) -> State:
        return {"plain": self.surrogate.initial_state(), "compressed": self.surrogate.initial_state()}

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Learn from n points and their slacks.

        xs: n points.
        values: slacks (n,), in the user's units, at most 0 where the limit is kept.
        state: of `initial_state`, or what the last call returned.
        rng: the only source of chance.

        Returns the posterior, the state for the next call, and what goes on record, ``compressed`` where the slacks
        are. Raises what `surrogate` raises.
        """
        if not (isinstance(state, dict) and "compressed" in state):  # of a study that knew compressed slacks alone
            state = {"plain": self.surrogate.initial_state(), "compressed": state}
        if len(values) > self.most:
            kept = choose_near(values, self.most)
            xs, values = self.take(xs, kept), values[kept]
        told, farthest = compress_far(values, self.beyond), self.beyond * _find_scale(values)
        plain, learned, info = self.surrogate.condition(xs, values, state["plain"], rng)
        if told is values:
            return plain, state | {"plain": learned}, info
        compressed, learned_too, info_too = self.surrogate.condition(xs, told, state["compressed"], rng)
        state = {"plain": learned, "compressed": learned_too}
        if _score_left_out(compressed, farthest) >= _score_left_out(plain, farthest):
            return compressed, state, info_too | {"compressed": True}
        return plain, state, info


def choose_near(slacks: Array, most: int) -> IntArray:
    """Return the positions of the slacks to learn from, ascending: a half is nearest to 0, the others were told last.

    slacks: (n,).
    most: how many to keep, at least 2 and at most n.
    """
    nearest = np.argsort(np.abs(slacks), kind="stable")[: most // 2]
    others = np.setdiff1d(np.arange(len(slacks)), nearest)
    return np.union1d(nearest, others[len(others) - (most - most // 2) :])


def _score_left_out(posterior: Posterior, farthest: float) -> float:
    """Return the mean log density of the slacks no further from 0, each given all others; 0 where none can be left out.

    posterior: of slacks.
    farthest: the distance beyond which slacks may be compressed.
    """
    if not has_capability(posterior, HasLeaveOneOut):
        return 0.0
    found, values = posterior.leave_one_out(), posterior.values
    near = np.abs(values) <= farthest
    sd = np.sqrt(found.variance[:, near])
    return float(np.mean(log_mean_exp(log_density((values[near] - found.mean[:, near]) / sd) - np.log(sd))))


def _find_scale(slacks: Array) -> float:
    """Return the median distance of slacks from 0."""
    with np.errstate(over="ignore"):  # the sum of the two in the middle
        return float(np.median(np.abs(slacks)))


def compress_far(slacks: Array, beyond: float) -> Array:
    """Return slacks as `SlackWarping` tells them (n,).

    slacks: (n,).
    beyond: as of `SlackWarping`.
    """
    size, scale = np.abs(slacks), _find_scale(slacks)
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
