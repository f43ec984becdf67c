"""Suggestions of peers and of `auto`: CPU seconds per suggestion, before 50 and 100 evaluations.

    PEERS=PYTHON:PYTHON python -m benchmarks.speed.anchors [--check]

PYTHON is an interpreter with peers and this package, as for `benchmarks.peers`; by default the running interpreter. The
first that has a peer runs it; a peer that none has is left out. Figures are means over the ten previous suggestions of
a run from ten shared points; a run ends after one CPU minute.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np

from benchmarks.peers.options import runs_python
from benchmarks.peers.run import N_INITIAL, Run, evaluate, take_apart
from benchmarks.speed.report import YARDSTICK, Row, main, plain_row

PROBLEMS = ("max-3-sat 60/300", "nk 30x5", "ackley, categories")
SEARCHES = ("auto", "Optuna GP", "BoTorch", "HEBO", "Ax", "Casmopolitan", "Optuna TPE")
NUMBERS = (50, 100)
COUNTED = 10  # suggestions of a mean
MOST_SECONDS = 60.0  # of CPU for a run


def measure(miniature: bool) -> list[Row]:
    pythons, rows = os.environ.get("PEERS", sys.executable).split(os.pathsep), []
    if wrong := [one for one in pythons if not runs_python(one)]:
        raise SystemExit(f"PEERS: expected interpreters that have numpy and scipy; got {', '.join(wrong)}")
    for problem in PROBLEMS[:1] if miniature else PROBLEMS:
        for search in SEARCHES[:1] if miniature else SEARCHES:
            YARDSTICK.take()
            run = Run(problem, search, 0, 12 if miniature else 101)
            tries = (take_apart("benchmarks.speed.anchors", run, one, MOST_SECONDS, None) for one in pythons)
            found: Any = next((one for one in tries if "missing" not in one), None)
            if found is None:
                continue
            rows.append(plain_row(f"{problem}: {search}", _describe(found))._replace(factor=YARDSTICK.read()))
    return rows


def _describe(seconds: list[float]) -> str:
    """Return the means before `NUMBERS` evaluations, and before the last evaluation if the run was cut."""
    ends = [n for n in NUMBERS if n <= len(seconds)]
    ends += [len(seconds)] * (len(ends) < len(NUMBERS))
    means = [float(np.mean(seconds[max(n - COUNTED, N_INITIAL) : n])) for n in ends]
    ended = "" if ends[-1] == NUMBERS[-1] else f" before {ends[-1]}, where the run ended"
    return ", ".join(f"{mean:.3g} s" for mean in means) + ended


if __name__ == "__main__":
    if len(sys.argv) == 6:  # called by `take_apart`
        problem, search, seed, trials, seconds = sys.argv[1:]
        print(json.dumps(evaluate(Run(problem, search, int(seed), int(trials)), float(seconds), None)[1]))
    else:
        main("Peers beside auto", measure)
