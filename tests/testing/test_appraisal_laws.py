"""Appraisals of another form, or of another number of points, break a law of their searcher."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Appraisal, NumericalError, Predicted, Prediction
from bostruct.searchers.random import RandomSearch
from bostruct.study.history import History
from bostruct.testing import check_searcher
from bostruct.testing.appraisal_laws import check_appraisal, check_predicted

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
            return Appraisal(np.ones(1, dtype=np.bool_), None)
        if self.fault == "eligible numbers":
            return Appraisal(np.ones(n), None)
        if self.fault == "a pair":
            return np.ones(n, dtype=np.bool_), prediction
        if self.fault == "too few means":
            return Appraisal(np.ones(n, dtype=np.bool_), Prediction(mean[:, 1:], prediction.variance[:, 1:]))
        if self.fault == "flat means":
            return Appraisal(np.ones(n, dtype=np.bool_), Prediction(mean[0], prediction.variance[0]))
        if self.fault == "not a number":
            return Appraisal(np.ones(n, dtype=np.bool_), Prediction(mean * np.nan, prediction.variance))
        if self.fault == "negative variance":
            return Appraisal(np.ones(n, dtype=np.bool_), Prediction(mean, -prediction.variance))
        return Appraisal(np.ones(n, dtype=np.bool_), None if self.fault == "no model" else prediction)


def cost(point):
    return point["a"] + point["c"]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("one eligible", r"eligible is one bool a completed point: expected 30, got \(1,\) of bool"),
        ("eligible numbers", r"eligible is one bool a completed point: expected 30, got \(30,\) of float64"),
        ("a pair", r"appraise returns an Appraisal: got \(array"),
        ("too few means", r"the mean of an appraisal is \(s, n\): expected n = 30, got \(2, 29\)"),
        ("flat means", r"the mean of an appraisal is \(s, n\): expected 2 dimensions, got shape \(30,\)"),
        ("not a number", "the mean of an appraisal is finite"),
        ("negative variance", "the variance of an appraisal is at least 0"),
        ("own generator", "(global random state was used|appraise with the same generator)"),
    ],
)
def test_a_faulty_appraisal_fails(fault, says):
    with pytest.raises(AssertionError, match=rf"^Faulty: {says}"):
        check_searcher(lambda domain: Faulty(domain, fault), SPACE, cost, np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["none", "no model", "cannot be fitted"])
def test_the_faultless_pass(kind):
    check_searcher(lambda domain: Faulty(domain, kind), SPACE, cost, np.random.default_rng(0))


def test_an_appraisal_is_checked_on_a_history_of_any_length():
    history = History.of(SPACE, SPACE.sample(1, np.random.default_rng(0)), [1.0])
    check_appraisal(Faulty(SPACE), history, None, 0)
    with pytest.raises(AssertionError, match=r"appraise returns an Appraisal: got \(array"):
        check_appraisal(Faulty(SPACE, "a pair"), history, None, 0)


@dataclass(frozen=True)
class Predicting(RandomSearch):
    """Random search with predictions, but for one fault."""

    fault: str = "none"

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
            return found._replace(log_chance=np.full(m, 0.1))
        if self.fault == "cannot be fitted":
            raise NumericalError("too few")
        return tuple(found) if self.fault == "a tuple" else found


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("flat mean", r"the mean predicted is \(k, s, m\): expected 3 dimensions, got shape \(2, 3\)"),
        ("a point too few", r"the variance predicted is \(k, s, m\): expected m = 3, got \(1, 2, 2\)"),
        ("certain of more", "the log chance predicted is at most 0"),
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
