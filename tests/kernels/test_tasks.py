"""The kernel of several tasks: the laws of a kernel, its formula, and gradients in numbers."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import IntArray
from bostruct.domains.space.single_changes import SingleChanges
from bostruct.kernels.algebra import WeightedSum
from bostruct.kernels.space.registry import main_effects
from bostruct.kernels.tasks import TaskBatch, TaskJoin, TaskKernel, TaskPoint
from bostruct.methods.defaults import space_kernel
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing import check_kernel
from bostruct.testing.gradient_laws import check_input_gradient
from bostruct.testing.kernel_laws import check_pullback, near_initial

CHOICES = bo.Space({"a": ["x", "y", "z"], "b": bool, "c": bo.Ordinal(range(4))})
NUMBERS = bo.Space({"a": ["x", "y", "z"], "r": bo.Real(0.0, 1.0), "s": bo.Real(1e-3, 1.0, log=True)})


def make_kernel(space: bo.Space, n_tasks: int = 2) -> TaskKernel:
    points = WeightedSum(main_effects(space), space_kernel(space), Normal(0.4, 1.0), initial=0.4)
    return TaskKernel(points, n_tasks, Normal(1.0, 1.5), 1.0, Normal(0.0, 0.5))


def make_batch(space: bo.Space, tasks: IntArray, rng: np.random.Generator) -> TaskBatch:
    return TaskBatch(space.sample(len(tasks), rng), tasks)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


@pytest.mark.parametrize("space", [CHOICES, NUMBERS])
def test_points_of_the_target_obey_the_laws_of_a_kernel(space: bo.Space, rng: np.random.Generator) -> None:
    check_kernel(make_kernel(space), space, rng)


@pytest.mark.parametrize("space", [CHOICES, NUMBERS])
def test_points_of_all_tasks_obey_the_laws_of_a_kernel(space: bo.Space, rng: np.random.Generator) -> None:
    kernel = make_kernel(space)
    for reach in (0.0, 2.0, 6.0):
        theta = near_initial(kernel, rng, reach)
        xs, ys = (make_batch(space, rng.integers(0, 3, n), rng) for n in (24, 7))
        gram = kernel.gram(theta, kernel.prepare(xs))
        assert np.linalg.eigvalsh(gram)[0] >= -1e-10 * gram.max()
        np.testing.assert_allclose(gram, gram.T, atol=1e-12)
        np.testing.assert_allclose(gram.diagonal(), kernel.diag(theta, xs))
        np.testing.assert_allclose(kernel.gram(theta, kernel.prepare(xs, xs)), gram)
        check_pullback(kernel, xs, ys, theta, rng)


def test_the_formula(rng: np.random.Generator) -> None:
    kernel = make_kernel(CHOICES)
    theta = near_initial(kernel, rng, 1.0)
    points, tasks = CHOICES.sample(9, rng), np.repeat([0, 1, 2], 3)
    _, r, s = kernel.unpack(theta)
    gram = kernel.gram(theta, kernel.prepare(TaskBatch(points, tasks)))
    own = kernel.kernel.gram(theta[:-4], kernel.kernel.prepare(points))
    for i, t in enumerate(tasks):
        for j, u in enumerate(tasks):
            expected = s[t] * s[u] * own[i, j] * (1.0 if t == u else r[t] * r[u]) + (1.0 if t == u > 0 else 0.0)
            assert gram[i, j] == pytest.approx(expected)
    assert r[0] == s[0] == 1.0
    assert ((r[1:] > 0.0) & (r[1:] < 1.0)).all()


def test_a_batch_without_tasks_is_of_the_target_task(rng: np.random.Generator) -> None:
    kernel = make_kernel(CHOICES)
    theta = near_initial(kernel, rng, 1.0)
    xs, ys = CHOICES.sample(5, rng), make_batch(CHOICES, np.array([0, 1, 2, 2]), rng)
    plain = kernel.gram(theta, kernel.prepare(xs, ys))
    told = kernel.gram(theta, kernel.prepare(TaskBatch(xs, np.zeros(5, dtype=np.int64)), ys))
    np.testing.assert_array_equal(plain, told)
    mixed = kernel.gram(theta, kernel.prepare(ys, xs))
    np.testing.assert_allclose(mixed, plain.T)


def test_single_changes_are_the_points_that_they_stand_for(rng: np.random.Generator) -> None:
    kernel = make_kernel(CHOICES)
    theta, ys = near_initial(kernel, rng, 1.0), make_batch(CHOICES, np.array([0, 1, 2, 2]), rng)
    changes, _ = CHOICES.sample_neighborhoods(CHOICES.sample(3, rng), 50, rng)
    assert isinstance(changes, SingleChanges)
    found = kernel.gram(theta, kernel.prepare(changes, ys))
    np.testing.assert_allclose(found, kernel.gram(theta, kernel.prepare(changes.rows(), ys)), atol=1e-12)


def test_gradients_in_numbers_against_points_of_other_tasks(rng: np.random.Generator) -> None:
    kernel = make_kernel(NUMBERS)
    theta, ys = near_initial(kernel, rng, 1.0), make_batch(NUMBERS, np.array([0, 1, 2, 2]), rng)
    check_input_gradient(kernel, NUMBERS, NUMBERS.sample(6, rng), ys, theta, rng)


def test_batches_are_joined_cut_and_iterated_with_their_tasks(rng: np.random.Generator) -> None:
    join, xs = TaskJoin(CHOICES.join), CHOICES.sample(2, rng)
    batch = join(xs, make_batch(CHOICES, np.array([1, 2]), rng))
    assert batch.tasks.tolist() == [0, 0, 1, 2]
    assert len(join()) == 0
    cut = batch[1:3]
    assert isinstance(cut, TaskBatch)
    assert cut.tasks.tolist() == [0, 1]
    assert [one.task for one in batch] == [0, 0, 1, 2]
    first = batch[0]
    assert isinstance(first, TaskPoint)
    assert first.task == 0
    np.testing.assert_array_equal(first.point, xs[0])
