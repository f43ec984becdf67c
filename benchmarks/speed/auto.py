"""Method `auto`: seconds per suggestion, and the quality of the suggestions.

    python -m benchmarks.speed.auto [--check]

Random weighted Max-3-SAT, 60 bits, 300 clauses, optimum 0. Suggestions are timed on the data of a search; from 10,000
points, random points are added. The first timed suggestion, which fits a new model, counts among the slowest; an
earlier suggestion does the imports of first use. Quality is the mean best value of 40 runs of 100 trials, with the
method's own initial points, and of 20 runs from 20 random points that all methods share. By the latter protocol, on
another instance of the same distribution, BoTorch's default had 4.3 and about 2.6 after 50 and 100 trials, hill
climbing 7.0 and 3.9, random search 11.2 and 10.5. The settings of `auto` were chosen among about fifteen on instances
of this distribution, so these rows are no test on new problems.
"""

from __future__ import annotations

import numpy as np

import bostruct as bo
from benchmarks.speed.datasets import search_data
from benchmarks.speed.report import SLOWEST, Row, at_most, main, plain_row, suggestion_rows, time_call
from bostruct.methods import auto
from bostruct.problems.base import SpaceProblem
from bostruct.problems.maxsat import max3sat
from bostruct.study.history import History

SECONDS = {100: 0.04, 300: 0.08, 1_000: 0.25, 2_000: 0.6, 10_000: 1.0, 100_000: 10.0}
SEARCHED = 2_000  # data of a search; more are random points
QUALITY = {50: 5.0, 100: 3.0}
SUGGESTIONS = 15
SEEDS = 40
SHARED_SEEDS = 20  # a problem has no more sets of initial points to share


def measure(miniature: bool) -> list[Row]:
    problem = max3sat()
    rows = []
    _suggestion_seconds(problem, 15, 1)  # imports
    for n, limit in ({15: np.inf} if miniature else SECONDS).items():
        seconds = _suggestion_seconds(problem, n, 2 if miniature else SUGGESTIONS)
        rows += suggestion_rows("", n, seconds, limit, SLOWEST)
    after = {21: np.inf, 22: np.inf} if miniature else QUALITY
    for method, shared in (("auto", False), ("auto", True), ("hill-climbing", True), ("random", True)):
        seeds = range(1 if miniature else SHARED_SEEDS if shared else SEEDS)
        best = np.array([_best_values(problem, method, seed, max(after), shared) for seed in seeds])
        for n, limit in after.items():
            mean, each = float(best[:, n - 1].mean()), ", ".join(f"{value:.2f}" for value in best[:, n - 1])
            begun = "20 shared points" if shared else "its own points"
            what = f"{method} from {begun}: mean best after {n} trials (each seed)"
            if not shared:
                row = at_most(what, limit, mean, "")
                rows.append(row._replace(measured=f"{row.measured} ({each})"))
            else:
                rows.append(plain_row(what, f"{mean:.3g} ({each})"))
    return rows


def _suggestion_seconds(problem: SpaceProblem, n: int, repeats: int) -> list[float]:
    """Return CPU seconds of consecutive suggestions; the value of each is observed before the next."""
    searcher = auto(problem.space)
    xs, values = search_data(problem, min(n, SEARCHED), seed=0)
    if n > SEARCHED:
        xs = problem.space.join(xs, problem.space.sample(n - SEARCHED, np.random.default_rng(0)))
        values = problem.evaluate(xs)
    state, seconds = searcher.initial_state(), []
    for seed in range(repeats):
        history = History.of(problem.space, xs, values)
        found = time_call(
            lambda history=history, state=state, seed=seed: searcher.suggest(
                history, state, np.random.default_rng(seed)
            )
        )
        suggestion = found.value
        state = suggestion.state
        xs = problem.space.join(xs, suggestion.point[None])
        values = problem.evaluate(xs)
        seconds.append(found.cpu)
    return seconds


def _best_values(problem: SpaceProblem, method: str, seed: int, n_trials: int, shared: bool) -> list[float]:
    initial = problem.initial_points(seed + 1) if shared else ()
    result = bo.minimize(
        problem, problem.space, n_trials, method=method, seed=seed, initial_points=initial, progress=False
    )
    return np.minimum.accumulate([float(trial.value) for trial in result.trials]).tolist()  # type: ignore[arg-type]


if __name__ == "__main__":
    main("auto, d = 60", measure)
