"""The schema of the database by version, and its validation."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from bostruct.storage.protocol import StorageError

APPLICATION_ID = 0x626F7374  # "bost", in the file's header

# The tables of each schema version; the last is the current one, and the others never change.
TABLES = {
    1: {
        "studies": """
    CREATE TABLE studies (
        id        INTEGER PRIMARY KEY,
        name      TEXT NOT NULL UNIQUE,
        domain    TEXT NOT NULL,          -- JSON: the search space
        method    TEXT NOT NULL,          -- JSON: name, searcher, settings
        seed      TEXT NOT NULL,          -- decimal: may exceed 64 bits
        direction TEXT NOT NULL CHECK (direction IN ('minimize', 'maximize')),
        initial   TEXT NOT NULL,          -- JSON: the user's own first points
        state     TEXT NOT NULL,          -- JSON: what the searcher needs at the next ask
        created   REAL NOT NULL,          -- seconds since the epoch
        version   TEXT NOT NULL           -- of bostruct, when created
    )""",
        "trials": """
    CREATE TABLE trials (
        id       INTEGER PRIMARY KEY,
        study    INTEGER NOT NULL REFERENCES studies (id),
        number   INTEGER NOT NULL,
        status   TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'infeasible')),
        point    TEXT NOT NULL,           -- JSON
        value    REAL,                    -- in the user's direction; NULL unless completed
        reason   TEXT,                    -- NULL unless failed or infeasible
        info     TEXT NOT NULL,           -- JSON: how it was chosen, what that cost
        started  REAL NOT NULL,           -- seconds since the epoch
        finished REAL,
        told     INTEGER,                 -- position in the order of telling, from 0
        attempts INTEGER NOT NULL,        -- times handed out, less the times taken back in good order
        UNIQUE (study, number)
    )""",
    },
    5: {
        "studies": """
    CREATE TABLE studies (                -- a row never changes
        id        INTEGER PRIMARY KEY,
        name      TEXT NOT NULL UNIQUE,
        domain    TEXT NOT NULL,          -- JSON: the search space
        method    TEXT NOT NULL,          -- JSON: name, searcher, settings
        seed      TEXT NOT NULL,          -- decimal: may exceed 64 bits
        goals     TEXT NOT NULL,          -- JSON: directions of the objectives, limits on what is measured
        initial   TEXT NOT NULL,          -- JSON: the user's own first points
        created   REAL NOT NULL,          -- seconds since the epoch
        version   TEXT NOT NULL,          -- of bostruct, when created
        checksum  INTEGER NOT NULL        -- of the columns before it, see storage/rows.py
    )""",
        "progress": """
    CREATE TABLE progress (               -- of each study, what changes at each step
        study     INTEGER PRIMARY KEY REFERENCES studies (id),
        state     TEXT NOT NULL,          -- JSON: what the searcher needs at the next ask
        told      INTEGER NOT NULL,       -- how many trials have been told
        digest    INTEGER NOT NULL,       -- sum of the checksums of its trials, modulo 2 to the 64
        revision  INTEGER NOT NULL,       -- how many steps there were
        checksum  INTEGER NOT NULL
    )""",
        "trials": """
    CREATE TABLE trials (
        study     INTEGER NOT NULL REFERENCES studies (id),
        number    INTEGER NOT NULL,
        status    TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'infeasible')),
        point     TEXT NOT NULL,          -- JSON
        value     REAL,                   -- in the user's direction; NULL unless there is one
        outcome   TEXT,                   -- JSON: several values, constraints, cost, sd, repeats; NULL without them
        reason    TEXT,                   -- NULL unless failed or infeasible
        info      TEXT NOT NULL,          -- JSON: how it was chosen, what that cost
        started   REAL NOT NULL,          -- seconds since the epoch
        finished  REAL,
        told      INTEGER,                -- position in the order of telling, from 0
        attempts  INTEGER NOT NULL,       -- times handed out, less the times taken back in good order
        owner     TEXT,                   -- the writer that handed it out; NULL for a running one that waits
        revision  INTEGER NOT NULL,       -- the step that changed it last
        checksum  INTEGER NOT NULL,
        PRIMARY KEY (study, number)
    )""",
        "changes": """
    CREATE TABLE changes (                -- of the space of a study; a row never changes
        study     INTEGER NOT NULL REFERENCES studies (id),
        number    INTEGER NOT NULL,       -- in their order, from 0
        domain    TEXT NOT NULL,          -- JSON: the search space from then on
        method    TEXT NOT NULL,          -- JSON: name, searcher, settings from then on
        initial   TEXT NOT NULL,          -- JSON: the user's own first points from then on
        trials    INTEGER NOT NULL,       -- how many there were; the points of later ones are of this space
        unread    TEXT NOT NULL,          -- JSON: why trials cannot be read in this space, by number
        changed   REAL NOT NULL,          -- seconds since the epoch
        version   TEXT NOT NULL,          -- of bostruct
        checksum  INTEGER NOT NULL,
        PRIMARY KEY (study, number)
    )""",
    },
}
SCHEMA_VERSION = max(TABLES)
# Transactions were not counted, and trials had an unused column.
TABLES[4] = TABLES[5] | {
    "progress": TABLES[5]["progress"].replace("revision  INTEGER NOT NULL,", ""),
    "trials": TABLES[5]["trials"].replace("revision  INTEGER NOT NULL,", "lease REAL,"),
}
_DIRECTION = "direction TEXT NOT NULL CHECK (direction IN ('minimize', 'maximize')),"  # instead of goals
TABLES[3] = TABLES[4] | {"studies": TABLES[4]["studies"].replace("goals     TEXT NOT NULL,", _DIRECTION)}
TABLES[2] = {name: table for name, table in TABLES[3].items() if name != "changes"}
INDEXES = {5: {"steps": "CREATE INDEX steps ON trials (study, revision)"}}  # indexes by version


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of the current version in an empty database, within the caller's transaction."""
    for statement in (*TABLES[SCHEMA_VERSION].values(), *INDEXES[SCHEMA_VERSION].values()):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def read_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of a database, 0 for an empty one."""
    return connection.execute("PRAGMA user_version").fetchone()[0]


def check_version(where: Path | str, version: int, newest: int = SCHEMA_VERSION) -> None:
    """Raise StorageError for an unsupported schema version."""
    if version > newest:
        raise StorageError(
            f"{where}: was written by a newer bostruct (schema version {version}; this one knows up to {newest}); "
            "upgrade bostruct to open it"
        )


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StorageError unless the database has exactly the tables of its version.

    A trigger would change written data, and a view or an expression in another table might never terminate. This check
    therefore precedes any query of the tables.
    """
    version = read_version(connection)
    check_version(path, version)
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    tables, indexes = TABLES.get(version, {}), INDEXES.get(version, {})
    expected = {("table", name): sql for name, sql in tables.items()}
    expected |= {("index", name): sql for name, sql in indexes.items()}
    for kind, name, table, sql in rows:
        if kind == "index" and sql is None and table in tables and str(name).startswith("sqlite_autoindex_"):
            continue  # of a UNIQUE or PRIMARY KEY constraint
        if _squeeze(sql) != _squeeze(expected.pop((kind, name), None)) or sql is None:
            raise StorageError(f"{path}: its {kind} {name!r} does not match bostruct's schema; it is left unchanged")
    if expected or version < 1 < len(rows):
        missing = ", ".join(sorted(f"{kind} {name}" for kind, name in expected)) or "table of bostruct"
        raise StorageError(f"{path}: has no {missing}; it is left unchanged")


def _squeeze(sql: str | None) -> str:
    """Return a statement without comments and spaces between its words."""
    return "" if sql is None else re.sub(r"\s+", "", re.sub(r"--[^\n]*", "", sql))
