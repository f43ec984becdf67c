"""Trials in data frames: moments with a time zone, and rows that another study adds."""

from __future__ import annotations

import datetime
import re
import signal
import subprocess
import sys
from contextlib import nullcontext, suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.storage.protocol import StorageError
from bostruct.storage.writing import Transaction
from bostruct.study.frames import NO_REASON, UNMEASURED, FrameRow, from_dataframe
from tests.conditional_spaces import conditional_spaces

SPACE = {
    "kind": ["net", "forest"],
    "layers": bo.Integer(1, 5000, when={"kind": "net"}),
    "width": bo.Integer(1, 9, when={"kind": "net"}),
    "rate": bo.Real(0.0, 1.0),
    "seed": [None, 1],
    "order": bo.Permutation(["a", "b", "c"]),
}


def objective(point):
    if point["rate"] < 0.2:
        raise bo.Infeasible("too slow")
    if point["rate"] > 0.9:
        raise ValueError("too fast")
    return point["rate"] + point.get("width", 0)


LIMITED = {"directions": ["minimize", "maximize"], "constraints": {"size": ("<=", 5.0)}, "method": "random", "seed": 0}


def told(trials):
    return [(t.point, t.status, t.value, t.values, t.reason, dict(t.constraints)) for t in trials]


def digits(**given):
    return bo.Study({"n": bo.Integer(1, 9)}, **given)


def test_moments_are_datetimes_in_utc():
    before = datetime.datetime.now(datetime.UTC)
    study = bo.Study(SPACE, method="random", seed=0)
    study.tell(study.ask(), 1.0)
    study.ask()
    frame = study.result.to_dataframe()
    for column in ("started", "finished"):
        assert isinstance(frame[column].dtype, pd.DatetimeTZDtype)
        assert str(frame[column].dt.tz) == "UTC"
    assert before - datetime.timedelta(seconds=1) < frame["started"][0] <= frame["finished"][0]
    assert frame["finished"].isna().tolist() == [False, True]
    assert (frame["finished"] - frame["started"])[0].total_seconds() == pytest.approx(frame["seconds"][0], abs=1e-5)


@pytest.mark.parametrize(("limits", "more"), [(None, []), ({"size": ("<=", 3)}, ["constraint.size", "feasible"])])
def test_a_study_without_trials_has_the_columns_of_one_with_trials(tmp_path, limits, more):
    study = bo.Study(SPACE, constraints=limits)
    frame = study.result.to_dataframe()
    assert list(frame.columns[: 3 + len(more)]) == ["number", "status", "value", *more]
    assert len(frame) == 0
    assert isinstance(frame["started"].dtype, pd.DatetimeTZDtype)
    study.result.to_csv(tmp_path / "trials.csv")
    assert list(pd.read_csv(tmp_path / "trials.csv").columns) == [name for name in frame.columns if name != "finished"]
    study.ask()
    assert set(frame.columns) == {name for name in study.result.to_dataframe().columns if not name.startswith("point")}


def test_a_study_adds_what_another_wrote():
    result = bo.minimize(objective, SPACE, 40, method="random", seed=0)
    assert result.n_failed > 0
    assert result.n_infeasible > 0
    study = bo.Study(SPACE, method="random", seed=1)
    added = study.add_frame(result.to_dataframe())
    assert told(added) == told(study.trials) == told(result.trials)
    assert {trial.origin for trial in added} == {"added"}
    assert type(next(t.point["layers"] for t in added if "layers" in t.point)) is int


CHOICES = [
    bo.Categorical(["None", "salt"]),
    bo.Categorical(["NA", "salt"], when={"flag": True}),
    bo.Categorical(["1", "2", "03"]),
    bo.Categorical(["1.5", "b"]),
    bo.Categorical(["True", "False"]),
    bo.Categorical([None, 1, 2]),
    bo.Categorical([None, "a", 2.5]),
    bo.Ordinal(np.linspace(0, 1, 7)),
    bo.Ordinal([1, 2, 4], when={"flag": True}),
    bo.Fidelity([0.1, 1 / 3, 1.0]),
    bo.Integer(0, 10**12),
    bo.Real(1e-9, 1, log=True, when={"flag": True}),
    bo.Permutation([1 / 3, 2 / 3, "c"]),
    bo.Permutation([1 / 3, 2 / 3, "c"], length=2),
    bo.Subset(["a", "b", "c"], size=(0, 2)),
    bo.Subset(range(4), size=2, when={"flag": True}),
    bo.Sequence([0.1, 0.2], length=(1, 3)),
    bo.Candidates({"label": [1 / 3, 2 / 3, 0.1 + 0.2], "x": range(3)}, label="label"),
    bo.Categorical([float("inf"), 1.0]),
    bo.Categorical(["1", 1.5, (2, "b"), "('c',)"]),
    bo.Categorical([None, [1, 2], [3]]),
]
CONDITIONAL = {
    "a choice None under a condition": {
        "inner": bo.Categorical([None, "x"], when={"depth": None}),  # before its parent
        "depth": bo.Categorical([None, 1, 2], when={"kind": "tree"}),
        "kind": ["tree", "net", None],
    },
    "no walk over a grid": {
        "a": ["x", "y"],
        "r": bo.Real(0, 1, when={"a": "x"}),
        "n": bo.Integer(0, 10**12, when={"a": "y"}),
    },
    "a choice None beside a part": {
        "inner": {"flip": bool, "crop": [None, 2]},
        "n": [None, 1],
        "m": bo.Categorical([None, 2], when={"n": 1}),
    },
    "a condition on a part": {
        "inner": {"kind": ["a", "b"], "x": bo.Ordinal([1 / 3, 2 / 3]), "rate": bo.Real(0, 1)},
        "n": bo.Integer(1, 3, when={"inner": lambda inner: inner["kind"] == "a"}),
        "flag": bool,
    },
}
SPACES = CONDITIONAL | {repr(variable): {"v": variable, "flag": bool} for variable in CHOICES}


