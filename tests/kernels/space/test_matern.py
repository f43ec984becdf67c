"""Numbers: the laws of kernels, the formula, and what the default method makes of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gamma, kv

import bostruct as bo
from bostruct.domains.space.scale import GRID_STEPS, IntegerGrid, RealGrid
from bostruct.kernels.space.factor import VariableChanges
from bostruct.kernels.space.matern import MaternFactor, NumberEffect, change_effects, sum_effects
from bostruct.kernels.space.registry import main_effects, product_kernel
from bostruct.kernels.space.spectra import LogLengthscale
from bostruct.methods.defaults import space_kernel
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing.kernel_laws import check_gram, check_kernel
from tests.strategies import rngs

MIXED = bo.Space({"r": bo.Real(-1, 1), "c": list("abc"), "s": bo.Real(1e-3, 10, log=True), "k": bo.Integer(0, 6)})
LONG = bo.Space({"n": bo.Integer(0, 10**6), "r": bo.Real(-1, 1), "b": bool, "m": bo.Integer(1, 10**5, log=True)})


@pytest.mark.parametrize("seed", range(4))
def test_laws(seed):
    rng = np.random.default_rng(seed)
    wide = bo.Space({f"x{i}": bo.Real(0, 1) for i in range(11)})
    for space in (MIXED, LONG, wide):
        check_kernel(product_kernel(space, Normal(0.0, 1.0), LogLengthscale(), unit_diagonal=True), space, rng, 2.0)
        xs, ys = space.sample(6, rng), space.sample(5, rng)
        check_gram(main_effects(space), space, xs, ys, np.zeros(0))


@pytest.mark.parametrize("space", [MIXED, LONG])
def test_single_changes_are_the_rows_that_they_stand_for(space):
    rng, kernel = np.random.default_rng(1), space_kernel(space)
    xs, ys = space.sample(3, rng), space.sample(7, rng)
    changes, _ = space.sample_neighborhoods(xs, 10_000, rng)
    theta = rng.normal(size=4)
    ours = kernel.gram(theta, kernel.prepare(changes, ys))
    np.testing.assert_allclose(ours, kernel.gram(theta, kernel.prepare(changes.rows(), ys)), rtol=1e-12)


@pytest.mark.parametrize("lengthscale", [0.05, 0.4, 3.0])
def test_it_is_the_matern_kernel_of_order_five_halves(lengthscale):
    """By the definition with a Bessel function (Rasmussen and Williams 2006, equation 4.14)."""
    shares = np.array([0.0, 0.1, 0.35, 1.0])
    factor = MaternFactor((RealGrid(0.0, 1.0, False),))
    points = np.round(shares * GRID_STEPS).astype(np.int64)[:, None]
    found = np.exp(factor.log_gram(np.array([math.log(lengthscale)]), factor.prepare(points)))[0, 1:]
    scaled = math.sqrt(5.0) * shares[1:] / lengthscale
    np.testing.assert_allclose(found, 2.0**-1.5 / gamma(2.5) * scaled**2.5 * kv(2.5, scaled), rtol=1e-9)


def plain_log_gram(theta, xs, ys):
    """By the formula, one variable after the other."""
    a = math.sqrt(5.0) * np.abs(xs[:, None] - ys[None]) / np.exp(theta)
    return np.sum(np.log1p(a + a * a / 3.0) - a, axis=2)


@given(st.integers(1, 12), st.floats(-6.5, 1.0), rngs())
@settings(max_examples=40, deadline=None)
def test_the_compiled_loops_compute_the_formula(c, level, rng):
    factor, theta = MaternFactor((RealGrid(0.0, 1.0, False),) * c), level + rng.normal(size=c)
    xs, ys = (rng.integers(0, GRID_STEPS + 1, size=(m, c)) for m in (9, 7))
    xs[1] = xs[0]
    at, there = xs / GRID_STEPS, ys / GRID_STEPS
    own, pair, without = factor.prepare(xs), factor.prepare(xs, ys), c - 1
    np.testing.assert_allclose(factor.log_gram(theta, own), plain_log_gram(theta, at, at), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(factor.log_gram(theta, pair), plain_log_gram(theta, at, there), rtol=1e-12, atol=1e-12)
    rest = plain_log_gram(theta[:without], at[:, :without], there[:, :without])
    np.testing.assert_allclose(factor.log_gram(theta, pair, without), rest, rtol=1e-12, atol=1e-12)
    which = rng.integers(0, c, size=9)
    moved = xs.copy()
    moved[np.arange(9), which] = rng.integers(0, GRID_STEPS + 1, size=9)
    one = np.arange(9), which
    changes = VariableChanges(which, xs[one][:, None], moved[one][:, None])
    expected = plain_log_gram(theta, moved / GRID_STEPS, there) - plain_log_gram(theta, at, there)
    found = factor.log_change(theta, factor.prepare_changes(changes, ys))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    weighted = rng.normal(size=(9, 9))
    a = math.sqrt(5.0) * np.abs(at[:, None] - at[None]) / np.exp(theta)
    slopes = a * a * (1.0 + a) / (3.0 + 3.0 * a + a * a)
    ours = factor.gradient(theta, own, weighted)
    np.testing.assert_allclose(ours, np.einsum("nm,nmc->c", weighted, slopes), atol=1e-12 * np.abs(weighted).sum() * 9)


@given(rngs(), st.sampled_from([0.0625, 0.25, 1.0]))
@settings(max_examples=20, deadline=None)
def test_effects_of_many_numbers_are_the_sum_of_each(rng, lengthscale):
    grids = (RealGrid(0.0, 1.0, False), IntegerGrid(1, 5_000, True), IntegerGrid(-3_000, 3_000, False))
    xs, ys = (np.stack([rng.integers(0, len(g), size=m) for g in grids], axis=1) for m in (6, 5))
    each = [sum_effects((g,), xs[:, [i]], ys[:, [i]], lengthscale) for i, g in enumerate(grids)]
    np.testing.assert_allclose(sum_effects(grids, xs, ys, lengthscale), sum(each), rtol=1e-13)
    moved = np.stack([rng.integers(0, len(g), size=6) for g in grids], axis=1)
    for i in range(len(grids)):
        changes = VariableChanges(np.full(6, i), xs[:, [i]], moved[:, [i]])
        expected = sum_effects((grids[i],), moved[:, [i]], ys[:, [i]], lengthscale) - each[i]
        np.testing.assert_allclose(change_effects(grids, changes, ys, lengthscale), expected, atol=1e-13)
        assert NumberEffect(grids[i]).diag(xs[:, [i]]).tolist() == [1.0] * 6


def test_hundreds_of_numbers_do_not_overflow():
    space, rng = bo.Space({f"x{i}": bo.Real(0, 1) for i in range(300)}), np.random.default_rng(0)
    kernel = space_kernel(space)
    gram = kernel.gram(np.full(300, -6.0), kernel.prepare(space.sample(4, rng)))
    assert np.isfinite(gram).all()
    np.testing.assert_array_equal(gram.diagonal(), 1.0)


def branin(point):
    x, y = point["x"], point["y"]
    bowl = (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2
    return bowl + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10 - 0.397887


def test_auto_finds_the_minimum_of_branin():
    space = bo.Space({"x": bo.Real(-5, 10), "y": bo.Real(0, 15)})
    found = [bo.minimize(branin, space, 40, seed=seed, progress=False).best_value for seed in range(2)]
    assert max(found) < 0.05


def test_auto_finds_numbers_beside_choices():
    def objective(point):
        return abs(point["r"] - 0.37) + (point["c"] != "b") + abs(math.log10(point["s"])) + 0.2 * abs(point["k"] - 2)

    found = bo.minimize(objective, MIXED, 45, seed=0, progress=False).best_value
    drawn = [bo.minimize(objective, MIXED, 45, method="random", seed=seed).best_value for seed in range(2)]
    assert found < 0.15
    assert found < min(drawn)
