"""`minimize` and `maximize`: mirror images, one study from start to end, every argument of which gets through."""

from __future__ import annotations

import inspect
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.optimize import Settings, maximize, minimize
from bostruct.storage.protocol import StorageError
from bostruct.study.study import Study

SPACE = bo.Space({"a": range(6), "b": bool})


def value(point):
    return (point["a"] - 2) ** 2 + 0.5 * point["b"]


def parameters(function) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def test_both_have_the_same_arguments_and_defaults():
    assert parameters(minimize) == parameters(maximize)


def test_they_offer_every_argument_of_a_study_and_of_its_run():
    """An argument that a study or a run gets must be offered here as well, with the same default."""
    study = {k: v for k, v in parameters(Study.__init__).items() if k not in ("self", "direction")}
    run = {k: v for k, v in parameters(Study.optimize).items() if k not in ("self", "objective", "n_trials")}
    offered = parameters(minimize)
    assert set(offered) == {"objective", "n_trials", *study, *run}
    assert set(Settings.__annotations__) == {*offered} - {"objective", "space", "n_trials"}
    for name, parameter in (study | run).items():
        if name != "name":  # None stands for the default of the study
            assert offered[name].default == parameter.default, name


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_maximize_is_minimize_of_the_negative(seed, n_trials):
    low = minimize(value, SPACE, n_trials, method="random", seed=seed)
    high = maximize(lambda point: -value(point), SPACE, n_trials, method="random", seed=seed)
    assert [trial.point for trial in low.trials] == [trial.point for trial in high.trials]
    assert len(low.trials) == n_trials
    if n_trials:
        assert low.best_point == high.best_point
        assert low.best_value == -high.best_value


def test_the_same_call_goes_on_with_its_file_and_lets_go_of_it(tmp_path):
    arguments = {"method": "random", "seed": 3, "storage": tmp_path / "runs.db"}
    first = minimize(value, SPACE, 4, **arguments)
    second = minimize(value, SPACE, 9, **arguments)
    assert [t.point for t in second.trials[:4]] == [t.point for t in first.trials]
    whole = minimize(value, SPACE, 9, method="random", seed=3)
    assert [t.point for t in second.trials] == [t.point for t in whole.trials]
    assert minimize(lambda _: pytest.fail("it was finished"), SPACE, 9, **arguments).trials == second.trials
    with Study.load(tmp_path / "runs.db") as study:  # which nobody holds open
        assert study.name == "study"
        assert study.direction == "minimize"


def test_a_name_is_that_of_the_study(tmp_path):
    for name in ("one", "two"):
        maximize(value, SPACE, 2, method="random", seed=0, storage=tmp_path / "runs.db", name=name)
    with Study.load(tmp_path / "runs.db", "two", read_only=True) as study:
        assert (study.direction, len(study.trials)) == ("maximize", 2)


def test_the_file_is_let_go_of_when_the_run_is_cut_short(tmp_path):
    broken = ended_by(OSError("no disk"), after=0)
    with pytest.raises(OSError, match="no disk"):
        minimize(broken, SPACE, 3, method="random", seed=0, storage=tmp_path / "runs.db", reraise=OSError)
    with Study.load(tmp_path / "runs.db") as study:
        assert study.ask().number == 1


def test_points_callbacks_and_executors_get_through():
    seen = []
    with ThreadPoolExecutor(2) as executor:
        run = {"executor": executor, "workers": 2, "callbacks": lambda _, trial: seen.append(trial.number)}
        study = {"method": "random", "seed": 0, "initial_points": [{"a": 5, "b": True}]}
        result = minimize(value, {"a": range(6), "b": bool}, 5, **study, **run, progress=False)
    first = result.trials[0]
    assert (first.point, first.origin, sorted(seen)) == ({"a": 5, "b": True}, "given", list(range(5)))


@pytest.mark.parametrize("function", [minimize, maximize])
@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({"n_trials": -1}, ValueError, "n_trials"),
        ({"seed": -1}, ValueError, "seed"),
        ({"name": ""}, ValueError, "name"),
        ({"method": "magic"}, ValueError, "method"),
        ({"space": [1, 2]}, TypeError, "space"),
        ({"objective": 3}, TypeError, "objective"),
    ],
)
def test_wrong_arguments_are_refused_by_name(function, arguments, error, why):
    with pytest.raises(error, match=why):
        function(**{"objective": value, "space": SPACE, "n_trials": 2, "method": "random", **arguments})


@pytest.mark.parametrize(
    ("search", "directions", "message"),
    [
        (maximize, ["minimize", "minimize"], r"expected maximize for each .*, got .*; minimize\(\)"),
        (maximize, ["maximize", "minimize"], "expected maximize for each objective"),
        (maximize, ["minimize"], "expected maximize for each objective"),
        (minimize, ["maximize"], r"expected minimize for the only objective of minimize\(\), .*; call maximize\(\)"),
        (minimize, ("maximize",), "expected minimize for the only objective"),
    ],
)
def test_directions_that_contradict_the_call_are_refused(search, directions, message):
    with pytest.raises(ValueError, match=f"directions: {message}"):
        search(value, SPACE, 2, method="random", seed=0, directions=directions)


