"""The probability that the best point known is worse than the optimum by more than a given amount."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from bostruct.checks import first_occurrences
from bostruct.contracts import Array, Batch, BostructError, Domain, Feasibility, NumericalError, Point, Posterior

N_DRAWS = 2_000  # of the posterior: at a probability of 0.05 its standard error is 0.005
CONFIDENCE = 0.95  # that the bound is not below the probability, at each look
MOST_LISTED = 1_000  # points of a domain that are all drawn together
N_CANDIDATES = 600  # of a larger domain, drawn together
N_RANDOM = 2_000  # points that these are chosen from, beside points around good ones
N_AROUND = 100  # points around each
ROUNDS = 3  # of looking around the most promising points
CENTERS = 10  # of each round
LEAST_LOG_CHANCE = math.log(0.01)  # of success, of candidates of a larger domain
JITTER = (0.0, 1e-12, 1e-10, 1e-8, 1e-6)  # of the largest variance


@dataclass(frozen=True, eq=False)
class ObservedFeasibility(Feasibility):
    """The chance that points have a value, which is known of those that were told."""

    chance: Feasibility
    domain: Domain
    failed: Batch
    completed: Batch

    def log_probability(self, xs: Batch) -> Array:
        """Return the logarithm of the chance of each of m points (m,): 0 and -inf if it is known."""
        learned = self.chance.log_probability(xs).tolist()
        return np.array([self._known.get(key, one) for key, one in zip(self.domain.keys(xs), learned, strict=True)])

    @cached_property
    def _known(self) -> dict[Hashable, float]:
        """The logarithm of the chance of each point told, by its key."""
        failed, completed = self.domain.keys(self.failed), self.domain.keys(self.completed)
        return dict.fromkeys(failed, -math.inf) | dict.fromkeys(completed, 0.0)


def bound_regret_probability(
    posterior: Posterior,
    domain: Domain,
    completed: Batch,
    regret: float,
    around: Callable[[Any, Point, np.random.Generator], Batch],
    rng: np.random.Generator,
    chance: Feasibility | None = None,
) -> float:
    """Return a bound of the probability that the regret of the best completed point exceeds `regret`.

    This is the probabilistic regret bound of Wilson (2024), "Stopping Bayesian optimization with probabilistic regret
    bounds": P(f(s) - min f > regret) under the posterior, s the completed point of the best posterior mean. It is
    estimated from 2,000 draws, and bounded at a confidence of 95 % (Clopper and Pearson 1934). The minimum of a draw is
    over all points of a domain that lists at most 1,000 of them; of a larger one over 600 points, the most promising
    of random points and of points around good ones. There the probability is underestimated by what they miss. Where
    points may fail, each draw has a value at each point with its chance, independent of other points.

    The confidence is that of one look. The chance that some bound is below the probability grows with the looks.

    posterior: of the objective, with covariances.
    completed: points with a value, at least one.
    regret: at least 0, in the user's units.
    around: (domain, x, rng) -> points around x.
    rng: the only source of randomness.
    chance: that points have a value; None for certainty.

    Raises NumericalError, and BostructError if the posterior has no covariances.
    """
    means = posterior.predict(completed).mean.mean(axis=0)
    best = domain.take(completed, np.argsort(means, kind="stable")[:CENTERS])
    listed = domain.list_few(MOST_LISTED)
    others = _choose_candidates(posterior, domain, best, around, rng, chance) if listed is None else listed
    xs = _drop_repeats(domain, domain.join(best[:1], others))
    draws = _draw_functions(posterior, xs, rng)
    if chance is not None:
        draws[rng.random(draws.shape) >= np.exp(chance.log_probability(xs))] = math.inf
    n_exceeding = int(np.count_nonzero(draws[:, 0] - draws.min(axis=1) > regret))
    return _bound_share(n_exceeding, len(draws))


def _choose_candidates(
    posterior: Posterior,
    domain: Domain,
    best: Batch,
    around: Callable[[Any, Point, np.random.Generator], Batch],
    rng: np.random.Generator,
    chance: Feasibility | None,
) -> Batch:
    """Return the points of the smallest lower confidence bounds, mean - 2 sd, after some rounds of looking around.

    Points that hardly succeed come last.
    """
    pool = domain.join(best, domain.sample_candidates(N_RANDOM, best, rng))
    centers = best
    for _ in range(ROUNDS):
        found = [_take_some(domain, around(domain, x, rng), rng) for x in centers]
        pool = _drop_repeats(domain, domain.join(pool, *found))
        mean, variance = posterior.predict(pool)
        bounds = (mean - 2.0 * np.sqrt(variance)).mean(axis=0)
        if chance is not None:
            bounds[chance.log_probability(pool) < LEAST_LOG_CHANCE] = math.inf
        pool = domain.take(pool, np.argsort(bounds, kind="stable")[: 2 * N_RANDOM])
        centers = pool[:CENTERS]
    return pool[:N_CANDIDATES]


def _take_some(domain: Domain, xs: Batch, rng: np.random.Generator) -> Batch:
    return domain.take(xs, rng.permutation(len(xs))[:N_AROUND])


def _drop_repeats(domain: Domain, xs: Batch) -> Batch:
    return domain.take(xs, first_occurrences(domain, xs))


def _draw_functions(posterior: Posterior, xs: Batch, rng: np.random.Generator) -> Array:
    """Draw functions from the posterior at m points, at least N_DRAWS of them, as many under each posterior sample."""
    mean, covariance = posterior.predict(xs).mean, posterior.covariance(xs)
    if covariance is None:
        raise BostructError("regret: the method's model has no covariances, and cannot draw functions")
    n = math.ceil(N_DRAWS / len(mean))
    normals = rng.standard_normal((len(mean), n, len(xs)))
    return np.concatenate([mean[s] + normals[s] @ _factor(covariance[s]).T for s in range(len(mean))])


def _factor(covariance: Array) -> Array:
    """Return a Cholesky factor; if it has none, that with the least jitter; raises NumericalError."""
    largest = float(covariance.diagonal().max())
    if largest <= 0.0:  # all is known
        return np.zeros(covariance.shape)
    for jitter in JITTER:
        try:
            lower = np.linalg.cholesky(covariance + jitter * largest * np.eye(len(covariance)))
            return lower.astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            continue
    raise NumericalError("the covariances of the posterior are indefinite")


def _bound_share(n_found: int, n: int) -> float:
    """Return the upper bound of Clopper and Pearson (1934) of a probability, of n_found in n draws."""
    return 1.0 if n_found == n else float(scipy.special.betaincinv(n_found + 1, n - n_found, CONFIDENCE))
