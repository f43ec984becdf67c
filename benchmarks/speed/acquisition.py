"""The search for the next point: 20,000 candidates and the local search, with and without pruning.

    python -m benchmarks.speed.acquisition [--check]

Model RB as weighted MaxSAT, 60 bits, n = 270, 10 posterior samples by the slice sampler. Two regimes: the unchanged
values, and the same values shuffled over the points, so that there is nothing to learn and nearly all candidates tie.
The plain version scores every candidate with one matrix product per sample; it starts from the same random numbers and
must choose the same point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.speed.datasets import search_data
from benchmarks.speed.report import Row, at_most, main, median, plain_row, time_call
from bostruct.acquisition.local_search import LocalSearch
from bostruct.contracts import Array, Batch, Score
from bostruct.methods import combo
from bostruct.problems.maxsat import frb
from bostruct.searchers.scores import AcquisitionScore

REQUIRED = 0.5  # CPU seconds
N = 270
BURN_IN = 30  # sweeps; the published 100 would not change the cost of the search
REPEATS = 5


@dataclass(frozen=True, eq=False)
class Unpruned(Score):
    """A score without upper bounds, so that every point must be scored."""

    score: Score

    def __call__(self, xs: Batch) -> Array:
        return self.score(xs)


def measure(miniature: bool) -> list[Row]:
    problem = frb()
    xs, values = search_data(problem, 30 if miniature else N, seed=0)
    shuffled = np.random.default_rng(0).permutation(values)
    search = LocalSearch(raw_samples=200, distinct=False) if miniature else LocalSearch(distinct=False)
    rows = []
    for regime, observed in (("as fitted", values), ("values shuffled", shuffled)):
        searcher = combo(problem.space)
        surrogate: Any = searcher.surrogate
        settings = {"burn_in": 1, "samples": 2} if miniature else {"burn_in": BURN_IN}
        surrogate = replace(surrogate, **settings)
        posterior, state, _ = surrogate.condition(xs, observed, None, np.random.default_rng(1))
        score = AcquisitionScore(posterior, searcher.score.acquisition, float(observed.min()))
        starts = xs[np.argsort(observed, kind="stable")[:1]]
        ours, plain, same = _compare(partial(search, domain=problem.space, starts=starts), score, miniature)
        limit = np.inf if miniature else REQUIRED
        rows.append(at_most(f"candidates and local search, CPU, {regime}", limit, ours, " s"))
        rows.append(plain_row(f"the same without pruning, {regime}", f"{plain:.3g} s"))
        rows.append(Row(f"all maxima equal those without pruning, {regime}", "yes", "yes" if same else "no", same))
        correlation = float(np.median(_correlations(surrogate.kernel, xs, state)))
        rows.append(plain_row(f"median correlation between two points, {regime}", f"{correlation:.2g}"))
    return rows


def _compare(search: Callable[..., Any], score: Score, miniature: bool) -> tuple[float, float, bool]:
    """Return median CPU seconds with and without pruning, taken alternately, and whether all maxima were equal."""
    ours, plain, same = [], [], True
    for seed in range(1 if miniature else REPEATS):
        pruned = time_call(partial(search, score, rng=np.random.default_rng(seed)))
        full = time_call(partial(search, Unpruned(score), rng=np.random.default_rng(seed)))
        ours.append(pruned.cpu)
        plain.append(full.cpu)
        same = same and np.array_equal(pruned.value[0], full.value[0])
    return median(ours), median(plain), same


def _correlations(kernel: Any, xs: Batch, state: Any) -> Array:
    gram = kernel.gram(np.array(state[3]), kernel.prepare(xs))
    return gram[np.triu_indices(len(gram), 1)]


if __name__ == "__main__":
    main("Acquisition search, n = 270, d = 60, 10 samples", measure)
