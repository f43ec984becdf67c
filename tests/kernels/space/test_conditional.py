"""Factors and effects of variables that not every point has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.space.scale import IntegerGrid
from bostruct.domains.space.variable import INACTIVE
from bostruct.kernels.space.complete import CompleteFactor
from bostruct.kernels.space.conditional import ConditionalFactor
from bostruct.kernels.space.effects import ConditionalEffect, FactorEffect, find_present
from bostruct.kernels.space.factor import VariableChanges
from bostruct.kernels.space.matern import MaternFactor
from bostruct.kernels.space.registry import main_effects, product_kernel
from bostruct.kernels.space.spectra import LogLengthscale
from bostruct.methods.defaults import space_kernel
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing import check_kernel
from tests.conditional_spaces import conditional_spaces, training_space
from tests.wide_variable import ORDERS, OrderFactor

GRID = IntegerGrid(0, 100, False)
FACTOR = ConditionalFactor(MaternFactor((GRID,)))
XS = np.array([[INACTIVE], [0], [40], [100], [INACTIVE]])
THETA = np.array([-0.3, 0.4])


def formula(theta, xs, ys):
    """The kernel, entry by entry."""
    c, own = expit(theta[1]), MaternFactor((GRID,))
    gram = np.ones((len(xs), len(ys)))
    for i, x in enumerate(xs):
        for j, y in enumerate(ys):
            if (x == INACTIVE) != (y == INACTIVE):
                gram[i, j] = c
            elif x != INACTIVE:
                k0 = np.exp(own.log_gram(theta[:1], own.prepare(x[None], y[None])))[0, 0]
                gram[i, j] = c**2 + (1 - c**2) * k0
    return gram


def test_the_kernel_is_its_formula():
    assert np.allclose(np.exp(FACTOR.log_gram(THETA, FACTOR.prepare(XS))), formula(THETA, XS, XS), atol=1e-14)
    few = XS[:3]
    assert np.allclose(np.exp(FACTOR.log_gram(THETA, FACTOR.prepare(XS, few))), formula(THETA, XS, few), atol=1e-14)
    assert np.array_equal(FACTOR.log_gram(THETA, FACTOR.prepare(XS), without=1), np.zeros((5, 5)))
    assert np.array_equal(FACTOR.log_diag(THETA, XS), np.zeros(5))


@given(st.floats(-2, 2), st.floats(-6, 6), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_it_is_positive_semi_definite(theta, logit, seed):
    rng = np.random.default_rng(seed)
    xs = np.where(rng.random((12, 1)) < 0.4, INACTIVE, rng.integers(0, 101, (12, 1)))
    gram = np.exp(FACTOR.log_gram(np.array([theta, logit]), FACTOR.prepare(xs)))
    assert np.linalg.eigvalsh(gram)[0] > -1e-12


def test_the_naive_reading_is_not():
    xs = np.array([[INACTIVE], [0], [100]])
    own = MaternFactor((GRID,))
    naive = formula(np.array([-3.0, 3.0]), xs, xs)
    naive[1:, 1:] = np.exp(own.log_gram(np.array([-3.0]), own.prepare(xs[1:])))
    assert np.linalg.eigvalsh(naive)[0] < -0.1, "what the formula is there to avoid"


def test_gradients_agree_with_differences():
    rng = np.random.default_rng(0)
    pair, weighted = FACTOR.prepare(XS, XS[1:4]), rng.normal(size=(5, 3))
    step = 1e-6
    for i, found in enumerate(FACTOR.gradient(THETA, pair, weighted)):
        up, down = THETA.copy(), THETA.copy()
        up[i] += step
        down[i] -= step
        difference = np.vdot(weighted, FACTOR.log_gram(up, pair) - FACTOR.log_gram(down, pair)) / (2 * step)
        assert found == pytest.approx(difference, abs=1e-7)


@pytest.mark.parametrize("carried", [True, False])
@pytest.mark.parametrize("i", [0, 1])
def test_lines_follow_one_parameter(i, carried):
    pair = FACTOR.prepare(XS)
    rest = np.random.default_rng(0).random((5, 5)) + 0.5
    gram = rest * np.exp(FACTOR.log_gram(THETA, pair)) if carried else rest
    along = FACTOR.line(i, THETA, pair, gram, carried=carried)
    moved = THETA.copy()
    moved[i] = 1.1
    assert np.allclose(along(1.1), rest * np.exp(FACTOR.log_gram(moved, pair)))
    assert np.allclose(along(THETA[i]), rest * np.exp(FACTOR.log_gram(THETA, pair)))


def test_changes_are_after_minus_before():
    before, after = np.array([[0], [7]]), np.array([[40], [100]])
    changes = FACTOR.prepare_changes(VariableChanges(np.zeros(2, dtype=np.int64), before, after), XS)
    expected = FACTOR.log_gram(THETA, FACTOR.prepare(after, XS)) - FACTOR.log_gram(THETA, FACTOR.prepare(before, XS))
    assert np.allclose(FACTOR.log_change(THETA, changes), expected)


@pytest.mark.parametrize(
    "factor", [CompleteFactor((3,), LogLengthscale()), OrderFactor(1)], ids=["one column", "three"]
)
def test_kernels_are_computed_between_distinct_values(factor, monkeypatch):
    """Points that share a value share its row: 40 points of few values cost as much as these few."""
    rng, seen = np.random.default_rng(0), []
    values = ORDERS if isinstance(factor, OrderFactor) else np.arange(3)[:, None]
    xs = np.where(rng.random((40, 1)) < 0.3, INACTIVE, values[rng.integers(len(values), size=40)])
    prepare = type(factor).prepare
    monkeypatch.setattr(type(factor), "prepare", lambda self, a, b=None: seen.append(len(a)) or prepare(self, a, b))
    conditional, weighted = ConditionalFactor(factor), rng.normal(size=(40, 40))
    pair = conditional.prepare(xs)
    assert seen == [len(values)]
    each = [[conditional.prepare(xs[[i]], xs[[j]]) for j in range(40)] for i in range(40)]
    log_gram = [[conditional.log_gram(THETA, one)[0, 0] for one in row] for row in each]
    assert np.allclose(conditional.log_gram(THETA, pair), log_gram, atol=1e-14)
    pulled = [conditional.gradient(THETA, each[i][j], weighted[[i], [[j]]]) for i in range(40) for j in range(40)]
    assert np.allclose(conditional.gradient(THETA, pair, weighted), np.sum(pulled, axis=0))


def test_an_absent_variable_has_no_effect():
    effect = ConditionalEffect(FactorEffect(MaternFactor((GRID,))))
    gram = effect.gram(XS, XS)
    assert not gram[0].any()
    assert not gram[:, 4].any()
    assert np.allclose(np.diag(gram), effect.diag(XS))
    assert find_present(XS).tolist() == [1, 2, 3]


def test_the_product_has_a_parameter_more_for_each_condition():
    kernel = space_kernel(training_space())
    assert [(block.name, block.size) for block in kernel.parameters] == [("log_lengthscale", 7), ("absence_logit", 5)]
    plain = space_kernel(bo.Space({"a": bool, "b": [1, 2, 3]}))
    assert [block.size for block in plain.parameters] == [2]
    assert isinstance(plain.factors[0].factor, CompleteFactor)


def test_conditions_need_a_prior_of_their_parameter():
    with pytest.raises(DomainError, match="absence_prior: expected a prior"):
        product_kernel(training_space(), Normal(0.0, 1.0), LogLengthscale())


@given(conditional_spaces(), st.integers(0, 20))
@settings(max_examples=15, deadline=None)
def test_the_laws_of_kernels(space, seed):
    check_kernel(space_kernel(space), space, np.random.default_rng(seed))
    check_kernel(main_effects(space), space, np.random.default_rng(seed))
