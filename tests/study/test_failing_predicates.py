"""Constraints and conditions that fail in mid-search: an error that names them, no trial lost, and the run resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.contracts import DomainError, PredicateError
from bostruct.storage.sqlite import SqliteStorage
from tests.architectures import SMALL_CNN


class Sensor:
    """A predicate that fails while `is_broken`."""

    __name__ = "is_warm"

    def __init__(self, is_broken: bool = False) -> None:
        self.is_broken = is_broken

    def __call__(self, given: Any) -> bool:
        if self.is_broken:
            raise OSError("no sensor")
        if isinstance(given, dict):  # a point
            return given["x"] <= 0.9
        return given > 0.5 if isinstance(given, float) else len(given.layers) > 9


BASE = {"x": bo.Real(0.0, 1.0), "k": ["a", "b", "c"]}
SPACES = {
    "constraint": lambda sensor, base: bo.Space(base, [sensor]),
    "condition": lambda sensor, base: bo.Space(base | {"w": bo.Integer(0, 9, when={"x": sensor})}),
    "constraint on parts": lambda sensor, base: bo.Space(base | {"n": SMALL_CNN}, [sensor]),
    "condition on a part": lambda sensor, base: bo.Space(
        base | {"n": SMALL_CNN, "w": bo.Integer(0, 9, when={"n": sensor})}
    ),
    "constraint in a part": lambda sensor, base: bo.Space({"k": ["a", "b"], "inner": bo.Space(base, [sensor])}),
}
CASES = [
    ("auto", "constraint"),
    ("auto", "condition"),
    ("auto", "condition on a part"),
    ("random", "constraint on parts"),
    ("annealing", "constraint on parts"),
    ("hill-climbing", "constraint on parts"),
    ("annealing", "condition on a part"),
    ("evolution", "constraint in a part"),
    ("regularized-evolution", "condition on a part"),
]


def value(point: dict[str, Any]) -> float:
    return point.get("inner", point)["x"] + (point["k"] == "a") + point.get("w", 0) / 10


def describe(result: bo.Result) -> list[Any]:
    return [(trial.point, trial.value) for trial in result.trials]


@pytest.mark.parametrize(("method", "kind"), CASES)
def test_a_predicate_that_fails_ends_the_run_in_words_and_the_study_resumes(tmp_path, method, kind):
    file, sensor = tmp_path / "runs.db", Sensor()
    space = SPACES[kind](sensor, BASE)

    def breaks_later(point: dict[str, Any]) -> float:
        sensor.is_broken = len(SqliteStorage(file).read(None).trials) >= 6
        return value(point)

    says = "w: when: is_warm failed for " if "condition" in kind else r"constraint is_warm failed on \{"
    with pytest.raises(DomainError, match=rf"{says}.*OSError\('no sensor'\)") as raised:
        bo.minimize(breaks_later, space, 30, method=method, seed=1, storage=file)
    assert isinstance(raised.value, PredicateError)
    stored = SqliteStorage(file).read(None).trials
    assert len(stored) >= 6
    assert all(one.status == "completed" for one in stored)
    sensor.is_broken = False
    n_trials = len(stored) + 3
    again = bo.minimize(value, space, n_trials, method=method, seed=1, storage=file)
    assert describe(again) == describe(
        bo.minimize(value, SPACES[kind](Sensor(), BASE), n_trials, method=method, seed=1)
    )


def test_trials_in_flight_are_given_back(file: Path) -> None:
    with bo.Study(SPACES["constraint"](sensor := Sensor(), BASE), method="random", seed=1, storage=file) as study:
        running = study.ask()
        sensor.is_broken = True
        with pytest.raises(PredicateError, match="is_warm"):
            study.ask()
        with pytest.raises(PredicateError, match="is_warm"):
            study.add(running.point, 1.0)
        study.tell(running, 1.0)
        assert [trial.status for trial in study.trials] == ["completed"]


@pytest.mark.parametrize("kind", ["condition", "condition on a part"])
def test_a_stored_study_whose_condition_fails_is_refused_by_its_name_and_left_as_it_is(file: Path, kind: str) -> None:
    bo.minimize(value, SPACES[kind](Sensor(), BASE), 4, method="random", seed=1, storage=file)
    before = file.read_bytes()
    for base in (BASE, BASE | {"new": bo.Integer(0, 3, default=1)}):
        with pytest.raises(PredicateError, match=r"w: when: is_warm failed for .*OSError\('no sensor'\)"):
            bo.Study(SPACES[kind](Sensor(is_broken=True), base), method="random", seed=1, storage=file)
        assert file.read_bytes() == before
    with bo.Study(SPACES[kind](Sensor(), BASE), method="random", seed=1, storage=file) as study:
        assert len(study.trials) == 4
        assert study.n_unread == 0
