"""Suggestions of peers beside `auto`: CPU seconds of one, before 50 and 100 evaluations.

    PEERS=PYTHON python -m benchmarks.speed.anchors [--check]

PYTHON is an interpreter with the peers and this package, such as `benchmarks.peers` has; without it, this one. A peer
that it lacks is left out. A suggestion is the mean of the ten before, of a run from ten shared points; a run ends after
two CPU minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np

from benchmarks.peers.groups import ALL_SEARCHES, make_task
from benchmarks.peers.run import N_INITIAL, ROOT, draw_initial, environment, is_missing, time_search
from benchmarks.speed.report import YARDSTICK, Row, main, plain_row

PROBLEMS = ("max-3-sat 60/300", "nk 30x5", "ackley, categories")
SEARCHES = ("auto", "Optuna GP", "BoTorch", "HEBO", "Ax", "Optuna TPE")
NUMBERS = (50, 100)
COUNTED = 10  # suggestions
MOST_SECONDS = 120.0  # of CPU for a run


def measure(miniature: bool) -> list[Row]:
    python, rows = os.environ.get("PEERS", sys.executable), []
    for problem in PROBLEMS[:1] if miniature else PROBLEMS:
        for search in SEARCHES[:1] if miniature else SEARCHES:
            YARDSTICK.take()
            words = ["-m", "benchmarks.speed.anchors", "--child", problem, search, str(12 if miniature else 101)]
            done = subprocess.run([python, *words], cwd=ROOT, env=environment(ROOT), capture_output=True, text=True)
            if done.returncode and is_missing(done.stderr):
                continue
            if done.returncode:
                raise RuntimeError(f"{search} on {problem}:\n{done.stderr[-3000:]}")
            shown = _describe(json.loads(done.stdout.splitlines()[-1]))
            rows.append(plain_row(f"{problem}: {search}", shown)._replace(factor=YARDSTICK.read()))
    return rows


def _describe(seconds: list[float]) -> str:
    """Return the means before `NUMBERS` evaluations, and before the last one if the run was ended."""
    ends = [n for n in NUMBERS if n <= len(seconds)]
    ends += [len(seconds)] * (len(ends) < len(NUMBERS))
    means = [float(np.mean(seconds[max(n - COUNTED, N_INITIAL) : n])) for n in ends]
    ended = "" if ends[-1] == NUMBERS[-1] else f" before {ends[-1]}, where the run ended"
    return ", ".join(f"{mean:.3g} s" for mean in means) + ended


def child(problem: str, search: str, trials: str) -> list[float]:
    """Return the CPU seconds of each suggestion of a run."""
    task = make_task(problem, 0, None)
    steps = ALL_SEARCHES[search](task, draw_initial(task.space, 0), 0)
    return time_search(steps, task.value, int(trials), MOST_SECONDS)[1]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(*sys.argv[2:])))
    else:
        main("Peers beside auto", measure)
