"""Outages of a PostgreSQL database and its writers for half a minute or more, with the default time limits."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from benchmarks.chaos.crowd import make_crowd, wait_until
from benchmarks.chaos.crowded_places import is_logged, start, wait_for
from benchmarks.chaos.database_place import DatabasePlace
from benchmarks.chaos.databases import why_no_database
from benchmarks.chaos.environment import run_isolated
from benchmarks.chaos.full_databases import fill_disk_of_log, fill_disk_of_tables
from benchmarks.chaos.oracle import find_first, read_log
from benchmarks.chaos.places import open_study
from benchmarks.chaos.row import Row, Verdict
from benchmarks.chaos.victim import append_line
from benchmarks.chaos.writers import KINDS, Siege
from bostruct.storage.postgresql.connecting import GONE_SECONDS, IDLE_SECONDS, RENEW_SECONDS
from bostruct.storage.protocol import RolledBack

AWAY = 30.0  # seconds
LATE = 15.0  # seconds by which a busy machine may be late
LIMIT = 400.0
Outage = Callable[[DatabasePlace, Path, Verdict], None]
Surroundings = Callable[[Path, Verdict], None]


def be_away(place: DatabasePlace, folder: Path, verdict: Verdict, befall: Callable[[DatabasePlace], None]) -> None:
    """Let four writers wait while the server or the network is away: no writer ends, and no trial is requeued."""
    rng = random.Random(0)
    siege = Siege(make_crowd(place, folder / "logs", "random", 0, rng), rng, verdict)
    try:
        siege.crowd.launch_missing()
        siege.crowd.wait_for_told(20)
        siege.crowd.wait_for_all()  # a writer that opens the study while the server is away gives up sooner
        befall(place)
        siege.check_trials("it was away")
        requeued = [row for row in place.read() if row["attempts"] > 1 or find_first(row) is not None]
        if requeued:
            verdict.blame("otherwise than documented", f"requeued: {requeued}")
        siege.finish()
    finally:
        siege.end_all()


def stop_past_a_lease(place: DatabasePlace, folder: Path, verdict: Verdict) -> None:
    """Stop a writer: its trial is requeued after a minute, and its late value is stored as a double."""
    log, storage = folder / "log", place.storage

    def be_late() -> None:
        with open_study(storage) as study:
            trial = study.ask()
            append_line(log, {"event": "holds a trial"})
            wait_until(lambda: is_logged(log, "told by another"))
            late = study.tell(trial, 2.0)
            append_line(log, {"event": "told late", "double_of": late.info.get("double_of")})

    def take_over() -> None:
        with open_study(storage) as study:
            while (trial := study.ask()).number != 0:
                study.tell(trial, 1.0)
                time.sleep(0.5)
            append_line(log, {"event": "took over", "at": time.monotonic()})
            study.tell(trial, 1.0)
            append_line(log, {"event": "told by another"})

    late = start(be_late, log)
    wait_for("holds a trial", log, verdict)
    os.kill(late, signal.SIGSTOP)
    stopped = time.monotonic()
    other = start(take_over, log)
    wait_for("took over", log, verdict, 2 * GONE_SECONDS)
    os.kill(late, signal.SIGCONT)
    wait_for("told late", log, verdict)
    _end(late, other)
    events = {line.get("event"): line for line in read_log(log)}
    seconds = events.get("took over", {}).get("at", 0.0) - stopped
    if not GONE_SECONDS - RENEW_SECONDS - 1 < seconds < GONE_SECONDS + LATE:
        verdict.blame("stale leases", f"requeued after {seconds:.1f} s: {events}")
    rows = place.read()
    kept = [row["value"] for row in rows if find_first(row) == 0]
    if events.get("told late", {}).get("double_of") != 0 or kept != [2.0]:
        verdict.blame("lost", f"the late value is not kept as a double: {events}, {rows}")


def stop_in_a_step(place: DatabasePlace, folder: Path, verdict: Verdict) -> None:
    """Stop a writer inside a transaction, while it holds locks: other writers wait, and none is refused."""

    def hold(study: object) -> None:
        with suppress(RolledBack), study._ledger.store.changing():  # type: ignore[attr-defined]
            _stop_here(folder / "log")

    _stop_while(hold, place, folder, verdict, IDLE_SECONDS + LATE)


def stop_while_deciding(place: DatabasePlace, folder: Path, verdict: Verdict) -> None:
    """Stop a writer that holds the ask lock: another writer can ask once the stopped one counts as gone."""

    def hold(study: object) -> None:
        with study.ask_lock():  # type: ignore[attr-defined]
            _stop_here(folder / "log")
            study.tell(study.ask(), 3.0)  # type: ignore[attr-defined]

    _stop_while(hold, place, folder, verdict, GONE_SECONDS + LATE)


def _stop_here(log: Path) -> None:
    append_line(log, {"event": "stands still"})
    os.kill(os.getpid(), signal.SIGSTOP)


def _stop_while(
    hold: Callable[[object], None], place: DatabasePlace, folder: Path, verdict: Verdict, most: float
) -> None:
    """Let a writer stop itself while it holds a lock; another writer must ask and tell within `most` seconds."""
    log = folder / "log"

    def stop() -> None:
        with open_study(place.storage) as study:
            hold(study)

    def work() -> None:
        with open_study(place.storage) as study:
            trial = study.ask()
            append_line(log, {"event": "holds a trial"})
            wait_until(lambda: is_logged(log, "stands still"))
            began = time.monotonic()
            study.tell(trial, 1.0)
            study.tell(study.ask(), 1.0)
            append_line(log, {"event": "told", "seconds": time.monotonic() - began})

    other = start(work, log)
    wait_for("holds a trial", log, verdict)
    stopped = start(stop, log)
    wait_for("told", log, verdict, 2 * most)
    os.kill(stopped, signal.SIGCONT)
    _end(stopped, other)
    lines = read_log(log)
    if trouble := [line for line in lines if "trouble" in line]:
        verdict.blame("otherwise than documented", trouble)
    if any(line.get("seconds", 0.0) > most for line in lines):
        verdict.blame("stale leases", f"others waited for longer than {most} s: {lines}")
    points = [row["point"] for row in place.read()]
    if len(set(points)) != len(points):
        verdict.blame("twice", points)


def _end(*processes: int) -> None:
    for process in processes:
        os.waitpid(process, 0)


def on_database(outage: Outage) -> Surroundings:
    """Return a case that creates a database, runs an outage and removes the database.

    outage: what happens to the database.
    """

    def run(folder: Path, verdict: Verdict) -> None:
        place = DatabasePlace({})
        try:
            outage(place, folder, verdict)
        finally:
            place.close()

    return run


def make_away(befall: Callable[[DatabasePlace], None]) -> Surroundings:
    """Return a case in which the server or the network is away for half a minute.

    befall: makes it unavailable, and available again before it returns.
    """
    return on_database(partial(be_away, befall=befall))


CASES: dict[str, Surroundings] = {
    "network held for 30 s": make_away(lambda place: place.hold_network(AWAY, then_cut=False)),
    "network cut for 30 s": make_away(lambda place: place.hold_network(AWAY, then_cut=True)),
    "server stopped for 30 s": make_away(lambda place: place.stop_server(AWAY)),
    "server away for 30 s": make_away(lambda place: place.restart(signal.SIGINT, AWAY)),
    "server killed, back after 30 s": make_away(lambda place: place.restart(signal.SIGKILL, AWAY)),
    "writer stopped past its lease": on_database(stop_past_a_lease),
    "writer stopped in a step": on_database(stop_in_a_step),
    "writer stopped while it decides": on_database(stop_while_deciding),
    "disk of the tables full": fill_disk_of_tables,
    "disk of the log full": fill_disk_of_log,
}


def run_case(case: str, folder: Path) -> Verdict:
    """Run one outage in a forked process; a case that this machine does not allow is counted."""
    return run_isolated(CASES[case], folder, LIMIT)


OUTAGES = Row(
    name="outages",
    what="PostgreSQL with the times that users have: network or server away for 30 s, writers stopped for longer than "
    "others wait, disks full",
    kinds=(*KINDS, "otherwise than documented"),
    cases=tuple(CASES),
    short=(),
    run=run_case,
    why_not=why_no_database,
)
