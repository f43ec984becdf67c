"""Compare the true values of `recommended` and of `best_point` on a space with conditions, without and with noise.

    python -m benchmarks.recommended [--seeds 16] [--trials 50]    # the table in docs/evidence/studies.md

Ten variables of a network's training, five of them with conditions; values range from 0 to about 10. The noise is
normal. The last column is the mean paired difference with its standard error: below 0, `recommended` is better.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

import bostruct as bo

NOISES = (0.0, 0.02, 0.06, 0.2, 0.6)  # standard deviations
SPACE = bo.Space(
    {
        "optimizer": ["sgd", "adam", "lbfgs"],
        "rate": bo.Real(1e-5, 1.0, log=True),
        "momentum": bo.Real(0.0, 0.99, when={"optimizer": "sgd"}),
        "beta": bo.Real(0.8, 0.999, when={"optimizer": "adam"}),
        "history": bo.Integer(2, 20, when={"optimizer": "lbfgs"}),
        "layers": bo.Integer(1, 3),
        "width1": bo.Integer(8, 512, log=True),
        "width2": bo.Integer(8, 512, log=True, when={"layers": bo.OneOf(2, 3)}),
        "width3": bo.Integer(8, 512, log=True, when={"layers": 3}),
        "norm": bool,
    }
)


def true_loss(point: Mapping[str, Any]) -> float:
    """Return the loss of a training without its noise, 0 at the optimum.

    point: of `SPACE`.
    """
    widths = [point[name] for name in ("width1", "width2", "width3") if name in point]
    loss = 0.5 * (np.log10(point["rate"]) + 2.5) ** 2 + 3.0 * (point["rate"] > 0.3)
    loss += {"sgd": 0.1, "adam": 0.0, "lbfgs": 0.8}[point["optimizer"]]
    loss += 2.0 * (point.get("momentum", 0.9) - 0.9) ** 2 + 40.0 * (point.get("beta", 0.95) - 0.95) ** 2
    loss += 0.02 * abs(point.get("history", 10) - 10) + 0.3 * abs(point["layers"] - 2)
    return float(loss + 0.15 * sum(abs(np.log2(width) - 6.0) for width in widths) + 0.2 * (not point["norm"]))


def run_once(seed: int, trials: int, noise: float) -> tuple[float, float]:
    """Return the true values of the recommended point and of the point with the best observed value.

    seed: of the run and its noise.
    trials: of the run.
    noise: standard deviation.
    """
    rng = np.random.default_rng(seed)
    study = bo.Study(SPACE, seed=seed)
    result = study.optimize(lambda point: true_loss(point) + noise * rng.standard_normal(), trials, progress=False)
    return true_loss(result.recommended.trial.point), true_loss(result.best_point)


def main() -> None:
    """Print a row for each noise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--trials", type=int, default=50)
    given = parser.parse_args()
    print("| noise | `best_point` | `recommended` | difference |\n|---|---|---|---|")
    for noise in NOISES:
        found = np.array([run_once(seed, given.trials, noise) for seed in range(given.seeds)])
        difference = found[:, 0] - found[:, 1]
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        recommended, best = found.mean(axis=0)
        print(f"| {noise:g} | {best:.3f} | {recommended:.3f} | {difference.mean():+.4f} ± {error:.4f} |", flush=True)


if __name__ == "__main__":
    main()
