"""The page of the published benchmarks in Markdown: regrets, the published tables continued, pairs, pest control."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.record import describe_conditions, read_file
from benchmarks.peers.report import describe_difference
from benchmarks.peers.verdicts import LEAST_SEEDS, Index, compare, find_best, index_runs
from benchmarks.published.cases import (
    CASES,
    CONFIGS,
    MORE,
    PROBLEMS,
    REFERENCE,
    RELABELED,
    SEARCHES,
    Case,
    list_searches,
    title,
)
from benchmarks.published.regrets import find_mean_optimum, find_optimal_trial, list_regrets, trials_of
from benchmarks.structures.page import RUNS, write_with_tables
from bostruct.comparison.statistics import Difference, estimate_difference

EARLY = (60, 100)  # trials at which runs that have reached the optimum are counted, too
ROUNDING = 5e-5  # of a published mean, printed with four decimals
ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("results.jsonl")
PAGE = ROOT / "docs" / "evidence" / "published.md"
PICTURE = Path("images", "published", "regrets.svg")  # in the folder of the page
HEADER = """\
# The published benchmarks of COMBO

<!-- Written by `python -m benchmarks.published`; not to be edited. -->

This page reruns every problem of Oh et al. 2019 (COMBO) that needs no training of networks, and compares the results
with the means that the paper prints. [problems.md](../problems.md) describes the problems, and
[combo.md](../combo.md) lists where `combo` departs from the paper.

**What came out**

- **`combo` reproduces the paper**: the published mean lies within the 95% interval of our mean regret on eight of ten
  problems. `combo` is better than published on Branin and MaxSAT 43.
- **Contamination**: the mean regrets of `auto` are below those of `combo` and above those of `bocs`, which needs two
  values per variable; all differences are undecided. The rows of `auto` on contamination and Ising are of 30 November
  2026, the others of 23 November.
