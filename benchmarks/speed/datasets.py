"""Training data like the data of a search: 20 random points, then mutations of the best points so far."""

from __future__ import annotations

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.problems.base import SpaceProblem

N_RANDOM = 20
N_PARENTS = 5
MAX_FLIPS = 3


def search_data(problem: SpaceProblem, n: int, seed: int) -> tuple[IntArray, Array]:
    """Return distinct points (n, d) of a problem on bits, and their values (n,)."""
    rng = np.random.default_rng([seed, n])
    xs = problem.space.sample(min(n, N_RANDOM), rng)
    values = problem.evaluate(xs)
    seen = set(problem.space.keys(xs))
    while len(xs) < n:
        child = xs[rng.choice(np.argsort(values, kind="stable")[:N_PARENTS])].copy()
        child[rng.choice(problem.space.d, rng.integers(1, MAX_FLIPS + 1), replace=False)] ^= 1
        key = problem.space.keys(child[None])[0]
        if key not in seen:
            seen.add(key)
            xs = np.concatenate([xs, child[None]])
            values = np.append(values, problem.evaluate(child[None]))
    return xs, values
