"""How often the Gram matrices of `nasbot` are indefinite, and the sizes of its terms at the median distances.

python -m benchmarks.nasbot_spectra [--problem landscape] [--seeds 2] [--trials 100]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import bostruct as bo
from bostruct.contracts import Array
from bostruct.kernels.algebra import NEGLIGIBLE
from bostruct.kernels.otmann.settings import REFERENCE
from bostruct.methods.defaults import N_SCALE_POINTS, ScaledOtmann
from bostruct.problems.registry import load


def find_eigenvalues(problem: Any, seed: int, trials: int) -> Array:
    """Return the smallest eigenvalue over the mean diagonal for each suggestion of a model in a run."""
    result = bo.minimize(problem, problem.space, trials, method="nasbot", seed=seed, progress=False)
    return np.array([t.info["smallest_eigenvalue"] for t in result.trials if "smallest_eigenvalue" in t.info])


def find_shares(space: Any) -> Array:
    """Return each term of the exponent at its median distance and its prior's mode: of d, then of dbar (8,)."""
    kernel = ScaledOtmann(space.sample, space.architectures)
    medians = np.median(kernel.prepare(kernel.draw())[:, *np.triu_indices(N_SCALE_POINTS, 1)], axis=1)
    return medians * np.exp(np.repeat([one.initial for one in kernel.parameters], len(REFERENCE.weights)))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="landscape")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--trials", type=int, default=100)
    given = parser.parse_args(arguments)
    problem = load(given.problem)
    print("shares of the terms:", " ".join(f"{share:.2f}" for share in find_shares(problem.space)))
    for seed in range(given.seeds):
        least = find_eigenvalues(problem, seed, given.trials)
        print(f"seed {seed}: {np.mean(least < -NEGLIGIBLE):.0%} of {len(least)} indefinite, down to {least.min():.2g}")


if __name__ == "__main__":
    main()
