"""The page of the structures in Markdown: targets, a table for each problem, and figures."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.peers.groups import OURS
from benchmarks.peers.report import CAPTION, describe_difference
from benchmarks.peers.verdicts import LEAST_SEEDS, Index, compare, find_best
from benchmarks.structures.cases import GROUPS, Group
from benchmarks.structures.page import (
    Layout,
    format_mean,
    format_table,
    has_seeds,
    intersect_seeds,
    lay_out,
    name_picture,
    publish_page,
    select_values,
)
from bostruct.comparison.statistics import Difference, estimate_difference

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("results.jsonl")
PAGE = ROOT / "docs" / "evidence" / "structures.md"
PICTURES = Path("images", "structures")  # relative to the folder of the page
HEADER = """\
# Orders, subsets, sequences and tables

<!-- Written by `python -m benchmarks.structures`; not to be edited. -->

This page compares `auto` with local search, evolution, random search, Optuna and BoTorch on problems whose variable is
a whole structure: an order, a subset, a sequence or a row of a measured table.

**What came out**

- **Better**: in job shops `auto` leaves 0.09 of the gap to the proved optima that climbing by swaps leaves after 300
  trials, and it is worse on no instance. It is better in 35 of 36 comparisons on assignments, tours and rankings, in 14
  of 15 on features and nodes of graphs, in all four on hidden motifs and in all five on Ehrlich functions.
- **Worse**: in RNA inverse folding `auto` is better in none of 15 comparisons. Hill climbing, annealing and Optuna's
  TPE find significantly better sequences for the structure rna 65. Use a local search there.
- **Undecided**: on two tables of reactions `auto` is better in 4 of 14 comparisons. Nothing separates it from a GP of
  BoTorch with a Tanimoto kernel, from Optuna's GP, or from `auto` without descriptors.
- **Cost**: `auto` takes 0.04 to 0.42 CPU s per suggestion, evolution and the local searches at most 0.011.

**How it was measured**

- A seed is an instance and ten initial points, which count as trials and which all methods share. Defaults of `auto`
  were chosen on seeds 0 to 9; the seeds here begin at 10. Each run has a process and one thread of its own.
- **Mean best** is the mean of the best values after all trials, with its standard error. Smaller is better. It is over
  the seeds that all methods of a table have. A method with fewer than five seeds has its own mean, and no verdict.
