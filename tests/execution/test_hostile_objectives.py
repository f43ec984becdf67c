"""Objectives that fork, exit, or raise what cannot be shown, stored or sent: each costs its own trial, and alike."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import cloudpickle
import pytest

import bostruct as bo
from benchmarks.chaos.hostile_raising import Locked, Mute, TwoArguments, Untraceable
from bostruct.execution.evaluation import Evaluation
from bostruct.outcome import LONGEST_TEXT, Outcome
from bostruct.serving.service import Service
from bostruct.study.loop import ObjectiveError
from tests.programs import finish
from tests.serving.doors import ask
from tests.stored import forge

SPACE = bo.Space({"x": bo.Integer(0, 9)})
WAYS = ["here", "workers", "threads", "processes"]
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # importing it would cost a worker more than all it does


def minimize(objective: Callable[[Any], Any], way: str = "workers", n_trials: int = 10, **given: Any) -> bo.Result:
    """Run a study in one of the ways to evaluate; the second trial of each is hostile at the earliest."""
    given = {"method": "random", "seed": 0, "progress": False, "initial_points": [{"x": 0}]} | given
    if way == "here":
        return bo.minimize(objective, SPACE, n_trials, **given)
    if way == "workers":
        return bo.minimize(objective, SPACE, n_trials, workers=2, **given)
    with (ThreadPoolExecutor if way == "threads" else ProcessPoolExecutor)(1) as executor:
        return bo.minimize(objective, SPACE, n_trials, executor=executor, **given)


def check_values(result: bo.Result, but: dict[int, str]) -> None:
    """Every trial has the value of its own point, but for those that failed for these reasons."""
    assert len(result.trials) == 10
    assert {t.point["x"]: t.reason for t in result.trials if t.status == "failed"} == but
    assert all(t.value == t.point["x"] for t in result.trials if t.point["x"] not in but)


def at_four(act: Callable[[], object]) -> Callable[[dict], float]:
    """Return an objective that does something at one of its points."""

    def objective(point: dict) -> float:
        if point["x"] == 4:
            act()
        return float(point["x"])

    return objective


def _forks(point: dict) -> float:
    os.fork()
    return float(point["x"])


def _forks_and_raises_in_the_child(point: dict) -> float:
    if os.fork() == 0:
        raise ValueError("of the child")
    return float(point["x"])


def _forks_and_exits(point: dict) -> float:
    child = os.fork()
    if child == 0:
        sys.exit(3)
    return point["x"] + os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) - 3.0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("objective", [_forks, _forks_and_raises_in_the_child, _forks_and_exits])
@pytest.mark.parametrize("way", ["workers", "processes"])
def test_a_forked_child_does_not_answer_for_its_parent(objective: Callable[[dict], float], way: str) -> None:
    check_values(minimize(objective, way), {})


FORKS_HERE = """
import warnings
warnings.simplefilter("ignore")
def objective(point):
    ending = {4: "returns", 5: "exits", 6: "raises"}.get(point["x"])
    if ending and os.fork() == 0:
        print("forked")
        if ending == "exits":
            sys.exit("left")
        elif ending == "raises":
            raise ValueError("of the child")
    elif ending:
        print(ending, os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
    return float(point["x"])
result = bo.minimize(objective, {"x": range(9)}, 9, method="random", seed=0, progress=False)
print([trial.value == trial.point["x"] for trial in result.trials].count(True), flush=True)
"""


def test_a_child_forked_in_the_study_s_own_process_ends_in_the_objective() -> None:
    done = finish(FORKS_HERE)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["9", "exits 1", *["forked"] * 3, "raises 1", "returns 0"]
    assert "left" in done.stderr.splitlines()
    assert "ValueError: of the child" in done.stderr.splitlines()


def _leave_a_child() -> None:
    if os.fork() == 0:
        os.setsid()  # nobody ends it with the worker
        signal.alarm(120)
        signal.pause()
    os._exit(3)


def _answer_for_another() -> None:
    Connection(os.dup(int(sys.orig_argv[3]))).send((77, Evaluation(Outcome((-1.0,)))))


NAMELESS = getattr(signal, "SIGRTMIN", 0) + 2


@pytest.mark.parametrize(
    ("act", "but"),
    [
        (_leave_a_child, {4: "its worker process died (exit code 3)"}),  # which is not waited for
        (_answer_for_another, {4: "its worker process answered for trial 77"}),
        pytest.param(
            lambda: os.kill(os.getpid(), NAMELESS),
            {4: f"its worker process died (signal {NAMELESS})"},
            marks=pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="no real-time signals here"),
        ),
        (lambda: sys.stdin.read() == "" or os._exit(3), {}),
        (lambda: sys.stdout.close(), {}),
    ],
    ids=["child", "other trial", "signal without a name", "stdin is empty", "stdout is closed"],
)
def test_what_an_objective_does_to_its_worker_costs_its_trial_at_most(act: Callable, but: dict[int, str]) -> None:
    check_values(minimize(at_four(act)), but)


def test_a_worker_that_died_is_not_waited_for_because_of_its_socket(tmp_path: Path) -> None:
    def leave() -> None:
        command = [sys.executable, "-c", "import time; time.sleep(200)"]
        sleeper = subprocess.Popen(command, pass_fds=[int(sys.orig_argv[3])], start_new_session=True)
        (tmp_path / "pid").write_text(str(sleeper.pid))
        os._exit(3)

    try:
        check_values(minimize(at_four(leave)), {4: "its worker process died (exit code 3)"})
        os.kill(int((tmp_path / "pid").read_text()), 0)  # the sleeper still has the socket
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


class Own(BaseException):
    pass


RAISED: list[tuple[Callable[[], BaseException], str]] = [
    (lambda: OSError("caf\udce9.txt"), r"OSError: caf\udce9.txt"),
    (lambda: Mute(), "Mute: (cannot be shown: RuntimeError)"),
    (lambda: Untraceable("diverged"), "Untraceable: diverged"),
    (lambda: SystemExit(2), "SystemExit: 2"),
    (lambda: asyncio.CancelledError(), "CancelledError"),
    (lambda: GeneratorExit("closed"), "GeneratorExit: closed"),
    (lambda: Own("own"), "Own: own"),
    (lambda: HTTPError("http://a", 404, "gone", None, None), "HTTPError: HTTP Error 404: gone"),  # type: ignore[arg-type]
    (lambda: TwoArguments("code", 7), "TwoArguments: code 7"),
    (lambda: Locked("locked"), "Locked: locked"),
]


def _raises_all(point: dict) -> float:
    """Every point but the first raises another error."""
    if point["x"]:
        raise RAISED[point["x"]][0]()
    return 0.0


def _raises_the_first(point: dict) -> float:
    if point["x"] == 1:
        raise RAISED[0][0]()
    return float(point["x"])


@pytest.mark.parametrize("storage", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_whatever_is_raised_fails_its_own_trial(way: str, storage: bool, tmp_path: Path) -> None:
    file = tmp_path / "runs.db" if storage else None
    expected = {x: reason for x, (_, reason) in enumerate(RAISED) if x}
    check_values(minimize(_raises_all, way, storage=file), expected)
    check_values(minimize(_raises_the_first, way), {1: RAISED[0][1]})
    if file is not None:
        with bo.Study.load(file, read_only=True) as study:
            check_values(study.result, expected)


class Leaves(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


def _leave() -> None:
    raise Leaves


@pytest.mark.parametrize("way", WAYS)
def test_an_exception_that_exits_when_it_is_shown_fails_its_own_trial(way: str) -> None:
    check_values(minimize(at_four(_leave), way), {4: "Leaves: (cannot be shown: SystemExit)"})


def _exits(_: dict) -> float:
    sys.exit("always")


@pytest.mark.parametrize("way", WAYS)
def test_an_objective_that_always_exits_is_a_mistake(way: str) -> None:
    with pytest.raises(ObjectiveError, match=r"SystemExit in each of the first 5 trials(.|\n)*in _exits"):
        minimize(_exits, way)


@pytest.mark.parametrize("way", ["here", "threads", "processes"])
def test_an_interrupt_still_ends_the_run(way: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        minimize(_interrupts, way)


def _interrupts(_: dict) -> float:
    raise KeyboardInterrupt


def test_reasons_that_utf_8_cannot_hold_are_stored_escaped(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")

    def objective(_: dict) -> float:
        raise bo.Infeasible(name)

    with bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "runs.db") as study:
        study.tell(study.ask(), failed=name)
        study.tell(study.ask(), infeasible=name)
        study.add({"x": 9}, failed=name)
        study.optimize(objective, 3, progress=False)
        assert {t.reason for t in study.trials} == {r"caf\udce9.txt"}
    with pytest.raises(ValueError, match=r"name: expected .* got 'caf\\udce9.txt'"):
        bo.Study(SPACE, method="random", storage=tmp_path / "runs.db", name=name)


class Handler:
    """Leaves the script, as handlers do that run once."""

    def __call__(self, number: int, *_: object, frame: object = None) -> None:
        del frame
        signal.signal(number, signal.SIG_DFL)
        sys.exit("preempted")


@pytest.mark.parametrize("handler", [Handler(), Handler().__call__, partial(Handler(), frame=None)])
def test_an_exit_from_a_signal_handler_ends_the_run_and_gives_its_trial_back(handler: Any) -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(SystemExit, match="preempted"):
            study.optimize(at_four(lambda: signal.raise_signal(signal.SIGUSR1)), 10, progress=False)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert [t.point["x"] for t in study.trials if t.status == "running"] == [4]
    assert not study.result.n_failed
    check_values(study.optimize(lambda point: point["x"], 10, progress=False), {})


SIZE = 10**6  # characters


def _shouts(point: dict) -> float:
    if point["x"] == 4:
        raise OSError("begin" + "x" * SIZE + "end")
    if point["x"] == 5:
        raise bo.Infeasible("y" * SIZE)
    if point["x"] == 6:
        raise Own("z", bytearray(SIZE))
    return float(point["x"])


@pytest.mark.parametrize("way", WAYS)
def test_a_long_message_is_kept_by_its_ends(way: str, tmp_path: Path) -> None:
    minimize(_shouts, way, storage=tmp_path / "runs.db")
    assert (tmp_path / "runs.db").stat().st_size < 1e6
    with bo.Study.load(tmp_path / "runs.db", read_only=True) as study:
        reasons = {trial.point["x"]: trial.reason for trial in study.trials if trial.status != "completed"}
    assert sorted(reasons) == [4, 5, 6]
    assert all(reason is not None and len(reason) <= LONGEST_TEXT for reason in reasons.values())
    assert reasons[4].startswith("OSError: beginxxx")
    assert reasons[4].endswith("xxxend")
    assert " characters left out ...] yy" in reasons[5]


def test_a_long_message_of_a_mistake_is_shown_by_its_ends() -> None:
    def objective(_: dict) -> float:
        raise TypeError("begin" + "x" * SIZE + "end")

    with pytest.raises(ObjectiveError) as raised:
        minimize(objective)
    assert len(str(raised.value)) < 2 * LONGEST_TEXT
    assert "in objective" in str(raised.value)


def test_a_long_message_that_is_told_or_tried_again_is_kept_by_its_ends(tmp_path: Path) -> None:
    long = "x" * 10**6
    with bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "runs.db") as study:
        study.tell(study.ask(), failed=long)
        study.tell(study.ask(), infeasible=long)
        study.add({"x": 9}, failed=long)
        trial = study.tell(study.ask(), failed=long, retry=True)
        study.requeue(study.trials[0])
        assert [len(reason) <= LONGEST_TEXT for reason in trial.info["failed_before"]] == [True]
    service = Service([bo.Study.load(tmp_path / "runs.db")], None)
    number = ask(service, "ask")["trials"][0]["number"]
    told = ask(service, "tell", trial=number, failed=long)["trial"]
    assert len(told["reason"]) <= LONGEST_TEXT
    service.close()
    assert (tmp_path / "runs.db").stat().st_size < 1e6


def test_a_long_message_of_an_earlier_version_loads(tmp_path: Path) -> None:
    with bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "runs.db") as study:
        study.tell(study.ask(), failed="short")
    forge(tmp_path / "runs.db", "UPDATE trials SET reason = ?", values=("x" * 10**6,))
    with bo.Study.load(tmp_path / "runs.db") as study:
        reason = study.trials[0].reason
        assert reason is not None
        assert len(reason) <= LONGEST_TEXT
        study.sync()
        study.tell(study.ask(), 1.0)
        study.save(tmp_path / "b.db")
    assert bo.Study.load(tmp_path / "b.db", read_only=True).trials[0].reason == reason
