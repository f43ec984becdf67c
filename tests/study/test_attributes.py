"""What the user keeps with a trial beside its value."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.execution.evaluation import failure
from bostruct.outcome import MOST_ATTRIBUTES, AttributeReader
from bostruct.study.experiments import SpaceGuessed

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


REFUSED: list[tuple[Any, str]] = [
    ({"model": object()}, r"attributes\['model'\]: expected JSON .*, got <object"),
    ({"nan": float("nan")}, r"attributes\['nan'\]: expected JSON"),
    ({"a": {1, 2}}, r"attributes\['a'\]: expected JSON .*, got {1, 2}"),
    ({"d": {1: "a", "1": "b"}}, r"attributes\['d'\]: expected JSON .* dicts by strings.*, got 1 .int"),
    ({"u": ["\ud800"]}, r"attributes\['u'\]: expected JSON .valid strings.*, got '.ud800'"),
    ({"": 1}, "attributes: expected names of 1 to 200 characters"),
    ({"\ud800": 1}, "attributes: expected names"),
    ({3: 1}, "attributes: expected names"),
    ([1], r"attributes: expected JSON by name, a dict, got \[1\]"),
    (np.arange(3), "attributes: expected JSON by name, a dict"),
    ({"log": "x" * MOST_ATTRIBUTES}, r"attributes\['log'\]: expected at most 65,536 .* give its path"),
    ({"rows": np.zeros((9, MOST_ATTRIBUTES))}, r"attributes\['rows'\]: expected at most 65,536"),
]


@pytest.mark.parametrize(("attributes", "message"), REFUSED)
def test_each_door_keeps_the_value_and_warns_of_what_cannot_be_kept(attributes: Any, message: str) -> None:
    study = open_study()
    doors: list[Callable[[], object]] = [
        lambda: study.tell(study.ask(), 1.0, attributes=attributes),
        lambda: study.tell(study.ask(), bo.Outcome(1.0, attributes=attributes)),
        lambda: study.tell(study.ask(), {"value": 1.0, "attributes": attributes}),
        lambda: study.add({"x": 8, "attribute.size": 1}, 1.0, attributes=attributes),
        lambda: study.optimize(lambda _: bo.Outcome(1.0, attributes=attributes), n_more=1),
        lambda: study.optimize(lambda _: {"value": 1.0, "attributes": attributes}, n_more=1),
    ]
    for number, door in enumerate(doors):
        with pytest.warns(UserWarning, match=f"trial {number}: {message}.*; the attribute is left out"):
            door()
    assert [(one.status, one.value, one.attributes) for one in study.trials] == [("completed", 1.0, {})] * len(doors)


def test_what_can_be_kept_is_kept_and_none_are_no_attributes() -> None:
    study = open_study()
    with pytest.warns(UserWarning, match=r"attributes\['b'\]"):
        assert study.tell(study.ask(), 1.0, attributes={"a": 1, "b": object(), "c": 2}).attributes == {"a": 1, "c": 2}
    assert bo.Outcome(1.0, attributes=None).attributes == {}  # type: ignore[arg-type]
    assert study.tell(study.ask(), bo.Outcome(1.0, attributes={"a": 1}), attributes={"b": 2}).attributes == {
        "a": 1,
        "b": 2,
    }
    assert study.add({"x": 8, "attribute.size": 1}, {"value": 3.0, "attributes": {"c": 3}}).attributes == {"c": 3}


def test_the_size_of_attributes_is_counted_as_they_come() -> None:
    reader = AttributeReader()
    counted = CountingDict((f"k{i}", i) for i in range(100_000))
    reader.read(counted)
    n_kept = len(reader.kept)
    assert 7_000 < n_kept < 8_000
    assert counted.n_read == 100_000
    assert len(reader.refused) == 11
    assert reader.refused[-1] == f"attributes: {100_000 - n_kept - 10:,} others are left out, too"
    reader.read({"k0": "x"})  # in place of a former one
    assert reader.kept["k0"] == "x" or len(reader.kept) == n_kept
    shared: Any = "x"
    for _ in range(40):
        shared = [shared, shared]  # 2**40 items
    reader = AttributeReader()
    reader.read({"deep": shared, "huge": ["x" * 99] * 10**7})
    assert len(reader.refused) == 2


class CountingDict(dict):
    n_read = 0

    def items(self) -> Any:
        for pair in super().items():
            self.n_read += 1
            yield pair


def leave(point: Any) -> float:
    bo.set_attribute("log", "a")
    for i in range(300):
        bo.set_attribute("log", f"log/{i}")
    bo.set_attribute("size", point["x"])
    if point["x"] % 3 == 0:
        time.sleep(60)
    if point["x"] % 3 == 1:
        os._exit(3)
    raise ValueError("odd")


@pytest.mark.parametrize("cancel_running", [False, True])
def test_attributes_before_a_timeout_a_crash_or_an_error_are_kept(cancel_running: bool) -> None:
    study = open_study()
    study.optimize(
        leave, 6, workers=2, trial_timeout=1.5, max_initial_failures=None, timeout=100, cancel_running=cancel_running
    )
    assert [trial.attributes for trial in study.trials] == [
        {"log": "log/299", "size": trial.point["x"]} for trial in study.trials
    ]
    reasons = {str(trial.reason)[:9] for trial in study.trials}
    assert reasons == {"timed out", "its worke", "ValueErro"}


def test_an_outcome_that_the_study_cannot_use_keeps_its_attributes() -> None:
    study = bo.Study(SPACE, method="random", seed=0, constraints={"c": ("<=", 1)})
    measured = iter([{"constraints": {"c": 0}}, {}])
    study.optimize(lambda _: {"value": 1.0, "attributes": {"a": 1}, **next(measured)}, 2)
    assert [(trial.status, trial.attributes) for trial in study.trials] == [
        ("completed", {"a": 1}),
        ("failed", {"a": 1}),
    ]


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


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    | st.sampled_from(["", "null", "NaN", "1", "007", "+5", ".5", "1,5", "inf", "True", "[1]"])
    | st.sampled_from(["'a'", "=1", "\t3", "a\rb"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
COLUMNS = st.sampled_from([st.integers(), st.integers(-9, 9), st.floats(-9, 9), st.sampled_from([1.0, 2.5, 3.0]),
                           st.booleans(), st.text(), JSON_VALUES])  # fmt: skip


def read_tables(study: bo.Study, folder: Path) -> Iterator[list[Any]]:
    """Yield the attributes of all trials of a study as they come back from each of its tables."""
    pandas = pytest.importorskip("pandas")
    study.result.to_csv(folder / "trials.csv")
    for table in (study.result.to_dataframe(), pandas.read_csv(folder / "trials.csv")):
        yield [trial.attributes for trial in open_study().add_frame(table)]
    space = bo.Space(SPACE)
    yield [one.attributes for one in bo.Study.from_csv(folder / "trials.csv", "value", space=space).trials]


def are_same(found: Any, expected: Any) -> bool:
    found, expected = (json.dumps(one, sort_keys=True) for one in (found, expected))
    return found == expected  # 3 is no 3.0, and True no 1


@settings(max_examples=60, phases=[Phase.explicit, Phase.generate])
@given(st.data())
def test_attributes_come_back_exactly_from_tables(tmp_path_factory: Any, data: Any) -> None:
    column, n = data.draw(COLUMNS), data.draw(st.integers(1, 4))
    kept = [data.draw(st.fixed_dictionaries({}, optional={"a": column, "b": JSON_VALUES})) for _ in range(n)]
    study = open_study()
    for i, attributes in enumerate(kept):
        study.add({"x": i, "attribute.size": 1}, float(i), attributes=attributes)
    for found in read_tables(study, tmp_path_factory.mktemp("tables")):
        assert are_same(found, kept)


def test_kinds_of_numbers_and_none_come_back_beside_gaps(tmp_path: Path) -> None:
    kept: list[dict[str, Any]] = [
        {"n": 3, "big": 2**60 + 1, "none": None, "empty": "", "whole": 2.0, "mixed": 1, "flag": True},
        {"mixed": 2.0},
        {},
    ]
    study = open_study()
    for i, attributes in enumerate(kept):
        study.add({"x": i, "attribute.size": 1 + i % 2}, float(i), attributes=attributes)
    for found in read_tables(study, tmp_path):
        assert are_same(found, kept)
    text = (tmp_path / "trials.csv").read_text()
    assert ",3," in text  # as a number
    with pytest.warns(SpaceGuessed) as shown:
        again = bo.Study.from_csv(tmp_path / "trials.csv", "value", method="random")
    assert are_same([trial.attributes for trial in again.trials], kept)
    assert all("attribute.n" not in str(one.message) for one in shown)


def test_tables_of_before_are_still_read() -> None:
    pandas = pytest.importorskip("pandas")
    table = {"x": [1, 2], "point.attribute.size": [1, 1], "point.x": [1, 2], "value": [1.0, 2.0]}
    old = {"attribute.t": ["a/b.pt", '"3"'], "attribute.d": ["true", '{"a": null}'], "attribute.f": [0.5, None]}
    added = open_study().add_frame(pandas.DataFrame(table | old))
    assert [dict(trial.attributes) for trial in added] == [
        {"t": "a/b.pt", "d": True, "f": 0.5},
        {"t": "3", "d": {"a": None}},
    ]


def test_no_method_sees_attributes() -> None:
    points = [[trial.point for trial in bo.minimize(f, SPACE, 14, seed=0).trials] for f in (plain, with_attributes)]
    assert points[0] == points[1]


def plain(point: Any) -> float:
    return float(point["x"])


def with_attributes(point: Any) -> bo.Outcome:
    return bo.Outcome(plain(point), attributes={"x": point["x"]})


def test_an_attribute_is_json_as_it_was_when_it_was_given() -> None:
    sizes = [1]
    reader = AttributeReader()
    reader.read({"sizes": sizes, "array": np.arange(2), "tuple": (1, "a")})
    sizes.append(2)
    assert (kept := reader.kept) == {"sizes": [1], "array": [0, 1], "tuple": [1, "a"]}
    assert json.dumps(kept)
    assert failure(ValueError("x")).attributes == {}


def test_an_attribute_outside_of_an_evaluation_warns() -> None:
    with pytest.warns(UserWarning, match="set_attribute: nothing is recorded"):
        bo.set_attribute("a", 1)
