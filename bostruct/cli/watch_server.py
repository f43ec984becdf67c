"""The server of `bostruct watch`: one page, for who has the token; no path of a request reaches the file system."""

from __future__ import annotations

import contextlib
import io
import ipaddress
import os
import secrets
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

LONGEST_HEAD = 16 * 1024  # bytes of a request
HEAD_SECONDS = 5.0  # for a request to arrive
SEND_SECONDS = 20.0  # for an answer to be taken
MOST_CONNECTIONS = 16
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'; object-src 'none'; base-uri 'none'; form-action 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
OPEN_AGAIN = "Open the address that bostruct watch printed, by typing or pasting it: it holds the token."


class HasContent(Protocol):
    """A page: its content, and a tag that is equal for equal contents."""

    @property
    def tag(self) -> str: ...
    @property
    def body(self) -> bytes: ...


class WatchServer(ThreadingHTTPServer):
    """A server of one page.

    host: the name or address to listen at.
    port: 0 for a free one.
    read: returns the page as it is now; called by several threads.

    Raises OSError where the address cannot be had.
    """

    daemon_threads = True  # Ctrl-C waits for nobody
    allow_reuse_address = os.name == "posix"  # elsewhere another process could take the port over

    def __init__(self, host: str, port: int, read: Callable[[], HasContent]) -> None:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = family
        self.read = read
        self.token = secrets.token_urlsafe(32)
        self.session = secrets.token_urlsafe(32)  # in the cookie, so that the token is in the first address alone
        self._host = host
        self._lock = threading.Lock()
        self._answered: set[socket.socket] = set()
        self._without_head: dict[socket.socket, None] = {}  # the oldest first
        super().__init__((str(address[0]), int(address[1])), _Handler)
        self.cookie = f"bostruct_watch_{self.server_port}"  # cookies of a host are shared by its ports

    def server_bind(self) -> None:
        """Bind the address; no name server is asked for the name of the machine."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    @property
    def is_loopback(self) -> bool:
        """True where only this machine reaches the server."""
        return _read_address(str(self.server_address[0])).is_loopback

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        given = str(self.server_address[0])
        address = _read_address(given)
        host = socket.gethostname() if address.is_unspecified else given if "%" in given else str(address)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}/?token={self.token}"

    def is_own_name(self, host: str, reached: str) -> bool:
        """Tell whether a Host header names this server: a page of a name that was bound anew to it does not.

        host: without the port, which is another one behind a tunnel.
        reached: the address at which the connection came in.
        """
        address = _read_address(reached)
        names = {str(address), self._host.lower()}
        if address.is_loopback:
            names |= {"localhost", "127.0.0.1", "::1"}
        else:
            names.add(socket.gethostname().lower())
        return host.lower() in names

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own; where there are too many, the oldest connection without a head is closed.

        request, client_address: the connection, and where it comes from.

        Where all have sent theirs, the new one is closed.
        """
        with self._lock:
            is_full = len(self._answered) + len(self._without_head) >= MOST_CONNECTIONS
            oldest = next(iter(self._without_head), None) if is_full else None
            is_let_in = not is_full or oldest is not None
            if oldest is not None:
                del self._without_head[oldest]
                _end_reading(oldest)  # its thread, which waits for more, closes it
            if is_let_in:
                self._without_head[request] = None
        if is_let_in:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def note_head(self, request: socket.socket) -> bool:
        """Keep a connection, whose head has come, until it is answered; False where it was closed before.

        request: the connection.
        """
        with self._lock:
            if request not in self._without_head:
                return False
            del self._without_head[request]
            self._answered.add(request)
            return True

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and give its place to others.

        request: the connection.
        """
        with self._lock:  # first: another connection may get its number as soon as it is closed
            self._without_head.pop(request, None)
            self._answered.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Forget connections that broke; nothing of a request is printed.

        request, client_address: the connection, and where it comes from.
        """
        del request, client_address


