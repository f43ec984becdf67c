"""A Gaussian process whose hyperparameters are marginalized by slice sampling: COMBO's surrogate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from bostruct.checks import check_integer, check_number, check_part
from bostruct.contracts import ADDED_LATER, Array, Batch, Info, Kernel, Prior, State, Surrogate
from bostruct.surrogates.chain import ChainData, ChainTally, sweep
from bostruct.surrogates.hyperparameters import (
    LOG_HIGH,
    LOG_LOW,
    Hyperparameters,
    PriorsOfValues,
    check_kernel_base,
    check_values,
    make_initial_theta,
)
from bostruct.surrogates.posterior import GaussianPosterior, posterior_sample_from_gram
from bostruct.surrogates.standardization import check_variances, find_known_variances


@dataclass(frozen=True)
class MarginalizedGP(Surrogate):
    """A Gaussian process whose hyperparameters are marginalized by slice sampling (Oh et al. 2019, section 2.3).

    Parameters
    ----------
    kernel : Kernel
        Kernel on the points, with `Kernel.line`.
    join : callable
        The domain's `join`, which adds running points to the training points.
    priors : PriorsOfValues
        Function from values (n,) to priors of mean, log amplitude and log noise.
    nugget : float, default 1e-06
        Share of the amplitude added to the diagonal of K, at least 0.
    burn_in : int, default 100
        Number of sweeps before the first posterior, at least 0.
    samples : int, default 10
        Number of sweeps for each posterior, all of them kept, at least 1; the chain continues between posteriors.
    shared_mean : bool, default False
        If True, all samples use the mean of the last sample, as accidentally in the published code.
    variances : Array or None
        Known noise variances of the values, as in `with_variances`; None if all are learned.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """

    kernel: Kernel
    join: Callable[..., Batch]
    priors: PriorsOfValues
    nugget: float = 1e-6
    burn_in: int = 100
    samples: int = 10
    shared_mean: bool = False
    variances: Array | None = field(default=None, metadata=ADDED_LATER, compare=False)

    def __post_init__(self) -> None:
        check_kernel_base(self.kernel)
        check_integer("burn_in", self.burn_in, 0)
        check_integer("samples", self.samples, 1)
        check_number("nugget", self.nugget, 0.0)

    def with_variances(self, variances: Array) -> MarginalizedGP:
        """Return the model with known noise of the values that it is conditioned on next.

        If all noise variances are known, the noise variance of a new value is their median.
        """
        return replace(self, variances=check_variances(variances))

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[GaussianPosterior, State, Info]:
        """Run the chain, and keep its last `samples` states."""
        check_values(values)
        priors, tally = self.priors(values), ChainTally()
        for name, prior in priors._asdict().items():
            check_part(f"priors: {name}", prior, Prior)
        known = find_known_variances(self.variances, len(values))
        data = ChainData(self.kernel, self.kernel.prepare(xs), values, priors, self.nugget, known)
        now = self.start(values) if state is None else Hyperparameters.from_json(state)
        if known is not None and data.is_noise_known:
            log_noise = math.log(max(float(np.median(known)), math.exp(LOG_LOW)))
            now = now._replace(log_noise=min(log_noise, LOG_HIGH))
        if state is None:
            for _ in range(self.burn_in):
                now = sweep(data, now, rng, tally)
        chain: list[Hyperparameters] = []
        for _ in range(self.samples):
            now = sweep(data, now, rng, tally)
            chain.append(now)
        if self.shared_mean:
            chain = [hyper._replace(mean=now.mean) for hyper in chain]
        samples = [
            posterior_sample_from_gram(
                self.kernel.gram(hyper.theta, data.prepared), values - hyper.mean, hyper, self.nugget, known
            )
            for hyper in chain
        ]
        info = {
            "sweeps": tally.updates // (len(now.theta) + 3 - data.is_noise_known),
            "likelihoods": tally.evaluations,
            "largest_jitter": max([tally.largest_jitter, *(one.jitter for one in samples)]),
            "log_amplitude": now.log_amplitude,
            "log_noise": now.log_noise,
        }
        posterior = GaussianPosterior(self.kernel, xs, self.join, samples, self.nugget, known=known)
        return posterior, now.to_json(), info

    def start(self, values: Array) -> Hyperparameters:
        """Return the initial hyperparameters of the chain.

        As published, the log noise is a thousandth of the mean, within bounds.

        Parameters
        ----------
        values : array of shape (n,)
            Values in the user's units.
        """
        theta = make_initial_theta(self.kernel)
        spread = float(np.var(values, ddof=1)) if len(values) > 1 else 0.0
        mean = min(max(float(np.mean(values)), float(np.min(values))), float(np.max(values)))  # despite rounding
        log_amplitude = math.log(max(0.5 * spread, math.exp(LOG_LOW)))
        return Hyperparameters(mean, min(log_amplitude, LOG_HIGH), min(max(mean / 1000.0, LOG_LOW), LOG_HIGH), theta)