@pytest.mark.parametrize("space", SPACES)
def test_every_kind_of_choices_goes_round(tmp_path, space):
    study, other, third, fourth = (bo.Study(SPACES[space], method="random", seed=0) for _ in range(4))
    for i in range(7):
        with suppress(bo.SpaceExhausted):
            study.tell(study.ask(), float(i))
    given = {frozenset(trial.point) for trial in study.trials}
    assert frozenset.union(*given) == set(SPACES[space])
    assert len(given) > 1 or space not in CONDITIONAL, "points that lack a variable"
    assert told(other.add_frame(study.result.to_dataframe())) == told(study.trials)
    study.result.to_csv(tmp_path / "a.csv")
    assert told(third.add_frame(pd.read_csv(tmp_path / "a.csv"))) == told(study.trials)
    own = pd.DataFrame([trial.point for trial in study.trials]).assign(value=[trial.value for trial in study.trials])
    own.to_csv(tmp_path / "own.csv")
    assert told(fourth.add_frame(pd.read_csv(tmp_path / "own.csv"))) == told(study.trials)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ({"beans": ["__import__('os').getcwd()"], "kind": ["net"]}, r"frame: row 0: beans: .*__import__"),
        ({"beans": ["('ar', 'li')"], "kind": ["bush"]}, r"frame: row 0: kind: expected one of"),
    ],
)
def test_texts_of_a_frame_are_read_as_literals_and_never_run(frame, words):
    study = bo.Study({"beans": bo.Subset(["ar", "li", "ro"], size=2), "kind": ["tree", "net", None]})
    with pytest.raises(PointError, match=words):
        study.add_frame(pd.DataFrame(frame | {"value": [1.0]}))


def test_known_noise_and_repeats_go_round(tmp_path):
    study = digits(seed=0)
    study.add({"n": 1}, 2.0)
    study.add({"n": 2}, 3.0, sd=0.5)
    study.add({"n": 3}, repeats=[0.1, 0.2, 0.4])
    study.add({"n": 4}, failed="no")
    study.result.to_csv(tmp_path / "out.csv")
    for frame in (study.result.to_dataframe(), pd.read_csv(tmp_path / "out.csv")):
        again = digits(seed=1)
        again.add_frame(frame)
        assert [(t.value, t.sd, t.repeats) for t in again.trials] == [(t.value, t.sd, t.repeats) for t in study.trials]
    assert not {"value.sd", "value.repeats"} & {*digits(method="random").result.to_dataframe().columns}
    frame = study.result.to_dataframe()
    for cell, words in (
        ("0.1", "row 2: column 'value.repeats': expected a list of numbers as JSON, got '0.1'"),
        ("[0.1", "row 2: column 'value.repeats': expected a list of numbers as JSON"),
        ('["a"]', "row 2: repeats: expected a number"),
        ("[0.1, 0.2]", "row 2: values: expected the mean of the repeats"),
    ):
        frame.loc[2, "value.repeats"] = cell
        with pytest.raises((TypeError, ValueError), match=re.escape(words)):
            digits(seed=1).add_frame(frame)


def test_several_objectives_and_limits_go_round():
    def measure(point):
        return {"value": (point["x"], 1.0 - point["x"]), "constraints": {"size": 10.0 * point["x"]}}

    result = bo.minimize(measure, {"x": bo.Real(0, 1)}, 8, **LIMITED)
    study = bo.Study({"x": bo.Real(0, 1)}, **LIMITED)
    assert told(study.add_frame(result.to_dataframe())) == told(result.trials)


@pytest.mark.parametrize("failing", [{0}, {2}, {0, 1, 2, 3}])
def test_failed_trials_leave_the_columns_of_several_objectives_as_they_are(tmp_path, failing):
    studies = [bo.Study({"x": range(9)}, **LIMITED) for _ in range(4)]
    for numbers, study in ((failing, studies[0]), (set(), studies[1])):
        for trial in study.ask(4):
            lost = trial.number in numbers
            study.tell(trial, **({"failed": "lost"} if lost else {"value": (1.0, 2.0), "constraints": {"size": 1.0}}))
    frame, whole = (study.result.to_dataframe() for study in studies[:2])
    assert list(frame.columns) == list(whole.columns)
    columns = ["number", "status", "value.0", "value.1", "constraint.size", "feasible", "reason"]
    assert list(frame.columns)[: len(columns)] == columns
    assert set(frame.index[frame["value.1"].isna()]) == set(frame.index[frame["feasible"].isna()]) == failing
    assert told(studies[2].add_frame(frame)) == told(studies[0].trials)
    studies[0].result.to_csv(tmp_path / "a.csv")
    assert told(studies[3].add_frame(pd.read_csv(tmp_path / "a.csv"))) == told(studies[0].trials)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(conditional_spaces())
