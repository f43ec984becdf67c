"""Database URLs, whose passwords are hidden in messages, and connections to servers."""

from __future__ import annotations

import logging
import os
import re
import weakref
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, LiteralString, TypeGuard, cast
from urllib.parse import quote, urlencode

from bostruct.checks import optional_import
from bostruct.execution.interrupts import hook_forks
from bostruct.storage.protocol import StorageError

if TYPE_CHECKING:
    import psycopg

RENEW_SECONDS = 10.0  # between two heartbeats of a writer
GONE_SECONDS = 60.0  # without a heartbeat, after which the trials of a writer are requeued
OPEN_SECONDS = 10.0  # to open a study while the server does not respond, since it may be restarting
LATE_SECONDS = 1.0  # to open a study, after which the delay is logged
RECONNECT_SECONDS = 120.0  # within which a lost connection is restored, or the transaction fails
CONNECT_SECONDS = 5  # per attempt to connect
PAUSE_SECONDS = 1.0  # maximum pause between two attempts
SILENCE_SECONDS = 20  # after which a silent connection counts as lost, at both ends
LOCK_SECONDS = 30  # for a lock that another transaction holds
ASK_LOCK_SECONDS = 5  # waiting for the ask lock, between two heartbeats
STATEMENT_SECONDS = 300  # per statement, including reading 100,000 trials
IDLE_SECONDS = 20  # within a transaction of a stopped process, after which the server releases its locks
BUSY_SECONDS = 2.0  # of closing, for a thread that still waits for the server
KEPT_DAYS = 7  # for which the database remembers a dead writer
OLDEST_SERVER = 130000  # older versions are no longer maintained
LOST = ("08", "57P", "25P03")  # prefixes of SQLSTATE: the server has closed or will close the connection
# libpq has no SQLSTATE for a server that stops or starts while a connection is being made.
PASSING = re.compile("starting up|shutting down|in recovery mode|not yet accepting|terminating connection")
SCHEMA = "bostruct"  # a schema for our tables, so that other tables may have the same names
SETTINGS = {
    "search_path": f"{SCHEMA}, pg_temp",
    "default_transaction_read_only": "off",  # otherwise heartbeats would fail
    "extra_float_digits": "1",  # floats are read exactly as written
    "statement_timeout": f"'{STATEMENT_SECONDS}s'",
    "lock_timeout": f"'{LOCK_SECONDS}s'",
    "idle_in_transaction_session_timeout": f"'{IDLE_SECONDS}s'",
    "tcp_keepalives_idle": str(SILENCE_SECONDS // 2),
    "tcp_keepalives_interval": str(SILENCE_SECONDS // 4),
    "tcp_keepalives_count": "2",
    "tcp_user_timeout": f"'{SILENCE_SECONDS}s'",
}
LATER_SERVER = 140000
LATER_SETTINGS = {"idle_session_timeout": "0"}  # otherwise an idle connection would lose the ask lock
# Locks of an earlier connection are released at once, not when the server finds it lost.
END_EARLIER = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = %s AND usename = current_user AND pid <> pg_backend_pid()"""
EXTRA = "postgresql"
EXPECTED = "storage: expected postgresql://user@host:port/database"
NO_PASSWORD = "no password supplied"  # in a message of libpq
REFUSED = re.compile(f"FATAL|ERROR|{NO_PASSWORD}")  # in messages of psycopg for which further attempts are useless
SHORTEST_HIDDEN = 4  # letters: hiding every letter "a" of a message would reveal the password
DEFAULTS = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": SILENCE_SECONDS // 2,
    "keepalives_interval": SILENCE_SECONDS // 4,
    "keepalives_count": 2,
    "tcp_user_timeout": 1000 * SILENCE_SECONDS,
}
# The settings of libpq that must be hidden.
SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"})
_SETTING = "(?:host|server|port|user|pass|passwd|pwd)"
# From libpq, or a malformed URL: either may contain a password.
_CONNECTION = re.compile(
    r"^\s*(?:postgres(?:ql)?[:;]*//|postgres(?:ql)?:|[a-z][a-z0-9+.-]+:/+[^/]*:.*@|[^\s/:@]+:[^\s/@]+@[^/]+/)"
    r"|\b(?:pgpass|(?:pg)?password|dbname|hostaddr)\s*="
    r"|^\s*//[^/]*:[^/]*@"  # a URL without its scheme
    # Two adjacent settings, also by the names of other libraries.
    rf"|\b{_SETTING}\s*=\s*[^\s;]+\s*[\s;]\s*{_SETTING}\s*=",
    re.IGNORECASE,
)
# A string that could be a file name but ends like a database setting.
_BARE = re.compile(r"^\s*(?:[^\s/:@]+:[^\s/]+@[^\s/@]+|(?:pass|passwd|pwd)\s*=.*)$", re.IGNORECASE)
_ENDINGS = (".db", ".db3", ".sqlite", ".sqlite3")
_FIELD = re.compile(
    rf"({'|'.join(sorted(SECRETS))}|\b(?:pgpass|pass|passwd|pwd)\b)(\s*=\s*)('[^']*'|[^&\s'\"]+)", re.IGNORECASE
)
_LOGIN = re.compile(
    r"(\bpostgres(?:ql)?:/*[^\s:/@]*:).*@|((?:\b[a-z][a-z0-9+.-]+:/+|(?<!\S)//)[^\s:/@]*:)\S*@", re.IGNORECASE
)
# A message may truncate a URL before its @; digits are a port.
_CUT = re.compile(r"(\bpostgres(?:ql)?:/*[^\s:/@]*:)(?![0-9]{1,5}(?:[/?,;'\")\s]|$)|\*\*\*@)\S+", re.IGNORECASE)
_open: weakref.WeakSet[psycopg.Connection] = weakref.WeakSet()
log = logging.getLogger(__name__)


class Place:
    """A database on a server; its visible attributes contain no password.

    Raises StorageError for an invalid URL, MissingExtra if psycopg is not installed.
    """

    def __init__(self, url: str) -> None:
        self._psycopg = optional_import("psycopg", EXTRA)
        optional_import("psycopg.conninfo", EXTRA)
        self._parameters = self._parse(url)
        self.label = _write_url({name: text for name, text in self._parameters.items() if name not in SECRETS})

    @property
    def error(self) -> type[psycopg.Error]:
        """The base class of psycopg's errors."""
        return self._psycopg.Error

    def connect(self, name: str, *, writes: bool) -> psycopg.Connection:
        """Open a connection; raise an error of psycopg if the server is not available or refuses.

        writes: whether to refuse a standby, which may lag behind, or to skip it if the URL lists several hosts.
        """
        primary = "primary" if self._psycopg.pq.version() >= 140000 else "read-write"  # from version 14
        wanted = {"target_session_attrs": primary} if writes else {}
        given = DEFAULTS | wanted | self._parameters | {"application_name": name, "client_encoding": "UTF8"}
        try:
            return self._psycopg.connect(**given, autocommit=True)
        except OSError as error:  # such as a lack of descriptors, which may be temporary
            raise self._psycopg.OperationalError(str(error)) from None

    def describe(self, error: BaseException) -> str:
        """Return the message of an error on one line, without secrets."""
        diagnostic = getattr(error, "diag", None)
        message = getattr(diagnostic, "message_primary", None) or str(error) or type(error).__name__
        if hint := getattr(diagnostic, "message_hint", None):  # such as "Check free disk space."
            message = f"{message} ({hint})"
        if NO_PASSWORD in message:
            message = f"{message} (libpq takes one from PGPASSWORD, or from ~/.pgpass)"
        for name in SECRETS.intersection(self._parameters):
            if len(self._parameters[name]) >= SHORTEST_HIDDEN:
                message = message.replace(self._parameters[name], "***")
        return " ".join(message.split())

    def _parse(self, url: str) -> dict[str, str]:
        """Return the parameters of a URL by their libpq names; libpq's own messages would show parts of a password."""
        # a password with a delimiter is rejected, because its rest would be shown as a host
        authority, _, path = url.partition("://")[2].partition("?")[0].partition("/")
        if authority.count("@") > 1 or "@" in path or "\0" in url:
            raise StorageError(
                f"{EXPECTED}; in a user or password write @ as %40, / as %2F, : as %3A, # as %23 and % as %25; better, "
                "leave the password to PGPASSWORD or ~/.pgpass"
            )
        try:
            found = self._psycopg.conninfo.conninfo_to_dict(url)
        except (self._psycopg.Error, UnicodeError):
            found = None
        ports = "" if found is None else str(found.get("port", ""))
        if found is None or not re.fullmatch(r"[0-9,]*", ports):
            raise StorageError(f"{EXPECTED}; libpq cannot read the URL, which is not shown: it may contain a password")
        return {name: str(value) for name, value in found.items() if value is not None}


def is_url(given: object) -> TypeGuard[str]:
    """Return whether an argument is the URL of a PostgreSQL database."""
    return isinstance(given, str) and re.match(r"postgres(ql)?://", given, re.IGNORECASE) is not None


def _write_url(parameters: dict[str, str]) -> str:
    """Return an equivalent URL; a socket directory, and several hosts, are among its parameters."""
    rest = dict(parameters)
    user = quote(rest.pop("user", ""), safe="")
    netloc = f"{user}@" if user else ""
    if re.fullmatch(r"[\w.-]+", rest.get("host", "")) and "," not in rest.get("port", ""):
        netloc += rest.pop("host") + (f":{port}" if (port := rest.pop("port", "")) else "")
    database = quote(rest.pop("dbname", ""), safe="")
    query = urlencode(rest, quote_via=quote, safe="/")
    return f"postgresql://{netloc}/{database}" + (f"?{query}" if query else "")


def await_connection(place: Place, name: str, settings: dict[str, str], *, writes: bool) -> psycopg.Connection:
    """Open a connection, and wait for a restarting server; raises the errors of `open_connection`."""
    began, pause, is_late = monotonic(), 0.05, False
    while True:
        try:
            connection = open_connection(place, name, settings, writes=writes)
        except place.error as error:
            waited, patience = monotonic() - began, _find_patience(error)
            if waited + pause > patience:
                raise
            if waited > LATE_SECONDS and not is_late:
                is_late = True
                log.warning("%s: waits for the server: %s", place.label, place.describe(error))
        else:
            if is_late:
                log.warning("%s: the server answered after %.1f s", place.label, monotonic() - began)
            return connection
        sleep(pause)
        pause = min(2 * pause, PAUSE_SECONDS)


def _find_patience(error: BaseException) -> float:
    """Return for how many seconds to repeat a failed connection; 0 if the server refuses it."""
    if (getattr(error, "sqlstate", None) or "").startswith(LOST) or PASSING.search(str(error)):
        return RECONNECT_SECONDS
    return 0.0 if REFUSED.search(str(error)) else OPEN_SECONDS


def open_connection(place: Place, name: str, settings: dict[str, str], *, writes: bool) -> psycopg.Connection:
    """Open a connection; raise an error of psycopg if the server is not available or refuses.

    writes: whether to refuse a standby.

    Raises StorageError if the server is too old, or lists the connection by another name.
    """
    connection = place.connect(name, writes=writes)
    try:
        version = connection.info.server_version
        if version < OLDEST_SERVER:
            raise StorageError(f"{place.label}: PostgreSQL {version // 10000} is too old; expected 13 or later")
        later = LATER_SETTINGS if version >= LATER_SERVER else {}
        sets = "; ".join(f"SET {setting} = {value}" for setting, value in (SETTINGS | later | settings).items())
        connection.execute(cast(LiteralString, sets))
        found = connection.execute("SELECT current_setting('application_name')").fetchone()
        if found != (name,):
            raise StorageError(
                f"{place.label}: a proxy such as a connection pooler changes application_name; expected the URL of the "
                "server itself"
            )
        connection.execute(END_EARLIER, (name,))
    except BaseException:
        connection.close()
        raise
    _open.add(connection)
    return connection


def close_connection(connection: psycopg.Connection) -> None:
    """Close a connection, which may be lost."""
    _open.discard(connection)
    connection.close()


def is_connection(text: str) -> bool:
    """Return whether a string is a connection string, not a file path."""
    is_bare = _BARE.search(text) is not None and not text.lower().endswith(_ENDINGS)
    return is_bare or _CONNECTION.search(text) is not None


def hide_passwords(text: str) -> str:
    """Replace the passwords in a text by `***`; text between two URLs may be lost."""
    shown = _LOGIN.sub(lambda found: f"{found[1] or found[2]}***@", text)
    return _FIELD.sub(r"\1\2***", _CUT.sub(r"\1***", shown))


def _close_connections_in_child() -> None:
    """Close connections in a forked child, so that it does not hold a lock after its parent ends."""
    for connection in list(_open):
        with suppress(Exception):
            os.close(connection.fileno())
    _open.clear()


hook_forks(after_in_child=_close_connections_in_child)
