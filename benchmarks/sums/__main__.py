"""Run `auto`, BoTorch and hand-written spaces on six problems with sums: `python -m benchmarks.sums [--seeds 10]`.

Each run adds a line to benchmarks/sums/results.jsonl. With `--seeds 0` only the tables in docs/evidence/sums.md are
updated.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

import bostruct as bo
from benchmarks.sums.problems import PROBLEMS, Problem

RESULTS, PAGE = Path(__file__).with_name("results.jsonl"), Path(__file__).parents[2] / "docs" / "evidence" / "sums.md"
MARK = "<!-- tables -->"
N_INITIAL, N_TRIALS, FIRST_SEED = 10, 30, 10
METHODS = ("auto", "botorch", "by hand", "evolution", "random")


def run(problem: Problem, method: str, seed: int) -> dict[str, float]:
    """Return the best of 30 values, and the CPU seconds per suggestion; all methods share the ten initial points."""
    drawn = problem.space.sample(N_INITIAL, np.random.default_rng(seed))
    xs = np.array([problem.to_array(problem.space.present(x)) for x in drawn])
    if method == "botorch":
        return search_with_botorch(problem, xs, seed)
    started = time.process_time()
    if method == "by hand":
        assert problem.by_hand is not None
        space, read = problem.by_hand  # draws its own initial points, from the same distribution
        found = bo.minimize(lambda point: problem.value(read(point)), space, n_trials=N_TRIALS, seed=seed)
    else:
        initial = [problem.to_point(x) for x in xs]
        found = bo.minimize(
            lambda point: problem.value(problem.to_array(point)), problem.space, n_trials=N_TRIALS, seed=seed,
            initial_points=initial, method=method,
        )  # fmt: skip
        assert all(rule(trial.point) for trial in found.trials for rule in problem.space.constraints)
    return {"best": found.best_value, "cpu": (time.process_time() - started) / (N_TRIALS - N_INITIAL)}


def search_with_botorch(problem: Problem, xs: np.ndarray, seed: int) -> dict[str, float]:
    """Do the same as `run` with BoTorch."""
    from benchmarks.sums.botorch_search import suggest

    ys, started = np.array([problem.value(x) for x in xs]), time.process_time()
    for i in range(N_TRIALS - N_INITIAL):
        x = suggest(problem, xs, ys, 1_000 * seed + i)
        xs, ys = np.vstack([xs, x]), np.append(ys, problem.value(x))
    return {"best": float(ys.min()), "cpu": (time.process_time() - started) / (N_TRIALS - N_INITIAL)}


def read_results() -> dict[tuple[str, str], dict[int, dict[str, float]]]:
    """Return the results by (problem, method) and seed."""
    found: dict[tuple[str, str], dict[int, Any]] = {}
    for line in RESULTS.read_text().splitlines() if RESULTS.exists() else ():
        one = json.loads(line)
        found.setdefault((one["problem"], one["method"]), {})[one["seed"]] = one
    return found


def write_tables() -> str:
    """Return a table of the mean best value, the difference from `auto` and the cost of each problem and method."""
    found, lines = read_results(), []
    lines += [
        "| problem | method | seeds | mean best | minus `auto` | verdict | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in PROBLEMS:
        own = found.get((name, "auto"), {})
        for method in METHODS:
            other = found.get((name, method), {})
            seeds = sorted(own.keys() & other.keys())
            if not seeds:
                continue
            cost = np.mean([other[seed]["cpu"] for seed in seeds])
            best = np.mean([other[seed]["best"] for seed in seeds])
            gaps = np.array([other[seed]["best"] - own[seed]["best"] for seed in seeds])
            cells = f"| {name} | {method} | {len(seeds)} | {best:.4g} |"
            if method == "auto":
                lines.append(f"{cells} | | {cost:.2f} |")
                continue
            half = (
                student.ppf(0.975, len(seeds) - 1) * gaps.std(ddof=1) / np.sqrt(len(seeds))
                if len(seeds) > 1
                else np.inf
            )
            verdict = "ahead" if gaps.mean() > half else "behind" if gaps.mean() < -half else "undecided"
            shown = f"{gaps.mean():.3g} ± {half:.2g}" if np.isfinite(half) else f"{gaps.mean():.3g}"
            lines.append(f"{cells} {shown} | {verdict} | {cost:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Make the missing runs, in the order of seeds, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sums")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--seconds", type=float, default=3_600.0, help="time after which no run starts")
    settings = parser.parse_args()
    warnings.simplefilter("ignore")
    started = time.monotonic()
    for seed in range(FIRST_SEED, FIRST_SEED + settings.seeds):
        for name in settings.problems:
            for method in settings.methods:
                problem = PROBLEMS[name](seed)
                is_done = seed in read_results().get((name, method), {})
                if is_done or (method == "by hand" and problem.by_hand is None):
                    continue
                if time.monotonic() - started > settings.seconds:
                    return
                found = run(problem, method, seed)
                line = json.dumps({"problem": name, "method": method, "seed": seed, **found})
                with RESULTS.open("a") as file:
                    file.write(line + "\n")
                print(line, flush=True)
    if PAGE.exists():
        head = PAGE.read_text().partition(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n\n{write_tables()}\n")


if __name__ == "__main__":
    main()
