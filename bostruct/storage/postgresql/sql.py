"""The SQL that all back ends share, as psycopg takes it, and text as PostgreSQL takes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

from bostruct.checks import optional_import
from bostruct.storage.postgresql.place import EXTRA
from bostruct.storage.rows import Column, Columns

if TYPE_CHECKING:
    import psycopg

# PostgreSQL has no NUL in text. It is written with a character that hardly any text has, which is written so, too.
ESCAPE = "\x1a"
ESCAPED = {ESCAPE: ESCAPE + "1", "\0": ESCAPE + "0"}


class SqlConnection:
    """A connection of psycopg as the SQL that all back ends share knows it.

    connection: outside of anybody else's transaction.
    """

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, parameters: Sequence[Column] = (), /) -> _Rows:
        given = [_escape(one) if isinstance(one, str) else one for one in parameters]
        return _Rows(self._connection.execute(_translate(statement), given or None))

    def together(self) -> AbstractContextManager[object]:
        """Send the statements of a block at once, whose rows are to be had after it."""
        return self._connection.pipeline() if _has_pipelines() else nullcontext()

    def commit(self) -> str | None:
        """Commit, and return what the server says that it did."""
        return self._connection.execute("COMMIT", prepare=False).statusmessage


class _Rows:
    """Rows that a statement selects, with their text as it was written."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor

    def fetchone(self) -> Columns | None:
        row = self._cursor.fetchone()
        return None if row is None else _unescape_row(row)

    def fetchall(self) -> list[Columns]:
        return [_unescape_row(row) for row in self._cursor.fetchall()] if self._cursor.description else []


@cache
def _has_pipelines() -> bool:
    """Tell whether libpq is new enough to send several statements at once."""
    return optional_import("psycopg", EXTRA).Pipeline.is_supported()


@cache
def _translate(statement: str) -> Any:
    return statement.replace("%", "%%").replace("?", "%s") if "?" in statement else statement


def _escape(text: str) -> str:
    if ESCAPE in text or "\0" in text:
        return re.sub(f"[{ESCAPE}\0]", lambda found: ESCAPED[found[0]], text)
    return text


def _unescape_row(row: Columns) -> Columns:
    if not any(isinstance(one, str) and ESCAPE in one for one in row):
        return row
    return tuple(_unescape(one) if isinstance(one, str) else one for one in row)


def _unescape(text: str) -> str:
    return re.sub(f"{ESCAPE}([01])", lambda found: ESCAPE if found[1] == "1" else "\0", text)
