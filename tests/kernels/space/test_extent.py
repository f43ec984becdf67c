"""Lengths of sequences and sizes of subsets in the kernel: distances and effects by hand, changes, what is learned."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.domains.space.sequence import Sequence
from bostruct.kernels.space.matern import COUNT_LENGTHSCALE, TREND, LengthKernel
from bostruct.kernels.space.registry import has_lengths, main_effects
from bostruct.testing import check_kernel

WORDS, LETTERS = bo.Sequence("ABC", (2, 8)), LengthKernel(2, 8, 3)
CHOSEN, ITEMS = bo.Subset(range(9), (1, 5)), LengthKernel(1, 5, 0)
BOTH = pytest.mark.parametrize(("variable", "extent"), [(WORDS, LETTERS), (CHOSEN, ITEMS)], ids=["letters", "items"])


@BOTH
def test_distances_are_squared_differences_of_shares_of_the_range(variable, extent):
    xs, ys = (variable.sample(m, np.random.default_rng(m)) for m in (6, 5))
    counts = [np.array([len(variable.present(row)) for row in rows.tolist()]) for rows in (xs, ys)]
    shares = [(own - extent.least) / (extent.most - extent.least) for own in counts]
    assert_allclose(extent.square(xs, ys), 10.0 * np.square(shares[0][:, None] - shares[1]))


def test_the_effect_is_a_trend_and_matern_beside_it():
    short, long = (np.array([WORDS.parse(text)]) for text in ("AB", "ABCABCAB"))
    a = np.sqrt(5.0) / COUNT_LENGTHSCALE
    expected = -TREND * 3.0 + (1.0 - TREND) * (1.0 + a + a * a / 3.0) * np.exp(-a)
    assert LETTERS.gram(short, long)[0, 0] == pytest.approx(expected)


@BOTH
def test_the_effect_is_a_kernel_of_mean_diagonal_one(variable, extent):
    xs = variable.sample(4_000, np.random.default_rng(0))
    gram = extent.gram(xs[:300], xs[:300])
    assert_allclose(gram.diagonal(), extent.diag(xs[:300]))
    assert np.linalg.eigvalsh(gram).min() > -1e-9
    steps = extent.most - extent.least
    assert extent.diag(xs).mean() == pytest.approx(1.0 + TREND * 2.0 / steps, abs=0.05)  # of so few numbers a bit more


@BOTH
def test_changes_add_what_they_make_and_take_what_they_end(variable, extent):
    before, after, ys = (variable.sample(m, np.random.default_rng(i)) for i, m in enumerate((7, 7, 4)))
    for whole, change in ((extent.square, extent.square_change), (extent.gram, extent.change)):
        assert_allclose(change(before, after, ys), whole(after, ys) - whole(before, ys), atol=1e-12)


def test_only_what_varies_has_an_extent():
    assert has_lengths(bo.Space({"b": bool, "s": WORDS}))
    assert has_lengths(bo.Space({"s": CHOSEN}))
    assert not has_lengths(bo.Space({"s": bo.Sequence("AB", 5), "t": bo.Subset(range(5), 2), "n": bo.Integer(1, 9)}))


def test_the_kernel_of_effects_by_extent_obeys_the_laws():
    when = bo.Sequence("ABC", (1, 3), when={"c": "a"})
    space = bo.Space({"c": list("abc"), "s": WORDS, "t": CHOSEN, "u": when, "v": bo.Sequence("AB", 3)})
    check_kernel(main_effects(space, by_length=True), space, np.random.default_rng(0))


@pytest.mark.parametrize("variable", [Sequence("ACGT", (10, 24)), bo.Subset(range(40), (1, 15))], ids=repr)
def test_a_good_length_is_found_from_lengths_beyond_it(variable):
    """Ten given points are as long as may be or a little less; after twelve suggestions the best value is at most 2."""
    rng, longest = np.random.default_rng(0), 24 if isinstance(variable, Sequence) else 15
    target, given = longest - 10, []
    while len(given) < 10:
        point = {"s": variable.present(variable.sample(1, rng)[0].tolist())}
        given += [point] if len(point["s"]) > longest - 4 else []
    result = bo.minimize(lambda point: abs(len(point["s"]) - target), {"s": variable}, 22, seed=0, initial_points=given)
    assert result.best_value <= 2
