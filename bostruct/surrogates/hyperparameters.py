"""Hyperparameters of a Gaussian process with a constant mean, and their priors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bostruct.checks import check_part, short_repr
from bostruct.contracts import Array, Json, Kernel, NumericalError, Parameter, ParsedJson, Prior
from bostruct.surrogates.gaussian import LARGEST_EXPONENT

REACH = 50.0  # maximum distance of a logarithm from its prior mean, beyond which exponentials overflow


@dataclass(frozen=True)
class Normal(Prior):
    """A normal density; if the parameter is a logarithm, its exponential is log-normal.

    Parameters
    ----------
    mean : float
        Mean of the density.
    sd : float
        Standard deviation, above 0.
    """

    mean: float
    sd: float

    def log_density(self, theta: float) -> float:
        return -0.5 * ((theta - self.mean) / self.sd) ** 2

    def value_and_grad(self, theta: Array) -> tuple[float, Array]:
        standard = (theta - self.mean) / self.sd
        return float(-0.5 * np.sum(standard**2)), -standard / self.sd


@dataclass(frozen=True)
class TruncatedNormal(Prior):
    """A normal density on [low, high], and 0 elsewhere.

    Parameters
    ----------
    mean, sd : float
        Mean and standard deviation before truncation.
    low, high : float
        Bounds of the support.
    """

    mean: float
    sd: float
    low: float
    high: float

    def log_density(self, theta: float) -> float:
        if not self.low <= theta <= self.high:
            return -math.inf
        return -math.log(self.sd) - 0.5 * ((theta - self.mean) / self.sd) ** 2


@dataclass(frozen=True)
class LogHorseshoe(Prior):
    """The upper bound of the horseshoe density of exp(theta), as a density of theta on [low, high].

    The log density is log log(1 + 2 (scale / exp(theta))^2): Carvalho, Polson and Scott 2010, Theorem 1, as in COMBO,
    without the Jacobian of the logarithm. As a density of theta, it is proper only because of its bounds.

    Parameters
    ----------
    scale : float
        Scale of the horseshoe, above 0.
    low, high : float
        Bounds of theta.
    """

    scale: float
    low: float
    high: float

    def log_density(self, theta: float) -> float:
        if not self.low <= theta <= self.high:
            return -math.inf
        return math.log(math.log1p(2.0 * (self.scale * math.exp(-theta)) ** 2))

    def value_and_grad(self, theta: Array) -> tuple[float, Array]:
        u = 2.0 * np.square(self.scale * np.exp(-theta))
        inside = (self.low <= theta) & (theta <= self.high)
        total = float(np.sum(np.log(np.log1p(u)))) if inside.all() else -math.inf
        return total, np.where(inside, -2.0 * u / ((1.0 + u) * np.log1p(u)), 0.0)


@dataclass(frozen=True)
class Bounded(Prior):
    """A prior restricted to [low, high], with its density unchanged there.

    Parameters
    ----------
    prior : Prior
        The prior to restrict.
    low, high : float
        Bounds of the support.
    """

    prior: Prior
    low: float
    high: float

    def __post_init__(self) -> None:
        check_part("prior", self.prior, Prior)

    def log_density(self, theta: float) -> float:
        return self.prior.log_density(theta) if self.low <= theta <= self.high else -math.inf

    def value_and_grad(self, theta: Array) -> tuple[float, Array]:
        """Return the sum of log densities, -inf outside the support, and the gradient of `prior`, also outside (k,)."""
        total, gradient = self.prior.value_and_grad(theta)
        inside = bool(np.all((self.low <= theta) & (theta <= self.high)))
        return (total if inside else -math.inf), gradient


def bounded_normal(mean: float, sd: float) -> Bounded:
    """Return a normal prior of a logarithm, truncated at distance `REACH` from its mean to prevent overflow.

    mean: mean of the logarithm.
    sd: standard deviation of the logarithm, above 0.
    """
    return Bounded(Normal(mean, sd), mean - REACH, mean + REACH)


def match_log_uniform(low: float, high: float) -> Bounded:
    """Return the normal prior of a logarithm with the mean and variance of a log-uniform range.

    low, high: ends of the range, 0 < low < high.
    """
    return bounded_normal(0.5 * math.log(low * high), math.log(high / low) / math.sqrt(12.0))


LOG_LOW, LOG_HIGH = -12.0, math.log(1e4)  # of amplitude and noise, on the scale of the values
LARGEST_VALUE = 1e150  # its square is finite


class Hyperparameters(NamedTuple):
    """The hyperparameters of y ~ N(mean, exp(log_amplitude) (K(theta) + nugget I) + exp(log_noise) I).

    mean: in the units of y. log_amplitude, log_noise: logarithms of variances. theta: kernel parameters (p,).
    """

    mean: float
    log_amplitude: float
    log_noise: float
    theta: Array

    def ratio(self, nugget: float, known: Array | None = None) -> float | Array:
        """Return the diagonal that is added to K, in units of the amplitude; an array (n,) if variances are known.

        nugget: share of the amplitude, at least 0.
        known: noise variance of each value (n,); NaN, or None for all values, if it is exp(`log_noise`).
        """
        exponent = self.log_noise - self.log_amplitude
        learned = nugget + math.exp(exponent) if exponent < LARGEST_EXPONENT else math.inf
        if known is None:
            return learned
        return np.where(np.isnan(known), learned, nugget + known * math.exp(min(-self.log_amplitude, LARGEST_EXPONENT)))

    def to_json(self) -> Json:
        return [self.mean, self.log_amplitude, self.log_noise, self.theta.tolist()]

    @classmethod
    def from_json(cls, data: ParsedJson) -> Hyperparameters:
        """Return the hyperparameters that `to_json` wrote.

        data: mean, log amplitude, log noise, and a list of theta.
        """
        return cls(data[0], data[1], data[2], np.array(data[3], dtype=np.float64))


class ScalePriors(NamedTuple):
    """The priors of the hyperparameters outside the kernel.

    Attributes
    ----------
    mean : Prior
        Prior of the mean, in the units of the values.
    log_amplitude : Prior
        Prior of the log amplitude, a variance.
    log_noise : Prior
        Prior of the log noise variance.
    """

    mean: Prior
    log_amplitude: Prior
    log_noise: Prior


def check_kernel_base(kernel: Kernel) -> None:
    """Raise TypeError for a kernel, its parameters or one of their priors, that does not derive from its base."""
    for block in check_part("kernel", kernel, Kernel).parameters:
        if not isinstance(block, Parameter):
            raise TypeError(f"kernel: parameters: expected bostruct.contracts.Parameter(...), got {short_repr(block)}")
        check_part(f"kernel: {block.name}: prior", block.prior, Prior)


def make_initial_theta(kernel: Kernel) -> Array:
    """Return the initial parameters of a kernel (p,)."""
    return np.concatenate([np.empty(0), *(np.full(block.size, block.initial) for block in kernel.parameters)])


def check_values(values: Array) -> None:
    """Raise NumericalError for values whose variance overflows float64.

    values: at least one value (n,).
    """
    largest = float(np.max(np.abs(values)))
    if not largest <= LARGEST_VALUE:
        raise NumericalError(f"values: expected magnitudes up to {LARGEST_VALUE:g}, got {largest:g}")


PriorsOfValues = Callable[[Array], ScalePriors]  # priors may depend on the values (n,)
