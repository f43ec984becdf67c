"""A PostgreSQL server with a full disk: the disk of its tables, or the disk of its write-ahead log."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

from benchmarks.chaos.crowd import make_crowd, wait_until
from benchmarks.chaos.crowded_places import WRITERS, run_to_refusal
from benchmarks.chaos.database_place import DATABASE, DatabasePlace
from benchmarks.chaos.places import mount_small_disk, open_study, step
from benchmarks.chaos.row import Verdict
from benchmarks.chaos.writers import Siege
from bostruct.storage.postgresql.connecting import GONE_SECONDS
from tests.storage.postgresql.server import Server

ROOM = 300 * 1024  # free bytes at first
LATE = 15.0  # seconds by which a busy machine may be late


def fill_disk_of_tables(folder: Path, verdict: Verdict) -> None:
    """Let four processes write until the tables have no room, then free some room and repeat."""
    disk = _make_disk(folder)
    with mount_small_disk(disk, 20 * 1024):
        server = Server()
        tables = _make_folder(disk / "tables")
        server.query(f"CREATE TABLESPACE small LOCATION '{tables}'")
        place = DatabasePlace({}, server, "TABLESPACE small")
        try:
            _fill_tables(place, disk / "ballast", folder, verdict)
        finally:
            place.close()


def _fill_tables(place: DatabasePlace, ballast: Path, folder: Path, verdict: Verdict) -> None:
    open_study(place.storage).close()
    completed: set[tuple[int, float]] = set()
    for _ in range(2):
        _leave_room(ballast, ROOM)
        logs = [folder / f"told-{number}" for number in range(WRITERS)]
        for own in run_to_refusal(place.storage, logs, lambda: None, verdict):
            completed |= set(own)
        ballast.unlink()  # a server with a full disk accepts no new connections
        _check_values(place, completed, verdict)
    with open_study(place.storage) as study:
        deadline = time.monotonic() + GONE_SECONDS + LATE  # for leases that a closing writer could not release
        while any(trial.status == "running" for trial in study.trials) and time.monotonic() < deadline:
            step(study)
            time.sleep(0.1)
        left = [trial for trial in study.trials if trial.status == "running"]
    if left:
        verdict.blame("stale leases", f"not requeued: {left}")
    _check_values(place, completed, verdict)
    if leftovers := place.find_leftovers():
        verdict.blame("left behind", leftovers)


def _check_values(place: DatabasePlace, completed: set[tuple[int, float]], verdict: Verdict) -> None:
    rows = place.server.query("SELECT number, value FROM bostruct.trials WHERE told IS NOT NULL", DATABASE)
    if missing := completed - set(rows):
        verdict.blame("lost", f"the database lacks {missing}")
    verdict.count("values told", len(completed))


def fill_disk_of_log(folder: Path, verdict: Verdict) -> None:
    """Let four writers write until the log has no room, which ends the server; restart it with more room."""
    disk = _make_disk(folder)
    with mount_small_disk(disk, 48 * 1024):
        log = _make_folder(disk / "log")
        server = Server({"max_wal_size": "2MB", "min_wal_size": "2MB"}, ("--waldir", str(log), "--wal-segsize=1"))
        place = DatabasePlace({}, server)
        try:
            _fill_log(place, disk / "ballast", folder, verdict)
        finally:
            place.close()


def _fill_log(place: DatabasePlace, ballast: Path, folder: Path, verdict: Verdict) -> None:
    server, rng = place.server, random.Random(0)
    siege = Siege(make_crowd(place, folder / "logs", "random", 0, rng), rng, verdict)
    try:
        siege.crowd.launch_missing()
        siege.crowd.wait_for_told(20)
        server.query("SELECT pg_create_physical_replication_slot('keeps_all', true)")
        _leave_room(ballast, ROOM)
        if not wait_until(lambda: "PANIC" in (server.folder / "log").read_text(errors="replace")):
            verdict.blame("broken case", "the disk of the log never became full")
        ballast.unlink()
        place.restart(signal.SIGQUIT, 0.0)
        server.query("SELECT pg_drop_replication_slot('keeps_all')")
        siege.check_trials("the disk was full")
        siege.finish()
    finally:
        siege.end_all()


def _make_disk(folder: Path) -> Path:
    folder.chmod(0o755)  # because another user runs the server
    disk = folder / "disk"
    disk.mkdir()
    return disk


def _make_folder(path: Path) -> Path:
    path.mkdir()
    if os.getuid() == 0:
        shutil.chown(path, "postgres", "postgres")
    return path


def _leave_room(ballast: Path, room: int) -> None:
    """Fill a disk except for a number of free bytes."""
    ballast.unlink(missing_ok=True)
    disk = os.statvfs(ballast.parent)
    ballast.write_bytes(bytes(max(0, disk.f_bavail * disk.f_frsize - room)))
