"""How many threads model work may use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

POOLS = ("numpy", "scipy", "scipy.linalg", "sklearn", "torch", "ot")  # modules that bring thread pools when imported


class ThreadLimit:
    """A limit on the threads of BLAS, OpenMP and torch; None leaves them alone.

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
        torch = sys.modules.get("torch")
        before = torch.get_num_threads() if torch else None
        with self._pools().limit(limits=self.threads):
            try:
                if torch:
                    torch.set_num_threads(self.threads)
                yield
            finally:
                if torch:
                    torch.set_num_threads(before)

    def _pools(self) -> Any:
        found = tuple(module in sys.modules for module in POOLS)
        if self._controller is None or found != self._found:
            from threadpoolctl import ThreadpoolController

            self._found = found
            self._controller = ThreadpoolController()
        return self._controller
