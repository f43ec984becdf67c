"""The training points that matter around the best of them, where a model of all would cost too much."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bostruct.contracts import Array, Batch, IntArray, Kernel
from bostruct.surrogates.hyperparameters import make_initial_theta

BLOCK_NUMBERS = 2**25  # of points compared at a time: a kernel may hold each in double precision
CENTERS = 5  # of the best points: as many as an acquisition search starts from


def choose_local(
    kernel: Kernel, join: Callable[..., Batch], xs: Batch, values: Array, most: int, latest: int = 0
) -> IntArray:
    """Return the positions of the points to learn from, ascending: the best half, and those nearest to the best five.

    Near means a large correlation under the kernel at its initial parameters. The best half tells the large effects;
    the neighbors of the best five tell what a small change does, which is what an acquisition search asks most.

    kernel: of the points.
    join: the domain's.
    xs: n points.
    values: (n,), minimized.
    most: how many points to keep, at least 2 and at most n.
    latest: how many of the last points are kept in any case, at most `most` // 2. Where suggestions go far from the
        best points and fail, only these say so.
    """
    order = np.argsort(values, kind="stable")
    centers = join([xs[i] for i in order[:CENTERS]])
    theta = make_initial_theta(kernel)
    of_centers = kernel.diag(theta, centers)
    nearness = np.empty(len(values))
    block = max(1, BLOCK_NUMBERS // max(1, np.size(centers[0])))
    for first in range(0, len(values), block):
        some = xs[first : first + block]
        near = kernel.gram(theta, kernel.prepare(some, centers))
        near /= np.sqrt(np.outer(kernel.diag(theta, some), of_centers))
        nearness[first : first + block] = near.max(axis=1)
    is_kept = np.zeros(len(values), dtype=np.bool_)
    is_kept[order[: most - most // 2]] = True
    is_kept[len(values) - latest :] = True
    by_nearness = np.argsort(-nearness, kind="stable")
    is_kept[by_nearness[~is_kept[by_nearness]][: most - np.count_nonzero(is_kept)]] = True
    return np.flatnonzero(is_kept)
