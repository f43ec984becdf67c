"""A mistake in the objective stops the run at the first trial, says what to write, and costs nothing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import bostruct as bo
from bostruct.study.loop import ObjectiveError

SPACE = bo.Space({"x": bo.Integer(0, 9), "y": bo.Integer(0, 9)})
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # importing it would cost a worker more than all it does


def _as_with_optuna(trial: Any) -> float:
    return trial.suggest_float("x", 0.0, 1.0)


def _by_keywords(x: int, y: int) -> float:
    return float(x + y)


def _with_a_typo(point: dict) -> float:
    return point["x"] + missing  # type: ignore[name-defined]  # noqa: F821


def _with_an_unbound_name(point: dict) -> float:
    if point["x"] > 10:
        value = 1.0
    return value


def _with_a_wrong_call_inside(point: dict) -> float:
    return _by_keywords(point["x"])  # type: ignore[call-arg]


MISTAKES: list[tuple[Callable[..., Any], str]] = [
    (_as_with_optuna, r"in _as_with_optuna(.|\n)*not an Optuna trial: .* bo\.minimize.* read point\[\"x\"\]"),
    (_by_keywords, r"TypeError(.|\n)*one argument, the point \(a dict of values\)(.|\n)*lambda point: f\(\*\*point\)"),
    (_with_a_typo, r"failed with NameError(.|\n)*in _with_a_typo"),
    (_with_an_unbound_name, r"failed with UnboundLocalError(.|\n)*in _with_an_unbound_name"),
    (_with_a_wrong_call_inside, r"failed with TypeError(.|\n)*in _with_a_wrong_call_inside(.|\n)*argument: 'y'\n$"),
    (lambda _: (0.1, 0.2), r"value: expected one number, got 2, \(0\.1, 0\.2\); directions="),
    (lambda _: {"loss": 1.0}, r"or a dict with the keys value, repeats, .*, got {'loss': 1\.0} \(dict\)"),
    (lambda _: None, r"expected a number, got None \(NoneType\)\n$"),
    (lambda _: "1.5", r"expected a number, got '1\.5' \(str\)\n$"),
    (lambda _: np.zeros(3), r"or a tuple of numbers for several objectives, got array"),
]


@pytest.mark.parametrize(
    ("objective", "message", "workers"),
    [*((*mistake, 1) for mistake in MISTAKES), (*MISTAKES[0], 2), (*MISTAKES[6], 2)],
)
def test_a_mistake_costs_one_evaluation_and_no_trial(objective, message, workers, file):
    given: dict[str, Any] = {"method": "random", "seed": 0, "storage": file, "workers": workers, "progress": False}
    for _ in range(2):  # as often as a trial may be running at a crash, before it fails
        with pytest.raises(ObjectiveError, match=message):
            bo.minimize(objective, SPACE, 6, **given)
    with bo.Study.load(file, read_only=True) as study:
        assert {t.status for t in study.trials} == {"running"}
        assert len(study.trials) == workers
    result = bo.minimize(lambda point: point["x"], SPACE, 6, **given)
    clean = bo.minimize(lambda point: point["x"], SPACE, 6, method="random", seed=0, progress=False)
    assert [t.point for t in result.trials] == [t.point for t in clean.trials]
    assert all(t.status == "completed" and set(t.info) == set(clean.trials[0].info) for t in result.trials)


def test_a_mistake_is_seen_on_executors() -> None:
    with ProcessPoolExecutor(1) as executor, pytest.raises(ObjectiveError, match="trial 0 failed with NameError"):
        bo.minimize(_with_a_typo, SPACE, 6, method="random", seed=0, executor=executor)


def test_a_mistake_ends_what_is_in_flight(tmp_path: Path) -> None:
    def objective(_: dict) -> float:
        try:
            (tmp_path / "first").touch(exist_ok=False)
        except FileExistsError:
            time.sleep(200)
        while not os.path.exists(tmp_path / "go"):
            time.sleep(0.01)
        return missing  # type: ignore[name-defined]  # noqa: F821

    (tmp_path / "go").touch()
    study = bo.Study(SPACE, method="random", seed=0)
    with pytest.raises(ObjectiveError, match="NameError"):
        study.optimize(objective, 6, workers=3, progress=False)
    assert [t.status for t in study.trials] == ["running"] * 3
    assert study.optimize(lambda point: point["x"], 6, progress=False).n_completed == 6


def test_what_ended_otherwise_beside_a_mistake_is_told() -> None:
    def objective(point: dict) -> float:
        if point["x"] == 0:
            raise bo.Infeasible("none")
        if point["x"] == 1:
            raise ValueError("one")
        return missing  # type: ignore[name-defined]  # noqa: F821

    study = bo.Study(SPACE, method="random", seed=0, initial_points=[{"x": x, "y": 0} for x in range(3)])
    with pytest.raises(ObjectiveError, match="trial 2 failed with NameError"):
        study.optimize(objective, 6, progress=False)
    assert [t.status for t in study.trials] == ["infeasible", "failed", "running"]


def test_once_a_trial_has_completed_the_same_errors_fail_their_trial() -> None:
    answers = iter([1.0, None, "two"])
    result = bo.minimize(lambda _: next(answers), SPACE, 3, method="random", seed=0, progress=False)
    assert [t.status for t in result.trials] == ["completed", "failed", "failed"]


def test_added_trials_say_nothing_of_the_objective() -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    study.add({"x": 1, "y": 1}, 3.0)
    for objective, error in ((_with_a_typo, "NameError"), (lambda point: point["z"], "KeyError in each")):
        with pytest.raises(ObjectiveError, match=error):
            study.optimize(objective, 6, progress=False)
    study.tell(study.ask(), 1.0)
    assert study.optimize(_with_a_typo, 3, progress=False).n_failed == 2


def test_an_error_to_be_raised_is_raised_as_it_is() -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    with pytest.raises(NameError):
        study.optimize(_with_a_typo, 6, reraise=NameError, progress=False)
    assert [t.status for t in study.trials] == ["failed"]


def test_points_that_are_no_dicts_are_called_by_their_type() -> None:
    domain = bo.mlp_domain(bo.Bounds(min_layers=3), [bo.Architecture.chain("relu-16 linear")])
    with pytest.raises(ObjectiveError, match=r"a point \(of type Architecture\), not an Optuna trial"):
        bo.minimize(_as_with_optuna, domain, 6, method="random", seed=0, progress=False)
