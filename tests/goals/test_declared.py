"""Goals are what a user declares, and an outcome has what they ask for, no more and no less."""

from __future__ import annotations

from typing import Any

import pytest

import bostruct as bo
from bostruct.contracts import BostructError
from bostruct.goals.declared import LARGEST_VIOLATION, Goals, Limit, declare_goals
from bostruct.outcome import Outcome

SPACE = {"a": range(8), "b": ["x", "y"]}
LIMITED = declare_goals("minimize", None, {"w": ("<=", 10.0), "speed": (">=", 2.0)})
TWO = declare_goals("minimize", ["minimize", "maximize"])
UNKNOWN_LIMIT = r"got 'sped', on which the study declares no limit; it has 'speed', 'w'. Did you mean 'speed'"


def test_a_violation_is_by_how_much_a_limit_is_broken() -> None:
    assert Limit("w", "<=", 10.0).violation(12.5) == 2.5
    assert Limit("w", ">=", 10.0).violation(12.5) == -2.5
    outcome = Outcome((1.0,), constraints={"speed": 1.0, "w": 10.0})
    assert LIMITED.violations(outcome) == (1.0, 0.0)
    assert LIMITED.find_broken(outcome) == ("speed",)
    assert LIMITED.find_broken(Outcome(failed="rain")) == ()


def test_goals_survive_json_and_orient_values() -> None:
    for goals in (LIMITED, TWO, Goals()):
        assert Goals.from_json(goals.to_json()) == goals
    assert TWO.orient((1.0, 2.0)) == (1.0, -2.0)
    assert TWO.orient(TWO.orient((1.0, 2.0))) == (1.0, 2.0)
    assert (str(LIMITED), LIMITED.is_single, Goals().is_single) == ("minimize, speed >= 2, w <= 10", False, True)
    with pytest.raises(BostructError, match="the study has 2 objectives"):
        _ = TWO.direction


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"direction": "down"}, ValueError, r"^direction: expected one of minimize, maximize"),
        ({"directions": ["minimize", "up"]}, ValueError, r"^directions\[1\]: expected one of"),
        ({"directions": "maximize"}, TypeError, r"^directions: expected a list.* Study takes direction='maximize'$"),
        ({"directions": []}, TypeError, r"^directions: expected a list"),
        ({"direction": "maximize", "directions": ["minimize"]}, ValueError, r"^direction: expected none with"),
        ({"constraints": [("w", "<=", 1)]}, TypeError, r"^constraints: expected limits by name"),
        ({"constraints": {3: ("<=", 1.0)}}, TypeError, r"^constraints: expected names"),
        ({"constraints": {"w": 3.0}}, TypeError, r"^constraints\['w'\]: expected a sense and a bound"),
        ({"constraints": {"w": ("<", 3.0)}}, ValueError, r"^constraints\['w'\]\[0\]: expected one of <=, >="),
        ({"constraints": {"w": ("<=", float("nan"))}}, ValueError, r"^constraints\['w'\]\[1\]: expected a finite"),
        ({"constraints": {"w": ("<=", "3")}}, TypeError, r"^constraints\['w'\]\[1\]: expected a number"),
    ],
)
def test_goals_that_make_no_sense_are_refused_by_name(given, error, message):
    with pytest.raises(error, match=message):
        bo.Study(SPACE, **given)


@pytest.mark.parametrize(
    ("goals", "told", "error", "message"),
    [
        (LIMITED, 1.0, ValueError, r"expected a number for 'speed', on which the study has a limit, got none"),
        (LIMITED, {"value": 1.0, "constraints": {"w": 1.0}}, ValueError, r"expected a number for 'speed'"),
        (LIMITED, {"value": 1.0, "constraints": {"w": 1.0, "speed": 2.0, "sped": 1.0}}, ValueError, UNKNOWN_LIMIT),
        (TWO, 1.0, TypeError, r"expected a tuple of 2 numbers, one for each direction, got one, 1.0"),
        (TWO, (1.0, 2.0, 3.0), TypeError, r"expected a tuple of 2 numbers, .* got 3 numbers, \(1.0"),
        (TWO, {"value": (1.0, 2.0), "sd": 1.0}, TypeError, r"sd, repeats: expected none for several"),
        (Goals(), (1.0, 2.0), TypeError, r"value: expected one number, got 2, .* directions=.* declares several"),
        (
            Goals(),
            (1.0,),
            TypeError,
            r"value: expected a number, or a tuple of several, got .*; pass the number itself",
        ),
        (Goals(), [1.0, 2.0], TypeError, r"or a tuple of numbers for several objectives, got \[1.0, 2.0\]"),
        (Goals(), {"value": 1.0, "constraints": {"w": 1.0}}, ValueError, r"got 'w', on which .* it has none"),
        (Goals(), {"valeu": 1.0}, TypeError, r"or a dict with the keys value, repeats"),
        (Goals(), {"value": 1.0, "repeats": [1.0]}, ValueError, r"repeats: expected None with a value"),
    ],
)
def test_what_is_told_has_what_the_goals_ask_for(goals: Goals, told: Any, error: type[Exception], message: str) -> None:
    declared = goals.to_json()
    one = {"directions": declared["directions"]} if goals.n_objectives > 1 else {}
    study = bo.Study(SPACE, method="random", seed=0, **one, constraints=declared["constraints"])
    trial = study.ask()
    with pytest.raises(error, match=message):
        study.tell(trial, told)
    assert study.trials[0].status == "running"


def test_values_and_constraints_that_are_not_finite_are_failures() -> None:
    study = bo.Study(SPACE, method="random", seed=0, directions=["minimize", "maximize"], constraints={"w": ("<=", 1)})
    first = study.tell(study.ask(), (1.0, float("nan")), constraints={"w": 0.0})
    assert (first.status, first.reason) == ("failed", "observed (1.0, nan)")
    second = study.tell(study.ask(), (1.0, 2.0), constraints={"w": float("inf")})
    assert (second.status, second.reason) == ("failed", "observed inf for the constraint 'w'")


def test_a_violation_is_none_that_models_could_not_square() -> None:
    for measured in (1e308, 1e151):
        assert Limit("w", "<=", -1e308).violation(measured) == LARGEST_VIOLATION
        assert Limit("w", ">=", -1e308).violation(measured) == -LARGEST_VIOLATION


def test_limits_are_in_the_order_of_their_names() -> None:
    limits = {"b": ("<=", 1.0), "a": (">=", 2.0)}
    goals = declare_goals("minimize", constraints=limits)
    assert [limit.name for limit in goals.limits] == ["a", "b"]
    assert goals == declare_goals("minimize", constraints=dict(reversed(limits.items())))
    assert Goals.from_json({"directions": ["minimize"], "constraints": {"b": ["<=", 1.0], "a": [">=", 2.0]}}) == goals
