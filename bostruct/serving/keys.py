"""Requests that may be repeated: a client that lost an answer gets the same one again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from hashlib import sha256
from typing import NamedTuple

from bostruct.serving.refusals import Refusal

MOST_KEPT = 10_000
MOST_BYTES = 32 * 1024 * 1024


class _Entry(NamedTuple):
    request: str
    answer: Future[bytes]


class Keys:
    """The answers to the last requests that had a key.

    most: how many are kept, at least 1; those that are not answered yet are kept besides.
    most_bytes: how long they may be in all. The last one is kept, however long it is.
    """

    def __init__(self, most: int = MOST_KEPT, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._n_bytes = 0  # of the answers that are there

    def run_once(self, key: str, request: str, run: Callable[[], bytes]) -> bytes:
        """Return the answer to a request, which is run where it was not before; wait where it is being run.

        key: that the client chose for it.
        request: all that it says, as text.
        run: answers it. What it raises is not kept: the request may be tried again.

        Raises Refusal where the key was of another request.
        """
        digest = sha256(request.encode("utf-8", "surrogatepass")).hexdigest()  # a request may be long
        with self._lock:
            mine = _Entry(digest, Future())
            known = self._entries.setdefault(key, mine)
        if known.request != digest:
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
        with self._lock:
            self._n_bytes += len(answer)
            self._drop_oldest(key)
        return answer

    def _drop_oldest(self, kept: str) -> None:
        while self._is_full:
            done = (key for key, entry in self._entries.items() if entry.answer.done() and key != kept)
            if (oldest := next(done, None)) is None:
                return
            self._n_bytes -= len(self._entries.pop(oldest).answer.result())

    @property
    def _is_full(self) -> bool:
        return len(self._entries) > self._most or self._n_bytes > self._most_bytes
