"""Suggestions of combo, and how many times the published code takes.

    COMBO_CODE=PATH python -m benchmarks.speed.combo [--check]

PATH is a clone of the published code (`benchmarks/reference/published_combo.py`); without it the ratios are left out.
Contamination control, case 2539, on points as a search leaves them behind. Both go on from the same hyperparameters,
with ten sweeps and one search; they take turns in one process.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.reference import published_combo
from benchmarks.speed.datasets import search_data
from benchmarks.speed.report import Row, at_least, at_most, main, median, plain_row, time_call
from bostruct.methods import combo
from bostruct.problems.base import SpaceProblem
from bostruct.problems.branin import branin
from bostruct.problems.contamination import contamination
from bostruct.study.history import History
from bostruct.surrogates.hyperparameters import Hyperparameters

CASE = 2539
COMPARED = {50: 100.0, 100: 100.0, 150: 100.0}  # training points -> the least ratio
LARGEST, SECONDS = 270, 0.5
CALLS = 3  # of ours on either side of one of the published code
REPEATS = 3
BURN_IN = 100


class Task(NamedTuple):
    """A searcher, what it was told, and its state once the chain has burned in."""

    searcher: Any
    history: History
    state: Any

    def seconds(self, seed: int) -> float:
        """CPU of one suggestion of the model."""
        call = time_call(lambda: self.searcher.suggest(self.history, self.state, np.random.default_rng(seed)))
        assert call.value.info["origin"] == "model"
        return call.cpu


def prepare(problem: SpaceProblem, xs: Any, burn_in: int) -> Task:
    values = problem.evaluate(xs)
    searcher = combo(problem.space, n_initial=1)
    surrogate: Any = replace(searcher.surrogate, burn_in=burn_in)  # pyright: ignore[reportArgumentType]
    _, learned, _ = surrogate.condition(xs, values, None, np.random.default_rng(1))
    task = Task(searcher, History.of(problem.space, xs, values), {"surrogate": learned})
    task.seconds(0)  # what is made once in a process
    return task


def compare(task: Task, n: int, required: float) -> list[Row]:
    """Both in turns: ours before and after each suggestion of the published code."""
    start = Hyperparameters.from_json(task.state["surrogate"])
    ours, ratios, theirs = [], [], []
    for repeat in range(REPEATS):
        around = [task.seconds(10 * repeat + i) for i in range(CALLS)]
        spent = published_combo.suggest(task.history.completed, task.history.values, start, repeat)
        around += [task.seconds(10 * repeat + CALLS + i) for i in range(CALLS)]
        ours.append(median(around))
        theirs.append(spent)
        ratios.append(sum(spent) / ours[-1])
    fit, search = (median(column) for column in zip(*theirs, strict=True))
    spread = f"{min(ratios):.0f} to {max(ratios):.0f}; {fit:.3g} + {search:.3g} s, {median(ours):.3g} s"
    return [
        at_least(f"published code / combo, CPU, n = {n}", required, median(ratios)),
        plain_row(f"ratios; the published code's samples and search, ours, n = {n}", spread),
    ]


def measure(miniature: bool) -> list[Row]:
    problem, rows = contamination(case=CASE), []
    burn_in = 1 if miniature else BURN_IN
    for n, required in {30: 0.0}.items() if miniature else COMPARED.items():
        task = prepare(problem, search_data(problem, n, seed=17)[0], burn_in)
        if published_combo.is_at_hand():
            rows += compare(task, n, required)
        else:
            rows.append(
                plain_row(f"one suggestion, CPU, n = {n}", f"{median(list(map(task.seconds, range(9)))):.3g} s")
            )
    n = 40 if miniature else LARGEST
    task = prepare(problem, search_data(problem, n, seed=17)[0], burn_in)
    found = median(list(map(task.seconds, range(1 if miniature else 9))))
    rows.append(at_most(f"one suggestion, CPU, n = {n}", np.inf if miniature else SECONDS, found, " s"))
    grid = branin()
    points = grid.space.enumerate()[np.random.default_rng(17).permutation(grid.space.size)[: 20 if miniature else 100]]
    found = median(list(map(prepare(grid, points, burn_in).seconds, range(1 if miniature else 9))))
    return [*rows, plain_row(f"one suggestion, CPU, Branin, n = {len(points)}", f"{found:.3g} s")]


if __name__ == "__main__":
    main("Suggestions of combo", measure)
