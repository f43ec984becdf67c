"""Studies in a PostgreSQL database: one row a trial, JSON and never a pickle.

What a method here has returned from is committed, and as durable as the server's `synchronous_commit` makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bostruct.storage.postgresql.place import Place
from bostruct.storage.postgresql.schema import LOCK_MAKING, bring_forward, read_rows_version
from bostruct.storage.postgresql.seat import list_writers
from bostruct.storage.postgresql.session import Session
from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.postgresql.writer import PostgresqlWriter
from bostruct.storage.protocol import Storage, StorageError, StoredStudy, StudyRow, check_new_name, explain_second
from bostruct.storage.reading import read_studies, read_study
from bostruct.storage.steps import next_study
from bostruct.storage.undone import repeat_undone
from bostruct.storage.writing import insert_study


class PostgresqlStorage(Storage):
    """A database of studies, to which each call connects.

    url: as libpq reads it; `begin` and `save` make the tables where they are absent.

    Raises StorageError for a URL that cannot be read, MissingExtra without psycopg.
    """

    def __init__(self, url: str) -> None:
        self._place = Place(url)
        self.label = self.where = self._place.label  # without what is secret

    def studies(self) -> list[StudyRow]:
        def list_all(connection: Connection) -> list[StudyRow]:
            found = read_studies(connection, self.label, read_rows_version(connection, self.label))
            return [one.study for one in found]

        with self._connecting() as session:
            return session.read(list_all)

    def read(self, name: str | None) -> StoredStudy:
        def read(connection: Connection) -> StoredStudy:
            return read_study(connection, name, self.label, read_rows_version(connection, self.label)).stored

        with self._connecting() as session:
            return session.read(read)

    def begin(self, row: StudyRow) -> tuple[StoredStudy, PostgresqlWriter]:
        return self._become_writer(StoredStudy(row, []), is_new=False)

    def save(self, stored: StoredStudy) -> PostgresqlWriter:
        return self._become_writer(stored, is_new=True)[1]

    def find_revisions(self) -> dict[int, int] | None:
        try:
            with self._connecting() as session:
                there = session.read(lambda connection: read_rows_version(connection, self.label))
                return dict(session.query("SELECT study, revision FROM progress")) if there else {}
        except StorageError:
            return None

    def find_writers(self) -> frozenset[str] | None:
        """Return the writers that are there; None where that cannot be read now, and on a standby."""

        def list_present(connection: Connection) -> frozenset[str] | None:
            return list_writers(connection) if read_rows_version(connection, self.label) else frozenset()

        try:
            with self._connecting() as session:
                return session.read(list_present)
        except StorageError:
            return None

    def _become_writer(self, stored: StoredStudy, *, is_new: bool) -> tuple[StoredStudy, PostgresqlWriter]:
        session = Session(self._place)
        try:
            bring_forward(session)
            self._make(session, stored, is_new=is_new)
            writer = PostgresqlWriter(session, stored.study.name)
        except BaseException:
            session.close()
            raise
        try:
            return writer.read(), writer
        except BaseException:
            writer.close()
            raise

    @repeat_undone
    def _make(self, session: Session, stored: StoredStudy, *, is_new: bool) -> None:
        """Write a study unless it is there; raise StorageError where it is there and was to be new."""
        name = stored.study.name
        there = "SELECT 1 FROM studies WHERE name = ?"
        if not is_new and session.query(there, (name,)):
            return
        check_new_name(name, f"{self.label}: ")  # a file of an earlier version may hold a longer one

        def is_made(connection: Connection) -> bool:
            made = connection.execute(f"{there} AND created = ?", (name, stored.study.created)).fetchone()
            return made is not None

        with session.writing(LOCK_MAKING, is_made=is_made) as (connection, _):
            if connection.execute(there, (name,)).fetchone() is None:
                insert_study(connection, next_study(connection), stored)
            elif is_new:
                raise explain_second(self.label, name)

    @contextmanager
    def _connecting(self) -> Iterator[Session]:
        session = Session(self._place, writes=False)
        try:
            yield session
        finally:
            session.close()
