"""The kernel of a subset of variables sees these alone, and dissimilarities have mean 1."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.single_changes import SingleChanges
from bostruct.kernels.space.registry import main_effects
from bostruct.kernels.space.subspace import SubspaceKernel, measure_dissimilarities
from bostruct.methods.auto import build_kernel
from bostruct.testing.gradient_laws import check_input_gradient
from bostruct.testing.kernel_laws import check_kernel, near_initial

MIXED = bo.Space(
    {
        "s": bo.Sequence("ab", length=(1, 3)),
        "a": bool,
        "b": list("pqr"),
        "x": bo.Real(0.0, 1.0),
        "p": bo.Permutation(range(4)),
        "o": bo.Ordinal([1, 2, 4, 8]),
        "y": bo.Real(1e-3, 1.0, log=True),
        "c": bo.Real(0.0, 1.0, when={"a": True}),
    }
)
NAMES = list(MIXED.variables)


def make_kernel(space: bo.Space, names: list[str]) -> SubspaceKernel:
    effects, own = main_effects(space), {name: space.variables[name] for name in names}
    anchor = next(k for k, one in enumerate(own.values()) if not one.when)
    positions = tuple(list(space.variables).index(name) for name in names)
    return SubspaceKernel(build_kernel(bo.Space(own)), effects.layout, positions, effects.numbers, anchor)


@pytest.mark.parametrize("names", [["a", "c"], ["b", "p"], ["x", "o", "y"], ["s", "a", "y", "c"], NAMES])
def test_it_obeys_the_laws_of_kernels(names):
    check_kernel(make_kernel(MIXED, names), MIXED, np.random.default_rng(0))


def test_it_is_the_kernel_of_the_points_without_the_other_variables():
    names = ["a", "p", "y", "c"]
    kernel, space = make_kernel(MIXED, names), bo.Space({name: MIXED.variables[name] for name in names})
    xs = MIXED.sample(9, np.random.default_rng(1))
    points = [MIXED.present(x) for x in xs]
    projected = np.array([space.parse({name: one[name] for name in names if name in one}) for one in points])
    theta = near_initial(kernel, np.random.default_rng(2), 1.0)
    own = build_kernel(space)
    np.testing.assert_array_equal(kernel.gram(theta, kernel.prepare(xs)), own.gram(theta, own.prepare(projected)))


def test_single_changes_of_any_variable_are_rows():
    kernel, rng = make_kernel(MIXED, ["a", "p", "y", "c"]), np.random.default_rng(3)
    changes, _ = MIXED.sample_neighborhoods(MIXED.sample(4, rng), 12, rng)
    assert isinstance(changes, SingleChanges)
    ys, theta = MIXED.sample(5, rng), near_initial(kernel, rng, 1.0)
    found = kernel.gram(theta, kernel.prepare(changes, ys))
    np.testing.assert_allclose(found, kernel.gram(theta, kernel.prepare(changes.rows(), ys)), rtol=1e-12)


def test_the_gradient_in_other_numbers_is_zero():
    kernel, rng = make_kernel(MIXED, ["y", "o"]), np.random.default_rng(4)
    xs, ys, theta = MIXED.sample(3, rng), MIXED.sample(4, rng), near_initial(kernel, np.random.default_rng(0), 1.0)
    check_input_gradient(kernel, MIXED, xs, ys, theta, rng)
    along = kernel.input_vjp(theta, xs, ys)
    assert along is not None
    gradient = along(MIXED.shares(xs))[1](np.ones((3, 4)))
    np.testing.assert_array_equal(gradient[:, [0, 2]], 0.0)
    assert np.any(gradient[:, 1])


def test_dissimilarities_are_zero_for_equal_values_and_one_on_average():
    measure, xs = measure_dissimilarities(MIXED, main_effects(MIXED)), MIXED.sample(400, np.random.default_rng(5))
    found = measure(xs)
    assert found.shape == (len(NAMES), 400, 400)
    np.testing.assert_allclose(found.mean(axis=(1, 2))[:-1], 1.0, atol=0.12)
    np.testing.assert_allclose(found, found.transpose(0, 2, 1), atol=1e-6)
    np.testing.assert_allclose(np.diagonal(found, axis1=1, axis2=2), 0.0, atol=1e-6)
    bits = np.asarray(xs)[:, MIXED.layout.starts[1]]
    np.testing.assert_allclose(found[1], 2.0 * (bits[:, None] != bits), rtol=0.05)


@pytest.mark.parametrize("constant", [bo.Integer(4, 4, when={"b0": [1, 2]}), bo.Ordinal(["x"], when={"b0": [1, 2]})])
def test_a_variable_of_one_value_that_not_every_point_has_is_no_dissimilarity(constant):
    space = bo.Space({f"b{i}": bo.Integer(0, 5) for i in range(25)} | {"one": constant})
    measure, xs = measure_dissimilarities(space, main_effects(space)), space.sample(30, np.random.default_rng(0))
    assert not measure(xs)[-1].any()
    result = bo.minimize(lambda point: point["b0"] + point["b1"], space, 26, method="auto", seed=0, progress=False)
    assert len(result.trials) == 26


def test_parameters_and_columns_are_those_of_the_space():
    kernel = make_kernel(MIXED, ["b", "p"])
    whole = build_kernel(MIXED)
    assert {one for one in kernel.parameter_variables if one is not None} == {2, 4}
    assert {i: list(own) for i, own in kernel.variable_columns.items()} == {
        i: list(own) for i, own in sorted(whole.variable_columns.items())
    }
