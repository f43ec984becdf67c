"""Gradients of ours obey the laws, whatever the space, and each planted fault breaks one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.acquisition.functions import LogAugmentedExpectedImprovement, LogExpectedImprovement
from bostruct.contracts import AcquisitionGradient, Feasibility, Kernel, Prediction
from bostruct.kernels.algebra import Product, WeightedSum
from bostruct.kernels.space.registry import main_effects
from bostruct.methods.auto import for_space
from bostruct.methods.defaults import space_kernel
from bostruct.searchers.scores import AcquisitionScore, CautiousFeasibility, FeasibilityScore, ProductScore
from bostruct.surrogates.hyperparameters import Normal
from bostruct.surrogates.success import AveragedFeasibility, RegressedFeasibility
from bostruct.testing import check_feasibility
from bostruct.testing.gradient_laws import (
    check_acquisition_gradient,
    check_input_gradient,
    check_prediction_gradient,
    check_score_gradient,
)
from tests.strategies import rngs, variables

SPACE = bo.Space({"r": bo.Real(0, 1), "c": list("abc"), "n": bo.Integer(1, 10**5, log=True), "b": bool})
NUMBERS = st.sampled_from(
    [bo.Real(-3, 2), bo.Real(1e-3, 10, log=True), bo.Integer(0, 10**9), bo.Integer(1, 10**6, log=True)]
)


@st.composite
def mixed_spaces(draw: st.DrawFn) -> bo.Space:
    chosen = draw(st.lists(NUMBERS, min_size=1, max_size=3)) + draw(st.lists(variables(), max_size=2))
    return bo.Space({f"x{i}": one for i, one in enumerate(draw(st.permutations(chosen)))})


@st.composite
def conditional_numbers(draw: st.DrawFn) -> bo.Space:
    """Numbers in branches, one of which asks for a number, beside one that every point has, or none."""
    found = {
        "inner": bo.Real(1e-3, 10, log=True, when={"low": lambda value: value > 0.5}),
        "c": list("abde"),
        "low": bo.Real(0, 1, when={"c": bo.OneOf("a", "b")}),
        "high": bo.Integer(0, 10**9, when={"c": bo.OneOf("b", "d")}),
        "order": bo.Ordinal([1, 2, 4], when={"c": "d"}),
    }
    return bo.Space(found | ({"always": draw(NUMBERS)} if draw(st.booleans()) else {}))


def fit(space: bo.Space, rng: np.random.Generator, n: int = 12) -> Any:
    xs = space.sample(n, rng)
    return for_space(space).surrogate.condition(xs, rng.normal(size=n), None, rng)[0]


@settings(max_examples=20, deadline=None)
@given(mixed_spaces() | conditional_numbers(), rngs())
def test_kernels(space, rng):
    xs, ys = space.sample(5, rng), space.sample(6, rng)
    product, effects = space_kernel(space), main_effects(space)
    for kernel in (
        product,
        effects,
        Product(product, effects),
        WeightedSum(effects, product, Normal(0.0, 1.0)),
    ):
        size = sum(block.size for block in kernel.parameters)
        check_input_gradient(kernel, space, xs, ys, rng.uniform(-1.5, 0.5, size=size), rng)


def test_posteriors_of_many_points():
    """More than `WHITENER_ROWS`, so that products are computed in parts."""
    space, rng = bo.Space({"x": bo.Real(0, 1), "y": bo.Real(0, 1), "b": bool}), np.random.default_rng(0)
    posterior = fit(space, rng, n=300)
    check_prediction_gradient(posterior, space, space.sample(4, rng), rng)


class Even(Feasibility):
    """A chance of success without a gradient, the same everywhere."""

    def log_probability(self, xs):
        return np.full(len(xs), np.log(0.5))


@settings(max_examples=8, deadline=None)
@given(mixed_spaces() | conditional_numbers(), rngs())
def test_posteriors_and_scores(space, rng):
    posterior, xs = fit(space, rng), space.sample(4, rng)
    check_prediction_gradient(posterior, space, xs, rng)
    score = AcquisitionScore(posterior, LogExpectedImprovement(), float(rng.normal()))
    check_score_gradient(score, space, xs, rng)
    regressed = RegressedFeasibility(fit(space, rng))
    check_score_gradient(ProductScore([score, FeasibilityScore(regressed)]), space, xs, rng)
    check_score_gradient(ProductScore([score, FeasibilityScore(CautiousFeasibility(regressed))]), space, xs, rng)
    averaged = AveragedFeasibility((regressed, Even()), np.log([0.3, 0.7]))
    for one in (regressed, CautiousFeasibility(regressed), Even(), averaged):
        check_feasibility(one, space, rng)
    check_score_gradient(ProductScore([score, FeasibilityScore(averaged)]), space, xs, rng)


def test_far_in_the_tail_slopes_are_those_of_the_series():
    found = LogExpectedImprovement().value_and_gradient(Prediction(np.array([[1e4]]), np.array([[1.0]])), 0.0)
    assert found.mean[0, 0] == pytest.approx(-1e4, rel=1e-6)  # of -u^2 / 2
    assert found.variance[0, 0] == pytest.approx(0.5e8, rel=1e-6)


class FaultyKernel(Kernel):
    def __init__(self, kernel: Any, fault: str) -> None:
        self.kernel, self.fault = kernel, fault
        self.prepare = kernel.prepare

    def gram(self, theta, prepared):
        return self.kernel.gram(theta, prepared)

    def input_vjp(self, theta, xs, ys):
        varied = self.kernel.input_vjp(theta, xs, ys)

        def at(shares):
            gram, pull = varied(shares[::-1] if self.fault == "order" else shares)
            if self.fault == "value":
                gram = 1.001 * gram
            return gram, (lambda g: -pull(g)) if self.fault == "sign" else pull

        return at


@pytest.mark.parametrize("fault", ["order", "value", "sign"])
def test_a_faulty_kernel_fails(fault):
    rng = np.random.default_rng(0)
    xs, ys = SPACE.sample(3, rng), SPACE.sample(4, rng)
    with pytest.raises(AssertionError):
        check_input_gradient(FaultyKernel(space_kernel(SPACE), fault), SPACE, xs, ys, np.full(4, -0.5), rng)


@pytest.mark.parametrize("fault", ["mean", "variance"])
def test_a_faulty_posterior_and_score_fail(fault):
    rng = np.random.default_rng(0)
    posterior, xs = fit(SPACE, rng), SPACE.sample(3, rng)

    class Faulty(type(posterior)):
        def input_vjp(self, xs):
            varied = super().input_vjp(xs)

            def at(shares):
                prediction, pull = varied(shares)
                drop = {fault: np.zeros_like(prediction.mean)}
                return prediction, lambda cotangents: pull(cotangents._replace(**drop))

            return at

    faulty = Faulty(**vars(posterior))
    with pytest.raises(AssertionError):
        check_prediction_gradient(faulty, SPACE, xs, rng)
    with pytest.raises(AssertionError):
        check_score_gradient(AcquisitionScore(faulty, LogExpectedImprovement(), 0.0), SPACE, xs, rng)


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.3, 1e6])
def test_augmented_improvement_has_its_gradient(noise):
    check_acquisition_gradient(LogAugmentedExpectedImprovement(noise), np.random.default_rng(0))


@pytest.mark.parametrize("fault", ["value", "mean", "variance"])
def test_a_faulty_acquisition_fails(fault):
    class Faulty(LogExpectedImprovement):
        def value_and_gradient(self, prediction, incumbent):
            found = super().value_and_gradient(prediction, incumbent)._asdict()
            return AcquisitionGradient(**found | {fault: 1.01 * found[fault]})

    check_acquisition_gradient(LogExpectedImprovement(), np.random.default_rng(0))
    with pytest.raises(AssertionError):
        check_acquisition_gradient(Faulty(), np.random.default_rng(0))


class Certain(Even):
    def log_probability(self, xs):
        return np.full(len(xs), 0.1)


class Lower(Even):
    def log_probability_bound(self, xs):
        return self.log_probability(xs) - 1.0


@pytest.mark.parametrize(
    ("faulty", "says"), [(Certain(), "at most 0: got 0.1"), (Lower(), "never below log_probability")]
)
def test_a_faulty_feasibility_fails(faulty, says):
    with pytest.raises(AssertionError, match=says):
        check_feasibility(faulty, bo.Space({"a": bool}), np.random.default_rng(0))
