"""Results: what people read."""

from __future__ import annotations

import csv
import pickle
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import BostructError
from bostruct.goals.declared import Goals
from bostruct.study.history import Trial
from bostruct.study.predictions import Recommendation
from bostruct.study.result import Result, Timing, TrialTable

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
    for part in (
        "4.0 (maximize)",
        "8 completed, 4 failed, 0 infeasible",
        "random, seed 0",
        "n_trials reached (12)",
        "'c': 4",
    ):
        assert part in text
    assert "<th>best value</th>" in result._repr_html_()


def test_the_summary_counts_the_first_lines_of_reasons():
    study = bo.Study({"a": range(9)}, method="random", seed=0)
    for reason in ("no", "no\nyes", "long " * 99, "b", "c", "d"):
        study.tell(study.ask(), failed=reason)
    (line,) = [text for name, text in study.result._summary() if name == "failures"]
    assert re.fullmatch(r"no \(2\); (long )+long… \(1\); b \(1\); \.\.\.", line)
    assert len(line) < 200


def test_the_table_holds_every_trial(result, tmp_path):
    frame = result.to_dataframe()
    assert list(frame["point.a"]) == [t.point["a"] for t in result.trials]
    assert frame["value"].isna().sum() == result.n_failed + result.n_infeasible == 4
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


def test_a_notebook_shows_a_recommendation_with_its_point(result):
    html, found = result.recommended._repr_html_(), result.recommended
    assert f"<th>recommended</th><td>trial {found.trial.number}, " in html
    assert all(f"<th>{name}</th>" in html for name in found.trial.point)


def test_without_a_completed_trial_the_last_reason_is_given():
    study = bo.Study(SPACE, method="random", seed=0)
    study.tell(study.ask(), failed="the oven broke")
    study.tell(study.ask(), infeasible="too hot")
    with pytest.raises(BostructError, match="2 trials, 1 failed, 1 infeasible; the last reason: too hot"):
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


@st.composite
def results(draw: st.DrawFn) -> Result:
    """Trials of any status told in any order, some of them still running."""
    values = draw(st.lists(st.one_of(st.none(), st.integers(-5, 5)), max_size=8))
    trials = tuple(
        Trial(i, {"i": i}, "failed", reason="no") if value is None else Trial(i, {"i": i}, "completed", float(value))
        for i, value in enumerate(values)
    )
    running = tuple(Trial(len(trials) + i, {"i": -1}, "running") for i in range(draw(st.integers(0, 2))))
    order = tuple(draw(st.permutations(range(len(trials)))))
    return Result(
        (*trials, *running), order, Goals((draw(st.sampled_from(["minimize", "maximize"])),)), 0, "by hand", "told so"
    )


@given(results())
def test_incumbents_and_best_are_those_of_the_values_in_the_order_told(result):
    better = max if result.direction == "maximize" else min
    told = [result.trials[number] for number in result.order]
    for i, step in enumerate(result.incumbents):
        so_far = [trial.value for trial in told[: i + 1] if trial.value is not None]
        best = better(so_far) if so_far else None
        first = next((trial for trial in told if trial.value == best), None) if so_far else None
        assert (step.finished, step.trial, step.best_value) == (told[i], first, best)
    completed = [trial for trial in told if trial.value is not None]
    if completed:
        assert result.best_trial == next(t for t in completed if t.value == better(c.value for c in completed))
        assert result.recommended.trial == result.best_trial
    assert (result.n_completed, result.n_failed) == (len(completed), len(told) - len(completed))


@given(results(), st.integers(0, 8))
def test_a_part_of_the_trials_has_a_best_of_its_own(result, least):
    kept = result.where(lambda point: point["i"] >= least)
    assert kept.order == tuple(number for number in result.order if number >= least)
    assert kept.trials == result.trials
    completed = [result.trials[number] for number in kept.order if result.trials[number].value is not None]
    if completed:
        assert kept.best_trial in completed
    else:
        with pytest.raises(BostructError, match=r"no (completed trial was kept|trial has completed)"):
            _ = kept.best_value


def test_a_condition_that_is_no_function_is_refused(result):
    with pytest.raises(TypeError, match=r"^keep: expected a function of a point, got 'c==4'$"):
        result.where("c==4")


def test_seconds_are_those_of_trials_that_were_asked_for():
    trials = (
        Trial(0, {}, "completed", 1.0, info={"suggest_seconds": 0.25}, started=10.0, finished=12.0),
        Trial(1, {}, "completed", 1.0, info={"origin": "added"}, started=50.0, finished=99.0),
        Trial(2, {}, "running", info={"suggest_seconds": 0.5}, started=20.0),
    )
    assert Result(trials, (0, 1), Goals(), 0, "by hand", "told so").timing == Timing(0.75, 2.0)


def test_a_table_has_a_column_for_each_part_of_a_point():
    trials = (Trial(0, {"a": 1, "b": "x"}, "completed", 2.0, started=1.0, finished=4.0), Trial(1, "whole", "running"))
    first, second = TrialTable(trials, Goals()).rows()
    assert (first["point.a"], first["point.b"], first["seconds"], first["value"]) == (1, "x", 3.0, 2.0)
    assert (second["point"], second["seconds"], second["value"]) == ("whole", None, None)


def test_a_result_is_of_one_moment_while_others_add() -> None:
    study = bo.Study({"a": range(500)}, method="random", seed=0)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as executor:
            adding = executor.submit(lambda: [study.add({"a": a}, 1.0) for a in range(500)])
            while not adding.done():
                assert all(trial.value == 1.0 for trial in study.result.trials)
            adding.result()
    finally:
        sys.setswitchinterval(before)


def test_trials_that_were_stopped_are_counted_named_and_in_the_table():
    rule = bo.SuccessiveHalvingRule()

    def grow(point):
        for step in range(1, 6):
            bo.report(step, point["a"] * step)
        return point["a"] * 5

    result = bo.minimize(grow, {"a": range(1, 30)}, 20, seed=0, stopping_rule=rule)
    stopped = [trial for trial in result.trials if trial.stopped_at is not None]
    assert 0 < result.n_stopped == len(stopped) < 20
    assert f"20 completed ({result.n_stopped} stopped early)" in repr(result)
    frame = result.to_dataframe()
    assert frame["stopped_at"].dropna().tolist() == [trial.stopped_at for trial in stopped]
    named = Recommendation(stopped[0], 1.0, 0.5, 1.5, "by the model's mean")
    assert str(named).endswith(f", which was stopped at step {stopped[0].stopped_at}")
    assert "stopped at step" in str(Recommendation(stopped[0], None, None, None, "by its observed value"))


def test_the_best_point_is_never_wrapped_inside_a_key():
    space = {f"a stage named {i}": bool for i in range(12)}
    found = bo.minimize(lambda p: float(sum(p.values())), space, 3, method="random", seed=0, progress=False)
    lines = repr(found).splitlines()
    assert len([line for line in lines if "a stage named" in line]) > 2
    for line in lines:
        assert line.count("'") % 2 == 0, line
