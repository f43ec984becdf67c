"""Methods that learn from earlier tasks: which can, what they ask first, and what an earlier task is worth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Array, DomainError, IntArray, Kernel
from bostruct.kernels.algebra import SpectrumClip
from bostruct.kernels.distance import DistanceKernel
from bostruct.language import D, SearchSpace, siso_module, siso_or, siso_repeat
from bostruct.methods.transfer import N_BEST, N_INITIAL, PriorTask, learn_from
from bostruct.study.history import History
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing import check_searcher
from bostruct.testing.kernel_laws import check_line
from tests.architectures import SMALL_CNN

BITS = bo.Space({f"b{i}": bool for i in range(20)})
SHOP = bo.Space({"order": bo.Permutation(dict.fromkeys("abc", 2), resources={job: [0, 1] for job in "abc"})})
MIXED = bo.Space(
    {
        "kind": ["sgd", "adam"],
        "momentum": bo.Real(0.0, 0.99, when={"kind": "sgd"}),
        "rate": bo.Real(1e-5, 1e-1, log=True),
        "layers": bo.Ordinal([1, 2, 4, 8]),
    }
)


def make_quadratic(seed: int, likeness: float = 1.0) -> Any:
    """A sum of effects of bits and of their pairs; the share that all seeds have in common is `likeness`."""
    shared, own = (np.random.default_rng([one, 5]).normal(size=(20, 21)) for one in (0, seed))
    weights = likeness * shared + (1.0 - likeness) * own
    pairs = 0.1 * weights[:, 1:]

    def value(xs: IntArray) -> Array:
        signs = 2.0 * xs - 1.0
        return signs @ weights[:, 0] + np.einsum("ni,ij,nj->n", signs, pairs, signs)

    return value


def make_task(space: Any, value: Any, n: int = 60, seed: int = 9) -> PriorTask:
    xs = space.sample(n, np.random.default_rng(seed))
    return PriorTask(xs, value(xs))


def run(searcher: Any, value: Any, n_trials: int, seed: int) -> float:
    with bo.Study(BITS, method=searcher, seed=seed) as study:
        return study.optimize(lambda point: float(value(BITS.parse(point)[None])[0]), n_trials).best_value


def mixed_value(xs: IntArray) -> Array:
    return np.nan_to_num(MIXED.shares(xs) ** 2).sum(axis=1) + xs[:, -1]


def test_a_related_task_puts_the_search_ahead_and_others_cost_no_more_than_chance() -> None:
    spread = float(np.std(make_quadratic(1)(BITS.sample(500, np.random.default_rng(0)))))
    gains = {name: 0.0 for name in ("related", "opposite", "noise")}
    for seed in range(3):
        target = make_quadratic(seed + 1, 0.8)
        alone = run(methods.auto(BITS), target, 20, seed)
        values = {
            "related": make_quadratic(seed + 50, 0.8),
            "opposite": lambda xs, target=target: -target(xs),
            "noise": lambda xs, seed=seed: np.random.default_rng(seed).normal(size=len(xs)),
        }
        for name, value in values.items():
            searcher = learn_from(methods.auto(BITS), [make_task(BITS, value)])
            gains[name] += (alone - run(searcher, target, 20, seed)) / spread / 3.0
    assert gains["related"] > 0.2
    assert min(gains["opposite"], gains["noise"]) > -0.6  # two runs of one target differ by as much


def test_it_first_asks_the_best_points_of_the_tasks_then_random_ones() -> None:
    first, second = make_task(BITS, make_quadratic(1)), make_task(BITS, make_quadratic(2), seed=10)
    searcher = learn_from(methods.auto(BITS), [first, second])
    seen: list[Any] = []
    for _ in range(N_INITIAL):
        history = History.of(BITS, BITS.join(seen), np.zeros(len(seen)))
        suggestion = searcher.suggest(history, searcher.initial_state(), np.random.default_rng(len(seen)))
        assert suggestion.info["origin"] == "initial"
        seen.append(suggestion.point)
    best = [task.points[int(np.argmin(task.values))] for task in (first, second)]
    assert BITS.keys(BITS.join(seen[:N_BEST])) == BITS.keys(BITS.join(best))


def make_learner(domain: Any) -> Any:
    task = make_task(domain, lambda xs: np.arange(float(len(xs))), n=8)
    return learn_from(methods.auto(domain), [task, task])


@pytest.mark.parametrize("space", [bo.Space({"a": ["x", "y", "z"], "b": bool, "c": range(4)}), MIXED])
def test_laws_of_a_searcher(space: bo.Space) -> None:
    check_searcher(make_learner, space, lambda point: float(len(str(point))), np.random.default_rng(0), 8)


def test_schedules_learn_too_from_values_as_they_are() -> None:
    task = make_task(SHOP, lambda xs: 1.5 ** np.argmax(xs == 0, axis=1), n=20)
    searcher: Any = learn_from(methods.auto(SHOP), [task])
    expected = (task.values - np.mean(task.values)) / np.std(task.values)
    np.testing.assert_allclose(searcher.surrogate.surrogate.task_values, expected)
    history = History.of(SHOP, task.points[:8], task.values[:8])
    suggestion = searcher.suggest(history, searcher.initial_state(), np.random.default_rng(1))
    assert suggestion.info["origin"] == "model"


def test_numbers_are_searched_by_gradients() -> None:
    searcher = learn_from(methods.auto(MIXED), [make_task(MIXED, mixed_value)])
    xs = MIXED.sample(12, np.random.default_rng(0))
    history = History.of(MIXED, xs, mixed_value(xs))
    info = searcher.suggest(history, searcher.initial_state(), np.random.default_rng(1)).info
    assert info["transfer"]
    assert info["gradients"] > 0


@pytest.mark.parametrize("values", [np.full(8, 0.1), np.full(8, 1e200), np.linspace(-1e300, 1e300, 8), np.zeros(8)])
def test_values_of_any_size_are_learned_from(values: Array) -> None:
    searcher = learn_from(methods.auto(BITS), [PriorTask(BITS.sample(8, np.random.default_rng(0)), values)])
    xs = BITS.sample(12, np.random.default_rng(1))
    history = History.of(BITS, xs, make_quadratic(1)(xs))
    suggestion = searcher.suggest(history, searcher.initial_state(), np.random.default_rng(1))
    assert suggestion.info["origin"] == "model"


def test_programs_learn_too() -> None:
    def layer() -> Any:
        dense = lambda: siso_module("Dense", {"units": D([32, 64])})  # noqa: E731
        return siso_or([dense, lambda: siso_module("ReLU")], D([0, 1]))

    def network() -> Any:
        return siso_repeat(layer, D([1, 2, 4]))

    programs = SearchSpace(network)
    searcher = learn_from(methods.auto(programs), [make_task(programs, lambda xs: np.arange(float(len(xs))), n=12)])
    xs = programs.sample(8, np.random.default_rng(1))
    history = History.of(programs, xs, np.arange(8.0))
    suggestion = searcher.suggest(history, searcher.initial_state(), np.random.default_rng(1))
    assert suggestion.info["origin"] == "model"


@pytest.mark.parametrize("method", ["random", "combo", "smac", "evolution", "bocs"])
def test_methods_without_such_a_model_are_refused(method: str) -> None:
    with pytest.raises(DomainError, match="method: expected one that learns from prior=, such as auto on a Space"):
        learn_from(methods.searcher(method, BITS), [make_task(BITS, make_quadratic(1))])


class Changing(Kernel):
    """A kernel that is another one for other training points, and is not clipped from a similarity."""

    depends_on_training = True

    def gram(self, theta: Array, prepared: Any) -> Array:
        raise NotImplementedError


def test_a_kernel_that_changes_with_the_training_points_is_refused() -> None:
    changing = methods.bayesian(BITS, kernel=Changing())
    with pytest.raises(
        DomainError, match=r"got BayesianSearch on Space, whose kernel changes with the training points"
    ):
        learn_from(changing, [make_task(BITS, make_quadratic(1))])


NESTED = bo.Space({"kind": ["sgd", "adam"], "inner": {"a": bo.Integer(0, 9), "b": bool}})
TRAINED = bo.Space({"rate": bo.Real(1e-5, 1e-1, log=True), "network": SMALL_CNN})


@pytest.mark.parametrize("domain", [NESTED, TRAINED, SMALL_CNN, bo.joint_domain({"a": {"x": bool}, "b": SMALL_CNN})])
def test_spaces_with_other_domains_inside_and_networks_learn_too(domain: Any) -> None:
    task = make_task(domain, lambda xs: np.arange(float(len(xs))), n=12)
    searcher = learn_from(methods.auto(domain), [task])
    history = History.of(domain, domain.take(task.points, range(10)), task.values[:10])
    suggestion = searcher.suggest(history, searcher.initial_state(), np.random.default_rng(1))
    assert suggestion.info["origin"] == "model"
    assert suggestion.info["transfer"]
    assert suggestion.info["smallest_eigenvalue"] < 1.0


def test_laws_of_a_searcher_of_a_space_with_another_inside() -> None:
    check_searcher(make_learner, NESTED, lambda point: float(len(str(point))), np.random.default_rng(0), 8)


def test_a_clipped_similarity_is_clipped_over_all_tasks_together() -> None:
    """A fourth power breaks the triangle inequality, which makes the similarity indefinite."""

    def distances(xs: Any, ys: Any) -> Array:
        levels, others = (0.3 * np.asarray(batch, dtype=np.float64).sum(axis=1) for batch in (xs, ys))
        return (levels[:, None] - others) ** 4

    similarity = DistanceKernel(distances, Normal(0.0, 1.0), 0.0)
    learner: Any = learn_from(
        methods.bayesian(BITS, kernel=SpectrumClip(similarity)), [make_task(BITS, make_quadratic(1), n=10)]
    )
    transfer = learner.surrogate.surrogate
    both = transfer.join(BITS.sample(10, np.random.default_rng(1)), transfer.tasks)
    kernel, theta = transfer.joint.kernel, np.array([0.0, 1.0, 0.2])  # rate, log odds, log scale
    raw = kernel.similarity.gram(theta, kernel.similarity.prepare(both))
    assert np.linalg.eigvalsh(raw)[0] < -0.01
    assert np.linalg.eigvalsh(kernel.gram(theta, kernel.prepare(both)))[0] > -1e-9
    check_line(kernel, both, both[:3], theta, theta + 0.5)


def test_a_search_without_warping_learns_values_as_they_are() -> None:
    searcher: Any = methods.auto(BITS)
    plain = replace(searcher, surrogate=searcher.surrogate.surrogate)
    task = make_task(BITS, lambda xs: 1e3 ** np.arange(float(len(xs))), n=20)
    learner: Any = learn_from(plain, [task])
    np.testing.assert_allclose(
        learner.surrogate.task_values, (task.values - np.mean(task.values)) / np.std(task.values)
    )
