"""Steps that are made again where a connection was lost and nothing was written."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from bostruct.storage.protocol import StepUndone

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
                last = time.monotonic() + SECONDS if last is None else last
                if time.monotonic() > last:
                    raise

    return whole  # type: ignore[return-value]
