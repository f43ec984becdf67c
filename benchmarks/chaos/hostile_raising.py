"""Objectives with an unusual exception or an invalid result: each fails its own trial."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn
from urllib.error import HTTPError

import numpy as np

import bostruct as bo
from bostruct.outcome import Outcome


class Own(BaseException):
    """An exception that is not an `Exception`."""


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Leaves(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class TwoArguments(Exception):
    def __init__(self, text: str, code: int) -> None:
        super().__init__(f"{text} {code}")


class Locked(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lock = threading.Lock()


class Unreducible(Exception):
    def __reduce__(self) -> NoReturn:
        raise OSError("no pickle of me")


class BecomesANumber(Exception):
    def __reduce__(self) -> Any:
        return int, ("3",)


class Untraceable(Exception):
    @property
    def __notes__(self) -> list[str]:
        raise ValueError("no notes")


class Fragile:
    """An object that fails when it is shown or converted."""

    def __repr__(self) -> str:
        raise ValueError("no text")

    def item(self) -> NoReturn:
        raise ZeroDivisionError("no item")

    def __float__(self) -> float:
        return -1.0


class LongItem:
    def item(self) -> Any:
        return self


def _raise(make: Callable[[], BaseException]) -> Callable[[dict[str, Any]], NoReturn]:
    def objective(_: dict[str, Any]) -> NoReturn:
        raise make()

    return objective


def _recurse(point: dict[str, Any]) -> float:
    return _recurse(point) + 1.0


def _chain(_: dict[str, Any]) -> NoReturn:
    error = ValueError("the first")
    for number in range(300):
        another = ValueError(f"number {number}")
        another.__cause__ = error
        error = another
    raise error


def _warn(_: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.warn("diverged", stacklevel=1)


RAISING: dict[str, Callable[[dict[str, Any]], Any]] = {
    "ValueError": _raise(lambda: ValueError("diverged")),
    "KeyError": _raise(lambda: KeyError("key")),
    "MemoryError": _raise(MemoryError),
    "StopIteration": _raise(StopIteration),
    "TimeoutError": _raise(TimeoutError),
    "BrokenPipeError": _raise(BrokenPipeError),
    "EOFError": _raise(EOFError),
    "endless recursion": _recurse,
    "SystemExit": _raise(lambda: SystemExit(2)),
    "CancelledError": _raise(asyncio.CancelledError),
    "GeneratorExit": _raise(GeneratorExit),
    "own BaseException": _raise(lambda: Own("own")),
    "exception without text": _raise(Mute),
    "exception that exits when shown": _raise(Leaves),
    "exception without notes": _raise(lambda: Untraceable("diverged")),
    "exception of two arguments": _raise(lambda: TwoArguments("code", 7)),
    "exception with a lock": _raise(lambda: Locked("locked")),
    "exception that does not pickle": _raise(lambda: Unreducible("diverged")),
    "exception that loads as a number": _raise(lambda: BecomesANumber("diverged")),
    "HTTPError": _raise(lambda: HTTPError("http://a", 404, "gone", None, None)),  # type: ignore[arg-type]
    "exception group": _raise(lambda: ExceptionGroup("all", [ValueError("one"), KeyError("two")])),
    "long chain of exceptions": _chain,
    "surrogates in the text": _raise(lambda: OSError("caf\udce9.txt")),
    "NUL and escapes in the text": _raise(lambda: ValueError("a\0b\x1b[2J\u202e")),
    "10 MB of text": _raise(lambda: ValueError("x" * 10_000_000)),
    "Infeasible": _raise(lambda: bo.Infeasible("too wide")),
    "Infeasible without a reason": _raise(bo.Infeasible),
    "warning as an error": _warn,
    "None": lambda _: None,
    "text": lambda _: "0.5",
    "complex": lambda _: 1j,
    "bool": lambda _: True,
    "Decimal": lambda _: Decimal("0.5"),
    "two numbers": lambda _: (0.5, 0.5),
    "array of two": lambda _: np.zeros(2),
    "NaN": lambda _: float("nan"),
    "infinity": lambda _: float("-inf"),
    "10^400": lambda _: 10**400,
    "fragile object": lambda _: Fragile(),
    "object that is its own item": lambda _: LongItem(),
    "function": lambda _: lambda: 0.5,
    "outcome of two values": lambda _: Outcome((0.5, 0.5)),
}
