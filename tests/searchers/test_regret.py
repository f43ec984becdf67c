"""The bound of the probability of a regret, against posteriors whose probabilities are known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, norm

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Array, Batch, BostructError, Feasibility, NumericalError, Posterior, Prediction
from bostruct.searchers.proposals import neighbors_of
from bostruct.searchers.regret import CONFIDENCE, N_DRAWS, ObservedFeasibility, _bound_share, bound_regret_probability
from bostruct.study.history import History
from bostruct.study.stopping import LEAST_PROBABILITY


@dataclass
class Known(Posterior):
    """A posterior of known means and covariances, by the first variable."""

    mean: Array
    among: Array

    def predict(self, xs: Batch) -> Prediction:
        i = np.asarray(xs)[:, 0]
        return Prediction(self.mean[None, i], np.diagonal(self.among)[None, i])

    def covariance(self, xs: Batch) -> Array:
        i = np.asarray(xs)[:, 0]
        return self.among[None][:, i][:, :, i]


def bound(space: bo.Space, posterior: Any, completed: list[int], regret: float) -> float:
    points = np.array([[i, *[0] * (space.d - 1)] for i in completed])
    rng = np.random.default_rng(0)
    return bound_regret_probability(posterior, space, points, regret, neighbors_of, rng)


THREE = bo.Space({"x": bo.Integer(0, 2)})
LEAST = 1.0 - 0.05 ** (1 / N_DRAWS)  # where no draw exceeds the regret


@pytest.mark.parametrize(("mean", "sd", "regret"), [(1.0, 1.0, 0.0), (1.0, 1.0, 0.5), (0.2, 2.0, 1.0), (0.0, 1.0, 0.1)])
def test_one_unknown_point_has_a_normal_probability(mean: float, sd: float, regret: float) -> None:
    known = Known(np.array([0.0, 9.0, mean]), np.diag([0.0, 0.0, sd**2]))
    expected = norm.cdf((-regret - mean) / sd)
    found = bound(THREE, known, [0, 1], regret)
    error = math.sqrt(expected * (1 - expected) / N_DRAWS)
    assert expected - 2.0 * error <= found <= expected + 6.0 * error


def test_points_that_move_together_have_no_regret() -> None:
    known = Known(np.array([0.0, 0.1, 0.2]), np.ones((3, 3)))
    assert bound(THREE, known, [0], 0.01) == pytest.approx(LEAST)
    assert bound(THREE, known, [1], 0.01) == 1.0  # by 0.1 in every draw
    assert bound(THREE, known, [1], 0.11) == pytest.approx(LEAST)


def test_nothing_unknown_leaves_the_least_bound() -> None:
    known = Known(np.array([0.0, 1.0, 2.0]), np.zeros((3, 3)))
    assert bound(THREE, known, [2, 0], 0.0) == pytest.approx(LEAST)


def test_the_best_point_is_that_of_the_best_mean() -> None:
    known = Known(np.array([5.0, 1.0, 1.5]), np.diag([0.0, 1e-4, 1e-4]))
    assert bound(THREE, known, [0], 1.0) == 1.0
    assert bound(THREE, known, [0, 1], 1.0) == pytest.approx(LEAST)


@pytest.mark.parametrize("n_found", [0, 1, 37, 1999, 2000])
def test_the_bound_is_that_of_clopper_and_pearson(n_found: int) -> None:
    expected = 1.0 if n_found == 2000 else beta.ppf(CONFIDENCE, n_found + 1, 2000 - n_found)
    assert _bound_share(n_found, 2000) == pytest.approx(expected)


def test_a_posterior_without_covariances_or_with_indefinite_ones_is_refused() -> None:
    class Bare(Posterior):
        def predict(self, xs: Batch) -> Prediction:
            return Prediction(np.zeros((1, len(xs))), np.ones((1, len(xs))))

    with pytest.raises(BostructError, match="no covariances"):
        bound(THREE, Bare(), [0], 0.1)
    indefinite = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(NumericalError, match="indefinite"):
        bound(THREE, Known(np.zeros(3), indefinite), [0, 1], 0.1)


class Linear(Posterior):
    """Nearly certain that the value is the number of ones."""

    def predict(self, xs: Batch) -> Prediction:
        mean = np.asarray(xs).sum(axis=1, dtype=np.float64)[None]
        return Prediction(mean, np.full_like(mean, 1e-6))

    def covariance(self, xs: Batch) -> Array:
        return 1e-6 * np.eye(len(xs))[None]


@pytest.mark.parametrize(("ones", "expected"), [(0, LEAST), (1, 1.0), (9, 1.0)])
def test_the_best_point_of_a_large_space_is_looked_for(ones: int, expected: float) -> None:
    space = bo.Space({f"b{i:02}": bool for i in range(24)})
    completed = np.array([[1] * ones + [0] * (24 - ones), [1] * 24])
    rng = np.random.default_rng(0)
    found = bound_regret_probability(Linear(), space, completed, 0.5, neighbors_of, rng)  # type: ignore[arg-type]
    assert found == pytest.approx(expected)


@dataclass
class Succeeds(Feasibility):
    """The chance of success by the first variable."""

    shares: tuple[float, ...]

    def log_probability(self, xs: Batch) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(np.array(self.shares))[np.asarray(xs)[:, 0]]


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_point_that_may_fail_is_better_with_the_chance_that_it_succeeds(share: float) -> None:
    known = Known(np.array([0.0, 9.0, 1.0]), np.diag([0.0, 0.0, 4.0]))
    rng, points = np.random.default_rng(0), np.array([[0], [1]])
    chance = Succeeds((1.0, 1.0, share))
    found = bound_regret_probability(known, THREE, points, 0.5, neighbors_of, rng, chance)  # type: ignore[arg-type]
    expected = share * norm.cdf(-0.75)
    error = math.sqrt(expected * (1 - expected) / N_DRAWS)
    assert expected - 2.0 * error <= found <= expected + 6.0 * error + 2.0 * LEAST


def test_what_was_told_of_a_point_counts_for_more_than_what_was_learned() -> None:
    points = np.array([[0], [1], [2]])
    told = ObservedFeasibility(Succeeds((0.5, 0.5, 0.5)), THREE, points[1:], points[[0]])
    assert told.log_probability(points).tolist() == [0.0, -math.inf, -math.inf]
    both = ObservedFeasibility(Succeeds((0.5, 0.5, 0.5)), THREE, points[:1], points[:2])
    assert both.log_probability(points).tolist() == [0.0, 0.0, math.log(0.5)]


def test_where_all_points_are_told_no_failed_one_is_hoped_for() -> None:
    study = bo.Study({"a": range(8), "b": range(4)}, seed=0)

    def fall(point: Any) -> float:
        if point["b"] == 3:
            raise bo.Infeasible("b")
        return float(point["a"] - 2 * point["b"])

    study.optimize(fall, 32, progress=False)
    assert study.bound_regret_probability(0.5) == pytest.approx(LEAST)


def test_methods_with_a_model_bound_the_regret() -> None:
    bits = bo.Space({name: bool for name in "abcd"})
    for method, can in (("auto", True), ("combo", True), ("smac", False), ("random", False), ("evolution", False)):
        searcher = methods.searcher(method, bits)
        assert searcher.bounds_regret == can
    searcher = methods.searcher("auto", bo.cnn_domain())
    assert searcher.bounds_regret


def test_there_is_no_bound_before_the_model_is_asked() -> None:
    bits = bo.Space({name: bool for name in "abcdef"})
    searcher = methods.searcher("auto", bits)
    rng = np.random.default_rng(0)
    points = bits.list_few(64)
    assert points is not None
    for n, known in ((10, False), (40, True)):
        history = History.of(bits, points[:n], np.asarray(points[:n]).sum(axis=1).astype(np.float64))
        found = searcher.bound_regret_probability(history, searcher.initial_state(), 0.5, rng)
        assert (found < 1.0) == known


def test_what_no_draws_can_show_is_refused() -> None:
    assert 0.99 * LEAST_PROBABILITY < LEAST < LEAST_PROBABILITY
    assert bo.StopWhen(1.0, LEAST_PROBABILITY).regret_probability == LEAST_PROBABILITY
    with pytest.raises(ValueError, match=r"^regret_probability: expected .* got 0.001$"):
        bo.StopWhen(1.0, 0.001)