def test_conditional_points_go_round(space):
    study, other = (bo.Study(space, method="random", seed=0) for _ in range(2))
    for i, row in enumerate(space.sample(3, np.random.default_rng(0))):
        study.add(space.present(row), float(i))
    with suppress(bo.SpaceExhausted):
        study.ask()  # running, and left out
    frame = study.result.to_dataframe()
    with pytest.warns(UserWarning, match="1 of 4 rows without") if len(frame) > 3 else nullcontext():
        added = other.add_frame(frame)
    assert told(added) == told(study.trials[:3])


def test_a_row_without_a_value_was_never_run():
    frame = pd.DataFrame({"n": [1, 2, 3], "loss": [0.5, np.nan, 0.25], "note": ["", "lost", ""]}, index=["a", "b", "c"])
    study = digits()
    with pytest.warns(UserWarning, match=r"frame: 1 of 3 rows without a value left out, the first of them row 'b'"):
        study.add_frame(frame, value="loss")
    assert [(t.point["n"], t.status, t.value) for t in study.trials] == [(1, "completed", 0.5), (3, "completed", 0.25)]
    assert study.best_value == 0.25


TEMP = {"Temp": bo.Ordinal([1, 1.5, 2, 1234.5])}
ONE, TWO = {"Temp": [1], "value": [1.0]}, {"Temp": [1, 2], "value": [1.0, 2.0]}
AS_STATE = {"failed": "state"}
EXPECTED_STATE = "frame: row 1: failed: column 'state': expected True, False or a reason, got "


@pytest.mark.parametrize(
    ("frame", "arguments", "words"),
    [
        (ONE | {"value": ["high"]}, {}, "frame: row 0: column 'value': "),
        ({"Temp": [1]}, {}, "value: expected one of the columns"),
        (ONE, {"value": ["value", "Temp"]}, "value: expected 1 column name, got"),
        ({"m": [1], "value": [0.0]}, {}, "frame: expected a column for each variable"),
        (TWO | {"state": [False, 2.5]}, AS_STATE, EXPECTED_STATE + "2.5"),
        # false, or failed
        (TWO | {"state": ["ok", "F"], "value": [1.0, None]}, AS_STATE, EXPECTED_STATE + "'F'"),
        (TWO | {"state": [True, False]}, {"failed": "State"}, r"failed: expected one of the columns .*, got 'State'"),
        (TWO | {"status": ["failed"] * 2}, {}, r"frame: row 0: column 'status' marks .* failed, but column 'value'"),
        (TWO | {"state": [True] * 2}, AS_STATE, r"frame: row 0: column 'state' marks .* failed, but column 'value'"),
        (TWO | {"value": ["3", "1,5"]}, {}, r"frame: row 1: column 'value': expected a number, got '1,5'; pass dec"),
        (TWO | {"value": ["45", "FAILED"]}, {}, r"frame: row 1: column 'value': expected a number, got 'FAILED'"),
        ({"Temp": ["C", 1], "value": ["g", "2"]}, {}, "row 0: column 'value': .*second header, pass skiprows="),
        ({"temp": [1], "value": [1]}, {}, r"pass frame.rename\(columns=\{'temp': 'Temp'\}\)"),
        ({"params_Temp": [1], "value": [1]}, {}, r"pass frame.rename\(columns=\{'params_Temp': 'Temp'\}\)"),
        ({"config/Temp": [1], "value": [1]}, {}, r"pass frame.rename\(columns=\{'config/Temp': 'Temp'\}\)"),
        ({"Tmp": [1], "value": [1]}, {}, r"a column for each variable, 'Temp' or 'point.Temp'; got .*'Tmp'"),
        ({"Temp": [1], "Loss": [1]}, {"value": "loss"}, r"value: expected .*, got 'loss'; pass value='Loss'"),
        ({("Temp", "C"): [1], ("value", "g"): [1]}, {}, r"frame: expected one row of column names, got 2, .*header=0"),
        (ONE, {"unmeasured": "fail"}, "unmeasured: expected 'skip' or 'queue', got 'fail'"),
    ],
)
def test_a_wrong_frame_is_refused_at_its_row_with_the_argument_to_pass(frame, arguments, words):
    study = bo.Study(TEMP)
    with pytest.raises(ValueError, match=words):
        study.add_frame(pd.DataFrame(frame), **arguments)
    assert study.trials == ()


