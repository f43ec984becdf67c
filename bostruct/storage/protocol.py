"""The protocol of a storage back end: where studies are kept, and what a study writes there.

A back end is one file that implements `Storage` and `StudyWriter`, and one line in `storage/backends.py`. Its laws are
`bostruct.testing.check_storage`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

from bostruct.checks import did_you_mean, has_capability, short_repr
from bostruct.contracts import BostructError
from bostruct.outcome import Outcome

SEED_DIGITS = 3999  # at most, of a study's seed; Python reads up to 4,300 from text
LONGEST_NAME = 500  # characters of a new study's name; an index of PostgreSQL holds 2,692 bytes, 4 for a character


class StorageError(BostructError):
    """The storage cannot be used; the message names it and says why. Nothing in it was changed."""


class StorageLost(StorageError):
    """The file was removed, renamed, replaced or emptied while a study had it open; what is told stays in memory."""


class StepUndone(StorageError):
    """The connection was lost in the middle of a step, of which nothing was written; it may be made again."""


class StudyLocked(StorageError):
    """Another process, or another `Study` object of this one, writes this study, and cannot share that."""


class NameTooLong(StorageError, ValueError):
    """The name of a new study is longer than every back end can hold."""


class StudyMismatch(BostructError, ValueError):
    """A study of this name exists and was made otherwise; the message names the difference."""


class StudyRow(NamedTuple):
    """A study as it is stored; domain, method, initial and state are JSON text.

    name: of the study, unique in its storage.
    domain: the search space.
    method: name, searcher and settings; where there are some, the earlier trials, and the name of the problem.
    seed: from 0, of any size.
    goals: JSON text, its directions and the limits that it declares, as of `bostruct.goals.declared.Goals.to_json`.
    initial: the user's own first points.
    state: what the searcher needs at the next ask; all else stays as it was made.
    created: seconds since the epoch.
    version: of bostruct, when the study was made.
    """

    name: str
    domain: str
    method: str
    seed: int
    goals: str
    initial: str
    state: str
    created: float = 0.0
    version: str = ""


class TrialRow(NamedTuple):
    """A trial as it is stored; point and info are JSON text.

    number: position in the study, from 0.
    point: as the domain encodes it.
    info: how it was chosen, and what that cost.
    started: seconds since the epoch.
    attempts: times handed out, less the times taken back in good order.
    outcome: what came of it, None while it runs.
    finished: seconds since the epoch, None while it runs.
    told: position in the order of telling, from 0; None while it runs.
    owner: the writer that handed it out; None for a trial that waits to be handed out, and where there is one writer.
    """

    number: int
    point: str
    info: str
    started: float
    attempts: int
    outcome: Outcome | None = None
    finished: float | None = None
    told: int | None = None
    owner: str | None = None

    @property
    def status(self) -> str:
        """The status of the trial: running, completed, failed or infeasible."""
        return "running" if self.outcome is None else self.outcome.status


class SpaceChange(NamedTuple):
    """A change of the space that a study is over, which is never changed itself; JSON text but for numbers.

    domain: the search space from then on.
    method: name, searcher and settings from then on.
    initial: the user's own first points from then on.
    trials: the number of trials that there were; the points of those that followed are of this space.
    unread: why trials cannot be read in this space, by number; all others can.
    changed: seconds since the epoch.
    version: of bostruct.
    """

    domain: str
    method: str
    initial: str
    trials: int
    unread: str
    changed: float
    version: str


class StoredStudy(NamedTuple):
    """A study and its trials as they were at one moment.

    study: its row, as it was made but for the state.
    trials: their rows, by number.
    changes: of its space, in their order.
    """

    study: StudyRow
    trials: list[TrialRow]
    changes: tuple[SpaceChange, ...] = ()


@runtime_checkable
class StudyWriter(Protocol):
    """The right to write one study; each method is done once it returns, or raises.

    Its holder alone has it, unless it is a `SharedWriter`. Once it is closed, changes raise StorageError.

    lost: why nothing is written any more; None as long as the storage is there.
    is_open: true until `close`, in the process that acquired it.
    """

    @property
    def lost(self) -> StorageLost | None: ...
    @property
    def is_open(self) -> bool: ...

    def insert(self, row: TrialRow, state: str | None = None) -> None:
        """Write a new trial and, with it or not at all, the searcher's new state.

        row: the trial, running, or finished already.
        state: as JSON text; None leaves it as it is.
        """
        ...

    def update(self, row: TrialRow) -> None:
        """Change a running trial, all but its point; raise StorageError where no such trial is running.

        row: the trial, still running or finished.
        """
        ...

    def reopen(self, row: TrialRow) -> None:
        """Make a failed trial run again; raise StorageError where no such trial has failed.

        row: the trial, running.
        """
        ...

    def take_back(self, *numbers: int) -> None:
        """Count an attempt less for running trials that were given up in good order, not by a crash; nobody owns them.

        numbers: of the trials, each of which counts once; those that are not running are left as they are.
        """
        ...

    def change_space(self, change: SpaceChange, state: str) -> None:
        """Write that the study is over another space and, with it or not at all, the searcher's new state.

        change: the next one.
        state: as JSON text.
        """
        ...

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, where what was opened is not in its place any more."""
        ...

    def close(self) -> None:
        """Give the right back; nothing where that was done, or in a forked child."""
        ...


