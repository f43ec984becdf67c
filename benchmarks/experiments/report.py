"""The page of the experiments in Markdown: targets, comparisons that `auto` loses, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.experiments.cases import GROUPS, OURS, Group
from benchmarks.experiments.comparisons import Row, compare_group, estimate_multiples, list_losses
from benchmarks.experiments.fronts import LOST
from benchmarks.experiments.targets import judge_targets
from benchmarks.peers.before import BEFORE, describe_packages
from benchmarks.peers.report import CAPTION, describe_difference
from benchmarks.peers.verdicts import Index, find_best
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

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("results.jsonl")
PAGE = ROOT / "docs" / "evidence" / "experiments.md"
PICTURES = Path("images", "experiments")  # relative to the folder of the page
HEADER = """\
# Noise, failures, constraints, several objectives, batches

<!-- Written by `python -m benchmarks.experiments`; not to be edited. -->

This page compares `auto` with other methods when evaluations are noisy or fail, when outcomes are constrained, with
several objectives, and with several evaluations at a time. Most groups had a target before they were run; several were
not reached.

**What came out**

- **Never significantly worse**: after Holm's correction no method is better than `auto` on any problem. Before the
  correction one is: Optuna's TPE has fewer failures on Kernel Tuner's convolution with hidden conditions.
- **Noise**: `auto` is significantly better than evolution and random search on pest control, and than random search on
  contamination control. Against BoTorch all four problems are undecided, with five seeds; one is within the margin.
- **Failures**: 10% of the trials fail on Ehrlich functions of 15 letters, where 88% of random points do. The optimum is
  not reached: -0.79 of -1 after 310 trials, and -0.13 with 32 letters. With hidden conditions `auto` fails less than
  before on one of two problems, and its best values are undecided against evolution and Optuna's TPE.
- **Outcome constraints**: `auto` is significantly better than Optuna's TPE and evolution on three of four problems. It
  is better than Optuna's GP and BoTorch on a knapsack, only before the correction; on cells of NAS-Bench-201 their
  means are better.
- **Several objectives**: `auto` loses the least hypervolume on four of five problems; Optuna's GP has the better mean
  on Ehrlich functions. 16 of 28 comparisons with two objectives and all four with three are significant.
- **Batches**: batches of 8 need 1.13 times the sequential evaluations. With 64 evaluations in flight `auto` does not
  reach the sequential mean within 1.33 times the evaluations; the target was 1.3.
- **Cost**: failures, constraints or two objectives cost 1.9 to 2.8 times a plain suggestion.

**How it was measured**

- A seed is an instance and ten initial points, which count as trials and which all methods share. Seeds begin at 20;
  defaults were chosen on others. Smaller numbers are better. Means have standard errors and are over the seeds that all
  methods of a table have: `5 of 10` means that the mean is over five of the method's ten seeds.
