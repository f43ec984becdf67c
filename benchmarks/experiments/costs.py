"""CPU seconds per suggestion of `auto` with failures, a limit or two objectives, compared with the plain case."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bostruct as bo
from benchmarks.experiments.instances import Instance, Measured, try_measure
from benchmarks.experiments.searches import Ours, list_steps
from benchmarks.peers.bits import registered
from benchmarks.peers.run import Run, describe, time_search
from benchmarks.peers.tasks import Point

PLAIN = "plain"
N_TIMED = 5  # timed suggestions, after the first one, which refits everything
MOST_TRUE = 30.0  # limit on the number of true variables, of 60
KINDS = (PLAIN, "failures", "a limit", "two objectives")


def make_instance(seed: int, data: Path | None = None, kind: str = PLAIN) -> Instance:
    """Make Max-3-SAT of 60 variables; for the kind "failures", two pairs of neighboring variables have banned values.

    seed: seed of the instance.
    data: unused.
    kind: one of `KINDS`; the number of true variables is the limited number or the second objective.
    """
    del data
    task = registered("max3sat:seed={}", seed)
    names = list(task.space.variables)

    def measure(point: Point) -> Measured:
        first, second, third, fourth = (bool(point[name]) for name in names[:4])
        if kind == "failures" and ((first and second) or (third and not fourth)):
            raise bo.Infeasible("two variables do not go together")
        value, n_true = task.value(point), float(sum(map(bool, point.values())))
        if kind == "two objectives":
            return Measured((value, n_true))
        return Measured((value,), (n_true,) if kind == "a limit" else ())

    bounds = {"true": MOST_TRUE} if kind == "a limit" else {}
    corners = ((0.0, 40.0), (0.0, float(len(names)))) if kind == "two objectives" else ()
    return Instance(task.space, measure, bounds, corners=corners, may_fail=kind == "failures")


def take_seconds(
    n: int, make: Callable[..., Instance], run: Run, most_seconds: float, data: Path | None
) -> dict[str, Any]:
    """Time suggestions of `auto` after n random points; return what `benchmarks.experiments.run.take` returns.

    n: number of random points before the first suggestion.
    make: `make_instance`.
    run: a run whose search is one of `KINDS`.
    most_seconds, data: see `benchmarks.experiments.run.take`.
    """
    instance = make(run.seed, data, run.search)
    xs = instance.space.sample(n, np.random.default_rng([run.seed, 95]))  # 60 bits: distinct points
    search = Ours("auto", instance, [instance.space.present(x) for x in xs], run.seed)
    steps: Any = list_steps(search)
    evaluate: Any = partial(try_measure, instance)
    _, seconds = time_search(steps, evaluate, run.trials, most_seconds)
    timed = round(float(np.median(seconds[n + 1 :])), 5) if len(seconds) > n + 1 else float("nan")
    found = describe(run, [timed] * len(seconds), seconds)
    return found | {"seconds": timed, "measures": {"seconds": timed}}


COSTS = {f"after {n} trials": n for n in (100, 300)}
TEXT = """\
The median CPU seconds of five suggestions of `auto` after random points of Max-3-SAT of 60 variables: plain, with
two pairs of values that fail, with a constraint on the number of true variables, and with that number as a second
objective."""
