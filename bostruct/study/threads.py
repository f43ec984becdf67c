"""How many threads model work may use."""

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
)  # modules that bring thread pools when imported


class NestedLimits:
    """How many limits overlap, and how to restore what was before the first of them, after the last."""

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
        """Forget the limits that are none of another object's, of which the last is not undone."""
        self._depth = other._depth
        if self.empty:
            self._restore = None

    def leave(self) -> None:
        self._depth -= 1
        if self.empty and self._restore is not None:
            self._restore()
            self._restore = None


class ThreadLocalLimits(threading.local):
    def __init__(self) -> None:
        self.overlap = NestedLimits()


LOCK = make_lock()
PROCESS_LIMITS = NestedLimits()  # BLAS has one setting a process, and so has torch beside that of OpenMP
THREAD_LIMITS = ThreadLocalLimits()  # OpenMP has one a thread

# A forked child has the thread alone that forked. It keeps the others' limit: to start threads is not its business.
hook_forks(after_in_child=lambda: PROCESS_LIMITS.keep(THREAD_LIMITS.overlap))


class ThreadLimit:
    """A limit on the threads of BLAS, OpenMP and torch. Where limits overlap the first counts.

    threads: at most, at least 1; None leaves them alone.

    Finding the thread pools of a process takes milliseconds, so it is done again only when a module has brought more.
    """

    def __init__(self, threads: int | None) -> None:
        self.threads = threads
        self._found: tuple[bool, ...] = ()
        self._controller: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Limited inside, as before outside, in this thread and in others."""
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
                THREAD_LIMITS.overlap.leave()

    def _begin(self, threads: int) -> None:
        pools = self._pools()
        torch = sys.modules.get("torch")
        # Read first, as the limit of OpenMP would show in it; and not within another thread's limit, which a thread
        # that is new to torch would take over for good.
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

        THREAD_LIMITS.overlap.enter(
            lambda: pools.select(user_api="openmp").limit(limits=threads).restore_original_limits
        )
        PROCESS_LIMITS.enter(limit_process)

    def _pools(self) -> Any:
        found = tuple(module in sys.modules for module in POOL_MODULES)
        if self._controller is None or found != self._found:
            from threadpoolctl import ThreadpoolController

            self._found = found
            self._controller = ThreadpoolController()
        return self._controller


def _free_openblas() -> None:
    """Let any thread set OpenBLAS: from threadpoolctl 3.8 on only the last one may, and limits end in others."""
    from threadpoolctl import OpenBLASController

    free = getattr(OpenBLASController, "clear_controlling_thread", None)
    if callable(free):
        free(force=True)
