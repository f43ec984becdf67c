"""Compression of values far above the median, and of violations far from 0.

A point that fails badly should not set the scale for all others, nor hide if a limit just holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from bostruct.checks import ROUNDING, check_number, check_part
from bostruct.contracts import ADDED_LATER, Array, Batch, Info, NumericalError, Posterior, Prediction, State, Surrogate
from bostruct.goals.logarithms import log_density, log_mean_exp
from bostruct.surrogates.standardization import check_variances, find_known_variances

MOST_EXCESS = 300.0  # of a prediction in scales: the square of its exponential is a number
FAR_EXCESS = 3.0  # of a compressed value in scales: 22 scales above the median, with `beyond` at 3
FAR_ABOVE = 10.0  # scales above the median from which on one of several objectives is compressed
ROOM = 1.0  # scales that all farther values share
MOST_OUTLIERS = 0.1  # of the values: more of them are a region that the model has to learn
OUTLIER_SDS = 2.0  # between the median and an outlier
LARGEST = np.finfo(np.float64).max
VIOLATION_ROUNDING = (
    1e-6  # relative: violations at the distance where compression begins are near, however they are rounded
)


@dataclass(frozen=True)
class OutputWarping(Surrogate):
    """A surrogate that observes values far above the median in compressed form, as beyond + log(1 + z - beyond).

    z is the distance from the median, in root mean squares of the distances of the better half. Where all of these
    equal the median up to rounding, the unit is the median distance of the values that do not. Nothing better than the
    median is touched, so incumbents and improvements are as they are. Predictions far above the median are on the
    compressed scale.

    The part of the logarithms above 3 is shrunk so that the largest is 4. Values that reach so far, and are at most a
    tenth of all, say that their points are bad, and little about the points around them. In a Gaussian process, such an
    outlier would distort its neighborhood. So each has noise, which puts it two standard deviations above the median.

    beyond: z above which values are compressed, at least 0.
    of_distinct: True for median and unit of the distinct values, so that a value that most points share sets neither.
    variances: known variances of the noise of the values, as of `with_variances`; None if all are learned.

    Raises TypeError, ValueError.
    """

    surrogate: Surrogate
    beyond: float = 3.0
    of_distinct: bool = field(default=False, metadata=ADDED_LATER)
    variances: Array | None = field(default=None, metadata=ADDED_LATER, compare=False)

    def __post_init__(self) -> None:
        check_part("surrogate", self.surrogate, Surrogate)
        check_number("beyond", self.beyond, 0.0)

    def with_variances(self, variances: Array) -> OutputWarping:
        """Return the surrogate that knows the noise of the values that it is conditioned on next.

        The noise of a compressed value is its distance from the compressed value that is one standard deviation lower.
        By the slope alone, a value far above the median that is mostly noise would look precise. A surrogate inside
        that cannot know the noise learns it.
        """
        return replace(self, variances=check_variances(variances))

    @property
    def has_covariance(self) -> bool:
        return self.surrogate.has_covariance

    def around(self, change: Callable[[Surrogate], Surrogate]) -> Surrogate:
        return replace(self, surrogate=self.surrogate.around(change))

    def warp(self, values: Array) -> Array:
        return Compression.of(values, self.beyond).compress(values)

    def compress_less(self) -> OutputWarping:
        """Return the surrogate of one of several objectives, of which only what is very far above is compressed.

        A front reaches far above the median of an objective whose best values most trials share, such as the least
        size. In logarithms the hypervolume would draw the search to that end of the front.
        """
        return replace(self, beyond=FAR_ABOVE, of_distinct=True)

    def on_all_variables(self) -> OutputWarping:
        return replace(self, surrogate=self.surrogate.on_all_variables())

    def for_violation(self, warp: Callable[[Surrogate], Surrogate]) -> Surrogate:
        return self.surrogate.for_violation(warp)

    def initial_state(self) -> State:
        return self.surrogate.initial_state()

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Learn from n points and their compressed values.

        Returns the posterior, the state for the next call, and the info to record. Raises what `surrogate` raises.
        """
        compressed, noise = self._find_compression(values).observe(
            values, find_known_variances(self.variances, len(values))
        )
        surrogate = self.surrogate if noise is None else self.surrogate.with_variances(noise)
        return surrogate.condition(xs, compressed, state, rng)

    def restore_units(self, prediction: Prediction, values: Array) -> Prediction:
        return self._find_compression(values).expand(prediction)

    def _find_compression(self, values: Array) -> Compression:
        if self.of_distinct:
            values = np.unique(values)
            with np.errstate(over="ignore"):
                is_apart = np.diff(values) > ROUNDING * np.abs(values[1:])  # by more than rounding
            values = values[np.append(True, is_apart)]
        return Compression.of(values, self.beyond)


