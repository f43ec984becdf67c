"""Transports of the protocol: HTTP, with a request as the body of a POST, and streams, with one request per line."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from time import monotonic
from typing import BinaryIO

from bostruct.output_files import OutputRefused, refuse_name_of_database
from bostruct.serving.guarded_http import GuardedHandler, GuardedServer, is_equal, receive
from bostruct.serving.messages import CODES, LONGEST, Refusal
from bostruct.serving.service import PROTOCOL, Answer, Service, write_refusal

MOST_AT_ONCE = 64
PATH = f"/v{PROTOCOL}"
MOST_CONNECTIONS = 256
BODY_SECONDS = 10.0  # for the body of a request to arrive
DRAIN_SECONDS = 0.5  # for the unread rest of a rejected request, so that the client reads its answer
STRANGER_SECONDS = 0.05  # the same for a client without a token, which may try to block others
REQUESTS_A_SECOND, BURST = 500.0, 1000.0
OF_STATUS = {status: code for code, status in reversed(CODES.items())}  # for refusals with only a status


class StudyServer(GuardedServer):
    """A server of studies.

    port: port to listen at; 0 for any free port.
    path: path of a Unix socket, instead of host and port; None for no socket. Only the user of this process may
        connect. A link is followed.

    Raises OutputRefused if the path is a file that is not a socket, OSError if the address is not available.
    """

    def __init__(self, service: Service, host: str = "127.0.0.1", port: int = 0, path: str | None = None) -> None:
        self.service = service
        self.budget = Budget(REQUESTS_A_SECOND, BURST)
        self._inode: int | None = None  # of our own Unix socket
        if path is None:
            super().__init__(host, port, _StudyHandler, MOST_CONNECTIONS)
        else:
            path = os.path.realpath(path) if os.path.islink(path) else path
            _remove_dead_socket(path)
            mask = os.umask(0o077)
            try:
                super().__init__(path, 0, _StudyHandler, MOST_CONNECTIONS, socket.AF_UNIX)
            finally:
                os.umask(mask)
            self._inode = os.stat(path).st_ino

    def server_close(self) -> None:
        """Stop listening, and remove the Unix socket, unless another server has replaced it."""
        super().server_close()
        if not self.has_address:
            with suppress(OSError):
                path = str(self.server_address)
                found = os.lstat(path)
                if stat.S_ISSOCK(found.st_mode) and found.st_ino == self._inode:
                    os.unlink(path)


def _remove_dead_socket(path: str) -> None:
    """Remove a Unix socket without a listening server, for example of a server that was killed."""
    refuse_name_of_database(path)
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise OutputRefused(errno.EEXIST, "is not a socket; give another path", path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                os.unlink(path)


class _StudyHandler(GuardedHandler):
    """One request and its answer, on a connection that is then closed."""

    server: StudyServer  # pyright: ignore[reportIncompatibleVariableOverride]  # the server that created it
    methods = "POST"

    def do_POST(self) -> None:
        try:
            body = self._read_request()
        except Refusal as refusal:
            self._send(refusal.status, write_refusal(refusal))
            self._drain(STRANGER_SECONDS if refusal.code in ("forbidden", "unauthorized") else DRAIN_SECONDS)
            return
        answer = self.server.service.answer(body)
        try:
            self._send(answer.status, answer.body)
        except OSError:
            if answer.undo is not None:
                answer.undo()

    def _read_request(self) -> bytes:
        """Return the body of a request; raise Refusal if the request is rejected."""
        if (why := self.find_refusal()) is not None:
            raise Refusal("forbidden", why)
        given = self.headers.get_all("Authorization", [])
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        if scheme.lower() != "bearer" or not is_equal(token, self.server.token):
            raise Refusal("unauthorized", "expected the header `Authorization: Bearer TOKEN`, with the server's token")
        if self.path != PATH:
            raise Refusal("not_found", f"expected the path {PATH}")
        if not self.server.budget.spend():
            raise Refusal("too_many_requests", f"expected at most {REQUESTS_A_SECOND:g} requests a second")
        return self._read_body(self._read_length())

    def _read_length(self) -> int:
        lengths = self.headers.get_all("Content-Length", [])
        is_plain = len(lengths) == 1 and lengths[0].isascii() and lengths[0].isdigit() and len(lengths[0]) < 16
        if not is_plain or "Transfer-Encoding" in self.headers:
            raise Refusal("length_required", "expected one Content-Length, a number, and no Transfer-Encoding")
        if (length := int(lengths[0])) > LONGEST:
            raise Refusal("too_large", f"expected a body of at most {LONGEST} bytes, got {length}")
        return length

    def _read_body(self, length: int) -> bytes:
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body, deadline = self.rfile.read(length), monotonic() + BODY_SECONDS
        parts, missing = [body], length - len(body)  # some of it came with the head
        while missing > 0:
            if not (more := receive(self.connection, min(missing, 65536), deadline)):
                raise Refusal("timeout", f"expected a body of {length} bytes within {BODY_SECONDS:g} s")
            parts.append(more)
            missing -= len(more)
        return b"".join(parts)

    def reject(self, status: HTTPStatus, message: str, headers: dict[str, str] | None = None) -> None:
        text = f"send POST to {PATH}" if status == HTTPStatus.METHOD_NOT_ALLOWED else message
        refusal = Refusal(OF_STATUS.get(status, "bad_request"), text)
        self._send(status, write_refusal(refusal), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.connection.settimeout(20.0)
        self.send_content(HTTPStatus(status), body, {"Content-Type": "application/json"} | (headers or {}))

    def _drain(self, seconds: float) -> None:
        """Read the rest of a rejected request for a while: if closed earlier, the connection would lose the answer."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            deadline, read = monotonic() + seconds, 0
            while read < 4 * LONGEST and monotonic() < deadline:
                if not (more := receive(self.connection, 65536, deadline)):
                    return
                read += len(more)


