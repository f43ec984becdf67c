"""Results of cases, one JSON line each, so that an interrupted run can be resumed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chaos.row import Row, Verdict

ROOT = Path(__file__).parents[2]
Result = dict[str, Any]  # keys: row, case, faults, counts, seconds (of CPU time), revision


def read_results(file: Path | None) -> list[Result]:
    """Return the results in a file, none if it does not exist; a line that was cut short is dropped."""
    if file is None or not file.exists():
        return []
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


def take_cases(
    row: Row, cases: Sequence[str], done: Sequence[Result], file: Path | None, seconds: float
) -> Iterator[Result]:
    """Run the cases of a row that have no result, until a time is up; each result is written before it is yielded.

    row: the row of the table.
    cases: names of the cases to run.
    done: the earlier results.
    file: file to append results to, if any.
    seconds: wall time after which no other case starts.
    """
    taken = {result["case"] for result in done if result["row"] == row.name}
    began, revision = time.monotonic(), read_revision("benchmarks/chaos")
    for case in cases:
        if time.monotonic() - began > seconds:
            return
        if case not in taken:
            result = take_case(row, case) | {"revision": revision}
            if file is not None:
                append_result(file, result)
            yield result


def take_case(row: Row, case: str) -> Result:
    """Run one case in its own folder; an exception in the row's own code is also a fault."""
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{row.name}-"))
    before = _cpu_seconds()
    try:
        verdict = row.run(case, folder)
    except Exception:
        verdict = Verdict()
        verdict.blame("broken case", traceback.format_exc())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    seconds = round(_cpu_seconds() - before, 3)
    return {"row": row.name, "case": case, "faults": verdict.faults, "counts": verdict.counts, "seconds": seconds}


def read_revision(benchmark: str) -> str:
    """Return the commit of the code, with a + if files have changed since; "unknown" outside a repository.

    benchmark: folder of the benchmark, which is compared in addition to the package.
    """
    commit = _ask_git("rev-parse", "--short=10", "HEAD")
    changed = _ask_git("status", "--porcelain", "--", "bostruct", benchmark, ":!*.jsonl")
    return f"{commit or 'unknown'}{'+' if changed else ''}"


def _ask_git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def append_result(file: Path, result: Result) -> None:
    """Append a line to a file, to which other processes may append at the same time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(descriptor, f"\n{json.dumps(result)}\n".encode())  # the line before may have been cut short
    finally:
        os.close(descriptor)


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
