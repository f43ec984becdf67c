"""Studies in a PostgreSQL database keep the laws of every storage."""

from __future__ import annotations

from bostruct.storage.postgresql.storage import PostgresqlStorage
from bostruct.testing.storage_laws import check_storage
from tests.storage.postgresql.server import Server


def test_the_laws(server: Server, url: str, database: str) -> None:
    check_storage(lambda: PostgresqlStorage(url), lambda: server.query("DROP SCHEMA bostruct CASCADE", database))
