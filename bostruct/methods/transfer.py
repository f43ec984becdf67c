"""Methods that learn from earlier studies of related tasks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np

from bostruct.checks import ROUNDING, first_occurrences
from bostruct.contracts import Array, Batch, DomainError, Kernel, Searcher, Surrogate
from bostruct.kernels.tasks import TaskBatch, TaskJoin, TaskKernel
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.proposals import PoolFirst
from bostruct.surrogates.hyperparameters import Normal
from bostruct.surrogates.standardization import standardize
from bostruct.surrogates.transfer import TransferLearning

CORRELATION = Normal(1.0, 1.5)  # log odds of the correlation of an earlier task with the target
LOG_SCALE = Normal(0.0, 0.5)  # of an earlier task, in units of the target's scale
N_BEST = 2  # number of the best points of earlier tasks that are suggested first
TINY = 1e-300  # values are divided by the largest, so that no square overflows, unless all are about 0
N_INITIAL = 5  # number of points before the first suggestion of the model, including the best points


class PriorTask(NamedTuple):
    """The trials of an earlier task that a method learns from.

    points: points in the form of the new study's domain, at least one.
    values: one value for each point, to minimize.
    """

    points: Batch
    values: Array


def learn_from(searcher: Searcher, tasks: Sequence[PriorTask], who: str = "") -> Searcher:
    """Return a method that also learns from earlier tasks, such as `method="auto"` on a `Space`.

    The first points are the best points of the earlier tasks, then a few random points.

    tasks: at least one.

    Raises DomainError if the method's surrogate cannot learn from several tasks.
    """

    def refuse(more: str = "") -> NoReturn:
        raise DomainError(
            "method: expected one that learns from prior=, such as auto on a Space, got "
            f"{who or type(searcher).__name__} on {type(searcher.domain).__name__}{more}"
        )

    def of_all_tasks(kernel: Kernel) -> Kernel:
        if kernel.depends_on_training:
            refuse(", whose kernel changes with the training points")
        return TaskKernel(kernel, len(tasks), CORRELATION, CORRELATION.mean, LOG_SCALE)

    def model(search: BayesianSearch) -> BayesianSearch:
        domain, join = search.domain, TaskJoin(search.domain.join)
        of_task = np.repeat(np.arange(1, len(tasks) + 1), [len(task.values) for task in tasks])
        points = TaskBatch(domain.join(*(task.points for task in tasks)), of_task)
        scaled = [task.values / max(float(np.max(np.abs(task.values))), TINY) for task in tasks]
        warped = [standardize(search.surrogate.warp(values), ROUNDING).values for values in scaled]

        def transfer(target: Surrogate) -> TransferLearning:
            alone: Any = target.with_kernel(lambda kernel: kernel, domain.join)
            joint: Any = target.with_kernel(lambda kernel: kernel.around(of_all_tasks), join)
            return refuse() if joint is None else TransferLearning(alone, joint, points, np.concatenate(warped), join)

        ranked = [domain.take(task.points, np.argsort(task.values, kind="stable")) for task in tasks]
        rounds = itertools.zip_longest(*map(list, ranked))  # the best of each task, then the second best, and so on
        listed = domain.join([x for one in rounds for x in one if x is not None])
        return replace(
            search,
            surrogate=search.surrogate.around(transfer),
            n_initial=min(N_INITIAL, search.n_initial),
            design=PoolFirst(domain.take(listed, first_occurrences(domain, listed)[:N_BEST])),
        )

    return searcher.change_model(model, lambda _: refuse())
