"""Locks of this process on a database, as another process sees them, and other names of a file."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

TRY = "import sqlite3, sys\nsqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Keep others from writing a database while a block lasts."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def is_locked(path: Path) -> bool:
    """Tell whether another process is kept from writing a database."""
    done = subprocess.run([sys.executable, "-c", TRY, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "database is locked" in done.stderr, done.stderr
    return done.returncode != 0


def hard_link(path: Path) -> Path:
    """Give a file a second name, and return it."""
    link = path.with_name("hard")
    os.link(path, link)
    return link
