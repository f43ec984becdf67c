"""The features of sequences: pairs of letters counted by hand, and how counts change."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.kernels.space.sequence import (
    SequenceShape,
    change_features,
    count_features,
    multiply_pairs,
    square_pairs,
)

VARYING = bo.Sequence("ABC", (1, 7))
FIXED = bo.Sequence("AB", 3)
SHAPES = {VARYING: SequenceShape(3, 7, 1), FIXED: SequenceShape(2, 3, 3)}


def count_by_hand(text, letters, gap):
    counts = Counter(zip(text, text[gap:], strict=False))
    return np.array([counts[a, b] for a in letters for b in letters], dtype=float)


@pytest.mark.parametrize("variable", SHAPES, ids=repr)
def test_products_and_squares_are_those_of_counts(variable):
    shape, rows = SHAPES[variable], variable.sample(12, np.random.default_rng(0))
    texts = [variable.present(row) for row in rows.tolist()]
    for j, gap in enumerate(shape.gaps):
        counts = np.array([count_by_hand(text, variable.letters, gap) for text in texts])
        assert_allclose(multiply_pairs(shape, rows[:5], rows)[j], counts[:5] @ counts.T)
        assert_allclose(square_pairs(shape, rows)[j], (counts**2).sum(axis=1))


@pytest.mark.parametrize("variable", SHAPES, ids=repr)
def test_a_change_adds_what_it_makes_and_takes_what_it_ends(variable):
    shape, rng = SHAPES[variable], np.random.default_rng(1)
    before = np.repeat(variable.sample(4, rng), 3, axis=0)
    after = variable.sample(12, rng)
    moved = change_features(shape, before, after)
    expected = count_features(shape, after) - count_features(shape, before)
    assert_allclose(moved.growth.toarray(), expected.T)
    assert_allclose(moved.squares, square_pairs(shape, after) - square_pairs(shape, before))


def test_weights_go_to_their_features():
    shape = SHAPES[FIXED]
    assert shape.weigh(np.array([1.0, 2.0, 3.0]), [4.0, 5.0]).tolist() == [1, 1, 2, 2, 3, 3, *[4] * 4, *[5] * 4]
    assert shape.n_features == 14
