"""Steps that are made again where a connection was lost and nothing was written."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from bostruct.storage.protocol import StepUndone

TIMES = 20  # each of which ends a connection that had just been made

Function = TypeVar("Function", bound=Callable[..., Any])


def repeat_undone(step: Function) -> Function:
    """Make a function begin again where it raises StepUndone.

    step: function whose only effect, before the step that it makes, may be had twice; it is returned wrapped.
    """

    @wraps(step)
    def whole(*args: Any, **kwargs: Any) -> Any:
        for _ in range(TIMES):
            try:
                return step(*args, **kwargs)
            except StepUndone:
                continue
        return step(*args, **kwargs)

    return whole  # type: ignore[return-value]
