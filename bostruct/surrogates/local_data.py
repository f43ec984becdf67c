"""The training points that matter around the best of them, where a model of all would cost too much."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bostruct.contracts import Array, Batch, IntArray, Kernel
from bostruct.surrogates.hyperparameters import make_initial_theta

CENTERS = 5  # of the best points: as many as an acquisition search starts from


def choose_local(kernel: Kernel, join: Callable[..., Batch], xs: Batch, values: Array, most: int) -> IntArray:
    """Return the positions of the points to learn from, ascending: the best half, and those nearest to the best five.

    Near means a large correlation under the kernel at its initial parameters. The best half tells the large effects;
    the neighbors of the best five tell what a small change does, which is what an acquisition search asks most.

    kernel: of the points.
    join: the domain's.
    xs: n points.
    values: (n,), minimized.
    most: how many points to keep, at least 2 and at most n.
    """
    order = np.argsort(values, kind="stable")
    centers = join([xs[i] for i in order[:CENTERS]])
    theta = make_initial_theta(kernel)
    near = kernel.gram(theta, kernel.prepare(xs, centers))
    near /= np.sqrt(np.outer(kernel.diag(theta, xs), kernel.diag(theta, centers)))
    is_kept = np.zeros(len(values), dtype=np.bool_)
    is_kept[order[: most - most // 2]] = True
    by_nearness = np.argsort(-near.max(axis=1), kind="stable")
    is_kept[by_nearness[~is_kept[by_nearness]][: most // 2]] = True
    return np.flatnonzero(is_kept)
