"""Method `auto` on categories and orders: seconds per suggestion, on four problems of `benchmarks.peers`.

    python -m benchmarks.speed.choices [--check]

NK landscapes of 30 variables of 5 choices, pest control, rough Ackley on 20 ordinals of 11 levels, and a bowl on 30
ordinals of 6 levels, see docs/evidence/peers.md. The limits are the limits for bits (`benchmarks.speed.auto`). Data are
n - 60 random points and 60 changes of the best point. The value of each suggestion is observed before the next.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import bostruct as bo
from benchmarks.peers.groups import make_task
from benchmarks.peers.tasks import Task
from benchmarks.speed.auto import SECONDS
from benchmarks.speed.mixed import Objective, rate_suggestions
from benchmarks.speed.report import Row, main
from bostruct.contracts import Array, IntArray

PROBLEMS = ("nk 30x5", "pest", "ackley 20x11, rough", "bowl 30x6")
NUMBERS = (100, 300, 1_000, 2_000)


def measure(miniature: bool) -> list[Row]:
    limits = {15: np.inf} if miniature else {n: SECONDS[n] for n in NUMBERS}
    rows = []
    for problem in PROBLEMS:
        task = make_task(problem, 0, None)
        rows += rate_suggestions(problem, task.space, evaluate_each(task), limits, miniature)
    return rows


def evaluate_each(task: Task) -> Objective:
    """Return the objective of a task as a function (space, m points) -> m values; each point is evaluated once.

    task: to evaluate.
    """

    @cache
    def value_of(columns: tuple[int, ...]) -> float:
        return task.value(task.space.present(np.array(columns)))

    def evaluate(_: bo.Space, xs: IntArray) -> Array:
        return np.array([value_of(tuple(x)) for x in np.asarray(xs).tolist()])

    return evaluate


if __name__ == "__main__":
    main("auto on categories and orders", measure)
