"""Method `nasbot`: seconds per suggestion, by the numbers of completed and running trials.

    python -m benchmarks.speed.nasbot [--check]

CNN architectures are the published pool and repeated mutations of it; values are the synthetic landscape. The released
code takes 8.9 s of CPU per suggestion after 20 trials, 19.4 s after 50 (44.4 s with three more running), and 37.7 s
after 97 (110 s with three more running) (Python 3 port, one BLAS thread, another machine).
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.speed.report import Row, at_most, main, median, plain_row, time_call
from bostruct.methods import nasbot
from bostruct.problems.landscape import landscape
from bostruct.study.history import History

CASES = dict.fromkeys([(20, 0), (50, 0), (50, 3), (97, 0)], math.inf) | {(97, 3): 1.5, (300, 0): 0.6, (1000, 0): 1.5}
SUGGESTIONS = 9


def measure(miniature: bool) -> list[Row]:
    rows = []
    for (n, running), limit in ({(14, 2): math.inf} if miniature else CASES).items():
        seconds, candidates = suggestion_seconds(n, running, 2 if miniature else SUGGESTIONS)
        rows.append(at_most(f"median suggestion, CPU, n = {n}, {running} running", limit, median(seconds), " s"))
        rows.append(plain_row("candidates; slowest", f"{candidates:.0f}; {max(seconds):.3g} s"))
    return rows


def suggestion_seconds(n: int, running: int, repeats: int) -> tuple[list[float], float]:
    """Return the CPU seconds of suggestions, each after one more completed trial, and the mean number of candidates."""
    problem = landscape()
    rng = np.random.default_rng(0)
    xs = dict.fromkeys(problem.space.pool)
    while len(xs) < n + running + repeats:
        pool = list(xs)
        xs[problem.space.mutate(pool[int(rng.integers(len(pool)))], rng)] = None
    points = list(xs)
    values = problem.evaluate(points)
    searcher = nasbot(problem.space)
    state, seconds, candidates = searcher.initial_state(), [], []
    for done in range(n - 1, n + repeats):
        history = History.of(problem.space, points[:done], values[:done], points[done : done + running])
        rng = np.random.default_rng(done)
        found = time_call(lambda history=history, state=state, rng=rng: searcher.suggest(history, state, rng))
        state = found.value.state
        seconds.append(found.cpu)
        candidates.append(found.value.info["candidates"])
    return seconds[1:], float(np.mean(candidates))  # the first compiles, and computes all distances


if __name__ == "__main__":
    main("nasbot, CNN architectures", measure)
