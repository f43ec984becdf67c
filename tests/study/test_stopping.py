"""Rules that stop trials early, against their definitions, and in studies."""

from __future__ import annotations

import pickle
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.study.stopping import Curve, Curves, MedianRule, SuccessiveHalvingRule, describe_reports
from tests.cli.invoke import call

SPACE = bo.Space({"x": bo.Integer(0, 29)})
Reports = list[tuple[int, float]]
VALUES = st.integers(-5, 5).map(float)  # with ties


@st.composite
def reports(draw: st.DrawFn) -> Reports:
    steps = sorted(draw(st.sets(st.integers(0, 20), min_size=1, max_size=8)))
    return [(step, draw(VALUES)) for step in steps]


def curve(given: Reports) -> Curve:
    steps, values = zip(*given, strict=True)
    return Curve(np.array(steps), np.array(values))


def stopped_at(rule: Any, others: list[Reports], own: Reports) -> int | None:
    judge = pickle.loads(pickle.dumps(rule.judge([curve(one) for one in others])))
    return next((step for step, value in own if judge(step, value)), None)


@given(st.lists(reports(), max_size=8), reports(), st.integers(1, 3), st.integers(0, 10))
def test_the_median_rule_is_its_definition(others: list[Reports], own: Reports, startup: int, warmup: int) -> None:
    expected = None
    for step, _ in own:
        averages = [mean(v for s, v in one if s <= step) for one in others if one[0][0] <= step and one[-1][0] >= step]
        best = min(v for s, v in own if s <= step)
        if step >= warmup and len(averages) >= startup and best > median(averages):
            expected = step
            break
    assert stopped_at(MedianRule(startup, warmup), others, own) == expected


