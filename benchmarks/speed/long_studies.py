"""Long studies on disk: opening them, asking and telling, memory, and bytes.

    python -m benchmarks.speed.long_studies [--check]

Each study is a file of random points with values, which is written row by row and opened in a separate process. The
memory is the peak of that process, including imports, after the study was opened and some trials were asked and told.
The time of ask and tell is the time of the study itself, because its method is `random`. Mixed variables are bits,
categories, levels, integers and reals in turn.

Each time has a floor, the time of the same work on the same file by only sqlite3 and the standard library. To open is
to check the file, fetch all rows, parse their points and infos, and hash each row. To ask and tell is to commit twice,
each time a row of a trial and the row of the progress.
"""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

import bostruct as bo
from benchmarks.speed.report import Row, at_most, main, median, plain_row, time_call
from bostruct.outcome import Outcome
from bostruct.storage.json_text import dump
from bostruct.storage.protocol import StoredStudy, TrialRow
from bostruct.storage.sqlite import SqliteStorage
from bostruct.study.point_forms import write_point_text

ASKED = 100  # trials that are asked and told in each study
BEGAN = 1.7e9  # seconds since the epoch
DRAWN = 1_000  # points drawn at once
SMALL = ".small"  # suffix of the file of a study with one trial
BARE = ".bare"  # suffix of the file that sqlite3 writes directly


class Case(NamedTuple):
    """A study and its limits.

    n, d: numbers of trials and variables.
    kinds: of its variables, a key of KINDS.
    open_seconds, trial_seconds: limits of CPU seconds.
    megabytes: limit of the peak of the process.
    kilobytes: limit on disk, per trial.
    """

    n: int
    d: int
    kinds: str
    open_seconds: float = math.inf
    trial_seconds: float = math.inf
    megabytes: float = math.inf
    kilobytes: float = math.inf


KINDS = {
    "bits": (bool,),
    "mixed variables": (bool, ["list", "modulo", "trace"], [1, 2, 4, 8], bo.Integer(0, 100), bo.Real(0.0, 1.0)),
}
CASES = (
    Case(100_000, 60, "bits", open_seconds=1.5, trial_seconds=0.002),
    Case(100_000, 60, "mixed variables", open_seconds=1.5, trial_seconds=0.002),
    Case(20_000, 1_000, "bits", open_seconds=10.0, megabytes=400.0, kilobytes=8.0),
    Case(20_000, 1_000, "mixed variables"),
)


class Found(NamedTuple):
    """The measurements of a process: CPU seconds, megabytes, and wall seconds.

    small_seconds: CPU, of ask and tell in a study of few trials, alternately with the long study.
    open_floor, trial_floor: CPU, of sqlite3 and the standard library; trial_floor is measured alternately, too.
    """

    open_seconds: float
    trial_seconds: float
    small_seconds: float
    megabytes: float
    open_wall: float
    trial_wall: float
    open_floor: float
    trial_floor: float


def measure(miniature: bool) -> list[Row]:
    cases = [Case(30, 12, kinds) for kinds in KINDS] if miniature else CASES
    return [row for case in cases for row in _measure(case)]


