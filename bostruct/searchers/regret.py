"""The probability that the regret of the best known point exceeds a given amount."""

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

N_DRAWS = 2_000  # of the posterior: at a probability of 0.05, the standard error is 0.005
CONFIDENCE = 0.95  # that each bound is at least the probability
MOST_LISTED = 1_000  # size of a domain whose points are all sampled jointly
N_CANDIDATES = 600  # points of a larger domain, sampled jointly
N_RANDOM = 2_000  # points from which candidates are chosen, in addition to points around good ones
N_AROUND = 100  # points around each center
ROUNDS = 3  # rounds of examining points around the most promising ones
CENTERS = 10  # centers per round
LEAST_LOG_PROBABILITY = math.log(0.01)  # of feasibility, for candidates of a larger domain
JITTER = (0.0, 1e-12, 1e-10, 1e-8, 1e-6)  # relative to the largest variance


@dataclass(frozen=True, eq=False)
class ObservedFeasibility(Feasibility):
    """The probability that points have a value; it is 0 or 1 at the observed points."""

    feasibility: Feasibility
    domain: Domain
    failed: Batch
    completed: Batch

    def log_probability(self, xs: Batch) -> Array:
        """Return the log probability at each of m points (m,): 0 or -inf if it is known."""
        learned = self.feasibility.log_probability(xs).tolist()
        return np.array([self._known.get(key, one) for key, one in zip(self.domain.keys(xs), learned, strict=True)])

    @cached_property
    def _known(self) -> dict[Hashable, float]:
        """The log probability of each observed point, by its key."""
        failed, completed = self.domain.keys(self.failed), self.domain.keys(self.completed)
        return dict.fromkeys(failed, -math.inf) | dict.fromkeys(completed, 0.0)


def bound_regret_probability(
    posterior: Posterior,
    domain: Domain,
    completed: Batch,
    regret: float,
    around: Callable[[Any, Point, np.random.Generator], Batch],
    rng: np.random.Generator,
    feasibility: Feasibility | None = None,
) -> float:
    """Return an upper bound of the probability that the regret of the best completed point exceeds `regret`.

    This is the probabilistic regret bound of Wilson (2024), "Stopping Bayesian optimization with probabilistic regret
    bounds": P(f(s) - min f > regret) under the posterior for the completed point s with the best posterior mean. It is
    estimated from 2,000 posterior draws, with a 95% confidence bound (Clopper and Pearson 1934). The minimum of a draw
    is over all points of a domain with at most 1,000 points. In a larger domain, it is over the 600 most promising of
    random points and of points around good points, which underestimates the probability. If points may fail, each draw
    has a value at each point with its probability of success, independently of other points.

    The confidence is for a single check. The probability that some bound is too small grows with the number of checks.

    posterior: posterior of the objective, with covariances.
    completed: points with a value, at least one.
    regret: at least 0, in the user's units.
    around: (domain, x, rng) -> points around x.
    rng: random number generator.
    feasibility: the probability that points have a value; None for certainty.

    Raises NumericalError, and BostructError if the posterior has no covariances.
    """
    means = posterior.predict(completed).mean.mean(axis=0)
    best = domain.take(completed, np.argsort(means, kind="stable")[:CENTERS])
    listed = domain.list_few(MOST_LISTED)
    others = _choose_candidates(posterior, domain, best, around, rng, feasibility) if listed is None else listed
    xs = _drop_repeats(domain, domain.join(best[:1], others))
    draws = _draw_functions(posterior, xs, rng)
    if feasibility is not None:
        draws[rng.random(draws.shape) >= np.exp(feasibility.log_probability(xs))] = math.inf
    n_exceeding = int(np.count_nonzero(draws[:, 0] - draws.min(axis=1) > regret))
    return _bound_share(n_exceeding, len(draws))


def _choose_candidates(
    posterior: Posterior,
    domain: Domain,
    best: Batch,
    around: Callable[[Any, Point, np.random.Generator], Batch],
    rng: np.random.Generator,
    feasibility: Feasibility | None,
) -> Batch:
    """Return the points with the smallest lower confidence bounds, mean - 2 sd, after several rounds of local search.

    Points with a probability of success below a hundredth come last.
    """
    pool = domain.join(best, domain.sample_candidates(N_RANDOM, best, rng))
    centers = best
    for _ in range(ROUNDS):
        neighborhoods = (around(domain, x, rng) for x in centers)
        found = [domain.take(near, rng.permutation(len(near))[:N_AROUND]) for near in neighborhoods]
        pool = _drop_repeats(domain, domain.join(pool, *found))
        mean, variance = posterior.predict(pool)
        bounds = (mean - 2.0 * np.sqrt(variance)).mean(axis=0)
        if feasibility is not None:
            bounds[feasibility.log_probability(pool) < LEAST_LOG_PROBABILITY] = math.inf
        pool = domain.take(pool, np.argsort(bounds, kind="stable")[: 2 * N_RANDOM])
        centers = pool[:CENTERS]
    return pool[:N_CANDIDATES]


def _drop_repeats(domain: Domain, xs: Batch) -> Batch:
    return domain.take(xs, first_occurrences(domain, xs))


def _draw_functions(posterior: Posterior, xs: Batch, rng: np.random.Generator) -> Array:
    """Return joint draws at m points, at least N_DRAWS in all, equally many per posterior sample."""
    mean, covariance = posterior.predict(xs).mean, posterior.covariance(xs)
    if covariance is None:
        raise BostructError("regret: the method's model has no covariances, and cannot draw functions")
    n = math.ceil(N_DRAWS / len(mean))
    normals = rng.standard_normal((len(mean), n, len(xs)))
    return np.concatenate([mean[s] + normals[s] @ _factor(covariance[s]).T for s in range(len(mean))])


def _factor(covariance: Array) -> Array:
    """Return a Cholesky factor with the least jitter that is needed; raises NumericalError."""
    largest = float(covariance.diagonal().max())
    if largest <= 0.0:  # all values are known
        return np.zeros(covariance.shape)
    for jitter in JITTER:
        try:
            lower = np.linalg.cholesky(covariance + jitter * largest * np.eye(len(covariance)))
            return lower.astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            continue
    raise NumericalError("the covariances of the posterior are indefinite")


def _bound_share(n_found: int, n: int) -> float:
    """Return the upper Clopper-Pearson (1934) bound of a probability, for n_found in n draws."""
    return 1.0 if n_found == n else float(scipy.special.betaincinv(n_found + 1, n - n_found, CONFIDENCE))
