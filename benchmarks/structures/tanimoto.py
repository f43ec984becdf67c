"""BoTorch on choices with fragments: a Gaussian process with the Tanimoto kernel that scores all unevaluated points."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.peers.searches import Steps
from benchmarks.peers.tasks import Point, Task
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.descriptors import Descriptors

MOST_AT_ONCE = 2_048  # points scored together


def search_by_tanimoto(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by BoTorch: log EI of a Gaussian process with a scaled Tanimoto kernel on the fragments of all parts.

    task: a task over choices with fragments as descriptors, with few enough points to list.
    initial: initial points.
    seed: seed of torch, the only random generator.
    """
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf_discrete
    from gpytorch.kernels import ScaleKernel
    from gpytorch.mlls import ExactMarginalLogLikelihood

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    grams, (rows, points) = count_shared(task), list_points(task)
    every, seen, values = torch.tensor(rows, dtype=torch.double), list[int](), list[float]()
    places = {tuple(row): i for i, row in enumerate(rows.tolist())}
    for point in initial:
        seen.append(places[encode(task, point)])
        values.append((yield point))
    while True:
        x, y = every[seen], -torch.tensor(values, dtype=torch.double)[:, None]
        kernel = ScaleKernel(make_kernel(grams))
        model = SingleTaskGP(x, y, covar_module=kernel, outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        score = LogExpectedImprovement(model, best_f=y.max())
        found, _ = optimize_acqf_discrete(score, q=1, choices=every, max_batch_size=MOST_AT_ONCE, X_avoid=x)
        seen.append(places[tuple(found[0].long().tolist())])
        values.append((yield points[seen[-1]]))


def make_kernel(grams: Sequence[Array]) -> Any:
    """Return a Tanimoto kernel for GPyTorch between points encoded by the numbers of their choices.

    grams: number of fragments that two choices share, for each variable.
    """
    import torch
    from gpytorch.kernels import Kernel

    tables = [torch.tensor(gram) for gram in grams]

    class Tanimoto(Kernel):
        """The number of shared fragments of two points divided by the number of fragments of either."""

        def forward(self, x1: Any, x2: Any, diag: bool = False, **params: Any) -> Any:
            """Return the kernel of points (..., n, d) and (..., m, d): (..., n, m), or (..., n) for `diag`."""
            del params
            one, two = ([x[..., i].long() for i in range(len(tables))] for x in (x1, x2))
            if diag:
                return torch.ones(x1.shape[:-1], dtype=x1.dtype)
            shared: Any = sum(t[a[..., :, None], b[..., None, :]] for t, a, b in zip(tables, one, two, strict=True))
            own, other = (sum(t.diagonal()[a] for t, a in zip(tables, at, strict=True)) for at in (one, two))
            return shared / (own[..., :, None] + other[..., None, :] - shared)

    return Tanimoto()


def count_shared(task: Task) -> list[Array]:
    """Return the number of fragments that two choices of a variable share, for each variable (k, k).

    task: a task over choices with fragments as descriptors.
    """
    likenesses: list[Any] = [variable.likeness for variable in task.space.variables.values()]
    assert all(isinstance(one, Descriptors) for one in likenesses)
    bits = [np.asarray(one.bits, dtype=np.float64) for one in likenesses]
    return [own @ own.T for own in bits]


def list_points(task: Task) -> tuple[IntArray, list[Point]]:
    """Return all feasible points, as the numbers of their choices (n, d) and as points.

    task: a task over choices.
    """
    rows = task.space.enumerate()
    return rows, [task.space.present(row) for row in rows]


def encode(task: Task, point: Point) -> tuple[int, ...]:
    """Return the numbers of the choices of a point.

    task: a task over choices.
    point: a point of its space.
    """
    return tuple(task.space.parse(point).tolist())
