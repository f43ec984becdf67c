"""Suggestions of combo, and the ratio of the published code's time to combo's.

    COMBO_CODE=PATH python -m benchmarks.speed.combo [--check]

PATH is a clone of the published code (`benchmarks/reference/published_combo.py`); without it the ratios are left out.
Contamination control, case 2539, on points like those of a search. Both start from the same hyperparameters, with ten
sweeps and one search; they alternate in one process.

The parts of a suggestion are timed on bits and on 40 categories of 5 choices: the fit, the whole search, and the floor
of the search, which is to draw its random points and to bound their scores, without any local search.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo
from benchmarks.reference import published_combo
from benchmarks.speed.datasets import search_data
from benchmarks.speed.report import Row, at_least, at_most, main, median, plain_row, time_call
from bostruct.acquisition.local_search import draw_with_neighbors
from bostruct.contracts import Array, IntArray
from bostruct.methods import combo
from bostruct.problems.branin import branin
from bostruct.problems.contamination import contamination
from bostruct.problems.maxsat import max3sat
from bostruct.searchers.scores import AcquisitionScore
from bostruct.study.history import History
from bostruct.surrogates.hyperparameters import Hyperparameters

CASE = 2539
COMPARED = {50: 100.0, 100: 100.0, 150: 100.0}  # training points -> required ratio
LARGEST, SECONDS = 270, 0.5
CALLS = 3  # calls of combo before and after each call of the published code
REPEATS = 3
BURN_IN = 100
PARTS = {50: 1.0, 150: 0.5}  # training points -> limit of search / fit, unless the floor is larger


class Task(NamedTuple):
    """A searcher, its history, and its state after the burn-in of the chain."""

    searcher: Any
    history: History
    state: Any

    def seconds(self, seed: int) -> float:
        """Return the CPU seconds of one suggestion of the model."""
        call = time_call(lambda: self.searcher.suggest(self.history, self.state, np.random.default_rng(seed)))
        assert call.value.info["origin"] == "model"
        return call.cpu


def prepare(space: bo.Space, xs: IntArray, values: Array, burn_in: int) -> Task:
    searcher = combo(space, n_initial=1)
    surrogate: Any = replace(searcher.surrogate, burn_in=burn_in)  # pyright: ignore[reportArgumentType]
    _, learned, _ = surrogate.condition(xs, values, None, np.random.default_rng(1))
    task = Task(searcher, History.of(space, xs, values), {"surrogate": learned})
    task.seconds(0)  # does the work that is done once in a process
    return task


def compare(task: Task, n: int, required: float) -> list[Row]:
    """Time both alternately: combo before and after each suggestion of the published code."""
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


def split_suggestion(name: str, task: Task, limit: float) -> list[Row]:
    """Return the ratio of the search to the fit, and of its floor to the fit.

    name: of the problem, for the rows.
    limit: of the first ratio; the floor is the limit if it is larger.
    """
    searcher, history = task.searcher, task.history
    xs, values, domain, search = history.completed, history.values, searcher.domain, searcher.maximizer
    starts, seconds = xs[np.argsort(values, kind="stable")[:1]], []
    for seed in range(2 * REPEATS + 1):
        rng = np.random.default_rng(seed)
        state = task.state["surrogate"]
        fit = time_call(lambda state=state, rng=rng: searcher.surrogate.condition(xs, values, state, rng))
        score = AcquisitionScore(fit.value[0], searcher.score.acquisition, float(values.min()))
        whole = time_call(lambda score=score, rng=rng: search(score, domain, starts, rng))
        draw = partial(draw_with_neighbors, domain, search.raw_samples, search.num_spray_points, starts)
        floor = time_call(lambda score=score, rng=rng, draw=draw: score.upper_bounds(draw(rng)))
        seconds.append((fit.cpu, whole.cpu, floor.cpu))
    fit, whole, floor = (median(column) for column in zip(*seconds, strict=True))
    what = f"{name}, n = {len(values)}: search / fit, CPU"
    return [
        at_most(what, max(limit, round(floor / fit, 2)), whole / fit, "x"),
        plain_row(f"{what}; fit, search, its floor", f"{fit:.3g} s, {whole:.3g} s, {floor:.3g} s"),
    ]


def category_data(n: int) -> tuple[bo.Space, IntArray, Array]:
    """Return 40 categories of 5 choices, n points, half of them changes of the best point, and their values (n,).

    The objective is a sum of random effects of each choice and of neighboring pairs.
    """
    rng, space = np.random.default_rng(3), bo.Space({f"c{i}": list("abcde") for i in range(40)})
    pairs, singles = rng.normal(size=(39, 5, 5)), rng.normal(size=(40, 5))

    def evaluate(xs: IntArray) -> Array:
        of_pairs = sum(pairs[i, xs[:, i], xs[:, i + 1]] for i in range(39))
        return of_pairs + singles[np.arange(40), xs].sum(axis=1)

    xs = space.sample(n - n // 2, rng)
    while len(xs) < n:
        near = xs[int(np.argmin(evaluate(xs)))].copy()
        near[rng.integers(40)] = rng.integers(5)
        xs = np.concatenate([xs, near[None]])
    return space, xs, evaluate(xs)


def measure(miniature: bool) -> list[Row]:
    with_published, problem, rows = published_combo.is_at_hand(), contamination(case=CASE), []
    burn_in = 1 if miniature else BURN_IN
    for n, required in {30: 0.0}.items() if miniature else COMPARED.items():
        task = prepare(problem.space, *search_data(problem, n, seed=17), burn_in)
        if with_published:
            rows += compare(task, n, required)
        else:
            rows.append(
                plain_row(f"one suggestion, CPU, n = {n}", f"{median(list(map(task.seconds, range(9)))):.3g} s")
            )
    n = 40 if miniature else LARGEST
    task = prepare(problem.space, *search_data(problem, n, seed=17), burn_in)
    found = median(list(map(task.seconds, range(1 if miniature else 9))))
    rows.append(at_most(f"one suggestion, CPU, n = {n}", np.inf if miniature else SECONDS, found, " s"))
    grid = branin()
    points = grid.space.enumerate()[np.random.default_rng(17).permutation(grid.space.size)[: 20 if miniature else 100]]
    task = prepare(grid.space, points, grid.evaluate(points), burn_in)
    found = median(list(map(task.seconds, range(1 if miniature else 9))))
    rows.append(plain_row(f"one suggestion, CPU, Branin, n = {len(points)}", f"{found:.3g} s"))
    for n, limit in {30: np.inf}.items() if miniature else PARTS.items():
        for name, one in (("contamination", problem), ("Max-3-SAT", max3sat())):
            rows += split_suggestion(name, prepare(one.space, *search_data(one, n, seed=17), burn_in), limit)
        rows += split_suggestion("40 categories", prepare(*category_data(n), burn_in), limit)
    return rows


if __name__ == "__main__":
    main("Suggestions of combo", measure)
