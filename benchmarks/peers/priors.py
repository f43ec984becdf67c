"""Searches by `auto` that start with the trials of an earlier study, and a search that starts with five points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import bostruct as bo
from benchmarks.peers.searches import Search, Steps, ask_and_tell
from benchmarks.peers.tasks import Point, Task
from benchmarks.peers.variants import FROM_FEW, VARIANTS

N_EARLIER = 100  # trials of the earlier study


def with_prior(relation: str, task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by `auto` with the prior of an earlier study, which also gives its first points.

    relation: of the earlier task to this one, a key of `task.earlier`.
    initial: not used.
    """
    del initial
    earlier = bo.minimize(task.earlier[relation], task.space, N_EARLIER, seed=seed + 500, progress=False)
    return ask_and_tell(bo.Study(task.space, seed=seed, prior=[earlier]))


PRIORS: dict[str, Search] = {
    FROM_FEW: VARIANTS[FROM_FEW],
    **{f"{relation} prior": partial(with_prior, relation) for relation in ("related", "unrelated", "opposite")},
}