- **Ising**: the mean regrets of `bocs` are lower, and those of `combo` with lambda 0 and 0.0001, undecided. One of the
  five instances, a [trap](auto-tried.md#traps), makes up most of the means: on its configurations, 16 to 20, nearly all
  runs of `auto` and most of `combo` end at 0.49 or above. On the other 20, singled out afterwards, `auto` minus `combo`
  is -0.006 ± 0.009, -0.014 ± 0.009 and -0.013 ± 0.006 (lambda 0, 0.0001 and 0.01), and on 25 other instances
  after 100 trials -0.10 ± 0.06 ([RESULTS](../../RESULTS.md)), undecided.
- **Elsewhere `auto` and `combo` are close.** `bocs` is far behind on MaxSAT 43 and 60. Annealing is far behind on
  MaxSAT 28, Branin and pest control.
- **Cost**: `auto` takes between 1/2 (Branin) and 1/17 (MaxSAT 60) of the CPU time of `combo` per suggestion.

**How it was measured**

- **Configurations**: the 25 published pairs of an instance and a set of initial points; a method's seed is the number
  of the configuration. MaxSAT and pest control have one instance, with 25 sets of initial points. For Branin the paper
  gives only the first initial point; the second is ours, and so is the noise of pest control.
- **Trials** include the initial points: 20, or 2 for Branin. `combo` uses its model as soon as these are evaluated, as
  published. Branin has 100 trials, pest control 320, contamination control and MaxSAT 270, as in the last version of
  the authors' `run_smac.py`. The paper's text confirms Branin and MaxSAT. Ising has 170, as in that script until 22 May
  2019 (commit 0d0d7eb), when it was set to 270. The published means may be of either number; 170 is harder.
- **Numbers**: mean and standard error of the best observed value. A number in parentheses counts the configurations if
  they are not all 25. Regret is the best value minus the smallest value of the instance, which is proved by enumeration
  or by an argument; for MaxSAT 43 it is the best known value, which nobody has proved.
- **Relabeled**: every variable's choices are permuted at random, with the configuration as the seed, because two
  problems have their optimum at all zeros or all ones. `combo` and `bocs` are run so on five configurations, one for
  each instance. The initial points are the same, relabeled.
- **Not run**: `bocs` if variables have more than two choices. The paper has no such row either.

`python -m benchmarks.published --data DIR` takes the runs that `benchmarks/published/results.jsonl` lacks and writes
this page, its figure and its tables; with `--configs 0` it only writes them.
"""
CAPTION = """\
The figure has the methods with five configurations or more. Regrets below 0.001 are drawn at 0.001. The star is the
published mean of COMBO after all trials."""
COLUMNS_TEXT = """\
"At optimum" is the number of runs within 1e-6 of the smallest value, and "by 60, 100" how many were there by trial 60
and by trial 100. "Median trial of it" is the median of the first trials there. "Minus `auto`" is the mean paired
difference on the configurations that both have, with its 95% interval (Student's t); above zero, `auto` is better."""
COLUMNS = (
    "method",
    "mean best",
    "regret",
    "worst regret",
    "at optimum",
    "by 60, 100",
    "median trial of it",
    "minus `auto` [95%]",
    "CPU s per suggestion",
)  # of the table of a problem


class Results(NamedTuple):
    """The runs of a file, and how they were taken.

    whole: as `benchmarks.peers.verdicts.index_runs` returns it.
    conditions: as `benchmarks.peers.record.read_file` returns them.
    """

    whole: Index
    conditions: Sequence[dict[str, Any]]


def publish(file: Path, page: Path) -> str:
    """Write the page, its figure and its tables, and return a sentence on what was written.

    file: of the runs.
    page: to write; its figure lies at `PICTURE` in its folder.

    Raises ValueError if the file has no runs or is damaged.
    """
    from benchmarks.peers.figures import save_figure  # needs matplotlib, which the text does not
    from benchmarks.published.figures import draw_regrets

    text, results = make_page(file)
    page.parent.mkdir(parents=True, exist_ok=True)
    save_figure(draw_regrets(results.whole), page.parent / PICTURE)
    write_with_tables(text, "published", page)
    return f"{page}: {sum(map(len, results.whole.values()))} runs"


def make_page(file: Path) -> tuple[str, Results]:
    """Return the text of the page, and the runs.

    file: of the runs.

    Raises ValueError if the file has no runs or is damaged.
    """
    conditions, runs = read_file(file)
    results = Results(index_runs(runs), conditions)
    if not results.whole:
        raise ValueError(f"{file}: expected at least one run, got none; python -m benchmarks.published takes them")
    index = results.whole
    sections = [
        HEADER + _count_runs(index),
        f"## Regret\n\n{_format_regrets(index)}\n\n![Mean regret against trials]({PICTURE.as_posix()})\n\n{CAPTION}",
        f"## Is the published result reproduced?\n\n{_judge_reference(index)}",
        f"## Pest control without noise\n\n{_format_noise(index)}",
        f"## All methods\n\n{COLUMNS_TEXT}",
        *(_format_case(index, name, case) for name, case in CASES.items()),
        f"## {RUNS}\n\n{_count_revisions(index)}\n\n{describe_conditions(conditions)}",
    ]
    return "\n\n".join(section.strip() for section in sections) + "\n", results


def _list_run_searches(index: Index) -> list[str]:
    """List the searches of the page, and others that have runs."""
    run = {search for _, search in index}
    return [*SEARCHES, *(search for search in MORE if search in run)]


def _count_runs(index: Index) -> str:
    counts = [
        f"`{search}` {sum(len(own) for (_, name), own in index.items() if name == search)}"
        for search in _list_run_searches(index)
    ]
    return f"\nRuns so far: {', '.join(counts)}. \n"


def _format_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _format_mean(values: np.ndarray, digits: int = 3) -> str:
    """Return a mean with its standard error, and the number of values if some are missing."""
    if not len(values):
        return ""
    error = f" ± {values.std(ddof=1) / math.sqrt(len(values)):.{digits}f}" if len(values) > 1 else ""
    count = "" if len(values) == len(CONFIGS) else f" ({len(values)})"
    return f"{values.mean():.{digits}f}{error}{count}"


def _format_regrets(index: Index) -> str:
    rows = []
    for problem in PROBLEMS:
        optimum = find_mean_optimum(index, problem)
        regrets = [list_regrets(index, problem, search) for search in SEARCHES]
        if not any(map(len, regrets)):
            continue
        published = CASES[problem].published[REFERENCE] if problem in CASES else None
        reference = "" if published is None or optimum is None else f"{published[0] - optimum:.3f} ± {published[1]:.3f}"
        rows.append([title(problem), str(trials_of(problem)), reference, *(_format_mean(one) for one in regrets)])
    return _format_table(["problem", "trials", f"{REFERENCE}, published", *(f"`{name}`" for name in SEARCHES)], rows)


def _judge_reference(index: Index) -> str:
    """Compare the mean regret of `combo` with the published mean regret."""
    rows = []
    for problem in CASES:
        regret, optimum = estimate_difference(list_regrets(index, problem, "combo")), find_mean_optimum(index, problem)
        if regret is None or optimum is None:
            continue
        mean, error = CASES[problem].published[REFERENCE]
        published = mean - optimum
        interval = f"{regret.mean:.3f} [{regret.low:.3f}, {regret.high:.3f}]"
        verdict = _compare_published(regret, published)
        rows.append([title(problem), str(regret.n), interval, f"{published:.3f} ± {error:.3f}", verdict])
    text = (
        "Mean regret of `combo` with its 95% interval (Student's t), beside that of the published mean. A published\n"
        "mean within the interval is reproduced. The published standard error includes the differences between\n"
        "instances, so that it is wide for contamination control, whose instances differ by 0.4."
    )
    if not rows:
        return f"{text}\n\nNo problem has two runs of `combo` yet."
    return f"{text}\n\n{_format_table(['problem', 'configurations', '`combo`', 'published', 'verdict'], rows)}"


def _compare_published(regret: Difference, published: float) -> str:
    if regret.n < LEAST_SEEDS:
        return "few configurations"
    if regret.high < published - ROUNDING:
        return "better than published"
    return "reproduced" if regret.low <= published + ROUNDING else "**worse than published**"


def _format_case(index: Index, name: str, case: Case) -> str:
    """Return the section of a problem: the published table, and our rows, plain and relabeled."""
    optimum = find_mean_optimum(index, name)
    rows = [
        [f"{method}, published", f"{mean:.3f} ± {error:.3f}", "" if optimum is None else f"{mean - optimum:.3f}"]
        + [""] * (len(COLUMNS) - 3)
        for method, (mean, error) in case.published.items()
    ]
    for problem in (name, name + RELABELED):
        rows += [_format_row(index, problem, search) for search in list_searches(name) if (problem, search) in index]
    heading = title(name)
    text = f"{case.trials} trials. {_describe_optimum(index, name)}"
    return f"### {heading[0].upper()}{heading[1:]}\n\n{text}\n\n{_format_table(COLUMNS, rows)}"


def _describe_optimum(index: Index, problem: str) -> str:
    mean = find_mean_optimum(index, problem)
    runs = [found for (name, _), own in index.items() if name == problem for found in own.values()]
    if mean is None:
        return "The least value is not known." if runs and runs[0]["best_known"] is None else ""
    if runs[0]["optimum"] is None:
        return f"The least value is not proved; the best one known is {mean:.4f}."
    return f"The least value is proved; its mean over the configurations is {mean:.4f}."


def _format_row(index: Index, problem: str, search: str) -> list[str]:
    own, mark = index[problem, search], trials_of(problem)
    best = find_best(index, problem, search, mark)
    regrets = list_regrets(index, problem, search)
    reached = [trial for found in own.values() if (trial := find_optimal_trial(found)) is not None]
    difference = None if search == "auto" else estimate_difference(compare(index, problem, search, mark))
    return [
        f"`{search}`{', relabeled' if problem.endswith(RELABELED) else ''}",
        _format_mean(np.array([best[config] for config in sorted(best)])),
        f"{regrets.mean():.3f}" if len(regrets) else "",
        f"{regrets.max():.3f}" if len(regrets) else "",
        f"{len(reached)} of {len(own)}" if len(regrets) else "",
        ", ".join(str(sum(trial <= early for trial in reached)) for early in EARLY) if len(regrets) else "",
        f"{np.median(reached):.0f}" if reached else "",
        describe_difference(difference),
        f"{np.mean([found['seconds'] for found in own.values()]):.3g}",
    ]


def _format_noise(index: Index) -> str:
    text = (
        "The best observed value is too good because its noise is favorable. The table judges two points of each run\n"
        "by their mean over 20,000 simulations: the best observed point and the recommended point\n"
        "(`result.recommended`). The paper printed best observed values, on path graphs."
    )
    rows = []
    for problem in PROBLEMS:
        for search in SEARCHES if problem.startswith("pest") else ():
            runs = [found for _, found in sorted(index.get((problem, search), {}).items())]
            best = list(find_best(index, problem, search, trials_of(problem)).values())
            if runs:
                columns = [
                    best,
                    *([run[name] for run in runs] for name in ("noise_free_best", "noise_free_recommended")),
                ]
                rows.append([title(problem), f"`{search}`", *(_format_mean(np.array(one)) for one in columns)])
    columns = ["problem", "method", "best observed", "noise-free, best observed", "noise-free, recommended"]
    return f"{text}\n\n{_format_table(columns, rows)}" if rows else f"{text}\n\nNo runs yet."


def _count_revisions(index: Index) -> str:
    """List the number of runs of each method by revision of the code."""
    counts: dict[str, dict[str, int]] = {}
    for (_, search), own in sorted(index.items()):
        for found in own.values():
            revisions = counts.setdefault(search, {})
            revisions[found["revision"]] = revisions.get(found["revision"], 0) + 1
    lines = [
        f"- `{search}`: {', '.join(f'{n} runs by revision {revision}' for revision, n in counts[search].items())}"
        for search in _list_run_searches(index)
        if search in counts
    ]
    return "\n".join(lines)
