"""Requests as lines of JSON on one stream, answers on another."""

from __future__ import annotations

import json
import threading
from typing import BinaryIO

from bostruct.serving.json_lines import LONGEST
from bostruct.serving.refusals import Refusal
from bostruct.serving.service import Answer, Service, write_refusal

MOST_AT_ONCE = 64


def serve_lines(service: Service, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer each line until there are no more, or nobody reads the answers.

    service: that answers.
    source: of requests, a line each. One with an `id` is answered beside others, as soon as it is ready; one without
        is answered before the next line is read.
    sink: of answers, a line each.
    """
    writer = _Writer(sink)
    free = threading.Semaphore(MOST_AT_ONCE)  # a client that does not wait for answers has to

    def answer(line: bytes) -> None:
        try:
            writer.write(service.answer(line))
        finally:
            free.release()

    while not writer.is_broken and (line := source.readline(LONGEST + 1)):
        if len(line) > LONGEST:
            _skip_line(line, source)
            refusal = Refusal("too_large", f"expected a line of at most {LONGEST} bytes")
            writer.write(Answer(refusal.status, write_refusal(refusal)))
        elif line.strip():
            free.acquire()
            if _has_id(line):
                threading.Thread(target=answer, args=(line,), daemon=True).start()  # Ctrl-C waits for nobody
            else:
                answer(line)
    for _ in range(MOST_AT_ONCE):  # requests that are being answered
        free.acquire()


class _Writer:
    """Answers to a stream, one at a time; those that reach nobody are undone."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._lock = threading.Lock()
        self.is_broken = False

    def write(self, answer: Answer) -> None:
        with self._lock:
            try:
                if not self.is_broken:
                    self._sink.write(answer.body)
                    self._sink.flush()
            except (OSError, ValueError):  # closed by the other side, or by us
                self.is_broken = True
        if self.is_broken and answer.undo is not None:
            answer.undo()


def _has_id(line: bytes) -> bool:
    """Tell whether a request has a name of its own, by which its answer is known."""
    if b'"id"' not in line:
        return False
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):  # the service says what is wrong, in its turn
        return False
    return isinstance(request, dict) and request.get("id") is not None


def _skip_line(begun: bytes, source: BinaryIO) -> None:
    while begun and not begun.endswith(b"\n"):
        begun = source.readline(LONGEST)
