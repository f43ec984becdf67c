"""A model of failures that single causes bring about: the noisy-OR (Pearl 1988, section 4.3.2), beside another model.

A rule such as "C never follows G" makes each point fail that breaks it anywhere. A smooth model of success and failure
needs many failures to see that. A noisy-OR asks of each cause alone how likely it is to make a point fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_ndtr, ndtri

from bostruct.contracts import Array, Batch, Info, IntArray, Posterior, Prediction, State, Surrogate
from bostruct.surrogates.posterior import GaussianPosterior

BoolArray: TypeAlias = npt.NDArray[np.bool_]

FOLDS = 10
EM_STEPS = 20
PRIOR_RATE, PRIOR_COUNT = 0.1, 20.0  # of causes that make a point fail; as many kinds are thought of before any is seen
LEAST_CHANCE = 0.01  # of a success or a failure: short of certainty, so that one surprise does not decide
SMALLEST = 1e-6  # of a chance in the fit


class Causes(NamedTuple):
    """A fitted noisy-OR.

    log_safe: logarithm of the chance that a cause does no harm (kinds + 1,), the last one of no cause.
    leak: logarithm of the chance that nothing else does harm.
    """

    log_safe: Array
    leak: float

    def log_success(self, causes: IntArray) -> Array:
        """Return the logarithm of the chance that points succeed (n,).

        causes: numbers of causes, -1 for none (n, s).
        """
        return self.log_safe[causes].sum(axis=1) + self.leak


def fit_causes(causes: IntArray, failed: BoolArray, n_kinds: int) -> Causes:
    """Fit a noisy-OR by expectation maximization; what a point that succeeded has does no harm.

    causes: numbers of causes, -1 for none (n, s).
    failed: True where a point failed (n,).
    n_kinds: causes that differ.
    """
    is_safe = np.zeros(n_kinds + 1, dtype=bool)
    is_safe[causes[~failed].ravel()] = True
    is_safe[-1] = True
    own = causes[failed]
    counts = np.bincount(own.ravel() % (n_kinds + 1), minlength=n_kinds + 1)
    is_seen = (counts > 0) & ~is_safe
    harm, leak, rate = np.where(is_safe, 0.0, PRIOR_RATE), PRIOR_RATE, PRIOR_RATE
    for _ in range(EM_STEPS):
        log_success = np.log1p(-harm)[own].sum(axis=1) + np.log1p(-leak)
        blame = 1.0 / np.maximum(-np.expm1(log_success), SMALLEST)
        shared = np.bincount(own.ravel() % (n_kinds + 1), (harm[own] * blame[:, None]).ravel(), n_kinds + 1)
        leak = (leak * blame.sum() + SMALLEST) / (len(causes) + 1.0)
        harm = np.where(is_safe, 0.0, np.minimum((shared + rate) / (counts + 1.0), 1.0 - SMALLEST))
        rate = (harm[is_seen].sum() + PRIOR_RATE * PRIOR_COUNT) / (np.count_nonzero(is_seen | is_safe) + PRIOR_COUNT)
        leak = min(leak, 1.0 - SMALLEST)
    return Causes(np.log1p(-harm), float(np.log1p(-leak)))


@dataclass(frozen=True)
class NoisyOr:
    """A surrogate of labels, 1 for success and 0 for failure: a noisy-OR beside another surrogate.

    The chance of success is a mean of both. Their weights follow from how well they predict labels that they have not
    seen: ten-fold cross-validation of the noisy-OR, leave-one-out of the Gaussian process.

    surrogate: of labels; a Gaussian process with one sample of its hyperparameters.
    find_causes: m points -> numbers of what may make each fail, -1 for none (m, s).
    n_kinds: numbers of causes are below.
    """

    surrogate: Surrogate
    find_causes: Callable[[Batch], IntArray]
    n_kinds: int

    def initial_state(self) -> State:
        return self.surrogate.initial_state()

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Fit both models.

        xs: n points.
        values: labels (n,).
        state, rng: of the other surrogate.
        """
        posterior, state, info = self.surrogate.condition(xs, values, state, rng)
        assert isinstance(posterior, GaussianPosterior)
        causes, failed = self.find_causes(xs), values < 0.5
        gain = self._cross_validate(causes, failed) - len(failed) * score_left_out(posterior)
        weight = float(expit(gain))
        blended = BlendedLabels(posterior, fit_causes(causes, failed, self.n_kinds), self.find_causes, weight)
        return blended, state, info | {"noisy_or": weight}

    def _cross_validate(self, causes: IntArray, failed: BoolArray) -> float:
        """Return the log likelihood of labels, each under a fit without its fold."""
        total, fold = 0.0, np.arange(len(failed)) % FOLDS
        for k in range(FOLDS):
            fitted = fit_causes(causes[fold != k], failed[fold != k], self.n_kinds)
            chance = _chance(fitted.log_success(causes[fold == k]))
            total += float(np.log(np.where(failed[fold == k], 1.0 - chance, chance)).sum())
        return total


@dataclass(frozen=True, eq=False)
class BlendedLabels:
    """A posterior of labels whose chance of success is a weighted mean of two chances.

    labels: of a Gaussian process.
    causes: of the noisy-OR.
    find_causes: as of `NoisyOr`.
    weight: of the noisy-OR, in [0, 1].
    """

    labels: GaussianPosterior
    causes: Causes
    find_causes: Callable[[Batch], IntArray]
    weight: float

    def predict(self, xs: Batch) -> Prediction:
        """Return mean and variance, (1, m) each, of a label that exceeds a half by the chance of success.

        xs: m points.
        """
        smooth = self.labels.predict(xs)
        chance = np.mean(np.exp(_log_chance(smooth.mean, smooth.variance)), axis=0)
        chance = self.weight * _chance(self.causes.log_success(self.find_causes(xs))) + (1.0 - self.weight) * chance
        found = np.clip(chance, LEAST_CHANCE, 1.0 - LEAST_CHANCE)
        return Prediction(0.5 + ndtri(found)[None], np.ones((1, len(found))))

    def screen(self, xs: Batch) -> Prediction:
        """Return what `predict` does.

        xs: m points.
        """
        return self.predict(xs)

    def believe(self, xs: Batch) -> BlendedLabels:
        """Return the posterior once xs were told their most likely labels, which leaves the causes as they are.

        xs: points that are being evaluated; none change nothing.
        """
        believed = self.labels.believe(xs)
        assert isinstance(believed, GaussianPosterior)
        return replace(self, labels=believed)


def score_left_out(posterior: GaussianPosterior) -> float:
    """Return the mean log likelihood of labels, each without itself (Rasmussen and Williams 2006, section 5.4.2).

    posterior: of labels of 0 and 1, with one sample of the hyperparameters.
    """
    (one,) = posterior.members
    inverse = one.whitener.T @ one.whitener
    precision = inverse.diagonal()
    residual = np.linalg.solve(inverse, one.weights)
    labels = posterior.shift + posterior.scale * (one.hyper.mean + residual)
    mean = labels - posterior.scale * one.weights / precision
    variance = posterior.scale**2 * np.maximum(1.0 / precision - np.exp(one.hyper.log_noise), SMALLEST)
    chance = _chance(_log_chance(mean, variance))
    return float(np.log(np.where(labels > 0.5, chance, 1.0 - chance)).mean())


def _log_chance(mean: Array, variance: Array) -> Array:
    return log_ndtr((mean - 0.5) / np.sqrt(variance))


def _chance(log_chance: Array) -> Array:
    return np.clip(np.exp(log_chance), LEAST_CHANCE, 1.0 - LEAST_CHANCE)
