"""Minimizers of polynomials in indicators: against brute force, bounds, constraints."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.pseudo_boolean import (
    SemidefiniteRelaxation,
    SimulatedAnnealing,
    feasible_mask,
    penalize,
    rank_distinct,
    solve_relaxation,
)
from bostruct.domains.space.call_limit import limit_calls
from bostruct.surrogates.horseshoe import Polynomial
from tests.surrogates.polynomials import BITS, MIXED, random_polynomial


@pytest.mark.parametrize("space", [bo.Space({f"b{i}": bool for i in range(10)}), MIXED])
@pytest.mark.parametrize("minimizer", [SemidefiniteRelaxation(), SimulatedAnnealing(chains=10, steps=40)])
def test_minimizers_find_the_minimum_of_small_polynomials(space, minimizer):
    hit = 0
    for seed in range(20):
        polynomial = random_polynomial(space, seed)
        best = polynomial(space.enumerate()).min()
        xs = minimizer(polynomial, space, np.random.default_rng(seed))
        energies = polynomial(xs)
        assert (np.diff(energies) >= 0).all()
        assert len(np.unique(xs, axis=0)) == len(xs)
        hit += energies[0] == pytest.approx(best)
    assert hit >= 18


def test_the_relaxation_is_a_bound_and_tight_where_pairs_attract():
    rng = np.random.default_rng(0)
    for seed in range(10):
        polynomial = random_polynomial(BITS, seed)
        energies = polynomial(BITS.enumerate())
        _, bound = solve_relaxation(*penalize(polynomial), 500, rng)
        assert bound <= energies.min() + 1e-5
        attracting = polynomial.monomials.members[:, 1] < 7
        submodular = Polynomial(
            polynomial.monomials, np.where(attracting, -np.abs(polynomial.coefficients), polynomial.coefficients)
        )
        _, bound = solve_relaxation(*penalize(submodular), 500, rng)
        assert bound == pytest.approx(submodular(BITS.enumerate()).min(), rel=0.15)


def test_third_order_is_annealed():
    polynomial = random_polynomial(BITS, 0, order=3)
    xs = SimulatedAnnealing(chains=10, steps=40)(polynomial, BITS, np.random.default_rng(0))
    assert polynomial(xs)[0] == pytest.approx(polynomial(BITS.enumerate()).min())
    with pytest.raises(ValueError, match="order: expected at most 2, got 3"):
        SemidefiniteRelaxation()(polynomial, BITS, np.random.default_rng(0))


def test_a_penalty_keeps_the_minimum_where_one_choice_is_taken():
    """Over all zeros and ones the least of the penalized form is attained at the indicators of the best point."""
    space = bo.Space({"a": range(3), "b": bool, "c": range(3)})
    every = np.array(np.meshgrid(*[[0.0, 1.0]] * 7)).reshape(7, -1).T
    drawn = [random_polynomial(space, seed) for seed in range(10)]
    costly, paying = (Polynomial(drawn[0].monomials, sign * np.abs(drawn[0].coefficients)) for sign in (1.0, -1.0))
    for polynomial in (*drawn, costly, paying):  # where no choice would be best, and where several would be
        linear, pairs = penalize(polynomial)
        values = every @ linear + np.einsum("mi,ij,mj->m", every, pairs, every)
        best = space.enumerate()[np.argmin(polynomial(space.enumerate()))]
        held = polynomial.monomials.indicators(best[None])[:, :-1]
        assert values.min() == pytest.approx((held @ linear + np.einsum("mi,ij,mj->m", held, pairs, held))[0])
        np.testing.assert_array_equal(pairs, pairs.T)


def test_vectors_of_the_relaxation_are_of_unit_length():
    polynomial = random_polynomial(MIXED, 0)
    vectors, _ = solve_relaxation(*penalize(polynomial), 50, np.random.default_rng(0))
    assert len(vectors) == polynomial.monomials.n_columns + 1
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0)


@pytest.mark.parametrize("minimizer", [SemidefiniteRelaxation(), SimulatedAnnealing()])
def test_no_candidate_breaks_a_constraint(minimizer):
    space = bo.Space(BITS.variables, [lambda p: p["b0"] or p["b1"], lambda p: not p["b6"] or p["b2"]])
    met = 0
    for seed in range(10):
        xs = minimizer(random_polynomial(BITS, seed), space, np.random.default_rng(seed))
        assert all((x[0] or x[1]) and (not x[6] or x[2]) for x in xs.tolist())
        met += len(xs) > 0
    assert met >= 5
    rows = np.array([[0] * 7, [1] + [0] * 6])
    assert feasible_mask(space, rows).tolist() == [False, True]
    assert feasible_mask(BITS, rows).tolist() == [True, True]


def test_a_relaxation_that_meets_no_valid_point_returns_none():
    space = bo.Space(BITS.variables, [lambda p: all(p.values())])
    zero_is_best = Polynomial(random_polynomial(BITS, 0).monomials, np.full(28, 1.0))
    assert len(SemidefiniteRelaxation(roundings=3)(zero_is_best, space, np.random.default_rng(0))) == 0


def test_distinct_points_are_ranked_by_their_energy():
    xs = np.array([[1, 0], [0, 1], [1, 0], [1, 1]])
    assert rank_distinct(xs, np.array([3.0, -1.0, 3.0, 0.5])).tolist() == [[0, 1], [1, 1], [1, 0]]


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: SimulatedAnnealing(chains=0), "chains"),
        (lambda: SimulatedAnnealing(steps=0), "steps"),
        (lambda: SimulatedAnnealing(hottest=0.0), "hottest"),
        (lambda: SimulatedAnnealing(hottest=1e-4), "coldest"),
        (lambda: SemidefiniteRelaxation(roundings=0), "roundings"),
        (lambda: SemidefiniteRelaxation(sweeps=0), "sweeps"),
    ],
)
def test_wrong_settings_are_refused_by_name(make, named):
    with pytest.raises(ValueError, match=named):
        make()


def test_annealing_keeps_to_the_limit_of_calls_and_asks_only_about_what_it_would_accept():
    calls = []
    rules = [lambda point, one=one: calls.append(1) or point["x0"] or point[one] for one in ("x1", "x2")]
    space = bo.Space({f"x{i}": bool for i in range(60)}, constraints=rules)
    assert len(space.survey.points)  # made before, so that the calls counted are those of the search
    climb = lambda xs: np.arange(len(xs), dtype=float) - xs.sum(axis=1)  # noqa: E731
    calls.clear()
    SimulatedAnnealing(coldest=1e-6, hottest=1e-6)(climb, space, np.random.default_rng(0))
    unlimited = len(calls)
    assert 0 < unlimited < 2 * 5 * 20 * 60 / 2  # fewer than half of all proposals
    calls.clear()
    with limit_calls(300, reserved=50):
        found = SimulatedAnnealing()(climb, space, np.random.default_rng(0))
    assert len(calls) <= 300 - 50 + len(rules)
    assert len(found)
    assert (space.count_satisfied_constraints(found) == 2).all()
