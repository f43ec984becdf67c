"""An evaluation holds the outcome of a trial, whatever its exception is."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from bostruct.execution.evaluation import Evaluation, evaluate
from bostruct.outcome import LONGEST_TEXT, Outcome


def test_a_value_an_error_and_infeasibility_become_outcomes() -> None:
    assert evaluate(lambda point: point, 3).outcome == Outcome((3.0,))
    failed = evaluate(lambda point: point / 0, 3)
    assert failed.outcome == Outcome(failed="ZeroDivisionError: division by zero")
    assert isinstance(failed.error, ZeroDivisionError)
    assert "point / 0" in str(failed.trace)
    assert evaluate(lambda point: [point], 3).outcome.status == "failed"


@pytest.mark.parametrize("raised", [SystemExit, GeneratorExit, KeyboardInterrupt])
def test_an_exception_that_raises_another_where_it_is_loaded_is_left_behind(raised: type[BaseException]) -> None:
    class Leaves(Exception):
        def __reduce__(self) -> Any:
            return _leave, (raised,)

    arrived = pickle.loads(pickle.dumps(Evaluation(Outcome(failed="Leaves: x"), Leaves("x"), "trace")))
    assert (arrived.outcome.failed, str(arrived.error)) == ("Leaves: x", "Leaves: x")


def _leave(raised: type[BaseException]) -> None:
    raise raised


def test_an_evaluation_arrives_though_its_exception_does_not() -> None:
    class Lost(Exception):
        def __reduce__(self) -> Any:
            return int, ("x",)

    sent = Evaluation(Outcome(failed="Lost: gone"), Lost("gone"), "trace")
    arrived = pickle.loads(pickle.dumps(sent))
    assert arrived.outcome == sent.outcome
    assert arrived.trace == "trace"
    assert str(arrived.error) == "Lost: gone"


def test_an_evaluation_arrives_though_its_exception_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bostruct.execution.evaluation.MAX_PACKED", 10_000)
    failed = evaluate(lambda point: float("x" * point), 10**6)
    packed = pickle.dumps(failed)
    assert len(packed) < 50_000
    arrived = pickle.loads(packed)
    assert arrived.outcome == failed.outcome
    assert type(arrived.error) is RuntimeError
    assert arrived.trace == failed.trace
    assert len(arrived.trace) <= LONGEST_TEXT
