"""Turns at a study: one suggestion at a time, and none while somebody waits who is quick."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from bostruct.serving.refusals import Refusal


class Turns:
    """The order of those who use a study: who is quick waits for one suggestion at most.

    The study's own lock may go to the next suggestion of a batch while a tell has waited for long.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._is_suggesting = False
        self._n_quick = 0  # that wait for the study, or have it
        self._is_over = False

    @contextmanager
    def hurry(self) -> Iterator[None]:
        """Let no suggestion begin before the block has ended; raise Refusal once the turns are over."""
        with self._condition:
            self._check_open()
            self._n_quick += 1
        try:
            yield
        finally:
            with self._condition:
                self._n_quick -= 1
                self._condition.notify_all()

    @contextmanager
    def suggest(self) -> Iterator[None]:
        """Wait until nobody suggests and nobody is quick, and let no other suggestion begin before the block has ended.

        Raises Refusal once the turns are over.
        """
        with self._condition:
            self._condition.wait_for(lambda: self._is_over or not (self._is_suggesting or self._n_quick))
            self._check_open()
            self._is_suggesting = True
        try:
            yield
        finally:
            with self._condition:
                self._is_suggesting = False
                self._condition.notify_all()

    def end(self, seconds: float) -> bool:
        """Let nobody in any more, and return whether all who were in came out in time.

        seconds: to wait for them at most.
        """
        deadline = monotonic() + seconds
        with self._condition:
            self._is_over = True
            self._condition.notify_all()
            return self._condition.wait_for(
                lambda: not (self._is_suggesting or self._n_quick), max(deadline - monotonic(), 0.0)
            )

    def _check_open(self) -> None:
        if self._is_over:
            raise Refusal("stopping", "the server is ending; trials that are out are handed out again later")