@given(st.lists(reports(), max_size=10), reports(), st.integers(1, 3), st.integers(2, 4))
def test_successive_halving_is_its_definition(others: list[Reports], own: Reports, first: int, reduction: int) -> None:
    expected, passed = None, 0
    for step, value in own:
        rungs = [first * reduction**k for k in range(6)]
        for rung in rungs[passed : sum(r <= step for r in rungs)]:
            there = [next((v for s, v in one if rung <= s < rung * reduction), None) for one in others]
            there = [v for v in there if v is not None]
            kept = max(1, (len(there) + 1) // reduction)
            is_there = step < rung * reduction
            if is_there and sum(v < value for v in there) >= kept and expected is None:
                expected = step
        passed = sum(r <= step for r in rungs)
    assert stopped_at(SuccessiveHalvingRule(first, reduction), others, own) == expected


def test_worse_halves_and_quarters_stop_where_papers_say() -> None:
    others = [[(1, float(i)), (2, float(i)), (4, float(i))] for i in range(8)]
    assert stopped_at(MedianRule(), others, [(1, 3.5), (2, 3.6)]) is None
    assert stopped_at(MedianRule(), others, [(1, 3.6)]) == 1
    assert stopped_at(MedianRule(warmup_steps=2), others, [(1, 9.0), (2, 9.0)]) == 2
    assert stopped_at(MedianRule(startup_trials=9), others, [(1, 9.0), (4, 9.0)]) is None
    assert stopped_at(MedianRule(), others, [(5, 9.0)]) is None  # where nobody was
    halving = SuccessiveHalvingRule(reduction=4)  # the best 2 of 9 go on
    assert stopped_at(halving, others, [(1, 1.0), (3, 9.0), (4, 1.0)]) is None
    assert stopped_at(halving, others, [(1, 1.5)]) == 1
    assert stopped_at(halving, others, [(1, 0.5), (2, 9.0), (4, 1.5)]) == 4
    assert stopped_at(halving, [], [(1, 9.0), (4, 9.0)]) is None


def test_a_trial_is_judged_at_no_rung_that_it_is_not_among() -> None:
    others = [[(1, 1.0 + i), (4, 4.0 + i), (16, 16.0 + i)] for i in range(4)]
    halving = SuccessiveHalvingRule()  # the best of 5 goes on
    assert stopped_at(halving, others, [(1, 0.0), (4, 3.0), (16, 15.0)]) is None
    assert stopped_at(halving, others, [(16, 15.0)]) is None
    assert stopped_at(halving, others, [(1, 0.0), (16, 15.0)]) is None
    assert stopped_at(halving, others, [(16, 17.0)]) == 16
    assert stopped_at(halving, others, [(15, 15.0)]) == 15  # of the rung at 4
    assert stopped_at(halving, others, [(64, 99.0)]) is None  # where nobody was


def test_trials_of_many_reports_are_judged_at_the_steps_of_others() -> None:
    def told(scale: float) -> Reports:
        found = describe_reports([(step, scale / step) for step in range(1, 20_001)])["reports"]
        return [(int(step), float(value)) for step, value in found]  # type: ignore[union-attr]

    others = [told(1.0 + i / 100) for i in range(8)]
    steps = [2**k for k in range(15)]
    for rule in (SuccessiveHalvingRule(), SuccessiveHalvingRule(1, 2), SuccessiveHalvingRule(3, 2), MedianRule()):
        assert stopped_at(rule, others, [(step, 0.5 / step) for step in steps]) is None
    assert stopped_at(SuccessiveHalvingRule(), others, [(step, 1.015 / step) for step in steps]) == 1
    late = [[(step, 1.0 / step) for step in range(1, 20_001, 32)]] * 8  # as an earlier version thinned them
    assert stopped_at(SuccessiveHalvingRule(), late, [(4, 0.125)]) is None
    bar = mean(1.0 / step for step in range(1, 10_001))
    assert stopped_at(MedianRule(), [told(1.0)] * 5, [(10_000, 0.95 * bar)]) is None
    assert stopped_at(MedianRule(), [told(1.0)] * 5, [(10_000, 1.05 * bar)]) == 10_000


def loss(point: dict[str, int]) -> float:
    value = 0.0
    for epoch in range(1, 9):
        value = abs(point["x"] - 11) + 8 / epoch
        bo.report(epoch, value)
    return value


@pytest.mark.parametrize("rule", [MedianRule(3), SuccessiveHalvingRule(1, 2)])
def test_maximizing_stops_the_same_trials(rule: Any) -> None:
    def gain(point: dict[str, int]) -> float:
        value = 0.0
        for epoch in range(1, 9):
            value = -abs(point["x"] - 11) - 8 / epoch
            bo.report(epoch, value)
        return value

    low = bo.minimize(loss, SPACE, 20, method="random", seed=1, stopping_rule=rule)
    high = bo.maximize(gain, SPACE, 20, method="random", seed=1, stopping_rule=rule)
    stops = [trial.info.get("stopped_at") for trial in low.trials]
    assert stops == [trial.info.get("stopped_at") for trial in high.trials]
    assert sum(stop is not None for stop in stops) >= 5
    assert low.best_value == -high.best_value == min(abs(t.point["x"] - 11) + 1.0 for t in low.trials)
    for trial in low.trials:
        if (stop := trial.info.get("stopped_at")) is not None:
            assert trial.value == abs(trial.point["x"] - 11) + 8 / stop


@pytest.mark.parametrize("method", ["random", "auto"])
def test_a_resumed_study_stops_the_same_trials(method: str, tmp_path: Path) -> None:
    def search(n: int, **where: Any) -> bo.Result:
        given: dict[str, Any] = {"method": method, "seed": 2, "stopping_rule": MedianRule(2)}
        return bo.minimize(loss, SPACE, n, **given, **where)

    whole = search(14)
    for n in (3, 8, 14):
        parts = search(n, storage=tmp_path / "a.db")

    def stops(result: bo.Result) -> list[Any]:
        kept = ("reports", "stopped_at")
        return [(t.point, t.value, [t.info.get(key) for key in kept]) for t in result.trials]

    assert stops(parts) == stops(whole)
    assert any("stopped_at" in trial.info for trial in whole.trials[8:])
    with bo.Study.load(tmp_path / "a.db", read_only=True) as study:
        assert stops(study.result) == stops(whole)


def test_reports_of_a_loop_of_ones_own() -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    whole = study.tell(study.ask(), 0.25, reports=[(1, 2.0), (2, 0.5)])
    assert (whole.value, whole.info["reports"]) == (0.25, [[1, 2.0], [2, 0.5]])
    stopped = study.tell(study.ask(), reports=[(1, 2.0), (3, 1.5)])
    assert (stopped.status, stopped.value, stopped.info["stopped_at"]) == ("completed", 1.5, 3)
    failed = study.tell(study.ask(), failed="diverged", reports=[(1, 2.0)])
    study.tell(study.ask(), 4.0)
    reader = Curves(-1.0)
    assert len(reader.read(study.trials[:1])) == 1
    curves = reader.read(study.trials)
    assert [c.values.tolist() for c in curves] == [[-2.0, -0.5], [-2.0, -1.5]]
    study.requeue(failed)
    assert "reports" not in study.ask().info


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([(1, 2.0), (1, 3.0)], ValueError, "step: expected an integer above 1"),
        ([(1, float("nan"))], ValueError, "reports: expected finite values"),
        ([3], TypeError, "reports: expected pairs"),
        ([(0.5, 1.0)], TypeError, "^reports: step: expected an integer"),
        ([(1, "x")], TypeError, "^reports: value: expected a number"),
        ([(2, 1.0), (1, 1.0)], ValueError, "^reports: step: expected an integer above 2"),
    ],
)
def test_reports_that_are_none(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        describe_reports(given)


@pytest.mark.parametrize("rule", ["median", MedianRule, min])
def test_what_is_no_rule_is_refused(rule: Any) -> None:
    with pytest.raises(TypeError, match="stopping_rule: expected None, a rule such as MedianRule"):
        bo.minimize(loss, SPACE, 1, stopping_rule=rule)


def test_settings_of_rules_are_checked() -> None:
    for name, make in (
        ("startup_trials", lambda: MedianRule(0)),
        ("warmup_steps", lambda: MedianRule(1, -1)),
        ("first_rung", lambda: SuccessiveHalvingRule(0)),
        ("reduction", lambda: SuccessiveHalvingRule(1, 1)),
    ):
        with pytest.raises(ValueError, match=f"{name}: expected"):
            make()


@pytest.mark.parametrize("goals", [{"directions": ["minimize", "maximize"]}, {"constraints": {"size": ("<=", 3.0)}}])
def test_a_rule_needs_one_objective_without_limits(goals: dict[str, Any]) -> None:
    study = bo.Study(SPACE, method="random", seed=0, **goals)
    with pytest.raises(ValueError, match="stopping_rule: expected None with several objectives or constraints"):
        study.optimize(loss, 3, stopping_rule=MedianRule())
    with pytest.raises((TypeError, ValueError)):
        study.tell(study.ask(), reports=[(1, 2.0)])
    with pytest.raises(bo.BostructError, match="one objective without constraints"):
        study.bound_regret_probability(0.5)
    assert len(study.trials) == 1


def test_a_best_trial_that_was_stopped_is_told_as_such(tmp_path: Path) -> None:
    with bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "r.db") as study:
        study.tell(study.ask(), reports=[(1, 5.0), (3, 2.0)])
        study.tell(study.ask(), 4.0, reports=[(1, 5.0)])
        result = study.result
    assert [trial.stopped_at for trial in result.trials] == [3, None]
    told = "trial 0, which was stopped at step 3"
    assert f"observed in {told}" in repr(result)
    assert "stopped at step" in result.best_trial._repr_html_()
    assert "(trial 0), which was stopped at step 3" in call("show", tmp_path / "r.db").stdout
    call("report", tmp_path / "r.db", "--out", tmp_path / "r.html")
    assert f"{told}." in (tmp_path / "r.html").read_text(encoding="utf-8")
