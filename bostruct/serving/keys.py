"""Requests that may be repeated: a client that lost an answer gets the same one again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, NamedTuple, TypeVar

from bostruct.serving.refusals import Refusal

MOST_KEPT = 10_000

Answer = TypeVar("Answer")


class _Entry(NamedTuple, Generic[Answer]):
    request: str
    answer: Future[Answer]


class Keys(Generic[Answer]):
    """The answers to the last requests that had a key.

    most: how many are kept, at least 1; those that are not answered yet are kept besides.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry[Answer]] = OrderedDict()

    def run_once(self, key: str, request: str, run: Callable[[], Answer]) -> Answer:
        """Return the answer to a request, which is run where it was not before; wait where it is being run.

        key: that the client chose for it.
        request: all that it says, as text.
        run: answers it. What it raises is not kept: the request may be tried again.

        Raises Refusal where the key was of another request.
        """
        with self._lock:
            mine: _Entry[Answer] = _Entry(request, Future())
            known = self._entries.setdefault(key, mine)
            self._drop_oldest()
        if known.request != request:
            raise Refusal("key_reused", f"key: expected a new one for another request, got {key!r} again")
        if known is not mine:
            return known.answer.result()
        try:
            answer = run()
        except BaseException as error:
            with self._lock:
                del self._entries[key]
            mine.answer.set_exception(error)
            raise
        mine.answer.set_result(answer)
        return answer

    def _drop_oldest(self) -> None:
        if len(self._entries) > self._most:
            oldest = next((key for key, entry in self._entries.items() if entry.answer.done()), None)
            if oldest is not None:
                del self._entries[oldest]