- **Minus `auto`** is the mean paired difference, with its 95% interval (Student's t). Above zero, `auto` is better. The
  verdict is **ahead** if the interval lies above zero, *behind* if it lies below zero, and undecided otherwise. The
  verdicts are not corrected for the number of comparisons.
- **climbing by swaps** swaps two items of the best order and continues from the new order unless it is worse.
  `hill-climbing`, `annealing`, `evolution`, `tpe` and `random` are methods of this package. Optuna's TPE searches
  orders by their Lehmer codes and sequences letter by letter.

In the figures a band is one standard error.

`python -m benchmarks.structures --data DIR --python PYTHON` takes the runs that `benchmarks/structures/results.jsonl`
lacks and writes this page, its figures and its tables; with `--seeds 0` it only writes them.
"""


def format_group(index: Index, group: Group) -> str:
    """Return the section of a group: its text, whether targets are reached, and a table for each problem.

    index: the runs.
    group: the problems.
    """
    problems = [name for name in group.problems if any(name == problem for problem, _ in index)]
    if not problems:
        return ""
    targets = _judge_gaps(index, group) if group.half_of else _judge_intervals(index, group)
    parts = [f"## {group.title}", group.text, f"{group.trials} trials. {targets}".strip()]
    for problem in problems:
        columns, searches = _list_columns(group, problem), [one for one in group.searches if (problem, one) in index]
        shared = intersect_seeds([find_best(index, problem, name, group.trials) for name in searches])
        rows = [_format_row(index, group, problem, search, shared) for search in searches]
        if OURS not in searches:
            rows.insert(0, [OURS, "0", "not run yet", *[""] * (len(columns) - 3)])
        parts += [f"### {problem}", format_table(columns, rows)]
        if has_seeds(index, problem):
            parts += [f"![Mean best values on {problem}]({name_picture(PICTURES, problem).as_posix()})", CAPTION]
    return "\n\n".join(parts)


def _list_columns(group: Group, problem: str) -> list[str]:
    proved = ["gap", "at optimum"] if problem in group.optima else []
    return ["method", "seeds", "mean best", *proved, "minus `auto` [95%]", "", "CPU s per suggestion"]


def _format_row(index: Index, group: Group, problem: str, search: str, shared: AbstractSet[int]) -> list[str]:
    runs = index[problem, search]
    found = find_best(index, problem, search, group.trials)
    best = select_values(found, shared)
    cells = [search, str(len(found)), format_mean(best)]
    if problem in group.optima:
        gaps = np.array(best) - group.optima[problem]
        cells += [f"{gaps.mean():.3g}", f"{np.count_nonzero(gaps <= 0.0)} of {len(gaps)}"] if len(gaps) else ["", ""]
    difference = None if search == OURS else estimate_difference(compare(index, problem, search, group.trials))
    seconds = np.mean([run["seconds"] for run in runs.values()])
    return [*cells, _describe(difference), judge_difference(difference), f"{seconds:.3g}"]


def _describe(difference: Difference | None) -> str:
    """Return a mean difference, with its interval if there are enough seeds."""
    text = describe_difference(difference)
    return text if difference is None or difference.n >= LEAST_SEEDS else text.partition(" ")[0]


def judge_difference(difference: Difference | None) -> str:
    """Return the verdict on `auto` compared with a method, by the interval of the difference.

    difference: the method minus `auto`; None for too few seeds.
    """
    if difference is None:
        return ""
    if difference.n < LEAST_SEEDS:
        return "few seeds"
    return "**ahead**" if difference.low > 0.0 else "*behind*" if difference.high < 0.0 else "undecided"


def _judge_gaps(index: Index, group: Group) -> str:
    """Describe by how much `auto` reduces the mean gap to the optima, for each problem."""
    rows, ratios = [], []
    assert group.half_of is not None
    for problem, optimum in group.optima.items():
        ours, theirs = (find_best(index, problem, name, group.trials) for name in (OURS, group.half_of))
        if seeds := sorted(ours.keys() & theirs.keys()):
            own, other = (float(np.mean([one[seed] for seed in seeds])) - optimum for one in (ours, theirs))
            ratios.append((own, other))
            rows.append([problem, f"{optimum:g}", str(len(seeds)), f"{other:.3g}", f"{own:.3g}"])
    if not rows:
        return ""
    own, other = np.sum(ratios, axis=0)
    worse = sum(one > two for one, two in ratios)
    reached = "reached" if own <= 0.5 * other and not worse else "**not reached**"
    target = f"Target: at most half the mean gap of {group.half_of} over the problems, and worse on none: {reached}."
    share = f" The ratio is {own / other:.2f}; worse on {worse} of {len(rows)}." if other else ""
    columns = ["problem", "optimum", "seeds", f"gap of {group.half_of}", "gap of `auto`"]
    return f"{target}{share}\n\n{format_table(columns, rows)}"


def _judge_intervals(index: Index, group: Group) -> str:
    """Describe in how many comparisons `auto` is ahead by its interval, and list the other comparisons."""
    found = {
        (problem, search): difference
        for problem in group.problems
        for search in group.searches[1:]
        if (difference := estimate_difference(compare(index, problem, search, group.trials))) is not None
        if difference.n >= LEAST_SEEDS
    }
    if not found:
        return ""
    behind = [f"{search} on {problem}" for (problem, search), one in found.items() if one.high < 0.0]
    undecided = [f"{search} on {problem}" for (problem, search), one in found.items() if one.low <= 0.0 <= one.high]
    ahead = f"ahead in {len(found) - len(behind) - len(undecided)} of {len(found)} comparisons"
    target = f"Target: ahead of each method on each problem by its 95% interval: {ahead}."
    named = [("Behind", behind), ("Undecided against", undecided)]
    return " ".join([target, *(f"{how} {', '.join(names)}." for how, names in named if names)])


LAYOUT = Layout(
    "benchmarks.structures", HEADER, GROUPS, format_group, lambda index, _, problem: has_seeds(index, problem), PICTURES
)
publish = partial(publish_page, LAYOUT)
make_page = partial(lay_out, LAYOUT)
