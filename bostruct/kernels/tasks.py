"""A kernel of several tasks on the same points: the intrinsic coregionalization model (Bonilla et al. 2008)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, Batch, IntArray, Kernel, Parameter, Point, Prepared, Prior, Pullback
from bostruct.kernels.algebra import weight_of


class TaskPoint(NamedTuple):
    """A point of one task.

    task: 0 for the target task.
    """

    point: Point
    task: int


@dataclass(frozen=True, eq=False)
class TaskBatch:
    """A batch of points with their tasks. A batch without tasks belongs to the target task.

    tasks: the task of each point (m,), 0 for the target task.
    """

    points: Batch
    tasks: IntArray

    def __len__(self) -> int:
        return len(self.tasks)

    def __getitem__(self, index: int | slice) -> TaskBatch | TaskPoint:
        if isinstance(index, slice):
            return TaskBatch(self.points[index], self.tasks[index])
        return TaskPoint(self.points[index], int(self.tasks[index]))

    def __iter__(self) -> Iterator[TaskPoint]:
        return (TaskPoint(x, task) for x, task in zip(self.points, self.tasks.tolist(), strict=True))


@dataclass(frozen=True)
class TaskJoin:
    """A function that concatenates batches with and without tasks."""

    join: Callable[..., Batch]

    def __call__(self, *batches: Batch) -> TaskBatch:
        parts = [_split_tasks(batch) for batch in batches]
        return TaskBatch(
            self.join(*(points for points, _ in parts)),
            np.concatenate([np.zeros(0, dtype=np.int64), *(tasks for _, tasks in parts)]),
        )


class TaskPair(NamedTuple):
    """A pair of batches as the kernel prepares it.

    rows: the task of each of n points (n,).
    columns: the task of each of m points (m,).
    """

    points: Prepared
    rows: IntArray
    columns: IntArray


class TaskCovariance(NamedTuple):
    """The covariance between the tasks of two batches.

    factor: factor of the kernel of the points (n, m).
    is_same: whether both points have the same task (n, m).
    offset: constant that is added to the product (n, m).
    """

    factor: Array
    is_same: npt.NDArray[np.bool_]
    offset: Array


class TaskParameters(NamedTuple):
    """The parameters of the kernel, untransformed.

    correlation: correlation of each task with the target (t + 1,), 1 for the target itself.
    scale: scale of each task, in units of the target's (t + 1,), 1 for the target itself.
    """

    points: Array
    correlation: Array
    scale: Array


@dataclass(frozen=True)
class TaskKernel(Kernel):
    """The covariance of several tasks: a kernel of the points, times a factor of the tasks, plus an offset.

    The function of task t is s_t (r_t f + sqrt(1 - r_t^2) g_t) + b_t. The target's function is f. All g_t are
    independent of f and of each other, and have the same kernel k. b_t is a constant with variance `offset`^2. So two
    points of different tasks t and u have the covariance s_t s_u r_t r_u k, and two points of task t have the
    covariance s_t^2 k + offset^2. It is positive semi-definite for all parameters. The target has s = r = 1 and b = 0.

    theta has the parameters of the kernel of the points, then the log odds of each r_t, then the logarithm of each s_t.

    n_tasks: number of tasks without the target, at least 1.
    correlation_prior: prior of the log odds of a correlation.
    scale_prior: prior of the logarithm of a scale.
    offset: standard deviation of a task's constant.
    """

    kernel: Kernel
    n_tasks: int
    correlation_prior: Prior
    initial_log_odds: float
    scale_prior: Prior
    offset: float = 1.0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            *self.kernel.parameters,
            Parameter("log_odds_of_correlation", self.n_tasks, self.correlation_prior, self.initial_log_odds),
            Parameter("log_scale", self.n_tasks, self.scale_prior, 0.0),
        )

    @property
    def parameter_variables(self) -> tuple[int | None, ...]:
        return (*self.kernel.parameter_variables, *[None] * (2 * self.n_tasks))

    def prepare(self, xs: Batch, ys: Batch | None = None) -> TaskPair:
        points, rows = _split_tasks(xs)
        others, columns = (None, rows) if ys is None else _split_tasks(ys)
        return TaskPair(self.kernel.prepare(points, others), rows, columns)

    def gram(self, theta: Array, prepared: TaskPair) -> Array:
        own = self.unpack(theta)
        gram = self.kernel.gram(own.points, prepared.points)
        if not prepared.rows.any():  # one row of factors serves all points of the target task
            gram *= (own.correlation * own.scale)[prepared.columns]
            return gram
        tasks = self._task_covariance(own, prepared.rows, prepared.columns)
        gram *= tasks.factor
        gram += tasks.offset
        return gram

    def diag(self, theta: Array, xs: Batch) -> Array:
        own, (points, tasks) = self.unpack(theta), _split_tasks(xs)
        return self.kernel.diag(own.points, points) * np.square(own.scale[tasks]) + self.offset**2 * (tasks > 0)

    def gram_and_pullback(self, theta: Array, prepared: TaskPair) -> tuple[Array, Pullback]:
        own = self.unpack(theta)
        gram, pull = self.kernel.gram_and_pullback(own.points, prepared.points)
        tasks = self._task_covariance(own, prepared.rows, prepared.columns)

        def pullback(cotangent: Array) -> Array:
            scaled = cotangent * tasks.factor
            weighted = scaled * gram
            of_scale = self._sum_by_task(weighted, prepared)
            of_odds = (1.0 - own.correlation[1:]) * self._sum_by_task(np.where(tasks.is_same, 0.0, weighted), prepared)
            return np.concatenate([pull(scaled), of_odds, of_scale])

        return gram * tasks.factor + tasks.offset, pullback

    def input_vjp(self, theta: Array, xs: Batch, ys: Batch) -> Callable[[Array], tuple[Array, Pullback]] | None:
        own, (points, rows), (others, columns) = self.unpack(theta), _split_tasks(xs), _split_tasks(ys)
        if (varied := self.kernel.input_vjp(own.points, points, others)) is None:
            return None
        tasks = self._task_covariance(own, rows, columns)

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            gram, pull = varied(shares)
            return gram * tasks.factor + tasks.offset, lambda cotangent: pull(cotangent * tasks.factor)

        return at_shares

    def unpack(self, theta: Array) -> TaskParameters:
        """Return the untransformed parameters.

        theta: (p,).
        """
        first = len(theta) - 2 * self.n_tasks
        odds, log_scale = theta[first : first + self.n_tasks], theta[first + self.n_tasks :]
        correlation = np.array([1.0, *(weight_of(one) for one in odds.tolist())])
        return TaskParameters(theta[:first], correlation, np.exp(np.concatenate([[0.0], log_scale])))

    def _task_covariance(self, own: TaskParameters, rows: IntArray, columns: IntArray) -> TaskCovariance:
        is_same = rows[:, None] == columns
        load = own.correlation * own.scale
        factor = np.where(is_same, np.outer(own.scale[rows], own.scale[columns]), np.outer(load[rows], load[columns]))
        return TaskCovariance(factor, is_same, self.offset**2 * (is_same & (rows > 0)[:, None]))

    def _sum_by_task(self, weighted: Array, prepared: TaskPair) -> Array:
        """Return the sum over all rows and all columns of each task except the target (t,)."""
        total = np.zeros(self.n_tasks + 1)
        np.add.at(total, prepared.rows, weighted.sum(axis=1))
        np.add.at(total, prepared.columns, weighted.sum(axis=0))
        return total[1:]


def _split_tasks(batch: Batch) -> tuple[Batch, IntArray]:
    """Return the points of a batch and their tasks (m,)."""
    if isinstance(batch, TaskBatch):
        return batch.points, batch.tasks
    return batch, np.zeros(len(batch), dtype=np.int64)
