"""Base classes of storage back ends and of the writers of a study.

A back end is one file with a `Storage` and its `StudyWriter`, and one line in `storage/backends.py`. Its laws are
checked by `bostruct.testing.check_storage`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import BostructError
from bostruct.outcome import Outcome

SEED_DIGITS = 3999  # maximum digits of a study's seed; Python parses up to 4,300
LONGEST_NAME = 500  # characters of a new study's name; an index of PostgreSQL allows 2,692 bytes, 4 per character


class StorageError(BostructError):
    """Raised if a storage cannot be used. The message names it and the reason; nothing in it was changed."""


class StorageLost(StorageError):
    """Raised if the file of an open study was removed, renamed, replaced or emptied; results stay in memory."""


class RolledBack(StorageError):
    """Raised if the connection was lost during a transaction that was rolled back; it may be repeated."""


class StudyLocked(StorageError):
    """Raised if another process, or another `Study` object, has this study open for writing."""


class NameTooLong(StorageError, ValueError):
    """Raised if the name of a new study is too long for some back end."""


class NoStorage(StorageError, TypeError):
    """Raised if an object is neither a path nor a `Storage`."""


class StudyMismatch(BostructError, ValueError):
    """Raised if a study of this name exists with other settings; the message describes the difference."""


class StudyRow(NamedTuple):
    """The stored form of a study; domain, method, initial and state are JSON text.

    Attributes
    ----------
    name : str
        Name of the study, unique in its storage.
    domain : str
        The search space.
    method : str
        The method's name, searcher and settings; the earlier trials and the name of the problem, if any.
    seed : int
        Random seed, at least 0, of any size.
    goals : str
        JSON text of the directions and constraints, from `bostruct.goals.declared.Goals.to_json`.
    initial : str
        The user's initial points.
    state : str
        The searcher's state for the next `ask`; all other fields are constant.
    created : float, default 0.0
        Time of creation in seconds since the epoch.
    version : str, default ""
        The version of bostruct that created the study.
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
    """The stored form of a trial; point and info are JSON text.

    Attributes
    ----------
    number : int
        Position in the study, from 0.
    point : str
        The point as encoded by the domain.
    info : str
        How the point was chosen, and the cost of its suggestion.
    started : float
        Start time in seconds since the epoch.
    attempts : int
        Number of times started, minus the attempts that were released.
    outcome : Outcome, optional
        The outcome; None while it runs.
    finished : float, optional
        End time in seconds since the epoch; None while it runs.
    told : int, optional
        Position in the order of completion, from 0; None while it runs.
    owner : str, optional
        The writer that started it; None for a queued trial, and if there is a single writer.
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
    """A change of a study's space. The record itself never changes; all fields except numbers are JSON text.

    Attributes
    ----------
    domain : str
        The new search space.
    method : str
        The new name, searcher and settings of the method.
    initial : str
        The user's new initial points.
    trials : int
        The number of trials before the change; the points of later trials are in this space.
    unread : str
        By trial number, the reason why a trial cannot be read in this space; all others can be.
    changed : float
        Time of the change in seconds since the epoch.
    version : str
        The version of bostruct.
    """

    domain: str
    method: str
    initial: str
    trials: int
    unread: str
    changed: float
    version: str


class StoredStudy(NamedTuple):
    """A consistent snapshot of a study and its trials.

    Attributes
    ----------
    study : StudyRow
        The row of the study, constant except for the state.
    trials : list of TrialRow
        The rows of the trials, by number.
    changes : tuple of SpaceChange, default ()
        The changes of its space, in order.
    """

    study: StudyRow
    trials: list[TrialRow]
    changes: tuple[SpaceChange, ...] = ()


class RemoteChanges(NamedTuple):
    """All changes by other writers of a study since the last poll.

    state: the searcher's state, as JSON text.
    n_changes: the number of changes of the study's space.
    """

    trials: list[TrialRow]
    state: str
    n_changes: int


class StudyWriter(ABC):
    """The base class of all writers of a study. A change is stored once its method returns.

    The defaults are correct for a writer with exclusive access. A writer that shares the study overrides all of
    `owner`, `ask_lock`, `changing`, `poll` and `find_dead_writers`. A closed writer raises StorageError at each change.
    """

    @property
    def lost(self) -> StorageLost | None:
        """The reason why nothing can be written any more; None while the storage is available."""
        return None

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """True until `close`, in the process that acquired it."""

    @property
    def owner(self) -> str | None:
        """The unique name of this writer in the rows of its trials; None if it has exclusive access."""
        return None

    @abstractmethod
    def insert(self, row: TrialRow, state: str | None = None) -> None:
        """Write a new trial and the searcher's new state in one transaction.

        Parameters
        ----------
        row : TrialRow
            The trial, running or already finished.
        state : str, optional
            The state as JSON text; None keeps the stored one.
        """

    @abstractmethod
    def change(self, row: TrialRow, status: str) -> None:
        """Change a trial, except for its point.

        Parameters
        ----------
        row : TrialRow
            The new row of the trial.
        status : str
            The status that the stored trial must have.

        Raises
        ------
        StorageError
            If no such trial has this status.
        """

    def update(self, row: TrialRow) -> None:
        """Change a running trial, except for its point.

        Parameters
        ----------
        row : TrialRow
            The trial, still running or finished.

        Raises
        ------
        StorageError
            If no such trial is running.
        """
        self.change(row, "running")

    def reopen(self, row: TrialRow) -> None:
        """Make a failed trial run again.

        Parameters
        ----------
        row : TrialRow
            The trial, running.

        Raises
        ------
        StorageError
            If no such trial has failed.
        """
        self.change(row, "failed")

    @abstractmethod
    def release(self, *numbers: int) -> None:
        """Release running trials that a writer returned regularly: they lose one attempt and their owner.

        Parameters
        ----------
        numbers : int
            Numbers of the trials, each counted once; those that are not running are left unchanged.
        """

    @abstractmethod
    def change_space(self, change: SpaceChange, state: str) -> None:
        """Write a change of the study's space and the searcher's new state in one transaction.

        Parameters
        ----------
        change : SpaceChange
            The change.
        state : str
            The state as JSON text.
        """

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, if the opened storage was removed or replaced.

        By default it only checks `lost`, for a storage that cannot be removed while a study is open.
        """
        if self.lost is not None:
            raise StorageLost(str(self.lost))

    @abstractmethod
    def close(self) -> None:
        """Close the writer; do nothing if it is closed, or in a forked child."""

    def ask_lock(self) -> AbstractContextManager[None]:
        """Wait until no other writer chooses a trial, and hold the lock during a block.

        A nested block has no effect.
        """
        return nullcontext()

    def changing(self) -> AbstractContextManager[RemoteChanges | None]:
        """Combine all changes in a block into one transaction, rolled back if the block raises.

        Yields the changes of other writers so far; None if there are no others. Other writers are locked out during the
        block. If it raises, the same changes are returned again later. By default, each change is separate.
        """
        return nullcontext()

    def poll(self) -> RemoteChanges | None:
        """Return the changes of other writers since the last poll or change; None if there are no others."""
        return None

    def find_dead_writers(self, owners: AbstractSet[str]) -> set[str]:
        """Return the writers that have closed, or whose processes have ended.

        Parameters
        ----------
        owners : AbstractSet
            Names of other writers.
        """
        return set(owners)


