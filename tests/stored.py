"""Files of studies changed by hand: by somebody who knows the checksums, or by an accident."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.chaos.forgeries import seal


def damage(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    """Run SQL statements in a file, and leave its checksums as they are."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement, values)


def forge(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    """Run SQL statements in a file, and write the counts and checksums that go with what it then holds."""
    damage(path, *statements, values=values)
    with closing(sqlite3.connect(path)) as connection, connection:
        seal(connection)
