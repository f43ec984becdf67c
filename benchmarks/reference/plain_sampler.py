"""COMBO's sampler, a direct implementation of the paper (Oh et al. 2019, sections 2.2 and 2.3 and the supplement).

NumPy in double precision; each likelihood builds the Gram matrix again, factor by factor, from the eigensystems of the
graphs. Nothing is cached between likelihoods, and nothing is slowed down on purpose; the published code, for example,
builds and factors every matrix twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, solve_triangular

Array = npt.NDArray[np.float64]

NUGGET = 1e-6
LOG_LOW, LOG_HIGH, LOG_BETA_HIGH = -12.0, math.log(1e4), math.log(100.0)
WIDTHS = (0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1)
MAX_DOUBLINGS = 10


class Problem(NamedTuple):
    """Eigensystems of the graphs (values (k,), vectors (k, k)), points (n, d) as vertices, values (n,)."""

    eigenvalues: Sequence[Array]
    eigenvectors: Sequence[Array]
    xs: npt.NDArray[np.int64]
    values: Array


class Chain(NamedTuple):
    """A state of the chain."""

    mean: float
    log_amplitude: float
    log_noise: float
    log_beta: Array


def problem(laplacians: Sequence[Array], xs: npt.NDArray[np.int64], values: Array) -> Problem:
    """Return the problem with the given Laplacian of each variable's graph."""
    systems = [np.linalg.eigh(laplacian) for laplacian in laplacians]
    return Problem([np.maximum(s[0], 0.0) for s in systems], [s[1] for s in systems], xs, values)


def start(data: Problem) -> Chain:
    """Return the start of the chain as published, including the unusual start of the noise."""
    mean = float(np.mean(data.values))
    return Chain(mean, math.log(0.5 * float(np.var(data.values, ddof=1))), mean / 1000.0, np.zeros(data.xs.shape[1]))


def gram(data: Problem, log_beta: Array) -> Array:
    """Return the Gram matrix of the points, equation 3: the product over variables of U exp(-beta Lambda) U' / mean."""
    product = np.ones((len(data.xs), len(data.xs)))
    for i, beta in enumerate(np.exp(log_beta)):
        decay = np.exp(-beta * data.eigenvalues[i])
        factor = (data.eigenvectors[i] * (decay / decay.mean())) @ data.eigenvectors[i].T
        product *= factor[data.xs[:, i]][:, data.xs[:, i]]
    return product


def log_evidence(data: Problem, chain: Chain) -> float:
    """Return log N(y; mean, amplitude (K + nugget I) + noise I); Rasmussen and Williams 2006, (2.30)."""
    n = len(data.values)
    covariance = math.exp(chain.log_amplitude) * (gram(data, chain.log_beta) + NUGGET * np.eye(n))
    covariance += math.exp(chain.log_noise) * np.eye(n)
    lower = cholesky(covariance, lower=True)
    white = solve_triangular(lower, data.values - chain.mean, lower=True)
    return float(-0.5 * white @ white - np.log(np.diag(lower)).sum() - 0.5 * n * math.log(2.0 * math.pi))


def log_prior_mean(data: Problem, mean: float) -> float:
    low, high = float(data.values.min()), float(data.values.max())
    if not low <= mean <= high:
        return -math.inf
    return _normal(mean, 0.5 * (low + high), 0.25 * (high - low))


def log_prior_amplitude(data: Problem, log_amplitude: float) -> float:
    """Return the log prior, centered between the bounds from the kernel's extreme eigenvalues at beta = 1."""
    if not LOG_LOW <= log_amplitude <= LOG_HIGH:
        return -math.inf
    log_mean = [math.log(float(np.mean(np.exp(-values)))) for values in data.eigenvalues]
    largest = sum(-float(values.min()) - m for values, m in zip(data.eigenvalues, log_mean, strict=True))
    smallest = sum(-float(values.max()) - m for values, m in zip(data.eigenvalues, log_mean, strict=True))
    log_variance = math.log(float(np.var(data.values, ddof=1)))
    low, high = log_variance - largest, log_variance - max(smallest, math.log(1e-100))
    return _normal(log_amplitude, 0.5 * (low + high), 0.25 * (high - low))


