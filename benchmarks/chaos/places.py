"""Accidents to the place of a file: a full disk, a lost folder, read-only files and folders."""

from __future__ import annotations

import ctypes
import os
import shutil
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import bostruct as bo
from benchmarks.chaos.row import Verdict
from bostruct.storage.protocol import StorageError

SPACE = {"x": bo.Integer(0, 999), "text": [letter * 300 for letter in "abcdefghij"]}
CLONE_NEW_NAMESPACE, CLONE_NEW_USER = 0x00020000, 0x10000000
NOBODY = 65534


class NotHere(Exception):
    """This machine does not allow the case."""


def open_study(file: Path | str | None, name: str = "study") -> bo.Study:
    return bo.Study(SPACE, method="random", seed=0, storage=file, name=name)


def step(study: bo.Study) -> float:
    """Ask and tell once, and return the value, which the file must contain from now on."""
    trial = study.ask()
    value = float(trial.point["x"])
    study.tell(trial, value)
    return value


def check_file(file: Path, expected: list[float], verdict: Verdict) -> None:
    """Blame a difference between the values of all returned `tell` calls, in order, and those in the file."""
    with closing(sqlite3.connect(file)) as connection:
        found = [row[0] for row in connection.execute("SELECT value FROM trials WHERE told IS NOT NULL ORDER BY told")]
    if found != expected:
        verdict.blame("lost", f"expected {expected}, in the file {found}")
    verdict.count("values told", len(expected))


def check_values(file: Path, expected: Mapping[int, float | None], verdict: Verdict) -> None:
    """Blame a difference between the values of all returned `tell` calls, by trial number, and those in the file.

    The order is not compared: with several processes, trials do not finish in the order of their numbers.
    """
    with closing(sqlite3.connect(file)) as connection:
        found = dict(connection.execute("SELECT number, value FROM trials WHERE told IS NOT NULL").fetchall())
    if found != expected:
        verdict.blame("lost", f"expected {expected}, in the file {found}")
    verdict.count("values told", len(expected))


@contextmanager
def mount_small_disk(folder: Path, kibibytes: int) -> Iterator[None]:
    """Mount a small file system on a folder; only this process, which must be forked, sees it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mount.argtypes = (ctypes.c_char_p,) * 3 + (ctypes.c_ulong, ctypes.c_char_p)
    if libc.unshare(CLONE_NEW_NAMESPACE | (0 if os.geteuid() == 0 else CLONE_NEW_USER)):
        raise NotHere(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
    libc.mount(b"none", b"/", None, 0x44000, None)  # private, so that no other process sees what follows
    if libc.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, f"size={kibibytes}k".encode()):
        raise NotHere(f"no file system can be mounted: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        libc.umount2(bytes(folder), 2)


def fill_disk(folder: Path, verdict: Verdict) -> None:
    """Run until the disk is full, several times, with more room each time; compare memory, file and reopened study."""
    disk = folder / "disk"
    disk.mkdir()
    with mount_small_disk(disk, 300):
        ballast, file = disk / "ballast", disk / "runs.db"
        ballast.write_bytes(bytes(150 * 1024))
        values: list[float] = []
        study = open_study(file)
        for room in (120, 80, 40, 0):
            _run_to_refusal(study, values, verdict)
            check_file(file, values, verdict)
            with suppress(OSError):
                os.truncate(ballast, room * 1024)
        study.close()
        with bo.Study.load(file) as again:
            values.append(step(again))
        check_file(file, values, verdict)


def _run_to_refusal(study: bo.Study, values: list[float], verdict: Verdict) -> None:
    for _ in range(3000):
        try:
            trial = study.ask()
            study.tell(trial, float(trial.point["x"]))
        except StorageError as error:
            if "full" not in str(error) and "disk" not in str(error):
                verdict.blame("otherwise than documented", f"the message does not name a full disk: {error}")
            if [trial.value for trial in study.trials if trial.status == "completed"] != values:
                verdict.blame("otherwise than documented", "memory and file differ after a refusal")
            return
        values.append(float(trial.point["x"]))
    verdict.blame("broken case", "the disk never became full")


def lose_file(folder: Path, verdict: Verdict, lose: Callable[[Path], object]) -> None:
    """Lose the file of an open study: the next step raises, and the study can still be saved without losing a value."""
    place = folder / "place"
    place.mkdir()
    study, values = open_study(place / "runs.db"), []
    values += [step(study) for _ in range(5)]
    trial = study.ask()
    lose(place / "runs.db")
    for _ in range(2):
        try:
            study.tell(trial, float(trial.point["x"]))
            verdict.blame("otherwise than documented", "tell returned though its file was lost")
        except (StorageError, ValueError):  # the second time, the trial is no longer running
            pass
    values.append(float(trial.point["x"]))
    study.save(folder / "saved.db")
    values += [step(study) for _ in range(3)]
    study.close()
    check_file(folder / "saved.db", values, verdict)


def close_a_lost_study(folder: Path, verdict: Verdict) -> None:
    """Lose a file and close the study without saving: it writes a rescue file next to the lost file."""
    study = open_study(folder / "runs.db")
    values = [step(study) for _ in range(5)]
    (folder / "runs.db").unlink()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.close()
    rescued = list(folder.glob("runs-rescued-*.db"))
    if len(rescued) != 1 or not any(str(rescued[0]) in str(one.message) for one in caught):
        verdict.blame("otherwise than documented", f"rescued {rescued}, warned {[str(one.message) for one in caught]}")
    for file in rescued:
        check_file(file, values, verdict)


def become_nobody() -> None:
    """Drop root's rights, since file permissions do not bind root."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def refuse_writing(folder: Path, verdict: Verdict, what: str, mode: int) -> None:
    """Open a read-only file, or a file in a read-only folder: writing is refused with a message, reading works."""
    folder.chmod(0o777)
    place = folder / "place"
    place.mkdir()
    with open_study(place / "runs.db") as study:
        values = [step(study) for _ in range(5)]
    before = (place / "runs.db").read_bytes()
    (place if what == "folder" else place / "runs.db").chmod(mode)
    try:
        become_nobody()
        try:
            open_study(place / "runs.db").close()
            verdict.blame("otherwise than documented", f"a read-only {what} was opened to write")
        except StorageError as error:
            verdict.count("refused", 1)
            if str(place) not in str(error):
                verdict.blame("otherwise than documented", f"the message does not name the file: {error}")
        with bo.Study.load(place / "runs.db", read_only=True) as study:
            if [trial.value for trial in study.trials] != values:
                verdict.blame("lost", f"{study.trials}")
        if (place / "runs.db").read_bytes() != before:
            verdict.blame("otherwise than documented", "the file was changed")
    finally:
        with suppress(PermissionError):
            place.chmod(0o777)


def remove_all(file: Path) -> None:
    for name in file.parent.glob(f"{file.name}*"):
        name.unlink()


def copy_over(file: Path) -> None:
    shutil.copyfile(file, file.with_name("copy.db"))
    os.replace(file.with_name("copy.db"), file)


LOSSES: dict[str, Callable[[Path], object]] = {
    "file removed": lambda file: file.unlink(),
    "file and journal removed": remove_all,
    "folder removed": lambda file: shutil.rmtree(file.parent),
    "folder renamed": lambda file: file.parent.rename(file.parent.with_name("elsewhere")),
    "file renamed": lambda file: file.rename(file.with_name("other.db")),
    "file replaced": copy_over,
    "file emptied": lambda file: os.truncate(file, 0),
}
