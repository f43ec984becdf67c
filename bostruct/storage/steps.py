"""Steps of a study: all changes that are made together, and the revision that counts them."""

from __future__ import annotations

from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.protocol import SpaceChange, StorageError, TrialRow
from bostruct.storage.reading import find_trial, read_change_checksums
from bostruct.storage.rows import Progress
from bostruct.storage.writing import Written, change_trial, insert_change, insert_trial, write_progress


class Step:
    """A step that is being made, within a transaction of the caller, who keeps all others from writing meanwhile.

    connection: to the database.
    before: the progress of the study as it is there.
    where: database and study, for messages.

    connection, before: the arguments.
    checksums: of the trials that it has written, by number.
    n_changes: of the study's space, that it has written.
    """

    def __init__(self, connection: Connection, before: Progress, where: str) -> None:
        self.connection = connection
        self.before = before
        self.checksums: dict[int, int] = {}
        self.n_changes = 0
        self._begun = before._replace(revision=before.revision + 1)
        self._progress = self._begun
        self._where = where

    def insert(self, row: TrialRow, state: str | None) -> None:
        """Write a new trial and, with it or not at all, the searcher's new state.

        row: the trial.
        state: as JSON text; None leaves it as it is.
        """
        self._note(row.number, insert_trial(self.connection, self._progress, row))
        self._progress = self._progress.advance(0, 0, state)

    def change(self, row: TrialRow, status: str) -> None:
        """Change a trial, all but its point; raise StorageError where no such trial has this status.

        row: the trial as it is to be.
        status: that it must have.
        """
        before = find_trial(self.connection, self._progress.study, row.number, self._where)
        if before is None or before.row.status != status:
            raise StorageError(f"{self._where}: trial {row.number} is not {status} there any more; load it again")
        after = row._replace(point=before.row.point)
        self._note(row.number, change_trial(self.connection, self._progress, before, after))

    def take_back(self, numbers: tuple[int, ...]) -> None:
        """Count an attempt less for those trials that run; nobody owns them then.

        numbers: of the trials, each of which counts once.
        """
        for number in dict.fromkeys(numbers):
            before = find_trial(self.connection, self._progress.study, number, self._where)
            if before is not None and before.row.status == "running":
                after = before.row._replace(attempts=before.row.attempts - 1, owner=None)
                self._note(number, change_trial(self.connection, self._progress, before, after))

    def change_space(self, change: SpaceChange, state: str) -> None:
        """Write that the study is over another space, and the searcher's new state.

        change: the next one.
        state: as JSON text.
        """
        number = len(read_change_checksums(self.connection, self._progress.study))
        self._progress = insert_change(self.connection, self._progress, number, change).advance(0, 0, state)
        self.n_changes += 1

    def finish(self) -> Progress:
        """Write the progress that goes with the changes, if there were any, and return it."""
        if self._progress is self._begun:
            return self.before
        write_progress(self.connection, self._progress)
        return self._progress

    def _note(self, number: int, written: Written) -> None:
        self._progress = written.progress
        self.checksums[number] = written.checksum


def next_study(connection: Connection) -> int:
    """Return the id of the next study that is made.

    connection: to the database, within a transaction that keeps all others from making one.
    """
    ((number,),) = connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM studies").fetchall()
    return number
