"""The linear ordering problem: a ranking that agrees most with what each two items are worth in either order."""

from __future__ import annotations

from functools import partial

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Array
from bostruct.domains.space.permutation import Permutation
from bostruct.domains.space.space import Space
from bostruct.problems.structured import StructuredProblem, attach_optimum, read_variable

MOST_PROVED = 12  # items, whose 4,096 subsets take 0.1 s


def ordering(n: int = 12, seed: int = 0) -> StructuredProblem:
    """Return a linear ordering problem: minimize minus the sum of a matrix above its diagonal, reordered.

    An entry, uniform in 0 to 1, is what it is worth that one item stands before another.

    n: items, 2 to 500.
    seed: of the matrix, from 0.

    The optimum is proved up to 12 items by dynamic programming. Raises TypeError, ValueError. Source: Grötschel, Jünger
    and Reinelt 1984.
    """
    n = check_integer("size", n, 2, 500)
    worth = np.random.default_rng([check_integer("seed", seed, 0), 33]).random((n, n))
    problem = StructuredProblem(
        name=f"ordering:size={n},seed={seed}",
        space=Space({"order": Permutation(range(n))}),
        objective=read_variable("order", partial(_sum_against, worth)),
        source="generated: linear ordering, Grötschel, Jünger and Reinelt 1984",
    )
    if n > MOST_PROVED:
        return problem
    point = {"order": find_best_order(worth)}
    return attach_optimum(problem, point, "dynamic programming")


def _sum_against(worth: Array, order: tuple[int, ...]) -> float:
    own = np.array(order)
    return -float(np.triu(worth[np.ix_(own, own)], 1).sum())


def find_best_order(worth: Array) -> tuple[int, ...]:
    """Return an order of the greatest sum, by dynamic programming over the subsets of items that stand first.

    worth: what it is worth that the item of the row stands before that of the column (n, n); 2^n subsets are visited.

    Source: Held and Karp 1962, whose recursion orders jobs, too.
    """
    n = len(worth)
    best, last = np.zeros(2**n), np.zeros(2**n, dtype=np.int64)
    for subset in range(1, 2**n):
        members = np.flatnonzero(subset >> np.arange(n) & 1)
        pairs = worth[np.ix_(members, members)]
        sums = best[subset ^ (1 << members)] + pairs.sum(axis=0) - np.diag(pairs)
        best[subset], last[subset] = sums.max(), members[np.argmax(sums)]
    order, subset = [], 2**n - 1
    while subset:
        order.append(int(last[subset]))
        subset ^= 1 << order[-1]
    return tuple(order[::-1])
