"""What befalls the place of a file: a full disk, a folder that goes, files that may not be written."""

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
    """Ask and tell once; returns the value, which the file is to hold from then on."""
    trial = study.ask()
    value = float(trial.point["x"])
    study.tell(trial, value)
    return value


def check_file(file: Path, told: list[float], verdict: Verdict) -> None:
    """Blame values that `tell` had returned from and that plain sqlite3 does not find, in order, in the file."""
    with closing(sqlite3.connect(file)) as connection:
        found = [row[0] for row in connection.execute("SELECT value FROM trials WHERE told IS NOT NULL ORDER BY told")]
    if found != told:
        verdict.blame("lost", f"told {told}, in the file {found}")
    verdict.count("values told", len(told))


def check_values(file: Path, told: Mapping[int, float | None], verdict: Verdict) -> None:
    """Blame values of trials, by number, that `tell` had returned from and that plain sqlite3 does not find in a file.

    Where several processes tell, the order of their trials is not that of their steps.
    """
    with closing(sqlite3.connect(file)) as connection:
        found = dict(connection.execute("SELECT number, value FROM trials WHERE told IS NOT NULL").fetchall())
    if found != told:
        verdict.blame("lost", f"told {told}, in the file {found}")
    verdict.count("values told", len(told))


@contextmanager
def mount_small_disk(folder: Path, kibibytes: int) -> Iterator[None]:
    """Mount a file system of this size on a folder, seen by this process alone, which must be a forked one."""
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
    """Run until the disk is full, again and again with some more room; compare memory, file and a reopened study."""
    disk = folder / "disk"
    disk.mkdir()
    with mount_small_disk(disk, 300):
        ballast, file = disk / "ballast", disk / "runs.db"
        ballast.write_bytes(bytes(150 * 1024))
        told: list[float] = []
        study = open_study(file)
        for room in (120, 80, 40, 0):
            _run_to_refusal(study, told, verdict)
            check_file(file, told, verdict)
            with suppress(OSError):
                os.truncate(ballast, room * 1024)
        study.close()
        with bo.Study.load(file) as again:
            told.append(step(again))
        check_file(file, told, verdict)


def _run_to_refusal(study: bo.Study, told: list[float], verdict: Verdict) -> None:
    for _ in range(3000):
        try:
            trial = study.ask()
            study.tell(trial, float(trial.point["x"]))
        except StorageError as error:
            if "full" not in str(error) and "disk" not in str(error):
                verdict.blame("otherwise than documented", f"a full disk is called: {error}")
            if [one.value for one in study.trials if one.status == "completed"] != told:
                verdict.blame("otherwise than documented", "memory and file differ after a refusal")
            return
        told.append(float(trial.point["x"]))
    verdict.blame("broken case", "the disk never became full")


def lose_file(folder: Path, verdict: Verdict, lose: Callable[[Path], object]) -> None:
    """Lose a file under an open study, as documented: the next step says so, nothing is lost, closing saves it."""
    place = folder / "place"
    place.mkdir()
    study, told = open_study(place / "runs.db"), []
    told += [step(study) for _ in range(5)]
    trial = study.ask()
    lose(place / "runs.db")
    for _ in range(2):
        try:
            study.tell(trial, float(trial.point["x"]))
            verdict.blame("otherwise than documented", "tell returned though its file was lost")
        except (StorageError, ValueError):  # at the second time the trial is no longer running
            pass
    told.append(float(trial.point["x"]))
    study.save(folder / "saved.db")
    told += [step(study) for _ in range(3)]
    study.close()
    check_file(folder / "saved.db", told, verdict)


def close_a_lost_study(folder: Path, verdict: Verdict) -> None:
    """Lose a file, and have the study closed without being saved: it writes itself beside the lost one."""
    study = open_study(folder / "runs.db")
    told = [step(study) for _ in range(5)]
    (folder / "runs.db").unlink()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        study.close()
    rescued = list(folder.glob("runs-rescued-*.db"))
    if len(rescued) != 1 or not any(str(rescued[0]) in str(one.message) for one in said):
        verdict.blame("otherwise than documented", f"rescued {rescued}, said {[str(one.message) for one in said]}")
    for file in rescued:
        check_file(file, told, verdict)


def become_nobody() -> None:
    """Give up the rights of root, whom no permission binds."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def refuse_writing(folder: Path, verdict: Verdict, what: str, mode: int) -> None:
    """Open a file, or one in a folder, that may be read but not written: refused in words, read all the same."""
    folder.chmod(0o777)
    place = folder / "place"
    place.mkdir()
    with open_study(place / "runs.db") as study:
        told = [step(study) for _ in range(5)]
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
                verdict.blame("otherwise than documented", f"the words do not name the file: {error}")
        with bo.Study.load(place / "runs.db", read_only=True) as study:
            if [trial.value for trial in study.trials] != told:
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
