"""Objectives that change their process without harm to the study, that kill it, or that never end."""

from __future__ import annotations

import atexit
import ctypes
import gc
import locale
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

Action = Callable[[dict[str, Any]], Any]


def value_at(point: dict[str, Any]) -> float:
    """Return the value that every trial should have."""
    return float(point["x"])


def _after(action: Callable[[], Any]) -> Action:
    """Return an objective that runs an action and then returns the right value."""

    def objective(point: dict[str, Any]) -> float:
        value = value_at(point)
        action()
        return value

    return objective


def _change_point(point: dict[str, Any]) -> float:
    value = value_at(point)
    point["x"] = -7
    point.clear()
    return value


def _enter_removed_folder() -> None:
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)


def _close_stdout() -> None:
    sys.stdout.close()


def _replace_stdout() -> None:
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    sys.stdout.close()


def _print_bytes() -> None:
    os.write(1, random.randbytes(60_000))
    os.write(2, b"\x1b[2J\x00\xff\n")


def _fork_and_raise() -> None:
    if os.fork() == 0:
        raise ValueError("of the child")


def _fork_and_exit() -> None:
    if os.fork() == 0:
        sys.exit(3)


def _seed_everything() -> None:
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002


HARMLESS: dict[str, Action] = {
    "changes its point": _change_point,
    "float32": lambda point: np.float32(value_at(point)),
    "fraction": lambda point: Fraction(value_at(point)),
    "array of one": lambda point: np.array([[value_at(point)]]),
    "seeds all generators": _after(_seed_everything),
    "numpy raises": _after(lambda: np.seterr(all="raise")),
    "warnings are errors": _after(lambda: warnings.simplefilter("error")),
    "removed folder": _after(_enter_removed_folder),
    "empty environment": _after(lambda: os.environ.clear()),
    "closes stdout": _after(_close_stdout),
    "replaces stdout": _after(_replace_stdout),
    "prints bytes": _after(_print_bytes),
    "reads stdin": _after(lambda: sys.stdin.read()),
    "forks": _after(lambda: os.fork()),
    "forks and raises": _after(_fork_and_raise),
    "forks and exits": _after(_fork_and_exit),
    "ignores SIGTERM": _after(lambda: threading.current_thread() is threading.main_thread() and _ignore_sigterm()),
    "traces": _after(lambda: sys.settrace(lambda *_: None)),
    "no garbage collection": _after(gc.disable),
    "other locale": _after(lambda: locale.setlocale(locale.LC_ALL, "C")),
    "slow exit": _after(lambda: atexit.register(time.sleep, 0.2)),
    "lasting thread": _after(lambda: threading.Thread(target=time.sleep, args=(0.5,)).start()),
}


def _ignore_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _signal_self(number: int) -> Action:
    def objective(_: dict[str, Any]) -> None:
        os.kill(os.getpid(), number)
        time.sleep(60)

    return objective


CRASHING: dict[str, Action] = {
    "os._exit": lambda _: os._exit(3),
    "os._exit(0)": lambda _: os._exit(0),
    "SIGKILL": _signal_self(signal.SIGKILL),
    "SIGSEGV": _signal_self(signal.SIGSEGV),
    "SIGALRM": _signal_self(signal.SIGALRM),
    "real-time signal": _signal_self(signal.SIGRTMIN + 2),
    "abort": lambda _: os.abort(),
    "NULL": lambda _: ctypes.string_at(0),
}


def _spin(_: dict[str, Any]) -> NoReturn:
    while True:
        pass


def _wait_deaf(_: dict[str, Any]) -> None:
    _ignore_sigterm()
    while True:
        time.sleep(1.0)


HANGING: dict[str, Action] = {
    "sleeps": lambda _: time.sleep(600),
    "stops itself": _signal_self(signal.SIGSTOP),
    "spins": _spin,
    "deaf to SIGTERM": _wait_deaf,
    "holds the interpreter's lock": lambda _: ctypes.PyDLL(None).sleep(600),
    "waits for its own lock": lambda _: [lock := threading.Lock(), lock.acquire(), lock.acquire()],
}
