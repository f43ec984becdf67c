"""Steps of which nothing was written: made again where a connection was lost, said beside a signal that came, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from time import monotonic
from typing import Any, TypeVar

from bostruct.checks import add_note
from bostruct.execution.interrupts import defer_signals
from bostruct.storage.protocol import StepUndone, StorageError

SECONDS = 120.0  # after the first loss, in which a connection is made again each time

Function = TypeVar("Function", bound=Callable[..., Any])


def repeat_undone(step: Function) -> Function:
    """Make a function begin again where it raises StepUndone, for two minutes at most.

    step: function whose only effect, before the step that it makes, may be had twice; it is returned wrapped.
    """

    @wraps(step)
    def whole(*args: Any, **kwargs: Any) -> Any:
        last: float | None = None
        while True:
            try:
                return step(*args, **kwargs)
            except StepUndone:
                last = monotonic() + SECONDS if last is None else last
                if monotonic() > last:
                    raise

    return whole  # type: ignore[return-value]


def defer_signals_and_note(step: Function) -> Function:
    """Make signals wait for a function, and note its failure with what a signal raises then, which takes its place.

    step: function that writes a value of the user's, which is returned wrapped.
    """

    def note(failures: list[StorageError], *args: Any, **kwargs: Any) -> Any:
        try:
            return step(*args, **kwargs)
        except StorageError as error:
            failures.append(error)
            raise

    deferred = defer_signals(note)

    @wraps(step)
    def whole(*args: Any, **kwargs: Any) -> Any:
        failures: list[StorageError] = []
        try:
            return deferred(failures, *args, **kwargs)
        except BaseException as error:
            if failures and error is not failures[0]:
                add_note(error, f"Earlier outcomes are not written: {failures[0]}")
            raise

    return whole  # type: ignore[return-value]
