"""The weighted sum of two kernels: the laws of a kernel, its formula, and the kernels that it lies between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Array, IntArray, Kernel, Parameter, describe_part
from bostruct.kernels.algebra import WeightedSum
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing.kernel_laws import check_gram, check_pullback, near_initial

SPACE = bo.Space({"a": ["x", "y", "z"], "b": bool, "c": range(4)})


@dataclass(frozen=True)
class Hamming(Kernel):
    """exp(s - exp(r) d), theta = (s, r), where d counts those of some columns in which two points differ."""

    columns: tuple[int, ...]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (Parameter("scale", 1, Normal(0.0, 1.0), 0.0), Parameter("rate", 1, Normal(0.0, 1.0), -1.0))

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> Array:
        ys = xs if ys is None else ys
        return (xs[:, None, self.columns] != ys[None, :, self.columns]).sum(axis=2).astype(float)

    def gram(self, theta: Array, prepared: Array) -> Array:
        return np.exp(theta[0] - np.exp(theta[1]) * prepared)

    def diag(self, theta: Array, xs: IntArray) -> Array:
        return np.full(len(xs), np.exp(theta[0]))

    def gram_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Callable[[Array], Array]]:
        gram = self.gram(theta, prepared)
        slope = -np.exp(theta[1]) * prepared * gram
        return gram, lambda cotangent: np.array([np.vdot(cotangent, gram), np.vdot(cotangent, slope)])


FIRST, SECOND = Hamming((0, 1, 2)), Hamming((1,))
KERNEL = WeightedSum(FIRST, SECOND, Normal(0.4, 1.0), initial=0.4)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


@pytest.mark.parametrize("kernel", [KERNEL, WeightedSum(SECOND, KERNEL, Normal(0.0, 1.0))])
def test_laws_of_a_kernel(kernel, rng):
    for _ in range(5):
        xs, ys = SPACE.sample(6, rng), SPACE.sample(5, rng)
        theta = near_initial(kernel, rng, 2.0)
        check_gram(kernel, SPACE, xs, ys, theta)
        check_pullback(kernel, xs, ys, theta, rng)


def test_the_label_of_the_log_odds_is_no_setting():
    labeled = replace(KERNEL, label="log_odds_of_effects")
    assert labeled.parameters[-1].name == "log_odds_of_effects"
    assert describe_part(labeled) == describe_part(KERNEL)


def test_parameters_are_those_of_both_and_the_log_odds():
    blocks = KERNEL.parameters
    assert blocks[:-1] == (*FIRST.parameters, *SECOND.parameters)
    assert blocks[-1] == ("log_odds", 1, Normal(0.4, 1.0), 0.4)


@pytest.mark.parametrize("odds", [-2.0, 0.0, 1.3])
def test_the_formula(odds, rng):
    xs, ys = SPACE.sample(5, rng), SPACE.sample(4, rng)
    one, two = rng.normal(size=2), rng.normal(size=2)
    weight = 1.0 / (1.0 + np.exp(-odds))
    theta = np.concatenate([one, two, [odds]])
    expected = weight * FIRST.gram(one, FIRST.prepare(xs, ys)) + (1 - weight) * SECOND.gram(two, SECOND.prepare(xs, ys))
    np.testing.assert_allclose(KERNEL.gram(theta, KERNEL.prepare(xs, ys)), expected, rtol=1e-14)
    diag = weight * FIRST.diag(one, xs) + (1 - weight) * SECOND.diag(two, xs)
    np.testing.assert_allclose(KERNEL.diag(theta, xs), diag, rtol=1e-14)


@pytest.mark.parametrize(("odds", "kernel"), [(50.0, FIRST), (-50.0, SECOND)])
def test_at_extreme_odds_it_is_one_of_the_two(odds, kernel, rng):
    xs = SPACE.sample(6, rng)
    theta = np.concatenate([np.zeros(4), [odds]])
    gram = KERNEL.gram(theta, KERNEL.prepare(xs, xs))
    np.testing.assert_allclose(gram, kernel.gram(np.zeros(2), kernel.prepare(xs, xs)), rtol=1e-12)


def test_a_sum_of_a_kernel_with_itself_is_the_kernel_whatever_the_odds(rng):
    kernel = WeightedSum(FIRST, FIRST, Normal(0.0, 1.0))
    xs, theta = SPACE.sample(6, rng), rng.normal(size=2)
    prepared, expected = kernel.prepare(xs, xs), FIRST.gram(theta, FIRST.prepare(xs, xs))
    for odds in (-3.0, 0.2):
        both = np.concatenate([theta, theta, [odds]])
        np.testing.assert_allclose(kernel.gram(both, prepared), expected, rtol=1e-14)
        _, pullback = kernel.gram_and_pullback(both, prepared)
        assert abs(pullback(rng.normal(size=expected.shape))[-1]) < 1e-12
