"""The prior of a study that is opened with another space, or with other predicates: what of it is still learned."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import bostruct as bo
from bostruct.storage.documents import MemoryStorage
from bostruct.storage.protocol import StudyMismatch
from bostruct.study.prior import stored_prior
from bostruct.study.space_changes import current_row

PLAIN = {"a": bo.Integer(0, 9), "b": bo.Integer(0, 9)}
MIXED = PLAIN | {"inner": {"flip": bool}}


def value(point: dict[str, Any]) -> float:
    return float(point["a"] + 2 * point.get("b", 0))


def is_low(point: dict[str, Any]) -> bool:
    return point["a"] + point["b"] < 12


def is_high(point: dict[str, Any]) -> bool:
    return point["a"] + point["b"] > 4


def earlier(space: Any, n_trials: int = 12) -> bo.Result:
    return bo.minimize(value, space, n_trials, seed=1, method="random")


def make(space: Any, n_trials: int = 1) -> MemoryStorage:
    """Return the place of a study over a space that learns from an earlier one."""
    place = MemoryStorage()
    bo.minimize(value, space, n_trials, seed=2, storage=place, prior=[earlier(space)])
    return place


def resume(place: MemoryStorage, space: Any, n_trials: int) -> bo.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bo.SpaceChanged)
        return bo.minimize(value, space, n_trials, seed=2, storage=place)


def prior_of(place: MemoryStorage) -> list[Any]:
    return stored_prior(current_row(place.read(None)))


def find_warning(place: MemoryStorage, space: Any) -> str:
    """Open a study, and return what it says of its prior."""
    with pytest.warns(bo.SpaceChanged) as caught:
        bo.Study(space, seed=2, storage=place).close()
    (found,) = (str(one.message) for one in caught if "of its prior" in str(one.message))
    return found


@pytest.mark.parametrize("base", [PLAIN, MIXED])
def test_points_of_the_prior_that_another_constraint_excludes_are_left_out(base: Any) -> None:
    low, high = bo.Space(base, [is_low]), bo.Space(base, [is_high])
    place = make(low)
    n_lost = sum(not is_high(trial.point) for trial in earlier(low).trials)
    assert 0 < n_lost < 12
    says = find_warning(place, high)
    assert f"{n_lost} of 12 trials of its prior cannot be read in the new space" in says
    assert re.search(r"learn from them:\n- point: .* breaks the constraint is_high \(trial \d+ of prior\[0\]; ", says)
    result = bo.minimize(value, high, 9, seed=2, storage=place)  # nothing is said again
    assert all(is_high(trial.point) for trial in result.trials[1:])
    assert [len(task["points"]) for task in prior_of(place)] == [12 - n_lost]
    resume(place, low, 0)
    assert [len(task["points"]) for task in prior_of(place)] == [12]


def test_a_constraint_that_stays_costs_the_prior_nothing() -> None:
    space = bo.Space(PLAIN, [is_low])
    whole = bo.minimize(value, space, 9, seed=2, prior=[earlier(space)])
    place = make(space, 6)
    again = bo.minimize(value, space, 9, seed=2, storage=place)
    with bo.Study(space, seed=2, storage=place) as study:
        assert study.space_changes == ()
    assert [trial.point for trial in again.trials] == [trial.point for trial in whole.trials]


@pytest.mark.parametrize("base", [PLAIN, MIXED])
def test_points_of_the_prior_that_another_condition_contradicts_are_left_out(base: Any) -> None:
    def conditional(test: Callable[[int], bool]) -> dict[str, Any]:
        return base | {"b": bo.Integer(0, 9, when={"a": test})}

    few, many = (conditional(test) for test in (lambda a: a > 6, lambda a: a > 3))
    place = make(few)
    first, *_ = numbers = [trial.number for trial in earlier(few).trials if 3 < trial.point["a"] <= 6]
    n_lost = len(numbers)
    assert f"{n_lost} of 12 trials of its prior" in (says := find_warning(place, many))
    assert (
        f"b: the trial has no value for this variable, which has no default= (trial {first} of prior[0]; {n_lost} such)"
        in says
    )
    result = resume(place, many, 8)
    assert result.trials[-1].info["transfer"] is not None
    assert [len(task["points"]) for task in prior_of(place)] == [12 - n_lost]


def test_a_prior_of_which_no_point_is_left_is_named_and_the_study_goes_on() -> None:
    place = make(PLAIN, 3)
    other = PLAIN | {"c": bool}
    assert "12 of 12 trials of its prior" in find_warning(place, other)
    result = resume(place, other, 12)
    assert prior_of(place) == []
    assert result.trials[-1].info.get("transfer") is None


def test_a_prior_follows_the_last_defaults_as_trials_do() -> None:
    place = MemoryStorage()
    before = bo.Study(PLAIN, method="random")
    for number in range(6):
        before.add({"a": number, "b": number // 2 + 1}, float(number))
    with bo.Study(PLAIN, seed=2, storage=place, prior=[before]) as study:
        for number in range(6):
            study.add({"a": 9 - number, "b": number // 2 + 1}, float(number))
    bo.Study(PLAIN | {"b": bo.Integer(0, 9, default=2)}, seed=2, storage=place).close()
    with pytest.warns(bo.SpaceChanged) as caught:
        study = bo.Study({"a": PLAIN["a"]}, seed=2, storage=place)
    with study:
        assert [trial.number for trial in study.trials if trial.unread is None] == [2, 3]
    (task,) = prior_of(place)
    assert (task["points"], task["values"]) == ([{"a": 2}, {"a": 3}], [2.0, 3.0])
    assert ["4 of 6 trials" in str(one.message) for one in caught] == [True, True]
    assert [one.filename for one in caught] == [__file__] * 2


def test_nothing_is_said_of_a_prior_before_a_call_that_is_refused() -> None:
    place = make(bo.Space(PLAIN, [is_low]))
    with pytest.raises(StudyMismatch, match="another seed"):
        bo.Study(bo.Space(PLAIN, [is_high]), seed=3, storage=place)
    with pytest.raises(bo.SpaceChanged):
        bo.Study(bo.Space(PLAIN, [is_high]), seed=2, storage=place)
    assert place.read(None).changes == ()


def test_a_study_that_is_only_read_learns_from_the_points_that_its_space_has() -> None:
    place = make(bo.Space(PLAIN, [is_low]), 8)
    with bo.Study.load(place, space=bo.Space(PLAIN, [is_high]), read_only=True) as study:
        assert study.result.recommended.trial.point in [trial.point for trial in study.trials]
