"""Kernels from distances: exp(-sum_k rate_k D_k), with one log rate for each of p distances.

Also the distance between orders by the precedence of items: Kendall 1938, or Spearman 1904 for long orders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_part
from bostruct.contracts import Array, Batch, IntArray, Kernel, Parameter, Prior, Pullback

MOST_PAIRED = 64  # items whose pairs are compared; with more items, ranks are compared
MOST_SIGNS = 2**24  # numbers in a cached table of signs
CACHED_RESULTS = 4  # results that a cache keeps, because a search needs the same ones again and again

Arguments = ParamSpec("Arguments")
Comparison = TypeVar("Comparison")
Floats: TypeAlias = npt.NDArray[np.float32]
Resources: TypeAlias = tuple[int, ...]  # the number of the resource of each item


class FrozenArray(NamedTuple):
    """An array of integers, hashable by its content."""

    data: bytes
    shape: tuple[int, ...]


class CachedByContent(Generic[Arguments, Comparison]):
    """A function of arrays of integers that caches its last few results by the content of the arrays.

    The factor and the effect of a variable need the same comparisons before and after a change. Returned arrays are
    read-only. ``__wrapped__`` is the function without the cache.
    """

    def __init__(self, function: Callable[Arguments, Comparison]) -> None:
        self.__wrapped__ = function
        self._compute_once = lru_cache(maxsize=CACHED_RESULTS)(self._compute)

    def __call__(self, *given: Arguments.args, **named: Arguments.kwargs) -> Comparison:
        return self._compute_once(*map(_freeze_array, given), **named)

    def _compute(self, *frozen: Any, **named: Any) -> Comparison:
        given = (np.frombuffer(one[0], np.int64).reshape(one[1]) if type(one) is FrozenArray else one for one in frozen)
        function: Any = self.__wrapped__
        found: Any = function(*given, **named)
        if isinstance(found, np.ndarray):
            found.setflags(write=False)
        return cast(Comparison, found)


def _freeze_array(given: Any) -> Any:
    return FrozenArray(given.astype(np.int64).tobytes(), given.shape) if isinstance(given, np.ndarray) else given


class ExponentialKernel(Kernel):
    """The kernel exp(-sum_k exp(theta_k) D_k). It is positive semi-definite if every D_k is of negative type.

    A kernel derives from this class and adds `parameters` and `prepare`, which returns the distances D (p, n, m).
    """

    def gram(self, theta: Array, prepared: Array) -> Array:
        return np.exp(-np.tensordot(np.exp(theta), prepared, axes=1))

    def diag(self, theta: Array, xs: Batch) -> Array:
        return np.ones(len(xs))

    def line(self, theta: Array, i: int, prepared: Array, gram: Array | None = None) -> Callable[[float], Array]:
        # computed from the distances, because entries of the Gram matrix may have underflowed at theta
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

    features: function from m points to their features (m, k).
    scale: scale of each of the k features, above 0.
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

    It is positive semi-definite if the distance is Euclidean, or of negative type (Schoenberg 1938); otherwise it is a
    similarity for `SpectrumClip`.

    Parameters
    ----------
    distance : callable
        Function from n points and m points to their distances (n, m).
    prior : Prior
        Prior of the log rate.
    initial : float
        Initial log rate.
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
        """Return the distances (1, n, m)."""
        return self.distance(xs, xs if ys is None else ys)[None]


def compare_precedence(xs: IntArray, ys: IntArray, resources: Resources | None = None, absent: int = 0) -> Array:
    """Return the share of pairs of items whose precedence differs between two orders (n, m), in [0, 1].

    xs: n orders, the item in each place (n, w), w at least 2.
    ys: m orders (m, w).
    resources: the resource of each item, to compare only pairs of items that share a resource; all items of a resource
        are adjacent in xs and ys. None for all pairs.
    absent: number of items that an order lacks, out of w + absent; if above 0, `resources` is None.

    Above 2,016 pairs, the number for 64 items, it is (1 - r) / 2 for Spearman's rank correlation r of the ranks within
    each resource. Both are squared Euclidean distances between vectors of squared norm 1/4: the signs of the pairs over
    2 sqrt(pairs), or the ranks, centered and scaled. Absent items come after all others and are tied (Kendall 1945; for
    top-k lists, Fagin et al. 2003, K^(1/4)): a pair that is absent in only one order counts a quarter.
    """
    w = xs.shape[1] + absent
    first, _ = _find_pairs(w, resources)
    if not len(first):
        return np.zeros((len(xs), len(ys)))
    if len(first) <= MOST_PAIRED * (MOST_PAIRED - 1) // 2:
        mine, theirs = (_sign_pairs(orders, resources, absent) for orders in (xs, ys))
        n_ordered = len(first) - absent * (absent - 1) // 2
        return 0.5 * (1.0 - (mine @ theirs.T).astype(np.float64) / n_ordered)
    mine, theirs = (_center_ranks(orders, resources, absent) for orders in (xs, ys))
    lengths, tied = np.bincount(resources or (0,) * w).astype(np.float64), absent * (absent**2 - 1.0) / 12.0
    return 0.5 * (1.0 - mine @ theirs.T / ((lengths * (lengths**2 - 1.0) / 12.0).sum() - tied))


def find_ranks(orders: IntArray, absent: int) -> IntArray:
    """Return the place of each item (n, w + absent), w for absent items.

    orders: the item in each place (n, w).
    absent: number of items that an order lacks.
    """
    n, w = orders.shape
    if not absent:
        return np.argsort(orders, axis=1)
    ranks = np.full((n, w + absent), w)
    np.put_along_axis(ranks, orders, np.arange(w)[None], axis=1)
    return ranks


def _center_ranks(orders: IntArray, resources: Resources | None, absent: int) -> Array:
    """Return the place of each item minus the mean place of its resource's items (n, w)."""
    ranks, w = find_ranks(orders, absent), orders.shape[1]
    if absent:
        return np.where(ranks < w, ranks, w + (absent - 1) / 2) - (w + absent - 1) / 2
    if resources is None:
        return ranks - (w - 1) / 2
    means = np.bincount(resources, weights=ranks[0]) / np.bincount(resources)  # the same in all orders
    return np.asarray(ranks - means[list(resources)])


@lru_cache(maxsize=CACHED_RESULTS)
def _find_pairs(w: int, resources: Resources | None) -> tuple[IntArray, IntArray]:
    """Return the first and the second item of each pair that is compared."""
    first, second = np.triu_indices(w, 1)
    if resources is None:
        return first, second
    of_items = np.array(resources)
    together = of_items[first] == of_items[second]
    return first[together], second[together]


def _sign_pairs(orders: IntArray, resources: Resources | None, absent: int) -> Floats:
    """Return, for each pair of items, 1 if the first comes before the second, else -1; 0 if both are absent."""
    n, w = orders.shape
    sign = _sign_ranks if n * len(_find_pairs(w + absent, resources)[0]) <= MOST_SIGNS else _sign_ranks.__wrapped__
    return sign(orders, resources, absent)


@CachedByContent
def _sign_ranks(orders: IntArray, resources: Resources | None, absent: int) -> Floats:
    ranks, w = find_ranks(orders, absent).astype(np.int16), orders.shape[1]
    first, second = _find_pairs(w + absent, resources)
    signs = (ranks[:, first] < ranks[:, second]).astype(np.float32)  # sums are exact up to 2^24
    signs *= 2.0
    signs -= 1.0
    if absent:
        signs[(ranks[:, first] == w) & (ranks[:, second] == w)] = 0.0
    return signs
