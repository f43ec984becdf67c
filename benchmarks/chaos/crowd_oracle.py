"""What must hold of a study that several processes write, by what its storage holds and what they logged."""

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
    """One evaluation of a point, on one clock of the machine.

    point: JSON text.
    key: of the launch whose evaluation it is.
    begin: when it began.
    over: when it had ended, or its owner was sent a signal that ends it, whichever was first; infinite before.
    """

    point: str
    key: str
    begin: float
    over: float


def read_evaluations(crowd: Crowd) -> list[Evaluation]:
    """Return all evaluations of a crowd, by the time at which they began."""
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

    crowd: some of whose writers may be at work.
    when: for messages.
    allowed: how many trials may have failed with their worker.
    verdict: takes the faults.
    """
    told, evaluations = crowd.read_told(), read_evaluations(crowd)  # before the rows, which then hold all of it
    try:
        rows = crowd.place.read()
        with bo.Study.load(crowd.place.storage, read_only=True) as study:
            n_read = len(study.trials)
    except Exception as error:
        verdict.blame("damage", f"{when}: {error!r}")
        return []
    if n_read < len(rows):
        verdict.blame("damage", f"{when}: {len(rows)} rows, of which bostruct reads {n_read}")
    check_numbers(rows, value_of, verdict)
    check_told(rows, told, verdict)
    check_doubles(rows, crowd.place.may_double, verdict)
    check_evaluations(rows, told, evaluations, crowd.place.may_double, verdict)
    check_failures(rows, crowd, allowed, verdict)
    return rows


def check_doubles(rows: Rows, may_double: bool, verdict: Verdict) -> None:
    """Blame doubles of other points, of trials that were never handed out again, and where no lease can end.

    rows: of the storage.
    may_double: as of `Place`.
    verdict: takes the faults.
    """
    for row in rows:
        if (number := find_first(row)) is None:
            continue
        first = rows[number]
        if plain_point(first["point"]) != plain_point(row["point"]):
            verdict.blame("twice", f"{row} is called a double of another point, {first}")
        if not may_double or json.loads(first["info"]).get("attempts", 1) < 2:
            verdict.blame("twice", f"{row} doubles a trial whose lease nobody took over: {first}")


def check_evaluations(
    rows: Rows, told: Rows, evaluations: list[Evaluation], may_double: bool, verdict: Verdict
) -> None:
    """Blame points that no trial has, evaluations after their trial was told, and two of them side by side.

    rows: of the storage.
    told: logs of what `tell` returned from.
    evaluations: of all launches.
    may_double: as of `Place`.
    verdict: takes the faults.
    """
    points = {row["number"]: plain_point(row["point"]) for row in rows}
    known = set(points.values())
    doubled = {points[row["number"]] for row in rows if may_double and row["attempts"] > 1}  # by a late writer
    done: dict[str, float] = {}
    for line in told:
        point = points.get(line["number"], "")
        done[point] = min(line["at"], done.get(point, math.inf))
    by_point: dict[str, list[Evaluation]] = {}
    for one in evaluations:
        by_point.setdefault(one.point, []).append(one)
        if one.point not in known:
            verdict.blame("lost", f"launch {one.key} evaluated {one.point}, which no trial has")
        if one.begin > done.get(one.point, math.inf) and one.point not in doubled:
            verdict.blame("twice", f"launch {one.key} evaluated {one.point}, which was told before")
    for first, second in (pair for ones in by_point.values() for pair in combinations(ones, 2)):
        if second.begin < first.over and first.point not in doubled:
            verdict.blame("side by side", f"{second} while {first}, whose owner lived")


def check_failures(rows: Rows, crowd: Crowd, allowed: int, verdict: Verdict) -> None:
    """Blame failures but of trials that ran in two writers that were ended, and of workers that were.

    rows: of the storage.
    crowd: with all launches.
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
    """Blame trials that a writer holds which has ended, once its lease is over.

    rows: of the storage, after another writer has asked.
    crowd: with all launches.
    asked: when it did, or later.
    when: for messages.
    verdict: takes the faults.
    """
    over = [launch for launch in crowd.launches if crowd.place.find_due(launch.ended) <= asked]
    gone = {crowd.read_owner(launch) for launch in over} - {None}
    for row in rows:
        if row["status"] == "running" and row["owner"] in gone:
            verdict.blame("stale leases", f"{when}: {row}")


def check_end(rows: Rows, n_trials: int, verdict: Verdict) -> None:
    """Blame a study that was to be finished, and is not, or has too many trials.

    rows: of the storage.
    n_trials: that were to be finished, but for doubles.
    verdict: takes the faults.
    """
    running = [row["number"] for row in rows if row["status"] == "running"]
    finished = sum(row["status"] != "running" and find_first(row) is None for row in rows)
    if running or finished != n_trials:
        verdict.blame("broken runs", f"{finished} of {n_trials} trials are finished at the end; these run: {running}")
