"""Compression of values far above the median, and of violations far from 0.

A very bad point should not set the scale for all others, and should not hide which points just satisfy a constraint.
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

MOST_EXCESS = 300.0  # of a prediction in scales: the square of its exponential is finite
FAR = 3.0  # scales above the median from which values are compressed
FAR_EXCESS = 3.0  # of a compressed value in scales: 22 scales above the median if `beyond` is 3
FAR_ABOVE = 10.0  # scales above the median from which one of several objectives is compressed
ROOM = 1.0  # scales that all farther values share
MOST_OUTLIERS = 0.1  # share of the values: more outliers form a region that the model has to learn
OUTLIER_SDS = 2.0  # standard deviations between the median and an outlier
LARGEST = np.finfo(np.float64).max
VIOLATION_ROUNDING = 1e-6  # relative: violations at the limit of compression count as near, however they are rounded


@dataclass(frozen=True)
class OutputWarping(Surrogate):
    """A surrogate that observes values far above the median in compressed form, as beyond + log(1 + z - beyond).

    z is the distance from the median, in root mean squares of the distances of the better half. If the better half
    equals the median up to rounding, the unit is the median distance of the other values. Values better than the median
    are unchanged, and so are incumbents and improvements. Predictions far above the median are on the compressed scale.

    The part of the logarithms above 3 is shrunk so that the largest is 4. If at most a tenth of the values are so far
    away, they show that their points are bad, but little about the points around them. In a Gaussian process, such an
    outlier would distort its neighborhood. So it has noise that puts it two standard deviations above the median.

    beyond: z above which values are compressed, at least 0.
    of_distinct: True to compute median and unit from the distinct values, not from a value that most points share.
    variances: known noise variances of the values, as in `with_variances`; None if all are learned.

    Raises TypeError, ValueError.
    """

    surrogate: Surrogate
    beyond: float = FAR
    of_distinct: bool = field(default=False, metadata=ADDED_LATER)
    variances: Array | None = field(default=None, metadata=ADDED_LATER, compare=False)

    def __post_init__(self) -> None:
        check_part("surrogate", self.surrogate, Surrogate)
        check_number("beyond", self.beyond, 0.0)

    def with_variances(self, variances: Array) -> OutputWarping:
        """Return the surrogate with known noise of the values that it is conditioned on next.

        The noise of a compressed value is its distance from the compressed value that is one standard deviation lower.
        If only the slope were used, a value far above the median that is mostly noise would look precise. If the inner
        surrogate does not accept known noise, it learns the noise.
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
        """Return the surrogate for one of several objectives, which compresses only values very far above the median.

        A Pareto front reaches far above the median of an objective whose best value most trials share, such as the
        smallest size. With logarithms, the hypervolume would draw the search to that end of the front.
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

        Returns the posterior, the state for the next call, and the info to record. Raises the errors of `surrogate`.
        """
        known = find_known_variances(self.variances, len(values))
        compressed, noise = self._find_compression(values).observe(values, known)
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
    shrinkage: factor of the part of logarithms above `FAR_EXCESS`, from 0 to 1.
    """

    middle: float
    scale: float
    beyond: float
    shrinkage: float = 1.0

    @classmethod
    def of(cls, values: Array, beyond: float) -> Compression:
        """Return the compression for some values.

        values: observed values (n,).
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
        """Return the values that `OutputWarping` learns (n,).

        values: observed values (n,).
        """
        return self.observe(values, None)[0]

    def observe(self, values: Array, variances: Array | None) -> tuple[Array, Array | None]:
        """Return the values that `OutputWarping` learns (n,), and the known variances of their noise, if any.

        values: observed values (n,).
        variances: noise variances of the values (n,), NaN if learned; None if all are learned.
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
        """Return the prediction of values, from a prediction of compressed values.

        Far above the median, the mean becomes the median of the predictive distribution, because a mean would depend
        only on the largest values. The variance is propagated through the linearized expansion. If logarithms were
        shrunk, no mean exceeds the largest value, because the expansion would also stretch errors.
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
    """Return the unit of distances from the median; 0 if all values equal the median up to rounding."""
    rounding = ROUNDING * abs(middle)
    better = values[values <= middle] - middle
    largest = float(np.max(np.abs(better)))
    if largest > rounding:
        return largest * float(np.sqrt(np.mean(np.square(better / largest))))
    worse = values[values > middle + rounding] - middle  # half of the values equal the best value
    return float(np.median(worse)) if len(worse) else 0.0


@dataclass(frozen=True)
class ViolationWarping(Surrogate):
    """A surrogate of the violation of an outcome constraint, which compresses violations far from 0 if that helps.

    A violation z, in units of the median distance from 0 of the violations that are not 0, becomes
    sign(z) * (beyond + log(1 + abs(z) - beyond)) if abs(z) > beyond. So a violation of 0, at which the constraint just
    holds, stays 0, and no violation changes its sign, as it could if `OutputWarping` compressed violations.

    A few huge violations, such as a time-out, would set the scale for all others. But after compression, a sum, such as
    a weight, is not a sum any more: once most trials are close to the limit, the first trials are far away. So the
    surrogate learns from the violations twice, unchanged and compressed. It returns the posterior that better predicts
    each violation near 0 from all others, or that of compressed violations if no value can be left out.

    beyond: abs(z) above which violations are compressed, at least 0.

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

        Returns the posterior, the state for the next call, and the info to record: ``compressed`` if the violations
        are, and ``failed``, the error of the posterior that could not be learned. Raises the errors of `surrogate`, but
        NumericalError only if neither could be learned.
        """
        if not (isinstance(state, dict) and "compressed" in state):  # from a version with only compressed violations
            state = {"plain": self.surrogate.initial_state(), "compressed": state}
        compressed, failed = compress_far(values, self.beyond), list[NumericalError]()
        found = dict[str, tuple[Posterior, State, Info]]()
        both = {"plain": values} if compressed is values else {"compressed": compressed, "plain": values}
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
    """Return the mean log density of the violations near 0, each given all others.

    It is 0 if there are no such violations, or if the posterior cannot leave a value out.
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
    """Return the median distance from 0 of the violations that are not 0; 0 if all are 0.

    Violations at 0 have no scale: half of all values may be at their limit, such as errors that must not occur.
    """
    distances = np.abs(violations[violations != 0.0])
    with np.errstate(over="ignore"):  # the sum of the two middle distances
        return float(np.median(distances)) if len(distances) else 0.0


def compress_far(violations: Array, beyond: float) -> Array:
    """Return violations in the compressed form of `ViolationWarping` (n,).

    violations: observed violations (n,).
    """
    size, scale = np.abs(violations), _find_violation_scale(violations)
    if not 0.0 < scale < np.inf:
        return violations
    with np.errstate(over="ignore"):
        z = np.minimum(size / scale, np.finfo(np.float64).max)
    far = z > beyond
    if not far.any():
        return violations
    compressed = violations.copy()
    compressed[far] = np.sign(violations[far]) * scale * (beyond + np.log1p(z[far] - beyond))
    return compressed
