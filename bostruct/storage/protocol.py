"""The bases of a storage back end: where studies are kept, and what a study writes there.

A back end is one file with a `Storage` and its `StudyWriter`, and one line in `storage/backends.py`. Its laws are
`bostruct.testing.check_storage`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import BostructError
from bostruct.outcome import Outcome

SEED_DIGITS = 3999  # at most, of a study's seed; Python reads up to 4,300 from text
LONGEST_NAME = 500  # characters of a new study's name; an index of PostgreSQL holds 2,692 bytes, 4 for a character


class StorageError(BostructError):
    """Raised if a storage cannot be used. The message names it and the reason; nothing in it was changed."""


class StorageLost(StorageError):
    """The file was removed, renamed, replaced or emptied while a study had it open; what is told stays in memory."""


class RolledBack(StorageError):
    """The connection was lost in the middle of a step, of which nothing was written; it may be made again."""


class StudyLocked(StorageError):
    """Raised if another process, or another `Study` object, has this study open for writing."""


class NameTooLong(StorageError, ValueError):
    """The name of a new study is longer than every back end can hold."""


class NoStorage(StorageError, TypeError):
    """The object is neither a path nor made of the base of all storages."""


class StudyMismatch(BostructError, ValueError):
    """A study of this name exists and was made otherwise; the message names the difference."""


class StudyRow(NamedTuple):
    """A study as it is stored; domain, method, initial and state are JSON text.

    Attributes
    ----------
    name : str
        Of the study, unique in its storage.
    domain : str
        The search space.
    method : str
        Name, searcher and settings; if there are some, the earlier trials, and the name of the problem.
    seed : int
        From 0, of any size.
    goals : str
        JSON text, its directions and the limits that it declares, as of `bostruct.goals.declared.Goals.to_json`.
    initial : str
        The user's own first points.
    state : str
        What the searcher needs at the next ask; all else stays as it was made.
    created : float, default 0.0
        Seconds since the epoch.
    version : str, default ""
        Of bostruct, when the study was made.
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

    Attributes
    ----------
    number : int
        Position in the study, from 0.
    point : str
        As the domain encodes it.
    info : str
        How it was chosen, and what that cost.
    started : float
        Seconds since the epoch.
    attempts : int
        Times handed out, less the times taken back in good order.
    outcome : Outcome, optional
        What came of it, None while it runs.
    finished : float, optional
        Seconds since the epoch, None while it runs.
    told : int, optional
        Position in the order of telling, from 0; None while it runs.
    owner : str, optional
        The writer that handed it out; None for a trial that waits to be handed out, and where there is one writer.
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

    Attributes
    ----------
    domain : str
        The search space from then on.
    method : str
        Name, searcher and settings from then on.
    initial : str
        The user's own first points from then on.
    trials : int
        The number of trials that there were; the points of those that followed are of this space.
    unread : str
        Why trials cannot be read in this space, by number; all others can.
    changed : float
        Seconds since the epoch.
    version : str
        Of bostruct.
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

    Attributes
    ----------
    study : StudyRow
        Its row, as it was made but for the state.
    trials : list of TrialRow
        Their rows, by number.
    changes : tuple of SpaceChange, default ()
        Of its space, in their order.
    """

    study: StudyRow
    trials: list[TrialRow]
    changes: tuple[SpaceChange, ...] = ()


class RemoteChanges(NamedTuple):
    """All that other writers of a study wrote since this one last looked.

    state: the searcher's, as JSON text.
    n_changes: the number of changes of the study's space.
    """

    trials: list[TrialRow]
    state: str
    n_changes: int


class StudyWriter(ABC):
    """A writer of one study: the base of all. A change is stored once its method returns.

    What the base does is right for a writer that has the study alone. A writer that shares it with others overrides
    `owner`, `ask_lock`, `changing`, `poll` and `find_dead_writers`, all of them. A closed writer raises StorageError at
    each change.
    """

    @property
    def lost(self) -> StorageLost | None:
        """Why nothing is written any more; None as long as the storage is there."""
        return None

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """True until `close`, in the process that acquired it."""

    @property
    def owner(self) -> str | None:
        """The name of this writer in the rows of its trials, which no other has; None if it has the study alone."""
        return None

    @abstractmethod
    def insert(self, row: TrialRow, state: str | None = None) -> None:
        """Write a new trial and, with it or not at all, the searcher's new state.

        Parameters
        ----------
        row : TrialRow
            The trial, running, or finished already.
        state : str, optional
            As JSON text; None leaves it as it is.
        """

    @abstractmethod
    def change(self, row: TrialRow, status: str) -> None:
        """Change a trial, all but its point.

        Parameters
        ----------
        row : TrialRow
            The trial as it is to be.
        status : str
            That it must have.

        Raises
        ------
        StorageError
            If no such trial has this status.
        """

    def update(self, row: TrialRow) -> None:
        """Change a running trial, all but its point.

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
        """Take back an attempt of running trials that a writer returned in good order; nobody owns them afterwards.

        Parameters
        ----------
        numbers : int
            Of the trials, each of which counts once; those that are not running are left as they are.
        """

    @abstractmethod
    def change_space(self, change: SpaceChange, state: str) -> None:
        """Write that the study is over another space and, with it or not at all, the searcher's new state.

        Parameters
        ----------
        change : SpaceChange
            The next one.
        state : str
            As JSON text.
        """

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, if what was opened is not in its place any more.

        The base looks no further than `lost`, for a place that cannot be removed under a study.
        """
        if self.lost is not None:
            raise StorageLost(str(self.lost))

    @abstractmethod
    def close(self) -> None:
        """Close the writer; do nothing if it is closed, or in a forked child."""

    def ask_lock(self) -> AbstractContextManager[None]:
        """Wait until no other writer decides on a trial, and keep them waiting for as long as a block lasts.

        A block within such a block changes nothing.
        """
        return nullcontext()

    def changing(self) -> AbstractContextManager[RemoteChanges | None]:
        """Make one step of all changes in a block, which is done at its end, or not at all if the block raises.

        Gives what others wrote until then; None if there are no others. Nobody else writes the study while the block
        lasts. If it raises, the news are given again. In the base each change is a step of its own.
        """
        return nullcontext()

    def poll(self) -> RemoteChanges | None:
        """Return what other writers changed since the last poll or change; None if there are no others."""
        return None

    def find_dead_writers(self, owners: AbstractSet[str]) -> set[str]:
        """Return those writers that write nothing any more: they have closed, or their processes have ended.

        Parameters
        ----------
        owners : AbstractSet
            Names of writers, not of this one.
        """
        return set(owners)


class Storage(ABC):
    """A place that holds studies by name: the base of all back ends.

    A back end that writes a study as a whole at each step needs less: see `bostruct.storage.documents`.

    Attributes
    ----------
    label : str, default "the storage"
        The name that messages give it.
    where : str, optional
        The path of a file, or a URL without a password, which `Study.load` takes to find it again; None if nothing
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
        """Return a study as it is at one moment, whoever writes it.

        Parameters
        ----------
        name : str or None
            Of the study; None for the only one there.

        Raises
        ------
        StorageError
            . Nothing is changed.
        """

    @abstractmethod
    def begin(self, row: StudyRow) -> tuple[StoredStudy, StudyWriter]:
        """Find a study by its name, or make it, and become a writer of it.

        Parameters
        ----------
        row : StudyRow
            Holds the name, and all that a new study is made of.

        Returns
        -------
        tuple of (StoredStudy, StudyWriter)
            The study as it is from then on, and the right to write it.

        Raises
        ------
        StudyLocked
            If somebody else writes it and cannot share that.
        StorageError
        """

    @abstractmethod
    def save(self, stored: StoredStudy) -> StudyWriter:
        """Write a whole study, or nothing, and become a writer of it.

        Parameters
        ----------
        stored : StoredStudy
            The study and all its trials.

        Raises
        ------
        StorageError
            If a study of this name is there.
        """

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove a study and all its trials for good.

        Parameters
        ----------
        name : str
            Of a study that is there.

        Raises
        ------
        StudyLocked
            While a writer has it open.
        StorageError
        """

    def rename(self, name: str, new: str) -> None:
        """Give a study another name; the base writes it anew and deletes the old one.

        Parameters
        ----------
        name : str
            Of a study that is there and has no writer; StudyLocked is raised otherwise.
        new : str
            A name that no study there has; StorageError is raised otherwise.
        """
        stored = self.read(name)
        self.save(stored._replace(study=stored.study._replace(name=new))).close()
        try:
            self.delete(name)
        except BaseException:
            self.delete(new)
            raise

    def change_goals(self, name: str, goals: str) -> None:
        """Write other goals of a study, which rename its objectives; the base writes it anew and deletes the old one.

        Parameters
        ----------
        name : str
            Of a study that is there and has no writer; StudyLocked is raised otherwise.
        goals : str
            As JSON text.
        """
        stored = self.read(name)
        anew = f"{name} (renamed)"
        self.rename(name, anew)
        self.save(stored._replace(study=stored.study._replace(goals=goals))).close()
        self.delete(anew)

    def find_writers(self) -> frozenset[str] | None:
        """Return the names of the writers that are there; None if that is not known. No study is changed."""
        return None

    def find_revisions(self) -> object:
        """Return a value that differs once anything was written; None if it cannot be read now. Nothing is changed."""
        try:
            return [self.read(row.name) for row in self.studies()]
        except StorageError:
            return None


def explain_second(label: str, name: str) -> StorageError:
    """Return what `Storage.save` raises if a study of this name is there."""
    return StorageError(f"{label}: holds a study {name!r} already; choose another name, or another file")


def check_new_name(name: str, where: str = "") -> str:
    """Return the name of a study that is to be made; raise NameTooLong if some back end cannot hold it."""
    if len(name) > LONGEST_NAME:
        raise NameTooLong(
            f"{where}name: expected at most {LONGEST_NAME} characters, got {len(name):,}: {short_repr(name)}; give a "
            "shorter one with name="
        )
    return name


def find_study(rows: list[StudyRow], name: str | None, label: str) -> StudyRow:
    """Return the study of a name, or the only one; raise StorageError, which says what there is.

    name: of the study; None for the only one.
    """
    found = [row for row in rows if name in (None, row.name)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(repr(row.name) for row in rows) or "none"
    wanted = "name: expected one of its studies" if name is None else f"there is no study {name!r}"
    raise StorageError(f"{label}: {wanted}; it holds {names}{did_you_mean(name, [row.name for row in rows])}")
