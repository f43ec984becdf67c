"""Swaps, moves and reversals of a row: all of them, each once, and back again."""

from itertools import permutations

import numpy as np
import pytest

from bostruct.domains.space import permutation


def list_by_hand(n):
    """All rows that one swap, one move or one reversal makes of 0..n - 1."""
    row, found = list(range(n)), set()
    for i in range(n):
        for j in range(n):
            if i != j:
                rest = row[:i] + row[i + 1 :]
                found.add((*rest[:j], row[i], *rest[j:]))
                a, b = min(i, j), max(i, j)
                found.add((*row[:a], row[b], *row[a + 1 : b], row[a], *row[b + 1 :]))
                found.add((*row[:a], *row[a : b + 1][::-1], *row[b + 1 :]))
    return found


@pytest.mark.parametrize("n", range(2, 9))
def test_each_is_listed_once(n):
    listed = list(map(tuple, permutation.list_rearrangements(n).tolist()))
    assert len(listed) == len(set(listed)) == permutation.count_rearrangements(n)
    assert set(listed) == list_by_hand(n)
    assert [tuple(permutation.rearrange(list(range(n)), k)) for k in range(len(listed))] == listed


@pytest.mark.parametrize("n", [100, 200])
def test_of_long_rows_short_ones_are_listed_and_with_leaps_long_ones(n):
    near, far = permutation.list_rearrangements(n), permutation.list_rearrangements(n, large_steps=True)
    assert len(near) <= permutation.MOST_LISTED
    assert len(np.unique(far, axis=0)) == len(far)
    spans = [int(np.ptp(np.flatnonzero(row != np.arange(n)))) for row in far]
    assert max(spans[: len(near)]) < n // 2 == max(spans)
    assert permutation.count_rearrangements(n) == n * (n - 1) // 2 + (n - 1) * (n - 2) + (n - 2) * (n - 3) // 2


def test_all_of_a_long_row_can_be_made():
    n = 60
    numbers = np.linspace(0, permutation.count_rearrangements(n) - 1, 50).astype(int).tolist()
    made = {tuple(permutation.rearrange(list(range(n)), k)) for k in numbers}
    assert len(made) == len(numbers)
    assert all(sorted(row) == list(range(n)) for row in made)


@pytest.mark.parametrize("counts", [[1], [3], [1, 1, 1], [2, 1, 2], [1, 4]])
def test_orders_are_listed_as_a_dictionary_has_them(counts):
    items = np.repeat(np.arange(len(counts)), counts).tolist()
    assert permutation.list_orders(counts, sum(counts)).tolist() == [
        list(order) for order in sorted(set(permutations(items)))
    ]
