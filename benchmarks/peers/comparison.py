"""The comparisons: families of problems, marks, and the verdicts on all searches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.peers.groups import CHOICES, GROUPS, OURS, WITH_PEERS, list_searches
from benchmarks.peers.run import N_INITIAL, Run
from benchmarks.peers.verdicts import (
    BASELINE,
    LEAST_SEEDS,
    Found,
    Index,
    Row,
    find_best,
    index_runs,
    judge_search,
)

FAMILIES = (WITH_PEERS, ("transfer",), ("variants",), ("large",))  # groups with a common correction of p-values
MARKS = (50, 100, 200)  # trials after which searches are compared
PRIOR_MARKS = (20, 100, 200)
PANELS = {"numbers": ("numbers",), "numbers and categories": ("mixed",), "conditions": ("conditional",)} | {
    "choices without numbers": CHOICES
}
HEADLINE = "headline"  # the name of the picture
MOST_TRIALS = 100  # of the headline


class Results(NamedTuple):
    """The runs and the verdicts.

    runs: all runs.
    whole: the runs that were not cut, as `index_runs` returns them.
    rows: the comparisons of searches with `auto`, by family.
    """

    runs: Mapping[Run, Found]
    whole: Index
    rows: Sequence[list[Row]]


def judge_runs(runs: Mapping[Run, Found]) -> Results:
    """Compare all searches with `auto`.

    runs: the results of each run, or why it is missing.
    """
    index = index_runs(runs)
    return Results(runs, index, [_judge_family(index, groups) for groups in FAMILIES])


def name_picture(group: str, problem: str) -> str:
    """Return the name of a problem's figure.

    group: one of `GROUPS`.
    problem: one of its problems.
    """
    return re.sub(r"[^a-z0-9]+", "-", f"{'prior ' if group == 'transfer' else ''}{problem}".lower()).strip("-")


def list_figures(index: Index) -> dict[str, tuple[str, list[str]]]:
    """Return the problem and the searches of each figure, by its name.

    Variants have only tables, and so have problems whose runs end with the initial points.

    index: of the runs.
    """
    return {
        name_picture(group, problem): (problem, list_searches(group, problem))
        for group in GROUPS
        if group != "variants"
        for problem in list_problems(index, group)
        if list_marks(index, group, problem)
    }


def find_last_trial(index: Index) -> int:
    """Return the last trial of the headline, at most `MOST_TRIALS` and the length of the longest run.

    index: of the runs.
    """
    return min(MOST_TRIALS, max((found["evaluated"] for own in index.values() for found in own.values()), default=0))


def list_panels(index: Index) -> dict[str, list[str]]:
    """Return the problems of each panel of the headline by its title: `auto` and random search have enough seeds.

    index: of the runs.
    """
    last = find_last_trial(index)
    if last <= N_INITIAL:
        return {}
    panels = {
        title: [
            problem
            for group in groups
            for problem in list_problems(index, group)
            if min(len(find_best(index, problem, name, last)) for name in (OURS, BASELINE)) >= LEAST_SEEDS
        ]
        for title, groups in PANELS.items()
    }
    return {title: problems for title, problems in panels.items() if problems}


def _judge_family(index: Index, groups: Sequence[str]) -> list[Row]:
    pairs = [(problem, name) for group in groups for problem in GROUPS[group] for name in list_searches(group, problem)]
    return [
        row
        for search in dict.fromkeys(name for _, name in pairs if name != OURS)
        for mark in list_marks(index, groups[0])
        for row in judge_search(index, search, [problem for problem, name in pairs if name == search], mark)
    ]


def list_problems(index: Index, group: str) -> list[str]:
    """List the problems of a group that have runs of a search that is compared there."""
    return [
        problem
        for problem in GROUPS[group]
        if any((problem, name) in index for name in list_searches(group, problem) if name != OURS)
    ]


def list_marks(index: Index, group: str, problem: str | None = None) -> list[int]:
    """List the trials after which searches are compared, as far as some run on the problem, or on any, has them."""
    lengths = [
        found["evaluated"] for (name, _), own in index.items() if problem in (None, name) for found in own.values()
    ]
    longest = max(lengths, default=0)
    marks = PRIOR_MARKS if group == "transfer" else MARKS
    return [mark for mark in marks if mark <= longest] or [longest] * (longest > N_INITIAL)
