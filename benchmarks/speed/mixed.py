"""Method `auto` on numbers: seconds per suggestion, on spaces of numbers, with and without choices.

    python -m benchmarks.speed.mixed [--check]

30 reals; 10 bits, 10 categories of 5 choices and 10 reals; 10 categories, 10 reals, and 10 reals that are active for
three of the five choices of a category; and 5 categories, 5 reals, an order of 10 items and 1 to 6 of 12 items. The
objective is a sum of one effect for each column and of products of neighboring columns; an inactive real counts as 0.
Data are n - 60 random points and 60 changes of the best point, so that lengthscales differ. The value of each
suggestion is observed before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import bostruct as bo
from benchmarks.speed.report import SLOWEST, Row, main, suggestion_rows, time_call
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.variable import INACTIVE
from bostruct.methods.auto import auto
from bostruct.study.history import History

Objective = Callable[[bo.Space, IntArray], Array]
SECONDS = {100: 0.08, 300: 0.2, 1_000: 0.5}
SUGGESTIONS = 9
NEAR = 60  # points of the data that are changes of the best point
SPACES = {
    "30 reals": bo.Space({f"x{i}": bo.Real(0, 1) for i in range(30)}),
    "10 bits, 10 categories, 10 reals": bo.Space(
        {f"b{i}": bool for i in range(10)}
        | {f"c{i}": list("pqrst") for i in range(10)}
        | {f"x{i}": bo.Real(0, 1) for i in range(10)}
    ),
    "10 categories, 10 reals, 10 conditional reals": bo.Space(
        {f"c{i}": list("pqrst") for i in range(10)}
        | {f"x{i}": bo.Real(0, 1) for i in range(10)}
        | {f"y{i}": bo.Real(0, 1, when={f"c{i}": bo.OneOf("p", "q", "r")}) for i in range(10)}
    ),
    "5 categories, 5 reals, an order and a subset": bo.Space(
        {f"c{i}": list("pqrst") for i in range(5)}
        | {f"x{i}": bo.Real(0, 1) for i in range(5)}
        | {"order": bo.Permutation(range(10)), "subset": bo.Subset(range(12), (1, 6))}
    ),
}


def measure(miniature: bool) -> list[Row]:
    rows = []
    for name, space in SPACES.items():
        limits = dict.fromkeys(SECONDS, np.inf) if "order" in space.variables else SECONDS
        rows += rate_suggestions(name, space, evaluate, {15: np.inf} if miniature else limits, miniature)
    return rows


def rate_suggestions(
    name: str,
    space: bo.Space,
    objective: Objective,
    limits: Mapping[int, float],
    miniature: bool,
    slowest: float = SLOWEST,
) -> list[Row]:
    """Return rows of the median and the slowest suggestion of `auto`.

    name: of the space, for the rows.
    space, objective: see `time_suggestions`.
    limits: of the CPU seconds of the median, by the number of observed points.
    miniature: True for two suggestions instead of `SUGGESTIONS`.
    slowest: limit of the CPU seconds of the slowest suggestion.
    """
    rows = []
    for n, limit in limits.items():
        seconds = time_suggestions(space, objective, n, 2 if miniature else SUGGESTIONS)
        rows += suggestion_rows(f"{name}: ", n, seconds, limit, slowest)
    return rows


def evaluate(space: bo.Space, xs: IntArray) -> Array:
    """Return the objective at m points (m,)."""
    variables = space.variables.values()
    ends = [one.size - 1.0 if one.width == 1 else float(one.width) for one in variables for _ in range(one.width)]
    at = np.where(xs == INACTIVE, 0, xs) / np.array(ends)
    weights = 1.0 / np.arange(1, len(ends) + 1)
    effects = np.abs(at - 0.3) ** 1.5 @ weights
    return effects + 0.3 * (np.sin(5.0 * at[:, :-1]) * at[:, 1:]) @ weights[1:]


def draw_data(space: bo.Space, objective: Objective, n: int) -> IntArray:
    """Return the n observed points; the last points are changes of the best point."""
    rng = np.random.default_rng(0)
    near = min(NEAR, n // 2)
    xs = space.sample(n - near, rng)
    for _ in range(near):
        best = xs[int(np.argmin(objective(space, xs)))]
        xs = space.join(xs, space.sample_neighbors(best, 1, rng))
    return xs


def time_suggestions(space: bo.Space, objective: Objective, n: int, repeats: int) -> list[float]:
    """Return CPU seconds of consecutive suggestions of `auto`, each with all earlier values, after a warm-up.

    space: to search.
    objective: (space, m points) -> m values.
    n: number of points that are observed before the first suggestion.
    repeats: number of timed suggestions.
    """
    searcher = auto(space)
    xs = draw_data(space, objective, n)
    state, seconds = searcher.initial_state(), []
    for seed in range(repeats + 1):
        history = History.of(space, xs, objective(space, xs))
        found = time_call(
            lambda history=history, state=state, seed=seed: searcher.suggest(
                history, state, np.random.default_rng(seed)
            )
        )
        state = found.value.state
        xs = space.join(xs, found.value.point[None])
        seconds.append(found.cpu)
    return seconds[1:]


if __name__ == "__main__":
    main("auto on numbers", measure)
