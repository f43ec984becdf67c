"""The schema of the database: its versions, and what is not ours."""

from __future__ import annotations

import pytest

import bostruct as bo
from bostruct.storage.postgresql import schema
from bostruct.storage.postgresql.connecting import Place, open_connection
from bostruct.storage.postgresql.storage import PostgresqlStorage
from bostruct.storage.protocol import StorageError
from bostruct.storage.schema import SCHEMA_VERSION
from bostruct.testing.storage_laws import STUDY
from tests.storage.postgresql.server import Server

NEXT = schema.VERSION + 1


def test_a_new_version_of_the_rows_needs_a_migration() -> None:
    assert schema.ROWS_OF[schema.VERSION] == SCHEMA_VERSION
    assert sorted(schema.MIGRATIONS) == sorted(schema.ROWS_OF) == list(range(1, schema.VERSION + 1))


def test_an_older_schema_is_brought_forward_and_a_newer_one_is_refused(url, server, database, monkeypatch):
    storage = PostgresqlStorage(url)
    storage.begin(STUDY)[1].close()
    with monkeypatch.context() as patched:
        patched.setitem(schema.MIGRATIONS, NEXT, ("ALTER TABLE trials ADD COLUMN extra TEXT",))
        patched.setitem(schema.ROWS_OF, NEXT, SCHEMA_VERSION)
        patched.setattr(schema, "VERSION", NEXT)
        assert storage.read(None).study == STUDY
        storage.begin(STUDY)[1].close()
        assert server.query("SELECT extra FROM bostruct.trials", database) == []
    newer = rf"newer bostruct \(schema version {NEXT}; this one knows up to {NEXT - 1}\); upgrade"
    for step in (lambda: storage.begin(STUDY), lambda: storage.read(None), storage.studies):
        with pytest.raises(StorageError, match=newer):
            step()
    assert server.query("SELECT version FROM bostruct.schema_version", database) == [(NEXT,)]


def test_a_migration_that_fails_leaves_all_as_it_was(url, server, database, monkeypatch):
    storage = PostgresqlStorage(url)
    storage.begin(STUDY)[1].close()
    monkeypatch.setitem(schema.MIGRATIONS, NEXT, ("ALTER TABLE trials ADD COLUMN extra TEXT", "SELECT 1 / 0"))
    monkeypatch.setattr(schema, "VERSION", NEXT)
    with pytest.raises(StorageError, match="division by zero"):
        storage.begin(STUDY)
    columns = "SELECT 1 FROM information_schema.columns WHERE table_schema = 'bostruct' AND column_name = 'extra'"
    assert server.query(columns, database) == []
    assert server.query("SELECT version FROM bostruct.schema_version", database) == [(NEXT - 1,)]


def test_a_study_of_the_first_version_goes_on(url: str, server: Server, database: str) -> None:
    space = {"x": range(9)}
    with bo.Study(space, method="random", seed=0, storage=url) as study:
        study.tell(study.ask(), 1.0)
    server.query("DROP TABLE bostruct.receipts", database)
    server.query("UPDATE bostruct.schema_version SET version = 1", database)
    with bo.Study.load(url, read_only=True) as study:
        assert [trial.value for trial in study.trials] == [1.0]
    with bo.Study(space, method="random", seed=0, storage=url) as study:
        study.tell(study.ask(), 2.0)
        assert [trial.value for trial in study.trials] == [1.0, 2.0]
        assert len(server.query("SELECT * FROM bostruct.receipts", database)) == 1
    assert server.query("SELECT * FROM bostruct.receipts", database) == []
    assert server.query("SELECT version FROM bostruct.schema_version", database) == [(schema.VERSION,)]


def test_a_schema_of_others_is_left_as_it_is(url: str, server: Server, database: str) -> None:
    server.query("CREATE SCHEMA bostruct CREATE TABLE studies (a INT)", database)
    with pytest.raises(StorageError, match="its schema 'bostruct' was not created by bostruct; it is left unchanged"):
        PostgresqlStorage(url).begin(STUDY)
    assert server.query("SELECT * FROM bostruct.studies", database) == []


def test_an_empty_database_holds_no_study_and_reading_makes_none(url: str, server: Server, database: str) -> None:
    storage = PostgresqlStorage(url)
    assert storage.studies() == []
    with pytest.raises(StorageError, match="expected one of its studies; it contains none"):
        bo.Study.load(url)
    assert server.query("SELECT 1 FROM pg_namespace WHERE nspname = 'bostruct'", database) == []


def test_another_encoding_is_refused(server: Server) -> None:
    server.query("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(StorageError, match="expected a database with the encoding UTF8, got LATIN1"):
        PostgresqlStorage(server.socket_url("latin")).begin(STUDY)


def test_an_old_server_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bostruct.storage.postgresql.connecting.OLDEST_SERVER", 990000)
    with pytest.raises(StorageError, match=r"PostgreSQL \d+ is too old; expected 13 or later"):
        open_connection(Place(url), "test", {}, writes=True)


def test_a_damaged_row_is_named(url: str, server: Server, database: str) -> None:
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=url) as study:
        study.tell(study.ask(), 1.0)
    server.query("UPDATE bostruct.trials SET value = 2", database)
    with pytest.raises(StorageError, match=r"study 'study': trial 0 is damaged: its checksum does not match its"):
        bo.Study.load(url)
