"""The tables of a comparison: mean best values, paired differences with their intervals, and what suggestions cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from benchmarks.peers.groups import ALL_SEARCHES, FCNETS, GROUPS, OURS, WITH_PEERS, list_searches
from benchmarks.peers.record import describe_conditions
from benchmarks.peers.run import N_INITIAL, Run
from benchmarks.peers.searches import ON_CHOICES, SEARCHES
from benchmarks.speed.__main__ import put_between

NO_RUNS = "No runs."
EARLY = 20  # trials; where there is a prior, the early mark
BETTER, LEVEL, WORSE = "**better**", "level", "worse"
Runs = Mapping[Run, Mapping[str, Any]]


def format_sections(runs: Runs, conditions: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the sections of a page in Markdown: a summary, a table for each group, and how the runs were taken.

    runs: what each run found, as `benchmarks.peers.run.take` returns it, or why it is missing.
    conditions: how they were taken, as `benchmarks.peers.record.read_file` returns it.
    """
    whole = {run: found for run, found in runs.items() if "missing" not in found and not found["cut"]}
    sections = {"summary": _summarize(whole)}
    sections |= {group: _format_group(whole, group) for group in GROUPS}
    sections["record"] = "\n".join([*_list_absent(runs), describe_conditions(conditions)])
    return {name: text or NO_RUNS for name, text in sections.items()}


def write_page(page: Path, sections: Mapping[str, str]) -> None:
    """Put sections between their markers in a page; raise ValueError where it has none for one of them.

    page: Markdown.
    sections: as of `format_sections`.
    """
    text = page.read_text(encoding="utf-8")
    for name, section in sections.items():
        text = put_between(text, name, section)
    page.write_text(text, encoding="utf-8")


def compare(runs: Runs, problem: str, search: str, mark: int) -> np.ndarray:
    """Return the best values of a search minus those of `auto`, one for each seed that both have (n,).

    runs: whole ones.
    problem, search: names.
    mark: trials after which they are compared.
    """
    own, base = (_best(runs, problem, name, mark) for name in (search, OURS))
    return np.array([own[seed] - base[seed] for seed in sorted(own.keys() & base.keys())])


def describe_difference(pairs: np.ndarray) -> str:
    """Return the mean of paired differences with its 95 % interval, and the verdict on the search.

    pairs: a search's value minus ours, one for each seed (n,).
    """
    if len(pairs) < 2:
        return ""
    mean, half = _mean_and_half_width(pairs)
    return f"{mean:+.3g} [{mean - half:+.3g}, {mean + half:+.3g}] {judge(pairs)}"


def judge(pairs: np.ndarray) -> str:
    """Return whether a search is better or worse than `auto` beyond its 95 % interval; nothing for a single pair.

    pairs: a search's value minus ours, one for each seed (n,).
    """
    if len(pairs) < 2:
        return ""
    mean, half = _mean_and_half_width(pairs)
    return WORSE if mean > half else BETTER if mean < -half else LEVEL


def _mean_and_half_width(pairs: np.ndarray) -> tuple[float, float]:
    half = student.ppf(0.975, len(pairs) - 1) * pairs.std(ddof=1) / len(pairs) ** 0.5
    return float(pairs.mean()), float(half)


def _best(runs: Runs, problem: str, search: str, mark: int) -> dict[int, float]:
    """Return the best value after some trials, by seed."""
    return {
        run.seed: min((value for n, value in found["improvements"] if n <= mark), default=math.inf)
        for run, found in runs.items()
        if (run.problem, run.search) == (problem, search)
    }


def _marks(runs: Runs, group: str) -> list[int]:
    trials = max((run.trials for run in runs), default=0)
    early = EARLY if group == "transfer" else trials // 2
    return [n for n in (early, trials) if N_INITIAL < n <= trials]


def _list_rows(runs: Runs, group: str) -> list[tuple[str, str]]:
    """List the problems and searches of a group that have runs."""
    found = {(run.problem, run.search) for run in runs}
    rows = [(problem, search) for problem in GROUPS[group] for search in list_searches(group, problem)]
    return [row for row in rows if row in found]


