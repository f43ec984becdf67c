"""Studies on disk: one SQLite file for several of them, one row a trial, JSON and never a pickle.

What a method here has returned from is committed, and survives kill -9 and power loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path

from bostruct.storage.database import Database
from bostruct.storage.protocol import (
    News,
    SpaceChange,
    StorageError,
    StorageLost,
    StoredStudy,
    StudyLocked,
    StudyRow,
    TrialRow,
)
from bostruct.storage.reading import find_in, read_progress, read_studies, read_study
from bostruct.storage.schema import SCHEMA_VERSION, read_version
from bostruct.storage.seats import Seat
from bostruct.storage.steps import Step, next_study, read_news
from bostruct.storage.writing import insert_study


class SqliteStorage:
    """A file of studies, which is opened for each call.

    path: of the file; `begin` and `save` make it where it is absent.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def label(self) -> str:
        """The path, as it was given."""
        return str(self._path)

    @property
    def where(self) -> str:
        """The path, as it was given."""
        return str(self._path)

    def studies(self) -> list[StudyRow]:
        with self.open_to_read() as database, database.reading() as connection:
            return [one.study for one in read_studies(connection, self.label, read_version(connection))]

    def read(self, name: str | None) -> StoredStudy:
        with self.open_to_read() as database, database.reading() as connection:
            return read_study(connection, name, self.label, read_version(connection))[0]

    def begin(self, row: StudyRow) -> tuple[StoredStudy, SqliteWriter]:
        def make(database: Database) -> None:
            with database.writing() as connection:
                if all(
                    one.study.name != row.name for one in read_studies(connection, self.label, read_version(connection))
                ):
                    insert_study(connection, next_study(connection), StoredStudy(row, []))

        writer = self._become_writer(row.name, make)
        try:
            return writer.read(), writer
        except BaseException:
            writer.close()
            raise

    def save(self, stored: StoredStudy) -> SqliteWriter:
        name = stored.study.name

        def make(database: Database) -> None:
            with database.writing() as connection:
                if any(
                    one.study.name == name for one in read_studies(connection, self.label, read_version(connection))
                ):
                    raise StorageError(f"{self.label}: holds a study {name!r} already; save this one in another file")
                insert_study(connection, next_study(connection), stored)

        return self._become_writer(name, make)

    def count_finished(self) -> int:
        """Count the finished trials of the only study, without reading them; raise StorageError."""
        with self.open_to_read() as database, database.reading() as connection:
            study = find_in(connection, None, self.label, read_version(connection)).progress.study
            counted = "SELECT COUNT(*) FROM trials WHERE study = ? AND status != 'running'"
            return int(connection.execute(counted, (study,)).fetchone()[0])

    @contextmanager
    def open_to_read(self) -> Iterator[Database]:
        """Open the file for as long as a block lasts; raise StorageError."""
        database = Database(self._path, read_only=True)
        try:
            yield database
        finally:
            database.close()

    def _become_writer(self, name: str, make: Callable[[Database], None]) -> SqliteWriter:
        database = Database(self._path, read_only=False)
        try:
            make(database)
            return SqliteWriter(database, name)
        except BaseException:
            database.close()
            raise


class SqliteWriter:
    """A writer of a study in a file, one of any number; it is gone when its process ends, however that ends.

    database: open for writing; it is closed with the writer.
    name: of the study, which is there.

    Raises StudyLocked where the file is on a network file system and somebody else writes the study, StorageError.
    """

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._what = f"{database.path}: study {name!r}"
        with database.reading() as connection:
            self._study = find_in(connection, name, str(database.path), SCHEMA_VERSION).progress.study
        self._seat = Seat(database.path, self._study, name)
        self._seen = 0  # the step up to which the holder knows the study
        self._known = 0  # the same in the step that is being made, which may never be done
        self._step: Step | None = None  # that is being made

    def read(self) -> StoredStudy:
        """Return the study as it is now, from which on `look` tells what changed."""
        with self._database.reading() as connection:
            stored, progress = read_study(connection, self._name, str(self._database.path), SCHEMA_VERSION)
        self._seen = progress.revision
        return stored

    @property
    def lost(self) -> StorageLost | None:
        """Why nothing is written any more; None as long as the file is in its place."""
        return self._database.lost

    @property
    def is_open(self) -> bool:
        """True until it is closed, in the process that opened it."""
        return self._database.is_open

    @property
    def owner(self) -> str:
        """The name of this writer in the rows of trials that it hands out."""
        return self._seat.owner

    @contextmanager
    def deciding(self) -> Iterator[None]:
        with self._seat.deciding():
            yield

    def find_gone(self, owners: AbstractSet[str]) -> set[str]:
        return {owner for owner in owners if self._seat.is_gone(owner)}

    @contextmanager
    def changing(self) -> Iterator[News]:
        with self._stepping() as step:
            news, self._known = step.read_news(self._seen), step.before.revision
            yield news

    def look(self) -> News:
        with self._database.reading() as connection:
            progress = read_progress(connection, self._study, self._what, SCHEMA_VERSION)
            news = read_news(connection, progress, self._seen, self._what)
        self._seen = progress.revision
        return news

    def insert(self, row: TrialRow, state: str | None = None) -> None:
        with self._stepping() as step:
            step.insert(row, state)

    def update(self, row: TrialRow) -> None:
        with self._stepping() as step:
            step.change(row, "running")

    def reopen(self, row: TrialRow) -> None:
        with self._stepping() as step:
            step.change(row, "failed")

    def take_back(self, *numbers: int) -> None:
        with self._stepping() as step:
            step.take_back(numbers)

    def change_space(self, change: SpaceChange, state: str) -> None:
        with self._stepping() as step:
            if (holder := self._seat.find_other()) is not None:
                raise StudyLocked(f"{self._what}: its space cannot be changed while it is open in {holder}")
            step.change_space(change, state)

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, where the file is not in its place any more."""
        with self._unlocked_where_lost():
            self._database.check_place()

    def close(self) -> None:
        if self.is_open:
            try:
                self._database.close()
            finally:
                self._seat.leave()

    @contextmanager
    def _stepping(self) -> Iterator[Step]:
        """Give the step that is being made, or make one of its own of the block."""
        if self._step is not None:
            yield self._step
            return
        try:
            with self._unlocked_where_lost(), self._database.writing() as connection:
                progress = read_progress(connection, self._study, self._what, SCHEMA_VERSION)
                self._step, self._known = Step(connection, progress, self._what), self._seen
                yield self._step
                revision = self._step.finish()
        finally:
            self._step = None
        if self._known == progress.revision:  # else there are news that nobody asked for
            self._seen = revision

    @contextmanager
    def _unlocked_where_lost(self) -> Iterator[None]:
        """Leave the locks to whoever opens a new file in the place of one that is lost."""
        try:
            yield
        except StorageLost:
            self._seat.leave()
            raise
