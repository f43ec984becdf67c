"""Appraisals of another form, or of another number of points, break a law of their searcher."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Appraisal, NumericalError, Prediction
from bostruct.searchers.random import RandomSearch
from bostruct.study.history import History
from bostruct.testing import check_searcher
from bostruct.testing.appraisal_laws import check_appraisal

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
