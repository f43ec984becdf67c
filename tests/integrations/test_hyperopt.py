"""Trials of Hyperopt, as its dicts."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.integrations.hyperopt import read_trials

CHOICES = {"kind": ["linear", "tree"]}
SPACE = {"x": bo.Real(0, 1), "kind": ["linear", "tree"], "depth": bo.Integer(1, 9, when={"kind": "tree"})}


def make(vals, state=2, error=None, **result):
    """Return a trial as Hyperopt's `Trials` keeps it: a list for each label, empty if the trial lacks it."""
    misc = {"tid": 0, "cmd": ("domain_attachment", "FMinIter_Domain"), "idxs": {}, "vals": vals}
    if error is not None:
        misc["error"] = error
    return {"state": state, "tid": 0, "spec": None, "result": result, "misc": misc, "exp_key": None, "owner": None}


TRIALS = [
    make({"x": [0.5], "kind": [1], "depth": [3.0]}, loss=2.0, status="ok"),
    make({"x": [0.25], "kind": [0], "depth": []}, loss=1.5, status="ok"),
    make({"x": [0.75], "kind": [0], "depth": []}, status="fail", failure="no memory"),
    make({"x": [0.1], "kind": [0], "depth": []}, state=3, error=("<class 'ValueError'>", "singular"), status="new"),
    make({"x": [0.2], "kind": [0], "depth": []}, state=1, status="new"),
    make({"x": [0.3], "kind": [0], "depth": []}, loss=math.nan, status="ok"),
]


@pytest.mark.filterwarnings("ignore:frame. 2 of 6 rows without a value")
@pytest.mark.parametrize("trials", [TRIALS, SimpleNamespace(trials=TRIALS)])
def test_trials_become_trials_of_a_study(trials):
    study = bo.Study(SPACE, method="random", seed=0)
    study.add_frame(read_trials(trials, CHOICES))
    assert [(one.point, one.value, one.status, one.reason) for one in study.trials] == [
        ({"x": 0.5, "kind": "tree", "depth": 3}, 2.0, "completed", None),
        ({"x": 0.25, "kind": "linear"}, 1.5, "completed", None),
        ({"x": 0.75, "kind": "linear"}, None, "failed", "no memory"),
        ({"x": 0.1, "kind": "linear"}, None, "failed", "singular"),
    ]


def test_the_objective_may_be_another_result_and_no_trials_are_no_rows():
    frame = read_trials([make({"x": [0.5]}, loss=2.0, accuracy=0.9, status="ok")], objective="accuracy")
    assert frame.to_dict("records") == [{"x": 0.5, "value": 0.9, "status": None, "reason": None}]
    assert bo.Study(SPACE).add_frame(read_trials([], CHOICES)) == []


def test_an_index_without_its_options_is_no_choice():
    with pytest.raises(PointError, match=r"row 0: kind: expected"):
        bo.Study(SPACE).add_frame(read_trials(TRIALS))


@pytest.mark.parametrize(
    ("trials", "choices", "error", "message"),
    [
        ("trials.pkl", {}, TypeError, r"trials: expected Trials of Hyperopt, .*, got 'trials.pkl'"),
        ([{"x": 1}], {}, TypeError, r"trials\[0\]: expected a dict with misc.vals and result"),
        (TRIALS, {"kind": ["linear"]}, ValueError, r"trials\[0\]: kind: expected an index below 1, got 1"),
        (TRIALS, {"kinds": ["a"]}, ValueError, r"choices: expected labels of .*, got 'kinds'. Did you mean"),
        ([make({"value": [1]}, loss=1)], {}, ValueError, r"trials\[0\]: expected no label 'value'"),
    ],
)
def test_refusals(trials, choices, error, message):
    with pytest.raises(error, match=message):
        read_trials(trials, choices)
