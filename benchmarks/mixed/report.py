"""The tables of a comparison: mean best values, paired differences with their intervals, and what suggestions cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import t as student

from benchmarks.mixed.run import N_INITIAL, Run
from benchmarks.mixed.searches import SEARCHES
from benchmarks.mixed.tasks import GROUPS

OURS = "auto"


def format_tables(runs: Mapping[Run, Mapping[str, Any]]) -> str:
    """Return the tables in Markdown.

    runs: what each run found, as `benchmarks.mixed.run.take` returns it, or why it is missing.
    """
    whole = {run: found for run, found in runs.items() if found.get("values") and not found["cut"]}
    trials = max((run.trials for run in whole), default=0)
    marks = [n for n in (trials // 2, trials) if n > N_INITIAL]
    lines = []
    for group, tasks in GROUPS.items():
        problems = [name for name in tasks if any(run.problem == name for run in whole)]
        if problems:
            lines += [f"### {group}", "", *_head(marks)]
            lines += [_row(whole, problem, search, marks) for problem in problems for search in SEARCHES]
            lines.append("")
    return "\n".join([*(line for line in lines if line is not None), *_left_out(runs)])


def _head(marks: list[int]) -> list[str]:
    named = [f"{what} {n}" for n in marks for what in ("mean best after", "minus auto [95 %] at")]
    columns = ["problem", "search", "seeds", *named, "CPU s a suggestion"]
    return [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]


def _row(runs: Mapping[Run, Mapping[str, Any]], problem: str, search: str, marks: list[int]) -> str | None:
    own = {run.seed: found for run, found in runs.items() if (run.problem, run.search) == (problem, search)}
    base = {run.seed: found for run, found in runs.items() if (run.problem, run.search) == (problem, OURS)}
    if not own:
        return None
    cells = [problem, search, str(len(own))]
    for n in marks:
        cells.append(f"{np.mean([min(found['values'][:n]) for found in own.values()]):.4g}")
        pairs = [min(own[s]["values"][:n]) - min(base[s]["values"][:n]) for s in own.keys() & base.keys()]
        cells.append("" if search == OURS else describe_difference(np.array(pairs)))
    seconds = [second for found in own.values() for second in found["seconds"][N_INITIAL:]]
    return f"| {' | '.join([*cells, f'{np.mean(seconds):.3f}'])} |"


def describe_difference(pairs: np.ndarray) -> str:
    """Return the mean of paired differences with its 95 % interval, and who is ahead where that is beyond chance.

    pairs: a peer's value minus ours, one for each seed (n,).
    """
    if len(pairs) < 2:
        return ""
    mean, half = float(pairs.mean()), float(student.ppf(0.975, len(pairs) - 1) * pairs.std(ddof=1) / len(pairs) ** 0.5)
    verdict = "ahead" if mean > half else "**behind**" if mean < -half else "level"
    return f"{mean:+.3g} [{mean - half:+.3g}, {mean + half:+.3g}] {verdict}"


def _left_out(runs: Mapping[Run, Mapping[str, Any]]) -> list[str]:
    missing = sorted({f"{run.search}: {found['missing']}" for run, found in runs.items() if "missing" in found})
    cut = [f"cut: {run.search} on {run.problem}, seed {run.seed}" for run, found in runs.items() if found.get("cut")]
    return [*missing, *cut]
