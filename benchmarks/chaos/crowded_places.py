"""Accidents to a file that several processes write: a full disk, a lost file, a stopped holder of the ask lock."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import bostruct as bo
from benchmarks.chaos.crowd import wait_until
from benchmarks.chaos.oracle import read_log
from benchmarks.chaos.places import mount_small_disk, open_study, step
from benchmarks.chaos.row import Verdict
from benchmarks.chaos.victim import append_line
from bostruct.storage.protocol import StorageError

WRITERS = 4
PATIENCE = 120.0  # seconds, on a busy machine


def start(call: Callable[[], Any], log: Path) -> int:
    """Fork a process that makes a call, and log the traceback of an exception; other processes read the log."""
    process = os.fork()
    if process:
        return process
    try:
        call()
    except BaseException:
        append_line(log, {"trouble": traceback.format_exc()})
    finally:
        os._exit(0)


def write_until_refused(file: Path | str, log: Path) -> None:
    """Ask, tell and log each completed trial until the storage refuses; then log its message and close the study."""
    study = open_study(file)
    try:
        while True:
            trial = study.ask()
            study.tell(trial, float(trial.point["x"]))
            append_line(log, {"number": trial.number, "value": float(trial.point["x"])})
    except StorageError as error:
        append_line(log, {"refused": str(error)})
    with warnings.catch_warnings(), suppress(StorageError):  # on a full disk trials may not be requeued
        warnings.simplefilter("ignore")
        study.close()


def run_to_refusal(
    file: Path | str, logs: list[Path], meanwhile: Callable[[], None], verdict: Verdict
) -> list[list[Any]]:
    """Let several processes write until each is refused, and return the completed trials of each; blame other ends."""
    processes = [start(lambda log=log: write_until_refused(file, log), log) for log in logs]
    meanwhile()
    for process in processes:
        os.waitpid(process, 0)
    completed = []
    for log in logs:
        lines = read_log(log)
        log.unlink()
        completed.append([(line["number"], line["value"]) for line in lines if "value" in line])
        if "refused" not in lines[-1]:
            verdict.blame("otherwise than documented", lines[-1])
        elif not any(word in lines[-1]["refused"] for word in ("disk", "space", "removed")):
            verdict.blame("otherwise than documented", f"the message gives no reason: {lines[-1]}")
    return completed


def read_values(file: Path) -> set[tuple[int, float]]:
    """Read the numbers and values of all finished trials with plain sqlite3."""
    with closing(sqlite3.connect(file)) as connection:
        if connection.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            return set()
        return set(connection.execute("SELECT number, value FROM trials WHERE told IS NOT NULL").fetchall())


def fill_disk_together(folder: Path, verdict: Verdict) -> None:
    """Let four processes write until the disk is full, several times, each time with a little more room."""
    disk = folder / "disk"
    disk.mkdir()
    with mount_small_disk(disk, 400):
        ballast, file, completed = disk / "ballast", disk / "runs.db", set()
        ballast.write_bytes(bytes(200 * 1024))
        open_study(file).close()
        for room in (140, 80, 0):
            for own in run_to_refusal(file, [folder / f"told-{i}" for i in range(WRITERS)], lambda: None, verdict):
                completed |= set(own)
            check_values(file, completed, verdict)
            os.truncate(ballast, room * 1024)
        with open_study(file) as study:
            waiting = [trial.number for trial in study.trials if trial.status == "running"]
            if study.n_remote:
                verdict.blame("otherwise than documented", f"{study.n_remote} trials of processes that have ended")
            for _ in range(len(waiting) + 1):
                step(study)
            if any(trial.status == "running" for trial in study.trials):
                verdict.blame("otherwise than documented", f"not all of {waiting} were requeued")
        check_values(file, completed, verdict)
        if left := {path.name for path in disk.iterdir()} - {"ballast", "runs.db"}:
            verdict.blame("otherwise than documented", f"left behind: {left}")


def check_values(file: Path, completed: set[Any], verdict: Verdict) -> None:
    """Blame completed trials that the file lacks."""
    if missing := completed - read_values(file):
        verdict.blame("lost", f"{file.name} lacks {missing}")
    verdict.count("values told", len(completed))


def lose_file_together(folder: Path, verdict: Verdict) -> None:
    """Remove a file while four processes write it: each must save its trials to a new file."""
    place = folder / "place"
    place.mkdir()
    file, logs = place / "runs.db", [folder / f"told-{i}" for i in range(WRITERS)]
    open_study(file).close()

    def remove() -> None:
        wait_until(lambda: all(len(read_log(log)) > 3 for log in logs), PATIENCE)
        file.unlink()

    completed = run_to_refusal(file, logs, remove, verdict)
    rescued = {path: read_values(path) for path in place.glob("runs-rescued-*.db")}
    for own in completed:
        if not any(values.issuperset(own) for values in rescued.values()):
            verdict.blame("lost", f"{own} is in none of {rescued}")
    verdict.count("values told", sum(map(len, completed)))
    if left := {path.name for path in place.iterdir()} - {path.name for path in rescued} - {"runs.db-journal"}:
        verdict.blame("otherwise than documented", f"left behind: {left}")


def stop_while_deciding(folder: Path, verdict: Verdict) -> None:
    """Stop a process that holds the ask lock: others can tell, but their `ask` waits until the process is killed."""
    file, log = folder / "runs.db", folder / "log"
    open_study(file).close()

    def decide() -> None:
        with open_study(file).ask_lock():
            append_line(log, {"event": "decides"})
            time.sleep(10 * PATIENCE)

    def work() -> None:
        with open_study(file) as study:
            trial = study.ask()
            append_line(log, {"event": "holds a trial"})
            wait_until(lambda: is_logged(log, "stopped"), PATIENCE)
            study.tell(trial, 1.0)
            append_line(log, {"event": "told"})
            study.ask()
            append_line(log, {"event": "asked"})

    started = [start(work, log)]
    wait_for("holds a trial", log, verdict)
    started.append(start(decide, log))
    wait_for("decides", log, verdict)
    os.kill(started[1], signal.SIGSTOP)
    append_line(log, {"event": "stopped"})
    wait_for("told", log, verdict)
    time.sleep(0.5)
    if is_logged(log, "asked"):
        verdict.blame("otherwise than documented", "two processes decided side by side")
    os.kill(started[1], signal.SIGKILL)
    wait_for("asked", log, verdict)
    for process in started:
        os.waitpid(process, 0)
    check_values(file, {(0, 1.0)}, verdict)
    if left := {path.name for path in folder.iterdir()} - {"log", "runs.db"}:
        verdict.blame("otherwise than documented", f"left behind: {left}")


def is_logged(log: Path, event: str) -> bool:
    """Return whether an event is in the log."""
    return any(line.get("event") == event for line in read_log(log))


def wait_for(event: str, log: Path, verdict: Verdict, patience: float = PATIENCE) -> None:
    """Wait until an event or an exception is logged; blame a missing event."""
    wait_until(lambda: is_logged(log, event) or any("trouble" in line for line in read_log(log)), patience)
    if not is_logged(log, event):
        verdict.blame("otherwise than documented", f"{event} did not happen: {read_log(log)}")


def close_while_deciding(folder: Path, verdict: Verdict) -> None:
    """Close one study while another holds the ask lock, then close the holder: no call waits, trials are requeued."""
    file = folder / "runs.db"
    one, another = open_study(file), open_study(file)
    trial = another.ask()
    with ThreadPoolExecutor(1) as executor:
        with one.ask_lock():
            executor.submit(another.close).result(PATIENCE)
            again = one.ask()
            one.tell(again, 1.0)
            one.close()
        if again.point != trial.point:
            verdict.blame("otherwise than documented", "the trial of a closed study was not requeued")
        third = executor.submit(lambda: step_and_close(open_study(file))).result(PATIENCE)
    check_values(file, {(0, 1.0), (1, third)}, verdict)
    if left := {path.name for path in folder.iterdir()} - {"runs.db"}:
        verdict.blame("otherwise than documented", f"left behind: {left}")


def step_and_close(study: bo.Study) -> float:
    """Ask and tell once, close the study, and return the value."""
    with study:
        return step(study)
