"""Compiled loops, imported when first needed."""

from __future__ import annotations

import importlib
import tempfile
from functools import cache
from types import ModuleType

from bostruct.execution.interrupts import defer_signals


@cache
@defer_signals
def load_loops(module: str) -> ModuleType:
    """Import compiled loops: Numba takes a second, and some more the first time on a machine.

    Machine code is cached in NUMBA_CACHE_DIR if set, next to the package, or in the user's cache if the package is
    read-only; without such a folder, until the process ends. Signals are deferred, because a process in which the
    import of Numba was interrupted cannot import it again.
    """
    try:
        return importlib.import_module(module)
    except RuntimeError:  # no folder is writable
        importlib.import_module("numba").config.CACHE_DIR = _last_folder().name
        return importlib.import_module(module)


@cache
def _last_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="bostruct-loops-")
