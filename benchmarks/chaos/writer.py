"""One of several writers: `python -m benchmarks.chaos.writer STORAGE LOGS METHOD WAY SEED N_TRIALS KEY LIMITS`.

It logs when each evaluation begins and ends, and what each `tell` returned from, in files of its own, synced to the
disk: the oracle compares them with what the storage holds.
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
PAUSE = 0.02  # seconds between two looks at what others do
AHEAD = 0.3  # of the trials of a loop by hand, after which one more point is chosen ahead
LAST = 10  # trials before the end, among which none is, since nobody would ask for it


def evaluate(point: Any, domain: Any, log: Path) -> float:
    """Return the value of a point after some milliseconds, and log when that began and ended.

    point: as the objective receives it.
    domain: of the point.
    log: one line for the begin, and one for the end.
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
    """Ask and tell, and choose some points ahead, until so many trials have finished, whoever finishes them."""
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
    for name, seconds in json.loads(given).items():  # before the modules are imported that read them
        setattr(connecting, name, seconds)
    domain, told = make_domain(method), Path(logs) / f"told-{key}"
    objective = partial(evaluate, domain=domain, log=Path(logs) / f"evaluated-{key}")
    with bo.Study(domain, method=method, seed=int(seed), storage=storage) as study:
        append_line(Path(logs) / f"owner-{key}", {"owner": study._ledger.owner})
        if way == "by hand":
            run_by_hand(study, objective, int(n_trials), told)
        else:
            study.optimize(
                objective,
                int(n_trials),
                workers=int(way.rpartition("=")[2]),
                callbacks=lambda _, trial: log_told(trial, told),
                progress=False,
            )


if __name__ == "__main__":
    main()
