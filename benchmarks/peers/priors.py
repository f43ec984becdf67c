"""Searches by `auto` that begin with the trials of an earlier study, and one that begins with as few points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import bostruct as bo
from benchmarks.peers.searches import Search, Steps, ask_and_tell
from benchmarks.peers.tasks import Point, Task
from bostruct import methods

N_EARLIER = 100  # trials of the earlier study
FEW = 5  # points before the model is asked, where there is a prior


def from_few(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by `auto` from the first five of the initial points, without a prior."""
    method: Any = methods.auto(task.space)
    few = replace(method, n_initial=FEW)
    return ask_and_tell(bo.Study(task.space, method=few, seed=seed, initial_points=initial[:FEW]))


def with_prior(relation: str, task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by `auto` with the prior of an earlier study, which also gives its first points.

    relation: of the earlier task to this one, a key of `task.earlier`.
    initial: of no use.
    """
    del initial
    earlier = bo.minimize(task.earlier[relation], task.space, N_EARLIER, seed=seed + 500, progress=False)
    return ask_and_tell(bo.Study(task.space, seed=seed, prior=[earlier]))


PRIORS: dict[str, Search] = {
    "from 5 points": from_few,
    **{f"{relation} prior": partial(with_prior, relation) for relation in ("related", "unrelated", "opposite")},
}
