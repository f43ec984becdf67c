"""BoTorch's default GP and log expected improvement, with BoTorch's own constraints on suggestions."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf, optimize_acqf_mixed
from gpytorch.mlls import ExactMarginalLogLikelihood

from benchmarks.sums.problems import Problem, list_all, round_sum


def suggest(problem: Problem, xs: np.ndarray, ys: np.ndarray, seed: int) -> np.ndarray:
    """Return the next suggestion of BoTorch; integers are rounded to the nearest feasible point.

    xs: n points (n, k). ys: their values, minimized (n,).
    """
    torch.manual_seed(seed)
    train = torch.tensor(xs / problem.scale, dtype=torch.double)
    values = torch.tensor(-ys, dtype=torch.double)[:, None]
    model = SingleTaskGP(train, values, outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    score = LogExpectedImprovement(model, best_f=values.max())
    k = xs.shape[1]
    high = problem.space.variables["x0"].grid.high if "x0" in problem.space.variables else 1.0
    bounds = torch.tensor([[0.0] * k, [high] * k], dtype=torch.double)
    places = torch.arange(k)
    equal = [(places, torch.tensor(w, dtype=torch.double), limit / problem.scale) for w, limit in problem.equal]
    upper = [(places, torch.tensor(-w, dtype=torch.double), -limit / problem.scale) for w, limit in problem.upper]
    settings = {"q": 1, "equality_constraints": equal, "inequality_constraints": upper or None}
    if problem.most is not None:  # the best subsets, with all other shares fixed at 0
        fixed = [{i: 0.0 for i in range(k) if i not in chosen} for chosen in screen_subsets(score, k, problem.most)]
        found, _ = optimize_acqf_mixed(
            score, bounds, fixed_features_list=fixed, num_restarts=1, raw_samples=32, **settings,
            options={"maxiter": 50},
        )  # fmt: skip
    else:
        found, _ = optimize_acqf(score, bounds, num_restarts=10, raw_samples=256, **settings)
    x = found.detach().numpy()[0] * problem.scale
    if problem.whole and problem.upper:
        every = list_all(problem.space)
        new = every[[not (xs == one).all(axis=1).any() for one in every]]
        return new[np.square(new - x).sum(axis=1).argmin()]
    return round_sum(np.maximum(x, 0.0), round(problem.equal[0][1])) if problem.whole else x


def screen_subsets(score: LogExpectedImprovement, k: int, most: int) -> list[tuple[int, ...]]:
    """Return the six subsets of parts with the best of 128 uniform points each; all 120 would take a minute."""
    subsets, found = list(itertools.combinations(range(k), most)), []
    shares = torch.distributions.Dirichlet(torch.ones(most, dtype=torch.double)).sample(torch.Size([128]))
    for chosen in subsets:
        x = torch.zeros(len(shares), 1, k, dtype=torch.double)
        x[:, 0, list(chosen)] = shares
        with torch.no_grad():
            found.append(float(score(x).max()))
    return [subsets[i] for i in np.argsort(found)[:-7:-1]]
