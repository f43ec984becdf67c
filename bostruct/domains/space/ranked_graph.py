"""The graph of the rows of a long table: near are rows that come near each other when they are ranked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.descriptors import DescriptorGroup, Descriptors
from bostruct.domains.space.graphs import VariableGraph

DIRECTIONS = 8  # in which rows are ranked
ROUNDS = 6  # of the iteration that finds the directions
TEXT_FEATURES = 8  # random numbers that stand for a text


@dataclass(frozen=True)
class RankedGraph(VariableGraph):
    """Rows ranked along the directions in which descriptors vary most: 1, 2, 4, ... ranks apart is one change.

    descriptors: of the rows.

    The graph is connected, for all rows are in each ranking. A row has some hundred neighbors, however many rows there
    are.
    """

    descriptors: Descriptors

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.descriptors.size

    def neighbors(self, vertex: int) -> IntArray:
        orders, ranks = self._rankings
        steps = 1 << np.arange((self.size - 1).bit_length())
        at = ranks[:, vertex, None] + np.concatenate([-steps, steps])
        which, step = np.nonzero((at >= 0) & (at < self.size))
        return np.unique(orders[which, at[which, step]])

    @cached_property
    def _rankings(self) -> tuple[IntArray, IntArray]:
        """The rows in the order of each direction, and the rank of each row, both (directions, rows)."""
        features = np.hstack([_features(group) for group in self.descriptors.groups])
        orders = np.argsort(features @ _principal_directions(features), axis=0, kind="stable").T
        return orders, np.argsort(orders, axis=1)


def _features(group: DescriptorGroup) -> Array:
    """Return what varies as numbers of mean 0, whose variances sum to 1 (n, p)."""
    columns = np.asarray(group.columns, dtype=np.float64)
    if group.kind == "texts":
        codes = group.columns[:, 0]
        columns = np.random.default_rng(0).normal(size=(int(codes.max()) + 1, TEXT_FEATURES))[codes]
    columns = columns - columns.mean(axis=0)
    if group.kind == "numbers":
        columns /= columns.std(axis=0)
    return columns / np.sqrt(columns.var(axis=0).sum())


def _principal_directions(features: Array) -> Array:
    """Find the directions of the largest variances by subspace iteration (p, at most 8).

    features: of n rows, centered (n, p).
    """
    p = features.shape[1]
    found = np.linalg.qr(np.random.default_rng(0).normal(size=(p, min(p, DIRECTIONS))))[0]
    for _ in range(ROUNDS):
        found = np.linalg.qr(features.T @ (features @ found))[0]
    return found
