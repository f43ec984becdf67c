"""Adapt the shared SQL of all back ends to psycopg, and strings to PostgreSQL."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from bostruct.checks import optional_import
from bostruct.storage.postgresql.connecting import EXTRA
from bostruct.storage.rows import Column, Columns

if TYPE_CHECKING:
    import psycopg

# PostgreSQL does not support NUL in text. It is replaced by a rare character, which is escaped itself.
ESCAPE = "\x1a"
ESCAPED = {ESCAPE: ESCAPE + "1", "\0": ESCAPE + "0"}

Statement: TypeAlias = tuple[str, Sequence[Column]]  # with a question mark for each parameter


class SqlConnection:
    """A psycopg connection with the interface that the shared SQL expects."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._last: list[Statement] = []

    def execute(self, statement: str, parameters: Sequence[Column] = (), /) -> _Rows:
        return _Rows(self._connection.execute(_translate(statement), _escape_all(parameters)))

    def begin(self, begin: str, lock: str, parameters: Sequence[Column]) -> Columns | None:
        """Begin a transaction and lock a row in one round trip; return the row, None if there is none.

        lock: statement that selects at most one row.
        """
        return _Rows(self._execute_together((begin, ()), (lock, parameters))).fetchone()

    def execute_last(self, statement: str, parameters: Sequence[Column]) -> None:
        """Queue a statement for the end of the transaction, in the round trip of its COMMIT."""
        self._last.append((statement, parameters))

    def commit(self) -> str | None:
        """Commit, and return the server's status."""
        return self._execute_together(*self._last, ("COMMIT", ())).statusmessage

    def _execute_together(self, *statements: Statement) -> psycopg.Cursor[Any]:
        """Execute statements in one round trip, and return the cursor of the last one.

        They form one simple query. psycopg ends a pipeline by a Flush, which reaches the server after its timer for
        idle transactions has started. The Flush stops the timer, so the server would never end a suspended transaction.
        """
        cursor = optional_import("psycopg", EXTRA).ClientCursor(self._connection)
        given = [one for _, parameters in statements for one in parameters]
        cursor.execute("; ".join(_translate(statement) for statement, _ in statements), _escape_all(given))
        while cursor.nextset():
            pass
        return cursor


Connection: TypeAlias = sqlite3.Connection | SqlConnection  # to either back end, within a transaction of the caller


class _Rows:
    """The rows of a statement, with their original text."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor

    def fetchone(self) -> Columns | None:
        row = self._cursor.fetchone()
        return None if row is None else _unescape_row(row)

    def fetchmany(self, size: int) -> list[Columns]:
        return [_unescape_row(row) for row in self._cursor.fetchmany(size)]

    def fetchall(self) -> list[Columns]:
        return [_unescape_row(row) for row in self._cursor.fetchall()] if self._cursor.description else []

    def close(self) -> None:
        self._cursor.close()


@cache
def _translate(statement: str) -> Any:
    return statement.replace("%", "%%").replace("?", "%s") if "?" in statement else statement


def _escape_all(parameters: Sequence[Column]) -> list[Column] | None:
    return [_escape_nul(one) if isinstance(one, str) else one for one in parameters] or None


def _escape_nul(text: str) -> str:
    if ESCAPE in text or "\0" in text:
        return re.sub(f"[{ESCAPE}\0]", lambda found: ESCAPED[found[0]], text)
    return text


def _unescape_row(row: Columns) -> Columns:
    if not any(isinstance(one, str) and ESCAPE in one for one in row):
        return row
    return tuple(
        re.sub(f"{ESCAPE}([01])", lambda found: ESCAPE if found[1] == "1" else "\0", one)
        if isinstance(one, str)
        else one
        for one in row
    )