@pytest.mark.parametrize(
    ("temperatures", "words"),
    [
        ([1, 99], ""),
        ([1, "1,5"], r".*got '1,5'; pass decimal=','"),
        ([1, "1.234,5"], r".*got '1\.234,5'; pass decimal=','"),
        (["1", "hot"], r"expected .*, got 'hot'"),
        ([1, None], r"expected a value, got an empty cell; .*keep_def"),
    ],
)
def test_a_cell_that_is_no_value_of_its_variable_is_refused_at_its_row(temperatures, words):
    study = bo.Study(TEMP)
    with pytest.raises(PointError, match=f"frame: row 1: Temp: {words}"):
        study.add_frame(pd.DataFrame(TWO | {"Temp": temperatures}))
    assert study.trials == ()


def test_what_is_no_frame_is_refused():
    with pytest.raises(TypeError, match="frame: expected a pandas DataFrame"):
        digits().add_frame([{"n": 1}])


def test_a_frame_has_a_column_for_each_limit_and_for_no_other():
    limited = bo.Study({"a": range(9)}, method="random", seed=0, constraints={"heat": ("<=", 4.0)})
    limited.optimize(lambda p: {"value": p["a"], "constraints": {"heat": 9.0 - p["a"]}}, 5, progress=False)
    frame = limited.result.to_dataframe()
    with pytest.raises(ValueError, match=r"frame: got the column 'constraint\.heat', on which the study declares no"):
        bo.Study({"a": range(9)}, method="random").add_frame(frame)
    again = bo.Study({"a": range(9)}, method="random", constraints={"heat": ("<=", 4.0)})
    with pytest.raises(ValueError, match=r"frame: expected a column 'constraint\.heat' for a limit, got \['n"):
        again.add_frame(frame.drop(columns="constraint.heat"))
    assert told(again.add_frame(frame)) == told(limited.trials)


PLANNED = sorted(UNMEASURED)  # in lower case


@pytest.mark.parametrize("text", [*PLANNED, *map(str.upper, PLANNED), " ", " Pending ", None, np.nan, pd.NA, pd.NaT])
def test_what_a_writer_has_in_place_of_a_value_is_no_failure(text):
    frame = pd.DataFrame({"n": [1, 2, 3], "yield": ["4.5", text, "45"]})
    study = bo.Study({"n": range(1, 9)}, method="random", seed=0)
    with pytest.warns(UserWarning, match=r"frame: 1 of 3 rows without .* row 1: they count as never run"):
        study.add_frame(frame, value="yield")
    assert [(t.point["n"], t.value) for t in study.trials] == [(1, 4.5), (3, 45.0)]
    assert study.result.n_failed == 0


def test_a_campaign_that_is_planned_goes_on():
    frame = pd.DataFrame([(a, b) for a in range(13) for b in range(13)], columns=["a", "b"])
    frame["value"] = [str(a + b) if a == b < 9 else "PENDING" for a, b in zip(frame["a"], frame["b"], strict=True)]
    study = bo.Study({"a": range(13), "b": range(13)}, method="random", seed=0)
    with pytest.warns(UserWarning, match="160 of 169 rows without a value left out"):
        assert len(study.add_frame(frame)) == 9
    assert study.ask().status == "running"


def test_planned_rows_are_queued_where_the_caller_says_so(tmp_path):
    frame = pd.DataFrame({"n": [1, 2, 3, 1, 4], "value": [0.5, None, None, None, 0.1]})
    with digits(method="random", seed=0, storage=tmp_path / "runs.db") as study:
        with pytest.warns(UserWarning, match="frame: 1 row without a value not queued"):  # the fourth, of the first's
            added = study.add_frame(frame, unmeasured="queue")
        statuses = [(t.point["n"], t.status) for t in added]
        assert statuses == [(1, "completed"), (4, "completed"), (2, "running"), (3, "running")]
        assert study.n_waiting == 2
        trial = study.ask()
        assert (trial.point, trial.origin) == ({"n": 2}, "given")
        study.tell(trial, 3.0)
    with bo.Study.load(tmp_path / "runs.db") as study:
        result = study.optimize(lambda p: float(p["n"]), 3, progress=False)
    assert [t.point["n"] for t in result.trials][:4] == [1, 4, 2, 3]
    assert (result.n_completed, result.n_failed) == (5, 0)


def add_states(cell, n_left_out):
    """Return the status and the reason of each trial of a frame whose first row has this cell and no value."""
    frame = pd.DataFrame({"n": [1, 2, 3], "value": [None, 0.5, None]})
    frame["state"] = pd.Series([cell, None if cell is True else "COMPLETED", ""], dtype=object)
    with pytest.warns(UserWarning, match=f"{n_left_out} of 3 rows without a value left out, the first"):
        return [(t.status, t.reason) for t in digits().add_frame(frame, failed="state")]


@pytest.mark.parametrize("cell", [True, 1, 1.0, "True", "yes", "FAILED", "1", "error", "T", "Crashed", "exploded"])
def test_a_column_of_the_callers_says_what_failed(cell):
    reason = "exploded" if cell == "exploded" else NO_REASON
    assert add_states(cell, 1) == [("failed", reason), ("completed", None)]


FINE = ["no", "0", "N", "ok", "success", "COMPLETED", "False", "pending", "SCHEDULED", "Abandoned", "PRUNED"]


