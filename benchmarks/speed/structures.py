"""Method `auto` on structures as variables: seconds a suggestion.

    python -m benchmarks.speed.structures [--check]

An order of 50 cities, whose objective is the length of the round trip, and one of 200; a table of 10,000 rows with 10
numbers, or with fingerprints of 1,024 bits. Data are n - 60 random points and 60 changes of the best of them. Each
suggestion is told before the next is timed.
"""

from __future__ import annotations

import numpy as np

import bostruct as bo
from benchmarks.speed.mixed import time_suggestions
from benchmarks.speed.report import Row, at_most, main, median, plain_row
from bostruct.contracts import Array, IntArray

SECONDS = {100: 0.2, 300: 0.5}
ROWS = 10_000  # of a table
LONG = 200  # cities of an order without a limit
SUGGESTIONS = 9


def measure(miniature: bool) -> list[Row]:
    repeats = 2 if miniature else SUGGESTIONS
    space, rows = bo.Space({"order": bo.Permutation(range(50))}), []
    for n, limit in ({15: np.inf} if miniature else SECONDS).items():
        seconds = time_suggestions(space, measure_trips, n, repeats)
        rows.append(at_most(f"order of 50: median suggestion, CPU, n = {n}", limit, median(seconds), " s"))
        rows.append(plain_row(f"order of 50: slowest suggestion, n = {n}", f"{max(seconds):.3g} s"))
    if not miniature:
        seconds = time_suggestions(bo.Space({"order": bo.Permutation(range(LONG))}), measure_trips, 100, 3)
        rows.append(plain_row(f"order of {LONG}: median suggestion, CPU, n = 100", f"{median(seconds):.3g} s"))
    return rows + measure_tables(300 if miniature else ROWS, (15,) if miniature else tuple(SECONDS), repeats)


def measure_tables(n_rows: int, told: tuple[int, ...], repeats: int) -> list[Row]:
    """Return how long a suggestion of a row takes, which scores all rows.

    n_rows: of the table.
    told: numbers of points told.
    repeats: suggestions timed.
    """
    rng, rows = np.random.default_rng(0), []
    tables = {"10 numbers": rng.normal(size=(n_rows, 10)), "1,024 bits": rng.integers(0, 2, (n_rows, 1_024))}
    for name, table in tables.items():
        space = bo.Space({"row": bo.Candidates(table)})
        worth = table[:, :5].astype(np.float64) @ rng.normal(size=5)
        for n in told:
            seconds = time_suggestions(space, lambda _, xs, worth=worth: worth[xs[:, 0]], n, repeats)
            label = f"{n_rows:,} rows of {name}: median suggestion, CPU, n = {n}"
            rows.append(plain_row(label, f"{median(seconds):.3g} s"))
    return rows


def measure_trips(space: bo.Space, xs: IntArray) -> Array:
    """Return the length of the round trip through random cities, for each of m orders (m,)."""
    cities = np.random.default_rng(space.n_columns).random((space.n_columns, 2))[xs]
    return np.linalg.norm(cities - np.roll(cities, 1, axis=1), axis=2).sum(axis=1)


if __name__ == "__main__":
    main("auto on structures", measure)
