"""Methods compared on a problem of your own, one of them your own too; the command line takes the same parts:

bostruct compare compare.py:problem --methods auto,compare.py:climb,random --seeds 5 --trials 25 --out out
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import bostruct as bo
from bostruct.contracts import Searcher, Suggestion
from bostruct.testing import check_searcher

WEIGHTS = {"flour": 3.0, "water": 2.0, "salt": 0.3, "yeast": 0.5}


def taste(dough):
    """The distance of a dough to the best one, which is to be small."""
    missing = sum(abs(dough[name] - 10.0 * weight / 3.0) for name, weight in WEIGHTS.items())
    return missing + {"rye": 0.4, "wheat": 0.0, "spelt": 0.9}[dough["grain"]]


SPACE = bo.Space({"grain": ["rye", "wheat", "spelt"], **{name: range(11) for name in WEIGHTS}})
problem = bo.Problem(taste, SPACE, name="dough", initial=5)


@dataclass(frozen=True)
class Climb(Searcher):
    """Mutations of the best point told."""

    domain: Any

    def suggest(self, history, state, rng):
        if len(history.values):
            best = history.completed[int(np.argmin(history.values))]
            for _ in range(50):
                x = self.domain.mutate(best, rng)
                if self.domain.key(x) not in history.seen:
                    return Suggestion(x, state, {"origin": "model"})
        return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "random"})


def climb(domain):
    """Climb from the best point told."""
    return Climb(domain)


if __name__ == "__main__":
    check_searcher(Climb, SPACE, taste, np.random.default_rng(0))
    comparison = bo.compare(problem, ["auto", climb, "random"], n_trials=25, seeds=5, workers=2, progress=False)
    print(comparison)
