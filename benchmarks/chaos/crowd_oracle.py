"""Check a study that several processes write: compare its storage with the logs of the processes."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import combinations
from typing import Any, NamedTuple

import bostruct as bo
from benchmarks.chaos.crowd import Crowd, point_of
from benchmarks.chaos.kills import TWICE_RUNNING
from benchmarks.chaos.oracle import Rows, check_numbers, check_told, find_first, plain_point
from benchmarks.chaos.row import Verdict
from benchmarks.chaos.victim import value_of

DEAD_WORKER = "its worker process died"


class Evaluation(NamedTuple):
    """One evaluation of a point, timed by the machine's monotonic clock.

    point: the point as JSON text.
    key: key of the launch that evaluated it.
    begin: start of the evaluation.
    over: end of the evaluation, or when its owner was sent a fatal signal if that is earlier; infinite before.
    """

    point: str
    key: str
    begin: float
    over: float


def read_evaluations(crowd: Crowd) -> list[Evaluation]:
    """Return all evaluations of a crowd, sorted by their start."""
    found = []
    for launch in crowd.launches:
        open_ones: dict[str, float] = {}
        for line in crowd.read_evaluated(launch):
            point = point_of(line)
            if line["event"] == "begin":
                open_ones[point] = line["at"]
            else:
                over = min(line["at"], launch.signaled)
                found.append(Evaluation(point, launch.key, open_ones.pop(point), over))
        found += [Evaluation(point, launch.key, begin, launch.signaled) for point, begin in open_ones.items()]
    return sorted(found, key=lambda one: one.begin)


def judge(crowd: Crowd, when: str, allowed: int, verdict: Verdict) -> Rows:
    """Compare the storage with the logs of all launches, and return its trials.

    crowd: the writers, some of which may be running.
    when: description of the moment, for messages.
    allowed: how many trials may have failed with their worker.
    verdict: takes the faults.
    """
    finished, evaluations = crowd.read_told(), read_evaluations(crowd)  # before the rows, which then contain them all
    try:
        rows = crowd.place.read()
        with bo.Study.load(crowd.place.storage, read_only=True) as study:
            n_read = len(study.trials)
    except Exception as error:
        verdict.blame("damage", f"{when}: {error!r}")
        return []
    if n_read < len(rows):
        verdict.blame("damage", f"{when}: bostruct reads {n_read} of {len(rows)} rows")
    check_numbers(rows, value_of, verdict)
    check_told(rows, finished, verdict)
    check_doubles(rows, crowd.place.may_double, verdict)
    check_evaluations(rows, finished, evaluations, crowd.place.may_double, verdict)
    check_failures(rows, crowd, allowed, verdict)
    return rows


def check_doubles(rows: Rows, may_double: bool, verdict: Verdict) -> None:
    """Blame doubles of another point, of a trial that was never requeued, and in a place without leases.

    rows: rows of the storage.
    may_double: see `Place`.
    verdict: takes the faults.
    """
    for row in rows:
        if (number := find_first(row)) is None:
            continue
        first = rows[number]
        if plain_point(first["point"]) != plain_point(row["point"]):
            verdict.blame("twice", f"{row} is marked as a double of another point, {first}")
        if not may_double or json.loads(first["info"]).get("attempts", 1) < 2:
            verdict.blame("twice", f"{row} doubles a trial that was never requeued: {first}")


def check_evaluations(
    rows: Rows, finished: Rows, evaluations: list[Evaluation], may_double: bool, verdict: Verdict
) -> None:
    """Blame evaluations of a point that no trial has, after its trial has finished, or at the same time as another.

    rows: rows of the storage.
    finished: logs of the trials that `tell` returned.
    evaluations: evaluations of all launches.
    may_double: see `Place`.
    verdict: takes the faults.
    """
    points = {row["number"]: plain_point(row["point"]) for row in rows}
    stored = set(points.values())
    doubled = {points[row["number"]] for row in rows if may_double and row["attempts"] > 1}  # by a late writer
    done: dict[str, float] = {}
    for line in finished:
        point = points.get(line["number"], "")
        done[point] = min(line["at"], done.get(point, math.inf))
    by_point: dict[str, list[Evaluation]] = {}
    for one in evaluations:
        by_point.setdefault(one.point, []).append(one)
        if one.point not in stored:
            verdict.blame("lost", f"launch {one.key} evaluated {one.point}, which no trial has")
        if one.begin > done.get(one.point, math.inf) and one.point not in doubled:
            verdict.blame("twice", f"launch {one.key} evaluated {one.point}, which had finished")
    for first, second in (pair for ones in by_point.values() for pair in combinations(ones, 2)):
        if second.begin < first.over and first.point not in doubled:
            verdict.blame("side by side", f"{second} during {first}, whose owner was alive")


def check_failures(rows: Rows, crowd: Crowd, allowed: int, verdict: Verdict) -> None:
    """Blame failures, except of trials that ran in two killed writers, and of trials whose worker was killed.

    rows: rows of the storage.
    crowd: the writers, with all launches.
    allowed: how many trials may have failed with their worker.
    verdict: takes the faults.
    """
    ended = sum(launch.signaled < math.inf for launch in crowd.launches)
    failed = [row for row in rows if row["status"] == "failed"]
    kinds = Counter(_name_failure(row, ended) for row in failed)
    if kinds[DEAD_WORKER] > allowed:
        verdict.blame("innocent failures", f"{kinds[DEAD_WORKER]} failed with {allowed} workers")
    for row in failed:
        if _name_failure(row, ended) is None:
            verdict.blame("innocent failures", row)


def _name_failure(row: dict[str, Any], ended: int) -> str | None:
    if row["reason"] == TWICE_RUNNING and row["attempts"] >= 2 and ended >= 2:
        return TWICE_RUNNING
    return DEAD_WORKER if row["reason"].startswith(DEAD_WORKER) else None


def check_leases(rows: Rows, crowd: Crowd, asked: float, when: str, verdict: Verdict) -> None:
    """Blame running trials of an ended writer whose lease is over.

    rows: rows of the storage, after another writer has asked.
    crowd: the writers, with all launches.
    asked: when the other writer asked, or later.
    when: description of the moment, for messages.
    verdict: takes the faults.
    """
    over = [launch for launch in crowd.launches if crowd.place.find_due(launch.ended) <= asked]
    gone = {crowd.read_owner(launch) for launch in over} - {None}
    for row in rows:
        if row["status"] == "running" and row["owner"] in gone:
            verdict.blame("stale leases", f"{when}: {row}")


def check_end(rows: Rows, n_trials: int, verdict: Verdict) -> None:
    """Blame a study whose last launch left running trials or a wrong number of finished trials.

    rows: rows of the storage.
    n_trials: expected number of finished trials, without doubles.
    verdict: takes the faults.
    """
    running = [row["number"] for row in rows if row["status"] == "running"]
    finished = sum(row["status"] != "running" and find_first(row) is None for row in rows)
    if running or finished != n_trials:
        verdict.blame("broken runs", f"{finished} of {n_trials} trials are finished at the end; these run: {running}")
