"""BoTorch's default on choices in plain arrays: its GP, its log EI and its discrete local search.

The package takes seconds per suggestion, mostly in calls of its acquisition function on few points. Here all local
searches run in one batch. tests/benchmarks/test_botorch_fast.py compares modes, acquisition values and whole
suggestions with those of the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from bostruct.goals.logarithms import log_h

LEAST_NOISE, LEAST_LENGTHSCALE, LEAST_HAMMING = 1e-4, 0.025, 1e-6
LEAST_VARIANCE = 1e-10  # of predictions, as in GPyTorch
LEAST_SCALE = 1e-8  # standard deviation of values that are standardized
LOG_2_PI = math.log(2.0 * math.pi)


class LogNormal(NamedTuple):
    """The log-normal density: the logarithm has mean `location` and standard deviation `scale`."""

    location: float
    scale: float

    @property
    def mode(self) -> float:
        return math.exp(self.location - self.scale**2)

    def compute_log_density(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the sum of log densities of numbers (k,), and its gradient (k,)."""
        z = (np.log(x) - self.location) / self.scale
        total = float(np.sum(-0.5 * z * z - np.log(x * self.scale)) - 0.5 * LOG_2_PI * len(x))
        return total, -(1.0 + z / self.scale) / x


NOISE_PRIOR = LogNormal(-4.0, 1.0)


