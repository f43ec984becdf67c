"""Errors of the system, and those of a user's signal handlers, which may be of the same class."""

from __future__ import annotations


def check_system(error: Exception) -> None:
    """Raise an error again where a signal handler of the user's raised it; return for one of the system.

    error: that was caught, such as TimeoutError, which handlers of alarms raise. Those of the system have a number.
    """
    if isinstance(error, OSError) and error.errno is None:
        raise error
