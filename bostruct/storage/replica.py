"""The proof that a database holds what a writer's holder knows of its study.

A server that crashes may lose steps that it had committed, an administrator may put an earlier copy in the place of a
database, or make a study of the same name anew. Who went on there would write values to the points of others.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import NamedTuple

from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.protocol import News, StorageLost, StoredStudy
from bostruct.storage.reading import StudyKey, WholeStudy, read_change_checksums, read_later, read_trial_checksums
from bostruct.storage.rows import Progress, add_checksums
from bostruct.storage.steps import Step


class Update(NamedTuple):
    """All that was written after the step that the holder knows.

    news: for the holder.
    progress: of the study then.
    checksums: of the trials in the news, by number.
    """

    news: News
    progress: Progress
    checksums: Mapping[int, int]


class Mark(NamedTuple):
    """The step up to which a study is known.

    revision: of the step.
    digest: of the progress at that step.
    n_changes: of the space, until then.
    sum: of the checksums of the trials, modulo 2 to the 64, signed.
    """

    revision: int
    digest: int
    n_changes: int
    sum: int


class Replica:
    """The study as the holder of a writer knows it: up to which step, and the checksum of each trial.

    key: of the study.
    """

    def __init__(self, key: StudyKey) -> None:
        self._key = key
        self._mark = Mark(0, 0, 0, 0)
        self._checksums = array("q")  # of the trials, by number
        self._pending: Update | None = None  # in the step that is being made, which may never be done

    def take_all(self, found: WholeStudy) -> StoredStudy:
        """Know a study as it was read, and return it.

        found: the study.
        """
        self._checksums = array("q", found.checksums)
        self._mark_step(found.progress, add_checksums(*found.checksums), len(found.stored.changes))
        return found.stored

    def find_unchanged(self, progress: Progress) -> News | None:
        """Return the news where nothing was written, as it is most of the time; None where they are to be read.

        progress: of the study as it is in the database.

        Raises StorageLost where the database does not hold the step that the holder knows.
        """
        mark = self._mark
        if progress.revision > mark.revision:
            return None
        if (progress.revision, progress.digest) != (mark.revision, mark.digest):
            raise self._explain_loss()
        return News([], progress.state, mark.n_changes)

    def read_update(self, connection: Connection) -> Update:
        """Return what was written since; raise StorageLost where the rest is not what the holder knows.

        connection: to the database, within a transaction, so that all is of one moment.
        """
        return self._read_update(connection, self._key.read_progress(connection))

    def check_rows(self, connection: Connection) -> None:
        """Raise StorageLost where trials are not in the database that were written, by whomever.

        It takes milliseconds, as it reads the checksum of each trial.

        connection: to the database, within a transaction, so that all is of one moment.
        """
        progress = self._key.read_progress(connection)
        self.find_unchanged(progress)
        found = (*read_trial_checksums(connection, progress.study), *read_change_checksums(connection, progress.study))
        if add_checksums(*found) != progress.digest:
            raise self._explain_loss()

    def take(self, update: Update) -> News:
        """Know what was read, and return the news.

        update: as of `read_update`.
        """
        self._take(update.progress, update.checksums, update.news.n_changes)
        return update.news

    def begin(self, step: Step) -> None:
        """Begin to follow a step; raise StorageLost where the database does not hold the step that the holder knows.

        step: that is being made by the holder.
        """
        news = self.find_unchanged(step.before)
        self._pending = None if news is None else Update(news, step.before, {})

    def read_news(self, step: Step) -> News:
        """Return what others wrote before a step, which the holder knows once the step is done; raise StorageLost.

        step: that is being made.
        """
        self._pending = self._read_update(step.connection, step.before)
        return self._pending.news

    def end(self, step: Step, after: Progress) -> None:
        """Know what a step has written, which is done; where the holder has not read what others wrote before, not yet.

        step: that was made.
        after: the progress after it.
        """
        if (before := self._pending) is not None:
            self._take(after, {**before.checksums, **step.checksums}, before.news.n_changes + step.n_changes)

    def _read_update(self, connection: Connection, progress: Progress) -> Update:
        if (unchanged := self.find_unchanged(progress)) is not None:
            return Update(unchanged, progress, {})
        found = read_later(connection, progress, self._mark.revision, self._key.where)
        changes = read_change_checksums(connection, progress.study)
        checksums = {one.row.number: one.checksum for one in found}
        rest = add_checksums(progress.digest, *(-one for one in changes))
        if self._find_sum(self._mark.sum, checksums) != rest:
            # The mark lags behind the checksums where an exception of another thread's making cut `take` short.
            known = add_checksums(*self._checksums)
            if self._find_sum(known, checksums) != rest:
                raise self._explain_loss()
        return Update(News([one.row for one in found], progress.state, len(changes)), progress, checksums)

    def _explain_loss(self) -> StorageLost:
        return StorageLost(
            f"{self._key.where} is not as this process knew it at step {self._mark.revision}: its server lost "
            "committed steps in a crash, an earlier copy was put in its place, or trials were removed by hand"
        )

    def _take(self, progress: Progress, checksums: Mapping[int, int], n_changes: int) -> None:
        known = self._find_sum(self._mark.sum, checksums)
        for number in sorted(checksums):
            self._checksums[number : number + 1] = array("q", [checksums[number]])
        self._mark_step(progress, known, n_changes)

    def _find_sum(self, known: int, checksums: Mapping[int, int]) -> int:
        """Return the sum of all checksums where some are new.

        known: the sum of those that are kept.
        checksums: the new ones, by number.
        """
        replaced = (-self._checksums[number] for number in checksums if number < len(self._checksums))
        return add_checksums(known, *replaced, *checksums.values())

    def _mark_step(self, progress: Progress, known: int, n_changes: int) -> None:
        self._mark = Mark(progress.revision, progress.digest, n_changes, known)
