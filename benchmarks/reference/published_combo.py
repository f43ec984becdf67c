"""A suggestion of the published code of COMBO, run from a clone, which is not part of this package.

    git clone https://github.com/QUVA-Lab/COMBO; export COMBO_CODE=$PWD/COMBO

Names that its modules import and that torch or NumPy have since removed are restored; none of its statements is
changed. It samples from the global generators of NumPy and torch, which are seeded here.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import time
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.surrogates.hyperparameters import Hyperparameters

PLACE = "COMBO_CODE"  # environment variable with the path of the clone
SAMPLES = 10


class Spent(NamedTuple):
    """CPU seconds of the posterior samples, and of the search for the next point."""

    fit: float
    search: float


def is_at_hand() -> bool:
    """Return whether the clone is named; end the command if it is not there."""
    place = os.environ.get(PLACE)
    if place and not Path(place, "COMBO", "graphGP").is_dir():
        raise SystemExit(f"{PLACE}: expected a clone of github.com/QUVA-Lab/COMBO, with the folder COMBO; got {place}")
    return bool(place)


def suggest(xs: IntArray, values: Array, start: Hyperparameters, seed: int) -> Spent:
    """Time one suggestion on bits (n, d): ten sweeps from given hyperparameters, then the search."""
    part = _load()
    torch: Any = importlib.import_module("torch")
    d = xs.shape[1]
    edge = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    spectrum, basis = torch.linalg.eigh(torch.diag(edge.sum(0)) - edge)
    points = torch.from_numpy(np.asarray(xs, dtype=np.int64))
    observed = torch.from_numpy(values).float()[:, None]
    log_beta = torch.tensor(start.theta, dtype=torch.float32)
    kernel = part["diffusionkernel"].DiffusionKernel(log_beta.clone(), [spectrum] * d, [basis] * d)
    model = part["gp_regression"].GPRegression(kernel, part["constant"].ConstantMean())
    model.kernel.log_amp.fill_(start.log_amplitude)
    model.mean.const_mean.fill_(start.mean)
    model.likelihood.log_noise_var.fill_(start.log_noise)
    np.random.seed(seed)  # noqa: NPY002 (the generator that it samples from)
    torch.manual_seed(seed)
    sizes, groups = np.full(d, 2), [[i] for i in range(d)]
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        began = time.process_time()
        hyper, betas, partitions, spectra, bases, edges = part["sample_posterior"].posterior_sampling(
            model, points, observed, sizes, [edge] * d, log_beta, groups, n_sample=SAMPLES
        )
        sampled = time.process_time()
        samples = part["acquisition_marginalization"].inference_sampling(
            points, observed, sizes, hyper, betas, partitions, spectra, bases
        )
        part["acquisition_optimization"].next_evaluation(
            points[torch.argmin(observed)], points, samples, partitions, edges, sizes, reference=float(observed.min())
        )
    return Spent(sampled - began, time.process_time() - sampled)


def _load() -> dict[str, Any]:
    """Import the required modules of the clone, by their last names."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    numpy: Any = np
    numpy.int = int
    torch.cholesky = lambda matrix, upper=False: torch.linalg.cholesky(matrix, upper=upper)
    torch.triangular_solve = lambda right, left, upper=True: (torch.linalg.solve_triangular(left, right, upper=upper),)
    for name in ("psutil", "simanneal", "simanneal.anneal"):  # imported by parts that do not run here
        sys.modules.setdefault(name, types.ModuleType(name))
    vars(sys.modules["simanneal"]).setdefault("Annealer", object)
    vars(sys.modules["simanneal.anneal"]).setdefault("round_figures", None)
    if os.environ[PLACE] not in sys.path:
        sys.path.insert(0, os.environ[PLACE])
    names = ("graphGP.kernels.diffusionkernel", "graphGP.models.gp_regression", "graphGP.means.constant")
    names += ("graphGP.sampler.sample_posterior", "acquisition.acquisition_marginalization")
    names += ("acquisition.acquisition_optimization",)
    return {name.rsplit(".", 1)[1]: importlib.import_module(f"COMBO.{name}") for name in names}
