"""An outcome is a value or a reason, and says by name which of its parts cannot be."""

from __future__ import annotations

import math
import pickle
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.outcome import LONGEST_TEXT, Outcome, as_number, cut_middle, outcome_of, parse_outcome, storable


def test_status_value_and_reason_follow_from_what_is_given() -> None:
    for outcome, *expected in (
        (Outcome((1.0,)), "completed", 1.0, None),
        (Outcome(failed="rain"), "failed", None, "rain"),
        (Outcome(infeasible="too hot"), "infeasible", None, "too hot"),
        (Outcome((1.0, 2.0)), "completed", None, None),
    ):
        assert [outcome.status, outcome.value, outcome.reason] == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_an_outcome_of_one_value_is_as_any_other(value: float) -> None:
    quick, plain = Outcome.of_value(value), Outcome((value,))
    assert quick == plain == pickle.loads(pickle.dumps(quick))
    assert (hash(quick), repr(quick)) == (hash(plain), repr(plain))
    assert quick.constraints is not Outcome.of_value(value).constraints


def test_whole_numbers_and_those_of_numpy_are_numbers() -> None:
    found = Outcome((np.float32(1.5), 2), constraints={"bytes": 10**9}, cost=3, repeats=(np.int64(4),))
    assert found == Outcome((1.5, 2.0), constraints={"bytes": 1e9}, cost=3.0, repeats=(4.0,))
    parts = (*found.values, *found.constraints.values(), found.cost, *found.repeats)
    assert {type(one) for one in parts} == {float}
    assert type(Outcome((1.0,), sd=np.float64(2.0)).sd) is np.float64  # which is a float


def test_an_objective_that_returns_a_value_beside_other_repeats_is_refused() -> None:
    mean = Outcome((2.0,), repeats=(1.0, 3.0))
    assert outcome_of(mean) is mean
    assert outcome_of(Outcome((0.1,), repeats=(0.1, 0.1, 0.1))).values == (0.1,)
    with pytest.raises(ValueError, match=r"^values: expected the mean of the repeats \(5.0, 7.0\), 6.0, got 1.0$"):
        outcome_of(Outcome((1.0,), repeats=(5.0, 7.0)))