class Storage(ABC):
    """The base class of all storage back ends, which contain studies by name.

    A back end that rewrites a study for each change needs fewer methods: see `bostruct.storage.documents`.

    Parameters
    ----------
    label : str, default "the storage"
        The name of the storage in messages.
    where : str, optional
        The path of a file, or a URL without a password, with which `Study.load` finds it again; None if nothing
        outlives the process, or if `Study.load` takes the storage itself.
    """

    label: str = "the storage"
    where: str | None = None

    @abstractmethod
    def studies(self) -> list[StudyRow]:
        """Return all studies, oldest first.

        Raises
        ------
        StorageError
            If they cannot be read. Nothing is changed.
        """

    @abstractmethod
    def read(self, name: str | None) -> StoredStudy:
        """Return a consistent snapshot of a study, even while others write it.

        Parameters
        ----------
        name : str or None
            Name of the study; None for the only one in the storage.

        Raises
        ------
        StorageError
            If the study cannot be read. Nothing is changed.
        """

    @abstractmethod
    def begin(self, row: StudyRow) -> tuple[StoredStudy, StudyWriter]:
        """Open a study by name for writing; create it if it does not exist.

        Parameters
        ----------
        row : StudyRow
            The name, and the content of a new study.

        Returns
        -------
        tuple of (StoredStudy, StudyWriter)
            The current study, and its writer.

        Raises
        ------
        StudyLocked
            If another writer has the study open and cannot share it.
        StorageError
            If the storage cannot be used.
        """

    @abstractmethod
    def save(self, stored: StoredStudy) -> StudyWriter:
        """Write a whole new study atomically, and open it for writing.

        Parameters
        ----------
        stored : StoredStudy
            The study and all its trials.

        Raises
        ------
        StorageError
            If a study of this name exists.
        """

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a study and all its trials permanently.

        Parameters
        ----------
        name : str
            Name of an existing study.

        Raises
        ------
        StudyLocked
            If a writer has it open.
        StorageError
            If the storage cannot be used.
        """

    def rename(self, name: str, new: str) -> None:
        """Rename a study; by default, write a copy and delete the original.

        Parameters
        ----------
        name : str
            Name of an existing study without a writer; StudyLocked is raised otherwise.
        new : str
            A name that no study in the storage has; StorageError is raised otherwise.
        """
        stored = self.read(name)
        self.save(stored._replace(study=stored.study._replace(name=new))).close()
        try:
            self.delete(name)
        except BaseException:
            self.delete(new)
            raise

    def change_goals(self, name: str, goals: str) -> None:
        """Change the goals of a study to rename its objectives; by default, write a copy and delete the original.

        Parameters
        ----------
        name : str
            Name of an existing study without a writer; StudyLocked is raised otherwise.
        goals : str
            The new goals as JSON text.
        """
        stored = self.read(name)
        temporary = f"{name} (renamed)"
        self.rename(name, temporary)
        self.save(stored._replace(study=stored.study._replace(goals=goals))).close()
        self.delete(temporary)

    def find_writers(self) -> frozenset[str] | None:
        """Return the names of the current writers; None if unknown. No study is changed."""
        return None

    def find_revisions(self) -> object:
        """Return a value that changes with each write; None if it cannot be read now. Nothing is changed."""
        try:
            return [self.read(row.name) for row in self.studies()]
        except StorageError:
            return None


def explain_second(label: str, name: str) -> StorageError:
    """Return the error of `Storage.save` if a study of this name exists."""
    return StorageError(f"{label}: already contains a study {name!r}; choose another name, or another file")


def check_new_name(name: str, where: str = "") -> str:
    """Return the name of a new study; raise NameTooLong if a back end does not support it, ValueError if blank."""
    if not name.strip():
        raise ValueError(f"{where}name: expected a name that is not blank, got {name!r}")
    if len(name) > LONGEST_NAME:
        raise NameTooLong(
            f"{where}name: expected at most {LONGEST_NAME} characters, got {len(name):,}: {short_repr(name)}; give a "
            "shorter one with name="
        )
    return name


def find_study(rows: list[StudyRow], name: str | None, label: str) -> StudyRow:
    """Return the study of a name, or the only study; raise StorageError with the existing names.

    name: name of the study; None for the only study.
    """
    found = [row for row in rows if name in (None, row.name)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(repr(row.name) for row in rows) or "none"
    wanted = "name: expected one of its studies" if name is None else f"there is no study {name!r}"
    raise StorageError(f"{label}: {wanted}; it contains {names}{did_you_mean(name, [row.name for row in rows])}")
