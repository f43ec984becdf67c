"""Compiled loops, imported when first needed."""

from __future__ import annotations

import importlib
import inspect
import logging
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from bostruct.execution.interrupts import defer_signals
from bostruct.outcome import WORKER_NUMBER


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


def announce_compilation(function: Any) -> None:
    """Log that a function compiled by Numba is not cached yet; unless the log shows it, say so on a terminal, once.

    function: result of `numba.njit(cache=True)`; the functions of its file are compiled together.
    """
    if any(Path(function.stats.cache_path).glob(f"{Path(inspect.getfile(function.py_func)).stem}.*.nbi")):
        return
    log, text = logging.getLogger("bostruct"), "compiling, once for this installation; it takes some seconds"
    log.info(text)
    if sys.stderr.isatty() and WORKER_NUMBER not in os.environ and not log.isEnabledFor(logging.INFO):
        _print_once(f"bostruct: {text}")


@cache
def _print_once(text: str) -> None:
    from tqdm import tqdm

    tqdm.write(text, file=sys.stderr)  # above a progress bar


def find_code(*functions: Any) -> str | None:
    """Return the folder that keeps the code of functions compiled by Numba; None if the code ends with the process."""
    is_temporary = _last_folder.cache_info().currsize
    return None if is_temporary else os.path.commonpath([one.stats.cache_path for one in functions])


@cache
def _last_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="bostruct-loops-")
