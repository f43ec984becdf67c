"""Peak memory of one suggestion above the memory of the imports, at n = 1,000 and d = 100.

    python -m benchmarks.speed.memory [--check]

Each method runs in a separate process. To save time, COMBO's sampler makes two sweeps before the first sample and two
samples instead of 100 and 10. A sweep allocates no lasting memory; a sample keeps one factor of n^2 numbers, 8 MB, and
the figure includes the eight missing factors.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.speed.report import Row, at_most, main
from bostruct import methods
from bostruct.domains.space.space import Space
from bostruct.study.history import History

MEGABYTES = 600.0
N, D = 1000, 100
SAMPLES, SAMPLES_MEASURED = 10, 2


def measure(miniature: bool) -> list[Row]:
    n = 30 if miniature else N
    rows = []
    for method in ("auto", "combo"):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.speed.memory", "--child", method, str(n)],
            capture_output=True,
            text=True,
            check=True,
        )
        rows.append(at_most(f"{method}: peak above imports, n = {n}, d = {D}", MEGABYTES, float(done.stdout), " MB"))
    return rows


def child(method: str, n: int) -> float:
    """Return the megabytes of one suggestion."""
    space = Space({f"x{i}": bool for i in range(D)})
    searcher: Any = methods.METHODS[method](space)
    missing = 0.0
    if method == "combo":
        surrogate: Any = replace(searcher.surrogate, burn_in=2, samples=SAMPLES_MEASURED)
        searcher = replace(searcher, surrogate=surrogate)
        missing = (SAMPLES - SAMPLES_MEASURED) * 8.0 * n * n / 2**20
    warm = space.sample(25, np.random.default_rng(1))
    _suggest(space, searcher, warm)  # imports and compiles on first use
    xs = space.sample(n, np.random.default_rng(0))
    before = _peak()
    _suggest(space, searcher, xs)
    return _peak() - before + missing


def _suggest(space: Space, searcher: Any, xs: Any) -> None:
    values = xs[:, :10].sum(axis=1) + 0.5 * xs[:, 10] * xs[:, 11]
    searcher.suggest(History.of(space, xs, values), searcher.initial_state(), np.random.default_rng(0))


def _peak() -> float:
    """Return the peak in megabytes; the system counts in kilobytes, but in bytes on macOS."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(child(sys.argv[2], int(sys.argv[3])))
    else:
        main("Memory", measure)
