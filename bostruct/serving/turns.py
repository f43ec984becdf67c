"""Turns at a study: one at a time, and who is quick before who is slow."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bostruct.serving.refusals import Refusal


class Turns:
    """A lock of a study for which those who are quick wait for one suggestion at most.

    A lock of the standard library may go to the next suggestion of a batch while a tell has waited for long.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._is_taken = False
        self._n_quick = 0  # that wait
        self._is_over = False

    @contextmanager
    def take(self, *, is_quick: bool) -> Iterator[None]:
        """Wait for a turn, and have it inside.

        is_quick: whether all that are not are let in after this one.

        Raises Refusal once the turns are over.
        """
        with self._condition:
            self._n_quick += is_quick
            try:
                self._condition.wait_for(lambda: self._is_over or self._is_free(is_quick))
            finally:
                self._n_quick -= is_quick
            if self._is_over:
                raise Refusal("stopping", "the server is ending; trials that are out are handed out again later")
            self._is_taken = True
        try:
            yield
        finally:
            with self._condition:
                self._is_taken = False
                self._condition.notify_all()

    def _is_free(self, is_quick: bool) -> bool:
        return not self._is_taken and (is_quick or not self._n_quick)

    def end(self, seconds: float) -> bool:
        """Let nobody in any more, and return whether the last turn ended in time.

        seconds: to wait for it at most.
        """
        deadline = time.monotonic() + seconds
        with self._condition:
            self._is_over = True
            self._condition.notify_all()
            return self._condition.wait_for(lambda: not self._is_taken, max(deadline - time.monotonic(), 0.0))
