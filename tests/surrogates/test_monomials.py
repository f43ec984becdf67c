"""Polynomials in indicators of choices: which there are, what they evaluate to, and their quadratic form."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.surrogates.horseshoe import Monomials, Polynomial, indicator_count
from tests.surrogates.polynomials import MIXED, random_polynomial

SIZES = st.lists(st.integers(2, 5), min_size=1, max_size=5)


@given(SIZES, st.integers(1, 4))
@settings(max_examples=50)
def test_the_count_is_that_of_the_members_and_of_all_products(sizes, order):
    monomials = Monomials(tuple(sizes), order)
    columns = [indicator_count(size) for size in sizes]
    products = sum(prod(some) for k in range(1, order + 1) for some in combinations(columns, k))
    assert monomials.count == len(monomials.members) == products
    assert len({frozenset(row) for row in monomials.members.tolist()}) == monomials.count


@given(SIZES, st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_each_monomial_is_the_product_of_its_indicators(sizes, order, seed):
    monomials = Monomials(tuple(sizes), order)
    rng = np.random.default_rng(seed)
    xs = np.array([[rng.integers(size) for size in sizes] for _ in range(4)])
    held = monomials.indicators(xs)
    for row, columns in zip(xs.T, monomials.columns, strict=True):
        expected = row[:, None] == np.arange(2 if len(columns) == 1 else len(columns))
        np.testing.assert_array_equal(held[:, columns], expected[:, -len(columns) :])
    np.testing.assert_array_equal(held[:, -1], 1.0)
    expected = np.stack([held[:, row].prod(axis=1) for row in monomials.members], axis=1)
    np.testing.assert_array_equal(monomials(xs), expected)


def test_a_polynomial_is_linear_in_its_coefficients():
    monomials = Monomials(tuple(MIXED.n_choices.tolist()), 2)
    first, second = (random_polynomial(MIXED, seed) for seed in (1, 2))
    total = Polynomial(monomials, first.coefficients - 2.0 * second.coefficients)
    xs = MIXED.enumerate()
    np.testing.assert_allclose(total(xs), first(xs) - 2.0 * second(xs))
    assert list(total.columns) == list(monomials.columns)


@pytest.mark.parametrize("order", [0, 5])
def test_orders_beyond_one_to_four_are_refused(order):
    with pytest.raises(ValueError, match="order: expected"):
        Monomials((2, 2), order)


def test_any_second_order_polynomial_of_bits_is_represented():
    """As many monomials and the constant as there are functions of two variables: interpolation is exact."""
    space = bo.Space({"a": range(3), "b": bool})
    xs = space.enumerate()
    design = np.column_stack([np.ones(len(xs)), Monomials((3, 2), 2)(xs)])
    assert np.linalg.matrix_rank(design) == len(xs) == space.size


def test_monomials_are_all_products_of_different_variables():
    monomials = Monomials((2, 2, 3), 3)
    assert monomials.count == len(monomials.members) == 5 + (1 + 3 + 3) + 3
    assert monomials.n_columns == 5
    row = monomials(np.array([[1, 0, 2]]))[0]
    # x0 and the third choice of x2 are there, x1 is not
    assert row.sum() == 3
    assert Monomials((2,) * 43, 3).count == 13_287  # with the constant the 13,288 of Oh et al. 2019
    with pytest.raises(DomainError, match="monomials"):
        Monomials((2,) * 100, 3)


def test_the_quadratic_form_is_the_polynomial():
    polynomial = random_polynomial(MIXED, 3)
    linear, form = polynomial.quadratic()
    xs = MIXED.enumerate()
    held = polynomial.monomials.indicators(xs)[:, :-1]
    np.testing.assert_allclose(held @ linear + np.einsum("mi,ij,mj->m", held, form, held), polynomial(xs))
    with pytest.raises(ValueError, match="order"):
        random_polynomial(MIXED, 3, order=3).quadratic()
