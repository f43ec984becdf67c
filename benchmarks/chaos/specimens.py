"""Study files to damage, and copies of a file in the middle of a commit."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import bostruct as bo
from benchmarks.chaos.victim import append_line, value_of
from bostruct.storage.json_text import dump
from bostruct.storage.protocol import StoredStudy
from bostruct.storage.sqlite import SqliteStorage

JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")  # from SQLite's file format
NAMES = ("one", "two")


class Specimen(NamedTuple):
    """The files of a study database.

    file: content of the file.
    journal: content of its journal, if any.
    studies: studies of the undamaged file, by name.
    """

    file: bytes
    journal: bytes | None
    studies: dict[str, StoredStudy]


def write_specimen(specimen: Specimen, file: Path) -> None:
    """Write the file and the journal of a specimen under another name."""
    file.write_bytes(specimen.file)
    journal = file.with_name(f"{file.name}-journal")
    journal.unlink(missing_ok=True)
    if specimen.journal is not None:
        journal.write_bytes(specimen.journal)


def read_studies(file: Path) -> dict[str, StoredStudy]:
    """Return all studies of a file, by name; raise StorageError."""
    storage = SqliteStorage(file)
    return {row.name: storage.read(row.name) for row in storage.studies()}


def objective(point: Any) -> float:
    """Return the value of a point of `wide_space`."""
    return value_of(dump(point))


def wide_space(d: int = 40) -> bo.Space:
    """Return a space whose trials fill pages of the file."""
    return bo.Space({f"variable {i}": ["off", "on", "automatic"] for i in range(d)})


@cache
def make_specimen() -> Specimen:
    """Return a closed file of two studies with completed, failed, infeasible, added and running trials."""
    folder = Path(mkdtemp())
    try:
        for name, method in zip(NAMES, ("annealing", "evolution"), strict=True):
            with bo.Study(wide_space(6), method=method, seed=3, storage=folder / "runs.db", name=name) as study:
                for number in range(25):
                    _tell(study, study.ask(), number)
                study.add({f"variable {i}": "on" for i in range(6)}, 0.5)
                study.ask()
                study.ask()
        return Specimen((folder / "runs.db").read_bytes(), None, read_studies(folder / "runs.db"))
    finally:
        shutil.rmtree(folder)


def _tell(study: bo.Study, trial: bo.Trial, number: int) -> None:
    if number % 7 == 3:
        study.tell(trial, failed=f"ValueError: reason {number}")
    elif number % 7 == 5:
        study.tell(trial, infeasible="too wide")
    else:
        study.tell(trial, objective(trial.point))


class Moment(NamedTuple):
    """A file in the middle of a commit, as a power cut would leave it.

    specimen: its files, and the studies that an undamaged journal restores.
    told: number of trials for which `tell` had returned.
    """

    specimen: Specimen
    told: int


def catch_moments(folder: Path, count: int, rng: random.Random, patience: float = 60.0) -> list[Moment]:
    """Stop a process that asks and tells at random times, and copy its files whenever a commit is being written.

    folder: empty folder for the files.
    count: number of copies.
    rng: random generator of the times.
    patience: seconds after which fewer copies are returned.
    """
    file, log, found = folder / "runs.db", folder / "told", []
    writer, deadline = _start_writer(file, log), time.monotonic() + patience
    try:
        while len(found) < count and time.monotonic() < deadline:
            time.sleep(rng.uniform(0.0, 0.004))
            os.kill(writer, signal.SIGSTOP)
            os.waitpid(writer, os.WUNTRACED)
            if _is_hot(file):
                moment = _keep(file, log)
                found += [moment] * any(stored.trials for stored in moment.specimen.studies.values())
            os.kill(writer, signal.SIGCONT)
    finally:
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
    return found


def _start_writer(file: Path, log: Path) -> int:
    process = os.fork()
    if process:
        return process
    try:
        study = bo.Study(wide_space(), method="random", seed=0, storage=file, name=NAMES[0])
        while True:
            trial = study.ask()
            study.tell(trial, objective(trial.point))
            append_line(log, {"number": trial.number})
    finally:
        os._exit(1)


def _is_hot(file: Path) -> bool:
    """Return whether a commit is being written: the journal has a header, and the file may be partly overwritten."""
    journal = file.with_name(f"{file.name}-journal")
    return journal.exists() and journal.read_bytes()[:8] == JOURNAL_MAGIC and journal.stat().st_size > 512


def _keep(file: Path, log: Path) -> Moment:
    content, journal = file.read_bytes(), file.with_name(f"{file.name}-journal").read_bytes()
    copy = file.with_name("copy.db")
    write_specimen(Specimen(content, journal, {}), copy)
    studies = read_studies(copy)  # rolls the commit back
    count = log.read_bytes().count(b"\n") if log.exists() else 0
    return Moment(Specimen(content, journal, studies), count)
