"""The arguments of a run are checked, and ask for a pool."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import bostruct as bo
from bostruct.execution.pools import InProcessPool
from bostruct.execution.processes import ProcessPool
from bostruct.study.run_settings import RunSettings


def test_settings_name_the_argument_that_is_wrong() -> None:
    given: dict[str, Any] = {"executor": None, "trial_timeout": None, "callbacks": (), "progress": None, "reraise": ()}
    with pytest.raises(ValueError, match="load_timeout: expected"):
        RunSettings(objective=float, n_trials=1, workers=1, load_timeout=0.0, **given)


def test_a_time_out_asks_for_processes() -> None:
    given: dict[str, Any] = {"executor": None, "callbacks": (), "progress": None, "reraise": (), "load_timeout": 9.0}
    pools = []
    for limit in (None, 5.0):
        settings = RunSettings(objective=abs, n_trials=1, workers=1, trial_timeout=limit, **given)
        pools.append(settings.pool())
        pools[-1].close()
    assert [type(pool) for pool in pools] == [InProcessPool, ProcessPool]


@pytest.mark.parametrize("callbacks", [bo.StopWhen, [bo.StopWhen]])
def test_a_class_in_place_of_a_callback_is_refused(callbacks: Any) -> None:
    with pytest.raises(TypeError, match=r"callbacks: .*got the class StopWhen; pass an object, StopWhen\(\.\.\.\)"):
        bo.Study({"a": bool}, seed=0).optimize(abs, 2, callbacks=callbacks)  # type: ignore[arg-type]


def test_a_callback_that_cannot_take_study_and_trial_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"^callbacks: expected functions of \(study, trial\), got <.*: too many positional"
    ):
        bo.Study({"a": bool}, seed=0).optimize(abs, 2, callbacks=lambda _: None)  # type: ignore[arg-type,misc]


class Client:
    """Has a `submit` of its own, as the client of Dask has."""

    def submit(self) -> None: ...
    def get_executor(self) -> None: ...


@pytest.mark.parametrize("executor", [Client(), ThreadPoolExecutor, 3])
def test_what_is_no_executor_is_refused(executor: Any) -> None:
    study = bo.Study({"x": range(9)})
    with pytest.raises(TypeError, match=r"executor: expected a concurrent\.futures\.Executor, got") as caught:
        study.optimize(float, 2, executor=executor)
    assert str(caught.value).endswith("; pass client.get_executor()") == isinstance(executor, Client)
    assert not study.trials
