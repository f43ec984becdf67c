"""The quadratic knapsack problem with two objectives: items of much value and little weight."""

from __future__ import annotations

from functools import partial

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import IntArray
from bostruct.goals.declared import declare_goals
from bostruct.problems.knapsack import MOST_ITEMS, item_space, read_items
from bostruct.problems.structured import ObjectivePoint, StructuredProblem

MOST = 100  # of values and weights
PAIRS = 0.1  # share of pairs of items that are worth more together


def biknapsack(n: int = 30, seed: int = 0) -> StructuredProblem:
    """Return a knapsack problem of two objectives: minimize minus the value of the items, and their weight.

    Values and weights are 1 to 100, and a tenth of the pairs of items are worth 1 to 100 more together. The hypervolume
    counts up to no value and the weight of all items.

    n: items, 1 to 1000.
    seed: of values and weights, from 0.

    Raises TypeError, ValueError. Source: Gallo, Hammer and Simeone 1980, for the pairs.
    """
    n = check_integer("items", n, 1, MOST_ITEMS)
    rng = np.random.default_rng([check_integer("seed", seed, 0), 71])
    weights, values = rng.integers(1, MOST + 1, (2, n))
    together = np.triu(rng.integers(1, MOST + 1, (n, n)) * (rng.random((n, n)) < PAIRS), 1)
    return StructuredProblem(
        name=f"biknapsack:items={n},seed={seed}",
        space=item_space(n),
        objective=partial(_pack, values, together, weights),
        source="generated: quadratic knapsack, Gallo, Hammer and Simeone 1980",
        goals=declare_goals("minimize", ["minimize", "minimize"], None),
        optimum_source="not known, for two objectives have a front",
        reference=(0.0, float(weights.sum())),
    )


def _pack(values: IntArray, together: IntArray, weights: IntArray, point: ObjectivePoint) -> tuple[float, float]:
    packed = read_items(point).astype(float)
    return -float(packed @ values + packed @ together @ packed), float(packed @ weights)
