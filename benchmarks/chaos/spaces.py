"""Generated spaces: suggestions are feasible, new, and independent of the hash seed and the number of threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.chaos.results import ROOT
from benchmarks.chaos.row import Row, Verdict, make_rng, numbered

SPACES_PER_CASE = 10
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def run_case(case: str, _: Path) -> Verdict:
    """Compare the suggestions of two processes."""
    verdict, rng = Verdict(), make_rng("spaces", case)
    first = run_suggestions(int(case) * SPACES_PER_CASE, SPACES_PER_CASE, 0, 1)
    again = run_suggestions(
        int(case) * SPACES_PER_CASE, SPACES_PER_CASE, int(rng.integers(1, 1000)), int(rng.integers(1, 3))
    )
    compare(first, again, SPACES_PER_CASE, verdict)
    return verdict


def compare(first: list[dict[str, Any]], again: list[dict[str, Any]], count: int, verdict: Verdict) -> None:
    """Blame the faults of the first run, and its differences from the second, which has the same faults."""
    if len(first) != count or len(again) != count:
        verdict.blame("broken case", f"{len(first)} and {len(again)} of {count} spaces were finished")
    for one, other in zip(first, again, strict=False):
        for kind, text in one["faults"]:
            verdict.blame(kind, text)
        slow = any(kind == "hangs" for kind, _ in one["faults"] + other["faults"])
        if not slow and (one["points"] != other["points"] or one["refusals"] != other["refusals"]):
            verdict.blame("nondeterministic", f"seed {one['seed']}: {one['points']} and {other['points']}")
        verdict.count("suggestions", one["suggestions"])
        verdict.count("refusals in words", len(one["refusals"]))


def run_suggestions(first: int, count: int, hash_seed: int, threads: int) -> list[dict[str, Any]]:
    """Return the lines of benchmarks.chaos.suggestions for `count` spaces.

    first: seed of the first space.
    hash_seed: seed of Python's string hashes.
    threads: number of threads that libraries read from the environment.
    """
    given = dict.fromkeys(THREADS, str(threads)) | {"PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.chaos.suggestions", str(first), str(count)],
        cwd=ROOT,
        env=os.environ | given,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


SPACES = Row(
    name="spaces",
    what="generated spaces, constraints from loose to one point in 100,000; two methods each, twice, with another hash "
    "seed and other threads",
    kinds=(
        "infeasible",
        "repeated",
        "nondeterministic",
        "exhausted too soon",
        "over the limit of calls",
        "hangs",
        "tracebacks",
    ),
    cases=numbered(1000),
    short=("0",),
    run=run_case,
    per_case=SPACES_PER_CASE,
)
