"""Method `auto` on structures as variables: seconds per suggestion.

    python -m benchmarks.speed.structures [--check]

Orders of 50 and of 200 cities; the objective is the length of the round trip. Subsets of 5 of 40 items, of 1 to 8 of 40
items, and of 500 of 1,000 items; the objective sums random weights of items and of a tenth of all pairs. A sequence of
32 letters of 20; the objective is a sum over positions and over steps from a letter to the next. A table of 10,000 rows
with 10 numbers, or with fingerprints of 1,024 bits. Data are n - 60 random points and 60 changes of the best point. The
value of each suggestion is observed before the next.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

import bostruct as bo
from benchmarks.speed.mixed import Objective, rate_suggestions, time_suggestions
from benchmarks.speed.report import Row, main, median, plain_row
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.variable import Variable

SECONDS = {100: 0.2, 300: 0.5}
SUBSET_SECONDS = {100: 0.1, 300: 0.25}
ROWS = 10_000  # of a table
LONG = 200  # cities of an order without a limit
MANY = 1_000  # items of a subset without a limit
PAIRED = 0.1  # of all pairs of items
LETTERS = 20
SUGGESTIONS = 9


def measure(miniature: bool) -> list[Row]:
    rows = _time("order of 50", bo.Permutation(range(50)), measure_trips, SECONDS, miniature)
    rows += _time("5 of 40 items", bo.Subset(range(40), 5), add_weights, SUBSET_SECONDS, miniature)
    rows += _time("1 to 8 of 40 items", bo.Subset(range(40), (1, 8)), add_weights, SUBSET_SECONDS, miniature)
    letters = bo.Sequence(range(LETTERS), 32)
    rows += _time(f"sequence of 32 of {LETTERS} letters", letters, sum_steps, SECONDS, miniature)
    if not miniature:
        for name, variable, objective in (
            (f"order of {LONG}", bo.Permutation(range(LONG)), measure_trips),
            (f"{MANY // 2} of {MANY} items", bo.Subset(range(MANY), MANY // 2), add_weights),
        ):
            seconds = time_suggestions(bo.Space({"x": variable}), objective, 100, 3)
            rows.append(plain_row(f"{name}: median suggestion, CPU, n = 100", f"{median(seconds):.3g} s"))
    return rows + _time_tables(300 if miniature else ROWS, (15,) if miniature else tuple(SECONDS), miniature)


def _time_tables(n_rows: int, sizes: tuple[int, ...], miniature: bool) -> list[Row]:
    """Return the rows of suggestions of a row of a table, each of which scores all rows."""
    rng, rows = np.random.default_rng(0), []
    tables = {"10 numbers": rng.normal(size=(n_rows, 10)), "1,024 bits": rng.integers(0, 2, (n_rows, 1_024))}
    for name, table in tables.items():
        space = bo.Space({"row": bo.Candidates(table)})
        values = table[:, :5].astype(np.float64) @ rng.normal(size=5)
        for n in sizes:
            seconds = time_suggestions(
                space, lambda _, xs, values=values: values[xs[:, 0]], n, 2 if miniature else SUGGESTIONS
            )
            label = f"{n_rows:,} rows of {name}: median suggestion, CPU, n = {n}"
            rows.append(plain_row(label, f"{median(seconds):.3g} s"))
    return rows


def _time(
    name: str, variable: Variable, objective: Objective, limits: Mapping[int, float], miniature: bool
) -> list[Row]:
    own = {15: math.inf} if miniature else limits
    return rate_suggestions(name, bo.Space({"x": variable}), objective, own, miniature, math.inf)


def add_weights(space: bo.Space, xs: IntArray) -> Array:
    """Return the sum of the weights of the items and of the pairs of items in each of m subsets (m,)."""
    rng, d = np.random.default_rng(space.n_columns), space.n_columns
    pairs = np.triu(rng.normal(size=(d, d)) * (rng.random((d, d)) < PAIRED), 1)
    bits = xs.astype(np.float64)
    return bits @ rng.normal(size=d) + np.einsum("ni,ni->n", bits @ pairs, bits)


def measure_trips(space: bo.Space, xs: IntArray) -> Array:
    """Return the length of the round trip through random cities in each of m orders (m,)."""
    cities = np.random.default_rng(space.n_columns).random((space.n_columns, 2))[xs]
    return np.linalg.norm(cities - np.roll(cities, 1, axis=1), axis=2).sum(axis=1)


def sum_steps(space: bo.Space, xs: IntArray) -> Array:
    """Return a sum of random effects of each letter at its position and of each step, for each of m sequences (m,)."""
    rng = np.random.default_rng(space.n_columns)
    positions, steps = rng.normal(size=(space.n_columns, LETTERS)), rng.normal(size=(LETTERS, LETTERS))
    return positions[np.arange(space.n_columns), xs].sum(axis=1) + steps[xs[:, :-1], xs[:, 1:]].sum(axis=1)


if __name__ == "__main__":
    main("auto on structures", measure)
