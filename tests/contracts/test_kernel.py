"""The bases of kernels and priors: a part of one's own writes one method, and the defaults do the rest."""

from __future__ import annotations

import inspect
import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Kernel, Parameter, Prior
from bostruct.contracts.kernel import differentiate
from bostruct.kernels.algebra import PartKernel, Product, SpectrumClip, WeightedSum
from bostruct.kernels.tasks import TaskKernel
from bostruct.surrogates.hyperparameters import Bounded, LogHorseshoe, Normal, TruncatedNormal
from bostruct.surrogates.map_gp import MAPGP
from bostruct.surrogates.marginalized import MarginalizedGP
from bostruct.testing.kernel_laws import LAWS, check_kernel

SPACE = bo.Space({"a": bool, "b": list("pqrs"), "c": range(6)})


class Differing(Kernel):
    """exp(-rate * number of columns in which two points differ): all that an outsider writes."""

    @property
    def parameters(self):
        return (Parameter("log_rate", 1, Cauchy(), -1.0),)

    def gram(self, theta, prepared):
        xs, ys = (np.asarray(batch) for batch in prepared)
        return np.exp(-np.exp(theta[0]) * (xs[:, None] != ys).sum(axis=2))


class Cauchy(Prior):
    def log_density(self, theta):
        return -math.log1p((theta + 1.0) ** 2)


class Constant(Kernel):
    """A kernel without parameters."""

    def gram(self, theta, prepared):
        del theta
        return np.ones((len(prepared[0]), len(prepared[1])))


def test_a_kernel_of_one_method_obeys_every_law_and_is_searched_with():
    check_kernel(Differing(), SPACE, np.random.default_rng(0))
    check_kernel(Constant(), SPACE, np.random.default_rng(0))

    def cost(point):
        return point["c"] + (point["b"] != "q") + point["a"]

    method = methods.bayesian(SPACE, kernel=Differing())
    result = bo.minimize(cost, SPACE, n_trials=25, method=method, seed=0, progress=False)
    assert result.best_value == 0
    assert result.trials[-1].origin == "model"


def test_the_parameters_of_a_kernel_of_one_method_are_sampled():
    sampled = methods.combo(SPACE).surrogate
    model, rng = replace(sampled, kernel=Differing(), burn_in=3, samples=2), np.random.default_rng(0)
    xs = SPACE.sample(9, rng)
    posterior = model.condition(xs, rng.normal(size=9), None, rng)[0]
    assert np.all(np.isfinite(posterior.predict(xs).mean))


def test_a_kernel_without_gradients_in_numbers_and_its_compositions_say_so():
    plain, theta = Differing(), np.zeros(1)
    both = np.zeros(2)
    assert plain.input_vjp(theta, [], []) is None
    assert plain.single_grams([theta], []) is None
    assert Product(plain, plain).input_vjp(both, [], []) is None
    assert WeightedSum(plain, plain, Normal(0.0, 1.0)).input_vjp(np.zeros(3), [], []) is None
    assert TaskKernel(plain, 1, Normal(0.0, 1.0), 0.0, Normal(0.0, 1.0)).input_vjp(np.zeros(3), [], []) is None


def test_only_a_clipped_kernel_depends_on_the_training_points():
    assert not Differing().depends_on_training
    assert SpectrumClip(Differing()).depends_on_training


def test_there_is_a_law_for_each_member_of_the_base():
    members = {name for name in vars(Kernel) if not name.startswith("_")}
    assert members - {"depends_on_training"} == set(LAWS) - {"defaults"}
    assert all(inspect.getdoc(getattr(Kernel, name)) for name in members)


def test_a_plain_object_is_refused_by_name():
    plain, refusal = cast(Any, object()), r"expected a bostruct\.contracts\.Kernel \(subclass it\), got object"
    for make in (
        lambda: MAPGP(plain, SPACE.join, Normal(0.0, 1.0), 0.0),
        lambda: MarginalizedGP(plain, SPACE.join, cast(Any, None)),
        lambda: methods.bayesian(SPACE, kernel=plain),
        lambda: Product(Differing(), plain),
        lambda: WeightedSum(plain, Differing(), Normal(0.0, 1.0)),
        lambda: PartKernel("part", list, plain),
        lambda: SpectrumClip(plain),
        lambda: check_kernel(plain, SPACE, np.random.default_rng(0)),
    ):
        with pytest.raises((TypeError, AssertionError), match=refusal):
            make()
    with pytest.raises(TypeError, match="got the class Differing"):
        methods.bayesian(SPACE, kernel=cast(Any, Differing))


def test_a_plain_prior_is_refused_by_name():
    class Odd(Differing):
        @property
        def parameters(self):
            return (Parameter("log_rate", 1, cast(Any, object()), -1.0),)

    refusal = r"kernel: log_rate: prior: expected a bostruct\.contracts\.Prior \(subclass it\), got object"
    with pytest.raises(TypeError, match=refusal):
        methods.bayesian(SPACE, kernel=Odd())
    Odd.parameters = property(lambda _: (("log_rate", 1, Normal(0.0, 1.0), -1.0),))
    refusal = r"kernel: parameters: expected bostruct\.contracts\.Parameter\(\.\.\.\), got \('log_rate', 1"
    with pytest.raises(TypeError, match=refusal):
        methods.bayesian(SPACE, kernel=Odd())
    with pytest.raises(TypeError, match="noise_prior: expected a bostruct"):
        MAPGP(Differing(), SPACE.join, cast(Any, object()), 0.0)


@pytest.mark.parametrize(
    "prior", [Normal(0.3, 0.7), LogHorseshoe(0.1, -2.0, 2.0), Bounded(Normal(0.0, 1.0), -2.0, 2.0)]
)
def test_the_default_gradient_of_a_prior_is_that_of_its_formula(prior):
    theta = np.array([-1.5, 0.0, 0.4, 1.9])
    total, slopes = Prior.value_and_grad(prior, theta)
    expected, formula = prior.value_and_grad(theta)
    assert total == pytest.approx(expected, abs=1e-12)
    assert_allclose(slopes, formula, rtol=1e-7, atol=1e-8)


def test_the_default_gradient_of_a_prior_is_one_sided_at_an_end_of_its_support_and_0_outside():
    prior = TruncatedNormal(0.0, 1.0, -1.0, 2.0)
    total, slopes = prior.value_and_grad(np.array([-1.0, 2.0, 2.5, 0.5]))
    assert total == -np.inf
    assert_allclose(slopes, [1.0, -2.0, 0.0, -0.5], atol=2e-5)
    assert prior.value_and_grad(np.zeros(0))[0] == 0.0


def test_differences_of_a_function_of_no_parameters_are_none():
    assert differentiate(len, np.zeros(0)).shape == (0,)
    assert_allclose(differentiate(lambda theta: theta[0] ** 2 * theta[1], np.array([3.0, 2.0])), [12.0, 9.0], rtol=1e-9)