class Budget:
    """A rate limit for requests (token bucket).

    rate, burst: long-term rate in requests per second, and capacity of the bucket in requests.
    clock: returns monotonic seconds.
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left, self._seen = burst, clock()
        self._lock = threading.Lock()

    def spend(self) -> bool:
        """Take one request from the budget; return False if it is exhausted."""
        with self._lock:
            now = self._clock()
            self._left = min(self._burst, self._left + (now - self._seen) * self._rate)
            self._seen = now
            if self._left < 1.0:
                return False
            self._left -= 1.0
            return True


def serve_lines(service: Service, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer each line until the source ends, or the sink is closed."""
    writer = _Writer(sink)
    free = threading.Semaphore(MOST_AT_ONCE)  # limits clients that do not wait for answers

    def answer(line: bytes) -> None:
        try:
            writer.write(service.answer(line))
        finally:
            free.release()

    while not writer.is_broken and (line := source.readline(LONGEST + 1)):
        if len(line) > LONGEST:
            while line and not line.endswith(b"\n"):
                line = source.readline(LONGEST)
            refusal = Refusal("too_large", f"expected a line of at most {LONGEST} bytes")
            writer.write(Answer(refusal.status, write_refusal(refusal)))
        elif line.strip():
            free.acquire()
            if _has_id(line):
                threading.Thread(target=answer, args=(line,), daemon=True).start()  # Ctrl-C does not wait for it
            else:
                answer(line)
    for _ in range(MOST_AT_ONCE):  # wait for requests in progress
        free.acquire()


class _Writer:
    """Write answers to a stream one at a time; undo requests whose answers cannot be written."""

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
            except (OSError, ValueError):  # closed by the client, or by us
                self.is_broken = True
        if self.is_broken and answer.undo is not None:
            answer.undo()


def _has_id(line: bytes) -> bool:
    """Return whether a request has an id, which identifies its answer."""
    if b'"id"' not in line:
        return False
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):  # the service reports the error
        return False
    return isinstance(request, dict) and request.get("id") is not None