@pytest.mark.parametrize("cell", [False, 0, None, "", "CANCELLED", "TERMINATED", *FINE])
def test_a_column_of_the_callers_says_what_did_not_fail(cell):
    assert add_states(cell, 2) == [("completed", None)]


@pytest.mark.parametrize("words", [["running", "stopped", "stopped"], ["running"] * 3, ["on", "off", "on"]])
def test_a_status_that_is_not_ours_says_nothing(words):
    study = digits()
    study.add_frame(pd.DataFrame({"n": [1, 2, 3], "status": words, "value": [3.0, 2.0, 1.0]}))
    assert [t.value for t in study.trials] == [3.0, 2.0, 1.0]
    assert study.result.n_failed == 0


@pytest.mark.parametrize("failure", ["failed", "Failed", "TrialState.FAIL", "error", "infeasible"])
@pytest.mark.parametrize("beside", ["ok", "planned", "TrialState.COMPLETE", "Cancelled"])
def test_a_status_says_which_rows_failed_whatever_it_says_of_others(failure, beside):
    frame = pd.DataFrame({"x": [1, 2, 3], "status": [beside, failure, beside], "value": [3.0, np.nan, 1.0]})
    study = bo.Study({"x": bo.Integer(1, 9)})
    study.add_frame(frame.assign(reason=["", "too hot", ""]), unmeasured="queue")
    assert [t.value for t in study.trials] == [3.0, None, 1.0]
    assert study.trials[1].status == ("infeasible" if failure == "infeasible" else "failed")
    assert study.trials[1].reason == "too hot"
    frame.loc[0, "status"] = "melted"
    with pytest.raises(ValueError, match=r"'status'.*means that a trial failed, but 'melted' is not a status"):
        study.add_frame(frame)
    frame["crashed"] = [False, True, False]
    other = bo.Study({"x": bo.Integer(1, 9)})
    other.add_frame(frame, failed="crashed")
    assert [t.status for t in other.trials] == ["completed", "failed", "completed"]


def test_what_is_no_data_in_our_tables_is_none_when_it_is_read_back():
    study = bo.Study({"x": bo.Real(0, 0.3)}, method="random", seed=0)
    study.cancel(study.ask())
    for machine in ("GPU 0", "GPU 0"):
        study.tell(study.ask(), failed="CUDA lost", machine=machine)
    study.tell(study.ask(), 1.0)
    study.tell(study.ask(), failed="too hot")
    table = study.result.to_dataframe()
    lost = [trial.number for trial in study.trials if trial.is_no_data]
    assert lost
    assert table.loc[table["no_data"].notna(), "number"].tolist() == lost
    other = bo.Study({"x": bo.Real(0, 0.3)}, seed=0)
    with pytest.warns(UserWarning, match="without a value left out"):
        other.add_frame(table)
    assert [(t.status, t.reason) for t in other.trials] == [("failed", "too hot"), ("completed", None)]


def test_whole_numbers_are_rounded_levels_too():
    levels = np.linspace(0, 0.999, 4)
    study = bo.Study({"x": bo.Ordinal(levels.tolist())})
    with pytest.warns(UserWarning, match="3 such, the first 0.33"):
        study.add_frame(pd.DataFrame({"x": levels.round(2), "value": [1.0, 2.0, 3.0, 4.0]}))
    assert [t.point["x"] for t in study.trials] == levels.tolist()


def test_one_column_is_one_objective():
    study = bo.Study({"x": bo.Real(0, 1)}, directions=["minimize"] * 2)
    with pytest.raises(ValueError, match="distinct columns, one for each objective"):
        study.add_frame(pd.DataFrame({"x": [0.1], "y": [1.0]}), value=["y", "y"])


NAMES = ["status", "point", "value", "number", "reason", "origin", "started", "seconds", "constraint.size", "feasible"]
NAMES += ["point.x", "unread", "stopped_at", "suggest_seconds", "finished", "value.0"]


def of_a_name(name):
    """Return a space with a variable of a name that tables use, beside one that its values hide, and its points."""
    space = {name: ["running", "failed"], "x": bo.Integer(1, 9), "y": bo.Real(0, 1, when={name: "running"})}
    points = [{name: "running", "x": 1, "y": 0.5}, {name: "failed", "x": 2}, {name: "running", "x": 3, "y": 0.25}]
    return space, points


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("as_file", [False, True])
def test_variables_may_have_the_names_of_our_columns(tmp_path, name, as_file):
    space, points = of_a_name(name)
    goals = {"constraints": {"size": ("<=", 5.0)}}
    study, other, third = (bo.Study(space, **goals) for _ in range(3))
    for i, point in enumerate(points):
        study.add(point, float(i), constraints={"size": i})
    study.add({name: "failed", "x": 4}, failed="lost")
    frame = study.result.to_dataframe()
    if as_file:
        study.result.to_csv(tmp_path / "a.csv")
        frame = pd.read_csv(tmp_path / "a.csv")
    assert told(other.add_frame(frame)) == told(study.trials)
    own = pd.DataFrame(points).assign(loss=[0.0, 1.0, 2.0])
    if name == "constraint.size":
        with pytest.raises(ValueError, match=r"expected a column 'constraint\.size' for a limit"):
            third.add_frame(own, value="loss")
        return
    third.add_frame(own.assign(**{"constraint.size": [0, 1, 2]}), value="loss")
    assert told(third.trials) == told(study.trials[:3])


