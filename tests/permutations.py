"""A domain of its own, as a user would write one from the page of contracts: permutations, whose batches are lists."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import (
    DistanceDomain,
    Domain,
    FeatureDomain,
    LocalDomain,
    PointError,
    SpaceExhausted,
    draw_unseen,
)


@dataclass(frozen=True)
class Permutations(Domain):
    """The orders of 0..n - 1, as tuples; a neighbor has two neighboring places swapped."""

    n: int

    @property
    def size(self):
        return math.factorial(self.n)

    def sample(self, m, rng):
        return [tuple(rng.permutation(self.n).tolist()) for _ in range(m)]

    def sample_unseen(self, seen, rng):
        if len(seen) >= self.size:
            raise SpaceExhausted(f"all {self.size} permutations have been seen")
        x = draw_unseen(self.sample, self.keys, seen, rng)
        while x is None:
            x = draw_unseen(self.sample, self.keys, seen, rng)
        return x

    def check(self, x):
        if not isinstance(x, tuple) or len(x) != self.n or any(i not in x for i in range(self.n)):
            raise PointError(f"point: expected a permutation of {self.n}, got {x!r}")

    def parse(self, point):
        x = tuple(point) if isinstance(point, list | tuple) else point
        self.check(x)
        return x

    def present(self, x):
        return list(x)

    def encode(self, x):
        return list(x)

    def to_json(self):
        return {"domain": "permutations", "n": self.n}


@dataclass(frozen=True)
class Mutable(Permutations):
    """Permutations with mutations."""

    def mutate(self, x, rng):
        i, j = rng.choice(self.n, size=2, replace=False)
        y = list(x)
        y[i], y[j] = y[j], y[i]
        return tuple(y)


@dataclass(frozen=True)
class Swaps(Mutable, LocalDomain):
    """Permutations with neighbors, too."""

    def neighbors(self, x):
        return [(*x[:i], x[i + 1], x[i], *x[i + 2 :]) for i in range(self.n - 1)]

    mutate = LocalDomain.mutate


def inversions(xs, ys):
    """The number of pairs that two permutations order differently (n, m): Kendall's distance."""
    if not len(xs) or not len(ys):
        return np.zeros((len(xs), len(ys)))
    first, second = (_orders(np.argsort(batch, axis=1)) for batch in (xs, ys))
    return (first.shape[1] - first @ second.T) / 2.0


def _orders(places):
    """1 or -1 for each pair of things, by which of them comes first (n, pairs)."""
    one, other = np.triu_indices(places.shape[1], 1)
    return np.sign(places[:, one] - places[:, other]).astype(float)


@dataclass(frozen=True)
class Distant(Swaps, DistanceDomain):
    """Permutations with neighbors and distances."""

    def distances(self, xs, ys):
        return inversions(xs, ys)


@dataclass(frozen=True)
class Described(Permutations, FeatureDomain):
    """Permutations of which only features are known."""

    def features(self, xs):
        return np.array(xs, dtype=np.float64).reshape(len(xs), self.n)
