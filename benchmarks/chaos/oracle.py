"""What a study's file holds, read by plain sqlite3 and compared with logs: no code of bostruct has a part in it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.chaos.row import Verdict

Rows = list[dict[str, Any]]  # of the table of trials, by number
COLUMNS = ("number", "status", "point", "value", "reason", "told", "attempts", "owner", "info")


def read_trials(file: Path, scratch: Path) -> Rows | None:
    """Return the trials in a copy of a file and its journal, so that the file stays as it was found.

    file: of one study.
    scratch: a folder for the copy.

    Returns None where there is no table yet. Raises sqlite3.Error, and ValueError where SQLite finds damage.
    """
    copy = scratch / "oracle.db"
    for ending in ("", "-journal"):
        source, target = file.with_name(file.name + ending), copy.with_name(copy.name + ending)
        target.unlink(missing_ok=True)
        if source.exists():
            shutil.copyfile(source, target)
    if not copy.exists():
        return None
    return read_shared_trials(copy)


def read_shared_trials(file: Path) -> Rows | None:
    """Return the trials in a file that others may be writing.

    file: of one study.

    Returns None where there is no table yet. Raises sqlite3.Error, and ValueError where SQLite finds damage.
    """
    with closing(sqlite3.connect(file, timeout=60.0, isolation_level=None)) as connection:
        connection.execute("BEGIN")  # all of one moment
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'trials'").fetchone() is None:
            return None
        damage = connection.execute("PRAGMA integrity_check").fetchone()[0]
        if damage != "ok":
            raise ValueError(damage)
        rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM trials ORDER BY number").fetchall()
        (domain,) = connection.execute("SELECT domain FROM studies").fetchone()
    return name_stored_values(rows, domain)


def name_stored_values(rows: list[tuple[Any, ...]], domain: str) -> Rows:
    """Return rows by the names of COLUMNS, with their points as objects.

    rows: as they are stored.
    domain: of the study, as it is stored.
    """
    names = list(json.loads(domain).get("variables", ()))
    return [name_values(dict(zip(COLUMNS, row, strict=True)), names) for row in rows]


def name_values(row: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return a row whose point is an object: a point that has all variables is stored as the list of its values.

    row: as it is stored.
    names: of the variables of the study's space.
    """
    point = json.loads(row["point"])
    return row | {"point": json.dumps(dict(zip(names, point, strict=True)))} if isinstance(point, list) else row


def read_log(file: Path) -> Rows:
    """Return the lines of a log, without one at its end that a kill cut short."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]


def is_locked(lock: Path) -> bool:
    """Return whether somebody holds a lock file; one that nobody holds is no obstacle, and is left there."""
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def check_numbers(rows: Rows, value_of: Any, verdict: Verdict) -> None:
    """Blame numbers that are not 0, 1, ..., places in the order of telling likewise, points twice, and wrong values."""
    if [row["number"] for row in rows] != list(range(len(rows))):
        verdict.blame("wrong values", f"numbers {[row['number'] for row in rows]}")
    places = sorted(row["told"] for row in rows if row["told"] is not None)
    if places != list(range(len(places))):
        verdict.blame("wrong values", f"places in the order of telling {places}")
    points = Counter(plain_point(row["point"]) for row in rows if find_first(row) is None)
    for point, count in points.items():
        if count > 1:
            verdict.blame("twice", f"point {point} is that of {count} trials")
    for row in rows:
        if row["status"] == "completed" and row["value"] != value_of(row["point"]):
            verdict.blame("wrong values", f"{row}, expected {value_of(row['point'])}")


def plain_point(text: str) -> str:
    """Return the JSON text of a point as it is compared."""
    return json.dumps(json.loads(text), sort_keys=True)


def find_first(row: dict[str, Any]) -> int | None:
    """Return the number of the trial that a row is marked as a double of; None where it is none."""
    return json.loads(row["info"]).get("double_of")


def check_told(rows: Rows, told: Rows, verdict: Verdict) -> None:
    """Blame what `tell` had returned from and is not in the file as it was told.

    rows: of the file.
    told: log of what `tell` returned from.
    """
    kept = {row["number"]: row for row in rows}
    for line in told:
        row = kept.get(line["number"], {})
        if any(row.get(name) != line[name] for name in ("status", "value", "reason")):
            verdict.blame("lost", f"told {line}, in the file {row}")
    for number, count in Counter(line["number"] for line in told).items():
        if count > 1:
            verdict.blame("twice", f"trial {number} was told {count} times")


def check_evaluated(before: Rows, evaluated: Rows, launch: int, verdict: Verdict) -> None:
    """Blame points that were evaluated in a launch though the file held their outcome before it.

    before: of the file before the launch.
    evaluated: log of the objective.
    launch: its number.
    """
    done = {plain_point(row["point"]) for row in before if row["status"] != "running"}
    for line in evaluated:
        if line["launch"] == launch and json.dumps(line["point"], sort_keys=True) in done:
            verdict.blame("twice", f"launch {launch} evaluated {line['point']}, which was told before")