def test_all_of_the_names_of_our_columns_at_once():
    space = bo.Space({name: bo.Integer(0, 3) for name in NAMES})
    study, other, third = (bo.Study(space, method="random", seed=0) for _ in range(3))
    for i in range(4):
        study.add(dict.fromkeys(NAMES, i), float(i))
    assert told(other.add_frame(study.result.to_dataframe())) == told(study.trials)
    own = pd.DataFrame([trial.point for trial in study.trials])
    with pytest.raises(ValueError, match=r"value: 'value' is the column of a variable; pass the column of the"):
        third.add_frame(own)
    assert told(third.add_frame(own.assign(loss=range(4)), value="loss")) == told(study.trials)


@pytest.mark.parametrize("unmeasured", ["skip", "queue"])
@pytest.mark.parametrize(
    "measured",
    [
        {"value.0": 1.5},
        {"value.1": -1.5, "constraint.size": 2.0},
        {"constraint.size": 2.0},
        {"value.0": 1.0, "value.1": 2.0},
    ],
)
def test_what_was_measured_of_a_row_is_kept(tmp_path, unmeasured, measured):
    whole = {"x": 0.5, "value.0": 1.0, "value.1": 2.0, "constraint.size": 3.0}
    frame = pd.DataFrame([whole, {"x": 0.25} | measured])
    study, again = (bo.Study({"x": bo.Real(0, 1)}, storage=file, **LIMITED) for file in (tmp_path / "a.db", None))
    with pytest.warns(UserWarning, match=r"frame: 1 row with only some of the values, the first of them row 1"):
        first, second = study.add_frame(frame, unmeasured=unmeasured)
    assert (first.status, second.status, second.info["measured"]) == ("completed", "running", measured)
    table = study.result.to_dataframe()
    assert table.loc[1, list(measured)].tolist() == list(measured.values())
    with pytest.warns(UserWarning, match="1 row with only some"):
        assert again.add_frame(table)[1].info["measured"] == measured
    study.close()
    with bo.Study.load(tmp_path / "a.db") as study:
        trial = study.ask()
        assert (trial.point, trial.info["measured"]) == ({"x": 0.25}, measured)
        study.tell(trial, (1.5, 2.5), constraints={"size": 1.0})
        assert study.result.to_dataframe().loc[1, ["value.0", "value.1"]].tolist() == [1.5, 2.5]


def test_what_was_measured_of_a_failed_row_is_kept():
    study, again = (bo.Study({"x": bo.Real(0, 1)}, directions=["minimize"] * 2) for _ in range(2))
    frame = pd.DataFrame({"x": [0.5], "a": [1.0], "b": [None], "status": ["failed"], "reason": ["burst"]})
    trial = study.add_frame(frame, value=["a", "b"])[0]
    assert (trial.status, trial.reason, trial.info["measured"]) == ("failed", "burst", {"value.0": 1.0})
    assert again.add_frame(study.result.to_dataframe())[0].info["measured"] == {"value.0": 1.0}


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame([[1, 2, 3.0]], columns=["n", "n", "value"])
    with pytest.raises(ValueError, match="frame: expected columns of distinct names, got 'n' more than once"):
        bo.Study({"n": range(9)}).add_frame(frame)


def test_choices_that_a_file_cannot_tell_apart_are_refused():
    study = bo.Study({"v": [None, "NA", "b"]})
    frame = pd.DataFrame({"v": ["b", None], "value": [1.0, 2.0]})
    with pytest.raises(
        PointError, match=r"frame: row 1: v: got a missing value, .* \[None, 'NA'\]; pass keep_default_na=False"
    ):
        study.add_frame(frame)
    frame = pd.DataFrame({"v": ["NA", ""], "value": ["1.0", "2.0"]})  # with keep_default_na=False
    assert [t.point["v"] for t in study.add_frame(frame)] == ["NA", None]


@pytest.mark.parametrize("as_text", [False, True])
def test_rounded_levels_are_noted_once_a_column(as_text):
    levels = np.linspace(0, 1, 8)
    level = bo.Ordinal(levels)
    study = bo.Study({"x": level, "y": level, "inner": {"z": level}, "v": bo.Subset(levels, size=1)})
    rounded = [float(f"{one:.3f}") for one in levels]
    frame = pd.DataFrame({"x": list(map(str, rounded)) if as_text else rounded, "y": levels, "value": range(8)})
    frame["inner"], frame["v"] = [{"z": one} for one in rounded], [(one,) for one in rounded]
    with pytest.warns(UserWarning, match="numbers are read as the listed numbers that round to them") as said:
        study.add_frame(frame)
    lines = str(said[0].message).splitlines()[1:]
    assert len(said) == 1
    read = "6 such, the first 0.143, read as 0.14285714285714285"
    assert sorted(lines) == [f"- {name}: {read}" for name in ("inner", "v", "x")]
    assert [(t.point["x"], t.point["inner"]["z"]) for t in study.trials] == [(one, one) for one in levels]
    with pytest.raises(PointError, match=r"frame: row 0: x: expected one of .*, got 0\.15; the nearest is 0\.142857"):
        study.add_frame(frame.assign(x=0.15))


