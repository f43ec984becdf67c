"""Read a study's file with plain sqlite3 and compare it with logs, without any code of bostruct."""

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

Rows = list[dict[str, Any]]  # rows of the trials table, by number
COLUMNS = ("number", "status", "point", "value", "reason", "told", "attempts", "owner", "info")


def read_trials(file: Path, scratch: Path) -> Rows | None:
    """Copy a file and its journal, and return the trials in the copy, so that the file itself is not changed.

    file: the file of one study.
    scratch: folder for the copy.

    Returns None if there is no table yet. Raises sqlite3.Error, and ValueError if SQLite finds damage.
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
    """Return the trials in a file that other processes may be writing.

    file: the file of one study.

    Returns None if there is no table yet. Raises sqlite3.Error, and ValueError if SQLite finds damage.
    """
    with closing(sqlite3.connect(file, timeout=60.0, isolation_level=None)) as connection:
        connection.execute("BEGIN")  # one snapshot for all reads
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'trials'").fetchone() is None:
            return None
        damage = connection.execute("PRAGMA integrity_check").fetchone()[0]
        if damage != "ok":
            raise ValueError(damage)
        rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM trials ORDER BY number").fetchall()
        (domain,) = connection.execute("SELECT domain FROM studies").fetchone()
    return name_stored_values(rows, domain)


def name_stored_values(rows: list[tuple[Any, ...]], domain: str) -> Rows:
    """Return each row as a dict with the keys of COLUMNS, with its point as a JSON object.

    rows: the stored rows.
    domain: the study's domain as stored.
    """
    names = list(json.loads(domain).get("variables", ()))
    return [name_values(dict(zip(COLUMNS, row, strict=True)), names) for row in rows]


def name_values(row: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return a row with its point as a JSON object; a point with all variables is stored as a list of values.

    row: the stored row.
    names: names of the variables of the study's space.
    """
    point = json.loads(row["point"])
    return row | {"point": json.dumps(dict(zip(names, point, strict=True)))} if isinstance(point, list) else row


def read_log(file: Path) -> Rows:
    """Return the lines of a log, without a last line that a kill cut short."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]


def is_locked(lock: Path) -> bool:
    """Return whether a process holds a lock file; a lock file without a holder is left in place."""
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
    """Blame numbers and completion orders that are not 0, 1, ..., repeated points, and wrong values."""
    if [row["number"] for row in rows] != list(range(len(rows))):
        verdict.blame("wrong values", f"numbers {[row['number'] for row in rows]}")
    order = sorted(row["told"] for row in rows if row["told"] is not None)
    if order != list(range(len(order))):
        verdict.blame("wrong values", f"completion order {order}")
    points = Counter(plain_point(row["point"]) for row in rows if find_first(row) is None)
    for point, count in points.items():
        if count > 1:
            verdict.blame("twice", f"{count} trials have point {point}")
    for row in rows:
        if row["status"] == "completed" and row["value"] != value_of(row["point"]):
            verdict.blame("wrong values", f"{row}, expected {value_of(row['point'])}")


def plain_point(text: str) -> str:
    """Return the JSON text of a point with sorted keys, for comparisons."""
    return json.dumps(json.loads(text), sort_keys=True)


def find_first(row: dict[str, Any]) -> int | None:
    """Return the number of the trial that a row duplicates; None if it is no double."""
    return json.loads(row["info"]).get("double_of")


def check_told(rows: Rows, finished: Rows, verdict: Verdict) -> None:
    """Blame finished trials that the file lacks or has otherwise than `tell` returned them.

    rows: rows of the file.
    finished: log of the trials that `tell` returned.
    """
    kept = {row["number"]: row for row in rows}
    for line in finished:
        row = kept.get(line["number"], {})
        if any(row.get(name) != line[name] for name in ("status", "value", "reason")):
            verdict.blame("lost", f"tell returned {line}, in the file {row}")
    for number, count in Counter(line["number"] for line in finished).items():
        if count > 1:
            verdict.blame("twice", f"trial {number} was completed {count} times")


def check_evaluated(before: Rows, evaluated: Rows, launch: int, verdict: Verdict) -> None:
    """Blame points that a launch evaluated although the file already contained their outcome.

    before: rows of the file before the launch.
    evaluated: log of the objective.
    launch: number of the launch.
    """
    done = {plain_point(row["point"]) for row in before if row["status"] != "running"}
    for line in evaluated:
        if line["launch"] == launch and json.dumps(line["point"], sort_keys=True) in done:
            verdict.blame("twice", f"launch {launch} evaluated {line['point']}, which had an outcome")
