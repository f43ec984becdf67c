"""Compositions of a whole number: integers within bounds that sum to it; some of them may be 0 instead.

Mixtures and allocations use them. A table of partial sums (the coefficients of a generating function) gives exact
counts and draws; a Gibbs sampler draws if the sum is too large for a table. The nearest composition to given numbers
can be found.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, DomainError, IntArray
from bostruct.domains.space.variable import pick

MAX_CELLS = 10**7  # the most cells of a table of partial sums
MAX_SUPPORTS = 20_000  # the most sets of parts that are listed
SUPPORT_DRAWS = 2_000  # draws of sets of parts if they are too many to list
SWEEPS = 8  # of the Gibbs sampler over all pairs of parts, times the logarithm of the number of parts
BISECTIONS = 64
LARGE = 2.0**500  # counts above it are divided by it
EXACT = 2.0**60  # a long double represents all integers up to somewhat more than this one

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Compositions:
    """The ways to write a whole number as a sum of w parts.

    total: at least 1.
    least: the smallest value of each part that is present, w integers, at least 0.
    most: the largest value of each part, w integers.
    optional: True for each part that may be 0 although `least` is above 0; such a part is present or absent.
    counted: True for each part that counts toward `max_parts`.
    max_parts: the most counted parts that are above 0; None for all.
    """

    total: int
    least: tuple[int, ...]
    most: tuple[int, ...]
    optional: tuple[bool, ...]
    counted: tuple[bool, ...]
    max_parts: int | None

    @property
    def width(self) -> int:
        """The number of parts, w."""
        return len(self.least)

    @cached_property
    def bounds(self) -> tuple[IntArray, IntArray]:
        """`least` and `most` as arrays (w,), `most` at most what the smallest other parts leave."""
        least, most = np.array(self.least), np.array(self.most)
        needed = np.where(self.is_optional, 0, least)
        return least, np.minimum(most, self.total - (needed.sum() - needed))

    @cached_property
    def is_optional(self) -> Mask:
        """`optional` as an array (w,)."""
        return np.array(self.optional)

    @property
    def is_sparse(self) -> bool:
        """True if some parts may be absent."""
        return any(self.optional)

    @cached_property
    def n_cells(self) -> int:
        """The number of cells of the table of partial sums."""
        return (self.total + 1) * (self.width + 1) * (1 if self.max_parts is None else self.max_parts + 1)

    @cached_property
    def size(self) -> int:
        """The number of compositions; an upper bound if the table would have more than 10^7 cells."""
        least, most = self.bounds
        if self.n_cells > MAX_CELLS:
            spans = most - least + 1 + self.is_optional
            return math.prod(int(one) for one in spans[:-1])
        top = 0 if self.max_parts is None else self.max_parts
        ways = np.zeros((top + 1, self.total + 1), dtype=object)
        ways[:, 0] = 1
        for i in reversed(range(self.width)):
            ways = self._add_part(i, ways)
        return int(ways[top, self.total])

    def holds(self, rows: IntArray) -> Mask:
        """Return which rows are compositions (m,).

        rows: integers (m, w).
        """
        found = self.may_have(rows).all(axis=1) & (rows.sum(axis=1) == self.total)
        if self.max_parts is not None:
            found &= np.count_nonzero(rows[:, list(self.counted)], axis=1) <= self.max_parts
        return found

    def may_have(self, rows: IntArray) -> Mask:
        """Return which parts are within their bounds, or absent if they may be (m, w).

        rows: integers (m, w).
        """
        least, most = self.bounds
        return (rows >= least) & (rows <= most) | self.is_optional & (rows == 0)

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m compositions (m, w).

        The draws are uniform if there is a table. Otherwise the number of present parts is drawn uniformly, then a set
        of so many parts, and then values of these parts.

        m: int >= 0.
        rng: random number generator.
        """
        if not m:
            return np.empty((0, self.width), dtype=np.int64)
        if self.n_cells <= MAX_CELLS:
            return self._draw_by_table(m, rng)
        present = self._draw_supports(m, rng)
        least, most = self.bounds
        free = self.total - np.where(present, least, 0).sum(axis=1)
        drawn = np.where(present, rng.standard_exponential((m, self.width)), 0.0)  # uniform on a simplex when scaled
        target = np.where(present, least + drawn * (free / drawn.sum(axis=1))[:, None], 0.0)
        rows = self.nearest(target, present)
        is_inside = (target <= most + 0.5).all(axis=1)  # a uniform draw; the others continue by Gibbs steps
        rows[~is_inside] = self._mix(rows[~is_inside], present[~is_inside], rng)
        return rows

    def nearest(self, target: Array, present: Mask) -> IntArray:
        """Return the compositions nearest to given numbers, with the same parts present (m, w).

        target: numbers (m, w).
        present: which parts are above 0 (m, w); a composition with these parts must exist.

        This is the Euclidean projection on the sum and the bounds, by bisection, then rounded to integers, the largest
        remainders up.
        """
        least, most = self.bounds
        low, high = np.where(present, least, 0), np.where(present, most, 0)
        left = (target - high).min(axis=1, initial=0.0, keepdims=True) - 1.0
        right = (target - low).max(axis=1, initial=0.0, keepdims=True) + 1.0
        for _ in range(BISECTIONS):
            shift = 0.5 * (left + right)
            is_more = np.clip(target - shift, low, high).sum(axis=1, keepdims=True) > self.total
            left, right = np.where(is_more, shift, left), np.where(is_more, right, shift)
        exact = np.clip(target - 0.5 * (left + right), low, high)
        rows = np.floor(exact + 1e-6).astype(np.int64)
        for sign in (1, -1):  # the second if rounding made the sum too large
            while (lacking := sign * (self.total - rows.sum(axis=1))).max(initial=0) > 0:
                room = rows < high if sign > 0 else rows > low
                order = np.argsort(np.where(room, sign * (rows - exact), np.inf), axis=1, kind="stable")
                rank = np.argsort(order, axis=1)
                rows += sign * ((rank < lacking[:, None]) & room)
        return rows

    def move_pair(self, row: Sequence[int], share: float) -> list[int]:
        """Draw how two parts divide their sum, all ways with equal probabilities: a step of a Gibbs sampler.

        row: a composition.
        share: a uniform number in [0, 1), which decides.
        """
        n_pairs = self.width * (self.width - 1) // 2
        number = pick(share, n_pairs)
        i, j = self._pairs[number].tolist()
        moved = list(row)
        others = [one for k, one in enumerate(row) if self.counted[k] and k not in (i, j)]
        left = None if self.max_parts is None else self.max_parts - sum(one > 0 for one in others)
        whole = row[i] + row[j]
        least, most = self.bounds
        low, high = max(int(least[i]), whole - int(most[j])), min(int(most[i]), whole - int(least[j]))
        if left is not None and self.counted[i] + self.counted[j] > left:  # both cannot be above 0
            low, high = 0, -1
        single = [
            one
            for one in dict.fromkeys((0, whole))
            if not low <= one <= high
            and self._may_be(i, one)
            and self._may_be(j, whole - one)
            and (left is None or (one > 0 and self.counted[i]) + (one < whole and self.counted[j]) <= left)
        ]
        n_between = max(0, high - low + 1)
        at = pick(share * n_pairs - number, n_between + len(single))
        moved[i] = low + at if at < n_between else single[at - n_between]
        moved[j] = whole - moved[i]
        return moved

    def neighbors(self, row: Sequence[int], steps: Sequence[int], pairs: IntArray, exchanges: bool) -> IntArray:
        """List the results of moving an amount from one part to another, or of exchanging their values (k, w).

        steps: amounts to move, at least 1 each; for a part that may be absent, also its `least`.
        pairs: pairs of parts (p, 2).
        exchanges: True for exchanges of any two values, otherwise only of a value and 0.
        """
        base = np.asarray(row, dtype=np.int64)
        both = np.concatenate([pairs, pairs[:, ::-1]])
        every = np.repeat(both, len(steps), axis=0)
        amounts = np.tile(np.array(steps, dtype=np.int64), len(both))
        least = self.bounds[0]
        for k in (0, 1):
            own = both[self.is_optional[both[:, k]]]
            every, amounts = np.concatenate([every, own]), np.concatenate([amounts, least[own[:, k]]])
        first, second = base[pairs[:, 0]], base[pairs[:, 1]]
        ahead = (first > second) if exchanges else (first > 0) & (second == 0)
        back = (second > first) if exchanges else (second > 0) & (first == 0)
        swapped = np.concatenate([pairs[ahead], pairs[back][:, ::-1]])
        every = np.concatenate([every, swapped])
        amounts = np.concatenate([amounts, base[swapped[:, 0]] - base[swapped[:, 1]]])
        rows = np.repeat(base[None], len(every), axis=0)
        at = np.arange(len(rows))
        rows[at, every[:, 0]] -= amounts
        rows[at, every[:, 1]] += amounts
        rows = rows[(amounts > 0) & self.holds(rows)]
        return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]

    def find_composition(self) -> IntArray:
        """Return a composition in the middle of the bounds, with as many parts present as possible (w,).

        Raises DomainError if none is found.
        """
        present = (
            self._supports[-1:] if self._supports is not None else self._draw_supports(1, np.random.default_rng(0))
        )
        least, most = (np.where(present[0], one, 0) for one in self.bounds)
        part = (self.total - least.sum()) / max(1, int((most - least).sum()))
        return self.nearest((least + part * (most - least))[None], present)[0]

    def _may_be(self, i: int, value: int) -> bool:
        least, most = self.bounds
        return bool(least[i] <= value <= most[i]) or (self.optional[i] and value == 0)

    @cached_property
    def _pairs(self) -> IntArray:
        return np.column_stack(np.triu_indices(self.width, 1))

    def _add_part(self, i: int, ways: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the number of ways to make each sum with one more part, by the most counted parts (k + 1, total + 1).

        ways: the numbers of ways without that part.
        """
        least, most = int(self.bounds[0][i]), int(self.bounds[1][i])
        found = np.zeros_like(ways)
        spends = self.max_parts is not None and self.counted[i]
        if self.optional[i] or least == 0:
            found += ways
        first = max(least, 1)  # a part of 0 is not counted
        if first <= most:
            before = ways[:-1] if spends else ways
            sums = np.cumsum(before, axis=1)
            added = found[1:] if spends else found
            added[:, first:] += sums[:, : self.total + 1 - first]
            if most < self.total:
                added[:, most + 1 :] -= sums[:, : self.total - most]
        return found

    @cached_property
    def _table(self) -> list[npt.NDArray[np.longdouble]]:
        """The number of ways to make each sum with the parts from each on, w + 1 arrays (k + 1, total + 1)."""
        ways = np.zeros((1 + (self.max_parts or 0), self.total + 1), dtype=np.longdouble)
        ways[:, 0] = 1.0
        found = [ways]
        for i in reversed(range(self.width)):
            if float(ways.max()) > LARGE:  # only ratios matter, and powers of two keep them
                ways = ways / LARGE
            largest = float(ways.sum())
            ways = np.asarray(self._add_part(i, ways), dtype=np.longdouble)
            if largest > EXACT:  # differences of cumulative sums may have rounding errors instead of 0
                ways[ways < largest / EXACT] = 0.0
            found.append(ways)
        return found[::-1]

    def _draw_by_table(self, m: int, rng: np.random.Generator) -> IntArray:
        rows = np.zeros((m, self.width), dtype=np.int64)
        left, places = np.full(m, self.total), np.full(m, self.max_parts or 0)
        least, most = self.bounds
        for i in range(self.width):
            states, of = np.unique(np.column_stack([left, places]), axis=0, return_inverse=True)
            spends = self.max_parts is not None and self.counted[i]
            for k, (total, free) in enumerate(states.tolist()):
                values = np.arange(max(1, int(least[i])), min(int(most[i]), total) + 1)
                after = free - spends
                weights = self._table[i + 1][after][total - values] if after >= 0 else np.zeros(len(values))
                if self.optional[i] or least[i] == 0:
                    values = np.append(0, values)
                    weights = np.append(self._table[i + 1][free][total], weights)
                own = np.flatnonzero(of.ravel() == k)
                rows[own, i] = rng.choice(values, size=len(own), p=(weights / weights.sum()).astype(np.float64))
            left = left - rows[:, i]
            places = places - (spends & (rows[:, i] > 0))
        return rows

    @cached_property
    def _supports(self) -> Mask | None:
        """The possible sets of present parts, by their sizes (s, w); None if they are too many to list."""
        free = np.flatnonzero(self.is_optional)
        most = len(free) if self.max_parts is None else min(len(free), self.max_parts)
        if sum(math.comb(len(free), size) for size in range(most + 1)) > MAX_SUPPORTS:
            return None
        rows = []
        for size in range(most + 1):
            for chosen in itertools.combinations(free.tolist(), size):
                row = ~self.is_optional
                row[list(chosen)] = True
                rows.append(row)
        return self._keep_possible(np.array(rows))

    def _keep_possible(self, present: Mask) -> Mask:
        """Return the sets of parts whose bounds reach the total."""
        least, most = self.bounds
        is_possible = np.where(present, least, 0).sum(axis=1) <= self.total
        is_possible &= np.where(present, most, 0).sum(axis=1) >= self.total
        is_possible &= (~present | (least <= most)).all(axis=1)
        if self.max_parts is not None:
            is_possible &= present[:, list(self.counted)].sum(axis=1) <= self.max_parts
        return present[is_possible]

    def _draw_supports(self, m: int, rng: np.random.Generator) -> Mask:
        """Draw which parts are present: their number uniformly, then a set of that size (m, w)."""
        found = self._supports
        if found is None:
            most = self.width if self.max_parts is None else self.max_parts
            sizes = rng.integers(0, most + 1, size=(max(m, SUPPORT_DRAWS), 1))
            drawn = rng.random((len(sizes), self.width))
            weights = np.maximum(self.bounds[1], 1) / self.bounds[1].max()
            for power in (0.0, 0.5, 1.0, 2.0, 4.0):  # larger parts get larger weights until a set is found
                ranks = (-np.log1p(-drawn) / weights**power).argsort(axis=1).argsort(axis=1)
                found = self._keep_possible(~self.is_optional | (ranks < sizes))
                if len(found):
                    break
        if not len(found):
            raise DomainError("no set of parts within the bounds sums to the total")
        sizes = found.sum(axis=1)
        _, number, counts = np.unique(sizes, return_inverse=True, return_counts=True)
        weights = 1.0 / counts[number.ravel()]
        return found[rng.choice(len(found), size=m, p=weights / weights.sum())]

    def _mix(self, rows: IntArray, present: Mask, rng: np.random.Generator) -> IntArray:
        """Draw uniformly among the compositions with the same parts, by Gibbs steps of pairs from the middle (m, w)."""
        least, most = (np.where(present, one, 0) for one in self.bounds)
        part = (self.total - least.sum(axis=1)) / np.maximum(1, (most - least).sum(axis=1))
        rows = self.nearest(least + part[:, None] * (most - least), present) if len(rows) else rows
        at, n_present = np.arange(len(rows)), present.sum(axis=1)
        order = np.argsort(~present, axis=1, kind="stable")  # the present parts first
        for _ in range(int(SWEEPS * self.width * (1.0 + math.log(self.width)))):
            first = rng.integers(0, n_present)
            second = (first + rng.integers(1, np.maximum(n_present, 2))) % n_present
            i, j = order[at, first], order[at, second]
            whole = rows[at, i] + rows[at, j]
            low, high = np.maximum(least[at, i], whole - most[at, j]), np.minimum(most[at, i], whole - least[at, j])
            drawn = rng.integers(low, np.maximum(high, low) + 1)
            rows[at, i] = np.where(i == j, rows[at, i], drawn)
            rows[at, j] = np.where(i == j, rows[at, j], whole - drawn)
        return rows
