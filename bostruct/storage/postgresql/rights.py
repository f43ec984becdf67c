"""The rights that a role lacks for what the server refused."""

from __future__ import annotations

from bostruct.storage.postgresql.connecting import SCHEMA
from bostruct.storage.postgresql.sql import Connection

OF_READERS = ("SELECT",)
OF_WRITERS = ("SELECT", "INSERT", "UPDATE", "DELETE")
_ROLE = f"""SELECT current_user, has_database_privilege(current_database(), 'CREATE'),
(SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = '{SCHEMA}')"""
_LACKS = f"""SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = '{SCHEMA}' AND relkind IN ('r', 'p') AND NOT has_table_privilege(pg_class.oid, ?)"""


def describe_lack(connection: Connection, *, writes: bool) -> str:
    """Return the end of a message that says what the role lacks for what it was to do; an empty text for nothing.

    connection: of the role, outside a transaction.
    writes: whether it was to write; else it was to read.
    """
    ((role, may_create, may_use),) = connection.execute(_ROLE).fetchall()
    if may_use is None:  # there is no schema
        lack = [] if may_create else ["CREATE on the database, where nobody has made the tables of bostruct yet"]
        return _end(role, lack, writes)
    needed = OF_WRITERS if writes else OF_READERS
    missing = [right for right in needed if connection.execute(_LACKS, (right,)).fetchone() is not None]
    lack = [] if may_use else [f"USAGE on schema {SCHEMA}"]
    lack += [f"{', '.join(missing)} on tables of schema {SCHEMA}"] if missing else []
    may_read = bool(may_use) and "SELECT" not in missing
    return _end(role, lack, writes) + (
        "; it may look at them, with read_only=True" if writes and lack and may_read else ""
    )


def is_hidden(connection: Connection) -> bool:
    """Tell whether the schema is there, and its tables are none to the role, which lacks USAGE.

    connection: of the role, outside a transaction.
    """
    ((_, _, may_use),) = connection.execute(_ROLE).fetchall()
    return may_use is False


def _end(role: object, lack: list[str], writes: bool) -> str:
    who = "who writes studies" if writes else "who looks at studies"
    return f"; role {role} lacks {' and '.join(lack)}, which {who} needs" if lack else ""
