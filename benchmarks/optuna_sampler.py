"""CPU seconds of 100 trials in Optuna with `BostructSampler`, compared with the same trials in a bostruct study.

    python -m benchmarks.optuna_sampler      # the table in docs/evidence/integrations.md, half a CPU minute

The runs alternate in one process, so that a busy machine slows all of them equally; the objective's time is negligible.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

import bostruct as bo
from bostruct.integrations.optuna import BostructSampler

SPACE = {
    "x": bo.Real(0.0, 1.0),
    "rate": bo.Real(1e-4, 1.0, log=True),
    "k": bo.Integer(1, 64),
    "kind": ["a", "b", "c"],
    "flag": bool,
}
Run = Callable[[], None]


def cost(point: Mapping[str, Any]) -> float:
    """Return a value, whose minimum in the space is 1/64.

    point: of the space.
    """
    return (point["x"] - 0.3) ** 2 + (point["rate"] - 0.1) ** 2 + point["k"] / 64 + "abc".index(point["kind"])


def ask_and_cost(trial: optuna.Trial) -> float:
    """Return the same value for a trial that suggests its parameters.

    trial: of Optuna.
    """
    point = {
        "x": trial.suggest_float("x", 0, 1),
        "rate": trial.suggest_float("rate", 1e-4, 1, log=True),
        "k": trial.suggest_int("k", 1, 64),
        "kind": trial.suggest_categorical("kind", ["a", "b", "c"]),
        "flag": trial.suggest_categorical("flag", [False, True]),
    }
    return cost(point)


def build_runs(n_trials: int, method: str, folder: Path) -> dict[str, Run]:
    """Return the runs to measure, by the name of their row.

    n_trials: of each run.
    method: of all.
    folder: for journals.
    """

    def in_optuna(space: object, storage: object = None) -> None:
        sampler = BostructSampler(space, method=method, seed=0)  # type: ignore[arg-type]
        optuna.create_study(sampler=sampler, storage=storage).optimize(ask_and_cost, n_trials)  # type: ignore[arg-type]

    def in_journal() -> None:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            in_optuna(SPACE, JournalStorage(JournalFileBackend(file.name)))

    def in_our_study() -> None:
        bo.Study(SPACE, method=method, seed=0).optimize(cost, n_trials, progress=False)

    return {
        "a study of ours": in_our_study,
        "Optuna, a search space": lambda: in_optuna(SPACE),
        "Optuna, a search space, journal": in_journal,
        "Optuna, no search space": lambda: in_optuna(None),
    }


def measure(runs: Mapping[str, Run], repeats: int) -> dict[str, float]:
    """Return the median CPU seconds of each run.

    runs: by name.
    repeats: number of runs of each; the runs alternate.
    """
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.process_time()
            run()
            seconds[name].append(time.process_time() - began)
    return {name: median(each) for name, each in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--method", default="auto")
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        measure(build_runs(20, args.method, Path(folder)), 1)  # imports modules
        found = measure(build_runs(args.trials, args.method, Path(folder)), args.repeats)
    print(f"| {args.trials} trials of `{args.method}` | CPU seconds | ratio |\n|---|---|---|")
    for name, seconds in found.items():
        print(f"| {name} | {seconds:.2f} | {seconds / found['a study of ours']:.2f} |")


if __name__ == "__main__":
    main()
