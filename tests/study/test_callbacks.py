"""Callbacks that stop a run: they are asked before the first trial, so that a stopped run is not paid for again."""

from __future__ import annotations

from typing import Any

import pytest

import bostruct as bo
from bostruct.study import Patience, TargetValue
from bostruct.study.stopping import StoppingCallback

BITS = {name: bool for name in "abcdefg"}


def loss(point: dict[str, bool]) -> float:
    return sum(point.values()) - 3.0 * (point["a"] and point["b"])


def never(_: object) -> float:
    raise AssertionError("a trial was paid for")


@pytest.mark.parametrize(
    ("method", "callback"),
    [("auto", bo.StopWhen(regret=0.5)), ("random", Patience(5)), ("random", TargetValue(1.0))],
)
def test_the_same_call_pays_for_no_trial_of_a_run_that_was_stopped(tmp_path, method, callback):
    settings: dict[str, Any] = {"method": method, "seed": 0, "storage": tmp_path / "a.db", "callbacks": callback}
    first = bo.minimize(loss, BITS, 60, **settings)
    assert 0 < len(first.trials) < 60
    again = bo.minimize(never, BITS, 60, **settings)
    assert len(again.trials) == len(first.trials)
    assert again.stopped_because == first.stopped_because


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_target_value_that_an_added_trial_reaches_needs_no_other(sign: float) -> None:
    study = bo.Study(BITS, method="random", seed=0, direction="minimize" if sign > 0 else "maximize")
    study.add(dict.fromkeys(BITS, False), sign * -4.0)
    assert study.optimize(never, 20, callbacks=TargetValue(sign * -4.0)).stopped_because.endswith("by trial 0")
    assert study.n_finished == 0
    assert study.optimize(loss, 3, callbacks=TargetValue(sign * -4.5)).stopped_because == "n_trials reached (3)"


def test_a_target_value_looks_at_the_best_trial_that_keeps_the_limits() -> None:
    study = bo.Study(BITS, method="random", seed=0, constraints={"weight": ("<=", 1.0)})
    study.add(dict.fromkeys(BITS, False), -9.0, constraints={"weight": 2.0})
    told = {"value": 0.0, "constraints": {"weight": 1.0}}
    assert study.optimize(lambda _: told, 4, callbacks=TargetValue(-1.0)).stopped_because == "n_trials reached (4)"


def test_patience_does_not_count_added_trials() -> None:
    study = bo.Study(BITS, method="random", seed=0)
    for name in BITS:
        study.add(dict.fromkeys(BITS, False) | {name: True}, 1.0)
    result = study.optimize(lambda _: 2.0, 20, callbacks=Patience(3))
    assert study.n_finished == 3
    assert result.stopped_because == "no better value in 3 trials"


def test_a_callback_of_ones_own_may_stop_before_the_first_trial_and_a_function_is_asked_after_it() -> None:
    class Enough(StoppingCallback):
        def check_study(self, study: bo.Study) -> None:
            study.stop("enough")

        def __call__(self, *_: object) -> None:
            raise AssertionError("a trial was paid for")

    study = bo.Study(BITS, method="random", seed=0)
    assert study.optimize(never, 5, callbacks=Enough()).stopped_because == "enough"
    assert study.trials == ()
    assert len(study.optimize(loss, 5, callbacks=lambda study, _: study.stop("seen")).trials) == 1
    assert len(study.optimize(loss, 5, callbacks=lambda study, _: study.stop("seen")).trials) == 2
