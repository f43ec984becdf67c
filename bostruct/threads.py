"""How many threads model work may use."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

POOLS = ("numpy", "scipy", "scipy.linalg", "sklearn", "torch", "ot")  # modules that bring thread pools when imported


class Outside:
    """What a process allowed before the first of overlapping limits, to be restored after the last: the pools belong to
    the process, whichever thread limits them.
    """

    guard = threading.Lock()
    depth = 0
    limiter: Any = None
    torch_threads: int | None = None


class ThreadLimit:
    """A limit on the threads of BLAS, OpenMP and torch; None leaves them alone. Where limits overlap the first counts.

    Finding the thread pools of a process takes milliseconds, so it is done again only when a module has brought more.
    """

    def __init__(self, threads: int | None) -> None:
        self.threads = threads
        self._found: tuple[bool, ...] = ()
        self._controller: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Limited inside, as before outside."""
        if self.threads is None:
            yield
            return
        with Outside.guard:
            if Outside.depth == 0:
                self._begin(self.threads)
            Outside.depth += 1
        try:
            yield
        finally:
            with Outside.guard:
                Outside.depth -= 1
                if Outside.depth == 0:
                    _end()

    def _begin(self, threads: int) -> None:
        torch = sys.modules.get("torch")
        Outside.torch_threads = torch.get_num_threads() if torch else None
        Outside.limiter = self._pools().limit(limits=threads)
        if torch:
            torch.set_num_threads(threads)

    def _pools(self) -> Any:
        found = tuple(module in sys.modules for module in POOLS)
        if self._controller is None or found != self._found:
            from threadpoolctl import ThreadpoolController

            self._found = found
            self._controller = ThreadpoolController()
        return self._controller


def _end() -> None:
    Outside.limiter.restore_original_limits()
    if Outside.torch_threads is not None:
        sys.modules["torch"].set_num_threads(Outside.torch_threads)
