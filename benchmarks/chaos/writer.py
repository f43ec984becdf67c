"""One of several writers: `python -m benchmarks.chaos.writer STORAGE LOGS METHOD WAY SEED N_TRIALS KEY LIMITS`.

It logs the start and end of each evaluation and the trial that each `tell` returns, in its own files, which are synced
to the disk: the oracle compares them with the storage.
"""

from __future__ import annotations

import json
import random
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import bostruct as bo
from benchmarks.chaos.victim import append_line, make_domain, value_of
from bostruct.contracts import NotWanted
from bostruct.storage.postgresql import connecting

METHODS = ("random", "evolution", "hill-climbing", "auto")
WAYS = ("workers=1", "workers=2", "by hand")
PAUSE = 0.02  # seconds between two checks of the other writers' progress
AHEAD = 0.3  # share of the trials of a loop by hand after which a point is prefetched
LAST = 10  # last trials, for which no point is prefetched, since no writer would ask for it


def evaluate(point: Any, domain: Any, log: Path) -> float:
    """Return the value of a point after some milliseconds, and log the start and the end.

    point: the point as the objective receives it.
    domain: the domain of the point.
    log: receives one line for the start and one for the end.
    """
    encoded = domain.encode(domain.parse(point))
    append_line(log, {"event": "begin", "point": encoded, "at": time.monotonic()})
    time.sleep(random.uniform(0.003, 0.04))
    value = value_of(json.dumps(encoded))
    append_line(log, {"event": "end", "point": encoded, "at": time.monotonic()})
    return value


def log_told(trial: bo.Trial, log: Path) -> None:
    """Log a trial as `tell` returned it."""
    line = {name: getattr(trial, name) for name in ("number", "status", "value", "reason")}
    append_line(log, line | {"at": time.monotonic()})


def run_by_hand(study: bo.Study, objective: Any, n_trials: int, log: Path) -> None:
    """Ask, tell and prefetch some points until `n_trials` trials have finished, counting those of other writers."""
    while True:
        try:
            with study.ask_lock(lambda: study.n_finished + study.n_remote < n_trials):
                trial = study.ask()
        except NotWanted:
            if study.n_finished >= n_trials:
                return
            time.sleep(PAUSE)
        else:
            log_told(study.tell(trial, objective(trial.point)), log)
            if study.n_finished + study.n_remote + LAST < n_trials and random.random() < AHEAD:
                study.prefetch(1)


def main() -> None:
    storage, logs, method, way, seed, n_trials, key, given = sys.argv[1:]
    for name, seconds in json.loads(given).items():  # before modules that read them are imported
        setattr(connecting, name, seconds)
    domain, log = make_domain(method), Path(logs) / f"told-{key}"
    objective = partial(evaluate, domain=domain, log=Path(logs) / f"evaluated-{key}")
    with bo.Study(domain, method=method, seed=int(seed), storage=storage) as study:
        append_line(Path(logs) / f"owner-{key}", {"owner": study._ledger.owner})
        if way == "by hand":
            run_by_hand(study, objective, int(n_trials), log)
        else:
            study.optimize(
                objective,
                int(n_trials),
                workers=int(way.rpartition("=")[2]),
                callbacks=lambda _, trial: log_told(trial, log),
                progress=False,
            )


if __name__ == "__main__":
    main()