class Compression(NamedTuple):
    """The compression of values far above their median.

    scale: the unit of distances; 0 if no value is compressed.
    shrinkage: of logarithms above `FAR_EXCESS`, from 0 to 1.
    """

    middle: float
    scale: float
    beyond: float
    shrinkage: float = 1.0

    @classmethod
    def of(cls, values: Array, beyond: float) -> Compression:
        """Return the compression that values ask for.

        values: (n,).
        """
        with np.errstate(over="ignore", invalid="ignore"):
            middle = float(np.median(values))
            if np.isinf(middle):  # the sum of two values overflowed
                middle = 4.0 * float(np.median(0.25 * values))
            scale = _find_scale(values, middle)
        found = cls(middle, scale if scale < np.inf else 0.0, beyond)
        largest = float(found._measure(values).max()) if found.scale else 0.0
        if largest <= beyond:
            return found._replace(scale=0.0)
        excess = np.log1p(largest - beyond) - FAR_EXCESS
        return found._replace(shrinkage=min(ROOM / excess, 1.0)) if excess > 0.0 else found

    def compress(self, values: Array) -> Array:
        """Return values as `OutputWarping` learns them (n,).

        values: (n,).
        """
        return self.observe(values, None)[0]

    def observe(self, values: Array, variances: Array | None) -> tuple[Array, Array | None]:
        """Return values as `OutputWarping` learns them (n,), and the known variances of their noise, if any.

        values: (n,).
        variances: of the noise of the values (n,), NaN if it is learned; None if all are.
        """
        if not self.scale:
            return values, variances
        z = self._measure(values)
        short = self._shorten(z)
        compressed = np.where(z > self.beyond, self.middle + self.scale * short, values)
        is_outlier = short > self.beyond + FAR_EXCESS
        if np.count_nonzero(is_outlier) > max(MOST_OUTLIERS * len(values), 1.0):
            is_outlier = np.zeros(len(values), dtype=np.bool_)
        if variances is None and not is_outlier.any():
            return compressed, None
        noise = np.full(len(values), np.nan) if variances is None else variances.copy()
        with np.errstate(over="ignore"):
            if variances is not None:
                lower = self._shorten(z - np.sqrt(variances) / self.scale)  # one standard deviation below
                noise = np.where(z > self.beyond, np.square(self.scale * (short - lower)), variances)
            least = np.square(self.scale * short[is_outlier] / OUTLIER_SDS)
        noise[is_outlier] = np.fmax(noise[is_outlier], least)
        return compressed, np.minimum(noise, LARGEST)

    def _shorten(self, z: Array) -> Array:
        """Return compressed distances from the median, in scales."""
        excess = np.log1p(np.maximum(z - self.beyond, 0.0))
        shrunk = excess - (1.0 - self.shrinkage) * np.maximum(excess - FAR_EXCESS, 0.0)
        return np.where(z > self.beyond, self.beyond + shrunk, z)

    def expand(self, prediction: Prediction) -> Prediction:
        """Return the prediction of values of which one of compressed values is given.

        Far above the median the mean becomes the median of what is predicted, and the variance that of the expansion as
        a straight line there: a mean would be that of the largest values alone. If logarithms were shrunk, no mean is
        above the largest value: their errors would be stretched, too.
        """
        if not self.scale:
            return prediction
        z = self._measure(prediction.mean)
        most = FAR_EXCESS + ROOM if self.shrinkage < 1.0 else MOST_EXCESS
        shrunk = np.clip(z - self.beyond, 0.0, most)
        stretched = shrunk + (1.0 / self.shrinkage - 1.0) * np.maximum(shrunk - FAR_EXCESS, 0.0)
        excess = np.minimum(stretched, MOST_EXCESS)
        slope = np.exp(excess) * np.where(shrunk > FAR_EXCESS, 1.0 / self.shrinkage, 1.0)
        expanded = self.middle + self.scale * (self.beyond + np.expm1(excess))
        return Prediction(np.where(z > self.beyond, expanded, prediction.mean), prediction.variance * np.square(slope))

    def _measure(self, values: Array) -> Array:
        """Return the distances of values from the median, in scales."""
        with np.errstate(over="ignore"):
            return np.minimum((values - self.middle) / self.scale, LARGEST)


