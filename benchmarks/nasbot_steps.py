"""The steps that NASBOT's model favors: its predictions for children near the best perceptron and far from it.

    python -m benchmarks.nasbot_steps [--seeds 8] [--first 100] [--trials 20] [--children 200]

The objective is minus the log mass of perceptrons, without noise, so that a larger perceptron is always better. After
some trials of evolution, children of the best perceptron by 1 to 5 mutations are sorted by their gain in log mass. Each
line has the share of the children, their true gain, the mean and standard deviation of the gain that the model
predicts, and their share of the ten children with the largest expected improvement. `nasbot` is the unchanged model,
`nasbot-line` has a linear function of the log mass as its mean.
"""

from __future__ import annotations

import argparse

import numpy as np

import bostruct as bo
from benchmarks.nasbot_variants import VARIANTS, FarDomain, log_mass, mass
from bostruct import methods
from bostruct.acquisition.functions import LOG_EI
from bostruct.contracts import Array
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.study.threads import ThreadLimit

GAINS = (-np.inf, 0.0, 0.1, 0.2, 0.4, 0.8, np.inf)  # of log mass
CHOSEN = 10  # children with the largest expected improvement


def judge_children(search: BayesianSearch, seed: int, n_trials: int, n_children: int) -> Array:
    """Return the gains and a model's predictions for children of the best perceptron (m, 4).

    search: contains the model.
    seed: of the trials of evolution, and of the children.
    n_trials: trials of evolution, which the model observes.
    n_children: number of drawn children; equal children count once.

    Returns the gain in log mass, its predicted mean and standard deviation, and 1.0 for the `CHOSEN` children with the
    largest expected improvement, 0.0 for others.
    """
    problem = mass()
    result = bo.minimize(problem, problem.space, n_trials, method="evolution", seed=seed, progress=False)
    xs, values = [one.point for one in result.trials], np.array([one.value for one in result.trials], np.float64)
    rng = np.random.default_rng(seed)
    posterior, _, _ = search.surrogate.condition(xs, values, search.surrogate.initial_state(), rng)
    best = xs[int(np.argmin(values))]
    far = FarDomain(problem.space)
    children = list({x.fingerprint: x for x in (far.mutate(best, rng) for _ in range(n_children))}.values())
    prediction, incumbent = posterior.predict(children), float(values.min())
    gains = np.array([log_mass(x) for x in children]) - log_mass(best)
    log_ei = LOG_EI(prediction, incumbent)[0]
    chosen = np.isin(np.arange(len(children)), np.argsort(-log_ei)[:CHOSEN]).astype(np.float64)
    return np.stack([gains, incumbent - prediction.mean[0], np.sqrt(prediction.variance[0]), chosen], axis=1)


def table(name: str, judged: Array) -> list[str]:
    """Return the lines of one model, by the gain in log mass."""
    bins = np.digitize(judged[:, 0], GAINS) - 1
    lines = []
    for i in range(len(GAINS) - 1):
        own = judged[bins == i]
        if len(own):
            gain, mean, sd, _ = own.mean(axis=0)
            shares = len(own) / len(judged), own[:, 3].sum() / judged[:, 3].sum()
            span = f"{GAINS[i]:g} to {GAINS[i + 1]:g}".replace("-inf to", "below").replace(" to inf", " and more")
            cells = f"{shares[0]:.2f} | {gain:+.2f} | {mean:+.2f} | {sd:.2f} | {shares[1]:.2f}"
            lines.append(f"| {name} | {span} | {cells} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--children", type=int, default=200)
    given = parser.parse_args()
    space = mass().space
    searches = {"nasbot": methods.nasbot(space), "nasbot-line": VARIANTS["nasbot-line"](space)}
    print("| model | gain in log mass | share | true gain | predicted | sd | share of the ten best |")
    print("|---" * 7 + "|")
    with ThreadLimit(1)():
        for name, search in searches.items():
            seeds = range(given.first, given.first + given.seeds)
            judged = [judge_children(search, seed, given.trials, given.children) for seed in seeds]
            print("\n".join(table(name, np.concatenate(judged))), flush=True)


if __name__ == "__main__":
    main()
