"""Expected hypervolume improvement, in closed form and as a logarithm, for any number of objectives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from bostruct.contracts import Array, IntArray, Prediction
from bostruct.goals.logarithms import log_density, log_h, log_mean_exp
from bostruct.goals.pareto import find_nondominated

Edges = tuple[tuple[int, int], ...]  # for each objective the positions of the lower and the upper edge of a box


class Boxes(NamedTuple):
    """Boxes whose edges are coordinates of a front.

    edges: for each of k objectives the edges, ascending, from -inf to the reference (e,).
    lower, upper: positions of the edges of each of b boxes (b, k).
    """

    edges: tuple[Array, ...]
    lower: IntArray
    upper: IntArray


def divide_nondominated(front: Array, reference: Array) -> Boxes:
    """Divide the region below a reference point that no point of a front dominates into boxes.

    Slices along the last objective are divided recursively; equal boxes of adjacent slices are joined. For n points of
    a front there are n + 1 boxes in two objectives, and about 2 n in three.

    front: (n, k), n may be 0; points that others dominate, or that are not below the reference in each objective, are
        ignored.
    reference: (k,).
    """
    below = front[np.all(front < reference, axis=1)]
    below = below[find_nondominated(below)]
    found = [np.unique(column, return_inverse=True) for column in below.T]
    edges = tuple(
        np.concatenate([[-math.inf], values, [end]]) for (values, _), end in zip(found, reference.tolist(), strict=True)
    )
    rows = sorted({tuple(row) for row in np.stack([one.reshape(-1) + 1 for _, one in found], axis=1).tolist()})
    boxes = np.array(_divide(rows, tuple(len(one) - 1 for one in edges)), dtype=np.int64)
    return Boxes(edges, boxes[:, :, 0], boxes[:, :, 1])


def _divide(rows: list[tuple[int, ...]], ends: tuple[int, ...]) -> list[Edges]:
    """Return the boxes below `ends` that no row dominates; the lowest edge is 0 in each objective."""
    if len(ends) == 1:
        return [((0, min((row[0] for row in rows), default=ends[0])),)]
    open_since: dict[Edges, int] = {}
    closed: list[Edges] = []
    start = 0
    for stop in [*sorted({row[-1] for row in rows}), ends[-1]]:
        now = set(_divide(_minimal_corners([row[:-1] for row in rows if row[-1] <= start]), ends[:-1]))
        closed += [(*box, (since, start)) for box, since in open_since.items() if box not in now]
        open_since = {box: open_since.get(box, start) for box in sorted(now)}
        start = stop
    return closed + [(*box, (since, start)) for box, since in open_since.items()]


def _minimal_corners(rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the distinct rows that no other row dominates; for few rows several times as fast as NumPy."""
    kept: list[tuple[int, ...]] = []
    for row in sorted(set(rows)):  # rows that dominate a row come before it
        if not any(all(a <= b for a, b in zip(other, row, strict=True)) for other in kept):
            kept.append(row)
    return kept


FARTHEST = -1e6  # standard deviations from an edge; beyond, differences of logarithms have no digits
CLOSE = 1e-4  # difference of two logarithms below which a difference of their exponentials loses digits
ROUNDING = 1e-7  # relative rounding error of a score, added to its upper bound
BLOCK = 2**18  # logarithms computed at once: a block of points with all boxes stays in cache


class Spans(NamedTuple):
    """The sides of boxes in one objective.

    low, high: positions among the edges of the ends of each of p distinct sides (p,); -1 is -inf.
    """

    edges: Array
    low: IntArray
    high: IntArray
    of_box: IntArray


