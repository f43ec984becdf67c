"""Rows written to the database, each with its checksum; the caller's transaction makes steps whole."""

from __future__ import annotations

from typing import NamedTuple

from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.protocol import SpaceChange, StoredStudy, TrialRow
from bostruct.storage.reading import FoundTrial
from bostruct.storage.rows import (
    CHANGE_COLUMNS,
    PROGRESS_COLUMNS,
    STUDY_COLUMNS,
    TRIAL_COLUMNS,
    Progress,
    change_columns,
    seal,
    study_columns,
    trial_columns,
)

_TRIALS = (*TRIAL_COLUMNS, "checksum")
_MARKS = ", ".join("?" * len(_TRIALS))
_INSERT_TRIAL = f"INSERT INTO trials ({', '.join(_TRIALS)}) VALUES ({_MARKS})"
_UPDATE_TRIAL = f"UPDATE trials SET ({', '.join(_TRIALS)}) = ({_MARKS}) WHERE study = ? AND number = ?"


def insert_study(connection: Connection, number: int, stored: StoredStudy) -> Progress:
    """Write a new study with its trials and changes, and return its progress.

    connection: to the database.
    number: id of the study.
    stored: the study, all its trials, and the changes of its space.
    """
    columns = ", ".join((*STUDY_COLUMNS, "checksum"))
    values = seal(study_columns(number, stored.study))
    connection.execute(f"INSERT INTO studies ({columns}) VALUES ({', '.join('?' * len(values))})", values)
    progress = Progress(number, stored.study.state)
    for row in stored.trials:
        progress = insert_trial(connection, progress, row).progress
    for position, change in enumerate(stored.changes):
        progress = insert_change(connection, progress, position, change)
    write_progress(connection, progress)
    return progress


def insert_change(connection: Connection, progress: Progress, number: int, change: SpaceChange) -> Progress:
    """Write a change of a study's space, and return the progress of the study after it, which is not written.

    connection: to the database.
    progress: before it.
    number: of the change, from 0.
    change: the change.
    """
    columns = ", ".join((*CHANGE_COLUMNS, "checksum"))
    values = seal(change_columns(progress.study, number, change))
    connection.execute(f"INSERT INTO changes ({columns}) VALUES ({', '.join('?' * len(values))})", values)
    return progress.advance(values[-1], 0)


def write_progress(connection: Connection, progress: Progress) -> None:
    """Write what changes of a study at each step.

    connection: to the database.
    progress: all of it.
    """
    columns = ", ".join((*PROGRESS_COLUMNS, "checksum"))
    new = ", ".join(f"excluded.{name}" for name in (*PROGRESS_COLUMNS, "checksum"))
    marks = ", ".join("?" * (len(PROGRESS_COLUMNS) + 1))
    replace = f"ON CONFLICT (study) DO UPDATE SET ({columns}) = ({new})"
    connection.execute(f"INSERT INTO progress ({columns}) VALUES ({marks}) {replace}", seal(progress))


class Written(NamedTuple):
    """A trial that was written.

    progress: of its study after it, which is not written.
    checksum: of its row.
    """

    progress: Progress
    checksum: int


def insert_trial(connection: Connection, progress: Progress, row: TrialRow) -> Written:
    """Write a new trial.

    connection: to the database.
    progress: before it.
    row: the trial.
    """
    values = seal(trial_columns(progress.study, row, progress.revision))
    connection.execute(_INSERT_TRIAL, values)
    return Written(progress.advance(values[-1], row.told is not None), values[-1])


def change_trial(connection: Connection, progress: Progress, before: FoundTrial, after: TrialRow) -> Written:
    """Change a trial.

    connection: to the database.
    progress: before it.
    before: the trial as it is there.
    after: as it is to be.
    """
    values = seal(trial_columns(progress.study, after, progress.revision))
    connection.execute(_UPDATE_TRIAL, (*values, progress.study, after.number))
    told = (after.told is not None) - (before.row.told is not None)
    return Written(progress.advance(values[-1] - before.checksum, told), values[-1])
