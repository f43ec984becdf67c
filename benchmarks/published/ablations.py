"""The variants of COMBO and of BOCS that Oh et al. 2019 report in addition to their method, as searchers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bostruct import methods
from bostruct.acquisition.local_search import LocalSearch, best, draw_distinct
from bostruct.contracts import Batch, Info, LocalDomain, Maximizer, Score, Searcher
from bostruct.methods.combo import LOG_EDGE_WEIGHT_HIGH
from bostruct.surrogates.hyperparameters import LOG_LOW, TruncatedNormal

NON_SPARSE = TruncatedNormal(0.0, 1.0, LOG_LOW, LOG_EDGE_WEIGHT_HIGH)  # of log beta: each variable has a similar effect


@dataclass(frozen=True)
class AnnealedSearch(Maximizer):
    """Local search, and simulated annealing from the same points; the best of both (supplement 3.1, second variant).

    The paper gives neither temperatures nor steps; here the temperature falls from a tenth to a ten-thousandth of the
    best score.

    steps: number of annealing steps from each of the best candidates.
    """

    steps: int = 100

    def __call__(
        self, score: Score, domain: LocalDomain, starts: Batch, rng: np.random.Generator
    ) -> tuple[Batch, Info]:
        ends, info = LocalSearch(distinct=True)(score, domain, starts, rng)
        candidates = draw_distinct(domain, 20_000, 20, starts, rng)
        chosen, values = best(score, domain, candidates, 20)
        now = domain.take(candidates, chosen)
        top, top_values = now, values
        for temperature in max(float(values.max()), 1e-300) * np.geomspace(0.1, 1e-4, self.steps):
            moved = domain.join(*(domain.sample_neighbors(x, 1, rng) for x in now))
            found = score(moved)
            is_taken = rng.random(len(found)) < np.exp(np.minimum((found - values) / temperature, 0.0))
            now = domain.join([new if taken else old for old, new, taken in zip(now, moved, is_taken, strict=True)])
            values = np.where(is_taken, found, values)
            is_better = values > top_values
            top = domain.join([new if is_new else old for old, new, is_new in zip(top, now, is_better, strict=True)])
            top_values = np.where(is_better, values, top_values)
        both = domain.join(ends, top)
        order = np.argsort(-score(both), kind="stable")
        keys = domain.keys(both)
        once = [i for position, i in enumerate(order) if keys[i] not in {keys[j] for j in order[:position]}]
        return domain.take(both, once), info


def combo_with_annealing(space: Any, n_initial: int) -> Searcher:
    """Build COMBO with an acquisition function that is maximized by local search and by annealing."""
    return replace(methods.combo(space, n_initial), maximizer=AnnealedSearch())


def combo_without_sparsity(space: Any, n_initial: int) -> Searcher:
    """Build COMBO with a log-normal prior of its edge weights instead of the horseshoe (supplement 4.3)."""
    search = methods.combo(space, n_initial)
    kernel = replace(search.surrogate.kernel, prior=NON_SPARSE)
    return replace(search, surrogate=replace(search.surrogate, kernel=kernel))


BUILT: dict[str, Callable[[Any, int], Searcher]] = {
    "combo": lambda space, n_initial: methods.combo(space, n_initial),
    "bocs-sa3": lambda space, _: methods.bocs(space, order=3, minimizer="annealing"),  # a row of Table 3
    "combo-annealed-acquisition": combo_with_annealing,
    "combo-non-sparse": combo_without_sparsity,
}
"""Searchers with settings, by name: (space, number of initial points) -> searcher."""
