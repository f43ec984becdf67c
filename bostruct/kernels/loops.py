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
    """Import compiled loops: Numba takes a second, the first time on a machine some more.

    Machine code is kept beside the package, or in the user's cache if nothing can be written there, or where
    NUMBA_CACHE_DIR says; without any such folder, until the process ends. Signals wait: a process whose import of Numba
    was interrupted can import it no more.
    """
    try:
        return importlib.import_module(module)
    except RuntimeError:  # no folder
        importlib.import_module("numba").config.CACHE_DIR = _last_folder().name
        return importlib.import_module(module)


@cache
def _last_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="bostruct-loops-")
