"""Compression of slacks far from 0, where they would hide where the limit just holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_number
from bostruct.contracts import Array, Batch, Info, NumericalError, Posterior, State, Surrogate
from bostruct.goals.logarithms import log_density, log_mean_exp

ROUNDING = 1e-6  # relative: slacks as far away as the compression begins are near, however their model rounds them


@dataclass(frozen=True)
class SlackWarping(Surrogate):
    """A surrogate of the slack of a limit, which is told slacks far from 0 in compressed form where that helps.

    A slack z, in units of the median distance from 0 of the slacks that are not 0, becomes
    sign(z) * (beyond + log(1 + abs(z) - beyond)) where it is further away than `beyond`. So 0, where the limit is just
    kept, stays 0, and no slack changes its sign, as it could if slacks above the median were compressed as
    `OutputWarping` compresses values.

    A few huge slacks, such as a time-out, would set the scale for all others. A sum, such as a weight, would no longer
    be one: once most trials keep close to the limit, the first ones are far away. So the surrogate learns from the
    slacks twice, as they are and compressed. The posterior is that which predicts the slacks that are not compressed
    better, each from all others. Where it cannot leave one out, it is that of the compressed slacks.

    surrogate: of the slacks.
    beyond: z above which slacks are compressed, at least 0.

    Raises TypeError, ValueError.
    """

    surrogate: Surrogate
    beyond: float = 3.0

    def __post_init__(self) -> None:
        check_number("beyond", self.beyond, 0.0)

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
        are, and ``failed``, why one of the two could not be learned. Raises what `surrogate` raises, and NumericalError
        only where neither could.
        """
        if not (isinstance(state, dict) and "compressed" in state):  # of a study that knew compressed slacks alone
            state = {"plain": self.surrogate.initial_state(), "compressed": state}
        told, failed = compress_far(values, self.beyond), list[NumericalError]()
        found = dict[str, tuple[Posterior, State, Info]]()
        both = {"plain": values} if told is values else {"compressed": told, "plain": values}
        for name, slacks in both.items():
            try:
                found[name] = self.surrogate.condition(xs, slacks, state[name], rng)
            except NumericalError as error:
                failed.append(error)
        if not found:
            raise failed[0]
        farthest = self.beyond * _find_scale(values)
        best = max(found, key=lambda name: _score_left_out(found[name][0], farthest))  # the first one of equals
        posterior, _, info = found[best]
        note: Info = {"compressed": True} if best == "compressed" else {}
        note |= {"failed": str(failed[0])} if failed else {}
        return posterior, state | {name: learned for name, (_, learned, _) in found.items()}, info | note


def _score_left_out(posterior: Posterior, farthest: float) -> float:
    """Return the mean log density of the slacks near 0, each given all others; 0 without such slacks.

    It is 0, too, where the posterior leaves no value out.

    posterior: of slacks.
    farthest: the distance beyond which slacks may be compressed.
    """
    found = posterior.leave_one_out()
    if found is None:
        return 0.0
    _, values, (mean, variance) = found
    near = np.abs(values) <= farthest * (1.0 + ROUNDING)
    if not near.any():
        return 0.0
    sd = np.sqrt(variance[:, near])
    return float(np.mean(log_mean_exp(log_density((values[near] - mean[:, near]) / sd) - np.log(sd))))


def _find_scale(slacks: Array) -> float:
    """Return the median distance from 0 of the slacks that are not 0; 0 where all are.

    Those at 0 tell no scale: half of all numbers may sit on their limit, such as errors that must not occur.
    """
    distances = np.abs(slacks[slacks != 0.0])
    with np.errstate(over="ignore"):  # the sum of the two in the middle
        return float(np.median(distances)) if len(distances) else 0.0


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
