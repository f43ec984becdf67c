"""Method `auto` on structures as variables: seconds a suggestion.

    python -m benchmarks.speed.structures [--check]

An order of 50 cities, whose objective is the length of the round trip, and one of 200. A sequence of 32 letters of 20,
whose objective is a sum over places and over steps from a letter to the next. Data are n - 60 random points and 60
changes of the best of them. Each suggestion is told before the next is timed.
"""

from __future__ import annotations

import numpy as np

import bostruct as bo
from benchmarks.speed.mixed import time_suggestions
from benchmarks.speed.report import Row, at_most, main, median, plain_row
from bostruct.contracts import Array, IntArray

SECONDS = {100: 0.2, 300: 0.5}
LONG = 200  # cities of an order without a limit
LETTERS = 20
SUGGESTIONS = 9


def measure(miniature: bool) -> list[Row]:
    repeats = 2 if miniature else SUGGESTIONS
    rows = []
    for name, (variable, objective) in STRUCTURES.items():
        for n, limit in ({15: np.inf} if miniature else SECONDS).items():
            seconds = time_suggestions(bo.Space({"structure": variable}), objective, n, repeats)
            rows.append(at_most(f"{name}: median suggestion, CPU, n = {n}", limit, median(seconds), " s"))
            rows.append(plain_row(f"{name}: slowest suggestion, n = {n}", f"{max(seconds):.3g} s"))
    if not miniature:
        seconds = time_suggestions(bo.Space({"order": bo.Permutation(range(LONG))}), measure_trips, 100, 3)
        rows.append(plain_row(f"order of {LONG}: median suggestion, CPU, n = 100", f"{median(seconds):.3g} s"))
    return rows


def measure_trips(space: bo.Space, xs: IntArray) -> Array:
    """Return the length of the round trip through random cities, for each of m orders (m,)."""
    cities = np.random.default_rng(space.n_columns).random((space.n_columns, 2))[xs]
    return np.linalg.norm(cities - np.roll(cities, 1, axis=1), axis=2).sum(axis=1)


def sum_steps(space: bo.Space, xs: IntArray) -> Array:
    """Return a sum of random numbers, one for each letter in its place and one for each step, for m sequences (m,)."""
    rng = np.random.default_rng(space.n_columns)
    of_places, of_steps = rng.normal(size=(space.n_columns, LETTERS)), rng.normal(size=(LETTERS, LETTERS))
    return of_places[np.arange(space.n_columns), xs].sum(axis=1) + of_steps[xs[:, :-1], xs[:, 1:]].sum(axis=1)


STRUCTURES = {
    "order of 50": (bo.Permutation(range(50)), measure_trips),
    f"sequence of 32 of {LETTERS} letters": (bo.Sequence(range(LETTERS), 32), sum_steps),
}

if __name__ == "__main__":
    main("auto on structures", measure)
