"""A Gaussian process whose hyperparameters are marginalized by slice sampling: COMBO's surrogate.

A sweep of its chain (Oh et al. 2019, section 2.3 and its supplement) makes slice updates, one coordinate each. Results
that a coordinate does not change are reused: K for mean, amplitude and noise; all factors but one for theta_i.

If a coordinate splits the points into parts, its evidence is computed in blocks. With the points of the largest part
first, K + ratio I is [[A, w B], [w B', P + w Q]]: P is K within each of the other parts, Q is K between them, and only
the scale w changes. A is factored once; for each w, only the Schur complement P + w Q - w^2 B' A^-1 B is factored,
which is as large as the other parts together. This is an exact Cholesky factorization in blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from bostruct.checks import check_integer, check_number, check_part
from bostruct.contracts import ADDED_LATER, Array, BlockGram, Kernel, NumericalError, Prior, Surrogate
from bostruct.contracts.types import Batch, Info, Prepared, State
from bostruct.surrogates.gaussian import (
    add_to_diagonal,
    cholesky,
    evidence,
    evidence_from,
    log_determinant,
    solve_lower,
)
from bostruct.surrogates.hyperparameters import (
    LOG_HIGH,
    LOG_LOW,
    Hyperparameters,
    PriorsOfValues,
    ScalePriors,
    check_values,
    make_initial_theta,
)
from bostruct.surrogates.posterior import GaussianPosterior, posterior_sample_from_gram
from bostruct.surrogates.slice_sampling import Draw, slice_update
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
        check_part("kernel", self.kernel, Kernel)
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
            posterior_sample_from_gram(self.kernel.gram(h.theta, data.prepared), values - h.mean, h, self.nugget, known)
            for h in chain
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


class ChainData(NamedTuple):
    """The data and the model on which the chain is conditioned.

    values: values in the units of the priors of mean, amplitude and noise (n,).
    priors: priors of mean, log amplitude and log noise.
    nugget: share of the amplitude added to the diagonal of K, at least 0.
    known: noise variance of each value (n,), NaN if sampled; None if all are sampled.
    """

    kernel: Kernel
    prepared: Prepared
    values: Array
    priors: ScalePriors
    nugget: float
    known: Array | None = None

    def ratio(self, hyper: Hyperparameters) -> float | Array:
        """Return the diagonal that is added to K, in units of the amplitude; an array (n,) if variances are known."""
        return hyper.ratio(self.nugget, self.known)

    @property
    def is_noise_known(self) -> bool:
        """True if the noise of each value is known."""
        return self.known is not None and not bool(np.isnan(self.known).any())


@dataclass
class ChainTally:
    """The recorded counts of a chain.

    evaluations: number of log densities evaluated.
    largest_jitter: largest jitter of the diagonal of K, in units of the amplitude; 0 if none was needed.
    """

    evaluations: int = 0
    largest_jitter: float = 0.0
    updates: int = 0

    def add(self, draw: Draw) -> None:
        """Count one draw."""
        self.updates += 1
        self.evaluations += draw.evaluations


def sweep(data: ChainData, start: Hyperparameters, rng: np.random.Generator, tally: ChainTally) -> Hyperparameters:
    """Update mean, log amplitude, log noise, then each theta_i in random order (Oh et al. 2019, section 2.3).

    rng: random number generator.

    Returns the hyperparameters after the sweep. Raises NumericalError.
    """
    gram = data.kernel.gram(start.theta, data.prepared)
    now = _update_mean(data, gram, start, rng, tally)
    now = _update_scale(data, gram, now, "log_amplitude", rng, tally)
    if not data.is_noise_known:
        now = _update_scale(data, gram, now, "log_noise", rng, tally)
    priors = [block.prior.log_density for block in data.kernel.parameters for _ in range(block.size)]
    theta, residual = now.theta.copy(), data.values - now.mean
    known: float | None = None
    for i in rng.permutation(len(theta)).tolist():
        line = data.kernel.line(theta, i, data.prepared, gram)
        likelihood = _line_log_likelihood(line, residual, now, data.ratio(now), tally)
        prior = priors[i]
        start_density = None if known is None else known + prior(float(theta[i]))
        draw = slice_update(_log_posterior(prior, likelihood), float(theta[i]), rng, start_density)
        tally.add(draw)
        theta[i] = draw.value
        known = draw.log_density - prior(draw.value)
        gram = line(draw.value)
    return now._replace(theta=theta)


def _line_log_likelihood(
    line: Callable[[float], Array], residual: Array, hyper: Hyperparameters, ratio: float | Array, tally: ChainTally
) -> Callable[[float], float]:
    log_amplitude, n = hyper.log_amplitude, len(residual)
    split = block_evidence(line, residual, ratio) if isinstance(line, BlockGram) else None

    def likelihood(t: float) -> float:
        if split is not None and (parts := split(t)) is not None:
            return evidence_from(*parts, n, log_amplitude)
        found = evidence(partial(line, t), residual, log_amplitude, ratio)
        if found.jitter > tally.largest_jitter:
            tally.largest_jitter = found.jitter
        return found.log_density

    return likelihood


def _log_posterior(prior: Callable[[float], float], likelihood: Callable[[float], float]) -> Callable[[float], float]:
    """Return log prior plus log likelihood: -inf outside the prior's support, or if a matrix cannot be factored."""

    def density(t: float) -> float:
        before = prior(t)
        if before == -math.inf:
            return before
        try:
            return before + likelihood(t)
        except NumericalError:
            return -math.inf

    return density


