"""Compression of values far above the median: a point that fails badly should not set the scale for all others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from bostruct.checks import ROUNDING, check_number, may_have_covariance
from bostruct.contracts import ADDED_LATER, Array, Batch, Info, Posterior, Prediction, State, Surrogate
from bostruct.surrogates.known_noise import check_variances, find_known_variances, with_variances

MOST_EXCESS = 300.0  # of a prediction in scales: the square of its exponential is a number
LARGEST = np.finfo(np.float64).max
FAR_EXCESS = 3.0  # of a compressed value in scales: 22 scales above the median, with `beyond` at 3
FAR_SDS = 2.0  # between the median and a farther value, whose noise is made so large


@dataclass(frozen=True)
class OutputWarping:
    """A surrogate that observes values far above the median in compressed form, as beyond + log(1 + z - beyond).

    z is the distance from the median, in root mean squares of the distances of the better half. Where all of these
    equal the median up to rounding, the unit is the median distance of the values that do not. Nothing better than the
    median is touched, so incumbents and improvements are as they are. Predictions far above the median are on the
    compressed scale.

    The logarithm is at most 3. A value that reaches this bound says that its point is bad, and little about the points
    around it: an outlier of this size in a Gaussian process would distort its neighborhood. So the value has noise,
    which puts it two standard deviations above the median.

    surrogate: of the compressed values.
    beyond: z above which values are compressed, at least 0.
    of_distinct: True for median and unit of the distinct values, so that a value that most points share sets neither.
    variances: known variances of the noise of the values, as of `with_variances`; None where all are learned.

    Raises TypeError, ValueError.
    """

    surrogate: Surrogate
    beyond: float = 3.0
    of_distinct: bool = field(default=False, metadata=ADDED_LATER)
    variances: Array | None = field(default=None, metadata=ADDED_LATER, compare=False)

    def __post_init__(self) -> None:
        check_number("beyond", self.beyond, 0.0)

    def with_variances(self, variances: Array) -> OutputWarping:
        """Return the surrogate that knows the noise of the values that it is conditioned on next.

        The noise of a compressed value is its distance from the compressed value that is one standard deviation lower.
        By the slope alone, a value far above the median that is mostly noise would look precise. A surrogate inside
        that cannot know the noise learns it.

        variances: of the noise of each value (n,), at least 0, in the user's units squared; NaN where it is learned.

        Raises ValueError.
        """
        return replace(self, variances=check_variances(variances))

    @property
    def has_covariance(self) -> bool:
        """True where the posterior of compressed values may have covariances."""
        return may_have_covariance(self.surrogate)

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
        compressed, noise = self._find_compression(values).observe(
            values, find_known_variances(self.variances, len(values))
        )
        surrogate = self.surrogate if noise is None else with_variances(self.surrogate, noise)
        return surrogate.condition(xs, compressed, state, rng)

    def restore_units(self, prediction: Prediction, values: Array) -> Prediction:
        """Return a prediction of the posterior in the user's units: `RestoresUnits`.

        prediction: of the posterior that was conditioned on the values.
        values: (n,), in the user's units.
        """
        return self._find_compression(values).expand(prediction)

    def _find_compression(self, values: Array) -> Compression:
        return Compression.of(_list_distinct(values) if self.of_distinct else values, self.beyond)


class Compression(NamedTuple):
    """The compression of values far above their median.

    middle: the median.
    scale: the unit of distances; 0 where no value is compressed.
    beyond: scales above the median from which on values are compressed.
    """

    middle: float
    scale: float
    beyond: float

    @classmethod
    def of(cls, values: Array, beyond: float) -> Compression:
        """Return the compression that values ask for.

        values: (n,).
        beyond: as of `OutputWarping`.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            middle = float(np.median(values))
            if np.isinf(middle):  # the sum of two values overflowed
                middle = 4.0 * float(np.median(0.25 * values))
            scale = _find_scale(values, middle)
        found = cls(middle, scale if scale < np.inf else 0.0, beyond)
        return found if found.scale and np.any(found._measure(values) > beyond) else found._replace(scale=0.0)

    def compress(self, values: Array) -> Array:
        """Return values as `OutputWarping` learns them (n,).

        values: (n,).
        """
        return self.observe(values, None)[0]

    def observe(self, values: Array, variances: Array | None) -> tuple[Array, Array | None]:
        """Return values as `OutputWarping` learns them (n,), and the known variances of their noise, if any.

        values: (n,).
        variances: of the noise of the values (n,), NaN where it is learned; None where all are.
        """
        if not self.scale:
            return values, variances
        z = self._measure(values)
        short = self._shorten(z)
        compressed = np.where(z > self.beyond, self.middle + self.scale * short, values)
        noise = np.full(len(values), np.nan) if variances is None else variances.copy()
        if variances is not None:
            lower = self._shorten(z - np.sqrt(variances) / self.scale)  # one standard deviation below
            noise = np.where(z > self.beyond, np.square(self.scale * (short - lower)), noise)
        is_far = short >= self.beyond + FAR_EXCESS
        with np.errstate(over="ignore"):
            least = np.minimum(np.square(self.scale * short[is_far] / FAR_SDS), LARGEST)
        noise[is_far] = np.fmax(noise[is_far], least)
        return compressed, None if variances is None and not is_far.any() else noise

    def _shorten(self, z: Array) -> Array:
        """Return compressed distances from the median, in scales."""
        excess = np.log1p(np.maximum(z - self.beyond, 0.0))
        return np.where(z > self.beyond, self.beyond + np.minimum(excess, FAR_EXCESS), z)

    def expand(self, prediction: Prediction) -> Prediction:
        """Return the prediction of values of which one of compressed values is given.

        Far above the median the mean becomes the median of what is predicted, and the variance that of the expansion as
        a straight line there: a mean would be that of the largest values alone.

        prediction: of compressed values.
        """
        if not self.scale:
            return prediction
        z = self._measure(prediction.mean)
        excess = np.clip(z - self.beyond, 0.0, MOST_EXCESS)
        expanded = self.middle + self.scale * (self.beyond + np.expm1(excess))
        return Prediction(
            np.where(z > self.beyond, expanded, prediction.mean), prediction.variance * np.exp(2.0 * excess)
        )

    def _measure(self, values: Array) -> Array:
        """Return the distances of values from the median, in scales."""
        with np.errstate(over="ignore"):
            return np.minimum((values - self.middle) / self.scale, LARGEST)


def _find_scale(values: Array, middle: float) -> float:
    """Return the unit of distances from the median, 0 where all values equal it up to rounding."""
    rounding = ROUNDING * abs(middle)
    better = values[values <= middle] - middle
    largest = float(np.max(np.abs(better)))
    if largest > rounding:
        return largest * float(np.sqrt(np.mean(np.square(better / largest))))
    worse = values[values > middle + rounding] - middle  # half of the values are the best one
    return float(np.median(worse)) if len(worse) else 0.0


def _list_distinct(values: Array) -> Array:
    """Return the values that differ by more than rounding from the next lower one, in order."""
    listed = np.unique(values)
    with np.errstate(over="ignore"):
        is_apart = np.diff(listed) > ROUNDING * np.abs(listed[1:])
    return listed[np.append(True, is_apart)]


def compress_upper_tail(values: Array, beyond: float) -> Array:
    """Return the values as `OutputWarping` learns them (n,).

    values: (n,).
    beyond: as of `OutputWarping`.
    """
    return Compression.of(values, beyond).compress(values)
