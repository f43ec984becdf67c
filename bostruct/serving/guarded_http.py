"""An HTTP server that requires a token, checks Host and Origin, and limits time, length and number of requests.

The token may be kept in a file, which the server locks during its lifetime.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import ipaddress
import os
import re
import secrets
import socket
import socketserver
import stat
import threading
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

from bostruct.checks import has_posix
from bostruct.output_files import OutputRefused, refuse_name_of_database
from bostruct.storage.locks import is_same_file

MARK = "bostruct-"  # prefix of tokens: files of other programs may also contain 43 letters
TOKEN = re.compile(MARK.encode() + rb"[A-Za-z0-9_-]{43}\n?")  # 32 bytes in base64
TOKEN_BYTES = (len(MARK) + 43, len(MARK) + 44)
NO_TOKEN = "contains no token of bostruct serve; remove it, or give another --token-file"
LONGEST_HEAD = 16 * 1024  # bytes of the head of a request
HEAD_SECONDS = 5.0  # for a request to arrive
SEND_SECONDS = 20.0  # for an answer to be received
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class GuardedServer(ThreadingHTTPServer):
    """A server that limits its connections, has a token, and recognizes its own names.

    port: port to listen at; 0 for any free port.
    most_connections: maximum number of simultaneous connections, at least 1.
    family: address family of the socket; None for the family of the host.

    Raises OSError if the address is not available.
    """

    daemon_threads = True  # Ctrl-C does not wait for requests
    request_queue_size = 64

    def __init__(
        self,
        host: str,
        port: int,
        handler: type[GuardedHandler],
        most_connections: int,
        family: socket.AddressFamily | None = None,
    ) -> None:
        self.token = make_token()
        self._host = host
        self._most = most_connections
        self._lock = threading.Lock()
        self._answered: set[socket.socket] = set()
        self._without_head: dict[socket.socket, None] = {}  # oldest first
        address: str | tuple[str, int] = host
        if family is None:
            family, *_, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            address = (str(found[0]), int(found[1]))
        self.address_family = family
        self.allow_reuse_address = os.name == "posix"  # on Windows, another process could take over the port
        super().__init__(address, handler)  # type: ignore[arg-type]  # typeshed lacks Unix sockets here

    def server_bind(self) -> None:
        """Bind the address without a DNS query; raise OSError with the address if it is in use."""
        try:
            socketserver.TCPServer.server_bind(self)
        except OSError as error:
            in_use = "already in use, perhaps by another bostruct serve or watch"
            why = in_use if error.errno == errno.EADDRINUSE else error.strerror
            raise OSError(error.errno, why, _write_address(self.server_address)) from error
        self.server_name, self.server_port = "localhost", 0
        if self.has_address:
            self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    @property
    def has_address(self) -> bool:
        """True if the server listens at an address and a port, False for a Unix socket."""
        return self.address_family in (socket.AF_INET, socket.AF_INET6)

    @property
    def is_loopback(self) -> bool:
        """True if the server is reachable only from this machine."""
        return not self.has_address or _read_address(str(self.server_address[0])).is_loopback

    @property
    def url(self) -> str:
        """The URL of the server without a path, for other machines on the network if it is reachable from them."""
        if not self.has_address:
            return "http://localhost"
        given = str(self.server_address[0])
        address = _read_address(given)
        host = socket.gethostname() if address.is_unspecified else given if "%" in given else str(address)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}"

    def is_own_name(self, host: str, reached: str) -> bool:
        """Return whether a Host header names this server, which prevents DNS rebinding."""
        if not self.has_address:
            return host.lower() == "localhost"
        address = _read_address(reached)
        names = {str(address), self._host.lower()}
        if address.is_loopback:
            names |= {"localhost", "127.0.0.1", "::1"}
        else:
            names.add(socket.gethostname().lower())
        return host.lower() in names

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a separate thread; with too many connections, close the oldest one without a complete head.

        If all connections have sent their head, close the new connection.
        """
        with self._lock:
            is_full = len(self._answered) + len(self._without_head) >= self._most
            oldest = next(iter(self._without_head), None) if is_full else None
            is_accepted = not is_full or oldest is not None
            if oldest is not None:
                del self._without_head[oldest]
                with contextlib.suppress(OSError):  # the client has closed it already
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread, which waits for data, closes it
            if is_accepted:
                self._without_head[request] = None
        if is_accepted:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def note_head(self, request: socket.socket) -> bool:
        """Keep a connection with a complete head until it is answered; return False if it was closed before."""
        with self._lock:
            if request not in self._without_head:
                return False
            del self._without_head[request]
            self._answered.add(request)
            return True

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and make its place available."""
        with self._lock:  # first: another connection may get its descriptor as soon as it is closed
            self._without_head.pop(request, None)
            self._answered.discard(request)
        super().shutdown_request(request)

    def wait_for_answers(self, seconds: float) -> None:
        """Wait until the answers in progress are sent, once no more requests are accepted.

        seconds: maximum waiting time.
        """
        deadline = monotonic() + seconds
        while self._answered and monotonic() < deadline:
            sleep(0.01)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore broken connections; print nothing about a request."""


