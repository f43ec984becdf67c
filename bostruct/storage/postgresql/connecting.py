"""Connections to a server: how they are set up, and what becomes of them in a forked child."""

from __future__ import annotations

import logging
import os
import re
import weakref
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, LiteralString, cast

from bostruct.execution.interrupts import hook_forks
from bostruct.storage.postgresql.limits import (
    IDLE_SECONDS,
    LATE_SECONDS,
    LOCK_SECONDS,
    OPEN_SECONDS,
    PAUSE_SECONDS,
    RECONNECT_SECONDS,
    SILENCE_SECONDS,
    STATEMENT_SECONDS,
)
from bostruct.storage.postgresql.place import NO_PASSWORD, Place
from bostruct.storage.protocol import StorageError

if TYPE_CHECKING:
    import psycopg

OLDEST_SERVER = 130000  # nobody mends older ones any more
LOST = ("08", "57P", "25P03")  # beginnings of SQLSTATE: the server has ended, or is to end, the connection
# libpq tells no SQLSTATE of a server that ends, or is to accept, a connection that is being made.
PASSING = re.compile("starting up|shutting down|in recovery mode|not yet accepting|terminating connection")
SCHEMA = "bostruct"  # in which our tables are, so that those of others may have the same names
SETTINGS = {
    "search_path": f"{SCHEMA}, pg_temp",
    "default_transaction_read_only": "off",  # else heartbeats would fail
    "extra_float_digits": "1",  # numbers are read as they were written
    "statement_timeout": f"'{STATEMENT_SECONDS}s'",
    "lock_timeout": f"'{LOCK_SECONDS}s'",
    "idle_in_transaction_session_timeout": f"'{IDLE_SECONDS}s'",
    "tcp_keepalives_idle": str(SILENCE_SECONDS // 2),
    "tcp_keepalives_interval": str(SILENCE_SECONDS // 4),
    "tcp_keepalives_count": "2",
    "tcp_user_timeout": f"'{SILENCE_SECONDS}s'",
}
LATER_SERVER = 140000
LATER_SETTINGS = {"idle_session_timeout": "0"}  # else the right to decide would go with an idle connection
# What an earlier connection of ours holds is free at once, not when the server finds it lost.
END_EARLIER = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = %s AND usename = current_user AND pid <> pg_backend_pid()"""

REFUSED = re.compile(f"FATAL|ERROR|{NO_PASSWORD}")  # in what psycopg says where more tries are in vain

log = logging.getLogger(__name__)
_open: weakref.WeakSet[psycopg.Connection] = weakref.WeakSet()


def _close_in_child() -> None:
    """A forked child must not keep a connection, and what it locks, beyond its parent's death."""
    for connection in list(_open):
        with suppress(Exception):
            os.close(connection.fileno())
    _open.clear()


hook_forks(after_in_child=_close_in_child)


def await_connection(place: Place, name: str, settings: dict[str, str], *, writes: bool) -> psycopg.Connection:
    """Open a connection, and wait a while for a server that is restarting; raise as `open_connection` does.

    place, name, settings, writes: arguments of `open_connection`.
    """
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
    """Return for how many seconds a connection may fail so; none where the server refuses it."""
    if (getattr(error, "sqlstate", None) or "").startswith(LOST) or PASSING.search(str(error)):
        return RECONNECT_SECONDS
    return 0.0 if REFUSED.search(str(error)) else OPEN_SECONDS


def open_connection(place: Place, name: str, settings: dict[str, str], *, writes: bool) -> psycopg.Connection:
    """Open a connection; raise an error of psycopg where the server cannot be reached, or refuses.

    place: of the database.
    name: of the connection, as the server lists it; earlier ones of this name are ended.
    settings: of the server, by name, beside SETTINGS.
    writes: whether a standby is refused.

    Raises StorageError where the server is too old, or lists the connection by another name.
    """
    connection = place.connect(name, writes=writes)
    try:
        version = connection.info.server_version
        if version < OLDEST_SERVER:
            raise StorageError(f"{place.label}: PostgreSQL {version // 10000} is too old; expected 13 or later")
        later = LATER_SETTINGS if version >= LATER_SERVER else {}
        sets = "; ".join(f"SET {setting} = {value}" for setting, value in (SETTINGS | later | settings).items())
        connection.execute(cast(LiteralString, sets))
        _check_name(connection, place, name)
        connection.execute(END_EARLIER, (name,))
    except BaseException:
        connection.close()
        raise
    _open.add(connection)
    return connection


def _check_name(connection: psycopg.Connection, place: Place, name: str) -> None:
    """Refuse a pooler that gives connections other names: living writers would be taken for those that are gone."""
    found = connection.execute("SELECT current_setting('application_name')").fetchone()
    if found != (name,):
        raise StorageError(
            f"{place.label}: something between here and the server changes application_name, such as a pooler of "
            "connections; expected a URL of the server itself"
        )


def close_connection(connection: psycopg.Connection) -> None:
    """Close a connection, lost or not.

    connection: as of `open_connection`, in the process that opened it.
    """
    _open.discard(connection)
    connection.close()
