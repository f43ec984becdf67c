"""Studies in a PostgreSQL database: one row a trial, JSON and never a pickle.

What a method here has returned from is committed, and as durable as the server's `synchronous_commit` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager

from bostruct.storage.postgresql.connecting import OPEN_SECONDS, Place
from bostruct.storage.postgresql.schema import LOCK_MAKING, bring_forward, read_rows_version
from bostruct.storage.postgresql.seat import Seat, list_writers
from bostruct.storage.postgresql.session import Session, Writing
from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.protocol import (
    News,
    SpaceChange,
    Storage,
    StorageError,
    StorageLost,
    StoredStudy,
    StudyLocked,
    StudyRow,
    StudyWriter,
    TrialRow,
    check_new_name,
    explain_second,
)
from bostruct.storage.reading import StudyKey, find_study_key, read_studies, read_study
from bostruct.storage.rows import PROGRESS_COLUMNS
from bostruct.storage.schema import SCHEMA_VERSION
from bostruct.storage.writing import Replica, Step, insert_study, next_study, repeat_undone

# A DELETE of the study locks its row first, too. A weaker lock would let steps pass by a DELETE that waits.
_LOCK = f"""SELECT {", ".join((*PROGRESS_COLUMNS, "progress.checksum"))} FROM studies
JOIN progress ON progress.study = studies.id WHERE studies.id = ? AND studies.checksum = ?
FOR NO KEY UPDATE OF studies FOR UPDATE OF progress"""
_SIGN = """INSERT INTO receipts (study, owner, revision) VALUES (?, ?, ?)
ON CONFLICT (study, owner) DO UPDATE SET revision = excluded.revision"""
_IS_SIGNED = "SELECT 1 FROM receipts WHERE study = ? AND owner = ? AND revision = ?"


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


class PostgresqlWriter(StudyWriter):
    """A writer of a study in a database, one of any number; it is gone a minute after its last heartbeat.

    session: to the database; it is closed with the writer.
    name: of the study, which is there.

    Raises StorageError.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        self._label = session.place.label
        self._key = session.read(self._find_key)
        self._seat = Seat(session.place, self._key.study)
        self._lost: StorageLost | None = None
        self._replica = Replica(self._key)
        self._step: Step | None = None  # that is being made

    def read(self) -> StoredStudy:
        """Return the study as it is now, from which on `look` tells what changed."""
        return self._replica.take_all(
            self._session.read(lambda connection: read_study(connection, self._name, self._label, SCHEMA_VERSION))
        )

    @property
    def lost(self) -> StorageLost | None:
        return self._lost

    @property
    def is_open(self) -> bool:
        return self._session.is_open

    @property
    def owner(self) -> str:
        return self._seat.owner

    @contextmanager
    def deciding(self) -> Iterator[None]:
        with self._seat.deciding():
            yield

    def find_gone(self, owners: AbstractSet[str]) -> set[str]:
        with self._noting_loss():
            return self._seat.find_gone(self._session, owners)

    @contextmanager
    def changing(self) -> Iterator[News]:
        with self._stepping() as step:
            yield self._replica.read_news(step)

    def look(self) -> News:
        with self._noting_loss():
            progress = self._session.repeat(self._key.read_progress, "read")
            if (unchanged := self._replica.find_unchanged(progress)) is not None:
                return unchanged
            return self._replica.take(self._session.read(self._replica.read_update))

    def insert(self, row: TrialRow, state: str | None = None) -> None:
        self._make(lambda step: step.insert(row, state))

    def change(self, row: TrialRow, status: str) -> None:
        self._make(lambda step: step.change(row, status))

    def take_back(self, *numbers: int) -> None:
        self._make(lambda step: step.take_back(numbers))

    def change_space(self, change: SpaceChange, state: str) -> None:
        if (holder := self._seat.find_other(self._session)) is not None:
            raise StudyLocked(f"{self._key.where}: its space cannot be changed while it is open in {holder}")
        self._make(lambda step: step.change_space(change, state))

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, where the study or trials are not there any more."""
        with self._noting_loss():
            self._session.read(self._replica.check_rows, OPEN_SECONDS)

    def close(self) -> None:
        if self.is_open:
            try:
                self._seat.leave()
            finally:
                self._session.close()

    def _find_key(self, connection: Connection) -> StudyKey:
        return find_study_key(connection, self._name, self._label, read_rows_version(connection, self._label))

    def _make(self, change: Callable[[Step], None]) -> None:
        """Make a change within the step that is being made, or a step of its own."""
        if self._step is not None:
            change(self._step)
        else:
            self._make_alone(change)

    @repeat_undone
    def _make_alone(self, change: Callable[[Step], None]) -> None:
        with self._stepping() as step:
            change(step)

    @contextmanager
    def _stepping(self) -> Iterator[Step]:
        """Make a step of all changes in a block; raise StepUndone where the connection was lost before it was made."""
        try:
            with self._noting_loss(), self._writing() as begun:
                self._step = step = Step(begun.connection, self._key.check_there(begun.row), self._key.where)
                self._replica.begin(step)
                yield step
                if (after := step.finish()) is not step.before:
                    begun.connection.execute_last(_SIGN, (self._key.study, self.owner, after.revision))
        finally:
            self._step = None
        self._replica.end(step, after)

    def _writing(self) -> AbstractContextManager[Writing]:
        return self._session.writing(_LOCK, self._key.parameters, is_made=self._is_made)

    def _is_made(self, connection: Connection) -> bool:
        """Tell whether the step that is being made is in the database: no other step of ours has its revision."""
        assert self._step is not None
        signed = connection.execute(_IS_SIGNED, (self._key.study, self.owner, self._step.before.revision + 1))
        return signed.fetchone() is not None

    @contextmanager
    def _noting_loss(self) -> Iterator[None]:
        if self._lost is not None:
            raise StorageLost(str(self._lost))
        try:
            yield
        except StorageLost as error:
            self._seat.leave()
            self._lost = StorageLost(
                f"{error}. Nothing is written there any more. "
                "All trials are in memory, and so is every value that you tell; study.save(path) writes them elsewhere"
            )
            raise StorageLost(str(self._lost)) from error
