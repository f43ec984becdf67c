"""Methods that learn from earlier studies of related tasks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bostruct.checks import ROUNDING, first_occurrences
from bostruct.contracts import Array, Batch, Domain, DomainError, Kernel, Searcher
from bostruct.kernels.algebra import SpectrumClip
from bostruct.kernels.tasks import TaskBatch, TaskJoin, TaskKernel
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.proposals import PoolFirst
from bostruct.surrogates.hyperparameters import Normal
from bostruct.surrogates.map_gp import MAPGP, NoiseSelection
from bostruct.surrogates.psd_diagnostics import PSDDiagnostics
from bostruct.surrogates.standardization import standardize
from bostruct.surrogates.transfer import TaskModel, TransferLearning
from bostruct.surrogates.warping import OutputWarping, compress_upper_tail

CORRELATION = Normal(1.0, 1.5)  # log odds of the correlation of an earlier task with the target
LOG_SCALE = Normal(0.0, 0.5)  # of an earlier task, in units of the target's
N_BEST = 2  # the best points of earlier tasks, asked first
TINY = 1e-300  # values are divided by the largest, so that no square overflows, unless all are about 0
N_INITIAL = 5  # points before the model is asked, these included


class PriorTask(NamedTuple):
    """The trials of an earlier task that a method learns from.

    points: as the domain of the new study holds them, at least one.
    values: one for each point, minimized.
    """

    points: Batch
    values: Array


def learn_from(searcher: Searcher, tasks: Sequence[PriorTask], who: str = "") -> Searcher:
    """Return a method that also learns from earlier tasks: `method="auto"` on a `Space` is such a method.

    The first points are the best of the earlier tasks, then a few random ones.

    searcher: a `BayesianSearch` whose surrogate is a GP at its mode: `auto` on a `Space`, on programs, on networks, or
        on a space with other domains inside, or what `bayesian` builds.
    tasks: at least one.
    who: the name that people call the method by; empty for that of its class.

    Raises DomainError where the method has no such surrogate.
    """
    surrogate = searcher.surrogate if isinstance(searcher, BayesianSearch) else None
    model = surrogate.surrogate if isinstance(surrogate, OutputWarping) else surrogate
    kernels = _kernels_of(model)
    if not kernels or any(map(_changes_with_training, kernels)):
        raise DomainError(
            "method: expected one that learns from prior=, such as auto on a Space, got "
            f"{who or type(searcher).__name__} on {type(searcher.domain).__name__}"
            + (", whose kernel changes with the training points" if kernels else "")
        )
    assert isinstance(searcher, BayesianSearch)
    assert isinstance(model, MAPGP | NoiseSelection | PSDDiagnostics)
    model = _on_all_data(model)
    domain, join = searcher.domain, TaskJoin(searcher.domain.join)
    of_task = np.repeat(np.arange(1, len(tasks) + 1), [len(task.values) for task in tasks])
    points = TaskBatch(domain.join(*(task.points for task in tasks)), of_task)
    scaled = [task.values / max(float(np.max(np.abs(task.values))), TINY) for task in tasks]
    if isinstance(surrogate, OutputWarping):
        scaled = [compress_upper_tail(values, surrogate.beyond) for values in scaled]
    standard = np.concatenate([standardize(values, ROUNDING).values for values in scaled])
    transfer = TransferLearning(model, _with_tasks(model, len(tasks), join), points, standard, join)
    return replace(
        searcher,
        surrogate=replace(surrogate, surrogate=transfer) if isinstance(surrogate, OutputWarping) else transfer,
        n_initial=min(N_INITIAL, searcher.n_initial),
        design=PoolFirst(_best_points(domain, tasks)),
    )


def _kernels_of(model: object) -> list[Kernel]:
    """Return the kernels of a model that learns from earlier tasks; none of any other."""
    if isinstance(model, NoiseSelection):
        return [model.quiet.kernel, model.noisy.kernel]
    one = model.surrogate if isinstance(model, PSDDiagnostics) else model
    return [one.kernel] if isinstance(one, MAPGP) else []


def _on_all_data(model: TaskModel) -> TaskModel:
    """Return the model that is fitted to all data each time, so that its evidence can be compared with another's."""
    if isinstance(model, NoiseSelection):
        quiet, noisy = (replace(one, most=None) for one in (model.quiet, model.noisy))
        return replace(model, quiet=quiet, noisy=noisy, growth=0.0)
    return replace(model, most=None) if isinstance(model, MAPGP) else model


def _changes_with_training(kernel: Kernel) -> bool:
    """Tell whether a kernel of all tasks cannot be made: clipped kernels can, from the similarity that was clipped."""
    return kernel.depends_on_training and not isinstance(kernel, SpectrumClip)


def _with_tasks(model: TaskModel, n_tasks: int, join: TaskJoin) -> TaskModel:
    """Return the model of all tasks whose model of one task is given."""
    if isinstance(model, NoiseSelection):
        quiet, noisy = (_of_all_tasks(one, n_tasks, join) for one in (model.quiet, model.noisy))
        return replace(model, quiet=quiet, noisy=noisy)
    if isinstance(model, MAPGP):
        return _of_all_tasks(model, n_tasks, join)
    assert isinstance(model.surrogate, MAPGP)  # or it would have no kernels
    surrogate = _of_all_tasks(model.surrogate, n_tasks, join)
    kernel = surrogate.kernel
    return PSDDiagnostics(surrogate, kernel.similarity if isinstance(kernel, SpectrumClip) else kernel)


def _of_all_tasks(model: MAPGP, n_tasks: int, join: TaskJoin) -> MAPGP:
    return replace(model, kernel=_task_kernel(model.kernel, n_tasks), join=join)


def _task_kernel(kernel: Kernel, n_tasks: int) -> Kernel:
    """Return the kernel of all tasks; one that is clipped is clipped over all of them together, to stay a kernel."""
    if isinstance(kernel, SpectrumClip):
        return SpectrumClip(_task_kernel(kernel.similarity, n_tasks))
    return TaskKernel(kernel, n_tasks, CORRELATION, CORRELATION.mean, LOG_SCALE)


def _best_points(domain: Domain, tasks: Sequence[PriorTask]) -> Batch:
    """Return the best points of the tasks, each once: the best of each task, then the second best, and so on."""
    ranked = [domain.take(task.points, np.argsort(task.values, kind="stable")) for task in tasks]
    rounds = itertools.zip_longest(*(list(one) for one in ranked))
    listed = domain.join([x for one in rounds for x in one if x is not None])
    return domain.take(listed, first_occurrences(domain, listed)[:N_BEST])
