"""Trials in data frames: moments with a time zone, and rows that another study adds."""

from __future__ import annotations

import datetime
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.study.frames import NO_REASON, read_frame
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


def told(trials):
    return [(t.point, t.status, t.value, t.values, t.reason, dict(t.constraints)) for t in trials]


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


def test_a_choice_none_goes_round_where_its_variable_has_a_condition():
    space = {
        "inner": bo.Categorical([None, "x"], when={"depth": None}),  # before its parent
        "depth": bo.Categorical([None, 1, 2], when={"kind": "tree"}),
        "kind": ["tree", "net", None],
    }
    study, other = (bo.Study(space, method="random", seed=0) for _ in range(2))
    study.optimize(lambda point: float(len(point)), 7, progress=False)
    points = [trial.point for trial in study.trials]
    assert {"kind": "tree", "depth": None, "inner": None} in points
    assert {"kind": None} in points
    assert [trial.point for trial in other.add_frame(study.result.to_dataframe())] == points
    with pytest.raises(PointError, match=r"frame: row 0: kind: expected one of"):
        other.add_frame(pd.DataFrame({"kind": ["bush"], "depth": [None], "inner": [None], "value": [1.0]}))


def test_real_numbers_that_some_rows_lack_go_round_without_a_walk_over_their_grid():
    space = {"a": ["x", "y"], "r": bo.Real(0, 1, when={"a": "x"}), "n": bo.Integer(0, 10**12, when={"a": "y"})}
    result = bo.minimize(lambda p: p.get("r", 0.5), space, 6, method="random", seed=0, progress=False)
    assert {len(trial.point) for trial in result.trials} == {2}
    assert {trial.point["a"] for trial in result.trials} == {"x", "y"}
    study = bo.Study(space)
    assert told(study.add_frame(result.to_dataframe())) == told(result.trials)


def test_a_choice_none_goes_round_beside_other_domains():
    space = {"inner": {"flip": bool, "crop": [None, 2]}, "n": [None, 1], "m": bo.Categorical([None, 2], when={"n": 1})}
    study, other = (bo.Study(space, method="random", seed=0) for _ in range(2))
    study.optimize(lambda point: float(len(point)), 8, progress=False)
    points = [trial.point for trial in study.trials]
    assert {point["n"] for point in points} == {None, 1}
    assert [trial.point for trial in other.add_frame(study.result.to_dataframe())] == points


def test_points_come_back_from_a_csv_file(tmp_path):
    space = {
        "beans": bo.Subset(["ar", "li", "ro"], size=(0, 2)),
        "order": bo.Permutation(["a", "b", "c"]),
        "word": bo.Sequence("xy", length=(1, 3)),
        "mixed": bo.Categorical(["1", 1.5, (2, "b"), "('c',)"]),
        "extra": bo.Subset(range(4), size=2, when={"flag": True}),
        "flag": bool,
        "inner": {"flip": bool, "rate": bo.Real(0, 1)},
    }
    result = bo.minimize(lambda p: p["inner"]["rate"], space, 20, method="random", seed=0, progress=False)
    result.to_csv(tmp_path / "trials.csv")
    added = bo.Study(space).add_frame(pd.read_csv(tmp_path / "trials.csv"))
    assert [trial.point for trial in added] == [trial.point for trial in result.trials]


def test_texts_of_a_frame_are_read_as_literals_and_never_run():
    frame = pd.DataFrame({"beans": ["__import__('os').getcwd()"], "value": [1.0]})
    with pytest.raises(PointError, match=r"frame: row 0: beans: .*__import__"):
        bo.Study({"beans": bo.Subset(["ar", "li", "ro"], size=2)}).add_frame(frame)


