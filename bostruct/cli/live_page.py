"""The page of `bostruct watch` about a file of studies, and its server.

The server has one page, for clients with the token; no request path reaches the file system.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlsplit

import click

from bostruct.cli.options import error_text, open_place, short_name
from bostruct.cli.studies import open_studies
from bostruct.serving.guarded_http import HEADERS, GuardedHandler, GuardedServer, is_equal

if TYPE_CHECKING:
    from bostruct.analysis.report.facts import Run
    from bostruct.contracts import Domain
    from bostruct.display import Html

MOST_CONNECTIONS = 16
PAGE_HEADERS = HEADERS | {
    "Content-Security-Policy": "frame-ancestors 'none'; object-src 'none'; base-uri 'none'; form-action 'none'",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
OPEN_AGAIN = "Open the address that bostruct watch printed, by typing or pasting it: it contains the token."


class Page(NamedTuple):
    """A page.

    body: UTF-8 text of the page.
    """

    tag: str
    body: bytes


class WatchServer(GuardedServer):
    """A server of one page.

    port: 0 for a free port.

    Raises OSError if the address is not available.
    """

    def __init__(self, host: str, port: int, read: Callable[[], Page]) -> None:
        self.read = read
        self.session = secrets.token_urlsafe(32)  # in the cookie, so that only the first address contains the token
        super().__init__(host, port, _PageHandler, MOST_CONNECTIONS)
        self.cookie = f"bostruct_watch_{self.server_port}"  # ports of a host share cookies

    @property
    def page_url(self) -> str:
        """The address of the page, with the token."""
        return f"{self.url}/?token={self.token}"


class _PageHandler(GuardedHandler):
    """One request and its response, on a separate connection."""

    server: WatchServer  # pyright: ignore[reportIncompatibleVariableOverride]  # the server that created it
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
            page = self.server.read()
            headers = {"ETag": page.tag, "Content-Type": "text/html; charset=utf-8"}
            if page.tag in (tag.strip() for tag in self.headers.get("If-None-Match", "").split(",")):
                self.send_content(HTTPStatus.NOT_MODIFIED, b"", headers)
            else:
                self.send_content(HTTPStatus.OK, page.body, headers)

    def _read_cookie(self) -> str:
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(self.server.cookie)
        except CookieError:
            return ""
        return "" if found is None else found.value

    def reject(self, status: HTTPStatus, message: str, headers: dict[str, str] | None = None) -> None:
        plain = {"Content-Type": "text/plain; charset=utf-8"} | (headers or {})
        self.send_content(status, f"{message}\n".encode(), plain)


LEAST_PAUSE = 1.0  # minimum seconds between two renderings of the page
SHARE = 0.1  # maximum share of one core for renderings, since a search may run on the same machine
FOLLOW = """
let tag = null;
let parts = [...document.querySelector('main').children].map(part => part.outerHTML);
const state = document.createElement('p');
state.className = 'note';
document.querySelector('header').append(state);
function say(text, isLost) {
  if (state.textContent !== text) state.textContent = text;
  state.className = isLost ? 'alert' : 'note';
  if (isLost) state.setAttribute('role', 'alert'); else state.removeAttribute('role');
}
function place(part) {
  const sorted = [...part.querySelectorAll('table')].map(table => [...table.querySelectorAll('thead th')]
    .map(head => head.getAttribute('aria-sort')));
  const scrolls = [...part.querySelectorAll('.scroll')].map(box => [box.scrollLeft, box.scrollTop]);
  const focused = [...part.querySelectorAll('button,[tabindex],a')].indexOf(document.activeElement);
  return {sorted, scrolls, focused};
}
function restore(part, {sorted, scrolls, focused}) {
  part.querySelectorAll('table').forEach((table, i) => (sorted[i] || []).forEach((order, column) => {
    const button = order && table.tHead.rows[0].cells[column]?.querySelector('button');
    if (button) { button.click(); if (order === 'descending') button.click(); }
  }));
  part.querySelectorAll('.scroll').forEach((box, i) => scrolls[i] && box.scrollTo(...scrolls[i]));
  if (focused >= 0) part.querySelectorAll('button,[tabindex],a')[focused]?.focus({preventScroll: true});
}
function show(text) {
  const page = new DOMParser().parseFromString(text, 'text/html');
  const main = document.querySelector('main');
  const fresh = [...page.querySelector('main').children];
  const written = fresh.map(part => part.outerHTML);
  const old = [...main.children];
  const isAlike = old.length === fresh.length && fresh.every((part, i) => part.tagName === old[i].tagName);
  if (isAlike) {
    fresh.forEach((part, i) => {
      if (written[i] === parts[i]) return;
      const kept = place(old[i]);
      old[i].replaceWith(part);
      addSorting(part);
      restore(part, kept);
    });
  } else {
    main.replaceChildren(...fresh);
    addSorting(main);
  }
  parts = written;
  const links = page.querySelector('nav'), before = document.querySelector('nav');
  if (links && before && links.outerHTML !== before.outerHTML) before.replaceWith(links);
}
async function refresh() {
  if (!document.hidden) {
    try {
      const answer = await fetch('/', {headers: tag ? {'If-None-Match': tag} : {}});
      if (answer.status === 200) {
        tag = answer.headers.get('ETag');
        show(await answer.text());
        say(`This page follows the file. Last change seen ${new Date().toLocaleTimeString()}.`);
      } else if (answer.status === 401) {
        say('bostruct watch was restarted: open the address that it printed.', true);
      } else if (answer.status !== 304) say(`bostruct watch responded with status ${answer.status}.`, true);
    } catch { say('bostruct watch does not respond: this page shows the last state.', true); }
  }
  setTimeout(refresh, 2000);
}
refresh();
"""


class LivePage:
    """The page about a file of studies.

    name: name of one study; None for all studies, or for the only study if a space is given.

    Raises UsageError; StorageError if the file cannot be read at first. Later read errors are shown above the last
    page.
    """

    def __init__(self, file: str, name: str | None = None, space: Domain | None = None) -> None:
        self._file, self._place, self._name, self._space = file, open_place(file), name, space
        self._busy = threading.Lock()
        self._runs: list[Run] = []
        self._seen: object = None
        self._due = 0.0
        self._seen = self._look()
        self._page = self._write(self._read_runs())

    def read(self) -> Page:
        """Return the current page, or the last one if a page is being rendered or was just rendered."""
        if self._busy.acquire(blocking=False):
            try:
                if monotonic() >= self._due and (now := self._look()) != self._seen:
                    self._update(now)
            finally:
                self._busy.release()
        return self._page

    def _look(self) -> object:
        """Return a value that changes with the file; None if the file does not exist."""
        changes = self._place.find_revisions()
        return None if changes is None else (changes, self._place.find_writers())  # trials of a dead writer are queued

    def _update(self, now: object) -> None:
        from bostruct.contracts import BostructError
        from bostruct.display import element

        began = monotonic()
        try:
            runs, note, seen = self._read_runs(), None, now
        # also for a half-written file or a file without matching studies: read again after a pause
        except (BostructError, OSError, click.ClickException) as error:
            message = f"The file cannot be read now: {error_text(error)}. Below is the last version that was read."
            runs, note, seen = self._runs, element("p", message, class_="alert", role="alert"), None
        self._page = self._write(runs, note)
        self._seen = seen if now is not None else None
        self._due = monotonic() + max(LEAST_PAUSE, (monotonic() - began) * (1 / SHARE - 1))

    def _read_runs(self) -> list[Run]:
        from bostruct.analysis.report.facts import read_run

        with open_studies(self._file, self._name, self._space) as studies:
            if self._space is not None and studies:
                self._name = studies[0].name
            return [read_run(study) for study in studies]

    def _write(self, runs: list[Run], note: Html | None = None) -> Page:
        from bostruct.analysis.report.page import render_page

        self._runs = runs
        title = short_name(self._place) if len(runs) != 1 else ""
        body = render_page(runs, title, note, FOLLOW).encode()
        return Page(f'"{hashlib.sha256(body).hexdigest()[:32]}"', body)