@dataclass(frozen=True, eq=False)
class LogHypervolumeImprovement:
    """The logarithm of the expected hypervolume improvement by points whose objectives are independent Gaussians.

    It is a sum over the boxes of the non-dominated region. The term of a box is a product over objectives of the
    expected length of the box's side above the point's value. That length is a difference of two expected improvements
    (Yang et al. 2019, theorem 2; Emmerich et al. 2016 for two objectives). All terms are positive and are summed as
    logarithms, so that nothing underflows far from the front (Ament et al. 2023). Posterior samples are averaged. The
    unit is the volume between the ideal point of the front and the reference.

    The improvement by a known point falls with each of its objectives, and is convex in each. So its expectation falls
    with each mean and grows with each variance, and bounds of means and variances bound it.
    """

    boxes: Boxes

    def __call__(self, predictions: Sequence[Prediction]) -> Array:
        """Return the logarithm of the expected improvement at m points (m,).

        predictions: one for each objective, (s, m) each.
        """
        found = np.empty(predictions[0].mean.shape[1])
        for block, own in self._split(predictions):
            found[block] = log_mean_exp(_log_sum(self._log_terms(own)))
        return found - self._log_unit

    def upper_bounds(self, predictions: Sequence[Prediction]) -> Array:
        """Return upper bounds for means at least, and variances at most, as large as predicted (m,).

        predictions: one for each objective, (s, m) each, as `Posterior.screen` returns them.
        """
        score = self(predictions)
        return score + ROUNDING * (1.0 + np.abs(score))

    def value_and_gradient(self, predictions: Sequence[Prediction]) -> tuple[Array, list[Prediction]]:
        """Return the values at m points (m,), and the derivatives in each objective's mean and variance, (s, m) each.

        predictions: one for each objective, (s, m) each.
        """
        terms = self._log_terms(predictions)
        samples = _log_sum(terms)
        value = log_mean_exp(samples)
        shares = np.exp(terms - value[:, None]) / len(samples)  # of each box (s, m, b)
        gradients = [
            _gradient(shares, spans, one) for spans, one in zip(self._spans, _same_samples(predictions), strict=True)
        ]
        return value - self._log_unit, gradients

    @cached_property
    def _spans(self) -> list[Spans]:
        found = []
        for edges, lower, upper in zip(self.boxes.edges, self.boxes.lower.T, self.boxes.upper.T, strict=True):
            ends, of_box = np.unique(np.stack([lower, upper]), axis=1, return_inverse=True)
            found.append(Spans(edges[1:], ends[0] - 1, ends[1] - 1, of_box.reshape(-1)))
        return found

    @cached_property
    def _log_unit(self) -> float:
        """The logarithm of the volume between the ideal point and the reference; 0 if the front is empty."""
        return sum(math.log(edges[-1] - edges[1]) for edges in self.boxes.edges if len(edges) > 2)

    def _log_terms(self, predictions: Sequence[Prediction]) -> Array:
        """Return the logarithm of the term of each box (s, m, b)."""
        same = _same_samples(predictions)
        sides = [_log_sides(spans, one)[..., spans.of_box] for spans, one in zip(self._spans, same, strict=True)]
        return np.sum(sides, axis=0)

    def _split(self, predictions: Sequence[Prediction]) -> Iterator[tuple[slice, list[Prediction]]]:
        """Yield blocks of points, and their predictions."""
        s, m = np.broadcast_shapes(*(one.mean.shape for one in predictions))
        size = max(BLOCK // (s * len(self.boxes.lower)), 1)
        for first in range(0, m, size):
            block = slice(first, first + size)
            yield block, [Prediction(one.mean[:, block], one.variance[:, block]) for one in predictions]


def _same_samples(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Return predictions with equal numbers of samples: a point estimate is repeated for each sample of the others."""
    shape = np.broadcast_shapes(*(one.mean.shape for one in predictions))
    return [Prediction(np.broadcast_to(one.mean, shape), np.broadcast_to(one.variance, shape)) for one in predictions]


def _log_sides(spans: Spans, prediction: Prediction) -> Array:
    """Return the logarithm of the expected length of each side above the value (s, m, p)."""
    sd = np.sqrt(prediction.variance)[..., None]
    expected = np.log(sd) + log_h(_standardize_edges(spans.edges, prediction))  # E max(edge - f, 0)
    high = expected[..., spans.high]
    difference = np.where(spans.low < 0, np.inf, high - expected[..., spans.low])
    with np.errstate(divide="ignore", invalid="ignore"):  # rounding may make the difference negative; replaced below
        found = high + np.log(-np.expm1(-difference))
    at = np.nonzero(difference < CLOSE)
    if len(at[0]):  # the integral of the distribution function over the side, by the midpoint rule
        low, high_edge = spans.edges[spans.low][at[-1]], spans.edges[spans.high][at[-1]]
        middle = (0.5 * low + 0.5 * high_edge - prediction.mean[at[:-1]]) / sd[at[:-1]][:, 0]
        middle = np.maximum(middle, FARTHEST)
        found[at] = np.log(high_edge - low) + scipy.special.log_ndtr(middle)
    return found


def _standardize_edges(edges: Array, prediction: Prediction) -> Array:
    """Return how many standard deviations edges are above the mean (s, m, e), at least `FARTHEST`."""
    return np.maximum((edges - prediction.mean[..., None]) / np.sqrt(prediction.variance)[..., None], FARTHEST)


def _gradient(shares: Array, spans: Spans, prediction: Prediction) -> Prediction:
    """Return the derivatives in mean and variance of the logarithm of the sum over boxes, (s, m) each."""
    sd = np.sqrt(prediction.variance)
    z = _standardize_edges(spans.edges, prediction)
    log_side = _log_sides(spans, prediction)
    # dE/dmean = -Phi, dE/dsd = phi
    of_mean, of_sd = (_at_ends(spans, logs, log_side) for logs in (scipy.special.log_ndtr(z), log_density(z)))
    return Prediction(
        -np.einsum("smb,smb->sm", shares, of_mean[..., spans.of_box]),
        np.einsum("smb,smb->sm", shares, of_sd[..., spans.of_box]) / (2.0 * sd),
    )


def _at_ends(spans: Spans, logs: Array, log_side: Array) -> Array:
    """Return the difference of exp(logs) between the two ends of each side, over the side's length (s, m, p)."""
    low = np.where(spans.low < 0, -np.inf, logs[..., spans.low])
    return np.exp(logs[..., spans.high] - log_side) - np.exp(low - log_side)


def _log_sum(terms: Array) -> Array:
    """Return the logarithm of the sum over the last axis."""
    top = terms.max(axis=-1)
    return top + np.log(np.sum(np.exp(terms - top[..., None]), axis=-1))
