"""A rule that asks for a told point again, where knowing it better is worth more than a new point."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import ndtri

from bostruct.checks import first_occurrences, has_capability
from bostruct.contracts import Array, Batch, Domain, HasCovariance, HasNoise, HistoryView, Point, Posterior

LEAST_GAIN = 1e-3  # of a value that is asked again, in units of the spread of the posterior means told
MOST = 16  # of the told points, those of the best means
QUANTILES = ndtri((np.arange(64) + 0.5) / 64)  # of a normal distribution, at which it is averaged over a value


@runtime_checkable
class _HasNoisyCovariance(HasCovariance, HasNoise, Protocol):
    """A posterior of many points together, which knows how noisy values are."""


def choose_repeat(domain: Domain, posterior: Posterior, history: HistoryView, x: Point) -> Point | None:
    """Return the told point that is worth more to ask again than a new point is to ask; None where there is none.

    Both are judged by the knowledge gradient: by how much the best posterior mean among the told points of the best
    means and the new point is expected to fall with one more value.

    domain: of the points.
    posterior: of the objective, with the running points believed; one without covariances or noise repeats nothing.
    history: at least one completed point; with several objectives, or limits, nothing is repeated.
    x: the new point.

    Source: Frazier, Powell and Dayanik 2009, section 2.
    """
    n_outputs = history.objectives.shape[1] + history.slacks.shape[1]
    if n_outputs > 1 or not has_capability(posterior, _HasNoisyCovariance):
        return None
    told = domain.take(history.completed, first_occurrences(domain, history.completed))
    means = posterior.predict(told).mean.mean(axis=0)
    order = np.argsort(means, kind="stable")[:MOST]
    some: Batch = domain.join([*(told[int(i)] for i in order), x])
    gains = knowledge_gradients(posterior.predict(some).mean, posterior.covariance(some), posterior.noise)
    best = int(np.argmax(gains[:-1]))
    return some[best] if gains[best] > max(gains[-1], LEAST_GAIN * float(np.std(means))) else None


def knowledge_gradients(mean: Array, covariance: Array, noise: Array) -> Array:
    """Return by how much the smallest posterior mean of m points falls with one more value at each, on average (m,).

    mean: (s, m), of posterior samples.
    covariance: among the points (s, m, m).
    noise: variance of the noise of a value (s, 1).
    """
    gains = np.zeros(mean.shape[1])
    for one, among, of_noise in zip(mean, covariance, noise, strict=True):
        steps = among / np.sqrt(among.diagonal() + of_noise)  # column j: the means' change with a value at point j
        after = one[:, None, None] + steps[:, :, None] * QUANTILES
        gains += np.min(one) - after.min(axis=0).mean(axis=1)
    return gains / len(mean)