def test_single_precision_and_sums_are_levels_without_a_note():
    study = bo.Study({"x": bo.Ordinal([0.1, 0.2, 0.3]), "n": [1, 2]})
    frame = pd.DataFrame({"x": np.array([0.1, 0.2, 0.3], dtype=np.float32), "n": [1, 2, 1], "value": [1.0, 2.0, 3.0]})
    study.add_frame(frame)
    study.add_frame(frame.assign(x=[0.1, 0.2, 0.1 + 0.2], n=[2, 1, 2]))
    assert [t.point["x"] for t in study.trials] == [0.1, 0.2, 0.3] * 2


def test_rows_are_read_before_any_is_added():
    study = bo.Study({"n": range(1, 9)})
    frame = pd.DataFrame({"n": [1, 2], "value": [2.0, "PENDING"]})
    with pytest.warns(UserWarning, match="1 of 2 rows"):
        rows = from_dataframe(frame, "value", None, "skip", study.domain, study.goals)
    assert [(row.point, row.outcome.value, row.measured) for row in rows] == [({"n": 1}, 2.0, {})]
    rows = from_dataframe(frame, "value", None, "queue", study.domain, study.goals)
    assert rows[1] == FrameRow({"n": 2}, None, {})
    assert study.add_frame(frame[:0]) == []


def test_our_own_column_of_statuses_may_be_named():
    words = ["completed", "failed", "infeasible"]
    frame = pd.DataFrame({"n": [1, 2, 3], "value": [3.0, None, None], "status": words, "reason": ["", "burst", "big"]})
    added = digits().add_frame(frame, failed="status")
    assert [(trial.status, trial.reason) for trial in added] == [*zip(words, (None, "burst", "big"), strict=True)]


@pytest.mark.parametrize("values", [[None, 1.0, None], [1.0, None, None]])
@pytest.mark.parametrize("failed", [None, "burst"])
def test_a_row_is_not_queued_if_its_point_has_an_outcome_whatever_their_order(values, failed):
    frame = pd.DataFrame({"x": [5, 5, 5, 7], "value": [*values, None]})
    if failed is not None:
        frame["burst"] = frame["value"] == 1.0
        frame["value"] = np.nan
    study = bo.Study({"x": bo.Integer(1, 9)}, method="random", seed=0)
    with pytest.warns(UserWarning, match=r"frame: 2 rows without a value not queued, such as \{'x': 5\}"):
        added = study.add_frame(frame, failed=failed, unmeasured="queue")
    assert [(trial.point["x"], trial.status == "running") for trial in added] == [(5, False), (7, True)]
    assert study.ask().point == {"x": 7}
    assert study.n_waiting == 0


def test_a_row_is_not_queued_if_the_study_has_its_point():
    study = bo.Study({"x": bo.Real(0, 1)})
    study.add({"x": 0.5}, 1.0)
    with pytest.warns(UserWarning, match=r"1 row without .* \{'x': 0.5\}: the study already has trials of these"):
        assert study.add_frame(pd.DataFrame({"x": [0.5], "value": [None]}), unmeasured="queue") == []


def test_of_two_unfinished_rows_of_a_point_the_one_with_numbers_is_queued():
    study = bo.Study({"x": bo.Real(0, 1)}, directions=["minimize"] * 2)
    frame = pd.DataFrame({"x": [0.5, 0.5], "a": [None, 2.0], "b": [None, None]})
    with pytest.warns(UserWarning, match="frame: 1 row with"):
        (trial,) = study.add_frame(frame, value=["a", "b"], unmeasured="queue")
    assert trial.info["measured"] == {"value.0": 2.0}


def test_a_row_that_waits_was_not_prepared_by_the_method():
    study = bo.Study({"x": bo.Integer(1, 9)}, seed=0)
    study.add_frame(pd.DataFrame({"x": [5], "value": [None]}), unmeasured="queue")
    study.prefetch(2)
    assert [trial.info.get("prepared") for trial in study.ask(2)] == [None, True]


@pytest.mark.parametrize("cell", ["+nan", " NaN ", "-NAN", np.float32("nan"), "nan"])
@pytest.mark.parametrize("column", ["value", "constraint.size"])
def test_what_is_not_a_number_was_not_measured(cell, column):
    frame = pd.DataFrame({"x": [1, 2], "value": [1.0, None], "constraint.size": [1.0, None]}, dtype=object)
    frame.loc[1, column] = cell
    study = bo.Study({"x": bo.Integer(1, 9)}, constraints={"size": ("<=", 5.0)})
    with pytest.warns(UserWarning, match="1 of 2 rows without a value left out"):
        assert [trial.status for trial in study.add_frame(frame)] == ["completed"]


