"""Results: what people read."""

from __future__ import annotations

import csv
import pickle
import time

import pytest

import bostruct as bo
from bostruct.contracts import BostructError

SPACE = bo.Space({"a": bo.Categorical(["x", "y", "z"]), "c": bo.Integer(1, 4)})


def objective(point):
    if point["a"] == "y":
        raise ValueError("y")
    return float(point["c"])


@pytest.fixture
def result():
    return bo.maximize(objective, SPACE, 12, method="random", seed=0)


def test_the_best_is_the_first_of_equals(result):
    best = [t for t in result.trials if t.value == 4.0]
    assert result.best_trial == best[0]
    assert (result.best_value, result.best_point["c"]) == (4.0, 4)


def test_incumbents_never_get_worse(result):
    steps = [i.best_value for i in result.incumbents]
    assert len(steps) == 12
    known = [v for v in steps if v is not None]
    assert known == sorted(known)
    assert known[-1] == result.best_value


def test_without_a_completed_trial_there_is_no_best():
    empty = bo.Study(SPACE, method="random").result
    assert "none" in repr(empty)
    for name in ("best_value", "best_point", "best_trial"):
        with pytest.raises(BostructError, match="no trial has completed"):
            getattr(empty, name)


def test_the_summary_says_what_matters(result):
    text = repr(result)
    for part in ("4.0 (maximize)", "8 completed, 4 failed", "random, seed 0", "n_trials reached (12)", "'c': 4"):
        assert part in text
    assert "<th>best value</th>" in result._repr_html_()


def test_the_table_holds_every_trial(result, tmp_path):
    frame = result.to_dataframe()
    assert list(frame["point.a"]) == [t.point["a"] for t in result.trials]
    assert frame["value"].isna().sum() == result.n_failed == 4
    assert (result.history.to_dataframe()["number"] == list(range(12))).all()
    result.to_csv(tmp_path / "trials.csv")
    with open(tmp_path / "trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["reason"] for row in rows] == [t.reason or "" for t in result.trials]
    assert [float(row["value"]) for row in rows if row["value"]] == [t.value for t in result.trials if t.value]


def test_time_is_split_between_model_and_objective():
    result = bo.minimize(lambda _: time.sleep(0.02) or 1.0, SPACE, 5, method="random")
    assert 0.1 <= result.timing.objective < 60.0
    assert 0.0 < result.timing.suggest < 60.0


def test_the_best_point_is_shown_whole():
    names = [f"a long name of a variable {i}" for i in range(34)]
    result = bo.minimize(lambda point: sum(point.values()), {name: bool for name in names}, 2, method="random", seed=0)
    text, html = repr(result), result._repr_html_()
    assert all(f"{name!r}: {result.best_point[name]}" in " ".join(text.split()) for name in names)
    assert all(f">{name}</th>" in html for name in names)
    assert max(map(len, text.splitlines())) <= 120


def test_html_is_escaped():
    study = bo.Study({"<b>": ["<i>", "&"]}, method="random", seed=0, name="<study>")
    study.optimize(lambda _: 1.0, 1)
    for html in (study._repr_html_(), study.trials[0]._repr_html_(), study.domain._repr_html_()):
        assert not any(raw in html for raw in ("<b>", "<i>", "<study>"))
        assert "&lt;b&gt;" in html


def test_without_a_completed_trial_the_last_reason_is_given():
    study = bo.Study(SPACE, method="random", seed=0)
    study.tell(study.ask(), failed="the oven broke")
    study.tell(study.ask(), infeasible="too hot")
    with pytest.raises(BostructError, match="2 trials, 2 failed, the last of too hot"):
        _ = study.best_value
    assert "too hot" in repr(study.result)


def test_a_result_without_its_domain_can_be_pickled():
    space = bo.Space({"a": bool, "b": bool}, [lambda _: True])
    result = bo.minimize(lambda point: float(point["a"]), space, 3, method="random", seed=0)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert result.domain == space
    with pytest.raises(BostructError, match="pickled"):
        bo.importance(again)
