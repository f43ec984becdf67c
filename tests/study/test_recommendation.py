"""What a result recommends: the model's best, in the user's units, whatever became of the study."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import BostructError, NumericalError, Prediction, TrainingPrediction
from bostruct.goals.declared import Goals
from bostruct.searchers.baselines import RandomSearch
from bostruct.study.predictions import Recommendation
from tests.stored import forge

SPACE = bo.Space({f"x{i}": bool for i in range(6)} | {"c": list("pqr")})


def cost(point: dict[str, Any]) -> float:
    return float(sum(i * point[f"x{i}"] for i in range(6)) - 2 * (point["c"] == "q"))


def noisy(point: dict[str, Any]) -> float:
    return cost(point) + 3.0 * np.random.default_rng(SPACE.parse(point)).normal()


def fails_at_r(point: dict[str, Any]) -> float:
    if point["c"] == "r":
        raise ValueError("r")
    return noisy(point)


@dataclass(frozen=True)
class Known(RandomSearch):
    """Random search that predicts, under two hyperparameters, that the value is the number of true choices."""

    fails: bool = False

    def appraise(self, history: Any, state: Any, rng: np.random.Generator) -> TrainingPrediction:
        del state, rng
        if self.fails:
            raise NumericalError("not positive definite")
        mean = history.completed[:, :6].sum(axis=1).astype(float)
        means = np.array([mean - 1.0, mean + 1.0])
        return TrainingPrediction(np.ones(len(mean), dtype=np.bool_), Prediction(means, np.full(means.shape, 3.0)))


@pytest.mark.parametrize("method", ["auto", "combo", "smac"])
def test_the_best_posterior_mean_is_recommended_with_its_interval(method: str) -> None:
    result = bo.minimize(noisy, SPACE, 24, method=method, seed=0)
    found = result.recommended
    assert found.trial in result.trials
    assert found.mean is not None
    assert found.low < found.mean < found.high
    assert found.why == "by the model's mean"
    assert str(found) in repr(result)


def test_directions_mirror_each_other() -> None:
    low = bo.minimize(noisy, SPACE, 20, seed=1).recommended
    high = bo.maximize(lambda point: -noisy(point), SPACE, 20, seed=1).recommended
    assert (high.trial.number, high.trial.point) == (low.trial.number, low.trial.point)
    assert (high.mean, high.low, high.high) == (-low.mean, -low.high, -low.low)


@pytest.mark.parametrize(("optimize", "sign"), [(bo.minimize, 1.0), (bo.maximize, -1.0)])
def test_the_interval_has_the_variance_within_samples_and_between_them(optimize: Any, sign: float) -> None:
    result = optimize(cost, SPACE, 15, method=Known(SPACE), seed=0)
    found = result.recommended
    trues = [sum(trial.point[f"x{i}"] for i in range(6)) for trial in result.trials]
    assert found.trial.number == int(np.argmin(trues))  # the searcher's own units are minimized: -cost is not asked for
    assert found.mean == sign * trues[found.trial.number]
    half = 1.959963984540054 * np.sqrt(3.0 + 1.0)  # law of total variance
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half))


def test_a_model_that_cannot_be_fitted_costs_no_printing() -> None:
    result = bo.minimize(cost, SPACE, 12, method=Known(SPACE, fails=True), seed=0)
    assert result.recommended.trial == result.best_trial
    assert result.recommended.mean is None
    assert "by its observed value: the model cannot be fitted, not positive definite" in repr(result)
    huge = bo.minimize(lambda point: 1e200 * (1 + point["x0"]), SPACE, 12, seed=0)
    assert "expected magnitudes up to 1e+150" in " ".join(repr(huge).split())


@pytest.mark.parametrize("method", ["random", "bocs", "annealing"])
def test_without_a_posterior_mean_the_best_value_told_is_recommended_and_said_to_be(method: str) -> None:
    result = bo.minimize(noisy, SPACE, 12, method=method, seed=0)
    expected = "by its observed value: the method gives no posterior mean"
    assert result.recommended == Recommendation(result.best_trial, None, None, None, expected)
    assert f"the same: trial {result.best_trial.number}, {expected}" in repr(result)


def test_a_result_made_by_hand_says_that_it_has_no_model() -> None:
    trials = (bo.Trial(0, {"a": 1}, "completed", 2.0), bo.Trial(1, {"a": 2}, "completed", 1.0))
    found = bo.Result(trials, (0, 1), Goals(), 0, "mine", "done").recommended
    assert (found.trial.number, found.why) == (1, "by its observed value: the result has no model")


def test_without_a_completed_trial_nothing_is_recommended() -> None:
    empty = bo.Study(SPACE).result
    with pytest.raises(BostructError, match="no trial has completed"):
        _ = empty.recommended
    assert "recommended" not in repr(empty)


def test_failed_and_running_trials_are_not_recommended() -> None:
    with bo.Study(SPACE, seed=0) as study:
        study.optimize(fails_at_r, 16)
        study.ask()
        result = study.result
    assert result.n_failed > 0
    assert result.recommended.trial.status == "completed"
    assert result.recommended.mean is not None


def test_where_keeps_trials_and_not_what_the_model_knows() -> None:
    result = bo.minimize(noisy, SPACE, 24, seed=0)
    kept = result.where(lambda point: point["c"] == "p").recommended
    assert kept.trial.point["c"] == "p"
    assert kept.mean >= result.recommended.mean
    own = result.where(lambda point: point == result.recommended.trial.point)
    assert own.recommended == result.recommended
    with pytest.raises(BostructError, match="no completed trial was kept"):
        _ = result.where(lambda _: False).recommended


def test_nothing_is_fitted_until_it_is_asked_for_and_then_once() -> None:
    asked = []

    @dataclass(frozen=True)
    class Counting(RandomSearch):
        def appraise(self, history: Any, state: Any, rng: np.random.Generator) -> TrainingPrediction:
            del state, rng
            asked.append(len(history.values))
            means = np.zeros((1, len(history.values)))
            return TrainingPrediction(np.ones(means.shape[1], dtype=np.bool_), Prediction(means, means + 1.0))

    with bo.Study(SPACE, method=Counting(SPACE), seed=0) as study:
        result = study.optimize(cost, 5)
        assert (study.best_value, result.best_value, len(result.incumbents)) == (result.best_value, study.best_value, 5)
        assert asked == []
        study.tell(study.ask(), 0.0)
    repr(result)
    assert result.recommended == result.where(lambda _: True).recommended
    assert asked == [5]  # the study as it was, though it went on and was closed


def test_a_pickle_holds_what_the_model_found_and_not_the_model() -> None:
    def constraint(point: dict[str, Any]) -> bool:  # that no pickle can hold
        return not (point["x0"] and point["x1"])

    space = bo.Space({f"x{i}": bool for i in range(6)} | {"c": list("pqr")}, constraints=[constraint])
    result = bo.minimize(noisy, space, 16, seed=0)
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result
    assert copy.recommended == result.recommended
    assert copy.where(lambda point: point["x2"]).recommended == result.where(lambda point: point["x2"]).recommended


@pytest.mark.parametrize("method", ["auto", "combo"])
def test_the_same_study_recommends_the_same(file: Path, method: str) -> None:
    result = bo.minimize(noisy, SPACE, 22, method=method, seed=0, storage=file)
    with bo.Study.load(file) as again:
        assert again.result.recommended == result.recommended
    with bo.Study.load(file, read_only=True) as reader:
        found = reader.result
    assert found.recommended == result.recommended  # though the file is closed


def test_reading_only_a_method_or_space_that_the_file_cannot_hold_is_said_or_given(tmp_path: Path) -> None:
    file, known = tmp_path / "runs.db", Known(SPACE)
    result = bo.minimize(noisy, SPACE, 12, method=known, seed=0, storage=file, name="object")
    with bo.Study.load(file, "object", read_only=True) as reader:
        assert "by its observed value: there is no model" in repr(reader.result)
    with bo.Study.load(file, "object", read_only=True, method=known) as reader:
        assert reader.result.recommended == result.recommended
    space = bo.Space({f"x{i}": bool for i in range(4)}, constraints=[lambda point: point["x0"] or point["x1"]])
    bo.minimize(lambda point: float(point["x2"]), space, 4, seed=0, storage=file, name="constrained")
    with bo.Study.load(file, "constrained", read_only=True) as reader:
        assert "the file does not contain all of its space" in repr(reader.result)


def test_a_stored_study_of_other_settings_is_read_with_the_model_of_this_version(file: Path) -> None:
    bo.minimize(noisy, SPACE, 14, seed=0, storage=file)
    older = "UPDATE studies SET method = json_set(method, '$.settings.older', 1)"
    forge(file, older)
    forge(file, "UPDATE progress SET state = '{}'")
    with bo.Study.load(file, read_only=True) as reader:
        assert reader.result.recommended.why == "by the model's mean"


def test_of_hyperband_the_largest_fidelity_is_recommended() -> None:
    space = bo.Space({"rate": [0.1, 0.01, 0.001], "width": range(8), "epochs": bo.Fidelity([1, 3, 9])})

    def loss(point: dict[str, Any]) -> float:  # few epochs flatter
        return abs(point["width"] - 5) + point["rate"] + 0.3 * point["epochs"]

    for method, has_mean in (("hyperband", False), ("model-based-hyperband", True)):
        result = bo.minimize(loss, space, 24, method=method, seed=0)
        assert result.best_point["epochs"] < 9
        assert result.recommended.trial.point["epochs"] == 9
        assert (result.recommended.mean is not None) == has_mean
        cheap = result.where(lambda point: point["epochs"] == 1)
        assert cheap.recommended.trial.point["epochs"] == 1


def test_on_architectures_and_programs_too() -> None:
    for domain in (bo.mlp_domain(), bo.joint_domain({"network": bo.mlp_domain(), "rate": SPACE})):
        result = bo.minimize(lambda point: float(len(repr(point)) % 17), domain, 14, seed=0)
        assert result.recommended.why == "by the model's mean"


def test_noise_is_believed_where_half_the_variance_is_noise() -> None:
    """Linear functions of 16 bits, 60 trials: a share of 0.08 to 0.7, where a prior of -5 said 0.007 whatever came."""
    space, shares = bo.Space({f"x{i}": bool for i in range(16)}), []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        weights = rng.normal(size=16)
        xs = space.sample(60, rng)
        values = xs @ weights + 0.5 * float(np.linalg.norm(weights)) * rng.normal(size=60)
        shares.append(methods.auto(space).surrogate.condition(xs, values, None, rng)[2]["noise"])
        quiet = methods.auto(space).surrogate.condition(xs, xs @ weights, None, rng)[2]["noise"]
        assert quiet < 0.001  # what the data show to be smooth is not called noise
    assert min(shares) > 0.08
    assert max(shares) < 0.7


def test_suggestions_on_bits_and_categories_do_not_depend_on_the_link_of_ordered_variables() -> None:
    """Golden: what `auto` suggested, with the noise prior of then, before the link of ordered variables changed."""
    space = bo.Space({f"x{i}": bool for i in range(7)} | {"a": list("pqrs"), "b": list("uvw")})

    def uneven(point: dict[str, Any]) -> float:
        x = [point[f"x{i}"] for i in range(7)]
        pairs = -2.1 * (x[0] and x[5]) - 1.3 * (x[2] != x[3]) + 0.9 * "pqrs".index(point["a"]) * x[1]
        return sum((0.3 + 0.17 * i) * v for i, v in enumerate(x)) + pairs + 0.77 * ("uvw".index(point["b"]) - 1.2) ** 2

    auto = methods.auto(space)
    searcher = replace(auto, surrogate=replace(auto.surrogate, surrogate=auto.surrogate.surrogate.quiet))
    trials = bo.minimize(uneven, space, 18, method=searcher, seed=0).trials
    golden = "101001001 101001002 101001031 100001031 101001011 101001010 101001101 101000001"
    assert " ".join("".join(map(str, space.parse(trial.point))) for trial in trials[10:]) == golden


def test_a_result_of_several_objectives_is_pickled_and_copied_without_a_fit() -> None:
    found = bo.minimize(
        lambda point: (cost(point), -cost(point)), SPACE, 12, seed=0, directions=["minimize", "minimize"]
    )
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert copied == found
        assert copied.pareto_front == found.pareto_front
        assert copied.beliefs().expected is None
