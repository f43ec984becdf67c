"""Compare `auto` with and without the trials of an earlier study, whose task is related, unrelated or the opposite.

    python -m benchmarks.transfer [--seeds 5] [--first-seed 0] [--trials 60] [--fcnet FILE] [--out FILE]

A seed is one pair of tasks: the target, and the task of an earlier study of 60 trials by `auto`. `auto` without a prior
begins with 10 random points, with a prior with 2 points of the earlier study and 3 random ones; so `auto` with 5 random
points is there too. Every arm searches the same targets. The table has the mean of the best value of `auto` after 20
trials and at the end. For the other arms it has the mean paired difference to it, with its standard error (minus: a
gain), then the seeds that are better and worse. The last columns are the seconds of a suggestion, and the share of the
model's suggestions that used the earlier trials.

- Max-3-SAT: 28 variables, 140 clauses. The related task is the target plus 0.3 of another instance. The unrelated task
  is another instance.
- Branin: two reals. The related task is Branin scaled, and shifted by up to 1.5 along each variable.
- FC-Net: the tables of Klein and Hutter 2019. The related task is the table of another data set. FILE is as of
  `bostruct.problems.fcnet`; without it these rows are skipped.

The opposite of a target is its negative. FILE of `--out` gets a JSON line for each run. Runs that it holds are not
repeated, so a file is good for one revision of the package.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo
from bostruct import methods, problems
from bostruct.contracts import Array
from bostruct.problems.branin import branin_at
from bostruct.problems.fcnet import FCNET_DATA_SETS

N_EARLIER = 60  # trials of the earlier study
MARK = 20  # trials, beside those at the end
FEW = 5  # initial points of a method with a prior
ALONE, ALONE_FEW = "auto", "auto, 5 initial"
RELATIONS = ("related", "unrelated", "opposite")
Value = Callable[[Mapping[str, Any]], float]


class Family(NamedTuple):
    """A target, and the tasks of earlier studies, by their relation to it."""

    space: bo.Space
    target: Value
    earlier: dict[str, Value]


class Run(NamedTuple):
    """What a run found.

    best: the best value after `MARK` trials and at the end. seconds: of a suggestion by the model. used: the share of
    these suggestions that used the earlier trials.
    """

    best: list[float]
    seconds: float
    used: float


def make_max3sat(seed: int) -> Family:
    """Make the target from instance `seed`, and the other tasks with a second instance."""
    spec = "max3sat:variables=28,clauses=140,seed={}"
    target, other = (problems.load(spec.format(instance)) for instance in (seed, seed + 1000))
    related: Value = lambda point: target(point) + 0.3 * other(point)  # noqa: E731
    return Family(target.space, target, {"related": related, "unrelated": other, "opposite": lambda p: -target(p)})


def make_branin(seed: int) -> Family:
    """Make Branin the target, and shift it for the related task."""
    shift = np.random.default_rng([seed, 7]).uniform(-1.5, 1.5, 2)
    earlier: dict[str, Value] = {
        "related": lambda point: 2.0 * float(branin_at(point["x"] + shift[0], point["y"] + shift[1])) + 50.0,
        "unrelated": lambda point: abs(math.sin(3.0 * point["x"] + seed) * point["y"]) + point["x"],
        "opposite": lambda point: -float(branin_at(point["x"], point["y"])),
    }
    space = bo.Space({"x": bo.Real(-5.0, 10.0), "y": bo.Real(0.0, 15.0)})
    return Family(space, lambda point: float(branin_at(point["x"], point["y"])), earlier)


@cache
def load_fcnet(file: str, data: str) -> Any:
    """Load the table of a data set."""
    return problems.load(f"fcnet:file={file},data={data}")


def make_fcnet(file: str, seed: int) -> Family:
    """Make the target from one data set, and the related task from another: all ordered pairs in 12 seeds."""
    first, step = seed % 4, 1 + seed // 4 % 3
    target, other = (load_fcnet(file, FCNET_DATA_SETS[i % 4]) for i in (first, first + step))
    return Family(target.space, target, {"related": other, "opposite": lambda point: -target(point)})


def run_arm(family: Family, arm: str, seed: int, n_trials: int) -> Run:
    """Run one arm on the target of a family."""
    method: Any = methods.auto(family.space)
    prior = None
    if arm in RELATIONS:
        prior = [bo.minimize(family.earlier[arm], family.space, N_EARLIER, seed=seed + 500, progress=False)]
    elif arm == ALONE_FEW:
        method = replace(method, n_initial=FEW)
    with bo.Study(family.space, method=method, seed=seed, prior=prior) as study:
        trials = study.optimize(family.target, n_trials, progress=False).trials
    best = np.minimum.accumulate([trial.value for trial in trials])
    by_model = [trial.info for trial in trials if trial.origin == "model"]
    used = float(np.mean([info.get("transfer", False) for info in by_model]))
    seconds = float(np.median([info["suggest_seconds"] for info in by_model]))
    return Run([float(best[min(MARK, n_trials) - 1]), float(best[-1])], seconds, used)


def run_all(families: dict[str, Callable[[int], Family]], seeds: range, n_trials: int, out: Path | None):
    """Run what the file does not hold yet, and append it there; return the runs by family, arm and seed."""
    lines = out.read_text().splitlines() if out is not None and out.exists() else []
    known = {tuple(row["key"]): Run(**row["run"]) for row in map(json.loads, lines)}
    runs: dict[tuple[str, str, int], Run] = {}
    for name, make in families.items():
        for seed in seeds:
            family = make(seed)
            for arm in (ALONE, ALONE_FEW, *family.earlier):
                key = (name, arm, seed, n_trials)
                if key not in known:
                    known[key] = run_arm(family, arm, seed, n_trials)
                    if out is not None:
                        with out.open("a") as file:
                            file.write(json.dumps({"key": key, "run": known[key]._asdict()}) + "\n")
                runs[name, arm, seed] = known[key]
    return runs


def summarize(differences: Array) -> str:
    """Write a mean with its standard error, and how many are below and above 0."""
    error = differences.std(ddof=1) / math.sqrt(len(differences)) if len(differences) > 1 else math.nan
    better, worse = int((differences < -1e-9).sum()), int((differences > 1e-9).sum())
    return f"{differences.mean():+.3f} ± {error:.3f} ({better} better, {worse} worse)"


def tabulate(runs: dict[tuple[str, str, int], Run], seeds: range, n_trials: int) -> str:
    """Write the table: a row for each family and arm."""
    lines = [f"| tasks | arm | {MARK} trials | {n_trials} trials | seconds | used |", "|---|---|---|---|---|---|"]
    for name, arm in dict.fromkeys(key[:2] for key in runs):
        own = [runs[name, arm, seed] for seed in seeds]
        alone = np.array([runs[name, ALONE, seed].best for seed in seeds])
        best = np.array([run.best for run in own])
        cells = [f"{best[:, i].mean():.3f}" if arm == ALONE else summarize(best[:, i] - alone[:, i]) for i in (0, 1)]
        cells += [f"{np.mean([run.seconds for run in own]):.2f}", f"{np.mean([run.used for run in own]):.0%}"]
        lines.append(f"| {name} | {arm} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--fcnet", metavar="FILE", help="the tables of FC-Net")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    families: dict[str, Callable[[int], Family]] = {"Max-3-SAT": make_max3sat, "Branin": make_branin}
    if given.fcnet is None:
        print("FC-Net is skipped: give its tables as --fcnet FILE", file=sys.stderr)
    else:
        families["FC-Net"] = partial(make_fcnet, given.fcnet)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    runs = run_all(families, seeds, given.trials, given.out)
    print(f"{len(seeds)} seeds from {seeds.start}; minus: better than {ALONE}\n")
    print(tabulate(runs, seeds, given.trials))


if __name__ == "__main__":
    main()
