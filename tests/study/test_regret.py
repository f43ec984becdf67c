"""Runs that end once another point is hardly better."""

from __future__ import annotations

from typing import Any

import pytest

import bostruct as bo
from bostruct import methods
from bostruct.study.predictions import bound_regret

BITS = {name: bool for name in "abcdefg"}


def value(point: dict[str, bool]) -> float:
    return sum(point.values()) - 3.0 * (point["a"] and point["b"])


def loss(point: dict[str, bool]) -> float:
    return -value(point)


@pytest.mark.parametrize("search", [bo.minimize, bo.maximize])
def test_a_run_ends_once_its_best_point_is_good_enough(search: Any) -> None:
    objective = value if search is bo.minimize else loss
    result = search(objective, BITS, 100, seed=0, callbacks=bo.StopWhen(regret=0.5))
    assert abs(result.best_value) == 1.0
    assert 10 < len(result.trials) < 60
    assert result.stopped_because.startswith("with probability 0.9")
    assert result.stopped_because.endswith("no point is better by more than 0.5, according to the model at this check")
    again = search(objective, BITS, 100, seed=0, callbacks=bo.StopWhen(regret=0.5))
    assert [t.point for t in again.trials] == [t.point for t in result.trials]
    plain = search(objective, BITS, len(result.trials), seed=0)
    assert [t.point for t in plain.trials] == [t.point for t in result.trials]  # looking changes nothing


def test_the_bound_falls_with_the_regret_and_a_resumed_study_has_the_same(tmp_path: Any) -> None:
    with bo.Study(BITS, seed=0, storage=tmp_path / "a.db") as study:
        assert study.bound_regret_probability(1.0) == 1.0
        study.optimize(value, 12)
        bounds = [study.bound_regret_probability(regret) for regret in (0.0, 0.5, 2.0, 50.0)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[-1]
    assert bounds[-1] < 0.05
    for read_only in (False, True):
        with bo.Study.load(tmp_path / "a.db", read_only=read_only) as study:
            assert [study.bound_regret_probability(regret) for regret in (0.0, 0.5, 2.0, 50.0)] == bounds


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "random"}, "random has no model that bounds how much better"),
        ({"method": "smac"}, "smac has no model that bounds how much better"),
        ({"constraints": {"weight": ("<=", 1.0)}}, "one objective without constraints"),
    ],
)
def test_a_method_without_a_model_is_refused_in_words(given: dict[str, Any], message: str) -> None:
    study = bo.Study(BITS, seed=0, **given)
    with pytest.raises(bo.BostructError, match=message):
        study.optimize(value, 60, callbacks=bo.StopWhen(0.5))
    assert study.n_finished == 0


def test_before_anything_is_told_the_bound_is_one() -> None:
    study = bo.Study(BITS)
    assert bound_regret(methods.searcher("auto", study.domain), study._ledger, 0, 0.5, "auto") == 1.0


def test_a_run_with_nothing_to_do_fits_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    study = bo.Study(BITS, seed=0)
    study.optimize(value, 12)

    def look(*_: object) -> float:
        raise AssertionError("the model was fitted")

    monkeypatch.setattr(bo.Study, "bound_regret_probability", look)
    with pytest.warns(UserWarning, match="nothing to do"):
        study.optimize(value, 12, callbacks=bo.StopWhen(0.5))
    with pytest.raises(AssertionError, match="fitted"):
        study.optimize(value, 13, callbacks=bo.StopWhen(0.5))


def test_a_state_that_no_method_wrote_is_named() -> None:
    study = bo.Study(BITS, seed=0)
    study.optimize(value, 12)
    study._ledger.state = '{"surrogate": 3}'
    searcher = methods.searcher("auto", study.domain)
    with pytest.raises(bo.BostructError, match="regret: the model cannot use its state"):
        bound_regret(searcher, study._ledger, 0, 0.5, "auto")


@pytest.mark.parametrize(
    ("given", "name"),
    [((0.0,), "regret"), ((-1.0,), "regret"), ((float("nan"),), "regret")]
    + [((1.0, bad), "regret_probability") for bad in (0.0, 1.0, -0.1)],
)
def test_numbers_that_promise_nothing_are_refused(given: tuple[float, ...], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected"):
        bo.StopWhen(*given)


@pytest.mark.parametrize("method", ["auto", "combo"])
def test_failed_trials_count_as_no_data(method: str) -> None:
    study = bo.Study(BITS, method=method, seed=0)
    for i in range(24):
        study.tell(study.ask(), **({"value": 1000.0} if i == 3 else {"failed": "never"}))
    assert study.bound_regret_probability(10.0) == 1.0


@pytest.mark.parametrize(("every", "regret", "n_completed"), [(3, 1e6, 8), (25, 0.5, 0)])
def test_few_values_among_failures_stop_nothing(every: int, regret: float, n_completed: int) -> None:
    calls = []

    def rarely(point: dict[str, bool]) -> float:
        calls.append(point)
        if len(calls) % every:
            raise bo.Infeasible("most of them")
        return 1000.0 + value(point)

    result = bo.minimize(rarely, BITS, 24, seed=0, callbacks=bo.StopWhen(regret))
    assert (len(result.trials), result.n_completed) == (24, n_completed)
    assert result.stopped_because == "n_trials reached (24)"


@pytest.mark.parametrize("rounding", [0.0, 1e-13])
def test_equal_values_stop_nothing(rounding: float) -> None:
    def flat(point: dict[str, bool]) -> float:
        return 1000.0 * (1.0 + rounding * point["a"])

    result = bo.minimize(flat, BITS, 14, seed=0, callbacks=bo.StopWhen(10.0))
    assert result.stopped_because == "n_trials reached (14)"