- **Minus `auto`** is the mean paired difference on the seeds that both have, with its 95% interval (Student's t). Above
  zero, `auto` is better. It is **ahead** or *behind* if the test finds a difference at the 5% level after Holm's
  correction over all comparisons of the group. "Not after Holm" means that only the uncorrected interval excludes zero.
  If all differences are equal and not zero, the test is the sign test. Fewer than five seeds have no verdict.
- **"Not behind"** is reached if the interval starts at most a margin below zero: 5% of random search's gap to the
  lowest value of all methods (0 if random search has fewer than five seeds). If not, the target is not reached if
  `auto` is behind, and undecided otherwise.
- **`auto before`** is `auto` of an earlier revision, named by the hash that `git rev-parse REVISION:bostruct` prints.
- **BoTorch** has its default GPs with noisy, constrained or hypervolume log EI, maximized by local search with the
  neighborhoods of this package. **Optuna** and **SMAC3** have their defaults, except a population of 20 for `NSGA-II`;
  orders are Lehmer codes; SMAC3 has several objectives by ParEGO. These tools get a failure as the worst value so far
  and as a violation of every constraint.

`python -m benchmarks.experiments --data DIR --python PYTHON --before FOLDER` takes the runs that
`benchmarks/experiments/results.jsonl` lacks and writes this page; with `--seeds 0` it only writes it.
"""


def _is_drawn(index: Index, group: Group, problem: str) -> bool:
    return group.is_drawn and has_seeds(index, problem)


def format_group(index: Index, group: Group) -> str:
    """Return the section of a group: its text, targets, losses, and a table for each problem.

    index: the runs.
    group: the problems.
    """
    lines = [*judge_targets(index, group), *list_losses(index, group), *_describe_before(index, group)]
    none_yet = "" if any(problem in group.problems for problem, _ in index) else "No runs yet."
    head = [f"## {group.title}", group.text, f"{group.trials} trials. {none_yet}".strip()]
    listed = "\n".join(f"- {line}" for line in lines)
    rows = {row[:3]: row for row in compare_group(index, group)}
    tables = [_format_problem(index, group, problem, rows) for problem in group.problems if not none_yet]
    return "\n\n".join(part for part in (*head, listed, *tables) if part)


def _describe_before(index: Index, group: Group) -> list[str]:
    """Return a line that describes the package of the runs of `auto before`; empty if there are no runs."""
    line = describe_packages(found for problem in group.problems for found in index.get((problem, BEFORE), {}).values())
    return [line] if line else []


def _format_problem(index: Index, group: Group, problem: str, rows: Mapping[tuple[str, ...], Row]) -> str:
    if not any(name == problem for name, _ in index):
        return f"### {problem}\n\nNo runs yet."
    columns, searches = _list_columns(group), group.list_searches(problem)
    cells = []
    for search in searches:
        if (problem, search) not in index:
            cells.append([search, "0", "no runs yet", *[""] * (len(columns) - 3)])
        elif group.measures:
            cells.append(_format_measures(index, group, problem, search, rows))
        else:
            cells.append(_format_multiple(index, group, problem, search))
    parts = [f"### {problem}", format_table(columns, cells)]
    if _is_drawn(index, group, problem):
        values = "Hypervolume lost" if LOST in group.measures else "Best values"
        parts += [f"![{values} on {problem}]({name_picture(PICTURES, problem).as_posix()})", CAPTION]
    return "\n\n".join(parts)


def _find_shared(index: Index, group: Group, problem: str) -> set[int]:
    return intersect_seeds([index.get((problem, search), {}) for search in group.list_searches(problem)])


def _list_columns(group: Group) -> list[str]:
    if not group.measures:
        return ["evaluations", "seeds", "number", "mean best", "needed [95%]", "CPU s per suggestion"]
    base = group.searches[0]
    minus = f"minus `{base}` [95%]"
    measured = [head for name in group.measures for head in (name.replace("told", "observed"), minus, "")]
    return ["method", "seeds", *measured, "CPU s per suggestion"]


def _format_measures(
    index: Index, group: Group, problem: str, search: str, rows: Mapping[tuple[str, ...], Row]
) -> list[str]:
    runs, shared = index[problem, search], _find_shared(index, group, problem)
    cells = [search, _count_seeds(select_values(dict.fromkeys(runs, 0.0), shared), len(runs))]
    for name in group.measures:
        cells.append(
            format_mean(select_values({seed: found["measures"][name] for seed, found in runs.items()}, shared))
        )
        row = rows.get((problem, search, name))
        verdict = row.verdict if row and group.searches[0] == OURS else ""  # costs have none
        cells += [describe_difference(row.difference) if row else "", verdict]
    return [*cells, _format_seconds(index, problem, search)]


def _format_multiple(index: Index, group: Group, problem: str, search: str) -> list[str]:
    trials = group.longer.get(search, group.trials)
    needed = "" if search == group.searches[0] else "few seeds"
    if found := estimate_multiples(index, group, problem).get(search):
        needed = f"{found[0]:.2f} [{found[1]:.2f}, {found[2]:.2f}]"
    values = select_values(find_best(index, problem, search, trials), _find_shared(index, group, problem))
    seeds = _count_seeds(values, len(index[problem, search]))
    cells = [search, seeds, str(trials), format_mean(values), needed]
    return [*cells, _format_seconds(index, problem, search)]


def _count_seeds(averaged: Sequence[float], count: int) -> str:
    """Return the number of seeds of a mean, with the number of the method's seeds if the method has more."""
    return str(count) if len(averaged) == count else f"{len(averaged)} of {count}"


def _format_seconds(index: Index, problem: str, search: str) -> str:
    return f"{np.mean([found['seconds'] for found in index[problem, search].values()]):.3g}"


LAYOUT = Layout("benchmarks.experiments", HEADER, GROUPS, format_group, _is_drawn, PICTURES)
publish = partial(publish_page, LAYOUT)
make_page = partial(lay_out, LAYOUT)
