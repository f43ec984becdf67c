"""The schema of the database by version, and migrations between versions.

The tables contain the rows of `storage/rows.py`. In addition, `writers` lists active writers, and `receipts` contains
the last transaction of each.
"""

from __future__ import annotations

from hashlib import blake2b

from bostruct.storage.postgresql.connecting import SCHEMA
from bostruct.storage.postgresql.session import Session
from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.protocol import StorageError
from bostruct.storage.schema import check_version
from bostruct.storage.writing import retry_rolled_back

# Migrations from each version to the next; released ones never change.
MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (
        """CREATE TABLE schema_version (   -- one row
            version   BIGINT NOT NULL
        )""",
        "INSERT INTO schema_version VALUES (1)",
        """CREATE TABLE studies (          -- a row never changes
            id        BIGINT PRIMARY KEY,
            name      TEXT NOT NULL UNIQUE,
            domain    TEXT NOT NULL,
            method    TEXT NOT NULL,
            seed      TEXT NOT NULL,
            goals     TEXT NOT NULL,
            initial   TEXT NOT NULL,
            created   DOUBLE PRECISION NOT NULL,
            version   TEXT NOT NULL,
            checksum  BIGINT NOT NULL
        )""",
        """CREATE TABLE progress (         -- one row per study, locked by a writer that changes the study
            study     BIGINT PRIMARY KEY REFERENCES studies ON DELETE CASCADE,
            state     TEXT NOT NULL,
            told      BIGINT NOT NULL,
            digest    BIGINT NOT NULL,
            revision  BIGINT NOT NULL,
            checksum  BIGINT NOT NULL
        )""",
        """CREATE TABLE trials (
            study     BIGINT NOT NULL REFERENCES studies ON DELETE CASCADE,
            number    BIGINT NOT NULL,
            status    TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'infeasible')),
            point     TEXT NOT NULL,
            value     DOUBLE PRECISION,
            outcome   TEXT,
            reason    TEXT,
            info      TEXT NOT NULL,
            started   DOUBLE PRECISION NOT NULL,
            finished  DOUBLE PRECISION,
            told      BIGINT,
            attempts  BIGINT NOT NULL,
            owner     TEXT,
            revision  BIGINT NOT NULL,
            checksum  BIGINT NOT NULL,
            PRIMARY KEY (study, number)
        )""",
        "CREATE INDEX steps ON trials (study, revision)",
        """CREATE TABLE changes (
            study     BIGINT NOT NULL REFERENCES studies ON DELETE CASCADE,
            number    BIGINT NOT NULL,
            domain    TEXT NOT NULL,
            method    TEXT NOT NULL,
            initial   TEXT NOT NULL,
            trials    BIGINT NOT NULL,
            unread    TEXT NOT NULL,
            changed   DOUBLE PRECISION NOT NULL,
            version   TEXT NOT NULL,
            checksum  BIGINT NOT NULL,
            PRIMARY KEY (study, number)
        )""",
        """CREATE TABLE writers (          -- active writers, and writers that ended without closing
            study     BIGINT NOT NULL REFERENCES studies ON DELETE CASCADE,
            owner     TEXT NOT NULL,
            process   TEXT NOT NULL,         -- for messages
            renewed   TIMESTAMPTZ NOT NULL,  -- by the clock of the server
            PRIMARY KEY (study, owner)
        )""",
    ),
    2: (
        """CREATE TABLE receipts (         -- the last transaction of each writer
            study     BIGINT NOT NULL REFERENCES studies ON DELETE CASCADE,
            owner     TEXT NOT NULL,
            revision  BIGINT NOT NULL,
            PRIMARY KEY (study, owner)
        )""",
    ),
}
ROWS_OF = {1: 5, 2: 5}  # version of storage/schema.py with the same columns, by database version
VERSION = max(MIGRATIONS)


def make_key(*parts: object) -> int:
    """Return the number of an advisory lock, the same for all clients of a database."""
    text = "\0".join(("bostruct", *map(str, parts)))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


LOCK_MAKING = f"SELECT pg_advisory_xact_lock({make_key('making')})"  # for the creation of tables and of studies


def read_rows_version(connection: Connection, where: str) -> int:
    """Return the version of the rows in a database, as in `storage/reading.py`; 0 if there are no tables.

    Raises StorageError for a newer or foreign schema.
    """
    version = read_tables_version(connection, where)
    check_version(where, version, VERSION)
    return ROWS_OF[version] if version else 0


def read_tables_version(connection: Connection, where: str) -> int:
    """Return the schema version of a database, 0 for none; raise StorageError for another schema."""
    found = {str(row[0]) for row in connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = ?", (SCHEMA,)
    ).fetchall()}  # fmt: skip
    if not found:
        return 0
    rows = (
        connection.execute(f"SELECT version FROM {SCHEMA}.schema_version").fetchall()
        if "schema_version" in found
        else []
    )
    if len(rows) != 1 or not isinstance(rows[0][0], int) or rows[0][0] < 1:
        raise StorageError(f"{where}: its schema {SCHEMA!r} was not created by bostruct; it is left unchanged")
    return rows[0][0]


@retry_rolled_back
def bring_forward(session: Session) -> None:
    """Create the tables of a new database, or migrate older tables; raise StorageError."""
    where = session.place.label

    def is_current(connection: Connection) -> bool:
        return read_tables_version(connection, where) == VERSION

    if session.read(is_current):
        return
    with session.writing(LOCK_MAKING, is_made=is_current) as (connection, _):
        before = read_tables_version(connection, where)  # another process may have migrated them
        read_rows_version(connection, where)
        if before == 0:
            ((encoding,),) = connection.execute("SHOW server_encoding").fetchall()
            if encoding != "UTF8":
                raise StorageError(f"{where}: expected a database with the encoding UTF8, got {encoding}")
            if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", (SCHEMA,)).fetchone() is None:
                connection.execute(f"CREATE SCHEMA {SCHEMA}")
        for version in range(before + 1, VERSION + 1):
            for statement in MIGRATIONS[version]:
                connection.execute(statement)
            connection.execute("UPDATE schema_version SET version = ?", (version,))
