"""Hyperparameters of a Gaussian process with a constant mean, and their priors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bostruct.checks import check_part
from bostruct.contracts import Array, Json, Kernel, NumericalError, ParsedJson, Prior

LOG_LOW, LOG_HIGH = -12.0, math.log(1e4)  # of amplitude and noise, on the scale of the values
LARGEST_VALUE = 1e150  # whose square is finite


class Hyperparameters(NamedTuple):
    """The hyperparameters of y ~ N(mean, exp(log_amplitude) (K(theta) + nugget I) + exp(log_noise) I).

    mean: in the units of y. log_amplitude, log_noise: of variances. theta: of the kernel (p,).
    """

    mean: float
    log_amplitude: float
    log_noise: float
    theta: Array

    def ratio(self, nugget: float, known: Array | None = None) -> float | Array:
        """Return the diagonal that is added to K, in units of the amplitude; (n,) where variances are known.

        nugget: share of the amplitude, at least 0.
        known: variance of the noise of each value (n,), NaN where it is `log_noise`; None where all are.
        """
        learned = nugget + math.exp(self.log_noise - self.log_amplitude)
        if known is None:
            return learned
        return np.where(np.isnan(known), learned, nugget + known * math.exp(-self.log_amplitude))

    def to_json(self) -> Json:
        return [self.mean, self.log_amplitude, self.log_noise, self.theta.tolist()]

    @classmethod
    def from_json(cls, data: ParsedJson) -> Hyperparameters:
        """Return the hyperparameters that `to_json` wrote.

        data: mean, log amplitude, log noise, and a list of theta.
        """
        return cls(data[0], data[1], data[2], np.array(data[3], dtype=np.float64))


class ScalePriors(NamedTuple):
    """The priors of the hyperparameters that are not the kernel's.

    mean: in the units of the values.
    log_amplitude: of the log amplitude, a variance.
    log_noise: of the log noise variance.
    """

    mean: Prior
    log_amplitude: Prior
    log_noise: Prior


def check_kernel_base(kernel: Kernel) -> None:
    """Raise TypeError for a kernel, or a prior of its parameters, that does not derive from its base.

    kernel: as given.
    """
    for block in check_part("kernel", kernel, Kernel).parameters:
        check_part(f"kernel: {block.name}: prior", block.prior, Prior)


def make_initial_theta(kernel: Kernel) -> Array:
    """Return the initial parameters of a kernel (p,).

    kernel: whose blocks of parameters say where each begins.
    """
    return np.concatenate([np.empty(0), *(np.full(block.size, block.initial) for block in kernel.parameters)])


def check_values(values: Array) -> None:
    """Raise NumericalError for values whose variance float64 cannot hold.

    values: (n,), at least one.
    """
    largest = float(np.max(np.abs(values)))
    if not largest <= LARGEST_VALUE:
        raise NumericalError(f"values: expected magnitudes up to {LARGEST_VALUE:g}, got {largest:g}")


PriorsOfValues = Callable[[Array], ScalePriors]  # priors may depend on the values (n,)
