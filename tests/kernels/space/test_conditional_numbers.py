"""The factor of several numbers with conditions is the product of the factors of each."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import bostruct as bo
from bostruct.domains.space.scale import IntegerGrid, RealGrid
from bostruct.domains.space.variable import INACTIVE
from bostruct.kernels.space.conditional import ConditionalFactor, ConditionalNumbers
from bostruct.kernels.space.factor import VariableChanges
from bostruct.kernels.space.main_effects import LengthscaleBlend
from bostruct.kernels.space.matern import MaternFactor, shares_of
from bostruct.kernels.space.registry import main_effects
from bostruct.methods.defaults import space_kernel
from bostruct.surrogates.hyperparameters import Normal

GRIDS = (RealGrid(0.0, 1.0, False), IntegerGrid(0, 2_000, False), IntegerGrid(1, 5_000, True))
FACTOR = ConditionalNumbers(GRIDS)
THETA = np.array([-0.3, 0.2, -1.0, 0.4, -1.5, 2.0])  # lengthscales, then logits of c


def draw(n: int, rng: np.random.Generator) -> np.ndarray:
    values = np.stack([rng.integers(0, len(grid), n) for grid in GRIDS], axis=1)
    return np.where(rng.random(values.shape) < 0.4, INACTIVE, values)


@pytest.fixture(params=["one batch", "two batches"])
def batches(request, rng):
    xs = draw(9, rng)
    return xs, None if request.param == "one batch" else draw(7, rng)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def log_each(theta, xs, ys):
    """The logarithm of the kernel of each number (c, n, m)."""
    found = []
    for i, grid in enumerate(GRIDS):
        one = ConditionalFactor(MaternFactor((grid,)))
        pair = one.prepare(xs[:, [i]], None if ys is None else ys[:, [i]])
        found.append(one.log_gram(theta[[i, i + 3]], pair))
    return np.array(found)


def test_the_kernel_is_the_product_of_those_of_each_number(batches):
    each, pair = log_each(THETA, *batches), FACTOR.prepare(*batches)
    assert_allclose(FACTOR.log_gram(THETA, pair), each.sum(axis=0), atol=1e-13)
    for i in range(6):
        rest = np.delete(each, i % 3, axis=0).sum(axis=0)
        assert_allclose(FACTOR.log_gram(THETA, pair, without=i), rest, atol=1e-13)
    assert np.array_equal(FACTOR.log_diag(THETA, batches[0]), np.zeros(9))


def test_the_gradient_is_that_of_differences(batches, rng):
    pair, step = FACTOR.prepare(*batches), 1e-6
    weighted = rng.normal(size=FACTOR.log_gram(THETA, pair).shape)
    for i, found in enumerate(FACTOR.gradient(THETA, pair, weighted)):
        move = step * np.eye(6)[i]
        change = FACTOR.log_gram(THETA + move, pair) - FACTOR.log_gram(THETA - move, pair)
        assert found == pytest.approx(np.vdot(weighted, change) / (2.0 * step), rel=1e-6, abs=1e-8)


def test_the_gradient_holds_where_absence_costs_next_to_nothing(rng):
    """At a logit of 20, 1 - c is 2e-9; at 40 it is no double, and nothing may be divided by it."""
    xs, weighted = draw(9, rng), rng.normal(size=(9, 9))
    pair, has = FACTOR.prepare(xs), xs != INACTIVE
    theta = np.r_[THETA[:3], [20.0] * 3]
    found = FACTOR.gradient(theta, pair, weighted)
    for i, grid in enumerate(GRIDS):
        matern, own = MaternFactor((grid,)), np.where(has, xs, 0)[:, [i]]
        apart = 1.0 - np.exp(matern.log_gram(theta[[i]], matern.prepare(own)))
        slope = np.where(has[:, [i]] & has[:, i], 2.0 * apart, has[:, [i]] ^ has[:, i])
        assert found[i + 3] == pytest.approx(expit(-20.0) * np.vdot(weighted, slope), rel=1e-5)
    assert_allclose(FACTOR.gradient(np.r_[THETA[:3], [40.0] * 3], pair, weighted)[3:], 0.0, atol=1e-14)


@pytest.mark.parametrize("carried", [True, False])
@pytest.mark.parametrize("i", range(6))
def test_lines_follow_one_parameter(batches, i, carried, rng):
    pair = FACTOR.prepare(*batches)
    log_gram = FACTOR.log_gram(THETA, pair)
    others = rng.random(log_gram.shape) + 0.5
    alone = log_gram - FACTOR.log_gram(THETA, pair, without=i)
    along = FACTOR.line(i, THETA, pair, others * np.exp(alone) if carried else others, carried=carried)
    for t in (1.1, float(THETA[i])):
        moved = np.where(np.arange(6) == i, t, THETA)
        own = FACTOR.log_gram(moved, pair) - FACTOR.log_gram(moved, pair, without=i)
        assert_allclose(along(t), others * np.exp(own), rtol=1e-10)


def test_changes_are_after_minus_before(rng):
    xs, ys, which = draw(12, rng), draw(7, rng), np.arange(12) % 3
    after, rows = draw(12, rng)[np.arange(12), which], np.arange(12)
    moved = xs.copy()
    moved[rows, which] = after
    changes = VariableChanges(which, xs[rows, which][:, None], after[:, None])
    expected = FACTOR.log_gram(THETA, FACTOR.prepare(moved, ys)) - FACTOR.log_gram(THETA, FACTOR.prepare(xs, ys))
    assert_allclose(FACTOR.log_change(THETA, FACTOR.prepare_changes(changes, ys)), expected, atol=1e-12)


def test_shares_vary_where_points_have_the_numbers(rng):
    xs, ys, step = draw(5, rng), draw(7, rng), 1e-6
    shares = shares_of(GRIDS, np.where(xs == INACTIVE, 0, xs)).T
    varied, weighted = FACTOR.input_vjp(THETA, xs, ys), rng.normal(size=(5, 7))
    log_gram, pullback = varied(np.where(xs == INACTIVE, np.nan, shares))
    assert_allclose(log_gram, FACTOR.log_gram(THETA, FACTOR.prepare(xs, ys)), atol=1e-13)
    found = pullback(weighted)
    assert (found[xs == INACTIVE] == 0.0).all()
    for at in zip(*np.nonzero(xs != INACTIVE), strict=True):
        move = np.zeros(shares.shape)
        move[at] = step
        change = varied(shares + move)[0] - varied(shares - move)[0]
        assert found[at] == pytest.approx(np.vdot(weighted, change) / (2.0 * step), rel=1e-5, abs=1e-7)


def test_hundreds_of_numbers_do_not_underflow(rng):
    """Each kernel is about 3e-9 here: the product of 100 is no double, its logarithm is."""
    many = ConditionalNumbers((RealGrid(0.0, 1.0, False),) * 100)
    theta = np.repeat([-6.0, -9.8], 100)
    xs = rng.integers(0, len(many.grids[0]), (4, 100))
    log_gram = many.log_gram(theta, many.prepare(xs))
    assert np.isfinite(log_gram).all()
    assert log_gram[0, 1] == pytest.approx(200.0 * np.log(expit(-9.8)), rel=0.05)


def test_a_space_gets_one_factor_of_all_its_numbers_with_conditions():
    space = bo.Space(
        {
            "kind": ["a", "b", "c"],
            "x": bo.Real(0, 1),
            "u": bo.Real(0, 1, when={"kind": "a"}),
            "flag": bo.Binary(when={"kind": "b"}),
            "v": bo.Integer(0, 9_999, log=False, when={"kind": bo.OneOf("a", "b")}),
        }
    )
    kernel = space_kernel(space)
    assert [type(placed.factor).__name__ for placed in kernel.factors].count("ConditionalNumbers") == 1
    last = kernel.factors[-1]
    assert isinstance(last.factor, ConditionalNumbers)
    assert last.variables == (2, 4)
    theirs = {placed.variables: placed.more for placed in kernel.factors if placed.more}
    assert sorted(p for more in theirs.values() for p in more) == [5, 6, 7]
    assert len(kernel.prepare(space.sample(6, np.random.default_rng(0))).parts) == 4


BLEND = LengthscaleBlend(Normal(0.0, 1.0), Normal(0.0, 1.0), 0.0, 0.0)


@pytest.mark.parametrize("theta", [np.array([50.0, 0.0]), np.array([-50.0, 50.0]), np.full(2, -50.0), np.zeros(2)])
def test_an_absent_number_has_no_main_effect(theta):
    """With each lengthscale alone, and with all."""
    space = bo.Space({"a": bool, "u": bo.Real(0, 1, when={"a": True}), "v": bo.Real(0, 1, when={"a": True})})
    effects, xs = main_effects(space, blend=BLEND), space.sample(40, np.random.default_rng(1))
    gram, has = effects.gram(theta, effects.prepare(xs)), xs[:, 0] == 1
    signs = np.where(has[:, None] == has, 1.0, -1.0)
    assert_allclose(gram[~has], signs[~has] / 3.0, atol=1e-15)
    assert_allclose(effects.diag(theta, xs), gram.diagonal(), atol=1e-14)
    assert_allclose(gram.diagonal(), np.where(has, 1.0, 1.0 / 3.0), atol=1e-14)
    varied = effects.input_vjp(theta, xs, xs)
    shares = space.shares(xs)
    found, pullback = varied(shares)
    assert_allclose(found, gram, atol=1e-14)
    assert (pullback(np.ones(gram.shape))[~has] == 0.0).all()
