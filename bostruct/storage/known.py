"""The proof that a database holds what a writer's holder knows of its study.

A server that crashes may lose steps that it had committed, an administrator may put an earlier copy in the place of a
database, or make a study of the same name anew. Who went on there would write values to the points of others.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import NamedTuple

from bostruct.storage.protocol import News, StorageLost, StoredStudy
from bostruct.storage.reading import WholeStudy, read_change_checksums, read_later, read_trial_checksums
from bostruct.storage.rows import Connection, Progress, add_checksums
from bostruct.storage.steps import Step


class Later(NamedTuple):
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


class Known:
    """The step up to which the holder of a writer knows a study, with the checksum of each trial.

    where: database and study, for messages.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._mark = Mark(0, 0, 0, 0)
        self._checksums = array("q")  # of the trials, by number
        self._pending: Later | None = None  # in the step that is being made, which may never be done

    def take_all(self, found: WholeStudy) -> StoredStudy:
        """Know a study as it was read, and return it.

        found: the study.
        """
        self._checksums = array("q", found.checksums)
        self._mark_step(found.progress, add_checksums(*found.checksums), len(found.stored.changes))
        return found.stored

    def find_old(self, progress: Progress) -> News | None:
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

    def read_later(self, connection: Connection, progress: Progress) -> Later:
        """Return what was written since; raise StorageLost where the rest is not what the holder knows.

        connection: to the database, within a transaction, so that all is of one moment.
        progress: of the study.
        """
        if (old := self.find_old(progress)) is not None:
            return Later(old, progress, {})
        found = read_later(connection, progress, self._mark.revision, self._where)
        changes = read_change_checksums(connection, progress.study)
        checksums = {one.row.number: one.checksum for one in found}
        # The mark lags behind the checksums where an exception of another thread's making cut `take` short.
        for known in (lambda: self._mark.sum, lambda: add_checksums(*self._checksums)):
            if add_checksums(self._find_sum(known(), checksums), *changes) == progress.digest:
                news = News([one.row for one in found], progress.state, len(changes))
                return Later(news, progress, checksums)
        raise self._explain_loss()

    def check_rows(self, connection: Connection, progress: Progress) -> None:
        """Raise StorageLost where trials are not in the database that were written, by whomever.

        It takes milliseconds, as it reads the checksum of each trial.

        connection: to the database, within a transaction, so that all is of one moment.
        progress: of the study.
        """
        self.find_old(progress)
        found = (*read_trial_checksums(connection, progress.study), *read_change_checksums(connection, progress.study))
        if add_checksums(*found) != progress.digest:
            raise self._explain_loss()

    def take(self, later: Later) -> News:
        """Know what was read, and return the news.

        later: as of `read_later`.
        """
        self._take(later.progress, later.checksums, later.news.n_changes)
        return later.news

    def begin(self, step: Step) -> None:
        """Begin to follow a step; raise StorageLost where the database does not hold the step that the holder knows.

        step: that is being made by the holder.
        """
        old = self.find_old(step.before)
        self._pending = None if old is None else Later(old, step.before, {})

    def read_news(self, step: Step) -> News:
        """Return what others wrote before a step, which the holder knows once the step is done; raise StorageLost.

        step: that is being made.
        """
        self._pending = self.read_later(step.connection, step.before)
        return self._pending.news

    def end(self, step: Step, after: Progress) -> None:
        """Know what a step has written, which is done; where the holder has not read what others wrote before, not yet.

        step: that was made.
        after: the progress after it.
        """
        if (before := self._pending) is not None:
            self._take(after, {**before.checksums, **step.checksums}, before.news.n_changes + step.n_changes)

    def _explain_loss(self) -> StorageLost:
        return StorageLost(
            f"{self._where} is not as this process knew it at step {self._mark.revision}: its server lost committed "
            "steps in a crash, an earlier copy was put in its place, or trials were removed by hand"
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