def _find_scale(values: Array, middle: float) -> float:
    """Return the unit of distances from the median, 0 if all values equal it up to rounding."""
    rounding = ROUNDING * abs(middle)
    better = values[values <= middle] - middle
    largest = float(np.max(np.abs(better)))
    if largest > rounding:
        return largest * float(np.sqrt(np.mean(np.square(better / largest))))
    worse = values[values > middle + rounding] - middle  # half of the values are the best one
    return float(np.median(worse)) if len(worse) else 0.0


@dataclass(frozen=True)
class ViolationWarping(Surrogate):
    """A surrogate of the violation of a limit, which learns those far from 0 in compressed form if that helps.

    A violation z, in units of the median distance from 0 of the violations that are not 0, becomes
    sign(z) * (beyond + log(1 + abs(z) - beyond)) where it is further away than `beyond`. So 0, if the limit is just
    kept, stays 0, and no violation changes its sign, as it could if violations above the median were compressed as
    `OutputWarping` compresses values.

    A few huge violations, such as a time-out, would set the scale for all others. Compressed, a sum, such as a weight,
    would be none any more: once most trials keep close to the limit, the first ones are far away. So the surrogate
    learns from the violations twice, as they are and compressed. The posterior is that which predicts the violations
    that are not compressed better, each from all others. If it cannot leave one out, it is that of the compressed ones.

    beyond: z above which violations are compressed, at least 0.

    Raises TypeError, ValueError.
    """

    surrogate: Surrogate
    beyond: float = 3.0

    def __post_init__(self) -> None:
        check_part("surrogate", self.surrogate, Surrogate)
        check_number("beyond", self.beyond, 0.0)

    def initial_state(self) -> State:
        return {"plain": self.surrogate.initial_state(), "compressed": self.surrogate.initial_state()}

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Learn from n points and their violations.

        Returns the posterior, the state for the next call, and the info to record, ``compressed`` where the violations
        are, and ``failed``, why one of the two could not be learned. Raises what `surrogate` raises, and NumericalError
        only where neither could.
        """
        if not (isinstance(state, dict) and "compressed" in state):  # of a study that knew compressed violations alone
            state = {"plain": self.surrogate.initial_state(), "compressed": state}
        told, failed = compress_far(values, self.beyond), list[NumericalError]()
        found = dict[str, tuple[Posterior, State, Info]]()
        both = {"plain": values} if told is values else {"compressed": told, "plain": values}
        for name, violations in both.items():
            try:
                found[name] = self.surrogate.condition(xs, violations, state[name], rng)
            except NumericalError as error:
                failed.append(error)
        if not found:
            raise failed[0]
        farthest = self.beyond * _find_violation_scale(values)
        best = max(found, key=lambda name: _score_left_out(found[name][0], farthest))  # the first one of equals
        posterior, _, info = found[best]
        note: Info = {"compressed": True} if best == "compressed" else {}
        note |= {"failed": str(failed[0])} if failed else {}
        return posterior, state | {name: learned for name, (_, learned, _) in found.items()}, info | note


def _score_left_out(posterior: Posterior, farthest: float) -> float:
    """Return the mean log density of the violations near 0, each given all others; 0 without such violations.

    It is 0, too, if the posterior leaves no value out.
    """
    found = posterior.leave_one_out()
    if found is None:
        return 0.0
    _, values, (mean, variance) = found
    near = np.abs(values) <= farthest * (1.0 + VIOLATION_ROUNDING)
    if not near.any():
        return 0.0
    sd = np.sqrt(variance[:, near])
    return float(np.mean(log_mean_exp(log_density((values[near] - mean[:, near]) / sd) - np.log(sd))))


def _find_violation_scale(violations: Array) -> float:
    """Return the median distance from 0 of the violations that are not 0; 0 if all are.

    Those at 0 tell no scale: half of all numbers may sit on their limit, such as errors that must not occur.
    """
    distances = np.abs(violations[violations != 0.0])
    with np.errstate(over="ignore"):  # the sum of the two in the middle
        return float(np.median(distances)) if len(distances) else 0.0


def compress_far(violations: Array, beyond: float) -> Array:
    """Return violations as `ViolationWarping` tells them (n,).

    violations: (n,).
    """
    size, scale = np.abs(violations), _find_violation_scale(violations)
    if not 0.0 < scale < np.inf:
        return violations
    with np.errstate(over="ignore"):
        z = np.minimum(size / scale, np.finfo(np.float64).max)
    far = z > beyond
    if not far.any():
        return violations
    told = violations.copy()
    told[far] = np.sign(violations[far]) * scale * (beyond + np.log1p(z[far] - beyond))
    return told
