"""Limit the threads of numerical libraries."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bostruct.execution.interrupts import hook_forks, make_lock

POOL_MODULES = (
    "numpy",
    "scipy",
    "scipy.linalg",
    "sklearn",
    "torch",
    "ot",
)  # modules that load thread pools when imported


class NestedLimits:
    """The number of overlapping limits, and the settings to restore after the last one."""

    def __init__(self) -> None:
        self._depth = 0
        self._restore: Callable[[], None] | None = None

    @property
    def empty(self) -> bool:
        return self._depth == 0

    def enter(self, limit: Callable[[], Callable[[], None]]) -> None:
        if self.empty:
            self._restore = limit()
        self._depth += 1

    def keep(self, other: NestedLimits) -> None:
        """Forget the limits that another object does not share, without restoring the settings."""
        self._depth = other._depth
        if self.empty:
            self._restore = None

    def leave(self) -> None:
        self._depth -= 1
        if self.empty and self._restore is not None:
            self._restore()
            self._restore = None


class ThreadLocalLimits(NestedLimits, threading.local):
    """The overlapping limits of each thread."""


LOCK = make_lock()
PROCESS_LIMITS = NestedLimits()  # BLAS has one setting per process; torch also has one, in addition to that of OpenMP
THREAD_LIMITS = ThreadLocalLimits()  # OpenMP has one per thread

# A forked child has only the forking thread. It keeps the limit of other threads, and must not start threads.
hook_forks(after_in_child=lambda: PROCESS_LIMITS.keep(THREAD_LIMITS))


class ThreadLimit:
    """A limit on the threads of BLAS, OpenMP and torch. If limits overlap, the first applies.

    threads: maximum number, at least 1; None for no change.

    Finding the thread pools of a process takes milliseconds, so it is repeated only after a module has loaded more.
    """

    def __init__(self, threads: int | None) -> None:
        self.threads = threads
        self._found: tuple[bool, ...] = ()
        self._controller: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Apply the limit inside the block, and restore the previous limits afterward, in all threads."""
        if self.threads is None:
            yield
            return
        with LOCK:
            self._begin(self.threads)
        try:
            yield
        finally:
            with LOCK:
                PROCESS_LIMITS.leave()
                THREAD_LIMITS.leave()

    def _begin(self, threads: int) -> None:
        pools = self._pools()
        torch = sys.modules.get("torch")
        # Read before limiting, because the limit of OpenMP would show; and not within another thread's limit, which a
        # thread that is new to torch would adopt permanently.
        before = torch.get_num_threads() if torch and PROCESS_LIMITS.empty else None

        def limit_process() -> Callable[[], None]:
            _free_openblas()
            blas = pools.select(user_api="blas").limit(limits=threads)
            if torch is not None:
                torch.set_num_threads(threads)

            def restore() -> None:
                _free_openblas()
                blas.restore_original_limits()
                _free_openblas()
                if torch is not None:
                    torch.set_num_threads(before)

            return restore

        THREAD_LIMITS.enter(lambda: pools.select(user_api="openmp").limit(limits=threads).restore_original_limits)
        PROCESS_LIMITS.enter(limit_process)

    def _pools(self) -> Any:
        found = tuple(module in sys.modules for module in POOL_MODULES)
        if self._controller is None or found != self._found:
            from threadpoolctl import ThreadpoolController

            self._found = found
            self._controller = ThreadpoolController()
        return self._controller


def _free_openblas() -> None:
    """Let any thread set OpenBLAS: since threadpoolctl 3.8 only the last thread may, but other threads end limits."""
    from threadpoolctl import OpenBLASController

    free = getattr(OpenBLASController, "clear_controlling_thread", None)
    if callable(free):
        free(force=True)
