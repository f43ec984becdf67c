"""Appraisals of another form, or of another number of points, break a law of their searcher."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import (
    BostructError,
    LeaveOneOut,
    NumericalError,
    Predicted,
    Prediction,
    Searcher,
    TrainingPrediction,
)
from bostruct.searchers.baselines import RandomSearch
from bostruct.study.history import History
from bostruct.testing import check_searcher
from bostruct.testing.searcher_laws import MEMBER_LAWS, check_appraisal, check_cross_validation, check_predicted

SEEDS = itertools.count()
SPACE = bo.Space({"a": bool, "b": ["p", "q", "r", "s"], "c": range(6)})


@dataclass(frozen=True)
class Faulty(RandomSearch):
    """Random search with an appraisal, but for one fault."""

    fault: str = "none"

    def appraise(self, history, state, rng):
        del state
        n = len(history.values)
        if self.fault == "own generator":
            rng = np.random.default_rng()
        mean = history.values[None] + rng.normal(size=(2, n))
        prediction = Prediction(mean, np.full((2, n), 0.1))
        if self.fault == "cannot be fitted":
            raise NumericalError("too few")
        if self.fault == "one eligible":
            return TrainingPrediction(np.ones(1, dtype=np.bool_), None)
        if self.fault == "none eligible":
            return TrainingPrediction(np.zeros(n, dtype=np.bool_), None)
        if self.fault == "eligible numbers":
            return TrainingPrediction(np.ones(n), None)
        if self.fault == "a pair":
            return np.ones(n, dtype=np.bool_), prediction
        if self.fault == "too few means":
            return TrainingPrediction(np.ones(n, dtype=np.bool_), Prediction(mean[:, 1:], prediction.variance[:, 1:]))
        if self.fault == "flat means":
            return TrainingPrediction(np.ones(n, dtype=np.bool_), Prediction(mean[0], prediction.variance[0]))
        if self.fault == "not a number":
            return TrainingPrediction(np.ones(n, dtype=np.bool_), Prediction(mean * np.nan, prediction.variance))
        if self.fault == "negative variance":
            return TrainingPrediction(np.ones(n, dtype=np.bool_), Prediction(mean, -prediction.variance))
        return TrainingPrediction(np.ones(n, dtype=np.bool_), None if self.fault == "no model" else prediction)


def cost(point):
    return point["a"] + point["c"]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("one eligible", r"eligible is one bool per completed point: expected 30, got \(1,\) of bool"),
        ("eligible numbers", r"eligible is one bool per completed point: expected 30, got \(30,\) of float64"),
        ("a pair", r"appraise returns a TrainingPrediction: got \(array"),
        ("too few means", r"the mean that appraise returns is \(s, n\): expected n = 30, got \(2, 29\)"),
        ("flat means", r"the mean that appraise returns is \(s, n\): expected 2 dimensions, got shape \(30,\)"),
        ("not a number", "the mean that appraise returns is finite"),
        ("negative variance", "the variance that appraise returns is at least 0"),
        ("none eligible", "at least one completed point is eligible"),
        ("own generator", "(global random state was used|appraise with the same generator)"),
    ],
)
def test_a_faulty_appraisal_fails(fault, says):
    with pytest.raises(AssertionError, match=rf"^Faulty breaks the law: {says}"):
        check_searcher(lambda domain: Faulty(domain, fault), SPACE, cost, np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["none", "no model", "cannot be fitted"])
def test_the_faultless_pass(kind):
    check_searcher(lambda domain: Faulty(domain, kind), SPACE, cost, np.random.default_rng(0))


def test_an_appraisal_is_checked_on_a_history_of_any_length():
    history = History.of(SPACE, SPACE.sample(1, np.random.default_rng(0)), [1.0])
    check_appraisal(Faulty(SPACE), history, None, 0)
    with pytest.raises(AssertionError, match=r"appraise returns a TrainingPrediction: got \(array"):
        check_appraisal(Faulty(SPACE, "a pair"), history, None, 0)


@dataclass(frozen=True)
class Predicting(RandomSearch):
    """Random search with predictions, but for one fault."""

    fault: str = "none"
    has_model = True

    def predict(self, history, state, xs, rng):
        del history, state
        m = len(xs)
        if self.fault == "own generator":
            rng = np.random.default_rng(next(SEEDS))
        found = Predicted(rng.normal(size=(1, 2, m)), np.ones((1, 2, m)), np.zeros(m))
        if self.fault == "flat mean":
            return found._replace(mean=found.mean[0])
        if self.fault == "a point too few":
            return found._replace(variance=found.variance[:, :, 1:])
        if self.fault == "certain of more":
            return found._replace(log_probability=np.full(m, 0.1))
        if self.fault == "cannot be fitted":
            raise NumericalError("too few")
        return tuple(found) if self.fault == "a tuple" else found


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("flat mean", r"the mean predicted is \(k, s, m\): expected 3 dimensions, got shape \(2, 3\)"),
        ("a point too few", r"the variance predicted is \(k, s, m\): expected m = 3, got \(1, 2, 2\)"),
        ("certain of more", "the log probability predicted is at most 0"),
        ("own generator", "predict with the same generator finds the same mean"),
        ("a tuple", "predict returns a Predicted"),
        ("none", None),
        ("cannot be fitted", None),
    ],
)
def test_faulty_predictions_are_found(fault, says):
    history = History.of(SPACE, SPACE.sample(6, np.random.default_rng(0)), np.arange(6.0))
    searcher = Predicting(SPACE, fault=fault)
    if says is None:
        check_predicted(searcher, history, None, 0)
        return
    with pytest.raises(AssertionError, match=says):
        check_predicted(searcher, history, None, 0)


@pytest.mark.parametrize("member", ["predict", "cross_validate"])
def test_a_model_that_no_member_tells_of_is_found(member):
    class Silent(Judging):
        has_model = cross_validates = False

        def predict(self, history, state, xs, rng):
            return Predicting(SPACE).predict(history, state, xs, rng)

    says = {"predict": "has_model = True", "cross_validate": "cross_validates = True"}[member]
    law = {"predict": check_predicted, "cross_validate": check_cross_validation}[member]
    with pytest.raises(AssertionError, match=says):
        law(Silent(SPACE), HISTORY, None, 0)


HISTORY = History.of(SPACE, SPACE.sample(6, np.random.default_rng(0)), np.arange(6.0))


@dataclass(frozen=True)
class Judging(RandomSearch):
    """Random search that bounds the regret and predicts values left out, but for one fault."""

    fault: str = "none"
    bounds_regret = cross_validates = True

    def bound_regret_probability(self, history, state, regret, rng):
        del history, state
        drawn = 0.1 * rng.random()
        if self.fault == "cannot be fitted":
            raise NumericalError("too few")
        found = {"too much": 1.5, "negative": -0.5, "upwards": regret / 10.0}
        return found.get(self.fault, 0.5 / (1.0 + regret) + drawn)

    def cross_validate(self, history, state, objective, rng):
        del state, objective, rng
        n = len(history.values) - 1
        if self.fault == "cannot be fitted":
            raise BostructError("too few")
        found = LeaveOneOut(np.arange(n), Prediction(np.zeros((2, n)), np.ones((2, n))))
        if self.fault == "twice":
            return found._replace(positions=np.zeros(n, dtype=np.int64))
        if self.fault == "beyond":
            return found._replace(positions=np.arange(n) + 2)
        if self.fault == "a value too few":
            return found._replace(prediction=Prediction(np.zeros((2, n - 1)), np.ones((2, n))))
        if self.fault == "negative variance":
            return found._replace(prediction=Prediction(np.zeros((2, n)), -np.ones((2, n))))
        return tuple(found) if self.fault == "a tuple" else found


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("too much", "the bound of the regret is a probability: got 1.5, of at most 1.0"),
        ("negative", "the bound of the regret is a probability"),
        ("upwards", "a larger regret is no more probable"),
        ("twice", "positions are positions of completed points, ascending"),
        ("beyond", "positions are positions of completed points, ascending"),
        ("a value too few", r"the mean of left-out values is \(s, n\): expected n = 29, got \(2, 28\)"),
        ("negative variance", "the variance of left-out values is at least 0"),
        ("a tuple", "cross_validate returns a LeaveOneOut"),
    ],
)
def test_faulty_bounds_and_validations_are_found(fault, says):
    with pytest.raises(AssertionError, match=rf"^Judging breaks the law: {says}"):
        check_searcher(lambda domain: Judging(domain, fault), SPACE, cost, np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["none", "cannot be fitted"])
def test_bounds_and_validations_without_fault_pass(kind):
    check_searcher(lambda domain: Judging(domain, kind), SPACE, cost, np.random.default_rng(0))


def test_every_member_of_a_searcher_with_a_default_has_a_law():
    plain = {
        "domain",
        "n_initial",
        "repeats",
        "has_model",
        "bounds_regret",
        "cross_validates",
        "reads_objectives",
        "note",
    }
    others = {"suggest", "settings", "initial_state"}  # of each step, and before the first one
    members = {name for name in {**vars(Searcher), **Searcher.__annotations__} if not name.startswith("_")}
    assert members == {*MEMBER_LAWS} | plain | others