class News(NamedTuple):
    """All that other writers of a study wrote since this one last looked.

    trials: the rows that are new or changed, by number, as they are now.
    state: the searcher's, as JSON text.
    n_changes: the number of changes of the study's space.
    """

    trials: list[TrialRow]
    state: str
    n_changes: int


@runtime_checkable
class SharedWriter(StudyWriter, Protocol):
    """The right to write a study, which any number of holders have side by side, each a part of what happens.

    owner: the name of this writer in the rows of trials that it hands out; no other writer ever has it.
    """

    @property
    def owner(self) -> str: ...

    def deciding(self) -> AbstractContextManager[None]:
        """Wait until no other writer decides on a trial, and keep them waiting for as long as a block lasts.

        A block within such a block changes nothing.
        """
        ...

    def changing(self) -> AbstractContextManager[News]:
        """Make one step of all changes in a block, which is done at its end, or not at all where the block raises.

        Gives what others wrote until then. Nobody else writes the study while the block lasts. Where it raises, the
        news are given again.
        """
        ...

    def look(self) -> News:
        """Return what others wrote since the last look, or the last change."""
        ...

    def find_gone(self, owners: AbstractSet[str]) -> set[str]:
        """Return those writers that will tell nothing any more: they have closed, or their processes have ended.

        owners: names of writers.
        """
        ...


@runtime_checkable
class Storage(Protocol):
    """A place that holds studies by name.

    label: the name that messages give it.
    where: the path of a file, or a URL without a password, which `Study.load` takes to find it again; None where
        nothing outlives the process, or where `Study.load` takes the storage itself.
    """

    @property
    def label(self) -> str: ...
    @property
    def where(self) -> str | None: ...

    def studies(self) -> list[StudyRow]:
        """Return all studies, oldest first; raise StorageError where they cannot be read. Nothing is changed."""
        ...

    def read(self, name: str | None) -> StoredStudy:
        """Return a study as it is at one moment, whoever writes it; raise StorageError. Nothing is changed.

        name: of the study; None for the only one there.
        """
        ...

    def begin(self, row: StudyRow) -> tuple[StoredStudy, StudyWriter]:
        """Find a study by its name, or make it, and become a writer of it.

        row: holds the name, and all that a new study is made of.

        Returns the study as it is from then on, and the right to write it. Raises StudyLocked where somebody else
        writes it and cannot share that, StorageError.
        """
        ...

    def save(self, stored: StoredStudy) -> StudyWriter:
        """Write a whole study, or nothing, and become a writer of it.

        stored: the study and all its trials.

        Raises StorageError where a study of this name is there.
        """
        ...


@runtime_checkable
class SharedStorage(Storage, Protocol):
    """A storage whose studies any number of writers have open side by side."""

    def find_writers(self) -> frozenset[str] | None:
        """Return the names of the writers that are there; None where that is not known. No study is changed."""
        ...


def find_writers(storage: Storage) -> frozenset[str] | None:
    """Return the names of the writers that are there; None where that is not known. No study is changed.

    storage: of studies.
    """
    return storage.find_writers() if has_capability(storage, SharedStorage) else None


def explain_second(label: str, name: str) -> StorageError:
    """Return what `Storage.save` raises where a study of this name is there.

    label: of the storage.
    name: of the study.
    """
    return StorageError(f"{label}: holds a study {name!r} already; save this one elsewhere, or with another name=")


def check_new_name(name: str, where: str = "") -> str:
    """Return the name of a study that is to be made; raise NameTooLong if some back end cannot hold it.

    name: of the study.
    where: the storage and a colon, which open the message.
    """
    if len(name) > LONGEST_NAME:
        raise NameTooLong(
            f"{where}name: expected at most {LONGEST_NAME} characters, got {len(name):,}: {short_repr(name)}; give a "
            "shorter one with name="
        )
    return name


def find_study(rows: list[StudyRow], name: str | None, label: str) -> StudyRow:
    """Return the study of a name, or the only one; raise StorageError, which says what there is.

    rows: all studies.
    name: of the study; None for the only one.
    label: of the storage, for the message.
    """
    found = [row for row in rows if name in (None, row.name)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(repr(row.name) for row in rows) or "none"
    wanted = "name: expected one of its studies" if name is None else f"there is no study {name!r}"
    raise StorageError(f"{label}: {wanted}; it holds {names}{did_you_mean(name, [row.name for row in rows])}")