@pytest.mark.parametrize(("value", "error"), [(True, TypeError), ("1", TypeError), (math.nan, ValueError)])
def test_an_outcome_of_what_is_no_value_is_refused(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^values: expected"):
        Outcome.of_value(value)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ValueError, "exactly one of values, failed and infeasible"),
        ({"values": (1.0,), "failed": "x"}, ValueError, "exactly one"),
        ({"failed": "x", "infeasible": "y"}, ValueError, "exactly one"),
        ({"failed": 3}, TypeError, "^failed: expected a reason"),
        ({"values": [1.0]}, TypeError, r"^values: expected a tuple of numbers, got \[1.0\]"),
        ({"values": ("1",)}, TypeError, "^values: expected a number, got '1'"),
        ({"values": (True,)}, TypeError, "^values: expected a number"),
        ({"values": (math.nan,)}, ValueError, "^values: expected finite"),
        ({"values": (1.0,), "constraints": {1: 1.0}}, TypeError, "^constraints: expected numbers by name"),
        ({"values": (1.0,), "constraints": [1.0]}, TypeError, "^constraints"),
        ({"values": (1.0,), "constraints": {"a": math.inf}}, ValueError, r"^constraints\['a'\]: expected finite .*inf"),
        ({"values": (1.0,), "cost": -1.0}, ValueError, "^cost: expected finite numbers from 0"),
        ({"values": (1.0,), "sd": "1"}, TypeError, "^sd"),
        ({"values": (1.0,), "repeats": (1.0, math.inf)}, ValueError, "^repeats"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Outcome(**given)


def test_numbers_of_other_kinds_become_floats_and_what_is_not_finite_a_failure() -> None:
    assert outcome_of(np.float32(1.5)) == Outcome((1.5,))
    assert math.copysign(1.0, outcome_of(-0.0).values[0]) == 1.0
    assert outcome_of(math.inf) == Outcome(failed="objective returned inf")
    assert as_number("value", -(10**400)) == -math.inf
    for wrong in (True, "1", [1.0], np.zeros(2)):
        with pytest.raises(TypeError, match=r"^value: expected"):
            outcome_of(wrong)


def test_one_of_value_and_reasons_is_parsed() -> None:
    assert parse_outcome(2, None, None) == Outcome((2.0,))
    assert parse_outcome(None, "a\udce9", None) == Outcome(failed=storable("a\udce9")) == Outcome(failed="a\\udce9")
    assert parse_outcome(None, None, "x") == Outcome(infeasible="x")
    with pytest.raises(ValueError, match="got more than one"):
        parse_outcome(1.0, "x", None)
    with pytest.raises(TypeError, match=r"^infeasible: expected a reason"):
        parse_outcome(None, None, "")


def test_noise_that_is_not_a_number_is_unknown_and_loses_no_value():
    """As the standard deviation of a single measurement by `numpy.std(values, ddof=1)`."""
    for outcome in (outcome_of({"value": 2.0, "sd": math.nan}), parse_outcome(2.0, sd=np.float64("nan"))):
        assert (outcome.values, outcome.sd) == ((2.0,), None)
    result = bo.minimize(lambda point: {"value": point["x"], "sd": math.nan}, {"x": range(9)}, n_trials=3, seed=0)
    assert {(trial.status, trial.sd) for trial in result.trials} == {("completed", None)}
    with pytest.raises(ValueError, match="sd: expected finite numbers from 0, got inf"):
        parse_outcome(2.0, sd=math.inf)


@pytest.mark.parametrize("part", [{"constraints": {"size": 3.0}}, {"sd": 0.1}, {"repeats": [1.0, 2.0]}])
@pytest.mark.parametrize("reason", ["failed", "infeasible"])
def test_what_was_measured_is_refused_by_name_beside_a_reason(part: dict[str, Any], reason: str) -> None:
    (name,) = part
    told: dict[str, Any] = {**part, reason: "x"}
    study = bo.Study({"a": bool}, method="random", seed=0)
    trial = study.ask()
    with pytest.raises(ValueError, match=rf"^{name}: expected None with {reason}=, got "):
        study.tell(trial, **told)
    with pytest.raises(ValueError, match="got more than one"):
        study.tell(trial, 1.0, **told)


def test_a_study_refuses_in_words_what_it_does_not_learn_from() -> None:
    study = bo.Study({"a": [1, 2]}, method="random", seed=0)
    study.ask()
    with pytest.raises(TypeError, match=r"value: expected one number, got 2, .*directions=\[\.\.\.\] of a study"):
        study.tell(0, Outcome((1.0, 2.0)))
    with pytest.raises(ValueError, match="got 'weight', on which the study declares no limit; it has none"):
        study.add({"a": 1}, Outcome((1.0,), constraints={"weight": 1.0}))
    assert [trial.status for trial in study.trials] == ["running"]


def test_an_objective_may_return_an_outcome(tmp_path):
    space = bo.Space({"a": [0.0, 1.0, 2.0]})

    def objective(point):
        return Outcome(infeasible="too large") if point["a"] == 2.0 else Outcome((-point["a"],), cost=3.0)

    with bo.Study(space, method="random", storage=tmp_path / "s.db") as study:
        study.optimize(objective, 3)
    with bo.Study.load(tmp_path / "s.db") as study:
        assert sorted(str(trial.value) for trial in study.trials) == ["-1.0", "0.0", "None"]


def test_reasons_are_texts_that_a_file_can_hold():
    assert Outcome(failed="caf\udce9").reason == "caf\\udce9"
    with pytest.raises(ValueError, match="failed: expected a reason"):
        Outcome(failed="")


def test_outcomes_have_hashes_that_fit_their_equality():
    first, again = (Outcome((1.0,), constraints={"a": 1.0}) for _ in range(2))
    assert hash(first) == hash(again)
    assert len({first, again, Outcome((1.0,)), Outcome(failed="rain")}) == 3


@pytest.mark.parametrize(
    "value", [np.ma.masked, np.ma.masked_invalid([np.nan, np.nan]).mean(), np.ma.array(1.0, mask=True)]
)
def test_what_lies_under_a_mask_is_no_number(value: Any) -> None:
    assert math.isnan(as_number("value", value))
    result = bo.minimize(lambda point: value if point["a"] else 1.0, {"a": bool}, 2, progress=False)
    failed = [(trial.value, trial.reason) for trial in result.trials if trial.status == "failed"]
    assert failed == [(None, "objective returned nan")]
    assert (result.best_value, result.n_completed) == (1.0, 1)
    assert as_number("value", np.ma.array([2.0], mask=False)) == 2.0


@pytest.mark.parametrize(("value", "shown"), [(10**400, "inf"), ((1.0, -(10**400)), "(1.0, -inf)")])
def test_a_number_beyond_a_float_is_called_so(value, shown):
    assert outcome_of(value).failed == f"objective returned {shown}: a number too large for a float"
    assert outcome_of(float("inf")).failed == "objective returned inf"


@pytest.mark.parametrize("value", [True, Decimal(1)])
def test_what_float_takes_is_refused_with_how_to_make_a_number_of_it(value):
    with pytest.raises(TypeError, match=r"expected a number, got .*; return float\(\.\.\.\)$"):
        outcome_of(value)


def test_a_list_of_objectives_is_refused_with_how_to_make_a_tuple_of_it():
    with pytest.raises(TypeError, match=r"for several objectives, got \[1, 2\] \(list\); pass tuple\(\.\.\.\)$"):
        outcome_of([1, 2])
    for one in ([1.0], (1.0,)):
        with pytest.raises(TypeError, match=r"got .1\.0,?. \(\w+\); pass the number itself$"):
            outcome_of(one)


@given(st.text(), st.text(), st.integers(0, 30_000))
def test_the_middle_of_a_long_text_is_left_out(start: str, end: str, n: int) -> None:
    text = f"{start}{'x' * n}{end}"
    cut = cut_middle(text)
    assert len(cut) <= LONGEST_TEXT
    assert cut_middle(cut) == cut
    assert (cut == text) == (len(text) <= LONGEST_TEXT)
    if cut != text:
        head, _, rest = cut.partition(" [... ")
        count, _, tail = rest.partition(" characters left out ...] ")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert int(count.replace(",", "")) == len(text) - len(head) - len(tail)


@pytest.mark.parametrize("name", ["failed", "infeasible"])
def test_a_long_reason_is_kept_by_its_ends(name: str) -> None:
    reason = Outcome(**{name: f"begin{'x' * 10**6}\udce9end"}).reason
    assert reason is not None
    assert len(reason) <= LONGEST_TEXT
    assert re.fullmatch(r"beginx+ \[... 990,\d+ characters left out ...\] x+\\udce9end", reason)