def log_prior_noise(log_noise: float) -> float:
    if not LOG_LOW <= log_noise <= LOG_HIGH:
        return -math.inf
    return math.log(math.log1p((0.1 / math.exp(log_noise)) ** 2))


def log_prior_beta(log_beta: float) -> float:
    if not LOG_LOW <= log_beta <= LOG_BETA_HIGH:
        return -math.inf
    return math.log(math.log1p(2.0 * (5.0 / math.exp(log_beta)) ** 2))


def log_posterior(data: Problem, chain: Chain) -> float:
    """Return the log posterior density up to a constant."""
    prior = log_prior_mean(data, chain.mean) + log_prior_amplitude(data, chain.log_amplitude)
    prior += log_prior_noise(chain.log_noise) + sum(map(log_prior_beta, chain.log_beta.tolist()))
    return prior + log_evidence(data, chain)


def sweep(data: Problem, chain: Chain, rng: np.random.Generator) -> Chain:
    """Update the mean, the amplitude, the noise, and then every edge weight in random order."""

    def along(prior: Callable[[float], float], move: Callable[[float], Chain]) -> Callable[[float], float]:
        def density(t: float) -> float:
            log_prior = prior(t)
            return log_prior if log_prior == -math.inf else log_prior + log_evidence(data, move(t))

        return density

    def set_coordinate(i: int) -> Callable[[float], Chain]:
        def move(t: float) -> Chain:
            log_beta = chain.log_beta.copy()
            log_beta[i] = t
            return chain._replace(log_beta=log_beta)

        return move

    density = along(lambda t: log_prior_mean(data, t), lambda t: chain._replace(mean=t))
    chain = chain._replace(mean=slice_update(density, chain.mean, rng))
    density = along(lambda t: log_prior_amplitude(data, t), lambda t: chain._replace(log_amplitude=t))
    chain = chain._replace(log_amplitude=slice_update(density, chain.log_amplitude, rng))
    density = along(log_prior_noise, lambda t: chain._replace(log_noise=t))
    chain = chain._replace(log_noise=slice_update(density, chain.log_noise, rng))
    for i in rng.permutation(len(chain.log_beta)):
        move = set_coordinate(int(i))
        chain = move(slice_update(along(log_prior_beta, move), float(chain.log_beta[i]), rng))
    return chain


def slice_update(density: Callable[[float], float], x0: float, rng: np.random.Generator) -> float:
    """Slice sampling (Neal 2003, Figures 4 to 6) with the widths of the published code; x0 if all brackets collapse."""
    for width in WIDTHS:
        lower = x0 - width * rng.random()
        upper = lower + width
        height = math.log(rng.random()) + density(x0)
        lower, upper = _double_bracket(density, lower, upper, height, rng)
        left, right = lower, upper
        while not np.isclose(left, right):
            x1 = left + rng.random() * (right - left)
            if density(x1) > height and _acceptable(density, (x0, x1), height, (lower, upper), width):
                return x1
            if x1 < x0:
                left = x1
            else:
                right = x1
    return x0


def _double_bracket(
    density: Callable[[float], float], lower: float, upper: float, height: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Double the bracket (Figure 4); the value at an unchanged end is reused, as published."""
    at_lower, at_upper = density(lower), density(upper)
    for _ in range(MAX_DOUBLINGS):
        if at_lower <= height and at_upper <= height:
            break
        length = upper - lower
        if rng.random() < 0.5:
            lower -= length
            at_lower = density(lower)
        else:
            upper += length
            at_upper = density(upper)
    return lower, upper


def _acceptable(
    density: Callable[[float], float],
    points: tuple[float, float],
    height: float,
    bracket: tuple[float, float],
    width: float,
) -> bool:
    """Return whether a point is acceptable (Figure 6); both ends are evaluated at each halving."""
    (x0, x1), (lower, upper), differ = points, bracket, False
    while upper - lower > 1.1 * width:
        middle = 0.5 * (lower + upper)
        differ = differ or (x0 < middle) != (x1 < middle)
        if x1 < middle:
            upper = middle
        else:
            lower = middle
        at_lower, at_upper = density(lower), density(upper)
        if differ and height >= at_lower and height >= at_upper:
            return False
    return True


def _normal(x: float, mean: float, sd: float) -> float:
    return -math.log(sd) - 0.5 * ((x - mean) / sd) ** 2
