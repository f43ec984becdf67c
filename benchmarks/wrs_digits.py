"""The network experiment of Florea and Andonie 2019, tables 4 and 7, on scikit-learn's digits: minutes on one core.

    python -m benchmarks.wrs_digits [--seeds 3] [--trials 60] [--seed 30000]

The space is the paper's (`bostruct.nas.spaces.wrs_cnn`), with 4 to 16 filters instead of 100 to 1,024, and 32 to 128
units instead of 1,024 to 2,048. Each trial trains 10 epochs on 599 images of 8 x 8 pixels; its value is the validation
accuracy on 599 others. The paper has 300 trials on CIFAR-10. N / e is the published number of random trials, instead of
37. The searches of a seed start with the same random networks, each of which is trained once for all searches.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import bostruct as bo
from bostruct import methods
from bostruct.comparison.statistics import mean_and_error
from bostruct.language import Program, SearchSpace
from bostruct.nas import NetworkObjective, digits
from bostruct.nas.outcomes import Trained
from bostruct.nas.recipes import WRS
from bostruct.nas.spaces.wrs_cnn import wrs_cnn
from bostruct.searchers.wrs import wrs_trials
from bostruct.study.threads import ThreadLimit

SPACE = SearchSpace(wrs_cnn(filters=(4, 16), units=(32, 128)))
RECIPE = replace(WRS, batch_size=32)  # 128 leaves 40 steps of training
COLUMNS = ("best accuracy", "mean of all trials", "standard deviation", "test accuracy of the best", "largest share")


class Found(NamedTuple):
    """The results of a search, in the order of `COLUMNS`; share: of its trials at one pair of numbers of layers."""

    best: float
    mean: float
    spread: float
    test: float
    share: float


@dataclass(frozen=True)
class Accuracy:
    """The objective: a network's validation accuracy. Equal networks are trained once."""

    objective: NetworkObjective
    trained: dict[str, Trained] = field(default_factory=dict)

    def __call__(self, point: Program) -> float:
        if point.fingerprint not in self.trained:
            self.trained[point.fingerprint] = self.objective.train(point)[0]
        return 1.0 - self.trained[point.fingerprint].error

    def search(self, method: Any, trials: int, seed: int) -> Found:
        result = bo.maximize(self, SPACE, trials, method=method, seed=seed, progress=False)
        values = [trial.value for trial in result.trials if trial.value is not None]
        sizes = Counter((p.trace["convolutions"], p.trace["dense_layers"]) for p in (t.point for t in result.trials))
        test = 1.0 - self.trained[result.best_point.fingerprint].test_error
        share = max(sizes.values()) / trials
        return Found(max(values), statistics.fmean(values), statistics.stdev(values), test, share)


def searches(trials: int) -> dict[str, Any]:
    return {
        "random": "random",
        "`wrs`, published: N / e, `shared`": methods.wrs(SPACE, wrs_trials(trials), "shared"),
        "`wrs`, N / e": methods.wrs(SPACE, wrs_trials(trials)),
        "`wrs`": "wrs",
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=RECIPE.epochs)
    parser.add_argument("--seed", type=int, default=30_000, help="the first seed")
    given = parser.parse_args(arguments)
    recipe, chosen = replace(RECIPE, epochs=given.epochs), searches(given.trials)
    found: dict[str, list[Found]] = {name: [] for name in chosen}
    with ThreadLimit(1)():
        for seed in range(given.seed, given.seed + given.seeds):
            accuracy = Accuracy(NetworkObjective(digits(), recipe, seed=seed))
            for name, method in chosen.items():
                found[name].append(accuracy.search(method, given.trials, seed))
    print(f"{given.trials} trials, {given.seeds} seeds from {given.seed}: mean, standard error\n")
    print("| search | " + " | ".join(COLUMNS) + " |\n" + "|---" * (len(COLUMNS) + 1) + "|")
    for name, runs in found.items():
        cells = ["{:.3f} ± {:.3f}".format(*mean_and_error(column)) for column in zip(*runs, strict=True)]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
