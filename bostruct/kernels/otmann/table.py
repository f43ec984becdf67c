"""Distances that are asked for again and again: between the architectures that a model was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bostruct.contracts import Array
from bostruct.domains.architecture.value import Architecture
from bostruct.kernels.otmann.distance import otmann_distances
from bostruct.kernels.otmann.settings import Otmann

MOST_ROWS = 2000


@dataclass
class DistanceTable:
    """Both kinds of distance, (2 * weights, rows, rows), among all architectures met so far.

    Grown row by row: a new one costs its distances to those held. Begun anew beyond 2000 rows, and for another family.
    Of the last batch of candidates, too, no distance is computed twice: several models may ask for it.
    """

    settings: Otmann
    held: list[Architecture] = field(default_factory=list)
    row: dict[Architecture, int] = field(default_factory=dict)
    far: Array = field(default_factory=lambda: np.empty((0, 0, 0)))
    candidates: list[Architecture] = field(default_factory=list)
    to_held: Array = field(default_factory=lambda: np.empty((0, 0, 0)))  # from the candidates, (2 * weights, m, rows)

    def among(self, xs: Sequence[Architecture]) -> Array:
        """(2 * weights, n, n): the distances at each structural weight, then the normalised ones."""
        new = [x for x in dict.fromkeys(xs) if x not in self.row]
        if len(self.held) + len(new) > MOST_ROWS or (self.held and new and new[0].family != self.held[0].family):
            self.held, self.row, new = [], {}, list(dict.fromkeys(xs))
            self.candidates = []
        if new:
            self._grow(new)
        rows = [self.row[x] for x in xs]
        return self.far[:, np.array(rows, dtype=np.int64)[:, None], rows]

    def between(self, xs: Sequence[Architecture], ys: Sequence[Architecture]) -> Array:
        """(2 * weights, n, m): from candidates to some of those held; where ys are not, all are computed afresh."""
        if not all(y in self.row for y in ys):
            return both_distances(xs, ys, self.settings)
        if self.to_held.shape[2] != len(self.held) or self.candidates != list(xs):
            self.to_held, self.candidates = self._rows(xs), list(xs)
        return self.to_held[:, :, [self.row[y] for y in ys]]

    def _rows(self, xs: Sequence[Architecture]) -> Array:
        known = [i for i, x in enumerate(xs) if x in self.row]
        new = [i for i, x in enumerate(xs) if x not in self.row]
        rows = np.empty((2 * len(self.settings.weights), len(xs), len(self.held)))
        rows[:, known] = self.far[:, [self.row[xs[i]] for i in known]]
        if new:
            rows[:, new] = both_distances([xs[i] for i in new], self.held, self.settings)
        return rows

    def _grow(self, new: list[Architecture]) -> None:
        n_old, n = len(self.held), len(self.held) + len(new)
        grown = np.empty((2 * len(self.settings.weights), n, n))
        if n_old:
            across = both_distances(self.held, new, self.settings)
            grown[:, :n_old, :n_old] = self.far
            grown[:, :n_old, n_old:] = across
            grown[:, n_old:, :n_old] = across.transpose(0, 2, 1)
        grown[:, n_old:, n_old:] = both_distances(new, None, self.settings)
        self.far = grown
        self.held = [*self.held, *new]
        self.row = {x: row for row, x in enumerate(self.held)}


def both_distances(xs: Sequence[Architecture], ys: Sequence[Architecture] | None, settings: Otmann) -> Array:
    """(2 * weights, n, m): unnormalised, then normalised."""
    found = otmann_distances(xs, ys, settings)
    return np.ascontiguousarray(np.concatenate(found, axis=2).transpose(2, 0, 1))