class _Handler(BaseHTTPRequestHandler):
    """One request and its answer, on a connection that ends then."""

    server: WatchServer  # pyright: ignore[reportIncompatibleVariableOverride]  # the one that made it
    server_version = "bostruct"
    sys_version = ""

    def handle(self) -> None:
        head = self._read_head()
        if head is None or not self.server.note_head(self.connection):
            return
        self.connection.settimeout(SEND_SECONDS)  # of a whole answer
        self.close_connection = True
        if len(head) > LONGEST_HEAD:
            self.command, self.requestline, self.request_version = "", "", "HTTP/1.0"
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return
        self.rfile = io.BufferedReader(io.BytesIO(head))  # type: ignore[arg-type]  # bytes in memory are raw enough
        self.handle_one_request()

    def _read_head(self) -> bytes | None:
        """Read a request up to its empty line, of limited length and in limited time; None where none comes."""
        head, deadline = b"", time.monotonic() + HEAD_SECONDS
        while b"\r\n\r\n" not in head and len(head) <= LONGEST_HEAD:
            self.connection.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                more = self.connection.recv(4096)
            except OSError:
                return None
            if not more:
                return None
            head += more
        return head

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        if (refusal := self._refuse()) is not None:
            self._send(*refusal)
            return
        url = urlsplit(self.path)
        given = parse_qs(url.query).get("token", [""])[-1]
        if _is_equal(given, self.server.token):
            cookie = f"{self.server.cookie}={self.server.session}; HttpOnly; SameSite=Strict; Path=/"
            self._send(HTTPStatus.SEE_OTHER, "", {"Location": "/", "Set-Cookie": cookie})
        elif not _is_equal(self._read_cookie(), self.server.session):
            self._send(HTTPStatus.UNAUTHORIZED, OPEN_AGAIN, {"WWW-Authenticate": "Token"})
        elif url.path != "/":
            self._send(HTTPStatus.NOT_FOUND, "There is one page here, at /.")
        else:
            self._send_page()

    def _refuse(self) -> tuple[HTTPStatus, str] | None:
        """Return why a request is not looked at, or None: it came by another name, or from another site."""
        host = self.headers.get_all("Host", [])
        name = _split_host(host[0]) if len(host) == 1 else ""
        reached = str(self.connection.getsockname()[0])
        if not name or not self.server.is_own_name(name, reached):
            return HTTPStatus.FORBIDDEN, "The Host of the request is not this server."
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site", "none")
        if (origin is not None and origin.lower() != f"http://{host[0].lower()}") or site not in (
            "none",
            "same-origin",
        ):
            return HTTPStatus.FORBIDDEN, f"The request comes from another site. {OPEN_AGAIN}"
        return None

    def _read_cookie(self) -> str:
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(self.server.cookie)
        except CookieError:
            return ""
        return "" if found is None else found.value

    def _send_page(self) -> None:
        page = self.server.read()
        headers = {"ETag": page.tag, "Content-Type": "text/html; charset=utf-8"}
        if page.tag in (tag.strip() for tag in self.headers.get("If-None-Match", "").split(",")):
            self._send(HTTPStatus.NOT_MODIFIED, b"", headers)
        else:
            self._send(HTTPStatus.OK, page.body, headers)

    def _send(self, status: HTTPStatus, body: str | bytes, headers: dict[str, str] | None = None) -> None:
        content = f"{body}\n".encode() if isinstance(body, str) else body
        self.send_response(status)
        given = {"Content-Type": "text/plain; charset=utf-8"} | HEADERS | (headers or {})
        if status is not HTTPStatus.NOT_MODIFIED:
            given["Content-Length"] = str(len(content))
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD" and status is not HTTPStatus.NOT_MODIFIED:
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that could not be read, or has another method than GET and HEAD.

        code: status.
        message, explain: what a page of the standard library would say; they may hold text of the request.
        """
        del message, explain
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        self._send(status, status.phrase, {"Allow": "GET, HEAD"} if status == HTTPStatus.METHOD_NOT_ALLOWED else None)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: a line would hold the token, or what somebody sent.

        format, args: of the line.
        """
        del format, args


def _read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address without its zone, as IPv4 where a socket of IPv6 stands for that.

    text: as a socket names it.
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _end_reading(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side was faster
        connection.shutdown(socket.SHUT_RDWR)


def _is_equal(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())


def _split_host(header: str) -> str:
    """Return the name in a Host header, without its port and without brackets; empty where it makes no sense."""
    try:
        url = urlsplit(f"//{header}")
        _ = url.port
    except ValueError:
        return ""
    is_plain = url.username is None and not (url.path or url.query or url.fragment)
    return url.hostname or "" if is_plain else ""
