"""A study that is killed: `python -m benchmarks.chaos.victim FILE LOGS METHOD SEED LAUNCH`. Only signals end it.

The objective appends its values to one log, and the study appends its finished trials to another. Both are synced to
the disk: the oracle compares the file with them.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import bostruct as bo

METHODS = ("random", "auto", "evolution", "hyperband", "combo", "nasbot")
WORKERS = 4
FOREVER = 1_000_000


def make_domain(method: str) -> Any:
    """Return a domain for a method, with far more points than the method is asked for."""
    if method == "nasbot":
        return bo.mlp_domain()
    variables: dict[str, Any] = {f"bit{i}": bool for i in range(14)}
    variables |= {"kind": ["a", "b", "c"], "level": bo.Ordinal([1, 2, 4, 8, 16]), "count": bo.Integer(0, 99)}
    return bo.Space(variables | ({"epochs": bo.Fidelity([1, 3, 9])} if method == "hyperband" else {}))


def value_of(text: str) -> float:
    """Return the value of a point.

    text: the point as JSON.
    """
    plain = json.dumps(json.loads(text), sort_keys=True)
    return int.from_bytes(hashlib.sha256(plain.encode()).digest()[:6]) / 2**48


def append_line(file: Path, line: dict[str, Any]) -> None:
    """Append a line, and return once it is on disk."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(descriptor, (json.dumps(line) + "\n").encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def evaluate(point: Any, domain: Any, logs: Path, launch: int) -> float:
    time.sleep(random.random() * 0.04)
    text = json.dumps(domain.encode(domain.parse(point)))
    value = value_of(text)
    append_line(logs / "evaluated", {"launch": launch, "point": json.loads(text), "value": value})
    return value


def main() -> None:
    file, logs, method, seed, launch = sys.argv[1:]
    domain = make_domain(method)
    objective = partial(evaluate, domain=domain, logs=Path(logs), launch=int(launch))

    def log_told(_: bo.Study, trial: bo.Trial) -> None:
        line = {"number": trial.number, "status": trial.status, "value": trial.value, "reason": trial.reason}
        append_line(Path(logs) / "told", line)

    with bo.Study(domain, method=method, seed=int(seed), storage=file) as study:
        study.optimize(objective, FOREVER, workers=WORKERS, callbacks=log_told, progress=False)


if __name__ == "__main__":
    main()
