"""Kernels from distances: exp(-sum_k rate_k D_k), with one log rate for each of p distances.

And a distance of orders, by which item comes before which: Kendall 1938, of long orders Spearman 1904.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_part
from bostruct.contracts import Array, Batch, IntArray, Kernel, Parameter, Prior, Pullback

MOST_PAIRED = 64  # items whose pairs are compared one by one; of more, ranks are
MOST_SIGNS = 2**24  # that are remembered
REMEMBERED = 4  # batches of orders: a search compares with the same ones over and over
Floats: TypeAlias = npt.NDArray[np.float32]
Resources: TypeAlias = tuple[int, ...]  # the number of the resource of each item


class ExponentialKernel(Kernel):
    """The kernel exp(-sum_k exp(theta_k) D_k). It is positive semi-definite where every D_k is of negative type.

    A kernel derives from this class and adds `parameters` and `prepare`, which returns the distances D (p, n, m).
    """

    def gram(self, theta: Array, prepared: Array) -> Array:
        return np.exp(-np.tensordot(np.exp(theta), prepared, axes=1))

    def diag(self, theta: Array, xs: Batch) -> Array:
        return np.ones(len(xs))

    def line(self, theta: Array, i: int, prepared: Array, gram: Array | None = None) -> Callable[[float], Array]:
        # an entry that underflowed at theta says nothing of what it is elsewhere
        rates = np.exp(theta)
        rates[i] = 0.0
        others, own = np.tensordot(rates, prepared, axes=1), prepared[i]

        def along(value: float) -> Array:
            exponent = own * -np.exp(value)
            exponent -= others
            return np.exp(exponent, out=exponent)

        return along

    def gram_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Pullback]:
        gram = self.gram(theta, prepared)
        return gram, lambda cotangent: -np.exp(theta) * np.tensordot(prepared, cotangent * gram, axes=2)


@dataclass(frozen=True)
class FeatureDistance:
    """The Euclidean distance of features, each divided by a scale.

    features: m points -> their features (m, k).
    scale: of each feature, above 0; k of them.
    """

    features: Callable[[Batch], Array]
    scale: tuple[float, ...]

    def __call__(self, xs: Batch, ys: Batch) -> Array:
        """Return the distance of each of n points to each of m (n, m)."""
        from scipy.spatial.distance import cdist

        return np.array(cdist(self.features(xs) / self.scale, self.features(ys) / self.scale), dtype=np.float64)


@dataclass(frozen=True)
class DistanceKernel(ExponentialKernel):
    """The kernel exp(-rate d(x, y)) of a distance d.

    It is positive semi-definite where the distance is Euclidean, or of negative type (Schoenberg 1938); elsewhere it is
    a similarity for `SpectrumClip`.

    distance: n points, m points -> their distances (n, m).
    prior: of the log rate.
    initial: log rate at first.
    """

    distance: Callable[[Batch, Batch], Array]
    prior: Prior
    initial: float

    def __post_init__(self) -> None:
        check_part("prior", self.prior, Prior)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (Parameter("log_rate", 1, self.prior, self.initial),)

    def prepare(self, xs: Batch, ys: Batch | None = None) -> Array:
        """Return the distances (1, n, m).

        xs: n points.
        ys: m points; None for xs with themselves.
        """
        return self.distance(xs, xs if ys is None else ys)[None]


def compare_precedence(xs: IntArray, ys: IntArray, resources: Resources | None = None) -> Array:
    """Return the share of the pairs of items that stand in another order (n, m), in [0, 1].

    xs: n orders, the item in each place (n, w), w at least 2.
    ys: m orders (m, w).
    resources: of each item; then the pairs are those of items of one resource, and in xs and ys all items of one
        resource stand together. None for all pairs.

    Above the 2,016 pairs of 64 items, it is half of one less Spearman's rank correlation, of the ranks within each
    resource. Both are squared Euclidean distances between vectors of squared norm 1/4: the signs of the pairs over
    2 sqrt(pairs), or the ranks, centered and scaled.
    """
    w = xs.shape[1]
    first, _ = _find_pairs(w, resources)
    if not len(first):
        return np.zeros((len(xs), len(ys)))
    if len(first) <= MOST_PAIRED * (MOST_PAIRED - 1) // 2:
        mine, theirs = (_sign_pairs(orders, resources) for orders in (xs, ys))
        return 0.5 * (1.0 - (mine @ theirs.T).astype(np.float64) / len(first))
    mine, theirs = (_center_ranks(orders, resources) for orders in (xs, ys))
    lengths = np.bincount(resources or (0,) * w).astype(np.float64)
    return 0.5 * (1.0 - mine @ theirs.T / (lengths * (lengths**2 - 1.0) / 12.0).sum())


def _center_ranks(orders: IntArray, resources: Resources | None) -> Array:
    """Return the place of each item, less the mean of all that use the same resource (n, w)."""
    ranks = np.argsort(orders, axis=1)
    if resources is None:
        return ranks - (orders.shape[1] - 1) / 2
    means = np.bincount(resources, weights=ranks[0]) / np.bincount(resources)  # the same in all orders
    return np.asarray(ranks - means[list(resources)])


@lru_cache(maxsize=REMEMBERED)
def _find_pairs(w: int, resources: Resources | None) -> tuple[IntArray, IntArray]:
    """Return the first and the second item of each pair that is compared."""
    first, second = np.triu_indices(w, 1)
    if resources is None:
        return first, second
    of_items = np.array(resources)
    together = of_items[first] == of_items[second]
    return first[together], second[together]


def _sign_pairs(orders: IntArray, resources: Resources | None) -> Floats:
    """Return, for each pair of items, 1 where the first stands before the second, else -1 (n, pairs)."""
    n, w = orders.shape
    sign = _sign_bytes if n * len(_find_pairs(w, resources)[0]) <= MOST_SIGNS else _sign_bytes.__wrapped__
    return sign(orders.astype(np.int64).tobytes(), w, resources)


@lru_cache(maxsize=REMEMBERED)
def _sign_bytes(orders: bytes, w: int, resources: Resources | None) -> Floats:
    ranks = np.argsort(np.frombuffer(orders, dtype=np.int64).reshape(-1, w), axis=1).astype(np.int16)
    first, second = _find_pairs(w, resources)
    signs = (ranks[:, first] < ranks[:, second]).astype(np.float32)  # whose sums are exact up to 2^24
    signs *= 2.0
    signs -= 1.0
    signs.flags.writeable = False
    return signs
