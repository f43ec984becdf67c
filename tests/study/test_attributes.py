"""What the user keeps with a trial beside its value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.execution.evaluation import failure
from bostruct.outcome import MOST_ATTRIBUTES, read_attributes

SPACE = {"x": range(9), "attribute.size": [1, 2]}
KEPT = {"path": "a/b.pt", "accuracy": 0.5, "epochs": 3, "text": "3", "sizes": [1, 2], "deep": {"a": None}, "done": True}


def open_study(**settings: Any) -> bo.Study:
    return bo.Study(SPACE, method="random", seed=0, **settings)


def test_attributes_of_the_objective_are_kept_and_come_back_from_disk(tmp_path: Path) -> None:
    def objective(_: Any) -> bo.Outcome:
        bo.set_attribute("seconds", np.float64(1.5))
        bo.set_attribute("file", tmp_path)
        return bo.Outcome(1.0, attributes=KEPT)

    call: dict[str, Any] = {"method": "random", "seed": 0, "storage": tmp_path / "runs.db"}
    result = bo.minimize(objective, SPACE, 3, **call)
    expected = KEPT | {"seconds": 1.5, "file": str(tmp_path)}
    assert [dict(trial.attributes) for trial in result.trials] == [expected] * 3
    assert result.trials[0].value == 1.0
    with bo.Study.load(tmp_path / "runs.db", read_only=True) as study:
        assert [dict(trial.attributes) for trial in study.trials] == [expected] * 3


def test_workers_send_attributes_and_failures_keep_them() -> None:
    def objective(point: Any) -> float:
        bo.set_attribute("half", point["x"] / 2)
        if point["x"] % 2:
            raise ValueError("odd")
        return float(point["x"])

    result = bo.minimize(objective, SPACE, 6, method="random", seed=0, workers=2)
    assert {trial.status for trial in result.trials} == {"completed", "failed"}
    assert all(trial.attributes == {"half": trial.point["x"] / 2} for trial in result.trials)


def test_what_is_no_json_is_left_out_with_a_warning_and_the_value_is_kept() -> None:
    def objective(_: Any) -> bo.Outcome:
        bo.set_attribute("model", object())
        return bo.Outcome(2.0, attributes={"good": 1, "nan": float("nan")})

    with pytest.warns(UserWarning, match="attributes.*; the attribute is left out") as caught:
        result = bo.minimize(objective, SPACE, 3, method="random", seed=0)
    assert [(trial.value, trial.attributes) for trial in result.trials] == [(2.0, {"good": 1})] * 3
    assert len(caught) == 2  # once for each, not for each trial


@pytest.mark.parametrize(
    ("attributes", "error", "message"),
    [
        ({"model": object()}, TypeError, r"attributes\['model'\]: expected JSON .*, got <object"),
        ({"nan": float("nan")}, TypeError, r"attributes\['nan'\]: expected JSON"),
        ({"": 1}, TypeError, "attributes: expected names of 1 to 200 characters"),
        ({3: 1}, TypeError, "attributes: expected names"),
        ([1], TypeError, "attributes: expected JSON by name, a dict"),
        ({"log": "x" * MOST_ATTRIBUTES}, ValueError, r"attributes\['log'\]: expected at most 65,536 .* give its path"),
    ],
)
def test_tell_and_add_refuse_what_cannot_be_kept_and_record_nothing(
    attributes: Any, error: type[Exception], message: str
) -> None:
    study = open_study()
    trial = study.ask()
    with pytest.raises(error, match=message):
        study.tell(trial, 1.0, attributes=attributes)
    with pytest.raises(error, match=message):
        study.add({"x": 8, "attribute.size": 1}, 1.0, attributes=attributes)
    assert [one.status for one in study.trials] == ["running"]
    assert study.tell(trial, bo.Outcome(1.0, attributes={"a": 1}), attributes={"b": 2}).attributes == {"a": 1, "b": 2}
    assert study.add({"x": 8, "attribute.size": 1}, {"value": 3.0, "attributes": {"c": 3}}).attributes == {"c": 3}


def test_a_trial_that_is_tried_again_has_the_attributes_of_its_last_evaluation() -> None:
    study = open_study()
    trial = study.ask()
    assert study.tell(trial, failed="once", attributes={"a": 1}, retry=True).status == "running"
    assert study.tell(study.ask(), 1.0, attributes={"b": 2}).attributes == {"b": 2}


def test_tables_hold_attributes_and_frames_read_them_back(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    study = open_study()
    study.tell(study.ask(), 1.0, attributes=KEPT)
    study.tell(study.ask(), 2.0, attributes={"path": "null"})
    study.tell(study.ask(), 3.0)
    study.result.to_csv(tmp_path / "trials.csv")
    study.result.to_csv(tmp_path / "trials.csv")  # replaces its own table
    frame = study.result.to_dataframe()
    assert list(frame["attribute.path"][:2]) == ["a/b.pt", '"null"']
    for table in (frame, pandas.read_csv(tmp_path / "trials.csv")):
        again = open_study()
        added = again.add_frame(table)
        assert [dict(trial.attributes) for trial in added] == [KEPT, {"path": "null"}, {}]
        assert [trial.point for trial in added] == [trial.point for trial in study.trials]


def test_no_method_sees_attributes() -> None:
    points = [[trial.point for trial in bo.minimize(f, SPACE, 14, seed=0).trials] for f in (plain, with_attributes)]
    assert points[0] == points[1]


def plain(point: Any) -> float:
    return float(point["x"])


def with_attributes(point: Any) -> bo.Outcome:
    return bo.Outcome(plain(point), attributes={"x": point["x"]})


def test_an_attribute_is_json_as_it_was_when_it_was_given() -> None:
    sizes = [1]
    kept = read_attributes({"sizes": sizes, "array": np.arange(2), "tuple": (1, "a")})
    sizes.append(2)
    assert kept == {"sizes": [1], "array": [0, 1], "tuple": [1, "a"]}
    assert json.dumps(kept)
    assert failure(ValueError("x")).attributes == {}


def test_an_attribute_outside_of_an_evaluation_warns() -> None:
    with pytest.warns(UserWarning, match="set_attribute: nothing is recorded"):
        bo.set_attribute("a", 1)
