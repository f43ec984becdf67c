"""The kernel of orders: its distances by hand, the laws, and what sums it learns."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.kernels.distance import MOST_PAIRED
from bostruct.kernels.space.likeness import DistanceFactor
from bostruct.kernels.space.permutation import OrderDistances, OrderShape, PermutationEffect, compare_orders
from bostruct.kernels.space.registry import main_effects
from bostruct.methods.defaults import space_kernel
from bostruct.testing import check_kernel
from tests.strategies import rngs


def draw(rng, n, w):
    return rng.permuted(np.tile(np.arange(w), (n, 1)), axis=1)


def compare_by_hand(x, y):
    """By the definitions, pair after pair of items."""
    w, items = len(x), range(len(x))
    first, second = ({item: place for place, item in enumerate(order)} for order in (x, y))
    discordant = sum((first[a] < first[b]) != (second[a] < second[b]) for a, b in combinations(items, 2))
    precedence = discordant * 2 / (w - 1)
    if w > MOST_PAIRED:
        precedence = sum((first[a] - second[a]) ** 2 for a in items) * 3 / (w * w - 1)
    sides = [{frozenset(pair) for pair in pairwise(order)} for order in (x, y)]
    return precedence, sum(a != b for a, b in zip(x, y, strict=True)) / 2, len(sides[0] - sides[1]) / 2


@pytest.mark.parametrize("w", [2, 3, 6, MOST_PAIRED, MOST_PAIRED + 1])
def test_distances_are_those_of_the_definitions(w):
    rng = np.random.default_rng(w)
    xs, ys = draw(rng, 4, w), draw(rng, 3, w)
    expected = [[compare_by_hand(x, y) for y in ys.tolist()] for x in xs.tolist()]
    assert_allclose(compare_orders(xs, ys), np.moveaxis(expected, 2, 0), atol=1e-9)


def draw_some(rng, n, w, absent):
    return rng.permuted(np.tile(np.arange(w + absent), (n, 1)), axis=1)[:, :w]


def compare_some_by_hand(x, y, n_items):
    """By the definitions: absent items come behind all others, tied, and to be absent is a place."""
    k, items = len(x), range(n_items)
    first, second = ([order.index(item) if item in order else k for item in items] for order in (x, y))
    signs = [[np.sign(one[b] - one[a]) for a, b in combinations(items, 2)] for one in (first, second)]
    n_ordered = n_items * (n_items - 1) / 2 - (n_items - k) * (n_items - k - 1) / 2
    precedence = k * sum((s - t) ** 2 / 4 for s, t in zip(*signs, strict=True)) / n_ordered
    places = sum(a != b for a, b in zip(x, y, strict=True)) / 2 + len(set(x) - set(y)) / 2
    sides = [{frozenset(pair) for pair in pairwise(order)} for order in (x, y)]
    return precedence, places, len(sides[0] - sides[1]) / 2


@pytest.mark.parametrize(("w", "absent"), [(2, 1), (2, 5), (3, 1), (6, 7), (60, 4)])
def test_distances_of_some_items_are_those_of_the_definitions(w, absent):
    rng = np.random.default_rng(w)
    xs, ys = draw_some(rng, 4, w, absent), draw_some(rng, 3, w, absent)
    expected = [[compare_some_by_hand(x, y, w + absent) for y in ys.tolist()] for x in xs.tolist()]
    assert_allclose(compare_orders(xs, ys, absent=absent), np.moveaxis(expected, 2, 0), atol=1e-6)


EVERY = [(2, 1), (2, 2), (3, 1), (3, 2), (4, 1)]


def is_positive(gram):
    return np.linalg.eigvalsh(gram).min() > -1e-9


@pytest.mark.parametrize(("w", "absent"), EVERY)
@pytest.mark.parametrize("rate", [0.02, 0.5, 5.0])
def test_kernels_of_some_items_are_positive_definite_over_all_points(w, absent, rate):
    every = bo.Permutation(range(w + absent), length=w).enumerate()
    for distance in compare_orders(every, every, absent=absent):
        assert is_positive(np.exp(-rate * distance))


def test_precedence_of_common_items_alone_is_no_kernel():
    """The fault that absent items invite: pairs that one order lacks count as if the orders agreed."""
    every = bo.Permutation(range(4), length=2).enumerate().tolist()
    apart = [[float(x == y[::-1]) for y in every] for x in every]
    pairs = [[len(set(x) & set(y)) / 2 for y in every] for x in every]
    assert not is_positive(np.exp(-np.array(apart)) * np.greater(pairs, 0))


@pytest.mark.parametrize(("w", "absent"), EVERY)
def test_the_effect_of_some_items_is_centered_over_all_points(w, absent):
    order = bo.Permutation(range(w + absent), length=w)
    gram = PermutationEffect(OrderShape.of(order)).gram(every := order.enumerate(), every)
    assert_allclose(gram.diagonal(), 1.0)
    assert_allclose(gram.mean(axis=1), 0.0, atol=1e-9)
    assert is_positive(gram)


@pytest.mark.parametrize(("w", "absent"), [(3, 70), (66, 9)])
def test_of_many_items_ranks_count_and_absent_ones_are_tied(w, absent):
    rng, n = np.random.default_rng(0), w + absent
    xs = draw_some(rng, 300, w, absent)
    ranks = [np.r_[[x.index(i) if i in x else (w + n - 1) / 2 for i in range(n)]] for x in xs[:2].tolist()]
    expected = w * (1 - np.corrcoef(ranks)[0, 1]) / 2  # Spearman's correlation with ties
    distances = compare_orders(xs, xs, absent=absent)[0]
    assert_allclose((distances[0, 1], distances.diagonal().max()), (expected, 0.0), atol=1e-9)
    assert_allclose(distances.mean(), w / 2, rtol=0.05)
    assert is_positive(np.exp(-distances) + 1e-9 * np.eye(300))


@given(st.integers(2, 70), rngs())
def test_distances_do_not_depend_on_what_items_are_called(w, rng):
    xs, ys, names = draw(rng, 3, w), draw(rng, 4, w), rng.permutation(w)
    assert_allclose(compare_orders(names[xs], names[ys]), compare_orders(xs, ys), atol=1e-9)


@pytest.mark.parametrize("w", [12, 100])
def test_two_orders_at_random_are_half_as_many_choices_apart_as_there_are_items(w):
    rng = np.random.default_rng(0)
    mean = compare_orders(draw(rng, 60, w), draw(rng, 60, w)).mean(axis=(1, 2))
    assert_allclose(mean, w / 2, rtol=0.25)


SPACES = {
    "alone": {"p": bo.Permutation(range(5))},
    "some": {"p": bo.Permutation(range(5), length=3), "q": bo.Permutation(range(4), length=2), "b": bool},
    "several": {
        "p": bo.Permutation(list("abcd")),
        "b": bool,
        "q": bo.Permutation(range(4)),
        "s": bo.Permutation(range(3)),
    },
    "mixed": {"c": list("abc"), "p": bo.Permutation(range(4), when={"c": "a"}), "r": bo.Real(0, 1), "i": range(5)},
}


@pytest.mark.parametrize("name", SPACES)
def test_laws(name):
    space, rng = bo.Space(SPACES[name]), np.random.default_rng(0)
    check_kernel(space_kernel(space), space, rng)
    check_kernel(main_effects(space), space, rng)


def test_each_order_has_three_parameters_at_its_place():
    kernel = space_kernel(bo.Space(SPACES["several"]))
    assert [block.size for block in kernel.parameters] == [3 + 1 + 3 + 3]
    assert sorted(one.parameters for one in kernel.factors) == [(0, 1, 2, 4, 5, 6), (3,), (7, 8, 9)]
    conditional = space_kernel(bo.Space(SPACES["mixed"]))
    assert [block.size for block in conditional.parameters] == [1 + 3 + 1 + 1, 1]


@pytest.mark.parametrize("w", [2, 3, 8, 70])
def test_the_effect_is_one_of_equal_orders_and_zero_on_average(w):
    rng, effect = np.random.default_rng(w), PermutationEffect(OrderShape(w))
    xs = draw(rng, 400, w)
    gram = effect.gram(xs, xs)
    assert_allclose(gram.diagonal(), 1.0, atol=1e-9)
    assert_allclose(effect.diag(xs), 1.0)
    assert np.linalg.eigvalsh(gram).min() > -1e-8
    assert abs(gram[~np.eye(400, dtype=bool)].mean()) < 0.02


def test_a_change_of_one_order_grows_the_distances_of_that_order():
    rng, factor = np.random.default_rng(0), DistanceFactor(OrderDistances(OrderShape(5)), 2)
    xs, ys = draw(rng, 6, 5), np.hstack([draw(rng, 7, 5), draw(rng, 7, 5)])
    assert factor.prepare(np.hstack([xs, xs]), ys).shape == (6, 6, 7)
    assert factor.n_parameters == 6


def test_a_sum_over_pairs_is_learned_from_few_values():
    """The linear ordering problem of 8 items: `auto` is ahead of hill climbing after 30 trials."""
    space, weights = bo.Space({"p": bo.Permutation(range(8))}), np.random.default_rng(0).random((8, 8))

    def cost(point):
        order = list(point["p"])
        return float(np.triu(weights[np.ix_(order, order)], 1).sum())

    ours, climbed = (bo.minimize(cost, space, 30, method=name, seed=0) for name in ("auto", "hill-climbing"))
    assert ours.best_value < climbed.best_value


def test_which_items_to_choose_and_their_order_are_learned():
    """Three of 12 passes, of which some help and one must come before another."""
    space = bo.Space({"p": bo.Permutation(range(12), length=3)})

    def cost(point):
        order = point["p"]
        gain = 2.0 * (4 in order) + (7 in order) + (9 in order)
        return -gain - 2.0 * ({4, 7} <= set(order) and order.index(7) < order.index(4))

    results = [[bo.minimize(cost, space, 40, method=name, seed=s) for s in range(3)] for name in ("auto", "random")]
    ours, drawn = (np.mean([one.best_value for one in own]) for own in results)
    assert (ours, drawn > -5.5) == (-6.0, True)
