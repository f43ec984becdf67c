"""Steps of a study: all changes that are made together, and the revision that counts them."""

from __future__ import annotations

from bostruct.storage.protocol import News, SpaceChange, StorageError, TrialRow
from bostruct.storage.reading import read_later
from bostruct.storage.rows import Connection, Progress
from bostruct.storage.writing import change_trial, find_trial, insert_change, insert_trial, write_progress


class Step:
    """A step that is being made, within a transaction of the caller, who keeps all others from writing meanwhile.

    connection: to the database.
    before: the progress of the study as it is there.
    where: database and study, for messages.
    """

    def __init__(self, connection: Connection, before: Progress, where: str) -> None:
        self._connection = connection
        self.before = before
        self._begun = before._replace(revision=before.revision + 1)
        self._progress = self._begun
        self._where = where

    def insert(self, row: TrialRow, state: str | None) -> None:
        """Write a new trial and, with it or not at all, the searcher's new state.

        row: the trial.
        state: as JSON text; None leaves it as it is.
        """
        self._progress = insert_trial(self._connection, self._progress, row).advance(0, 0, state)

    def change(self, row: TrialRow, status: str) -> None:
        """Change a trial, all but its point; raise StorageError where no such trial has this status.

        row: the trial as it is to be.
        status: that it must have.
        """
        before = find_trial(self._connection, self._progress.study, row.number, self._where)
        if before is None or before.row.status != status:
            raise StorageError(f"{self._where}: trial {row.number} is not {status} there any more; load it again")
        self._progress = change_trial(self._connection, self._progress, before, row._replace(point=before.row.point))

    def take_back(self, numbers: tuple[int, ...]) -> None:
        """Count an attempt less for those trials that run; nobody owns them then.

        numbers: of the trials, each of which counts once.
        """
        for number in dict.fromkeys(numbers):
            before = find_trial(self._connection, self._progress.study, number, self._where)
            if before is not None and before.row.status == "running":
                after = before.row._replace(attempts=before.row.attempts - 1, owner=None)
                self._progress = change_trial(self._connection, self._progress, before, after)

    def change_space(self, change: SpaceChange, state: str) -> None:
        """Write that the study is over another space, and the searcher's new state.

        change: the next one.
        state: as JSON text.
        """
        number = count_changes(self._connection, self._progress.study)
        self._progress = insert_change(self._connection, self._progress, number, change).advance(0, 0, state)

    def read_news(self, seen: int) -> News:
        """Return what was written after a step that the holder knows.

        seen: revision of that step.
        """
        return read_news(self._connection, self.before, seen, self._where)

    def finish(self) -> int:
        """Write the progress that goes with the changes, if there were any, and return the revision."""
        if self._progress is self._begun:
            return self.before.revision
        write_progress(self._connection, self._progress)
        return self._progress.revision


def read_news(connection: Connection, progress: Progress, seen: int, where: str) -> News:
    """Return what was written of a study after a step.

    connection: to the database, within a transaction, so that all is of one moment.
    progress: of the study.
    seen: revision of the step.
    where: database and study, for messages.
    """
    trials = read_later(connection, progress, seen, where)
    return News(trials, progress.state, count_changes(connection, progress.study))


def count_changes(connection: Connection, study: int) -> int:
    """Return the number of changes of a study's space.

    connection: to the database.
    study: id of the study.
    """
    ((count,),) = connection.execute("SELECT COUNT(*) FROM changes WHERE study = ?", (study,)).fetchall()
    return count


def next_study(connection: Connection) -> int:
    """Return the id of the next study that is made.

    connection: to the database, within a transaction that keeps all others from making one.
    """
    ((number,),) = connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM studies").fetchall()
    return number