def test_several_objectives_and_limits_go_round():
    goals = {
        "directions": ["minimize", "maximize"],
        "constraints": {"size": ("<=", 5.0)},
        "method": "random",
        "seed": 0,
    }

    def measure(point):
        return {"value": (point["x"], 1.0 - point["x"]), "constraints": {"size": 10.0 * point["x"]}}

    result = bo.minimize(measure, {"x": bo.Real(0, 1)}, 8, **goals)
    study = bo.Study({"x": bo.Real(0, 1)}, **goals)
    assert told(study.add_frame(result.to_dataframe())) == told(result.trials)


@pytest.mark.parametrize("failing", [{0}, {2}, {0, 1, 2, 3}])
def test_failed_trials_leave_the_columns_of_several_objectives_as_they_are(tmp_path, failing):
    goals = {"directions": ["minimize"] * 2, "constraints": {"size": ("<=", 5.0)}, "method": "random", "seed": 0}
    studies = [bo.Study({"x": range(9)}, **goals) for _ in range(4)]
    for numbers, study in ((failing, studies[0]), (set(), studies[1])):
        for trial in study.ask(4):
            if trial.number in numbers:
                study.tell(trial, failed="lost")
            else:
                study.tell(trial, (1.0, 2.0), constraints={"size": 1.0})
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
    assert told(other.add_frame(study.result.to_dataframe())) == told(study.trials[:3])


def test_a_frame_of_ones_own():
    frame = pd.DataFrame({"n": [1, 2, 3], "loss": [0.5, np.nan, 0.25], "note": ["", "lost", ""]}, index=["a", "b", "c"])
    study = bo.Study({"n": range(1, 9)})
    study.add_frame(frame, value="loss")
    assert [(t.point, t.value, t.reason) for t in study.trials] == [
        ({"n": 1}, 0.5, None),
        ({"n": 2}, None, NO_REASON),
        ({"n": 3}, 0.25, None),
    ]
    assert study.best_value == 0.25


@pytest.mark.parametrize(
    ("frame", "value", "error", "words"),
    [
        (pd.DataFrame({"n": [1, 99], "value": [0.0, 1.0]}), "value", PointError, "frame: row 1: n: "),
        (pd.DataFrame({"n": [1], "value": ["high"]}), "value", TypeError, "frame: row 0: "),
        (pd.DataFrame({"n": [1]}), "value", ValueError, "value: expected one of the columns"),
        (pd.DataFrame({"n": [1], "value": [0.0]}), ["value", "n"], ValueError, "value: expected 1 names of columns"),
        (pd.DataFrame({"m": [1], "value": [0.0]}), "value", ValueError, "frame: expected a column for each variable"),
        ([{"n": 1}], "value", TypeError, "frame: expected a pandas DataFrame"),
    ],
)
def test_nothing_is_added_of_a_frame_that_is_wrong(frame, value, error, words):
    study = bo.Study({"n": range(1, 9)})
    with pytest.raises(error, match=words):
        study.add_frame(frame, value)
    assert study.trials == ()
    assert read_frame(pd.DataFrame({"n": [1], "value": [2.0]}), "value", study.domain, study.goals)[0].told == {
        "value": 2.0
    }


def test_a_frame_has_a_column_for_each_limit_and_for_no_other():
    limited = bo.Study({"a": range(9)}, method="random", seed=0, constraints={"heat": ("<=", 4.0)})
    limited.optimize(lambda p: {"value": p["a"], "constraints": {"heat": 9.0 - p["a"]}}, 5, progress=False)
    frame = limited.result.to_dataframe()
    with pytest.raises(ValueError, match=r"frame: got the column 'constraint\.heat', on which the study declares no"):
        bo.Study({"a": range(9)}, method="random").add_frame(frame)
    again = bo.Study({"a": range(9)}, method="random", constraints={"heat": ("<=", 4.0)})
    with pytest.raises(ValueError, match=r"frame: expected a column 'constraint\.heat' for a limit of the study, got"):
        again.add_frame(frame.drop(columns="constraint.heat"))
    assert told(again.add_frame(frame)) == told(limited.trials)
