"""Files of studies changed by hand: by somebody who knows the checksums, or by an accident."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from bostruct.storage.rows import PROGRESS_COLUMNS, STUDY_COLUMNS, TRIAL_COLUMNS, checksum

TABLES = {"studies": STUDY_COLUMNS, "progress": PROGRESS_COLUMNS, "trials": TRIAL_COLUMNS}


def damage(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    """Run SQL statements in a file, and leave its checksums as they are."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement, values)


def forge(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    """Run SQL statements in a file, and write the counts and checksums that go with what it then holds."""
    damage(path, *statements, values=values)
    with closing(sqlite3.connect(path)) as connection, connection:
        _seal(connection, "trials")
        for (study,) in connection.execute("SELECT study FROM progress").fetchall():
            sums = connection.execute("SELECT checksum, told FROM trials WHERE study = ?", (study,)).fetchall()
            digest = (sum(row[0] for row in sums) + 2**63) % 2**64 - 2**63
            told = sum(row[1] is not None for row in sums)
            connection.execute("UPDATE progress SET digest = ?, told = ? WHERE study = ?", (digest, told, study))
        _seal(connection, "progress")
        _seal(connection, "studies")


def _seal(connection: sqlite3.Connection, table: str) -> None:
    for rowid, *columns in connection.execute(f"SELECT rowid, {', '.join(TABLES[table])} FROM {table}").fetchall():
        plain = [None if isinstance(column, bytes) else column for column in columns]
        connection.execute(f"UPDATE {table} SET checksum = ? WHERE rowid = ?", (checksum(plain), rowid))
