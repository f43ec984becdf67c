"""The server of `bostruct watch`: one page, for who has the token; no path of a request reaches the file system."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from bostruct.serving.guarded_http import HEADERS, GuardedHandler, GuardedServer, is_equal

MOST_CONNECTIONS = 16
PAGE_HEADERS = HEADERS | {
    "Content-Security-Policy": "frame-ancestors 'none'; object-src 'none'; base-uri 'none'; form-action 'none'",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
OPEN_AGAIN = "Open the address that bostruct watch printed, by typing or pasting it: it holds the token."


class Page(NamedTuple):
    """A page.

    tag: of its content, which is equal for equal pages.
    body: of the page, in UTF-8.
    """

    tag: str
    body: bytes


class WatchServer(GuardedServer):
    """A server of one page.

    host: the name or address to listen at.
    port: 0 for a free one.
    read: returns the page as it is now; called by several threads.

    Raises OSError where the address cannot be had.
    """

    def __init__(self, host: str, port: int, read: Callable[[], Page]) -> None:
        self.read = read
        self.session = secrets.token_urlsafe(32)  # in the cookie, so that the token is in the first address alone
        super().__init__(host, port, _Handler, MOST_CONNECTIONS)
        self.cookie = f"bostruct_watch_{self.server_port}"  # cookies of a host are shared by its ports

    @property
    def page_url(self) -> str:
        """The address of the page, with the token."""
        return f"{self.url}/?token={self.token}"


class _Handler(GuardedHandler):
    """One request and its answer, on a connection that ends then."""

    server: WatchServer  # pyright: ignore[reportIncompatibleVariableOverride]  # the one that made it
    headers_sent = PAGE_HEADERS

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        if (refusal := self.find_refusal()) is not None:
            self.reject(HTTPStatus.FORBIDDEN, f"{refusal} {OPEN_AGAIN}")
            return
        url = urlsplit(self.path)
        given = parse_qs(url.query).get("token", [""])[-1]
        if is_equal(given, self.server.token):
            cookie = f"{self.server.cookie}={self.server.session}; HttpOnly; SameSite=Strict; Path=/"
            self.reject(HTTPStatus.SEE_OTHER, "", {"Location": "/", "Set-Cookie": cookie})
        elif not is_equal(self._read_cookie(), self.server.session):
            self.reject(HTTPStatus.UNAUTHORIZED, OPEN_AGAIN, {"WWW-Authenticate": "Token"})
        elif url.path != "/":
            self.reject(HTTPStatus.NOT_FOUND, "There is one page here, at /.")
        else:
            self._send_page()

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
            self.send_content(HTTPStatus.NOT_MODIFIED, b"", headers)
        else:
            self.send_content(HTTPStatus.OK, page.body, headers)

    def reject(self, status: HTTPStatus, message: str, headers: dict[str, str] | None = None) -> None:
        plain = {"Content-Type": "text/plain; charset=utf-8"} | (headers or {})
        self.send_content(status, f"{message}\n".encode(), plain)
