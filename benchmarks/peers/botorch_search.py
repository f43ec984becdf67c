"""BoTorch's defaults as a search: log EI on its GP, categories by their kernel, its own optimizers of acquisition."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.peers import botorch_fast
from benchmarks.peers.searches import Coder, Steps
from benchmarks.peers.tasks import Point, Task

RESTARTS, DRAWN = 20, 4_096  # of its discrete local search, by its defaults
RESTARTS_OF_NUMBERS, DRAWN_OF_NUMBERS = 10, 512

Suggest = Callable[[Coder, np.ndarray, np.ndarray, int], np.ndarray]  # of points, values to maximize, and restarts


def botorch(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Suggest points by the package BoTorch: log EI on its default GP, maximized by its own optimizers."""
    return _search(_suggest, task, initial, seed)


def fast_botorch(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Suggest points by BoTorch's GP, log EI and discrete local search, as `botorch_fast` implements them.

    The space has only orders and bits, or only categories.
    """
    return _search(_suggest_fast, task, initial, seed)


def _search(suggest: Suggest, task: Task, initial: Sequence[Point], seed: int) -> Steps:
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    coder = Coder(task.space)
    xs, values = [], []
    for point in initial:
        xs.append(coder.encode(point))
        values.append((yield point))
    while True:
        left = (task.space.n_points - len(xs)) // 4  # small spaces have too few points for more restarts
        found = suggest(coder, np.array(xs), -np.array(values, dtype=np.float64), int(min(RESTARTS, max(1, left))))
        point = coder.decode(found)
        xs.append(coder.encode(point))
        values.append((yield point))


def _suggest(coder: Coder, x: np.ndarray, values: np.ndarray, restarts: int) -> np.ndarray:
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import MixedSingleTaskGP, SingleTaskGP
    from botorch.optim import optimize_acqf, optimize_acqf_discrete_local_search, optimize_acqf_mixed_alternating
    from gpytorch.mlls import ExactMarginalLogLikelihood

    xs, ys = torch.tensor(x), torch.tensor(values)[:, None]
    model = MixedSingleTaskGP(xs, ys, cat_dims=list(coder.categories)) if coder.categories else SingleTaskGP(xs, ys)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    score = LogExpectedImprovement(model, best_f=ys.max())
    bounds = torch.tensor(coder.bounds, dtype=torch.double).T
    if choices := coder.list_choices():
        lists = [torch.tensor(own) for own in choices]
        found, _ = optimize_acqf_discrete_local_search(
            score, q=1, discrete_choices=lists, num_restarts=restarts, raw_samples=DRAWN, X_avoid=xs
        )
    elif coder.categories or coder.orders:
        categories = {i: list(range(n)) for i, n in coder.categories.items()}
        found, _ = optimize_acqf_mixed_alternating(
            score,
            bounds,
            coder.orders,
            categories,
            q=1,
            raw_samples=DRAWN_OF_NUMBERS,
            num_restarts=RESTARTS_OF_NUMBERS,
        )
    else:
        found, _ = optimize_acqf(score, bounds, q=1, num_restarts=RESTARTS_OF_NUMBERS, raw_samples=DRAWN_OF_NUMBERS)
    return found[0].detach().numpy()


def _suggest_fast(coder: Coder, x: np.ndarray, values: np.ndarray, restarts: int) -> np.ndarray:
    choices = coder.list_choices()
    if not choices or (coder.categories and coder.orders):
        raise ValueError("expected a space of only orders and bits, or of only categories")
    kernel = botorch_fast.Hamming([len(own) for own in choices]) if coder.categories else botorch_fast.RBF(len(choices))
    posterior = botorch_fast.fit(kernel, x, values)
    drawn = draw_points(choices, DRAWN)
    return botorch_fast.search_locally(
        lambda at: posterior.compute_log_ei(at, values.max()), choices, drawn, x, restarts
    )


def draw_points(choices: Sequence[np.ndarray], n: int) -> np.ndarray:
    """Draw points (n, d) as BoTorch's discrete local search does, from torch's global generator.

    choices: values of each variable.
    """
    import torch

    return np.stack([own[torch.randint(len(own), (n,)).numpy()] for own in choices], axis=1)