class GuardedHandler(BaseHTTPRequestHandler):
    """One request and its answer, on a connection that is then closed."""

    server: GuardedServer  # pyright: ignore[reportIncompatibleVariableOverride]  # the server that created it
    server_version = "bostruct"
    sys_version = ""
    head_seconds = HEAD_SECONDS
    methods = "GET, HEAD"  # HTTP methods with a handler
    headers_sent = HEADERS  # sent with every answer

    @abstractmethod
    def reject(self, status: HTTPStatus, message: str, headers: dict[str, str] | None = None) -> None:
        """Answer a request that is not served."""

    def handle(self) -> None:
        """Read the head of a request in limited time, and answer it."""
        head = self._read_head()
        if head is None or not self.server.note_head(self.connection):
            return
        self.connection.settimeout(SEND_SECONDS)  # for the whole answer
        self.close_connection = True
        if b"\r\n\r\n" not in head:
            self.command, self.requestline, self.request_version = "", "", "HTTP/1.0"
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return
        self.rfile = io.BufferedReader(io.BytesIO(head))  # type: ignore[arg-type]  # BytesIO works as a raw stream
        self.handle_one_request()

    def _read_head(self) -> bytes | None:
        """Read a request up to its empty line, with limits on length and time; return None if it does not arrive."""
        head, deadline = b"", monotonic() + self.head_seconds
        while b"\r\n\r\n" not in head and len(head) <= LONGEST_HEAD:
            if not (more := receive(self.connection, 4096, deadline)):
                return None
            head += more
        return head

    def find_refusal(self) -> str | None:
        """Return why a request is rejected: it has another Host, or comes from another site. None to accept it."""
        host = self.headers.get_all("Host", [])
        name = _split_host(host[0]) if len(host) == 1 else ""
        if not name or not self.server.is_own_name(name, str(self.connection.getsockname()[0])):
            return "The Host of the request is not this server."
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site", "none")
        is_own = origin is None or origin.lower() == f"http://{host[0].lower()}"
        return None if is_own and site in ("none", "same-origin") else "The request comes from another site."

    def send_content(self, status: HTTPStatus, content: bytes, headers: dict[str, str]) -> None:
        """Send an answer, without content if it answers HEAD or is NOT_MODIFIED."""
        self.send_response(status)
        given = self.headers_sent | headers
        if status is not HTTPStatus.NOT_MODIFIED:
            given["Content-Length"] = str(len(content))
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD" and status is not HTTPStatus.NOT_MODIFIED:
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that cannot be read, or whose HTTP method has no handler."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        allow = {"Allow": self.methods} if status == HTTPStatus.METHOD_NOT_ALLOWED else None
        self.reject(status, status.phrase, allow)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: a log line could contain the token or text from a client."""


def receive(connection: socket.socket, most: int, deadline: float) -> bytes:
    """Return the next bytes received; empty if the client has closed the connection or is too slow.

    most: maximum number of bytes, at least 1.
    """
    connection.settimeout(max(deadline - monotonic(), 0.001))
    try:
        return connection.recv(most)
    except OSError:
        return b""


def is_equal(given: str, secret: str) -> bool:
    """Compare a string with a secret in constant time."""
    return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())


def _write_address(address: object) -> str:
    """Return the usual text of an address: the path of a Unix socket, or host and port."""
    if not isinstance(address, tuple):
        return str(address)
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address without its zone; an IPv4-mapped IPv6 address as IPv4."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _split_host(header: str) -> str:
    """Return the name in a Host header, without port and brackets; empty if the header is invalid."""
    try:
        url = urlsplit(f"//{header}")
        _ = url.port
    except ValueError:
        return ""
    is_plain = url.username is None and not (url.path or url.query or url.fragment)
    return url.hostname or "" if is_plain else ""


def make_token() -> str:
    """Return a new random token for a server."""
    return MARK + secrets.token_urlsafe(32)


@contextmanager
def keep_token(path: str, token: str) -> Iterator[None]:
    """Keep a token in a new file, readable only by the user of this process, during a block.

    Raises OutputRefused, a FileExistsError, if the path is any other file or the token of a running server; OSError if
    the file cannot be created.
    """
    refuse_name_of_database(path)
    with os.fdopen(_make_locked(path), "w") as file:
        file.write(f"{token}\n")
        file.flush()
        try:
            yield
        finally:
            with suppress(OSError):
                is_ours = is_same_file(Path(path), file.fileno())  # it may have been replaced by another file
                if not has_posix():
                    file.close()  # Windows cannot remove an open file
                if is_ours and Path(path).read_bytes() == f"{token}\n".encode():
                    os.unlink(path)


def _make_locked(path: str) -> int:
    """Return the descriptor of a new locked file; the kernel releases the lock however this process ends."""
    while True:
        _remove_left_behind(path)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:  # another server was faster
            continue
        try:
            if _lock(path, descriptor):
                return descriptor
        except OutputRefused:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _remove_left_behind(path: str) -> None:
    """Remove a file with a token that no server locks; raise OutputRefused for any other file."""
    with suppress(FileNotFoundError):
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode):
            raise OutputRefused(errno.EEXIST, "is not a regular file; give another --token-file", path)
        if found.st_size not in TOKEN_BYTES:  # not opened: closing a database file would release its locks
            raise OutputRefused(errno.EEXIST, NO_TOKEN, path)
        with open(os.open(path, os.O_RDWR | (os.O_NOFOLLOW if has_posix() else 0)), "rb") as file:
            if _lock(path, file.fileno()):
                if not TOKEN.fullmatch(file.read()):
                    raise OutputRefused(errno.EEXIST, NO_TOKEN, path)
                if not has_posix():
                    file.close()  # Windows cannot remove an open file
                os.unlink(path)  # while it is locked: afterward it may be the file of another server


def _lock(path: str, descriptor: int) -> bool:
    """Lock a file, and return whether it still has its name; raise OutputRefused if another server locks it."""
    if has_posix():
        fcntl = importlib.import_module("fcntl")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            why = "contains the token of another running bostruct serve; give another --token-file"
            raise OutputRefused(errno.EEXIST, why, path) from None
        except OSError:  # a file system without locks, on which this cannot be checked
            pass
    return is_same_file(Path(path), descriptor)
