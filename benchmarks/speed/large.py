"""Method `auto` on many bits: seconds per suggestion.

    python -m benchmarks.speed.large [--check]

The objective is the weight of unsatisfied random clauses, five for each bit. Data are random points, and 60 changes of
the best point. The value of each suggestion is observed before the next. The first suggestion, which fits a new model,
counts among the slowest. A trial is `ask` and `tell` of a study in memory of 6,000 bits with the method `random`.
"""

from __future__ import annotations

import numpy as np

import bostruct as bo
from benchmarks.speed.report import Row, at_most, main, suggestion_rows, time_call
from bostruct.contracts import Array, IntArray
from bostruct.methods.auto import auto
from bostruct.study.history import History

SECONDS = {(300, 200): 1.0, (1_000, 200): 2.0, (1_000, 1_000): 5.0, (6_000, 200): 10.0, (6_000, 20_000): 10.0}
SUGGESTIONS = 5
TRIALS = 50
TRIAL_SECONDS = 0.05
NEAR = 60  # points of the data that are changes of the best point
CLAUSES = 5  # for each bit


class Clauses:
    """The weight of unsatisfied random clauses of three bits.

    d: number of bits.
    """

    def __init__(self, d: int) -> None:
        rng = np.random.default_rng(0)
        self.bits = rng.integers(d, size=(CLAUSES * d, 3))
        self.falsified = rng.integers(2, size=self.bits.shape)
        self.weights = rng.random(len(self.bits))

    def __call__(self, xs: IntArray) -> Array:
        """Return the weight at m points (m,)."""
        return np.array([(x[self.bits] == self.falsified).all(axis=1) @ self.weights for x in xs])


def measure(miniature: bool) -> list[Row]:
    rows = []
    for (d, n), limit in ({(120, 15): np.inf} if miniature else SECONDS).items():
        seconds = _suggestion_seconds(d, n, 2 if miniature else SUGGESTIONS)
        rows += suggestion_rows(f"{d} bits: ", n, seconds, limit)
    d, n = (120, 3) if miniature else (6_000, TRIALS)
    limit = np.inf if miniature else TRIAL_SECONDS
    rows.append(at_most(f"{d} bits: a trial of a study without a model, CPU", limit, _trial_seconds(d, n), " s"))
    return rows


def _suggestion_seconds(d: int, n: int, repeats: int) -> list[float]:
    """Return CPU seconds of consecutive suggestions; the value of each is observed before the next."""
    space, evaluate = bo.Space({f"b{i}": bool for i in range(d)}), Clauses(d)
    searcher, xs = auto(space), _data(space, evaluate, n)
    values, state, seconds = evaluate(xs), searcher.initial_state(), []
    for seed in range(repeats):
        history = History.of(space, xs, values)
        found = time_call(
            lambda history=history, state=state, seed=seed: searcher.suggest(
                history, state, np.random.default_rng(seed)
            )
        )
        state = found.value.state
        xs = space.join(xs, found.value.point[None])
        values = np.append(values, evaluate(xs[-1:]))
        seconds.append(found.cpu)
    return seconds


def _data(space: bo.Space, evaluate: Clauses, n: int) -> IntArray:
    """Return the n observed points."""
    rng = np.random.default_rng(0)
    near = min(NEAR, n // 2)
    xs = space.sample(n - near, rng)
    best = xs[int(np.argmin(evaluate(xs)))]
    return space.join(xs, space.sample_neighbors(best, near, rng))


def _trial_seconds(d: int, n: int) -> float:
    space = bo.Space({f"b{i}": bool for i in range(d)})
    study = bo.Study(space, method="random", seed=0)

    def run() -> None:
        for _ in range(n):
            study.tell(study.ask(), 1.0)

    return time_call(run).cpu / n


if __name__ == "__main__":
    main("auto on many bits", measure)