def _format_group(runs: Runs, group: str) -> str:
    rows, marks = _list_rows(runs, group), _marks(runs, group)
    if not rows:
        return ""
    named = [f"{what} {n}" for n in marks for what in ("mean best after", "minus auto [95 %] at")]
    columns = ["problem", "search", "seeds", *named, "CPU s a suggestion"]
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    lines += [_format_row(runs, *row, marks) for row in rows]
    closing = _list_worse(runs, rows, marks) if group == "transfer" else _list_better(runs, rows, marks)
    return "\n".join([*lines, "", *closing])


def _format_row(runs: Runs, problem: str, search: str, marks: list[int]) -> str:
    own = [found for run, found in runs.items() if (run.problem, run.search) == (problem, search)]
    cells = [problem, search, str(len(own))]
    for n in marks:
        cells.append(f"{np.mean(list(_best(runs, problem, search, n).values())):.4g}")
        cells.append("" if search == OURS else describe_difference(compare(runs, problem, search, n)))
    return f"| {' | '.join([*cells, format(np.mean([found['seconds'] for found in own]), '.3f')])} |"


def _list_better(runs: Runs, rows: list[tuple[str, str]], marks: list[int]) -> list[str]:
    """Say where `auto` lost."""
    lost = _find(runs, rows, marks, BETTER)
    return [f"Better than `auto` beyond chance: {', '.join(lost) or 'none'}."]


def _list_worse(runs: Runs, rows: list[tuple[str, str]], marks: list[int]) -> list[str]:
    """Say where a prior lost, and what it was worth on the tables."""
    lost = _find(runs, [row for row in rows if row[1].endswith("prior")], marks, WORSE)
    told = [f"A prior was worse than none beyond chance: {', '.join(lost) or 'nowhere'}."]
    early, late = ([compare(runs, name, "related prior", n) for name in FCNETS] for n in (marks[0], marks[-1]))
    early, late = ([pairs for pairs in all_pairs if len(pairs) > 1] for all_pairs in (early, late))
    if early:
        ahead, beyond = sum(pairs.mean() < 0 for pairs in early), sum(judge(pairs) == BETTER for pairs in early)
        errors = [pairs.std(ddof=1) / len(pairs) ** 0.5 for pairs in late]
        behind = sum(pairs.mean() > 2 * error for pairs, error in zip(late, errors, strict=True))
        told.append(
            f"FC-Net with the related prior: at {marks[0]} trials the mean is better on {ahead} of {len(early)} data "
            f"sets, beyond chance on {beyond}; at {marks[-1]} it is worse by more than two standard errors on {behind}."
        )
    return told


def _find(runs: Runs, rows: list[tuple[str, str]], marks: list[int], verdict: str) -> list[str]:
    return [
        f"{search} on {problem} at {n}"
        for problem, search in rows
        for n in marks
        if search != OURS and judge(compare(runs, problem, search, n)) == verdict
    ]


def _summarize(runs: Runs) -> str:
    """Count, for each search, the problems on which it is worse than `auto`, level and better."""
    rows = [row for group in WITH_PEERS for row in _list_rows(runs, group)]
    lines = []
    for search in [name for name in (*SEARCHES, *ON_CHOICES) if name != OURS]:
        problems = [problem for problem, own in rows if own == search]
        for n in _marks(runs, "numbers") if problems else ():
            verdicts = [judge(compare(runs, problem, search, n)) for problem in problems]
            lines.append(f"| {search} | {n} | {' | '.join(str(verdicts.count(v)) for v in (WORSE, LEVEL, BETTER))} |")
    head = ["| search | trials | worse than auto | level | better |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *lines]) if lines else ""


def _list_absent(runs: Runs) -> list[str]:
    order = list(ALL_SEARCHES)
    missing = {f"{run.search}: {found['missing']}" for run, found in runs.items() if "missing" in found}
    cut = [run for run, found in runs.items() if found.get("cut")]
    cut.sort(key=lambda run: (order.index(run.search), run.problem, run.seed))
    return [
        *(f"- Not installed: {text}" for text in sorted(missing)),
        *(f"- Cut: {run.search} on {run.problem}, seed {run.seed}" for run in cut),
    ]
