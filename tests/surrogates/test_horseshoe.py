"""The horseshoe regression: its draws against exact posteriors, its state through JSON, any values."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import NumericalError
from bostruct.surrogates.horseshoe import (
    LARGEST_SQUARED_SCALE,
    SMALLEST_SQUARED_SCALE,
    GibbsState,
    HorseshoeRegression,
    Monomials,
    NormalEquations,
    RidgeRegression,
    decode_state,
    encode_state,
    gibbs_sweep,
    initial_gibbs_state,
    sample_inverse_gamma,
    standardize_columns,
)
from tests.surrogates.polynomials import BITS


@pytest.mark.parametrize("n", [15, 60])
def test_coefficients_are_drawn_from_their_posterior_either_way(n):
    rng = np.random.default_rng(0)
    design, variances, noise = rng.standard_normal((n, 20)), rng.uniform(0.1, 2.0, 20), 0.5
    target = design[:, 0] + rng.standard_normal(n)
    equations = NormalEquations(design, target)
    inverse = np.linalg.inv(design.T @ design + np.diag(1.0 / variances))
    for by_columns in (True, False):
        equations.gram = design.T @ design if by_columns else None
        drawn = np.array([equations.sample(variances, noise, rng) for _ in range(8_000)])
        deviation = np.sqrt(np.diag(inverse) * noise)
        np.testing.assert_allclose(drawn.mean(axis=0), inverse @ design.T @ target, atol=5 * deviation.max() / 90)
        np.testing.assert_allclose(np.cov(drawn.T), noise * inverse, atol=0.08 * noise * inverse.max())


def test_the_regression_finds_what_was_planted():
    rng = np.random.default_rng(1)
    space = bo.Space({f"b{i}": bool for i in range(12)})
    xs = space.sample(120, rng)
    values = 5.0 * xs[:, 0] - 3.0 * xs[:, 2] * xs[:, 7] + 0.1 * rng.standard_normal(120)
    model = HorseshoeRegression(Monomials((2,) * 12), first=400)
    state, draws = None, []
    for _ in range(5):
        polynomial, state, _info = model(xs, values, state, rng)
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
        polynomial, state, _info = model(xs, values, state, rng)
        assert np.isfinite(polynomial.coefficients).all()


def test_columns_have_no_mean_and_unit_deviation_and_constants_vanish():
    rng = np.random.default_rng(0)
    design = np.column_stack([rng.normal(3.0, 2.0, 50), np.full(50, 7.0), rng.integers(0, 2, 50)])
    standard, scales = standardize_columns(design)
    np.testing.assert_allclose(standard.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=0), [1.0, 0.0, 1.0])
    np.testing.assert_allclose(standard[:, [0, 2]] * scales[[0, 2]], (design - design.mean(axis=0))[:, [0, 2]])
    assert scales[1] == 1.0


def test_inverse_gamma_draws_have_its_moments():
    """Mean rate / (shape - 1), and 1 / draw is a gamma variable of mean shape / rate."""
    rng = np.random.default_rng(0)
    drawn = sample_inverse_gamma(5.0, 3.0, rng, 200_000)
    assert drawn.mean() == pytest.approx(3.0 / 4.0, rel=0.01)
    assert (1.0 / drawn).mean() == pytest.approx(5.0 / 3.0, rel=0.01)


def test_a_state_survives_json_to_a_thousandth_of_a_decade():
    chain = GibbsState(10.0 ** np.linspace(-10, 6, 40), 0.123, 4.56)
    again = decode_state(json.loads(json.dumps(encode_state(chain))))
    np.testing.assert_allclose(np.log10(again.local), np.log10(chain.local), atol=5.1e-4)
    assert (again.overall, again.noise) == (chain.overall, chain.noise)
    assert encode_state(decode_state(encode_state(chain))) == encode_state(chain)


def test_a_sweep_keeps_squared_scales_within_their_bounds():
    rng = np.random.default_rng(1)
    equations = NormalEquations(rng.standard_normal((20, 6)), 1e6 * rng.standard_normal(20))
    chain = initial_gibbs_state(6)
    for _ in range(50):
        beta, chain = gibbs_sweep(equations, chain, rng)
        assert np.isfinite(beta).all()
        scales = np.array([*chain.local, chain.overall, chain.noise])
        assert np.all((scales >= SMALLEST_SQUARED_SCALE) & (scales <= LARGEST_SQUARED_SCALE))


def test_the_first_draw_takes_more_sweeps_than_those_that_go_on(monkeypatch):
    made = []

    def counting(*given):
        made.append(1)
        return gibbs_sweep(*given)

    monkeypatch.setattr("bostruct.surrogates.horseshoe.gibbs_sweep", counting)
    model = HorseshoeRegression(Monomials((2,) * 7, 1), first=9, sweeps=4)
    rng = np.random.default_rng(0)
    xs = BITS.sample(10, rng)
    _, state, _ = model(xs, xs[:, 0].astype(float), None, rng)
    assert len(made) == 9
    model(xs, xs[:, 0].astype(float), state, rng)
    assert len(made) == 9 + 4


def test_a_system_that_cannot_be_solved_is_a_numerical_error():
    equations = NormalEquations(np.ones((4, 2)), np.zeros(4))
    equations.gram = -np.eye(2)  # as rounding may leave it: not positive definite
    with pytest.raises(NumericalError, match="the regression of 2 monomials on 4 points has no solution"):
        equations.sample(np.full(2, 2.0), 1.0, np.random.default_rng(0))


def test_wrong_settings_are_refused_by_name():
    for setting in ("first", "sweeps"):
        with pytest.raises(ValueError, match=setting):
            HorseshoeRegression(Monomials((2, 2)), **{setting: 0})


def test_ridge_regression_finds_what_was_planted_and_its_samples_vary_as_the_noise():
    rng = np.random.default_rng(1)
    space = bo.Space({f"b{i}": bool for i in range(12)})
    xs = space.sample(400, rng)  # more than it learns from
    truth = 5.0 * xs[:, 0] - 3.0 * xs[:, 2] * xs[:, 7]
    spreads = []
    for sd in (0.1, 2.0):
        values = truth + sd * rng.standard_normal(400)
        draws = [RidgeRegression(Monomials((2,) * 12))(xs, values, None, rng) for _ in range(20)]
        coefficients = np.std(values) * np.array([polynomial.coefficients for polynomial, _, _ in draws])
        spreads.append(coefficients.std(axis=0).mean())
        assert np.mean([info["noise"] for *_, info in draws]) * np.std(values) == pytest.approx(sd, rel=0.5)
        fitted = np.mean([polynomial(xs) for polynomial, _, _ in draws], axis=0) * np.std(values)
        assert np.std(fitted - truth) < 0.5 * sd + 0.2
    assert spreads[0] < 0.3 * spreads[1]


@pytest.mark.parametrize("n", [30, 320])
def test_ridge_regression_refuses_equal_values(n):
    values = np.ones(n)
    if n > 300:  # a value that is not among the 300 that it learns from
        values[np.setdiff1d(np.arange(n), np.linspace(0, n - 1, 300).round())[0]] = 0.0
    with pytest.raises(NumericalError, match="equal"):
        RidgeRegression(Monomials((2,) * 7))(
            BITS.sample(n, np.random.default_rng(0)), values, None, np.random.default_rng(0)
        )


def test_ridge_regression_is_not_distorted_by_far_values():
    rng = np.random.default_rng(1)
    space = bo.Space({f"b{i}": bool for i in range(12)})
    xs = space.sample(200, rng)
    truth = 5.0 * xs[:, 0] - 3.0 * xs[:, 2]
    values = truth + 0.1 * rng.standard_normal(200)
    values[[3, 60]] = 1e6
    drawn = [RidgeRegression(Monomials((2,) * 12, 1))(xs, values, None, rng)[0](xs) for _ in range(20)]
    assert np.corrcoef(np.mean(drawn, axis=0), truth)[0, 1] > 0.99