def _measure(case: Case) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.db"
        write_study(path, case)
        write_study(Path(f"{path}{SMALL}"), case._replace(n=1))
        kilobytes = path.stat().st_size / case.n / 1_000
        command = [sys.executable, "-m", "benchmarks.speed.long_studies", "--child", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found, of = Found(*json.loads(done.stdout)), f"{case.n:,} trials of {case.d:,} {case.kinds}"
    return [
        at_most(f"{of}: open, CPU", case.open_seconds, found.open_seconds, " s"),
        at_most(f"{of}: median ask and tell, CPU", 1_000 * case.trial_seconds, 1_000 * found.trial_seconds, " ms"),
        plain_row(f"{of}: the same in a file of few trials, by turns", f"{1_000 * found.small_seconds:.3g} ms"),
        at_most(f"{of}: peak of the process", case.megabytes, found.megabytes, " MB"),
        at_most(f"{of}: on disk, a trial", case.kilobytes, kilobytes, " kB"),
        plain_row(f"{of}: open; ask and tell, wall", f"{found.open_wall:.3g} s; {1_000 * found.trial_wall:.3g} ms"),
        plain_row(
            f"{of}: sqlite3 and the standard library alone: open; ask and tell, CPU",
            f"{found.open_floor:.3g} s; {1_000 * found.trial_floor:.3g} ms",
        ),
    ]


def make_space(d: int, kinds: str) -> bo.Space:
    given = KINDS[kinds]
    return bo.Space({f"x{i}": given[i % len(given)] for i in range(d)})


def write_study(path: Path, case: Case) -> None:
    """Write a study of random points into a new file."""
    space = make_space(case.d, case.kinds)
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.db"
        bo.Study(space, method="random", seed=0, storage=empty).close()
        made = SqliteStorage(empty).read(None).study
    SqliteStorage(path).save(StoredStudy(made, _LazyRows(space, case.n))).close()  # type: ignore[arg-type]


class _LazyRows:
    """The rows of a study, made one at a time, because all rows would fill the memory."""

    def __init__(self, space: bo.Space, n: int) -> None:
        self._space, self._n = space, n

    def __iter__(self) -> Iterator[TrialRow]:
        rng, names = np.random.default_rng(0), tuple(self._space.variables)
        info = dump({"origin": "random", "suggest_seconds": 0.000123456789})
        drawn = (x for _ in range(0, self._n, DRAWN) for x in self._space.sample(DRAWN, rng))
        for number, x in zip(range(self._n), drawn, strict=False):
            text = write_point_text(self._space, x, names)
            outcome, began = Outcome((float(rng.normal()),)), BEGAN + number
            yield TrialRow(number, text, info, began, 1, outcome, began + 0.5, number, None)


def child(path: str) -> Found:
    bo.Study.load(path + SMALL).close()  # so that imports of first use are not timed
    opened = time_call(lambda: bo.Study.load(path))
    studies = [opened.value, bo.Study.load(path + SMALL)]
    with closing(_open_bare(path)) as bare:
        trios = [
            [
                *(time_call(lambda own=own: own.tell(own.ask(), 1.0)) for own in studies),
                time_call(lambda: _commit(bare)),
            ]
            for _ in range(ASKED)
        ]
    for study in studies:
        study.close()
    seconds, small_seconds, floor = (median([one.cpu for one in own]) for own in zip(*trios, strict=True))
    wall, megabytes = median([long.wall for long, *_ in trios]), peak()
    open_floor = time_call(lambda: _read_bare(path)).cpu
    return Found(opened.cpu, seconds, small_seconds, megabytes, opened.wall, wall, open_floor, floor)


def _open_bare(path: str) -> sqlite3.Connection:
    """Open a copy of the small study, with the durability of a study."""
    Path(path + BARE).write_bytes(Path(path + SMALL).read_bytes())
    bare = sqlite3.connect(path + BARE, isolation_level=None)
    bare.execute("PRAGMA journal_mode = PERSIST").fetchall()
    bare.execute("PRAGMA synchronous = FULL")
    return bare


def _commit(bare: sqlite3.Connection) -> None:
    """Write the same as an ask and a tell: a new row of a trial, an update of it, and two updates of the progress."""
    progress = (
        "UPDATE progress SET told = told + 1, revision = revision + 1, digest = digest / 2, checksum = checksum / 2"
    )
    columns = "study, number, status, point, value, info, started, finished, told, attempts, revision, checksum"
    copied = columns.replace("number", "(SELECT MAX(number) + 1 FROM trials)")
    added = f"INSERT INTO trials ({columns}) SELECT {copied} FROM trials WHERE number = 0"
    last = "(SELECT MAX(number) FROM trials)"
    changed = f"UPDATE trials SET finished = finished + 1, revision = revision + 1 WHERE number = {last}"
    for statement in (added, changed):
        for one in ("BEGIN IMMEDIATE", statement, progress, "COMMIT"):
            bare.execute(one)


def _read_bare(path: str) -> None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as bare:
        bare.execute("PRAGMA integrity_check").fetchall()
        for row in bare.execute("SELECT point, info, * FROM trials ORDER BY number").fetchall():
            json.loads(row[0])
            json.loads(row[1])
            blake2b(repr(row).encode(), digest_size=8).digest()


def peak() -> float:
    """Return the peak of this process so far, in megabytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1_024 / 1e6


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(sys.argv[2])))
    else:
        main("Long studies", measure)
