"""A rule that asks for a told point again, where knowing it better is worth more than a new point."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from bostruct.checks import first_occurrences
from bostruct.contracts import Array, Batch, Domain, HistoryView, Point, Posterior

LEAST_GAIN = 1e-3  # of a value that is asked again, in units of the spread of the posterior means told
MOST = 16  # of the told points, those of the best means
ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


def choose_repeat(domain: Domain, posterior: Posterior, history: HistoryView, x: Point | None) -> Point | None:
    """Return the told point that is worth more to ask again than a new point is to ask; None where there is none.

    Both are judged by the knowledge gradient: by how much the best posterior mean among the told points of the best
    means and the new point is expected to fall with one more value.

    domain: of the points.
    posterior: of the objective, with the running points believed; one without covariances or noise repeats nothing.
    history: at least one completed point; with several objectives, or limits, nothing is repeated.
    x: the new point; None where none is left: then the told point of the largest gain is returned, however small that
        is. Whether values are noisy, repeats alone can tell.

    Source: Frazier, Powell and Dayanik 2009, section 2.
    """
    n_outputs = history.objectives.shape[1] + history.slacks.shape[1]
    if n_outputs > 1 or posterior.noise is None:
        return None
    firsts = first_occurrences(domain, history.completed)
    told = domain.take(history.completed, firsts)
    means = posterior.predict(told).mean.mean(axis=0)
    order = np.argsort(means, kind="stable")[:MOST]
    some: Batch = domain.join([*(told[int(i)] for i in order), *([] if x is None else [x])])
    if (covariance := posterior.covariance(some)) is None:
        return None
    gains = knowledge_gradients(posterior.predict(some).mean, covariance, posterior.noise)
    again = gains[: len(order)]
    if history.variances is not None:
        keys = domain.keys(history.completed)
        exact = {key for key, variance in zip(keys, history.variances, strict=True) if variance == 0.0}
        again = np.where([keys[firsts[i]] in exact for i in order], -np.inf, again)  # an exact value stays as it is
    least = -np.inf if x is None else max(gains[-1], LEAST_GAIN * float(np.std(means)))
    best = int(np.argmax(again))
    return some[best] if again[best] > least else None


def knowledge_gradients(mean: Array, covariance: Array, noise: Array) -> Array:
    """Return by how much the smallest posterior mean of m points is expected to fall with one more value at each (m,).

    mean: (s, m), of posterior samples, over which the fall is averaged.
    covariance: among the points (s, m, m).
    noise: variance of the noise of a value (s, 1).

    Source: Frazier, Powell and Dayanik 2009.
    """
    falls = [
        expected_falls(one, among / np.sqrt(among.diagonal() + of_noise))  # column j: the means' change by a value at j
        for one, among, of_noise in zip(mean, covariance, noise, strict=True)
    ]
    return np.mean(falls, axis=0)


def expected_falls(starts: Array, slopes: Array) -> Array:
    """Return min(a) - E[min(a + b Z)] for each column b of the slopes (k,), exactly, where Z is standard normal.

    A line a + b z is the lowest on one interval of z, between its crossings with other lines. So the expectation is a
    sum of normal integrals, one over the interval of each line. The line that is lowest at 0 is subtracted from all
    lines. The interval of any other line is then on one side of 0, and gains in the far tails keep their digits.

    starts: a, of m lines (m,).
    slopes: b, of the same lines in each of k cases (m, k).

    Source: Frazier, Powell and Dayanik 2009, whose Algorithm 1 finds the intervals one after the other.
    """
    lowest = int(np.argmin(starts))
    a, b = (starts - starts[lowest])[:, None], slopes - slopes[lowest]
    steeper, higher = b[:, None] - b[None], a[None] - a[:, None]  # line i against line l (m, m, k), (m, m, 1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossing = higher / steeper
    end = np.where(steeper > 0.0, crossing, np.inf).min(axis=1)
    begin = np.where(steeper < 0.0, crossing, -np.inf).max(axis=1)
    earlier = np.tri(len(a), k=-1, dtype=np.bool_)[:, :, None]  # of two equal lines, the first is kept
    is_above = ((steeper == 0.0) & ((higher < 0.0) | (higher == 0.0) & earlier)).any(axis=1)
    near, far = np.where(b < 0.0, begin, -end), np.where(b < 0.0, end, -begin)  # as distances from 0, on its side
    parts = np.abs(b) * (_density(near) - _density(far)) - a * (ndtr(-near) - ndtr(-far))
    return np.where((near < far) & ~is_above, np.maximum(parts, 0.0), 0.0).sum(axis=0)


def _density(z: Array) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-0.5 * np.square(z)) / ROOT_TWO_PI