@pytest.mark.parametrize(
    ("search", "directions"),
    [
        *((maximize, ["maximize"] * n) for n in (1, 2)),
        *((minimize, directions) for directions in (["minimize"], ["minimize", "maximize"], ["maximize"] * 2)),
    ],
)
def test_other_directions_are_those_of_the_study(search, directions):
    found = search(lambda _: (1.0,) * len(directions), SPACE, 0, method="random", seed=0, directions=directions)
    assert list(found.goals.directions) == directions


def test_what_is_no_list_of_directions_is_refused_in_the_words_of_a_study():
    for search in (minimize, maximize):
        with pytest.raises(TypeError, match="directions: expected a list of 'minimize' or 'maximize', got 'minimize'"):
            search(value, SPACE, 0, directions="minimize")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="Did you mean 'maximize'"):
            search(value, SPACE, 0, directions=["maximise"])  # type: ignore[arg-type]


def test_what_is_no_objective_is_refused_by_name():
    with pytest.raises(
        TypeError,
        match=r"^objective: expected a function of a point, got .*; call minimize\(objective, space, \.\.\.\)$",
    ):
        minimize(SPACE, value, 3)  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"^objective: expected a function of a point, got 2\.5; call maximize\(objective, space"
    ):
        maximize(2.5, SPACE, 3)  # type: ignore[arg-type,type-var]


class Frozen(Exception):
    """Refuses attributes, but for the traceback, which Python itself sets."""

    def __setattr__(self, name, value):
        if name != "__traceback__":
            raise AttributeError(f"cannot assign to {name}")
        super().__setattr__(name, value)


class HasResult(Exception):
    result = "of its own"


def ended_by(error, after=4):
    calls = []

    def objective(point):
        calls.append(point)
        if len(calls) > after:
            raise error
        return value(point)

    return objective


def optimize(objective, space, n_trials, **given):
    run = {name: given.pop(name) for name in ("callbacks", "reraise") if name in given}
    return Study(space, **given).optimize(objective, n_trials, **run)


def stop(_, trial):
    if trial.number == 3:
        raise LookupError("of a callback")


def terminate(_, trial):
    if trial.number == 3:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)


ENDS = {
    KeyboardInterrupt: lambda: {"objective": ended_by(KeyboardInterrupt())},
    OSError: lambda: {"objective": ended_by(OSError("no")), "reraise": OSError},
    LookupError: lambda: {"objective": value, "callbacks": stop},
    SystemExit: lambda: {"objective": value, "callbacks": terminate},
}


@pytest.mark.parametrize("call", [minimize, maximize, optimize])
@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("is_stored", [False, True])
def test_what_ends_a_run_carries_its_result_and_says_so_in_one_line(call, kind, is_stored, tmp_path):
    given = {"space": SPACE, "n_trials": 8, "method": "random", "seed": 0, **ENDS[kind]()}
    if is_stored:
        given["storage"] = tmp_path / "runs.db"
    with pytest.raises(kind) as caught:
        call(**given)
    assert caught.value.result.n_completed == 4
    (note,) = caught.value.__notes__
    assert "\n" not in note
    finished = 5 if kind is OSError else 4  # the error that is to be raised fails its trial
    if is_stored:
        assert f"is safe in {tmp_path / 'runs.db'}, with {finished} trials finished" in note
    else:
        assert note.startswith(f"{finished} trials finished. The result so far is error.result")


def test_an_error_that_refuses_a_result_or_has_its_own_stays_the_one_that_is_seen():
    for error in (Frozen("no"), HasResult("no")):
        with pytest.raises(type(error), match="no") as caught:
            minimize(ended_by(error), SPACE, 8, method="random", seed=0, reraise=type(error))
        assert caught.value is error
    assert error.result == "of its own"
    assert error.bostruct_result.n_completed == 4
    assert error.__notes__[0].startswith("5 trials finished. The result so far is error.bostruct_result")


def test_the_result_of_a_nested_call_makes_way_for_that_of_the_outer_one():
    def outer(_):
        return minimize(ended_by(KeyboardInterrupt(), after=2), SPACE, 8, method="random", seed=0).best_value

    with pytest.raises(KeyboardInterrupt) as caught:
        minimize(outer, SPACE, 3, method="random", seed=1)
    assert caught.value.result.n_completed == 0
    assert not any("error.result" in note for note in getattr(caught.value, "__notes__", []))


def test_wrong_arguments_and_a_run_without_a_finished_trial_have_no_note():
    for wrong in ({"workers": 0}, {"method": "no"}, {"callbacks": 3}, {"seed": -1}):
        with pytest.raises((TypeError, ValueError)) as caught:
            minimize(value, SPACE, 8, **({"method": "random"} | wrong))
        assert vars(caught.value).keys().isdisjoint({"result", "__notes__"})
    with pytest.raises(KeyboardInterrupt) as interrupted:
        minimize(ended_by(KeyboardInterrupt(), after=0), SPACE, 8, method="random", seed=0)
    assert not hasattr(interrupted.value, "__notes__")
    assert interrupted.value.result.n_completed == 0


def test_an_error_of_closing_the_study_carries_the_result(monkeypatch):
    def fail(_):
        raise StorageError("the disk is gone")

    monkeypatch.setattr(Study, "close", fail)
    with pytest.raises(StorageError) as caught:
        minimize(value, SPACE, 4, method="random", seed=0)
    found = caught.value if hasattr(caught.value, "result") else caught.value.__context__
    assert found.result.n_completed == 4