@pytest.mark.parametrize(
    "cell", ["inf", " -Infinity", "1e999", np.inf, -np.inf, np.float32("inf"), pytest.param(10**5000, id="huge")]
)
@pytest.mark.parametrize("column", ["value", "constraint.size"])
def test_infinities_are_refused_unless_their_rows_failed(cell, column):
    frame = pd.DataFrame({"x": [1, 2], "value": [1.0, 2.0], "constraint.size": [1.0, 2.0]}, dtype=object)
    frame.loc[1, column] = cell
    study = bo.Study({"x": bo.Integer(1, 9)}, constraints={"size": ("<=", 5.0)})
    with pytest.raises(ValueError, match=rf"row 1: column '{column}': expected a finite number, .*, and pass failed="):
        study.add_frame(frame)
    assert study.trials == ()
    frame.loc[1, "value"] = np.inf
    study.add_frame(frame.assign(state=["ok", "burst"]), failed="state")
    assert [(trial.status, trial.reason) for trial in study.trials] == [("completed", None), ("failed", "burst")]


def open_file(path):
    return bo.Study({"x": bo.Real(0.0, 1.0)}, method="random", seed=0, storage=path)


def count_transactions(study, frame, **how):
    before = study._store._snapshot._mark.revision
    study.add_frame(frame, **how)
    return study._store._snapshot._mark.revision - before


@pytest.fixture
def frame_of_repeats(monkeypatch):
    """Repeated points, numbers off the grid, failures, and rows to queue; a transaction has three rows."""
    monkeypatch.setattr("bostruct.study.study.CHUNK_SIZE", 3)
    step = 1e-15  # less than half a step of the grid
    xs = [0.5, 0.25, 0.25 + step, 0.5, 0.25 + 2 * step, 0.75, 0.75, 0.5, 0.125, 0.125]
    return pd.DataFrame({"x": xs, "value": [1.0, 2.0, 3.0, 4.0, 5.0, None, None, None, None, 6.0]})


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_enter_a_file_in_few_transactions_as_they_enter_memory_one_by_one(tmp_path, frame_of_repeats):
    with open_file(tmp_path / "a.db") as study, open_file(None) as memory:
        assert count_transactions(study, frame_of_repeats, unmeasured="queue") == 3  # the last row is left out
        memory.add_frame(frame_of_repeats, unmeasured="queue")
        for known in (study, bo.Study.load(tmp_path / "a.db", read_only=True)):
            assert told(known.trials) == told(memory.trials)
            assert [one.info for one in known.trials] == [one.info for one in memory.trials]
        assert [one.info.get("same_step_as") for one in study.trials] == [None, None, 1, None, 1, None, None]
        assert study.waiting == memory.waiting == (6,)
        assert study.ask().point == memory.ask().point == {"x": 0.75}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_of_a_transaction_all_rows_are_kept_or_none(tmp_path, frame_of_repeats, monkeypatch):
    whole, insert = frame_of_repeats.dropna(), Transaction.insert

    def fail(self, row, state):
        insert(self, row, state)
        if row.number == 4:
            raise StorageError("full")

    with open_file(tmp_path / "a.db") as study:
        monkeypatch.setattr(Transaction, "insert", fail)
        with pytest.raises(StorageError, match="full"):
            study.add_frame(whole)
        monkeypatch.undo()
        assert [one.value for one in study.trials] == [1.0, 2.0, 3.0]
        assert told(bo.Study.load(tmp_path / "a.db", read_only=True).trials) == told(study.trials)
        assert len(study.add_frame(whole)) == 6  # a repeated call adds all rows again
        assert [one.number for one in study.trials] == list(range(9))
        assert told(bo.Study.load(tmp_path / "a.db", read_only=True).trials) == told(study.trials)


def test_a_warning_of_a_row_names_its_trial():
    study = bo.Study({"x": bo.Integer(1, 9)}, method="random", seed=0)
    study.add({"x": 9}, 1.0)
    frame = pd.DataFrame({"x": [1, 2, 3], "value": [1.0, None, 2.0], "attribute.size": [1, {2}, {3}]})
    with pytest.warns(UserWarning, match="the attribute is left out") as caught:
        study.add_frame(frame, unmeasured="queue")
    assert [str(one.message).partition(": ")[0] for one in caught] == ["trial 2", "trial 3"]
    assert [one.attributes for one in study.trials] == [{}, {"size": 1}, {}, {}]


KILLED = """
import os, signal, sys
import pandas as pd
import bostruct as bo
from bostruct.storage.writing import Transaction

insert = Transaction.insert

def insert_and_die(self, row, state):
    insert(self, row, state)
    if row.number == 1_004:
        os.kill(os.getpid(), signal.SIGKILL)

Transaction.insert = insert_and_die
study = bo.Study({"x": bo.Real(0.0, 1.0)}, method="random", seed=0, storage=sys.argv[1])
study.add_frame(pd.DataFrame({"x": [i / 2_000 for i in range(1_500)], "value": 1.0}))
"""


def test_a_kill_between_two_rows_leaves_a_valid_study(tmp_path):
    path = tmp_path / "a.db"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    with open_file(path) as study:
        assert len(study.trials) == 1_000
        study.tell(study.ask(), 1.0)