class Kernel(Protocol):
    """A kernel with a vector of parameters, which the fit optimizes.

    start: initial parameters of the fit.
    least: the lower bound of each parameter.
    """

    start: np.ndarray
    least: np.ndarray

    def compute_gram(self, parameters: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the covariances (n, m) of points (n, d) and (m, d)."""
        ...

    def differentiate(self, parameters: np.ndarray, x: np.ndarray, gram: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the gradient (p,) of the sum of weights (n, n) times the Gram matrix of points (n, d)."""
        ...

    def compute_log_prior(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the logarithm of the prior density of parameters (p,), and its gradient (p,)."""
        ...


class RBF:
    """The squared exponential kernel of variance 1 with a lengthscale for each variable (Hvarfner et al. 2024).

    d: number of variables.
    """

    def __init__(self, d: int) -> None:
        self._prior = LogNormal(math.sqrt(2.0) + 0.5 * math.log(d), math.sqrt(3.0))
        self.start, self.least = np.full(d, self._prior.mode), np.full(d, LEAST_LENGTHSCALE)

    def compute_gram(self, parameters: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a, b = a / parameters, b / parameters
        squares = np.sum(a * a, axis=1)[:, None] + np.sum(b * b, axis=1) - 2.0 * a @ b.T
        return np.exp(-0.5 * np.maximum(squares, 0.0))

    def differentiate(self, parameters: np.ndarray, x: np.ndarray, gram: np.ndarray, weights: np.ndarray) -> np.ndarray:
        m = weights * gram
        return 2.0 * (m.sum(axis=1) @ (x * x) - np.sum(x * (m @ x), axis=0)) / parameters**3

    def compute_log_prior(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        return self._prior.compute_log_density(parameters)


class Hamming:
    """BoTorch's kernel of categories: a variance times exp(-mean over variables of [unequal] / lengthscale).

    The softplus of each parameter is a lengthscale or, for the last parameter, the variance. They have no prior.

    sizes: choices of each variable.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._first = np.cumsum([0, *sizes[:-1]])
        self._sizes = sizes
        self.start = np.zeros(len(sizes) + 1)
        self.least = np.full(len(sizes) + 1, -np.inf)

    def _scales(self, parameters: np.ndarray) -> tuple[np.ndarray, float]:
        positive = np.logaddexp(0.0, parameters)
        return positive[:-1] + LEAST_HAMMING, float(positive[-1])

    def _one_hot(self, x: np.ndarray) -> np.ndarray:
        found = np.zeros((len(x), sum(self._sizes)))
        found[np.arange(len(x))[:, None], x.astype(np.int64) + self._first] = 1.0
        return found

    def compute_gram(self, parameters: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        lengthscales, variance = self._scales(parameters)
        weights = 1.0 / (lengthscales * len(lengthscales))
        equal = (self._one_hot(a) * np.repeat(weights, self._sizes)) @ self._one_hot(b).T
        return variance * np.exp(equal - weights.sum())

    def differentiate(self, parameters: np.ndarray, x: np.ndarray, gram: np.ndarray, weights: np.ndarray) -> np.ndarray:
        lengthscales, variance = self._scales(parameters)
        m, one_hot = weights * gram, self._one_hot(x)
        different = m.sum() - np.add.reduceat(np.sum(one_hot * (m @ one_hot), axis=0), self._first)
        own = different / (lengthscales**2 * len(lengthscales)) * expit(parameters[:-1])
        # the derivative of log softplus, which is 1 if softplus underflows
        relative = expit(parameters[-1]) / variance if variance > 0.0 else 1.0
        return np.append(own, m.sum() * relative)

    def compute_log_prior(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.0, np.zeros_like(parameters)


class Posterior(NamedTuple):
    """The posterior of a GP, given values at points.

    parameters: of the kernel.
    constant: mean of the standardized values.
    x: the points (n, d).
    cholesky, weights: the factor (n, n) of the covariance of the values, and its inverse times their residuals (n,).
    shift, scale: by which values were standardized.
    """

    kernel: Kernel
    parameters: np.ndarray
    constant: float
    x: np.ndarray
    cholesky: np.ndarray
    weights: np.ndarray
    shift: float
    scale: float

    def predict(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means and variances (m,) of points (m, d), without noise."""
        cross = self.kernel.compute_gram(self.parameters, self.x, x)
        reduced = solve_triangular(self.cholesky, cross, lower=True, check_finite=False)
        own = self.kernel.compute_gram(self.parameters, x[:1], x[:1])[0, 0]  # both kernels are stationary
        variances = np.maximum(self.scale**2 * (own - np.sum(reduced * reduced, axis=0)), LEAST_VARIANCE)
        return self.shift + self.scale * (self.constant + self.weights @ cross), variances

    def compute_log_ei(self, x: np.ndarray, best: float) -> np.ndarray:
        """Return log EI (m,) over the greatest value, which is maximized."""
        means, variances = self.predict(x)
        deviations = np.sqrt(variances)
        return log_h((means - best) / deviations) + np.log(deviations)


def fit(kernel: Kernel, x: np.ndarray, values: np.ndarray) -> Posterior:
    """Return the posterior of a GP at the mode that `find_mode` finds.

    kernel: of the points.
    x: points (n, d), encoded by `Coder`.
    values: (n,), standardized here.
    """
    return condition(kernel, x, values, find_mode(kernel, x, values))


def find_mode(kernel: Kernel, x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return noise, constant and parameters (2 + p,) as `fit_gpytorch_mll` finds them, by L-BFGS-B.

    The noise and the lengthscales of `RBF` start at the modes of their priors, all other parameters at 0.

    kernel, x, values: see `fit`.

    The package retries from random parameters if the line search ends early; here the best parameters so far are taken.
    The likelihood of categories has several modes; rounding errors decide which is found.
    """
    start = np.array([NOISE_PRIOR.mode, 0.0, *kernel.start])
    bounds = [(LEAST_NOISE, None), (None, None), *((low, None) for low in kernel.least)]
    found = minimize(lambda at: compute_loss(kernel, x, values, at), start, jac=True, method="L-BFGS-B", bounds=bounds)
    return found.x


def condition(kernel: Kernel, x: np.ndarray, values: np.ndarray, at: np.ndarray) -> Posterior:
    """Return the posterior of values (n,) at points (n, d) under noise, constant and parameters of the kernel."""
    y, shift, scale = _standardize(values)
    loss = _compute_loss(kernel, x, y, at)
    return Posterior(kernel, at[2:], float(at[1]), x, loss.cholesky, loss.weights, shift, scale)


def compute_loss(kernel: Kernel, x: np.ndarray, values: np.ndarray, at: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the loss that `find_mode` minimizes, and its gradient over noise, constant and parameters (2 + p,).

    The loss is minus the logarithm of the density of values and parameters, over the number of values.

    kernel, x, values: see `fit`.
    at: noise, constant and parameters (2 + p,).
    """
    return _compute_loss(kernel, x, _standardize(values)[0], at)[:2]


def _standardize(values: np.ndarray) -> tuple[np.ndarray, float, float]:
    shift, scale = float(values.mean()), float(values.std(ddof=1))
    scale = scale if scale >= LEAST_SCALE else 1.0
    return (values - shift) / scale, shift, scale


class _Loss(NamedTuple):
    """Minus the logarithm of the density of values and parameters over the number of values.

    gradient: over noise, constant and parameters (2 + p,). cholesky, weights: see `Posterior`.
    """

    value: float
    gradient: np.ndarray
    cholesky: np.ndarray
    weights: np.ndarray


def _compute_loss(kernel: Kernel, x: np.ndarray, y: np.ndarray, at: np.ndarray) -> _Loss:
    """Return the loss of noise, constant and parameters at standardized values (n,)."""
    noise, constant, parameters, n = at[0], at[1], at[2:], len(y)
    gram = kernel.compute_gram(parameters, x, x)
    cholesky = np.linalg.cholesky(gram + noise * np.eye(n))
    inverse = cho_solve((cholesky, True), np.eye(n))
    weights = inverse @ (y - constant)
    evidence = -0.5 * float((y - constant) @ weights) - float(np.log(np.diag(cholesky)).sum()) - 0.5 * LOG_2_PI * n
    by_gram = 0.5 * (np.outer(weights, weights) - inverse)
    noise_prior, by_noise = NOISE_PRIOR.compute_log_density(at[:1])
    prior, by_parameters = kernel.compute_log_prior(parameters)
    by_parameters = by_parameters + kernel.differentiate(parameters, x, gram, by_gram)
    gradient = np.array([np.trace(by_gram) + by_noise[0], weights.sum(), *by_parameters])
    return _Loss(-(evidence + noise_prior + prior) / n, -gradient / n, cholesky, weights)


def search_locally(
    score: Callable[[np.ndarray], np.ndarray],
    choices: Sequence[np.ndarray],
    drawn: np.ndarray,
    avoid: np.ndarray,
    restarts: int,
) -> np.ndarray:
    """Hill-climb to the best neighbors from the best of the drawn points; return the best local optimum (d,).

    score: of points (m, d), to be maximized.
    choices: values of each variable.
    drawn: points (m, d).
    avoid: points (n, d) that are neither visited nor returned.
    restarts: number of drawn points from which a local search starts.

    Raises ValueError if all drawn points are to be avoided.
    """
    starts = np.unique(drawn, axis=0)
    starts = starts[~(starts[:, None] == avoid).all(axis=2).any(axis=1)]
    if not len(starts):
        raise ValueError("drawn: expected a point that is not to be avoided")
    scores = score(starts)
    order = np.argsort(-scores, kind="stable")[:restarts]
    x, best = starts[order], scores[order]
    variables = np.repeat(np.arange(len(choices)), [len(own) for own in choices])
    values = np.concatenate(choices)
    climbing = np.arange(len(x))
    while len(climbing):
        own = x[climbing]
        neighbors = np.repeat(own[:, None], len(values), axis=1)
        neighbors[:, np.arange(len(values)), variables] = values
        found = score(neighbors.reshape(-1, own.shape[1])).reshape(len(own), -1)
        found[_mark_excluded(own, avoid, variables, values)] = -np.inf
        chosen = found.argmax(axis=1)
        better = found[np.arange(len(own)), chosen] > best[climbing]
        climbing, chosen, own = climbing[better], chosen[better], found[better]
        x[climbing, variables[chosen]] = values[chosen]
        best[climbing] = own[np.arange(len(climbing)), chosen]
    return x[best.argmax()]


def _mark_excluded(x: np.ndarray, avoid: np.ndarray, variables: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return which neighbors (m, choices) of points (m, d) are the point itself or a point to be avoided."""
    excluded = x[:, variables] == values
    differs = x[:, None] != avoid
    points, others = np.nonzero(differs.sum(axis=2) == 1)
    changed = differs[points, others].argmax(axis=1)
    avoided = (variables == changed[:, None]) & (values == avoid[others, changed][:, None])
    np.logical_or.at(excluded, points, avoided)
    return excluded
