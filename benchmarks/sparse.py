"""Compare `auto` with and without its selection of variables, and with peers, where few matter or have conditions.

    python -m benchmarks.sparse [--problems "NAME;..."] [--searches NAME,...] [--first-seed 100] [--seeds 20]
        [--trials 100] [--out FILE]

A seed is one instance with its noise and 20 initial points, which all searches share. Seeds 0 to 4 serve to choose a
variant, seeds from 100 on to report it. Values are without noise. Each run is appended to FILE, and is not repeated.
The command prints the mean best value of `auto`, then for each other search the mean paired difference of the best
value and, if it has a model, of the recommended one, with standard errors: a positive difference is a gain of `auto`.
The last columns are the share of recommended trials whose 95% interval contains the value without noise ("covered"),
the share of all trials whose interval does ("coverage"), the share of suggestions of the model for which a subset
served, and CPU seconds a suggestion of each search. A run of `auto` in which no subset served is taken for the run with
all variables. All problems take hours.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

import bostruct as bo
from benchmarks.chaos.results import append_result
from benchmarks.conditions import CONDITIONAL
from benchmarks.peers.bits import BITS
from benchmarks.peers.botorch_search import botorch
from benchmarks.peers.catcma_search import catcma
from benchmarks.peers.further_searches import hebo
from benchmarks.peers.names import split_names
from benchmarks.peers.options import check_writable, integer_from
from benchmarks.peers.searches import Search, optuna
from benchmarks.peers.tasks import Task as PeerTask
from benchmarks.peers.tasks import ackley, hartmann, levy
from bostruct import methods
from bostruct.contracts import Array
from bostruct.study.predictions import HALF_WIDTH

N_INITIAL = 20
NEAR = 0.3  # weight of the tables that overlap two others
Point = Mapping[str, Any]


class Task(NamedTuple):
    """An instance of a problem, which is minimized.

    truth: of a point, without noise.
    sd: of the noise of a value.
    balanced: from a number of trials to the expected true value of the point that least squares picks after a balanced
        design; None if it is not known.
    """

    space: bo.Space
    truth: Callable[[Point], float]
    sd: float = 0.0
    balanced: Callable[[int], float] | None = None


def interacting(d: int, relevant: int, choices: int, width: int, seed: int, sd: float = 0.0) -> Task:
    """Make a sum of tables of standard normal numbers over the choices of `width` variables in a row.

    The variables that matter are drawn, and split into rows. Tables that overlap two rows have the weight 0.3.

    relevant: number of variables that matter.
    choices: of each variable.
    """
    rng = np.random.default_rng([seed, 21])
    order = rng.permutation(d)[:relevant]
    apart, between = range(0, relevant, width), range(width // 2, relevant - width // 2, width)
    rows = [(weight, order[k : k + width]) for weight, starts in ((1.0, apart), (NEAR, between)) for k in starts]
    tables = [weight * rng.normal(size=(choices,) * len(row)) for weight, row in rows]

    def truth(point: Point) -> float:
        chosen = np.array([*point.values()], dtype=np.int64)
        return float(sum(table[tuple(chosen[row])] for table, (_, row) in zip(tables, rows, strict=True)))

    kind: Any = bool if choices == 2 else list(range(choices))
    return Task(bo.Space({f"v{i}": kind for i in range(d)}), truth, sd)


def decaying(d: int, seed: int) -> Task:
    """Make effects that decay: the k-th bit has a normal effect of sd 1/k, with a pair effect of sd 0.5/k on it."""
    rng = np.random.default_rng([seed, 22])
    order, ranks = rng.permutation(d), np.arange(1, d + 1)
    single, pair = rng.normal(size=d) / ranks, 0.5 * rng.normal(size=d) / ranks

    def truth(point: Point) -> float:
        signs = 2.0 * np.array([*point.values()], dtype=np.float64)[order] - 1.0
        return float(single @ signs + pair @ (signs * np.roll(signs, 1)))

    return Task(bo.Space({f"v{i}": bool for i in range(d)}), truth)


def sparse_hartmann(d: int, seed: int, sd: float = 0.0) -> Task:
    """Make the Hartmann function of six reals among d."""
    own = np.random.default_rng([seed, 23]).permutation(d)[:6]
    space = bo.Space({f"v{i}": bo.Real(0.0, 1.0) for i in range(d)})
    return Task(space, lambda point: hartmann(np.array([*point.values()])[own]), sd)


def noisy_bits(d: int, seed: int) -> Task:
    """Make a linear function of bits: signal and noise have a standard deviation of 2 each, the best value is 0.

    In a balanced design of n trials each bit is set in half of them. The variance of each weight's estimate is then
    4 sd^2 / n, the least of all designs that have to learn the value at zero, too.
    """
    weights, sd = np.random.default_rng([seed, 24]).normal(size=d), 2.0
    weights *= 4.0 / math.sqrt(float(weights @ weights))
    lowest = float(np.minimum(weights, 0.0).sum())
    space = bo.Space({f"v{i}": bool for i in range(d)})

    def balanced(n: int) -> float:
        return float(np.abs(weights) @ ndtr(-np.abs(weights) * math.sqrt(n) / (2.0 * sd)))

    return Task(space, lambda point: float(weights @ np.array([*point.values()])) - lowest, sd, balanced)


def from_peers(make: Callable[[int], PeerTask], seed: int) -> Task:
    """Make a problem of `benchmarks.peers`, or one with conditions."""
    task = make(seed)
    return Task(task.space, task.value)


def cubic(d: int, seed: int, sd: float = 0.0) -> Task:
    """Make a cubic polynomial of signs: standard normal weights of each sign, and of 2 d pairs and d triples."""
    rng = np.random.default_rng([seed, 27])
    terms = [rng.choice(d, k, replace=False) for k, count in ((1, d), (2, 2 * d), (3, d)) for _ in range(count)]
    weights = rng.normal(size=len(terms))

    def truth(point: Point) -> float:
        signs = 2.0 * np.array([*point.values()], dtype=np.float64) - 1.0
        return float(sum(w * signs[term].prod() for w, term in zip(weights, terms, strict=True)))

    return Task(bo.Space({f"v{i}": bool for i in range(d)}), truth, sd)


def pairs_of_categories(d: int, choices: int, seed: int, sd: float = 0.0) -> Task:
    """Make a sum of tables of standard normal numbers over the choices of d random pairs of categories."""
    rng = np.random.default_rng([seed, 28])
    pairs = [rng.choice(d, 2, replace=False) for _ in range(d)]
    tables = rng.normal(size=(d, choices, choices))

    def truth(point: Point) -> float:
        chosen = np.array([*point.values()], dtype=np.int64)
        return float(sum(table[tuple(chosen[pair])] for table, pair in zip(tables, pairs, strict=True)))

    return Task(bo.Space({f"v{i}": list(range(choices)) for i in range(d)}), truth, sd)


def shifted(
    function: Callable[[Array], float], levels: Mapping[str, Any], reach: float, seed: int, sd: float = 0.0
) -> Task:
    """Make a function of numbers from -reach to reach, shifted at random by up to half of that."""
    shift = 0.5 * reach * np.random.default_rng([seed, 29]).uniform(-1.0, 1.0, len(levels))
    space = bo.Space(levels)
    return Task(space, lambda point: function(np.array([*point.values()], dtype=np.float64) * reach - shift), sd)


def rastrigin(x: Array) -> float:
    """Return the Rastrigin function, of minimum 0 at zeros."""
    return float(np.sum(x * x - 10.0 * np.cos(2.0 * math.pi * x) + 10.0))


def styblinski_tang(x: Array) -> float:
    """Return the Styblinski-Tang function for each number, of minimum -39.17 at -2.9035."""
    return float(np.mean(x**4 - 16.0 * x * x + 5.0 * x) / 2.0)


def michalewicz(x: Array) -> float:
    """Return the Michalewicz function of numbers from -1 to 1, stretched to 0 to pi."""
    angles = (np.clip(x, -1.0, 1.0) + 1.0) * math.pi / 2.0
    return -float(np.sum(np.sin(angles) * np.sin(np.arange(1, len(x) + 1) * angles**2 / math.pi) ** 20))


# sums of effects of numbers from -reach to reach, with several minima
ADDITIVE: dict[str, tuple[Callable[[Array], float], float]] = {
    "Styblinski-Tang": (styblinski_tang, 4.0),
    "Levy": (levy, 5.0),
    "Rastrigin": (rastrigin, 3.0),
    "Michalewicz": (michalewicz, 1.0),
}
ORDERED = {f"v{i}": bo.Ordinal(np.linspace(-1.0, 1.0, 11).tolist()) for i in range(25)}
SIX_ORDERED = {f"v{i}": bo.Ordinal(np.linspace(-1.0, 1.0, 7).tolist()) for i in range(6)}
BITS_AND_REALS = {f"v{i}": bool for i in range(50)} | {f"x{i}": bo.Real(-1.0, 1.0) for i in range(3)}
PROBLEMS: dict[str, Callable[[int], Task]] = {
    **{f"100 bits, {k} matter": partial(interacting, 100, k, 2, 4) for k in (2, 8, 25, 50, 100)},
    "300 bits, 10 matter": partial(interacting, 300, 10, 2, 4),
    "60 categories, 5 matter": partial(interacting, 60, 5, 5, 2),
    "100 bits, effects 1/k": partial(decaying, 100),
    **{f"Hartmann-6 in {d}": partial(sparse_hartmann, d) for d in (20, 50, 100)},
    "100 bits, 8 matter, noisy": partial(interacting, 100, 8, 2, 4, sd=0.5),
    "16 noisy bits": partial(noisy_bits, 16),
    # noise of about half the variance
    "12 bits in tables, noisy": partial(interacting, 12, 12, 2, 3, sd=2.0),
    "cubic polynomial of 14 bits, noisy": partial(cubic, 14, sd=7.5),
    "8 categories in pairs, noisy": partial(pairs_of_categories, 8, 4, sd=2.8),
    "6 orders, noisy": partial(shifted, lambda x: float(x @ x), SIX_ORDERED, 3.0, sd=7.0),
    "Hartmann-6, noisy": partial(sparse_hartmann, 6, sd=0.4),
    "max-cut 28": partial(from_peers, BITS["max-cut 28"]),
    "max-3-sat 60/300": partial(from_peers, BITS["max-3-sat 60/300"]),
    "cubic polynomial of 40 bits": partial(cubic, 40),
    "cubic polynomial of 40 bits, noisy": partial(cubic, 40, sd=4.0),
    "pairs of 30 categories": partial(pairs_of_categories, 30, 4),
    "Rastrigin of 25 orders": partial(shifted, rastrigin, ORDERED, 3.0),
    "Ackley of 50 bits and 3 reals": partial(shifted, ackley, BITS_AND_REALS, 1.0),
    **{
        f"{name} of {d} reals": partial(shifted, function, {f"v{i}": bo.Real(-1.0, 1.0) for i in range(d)}, reach)
        for d in (5, 10, 20, 30)
        for name, (function, reach) in ADDITIVE.items()
    },
    **{name: partial(from_peers, make) for name, make in CONDITIONAL.items()},
}
SEARCHES = ("auto", "all variables", "Optuna TPE")
PEERS: dict[str, Search] = {
    "Optuna TPE": partial(optuna, "TPESampler"),
    "HEBO": hebo,
    "BoTorch": botorch,
    "CatCMA": catcma,
}
PACKAGES = {"Optuna TPE": "optuna", "HEBO": "hebo", "BoTorch": "botorch", "CatCMA": "cmaes"}
BEFORE = "before"  # a further search: all variables, and no smooth model of noisy values


class Key(NamedTuple):
    """A run: a search on the instance of a seed."""

    problem: str
    search: str
    seed: int
    trials: int


class Found(NamedTuple):
    """The result of a run.

    best: the best value so far after each trial, without noise.
    recommended: the value of the recommended point, without noise; None where there is no model.
    selected: share of the model's suggestions for which a part of the variables served.
    seconds: of CPU for a suggestion.
    covered: whether the 95% interval of the recommended trial contains its value without noise; None if unknown.
    coverage: the share of all trials whose 95% intervals do.
    """

    best: list[float]
    recommended: float | None
    selected: float
    seconds: float
    covered: bool | None = None
    coverage: float | None = None


def run_once(problem: str, search: str, seed: int, trials: int) -> Found:
    """Run a search on an instance."""
    task, noise = PROBLEMS[problem](seed), np.random.default_rng([seed, 25])
    rows = task.space.sample(N_INITIAL, np.random.default_rng([seed, 26]))
    initial = [task.space.present(row) for row in rows]
    noises = task.sd * noise.normal(size=trials)
    if search in PEERS:
        return _run_peer(PEERS[search], task, initial, noises, seed)
    method: Any = methods.auto(task.space)
    if search != "auto":
        method = replace(method, surrogate=method.surrogate.on_all_variables())
    if search == BEFORE:
        method = replace(method, surrogate=method.surrogate.around(lambda model: replace(model, smooth=None)))
    values, seconds = list[float](), 0.0
    with bo.Study(task.space, method=method, seed=seed, initial_points=initial) as study:
        for extra in noises:
            began = time.process_time()
            trial = study.ask()
            seconds += time.process_time() - began
            values.append(task.truth(trial.point))
            study.tell(trial, values[-1] + extra)
        result = study.result
        told = [trial.info for trial in result.trials if trial.origin == "model"]
        selected = sum("variables" in one for one in told) / max(1, len(told))
        best, recommended = np.minimum.accumulate(values).tolist(), result.recommended
        truth, found = task.truth(recommended.trial.point), result.predict([trial.point for trial in result.trials])
        coverage = float(np.mean(np.abs(found.mean - values) <= HALF_WIDTH * found.sd))
        seconds /= max(1, trials - N_INITIAL)
        return Found(best, truth, selected, seconds, bool(recommended.low <= truth <= recommended.high), coverage)


def _run_peer(search: Search, task: Task, initial: list[Any], noises: Array, seed: int) -> Found:
    values, began = list[float](), time.process_time()
    steps = search(PeerTask(task.space, task.truth), initial, seed)
    point = next(steps)
    for extra in noises:
        values.append(task.truth(point))
        point = steps.send(values[-1] + extra)
    seconds = (time.process_time() - began) / max(1, len(noises) - len(initial))
    return Found(np.minimum.accumulate(values).tolist(), None, 0.0, seconds)


def summarize(gains: Array) -> str:
    """Write a mean and, if there are several, its standard error."""
    error = f" ± {gains.std(ddof=1) / math.sqrt(len(gains)):.2g}" if len(gains) > 1 else ""
    return f"{gains.mean():+.3g}{error}"


def format_header(searches: Sequence[str]) -> str:
    """Write the header of the rows; the first search is `auto`."""
    columns = ["problem", "auto"]
    for search in searches[1:]:
        columns += [f"{search} minus auto"] + [f"{search} minus auto, recommended"] * (search not in PEERS)
    columns += ["auto, recommended", "balanced design", "covered", "coverage", "subset used"]
    columns.append(f"CPU s of {', '.join(searches)}")
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def tabulate(runs: Mapping[Key, Found], problem: str, searches: Sequence[str], seeds: range, trials: int) -> str:
    """Write the row of a problem; the first search is `auto`."""
    found = {search: [runs[Key(problem, search, seed, trials)] for seed in seeds] for search in searches}
    own = found["auto"]
    best = np.array([one.best[-1] for one in own])
    cells = [problem, f"{best.mean():.4g}"]
    for search in searches[1:]:
        cells.append(summarize(np.array([one.best[-1] for one in found[search]]) - best))
        if search not in PEERS:
            differences = [a.recommended - b.recommended for a, b in zip(found[search], own, strict=True)]  # type: ignore[operator]
            cells.append(summarize(np.array(differences)))
    recommended, tasks = [one.recommended for one in own], [PROBLEMS[problem](seed) for seed in seeds]
    balanced = [one.balanced(trials) for one in tasks if one.balanced is not None]
    cells += ["" if not one else f"{np.mean(one):.4g}" for one in (recommended, balanced)]  # type: ignore[arg-type]
    for shares in ([one.covered for one in own], [one.coverage for one in own], [one.selected for one in own]):
        cells.append("" if None in shares else f"{np.mean(shares):.0%}")  # type: ignore[arg-type]
    cells.append(", ".join(f"{np.mean([one.seconds for one in found[search]]):.2g}" for search in searches))
    return f"| {' | '.join(cells)} |"


def read_runs(file: Path) -> dict[Key, Found]:
    """Return the runs of a file; raise ValueError if it has other lines.

    file: keys of earlier revisions have no number of trials, so the values are counted.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        rows = [json.loads(line) for line in lines if line]
        return {Key(*row["key"][:3], trials=len(row["found"]["best"])): Found(**row["found"]) for row in rows}
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"expected runs of benchmarks.sparse, or a new file; got {file}") from error


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rows; end the command if an option is wrong or a peer is not installed.

    arguments: of the command; None for the arguments of the process.
    """
    known = {**dict.fromkeys((*SEARCHES, BEFORE), ""), **PACKAGES}
    problems = "; ".join(PROBLEMS)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sparse", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", default=problems, help=f"names with ; between them; by default all: {problems}")
    names = f"names with , between them, of {', '.join(known)}"
    parser.add_argument("--searches", default=",".join(SEARCHES), help=f"{names}; auto always runs (%(default)s)")
    parser.add_argument("--first-seed", type=integer_from(0), default=100, help="the first seed (%(default)s)")
    parser.add_argument("--seeds", type=integer_from(1), default=20, help="how many (%(default)s)")
    parser.add_argument("--trials", type=integer_from(1), default=100, help="of each run (%(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="a JSON line for each run, which is not repeated")
    given = parser.parse_args(arguments)
    spellings = {f" {name}": name for name in PROBLEMS}
    chosen = dict.fromkeys(split_names(parser, "--problems", given.problems, PROBLEMS, spellings, ";"))
    searches = [*dict.fromkeys(["auto", *split_names(parser, "--searches", given.searches, known)])]
    for name in searches:
        if known[name] and importlib.util.find_spec(known[name]) is None:
            parser.error(f"--searches: {name} needs the package {known[name]}, which is not installed")
    runs, out = dict[Key, Found](), given.out
    if out is not None:
        check_writable(parser, "--out", out)
        try:
            runs = read_runs(out)
        except ValueError as error:
            parser.error(f"--out: {error}")
    print(format_header(searches), flush=True)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    for problem in chosen:
        for key in [Key(problem, search, seed, given.trials) for seed in seeds for search in searches]:
            if key not in runs:
                own = runs.get(key._replace(search="auto"))
                is_equal = key.search == "all variables" and own is not None and not own.selected
                runs[key] = own if is_equal and own else run_once(*key)
                if out is not None:
                    append_result(out, {"key": key, "found": runs[key]._asdict()})
        print(tabulate(runs, problem, searches, seeds, given.trials), flush=True)


if __name__ == "__main__":
    main()
