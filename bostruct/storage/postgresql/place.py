"""The URL of a database, of which messages show all but what is secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeGuard
from urllib.parse import quote, urlencode

from bostruct.checks import optional_import
from bostruct.storage.connection_text import SECRETS
from bostruct.storage.postgresql.limits import CONNECT_SECONDS, SILENCE_SECONDS
from bostruct.storage.protocol import StorageError

if TYPE_CHECKING:
    import psycopg

EXTRA = "postgresql"
EXPECTED = "storage: expected postgresql://user@host:port/database"
NO_PASSWORD = "no password supplied"  # in what libpq says
SHORTEST_HIDDEN = 4  # letters: where all letters "a" of a message are hidden, everybody knows the password
DEFAULTS = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": SILENCE_SECONDS // 2,
    "keepalives_interval": SILENCE_SECONDS // 4,
    "keepalives_count": 2,
    "tcp_user_timeout": 1000 * SILENCE_SECONDS,
}


def is_url(given: object) -> TypeGuard[str]:
    """Tell whether an argument names a PostgreSQL database.

    given: what a user gave as storage.
    """
    return isinstance(given, str) and re.match(r"postgres(ql)?://", given, re.IGNORECASE) is not None


class Place:
    """A database on a server; nothing that a person may see of it holds a password.

    url: as libpq reads it, with or without a password.
    label: the URL without what is secret, from which `Study.load` opens it again where libpq finds the password.

    Raises StorageError for what is no such URL, MissingExtra without psycopg.
    """

    def __init__(self, url: str) -> None:
        self._psycopg = optional_import("psycopg", EXTRA)
        optional_import("psycopg.conninfo", EXTRA)
        self._parameters = self._parse(url)
        self.label = _write_url({name: text for name, text in self._parameters.items() if name not in SECRETS})

    @property
    def _primary(self) -> str:
        """Return how libpq calls a server that is no standby; before 14 it knew by the settings of a session alone."""
        return "primary" if self._psycopg.pq.version() >= 140000 else "read-write"

    @property
    def error(self) -> type[psycopg.Error]:
        """The class of all errors of psycopg."""
        return self._psycopg.Error

    def connect(self, name: str, *, writes: bool) -> psycopg.Connection:
        """Open a connection; raise an error of psycopg where the server cannot be reached, or refuses.

        name: of the connection, as the server lists it.
        writes: whether a standby, which may lag behind, is refused, or passed over where the URL names several hosts.
        """
        wanted = {"target_session_attrs": self._primary} if writes else {}
        given = DEFAULTS | wanted | self._parameters | {"application_name": name, "client_encoding": "UTF8"}
        try:
            return self._psycopg.connect(**given, autocommit=True)
        except OSError as error:  # such as no descriptor that is free, which may pass as an outage does
            raise self._psycopg.OperationalError(str(error)) from None

    def describe(self, error: BaseException) -> str:
        """Return the message of an error on one line, without what is secret.

        error: of psycopg, or any other.
        """
        diagnostic = getattr(error, "diag", None)
        said = getattr(diagnostic, "message_primary", None) or str(error) or type(error).__name__
        if hint := getattr(diagnostic, "message_hint", None):  # such as "Check free disk space."
            said = f"{said} ({hint})"
        if NO_PASSWORD in said:
            said = f"{said} (libpq takes one from PGPASSWORD, or from ~/.pgpass)"
        for name in SECRETS.intersection(self._parameters):
            if len(self._parameters[name]) >= SHORTEST_HIDDEN:
                said = said.replace(self._parameters[name], "***")
        return " ".join(said.split())

    def _parse(self, url: str) -> dict[str, str]:
        """Return what the URL says, by the names of libpq, whose own messages would show parts of a password."""
        _check_separators(url)
        try:
            found = self._psycopg.conninfo.conninfo_to_dict(url)
        except (self._psycopg.Error, UnicodeError):
            found = None
        ports = "" if found is None else str(found.get("port", ""))
        if found is None or not re.fullmatch(r"[0-9,]*", ports):
            raise StorageError(f"{EXPECTED}; got a URL that libpq cannot read, which is not shown for its password")
        return {name: str(value) for name, value in found.items() if value is not None}


def _check_separators(url: str) -> None:
    """Refuse a password with a character that ends it, for its rest would be taken for a host, which is shown."""
    authority, _, path = url.partition("://")[2].partition("?")[0].partition("/")
    if authority.count("@") > 1 or "@" in path or "\0" in url:
        raise StorageError(
            f"{EXPECTED}; in a user or password write @ as %40, / as %2F, : as %3A, # as %23 and % as %25; better, "
            "leave the password to PGPASSWORD or ~/.pgpass"
        )


def _write_url(parameters: dict[str, str]) -> str:
    """Return a URL that says the same; a directory of sockets, and several hosts, are among its parameters."""
    rest = dict(parameters)
    user = quote(rest.pop("user", ""), safe="")
    netloc = f"{user}@" if user else ""
    if re.fullmatch(r"[\w.-]+", rest.get("host", "")) and "," not in rest.get("port", ""):
        netloc += rest.pop("host") + (f":{port}" if (port := rest.pop("port", "")) else "")
    database = quote(rest.pop("dbname", ""), safe="")
    query = urlencode(rest, quote_via=quote, safe="/")
    return f"postgresql://{netloc}/{database}" + (f"?{query}" if query else "")
