"""The kernel on choices: where one place holds other values in other programs, and where values are orders."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import Choice
from bostruct.kernels.traces import TraceKernel
from bostruct.language import (
    D,
    IntRange,
    OneOfKFactorial,
    SearchSpace,
    siso_module,
    siso_optional,
    siso_or,
    siso_permutation,
    siso_sequential,
    substitution_module,
)
from bostruct.methods.defaults import program_kernel
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing.kernel_laws import check_kernel
from tests.strategies import rngs


def growing():
    """The choice of ``x`` is at one place whatever ``n`` is, among as many values as ``n`` says."""
    return substitution_module(
        "S",
        lambda dh: siso_module("M", {"x": IntRange(1, dh["n"])}),
        {"n": D([1, 2, 3])},
        ["in"],
        ["out"],
        keyed_by=(),
    )


def test_laws_where_the_values_of_a_place_differ():
    space = SearchSpace(growing)
    check_kernel(program_kernel(space), space, np.random.default_rng(0))
    result = bo.minimize(lambda p: -float(p.nodes[0].values["x"]), space, 6, method="auto", seed=0)
    assert result.best_value == -3.0


@pytest.mark.parametrize(
    ("other", "distance"),
    [
        (Choice("a", "k", 1, 3, True), 0.5),
        (Choice("a", "k", 1, 2, True), 2.0),
        (Choice("a", "k", 0, 1, True), 2.0),
        (Choice("a", "k", 0, 3, False), 2.0),
        (Choice("b", "k", 0, 3, True), 2.0),
    ],
)
def test_choices_of_other_values_are_other_choices(other, distance):
    kernel = TraceKernel(lambda x: x, ("k",), Normal(0.0, 1.0), 0.0)
    xs, ys = [[Choice("a", "k", 0, 3, True)]], [[other]]
    for ahead, behind in ((xs, ys), (ys, xs)):
        np.testing.assert_allclose(kernel.prepare(ahead, behind)[0], [[distance]])


def ordering(path, order):
    return Choice(path, "k", 0, 6, False, order)


@pytest.mark.parametrize(
    ("other", "distance"),
    [
        ([ordering("a", (0, 1, 2))], 0.0),
        ([ordering("a", (1, 0, 2))], 1 / 3),
        ([ordering("a", (2, 0, 1))], 2 / 3),
        ([ordering("a", (2, 1, 0))], 1.0),
        ([ordering("a", (2, 1, 0)), ordering("b", ())], 1.0),  # a step of an order
        ([], 1.0),
        ([ordering("b", (0, 1, 2))], 2.0),
        ([ordering("a", (0, 1, 2, 3))], 2.0),
        ([ordering("a", None)], 2.0),
        ([Choice("a", "k", 0, 6, False)], 2.0),
        ([ordering("a", (0, 2, 1)), Choice("c", "k", 1, 3, True)], 4 / 3),
    ],
)
def test_orders_are_apart_by_the_share_of_pairs_in_another_order(other, distance):
    kernel = TraceKernel(lambda x: x, ("k",), Normal(0.0, 1.0), 0.0)
    xs, ys = [[ordering("a", (0, 1, 2))]], [other]
    for ahead, behind in ((xs, ys), (ys, xs)):
        np.testing.assert_allclose(kernel.prepare(ahead, behind)[0], [[distance]])


def orders_now_and_then():
    """Orders of some parts, of others, or none, in one choice or in steps, beside choices of other kinds."""

    def order_of(letters, n_times):
        parts = [lambda letter=letter: siso_module(letter, {"x": IntRange(1, 3)}) for letter in letters]
        permuted = siso_permutation(parts, OneOfKFactorial(len(letters)))
        return siso_sequential([permuted, *(siso_module("M", {"y": D([1, 2, 3])}) for _ in range(n_times))])

    return siso_sequential(
        [
            siso_or([lambda k=k: order_of("ABCDEFGHI"[:k], 1) for k in (2, 3, 5, 9)], D(range(4))),
            siso_optional(lambda: order_of("ABCD", 0), D([0, 1])),
        ]
    )


def test_laws_where_orders_are_absent():
    space = SearchSpace(orders_now_and_then)
    kernel = program_kernel(space)
    check_kernel(kernel, space, np.random.default_rng(0))
    assert "order_0" in kernel.kinds
    assert "order_1" not in kernel.kinds, "a later step of an order has no rate"


@given(st.integers(2, 4), st.lists(st.booleans(), min_size=8, max_size=40), rngs())
def test_orders_and_absence_are_of_negative_type(k, present, rng):
    kernel = TraceKernel(lambda x: x, ("k",), Normal(0.0, 1.0), 0.0)
    xs = [[ordering("a", tuple(rng.permutation(k).tolist()))] if one else [] for one in present]
    distances = kernel.prepare(xs)[0]
    centered = distances - distances.mean(axis=0) - distances.mean(axis=1)[:, None] + distances.mean()
    assert np.linalg.eigvalsh(-centered)[0] > -1e-9


def precedences(p):
    """The number of pairs of six parts that stand in another order than in ``DBFACE``."""
    place = ["DBFACE".index(node.kind) for node in p.nodes]
    return sum(a > b for i, a in enumerate(place) for b in place[i + 1 :])


def test_a_precedence_is_learned_from_fewer_trials_than_among_unordered_choices():
    parts = [lambda letter=letter: siso_module(letter) for letter in "ABCDEF"]
    ordered = SearchSpace(lambda: siso_permutation(parts, OneOfKFactorial(6)))
    unordered = SearchSpace(lambda: siso_permutation(parts, D(range(720))))
    for seed in range(3):
        best, other = (
            bo.minimize(precedences, space, 22, method="auto", seed=seed).best_value for space in (ordered, unordered)
        )
        assert best == 0
        assert other > 0
