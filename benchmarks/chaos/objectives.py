"""Hostile objectives, evaluated in all four ways: each fails its own trial, and all other trials are right."""

from __future__ import annotations

import os
import sqlite3
import sys
import uuid
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bostruct as bo
from benchmarks.chaos.hostile_acting import CRASHING, HANGING, HARMLESS, value_at
from benchmarks.chaos.hostile_raising import RAISING
from benchmarks.chaos.isolation import Answer, call_isolated
from benchmarks.chaos.marks import MARK, await_end
from benchmarks.chaos.row import Row, Verdict
from bostruct.contracts import BostructError

POINTS = 12
WAYS = ("here", "workers", "threads", "processes")
KINDS = RAISING | HARMLESS | CRASHING | HANGING
TIMEOUT = 3.0  # seconds for an objective that hangs
LIMIT = 120.0
SEED = 5


@dataclass(frozen=True)
class Hostile:
    """An objective that is hostile at every third point.

    kind: a key of KINDS, or "" for an objective that is nowhere hostile.
    """

    kind: str

    def __call__(self, point: dict[str, Any]) -> Any:
        return KINDS[self.kind](point) if self.kind and is_hostile(point["x"]) else value_at(point)


def is_hostile(x: int) -> bool:
    return x % 3 == 1


def run_case(case: str, folder: Path) -> Verdict:
    """Run a study of a hostile objective in one way, and check the file with plain sqlite3."""
    kind, way = case.split(", ")
    verdict, file, mark = Verdict(), folder / "runs.db", uuid.uuid4().hex
    answer = call_isolated(lambda: run(kind, way, file, mark), LIMIT)
    expected = expect(kind, way)
    judge_end(answer, expected, verdict)
    for process in await_end(mark, 10.0):
        verdict.blame("orphans", process)
    judge_trials(read_trials(file), expected, verdict)
    if expected in ("dies", "ends"):
        again = call_isolated(lambda: run("", "here", file, mark), LIMIT)
        judge_end(again, "right", verdict)
        judge_trials(read_trials(file), "resumed", verdict)
    return verdict


def expect(kind: str, way: str) -> str:
    """Return what hostile points must cause: they fail, they are right, the process dies, or an error ends the run."""
    if kind in CRASHING and way in ("here", "threads"):
        return "dies"
    if kind in CRASHING and way == "processes":
        return "ends"
    return "right" if kind in HARMLESS else "fails"


def run(kind: str, way: str, file: Path, mark: str) -> str:
    """Run a study, and return "done", or "in words" if an error of bostruct ended the run."""
    os.environ[MARK] = mark
    sys.stdin = open(os.devnull)  # noqa: SIM115
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    warnings.simplefilter("ignore")
    given = {"method": "random", "seed": SEED, "initial_points": [{"x": 0}]}
    with bo.Study({"x": bo.Integer(0, POINTS - 1)}, storage=file, **given) as study:  # type: ignore[arg-type]
        if not study.trials:
            study.tell(study.ask(), 0.0)
        return optimize(study, Hostile(kind), way, TIMEOUT if kind in HANGING else None)


def optimize(study: bo.Study, objective: Hostile, way: str, timeout: float | None) -> str:
    try:
        if way == "here":
            study.optimize(objective, POINTS, progress=False)
        elif way == "workers":
            study.optimize(objective, POINTS, workers=2, trial_timeout=timeout, progress=False)
        else:
            kind = ThreadPoolExecutor if way == "threads" else ProcessPoolExecutor
            with kind(2) as executor:
                study.optimize(objective, POINTS, workers=2, executor=executor, progress=False)
    except BostructError:
        return "in words"
    return "done"


def judge_end(answer: Answer, expected: str, verdict: Verdict) -> None:
    """Blame a run that did not end as expected."""
    end = "dies" if (answer.trouble or "").startswith("its process ended") else answer.value
    if answer.is_slow:
        verdict.blame("hangs", answer.trouble)
    elif end != {"dies": "dies", "ends": "in words"}.get(expected, "done"):
        verdict.blame("broken runs", f"expected {expected}, got {end}: {answer.trouble}")


def read_trials(file: Path) -> dict[int, tuple[str, float | None, str | None]]:
    """Read the status, value and reason of the last trial of each x with plain sqlite3."""
    select = "SELECT json_extract(point, '$[0]'), status, value, reason FROM trials ORDER BY number"
    with closing(sqlite3.connect(file)) as connection:
        return {x: (status, value, reason) for x, status, value, reason in connection.execute(select)}


def judge_trials(trials: dict[int, tuple[str, float | None, str | None]], expected: str, verdict: Verdict) -> None:
    """Blame wrong values, failures of points that are not hostile, and values of hostile points."""
    if len(trials) < POINTS and expected in ("right", "fails", "resumed"):
        verdict.blame("broken runs", f"{len(trials)} of {POINTS} points were evaluated")
    for x, (status, value, reason) in trials.items():
        if status == "completed" and value != float(x):
            verdict.blame("wrong values", f"x={x}: {value}")
        if status in ("failed", "infeasible") and (expected == "right" or not is_hostile(x)):
            verdict.blame("innocent failures", f"x={x}: {reason}")
        if status == "completed" and expected == "fails" and is_hostile(x):
            verdict.blame("not failed", f"x={x}: {value}")
    verdict.count("trials", len(trials))


CASES = tuple(
    f"{kind}, {way}" for kind in (*RAISING, *HARMLESS, *CRASHING, *HANGING) for way in WAYS
    if kind not in HANGING or way == "workers"
)  # fmt: skip

OBJECTIVES = Row(
    name="objectives",
    what=f"{len(KINDS)} kinds of hostile objectives, in this process, in workers, on threads, on processes",
    kinds=("wrong values", "innocent failures", "not failed", "broken runs", "hangs", "orphans"),
    cases=CASES,
    short=CASES[::23],
    run=run_case,
)