def _update_mean(
    data: ChainData, gram: Array, now: Hyperparameters, rng: np.random.Generator, tally: ChainTally
) -> Hyperparameters:
    """Update the mean: the evidence is quadratic in it, so the whole update needs one factorization.

    The last state of the chain may have a matrix that cannot be factored with the new points. The mean is then
    unchanged, and later updates leave that state.
    """
    try:
        lower, jitter = cholesky(gram.copy, data.ratio(now))
    except NumericalError:
        tally.updates += 1
        return now
    tally.largest_jitter = max(tally.largest_jitter, jitter)
    white = solve_lower(lower, np.column_stack([data.values - now.mean, np.ones(len(data.values))]))
    (yy, y1), (_, ones) = white.T @ white
    determinant, n = log_determinant(lower), len(data.values)

    def likelihood(c: float) -> float:
        step = c - now.mean
        return evidence_from(determinant, yy - 2.0 * step * y1 + step * step * ones, n, now.log_amplitude)

    draw = slice_update(_log_posterior(data.priors.mean.log_density, likelihood), now.mean, rng)
    tally.add(draw)
    return now._replace(mean=draw.value)


def _update_scale(
    data: ChainData, gram: Array, now: Hyperparameters, name: str, rng: np.random.Generator, tally: ChainTally
) -> Hyperparameters:
    residual = data.values - now.mean

    def likelihood(t: float) -> float:
        moved = now._replace(**{name: t})
        found = evidence(gram.copy, residual, moved.log_amplitude, data.ratio(moved))
        tally.largest_jitter = max(tally.largest_jitter, found.jitter)
        return found.log_density

    draw = slice_update(_log_posterior(getattr(data.priors, name).log_density, likelihood), getattr(now, name), rng)
    tally.add(draw)
    return now._replace(**{name: draw.value})


class EvidenceTerms(NamedTuple):
    """The terms of the evidence that depend on the covariance.

    log_determinant: log |K + ratio I|.
    quadratic: residual' (K + ratio I)^-1 residual.
    """

    log_determinant: float
    quadratic: float


def block_evidence(
    line: BlockGram, residual: Array, ratio: float | Array
) -> Callable[[float], EvidenceTerms | None] | None:
    """Return the terms of the evidence as a function of theta_i; None if the largest block is not positive definite.

    residual: values less the mean (n,).
    ratio: a number, or an array (n,), to add to the diagonal, at least 0.

    The returned function returns None if the whole matrix is not positive definite.
    """
    *others_in_parts, large = sorted(line.parts, key=len)
    small = np.concatenate(others_in_parts)
    # two calls of take are three times as fast as one index of both axes
    own_rows = line.gram.take(large, axis=0)
    own = own_rows.take(large, axis=1)
    of_large, of_small = (ratio[large], ratio[small]) if isinstance(ratio, np.ndarray) else (ratio, ratio)
    lower, failed = scipy.linalg.lapack.dpotrf(add_to_diagonal(own, of_large).T, 1, 0, 1)
    if failed:
        return None
    white = solve_lower(lower, residual[large])
    determinant, quadratic = log_determinant(lower), float(white.dot(white))
    if not len(small):
        return lambda _: EvidenceTerms(determinant, quadratic)
    across = own_rows.take(small, axis=1).T  # B', in Fortran's order
    # (small, large); side 0 is slower
    crossed = scipy.linalg.blas.dtrsm(1.0, lower, across, side=1, lower=1, trans_a=1, overwrite_b=1)
    removed = scipy.linalg.blas.dsyrk(1.0, crossed, lower=1)
    rest = add_to_diagonal(line.gram.take(small, axis=0).take(small, axis=1), of_small).T
    between = None
    if len(others_in_parts) > 1:
        part = np.repeat(np.arange(len(others_in_parts)), [len(part) for part in others_in_parts])
        apart = part[:, None] != part
        between = np.where(apart, rest, 0.0)
        rest[apart] = 0.0
    others, explained = residual[small], crossed @ white
    schur = np.empty_like(rest)

    def along(t: float) -> EvidenceTerms | None:
        scale = line.scale(t)
        np.multiply(removed, -scale * scale, schur)
        np.add(schur, rest, schur)
        if between is not None:
            np.add(schur, scale * between, schur)
        inner, failed = scipy.linalg.lapack.dpotrf(schur, 1, 0, 1)
        if failed:
            return None
        left = solve_lower(inner, others - scale * explained)
        return EvidenceTerms(determinant + log_determinant(inner), quadratic + float(left.dot(left)))

    return along
