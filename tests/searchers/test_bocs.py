"""BOCS: its sampler against the exact posterior, its minimizers against brute force, the laws, planted objectives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.pseudo_boolean import SemidefiniteRelaxation, SimulatedAnnealing, penalize, solve_relaxation
from bostruct.contracts import DomainError
from bostruct.methods import bocs
from bostruct.surrogates.horseshoe import HorseshoeRegression, NormalEquations
from bostruct.surrogates.monomials import Monomials, Polynomial
from tests.laws.searcher_laws import check_exhausts, check_searcher

BITS = bo.Space({f"b{i}": bool for i in range(7)})
MIXED = bo.Space({"a": ["x", "y", "z"], "b": bool, "c": range(4), "d": bool})


def pairs(point):
    return 2.0 * point["b0"] - 3.0 * (point["b1"] and point["b4"]) + (point["b2"] != point["b5"])


def mixed(point):
    return (point["a"] == "y") - 2.0 * (point["a"] == "z" and point["c"] == 2) + point["d"]


def random_polynomial(space, seed, order=2):
    monomials = Monomials(tuple(space.n_choices.tolist()), order)
    return Polynomial(monomials, np.random.default_rng(seed).standard_normal(monomials.count))


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


@pytest.mark.parametrize("n", [15, 60])
def test_coefficients_are_drawn_from_their_posterior_either_way(n):
    rng = np.random.default_rng(0)
    design, variances, noise = rng.standard_normal((n, 20)), rng.uniform(0.1, 2.0, 20), 0.5
    target = design[:, 0] + rng.standard_normal(n)
    equations = NormalEquations(design, target)
    inverse = np.linalg.inv(design.T @ design + np.diag(1.0 / variances))
    for by_columns in (True, False):
        equations.gram = design.T @ design if by_columns else None
        drawn = np.array([equations.sample(variances, noise, rng) for _ in range(20_000)])
        deviation = np.sqrt(np.diag(inverse) * noise)
        np.testing.assert_allclose(drawn.mean(axis=0), inverse @ design.T @ target, atol=5 * deviation.max() / 140)
        np.testing.assert_allclose(np.cov(drawn.T), noise * inverse, atol=0.06 * noise * inverse.max())


def test_the_regression_finds_what_was_planted():
    rng = np.random.default_rng(1)
    space = bo.Space({f"b{i}": bool for i in range(12)})
    xs = space.sample(120, rng)
    values = 5.0 * xs[:, 0] - 3.0 * xs[:, 2] * xs[:, 7] + 0.1 * rng.standard_normal(120)
    model = HorseshoeRegression(Monomials((2,) * 12), first=400)
    state, draws = None, []
    for _ in range(5):
        polynomial, state, _info = model.draw(xs, values, state, rng)
        draws.append(np.std(values) * polynomial.coefficients)
    mean = np.mean(draws, axis=0)
    planted = {(0, 12): 5.0, (2, 7): -3.0}
    for members, found in zip(polynomial.monomials.members.tolist(), mean, strict=True):
        assert found == pytest.approx(planted.get(tuple(members), 0.0), abs=0.25), members


@pytest.mark.parametrize(
    "values", [np.zeros(30), np.full(30, 1e140), np.geomspace(1e-300, 1e140, 30), np.repeat([0.0, 1e-12], 15)]
)
def test_any_values_are_fitted(values):
    rng = np.random.default_rng(0)
    model = HorseshoeRegression(Monomials((2,) * 7), first=50, sweeps=20)
    xs, state = BITS.sample(30, rng), None
    for _ in range(3):
        polynomial, state, _info = model.draw(xs, values, state, rng)
        assert np.isfinite(polynomial.coefficients).all()


@pytest.mark.parametrize("space", [bo.Space({f"b{i}": bool for i in range(10)}), MIXED])
@pytest.mark.parametrize("minimizer", [SemidefiniteRelaxation(), SimulatedAnnealing(chains=10, steps=40)])
def test_minimisers_find_the_minimum_of_small_polynomials(space, minimizer):
    hit = 0
    for seed in range(20):
        polynomial = random_polynomial(space, seed)
        best = polynomial(space.enumerate()).min()
        xs = minimizer.minimize(polynomial, space, np.random.default_rng(seed))
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


def test_the_quadratic_form_is_the_polynomial():
    polynomial = random_polynomial(MIXED, 3)
    linear, form = polynomial.quadratic()
    xs = MIXED.enumerate()
    held = polynomial.monomials.indicators(xs)[:, :-1]
    np.testing.assert_allclose(held @ linear + np.einsum("mi,ij,mj->m", held, form, held), polynomial(xs))
    with pytest.raises(ValueError, match="order"):
        random_polynomial(MIXED, 3, order=3).quadratic()


def test_third_order_is_annealed():
    polynomial = random_polynomial(BITS, 0, order=3)
    xs = SimulatedAnnealing(chains=10, steps=40).minimize(polynomial, BITS, np.random.default_rng(0))
    assert polynomial(xs)[0] == pytest.approx(polynomial(BITS.enumerate()).min())
    with pytest.raises(ValueError, match="relaxation serves orders 1 and 2"):
        bocs(BITS, order=3, minimizer="relaxation")


@pytest.mark.parametrize("minimizer", ["relaxation", "annealing"])
def test_searcher_laws(minimizer):
    def make(domain):
        return bocs(domain, minimizer=minimizer)

    check_searcher(make, BITS, pairs, np.random.default_rng(0), n_trials=26)
    small = bo.Space({"a": range(4), "b": ["x", "y"], "c": bool, "d": bool}, [lambda p: p["a"] > 0 or p["c"]])
    check_exhausts(make, small, lambda p: p["a"] + p["c"], np.random.default_rng(2))


def test_it_beats_random_search_where_pairs_matter():
    space = bo.Space({f"b{i}": bool for i in range(16)})
    weights = np.random.default_rng(5).standard_normal((16, 16)) * (np.random.default_rng(6).random((16, 16)) < 0.15)

    def objective(point):
        x = np.array(list(point.values()), dtype=float)
        return float(x @ weights @ x)

    best = min(
        float(x @ weights @ x) for x in (np.array(bits, dtype=float) for bits in itertools.product([0, 1], repeat=16))
    )
    ours = [bo.minimize(objective, space, 60, method="bocs", seed=s).best_value for s in range(4)]
    theirs = [bo.minimize(objective, space, 60, method="random", seed=s).best_value for s in range(4)]
    assert np.mean(ours) - best < 0.4 * (np.mean(theirs) - best)


def test_categories_are_searched():
    assert bo.minimize(mixed, MIXED, 40, method="bocs", seed=0).best_value == -2.0
