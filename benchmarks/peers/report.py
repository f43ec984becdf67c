"""The page of the results in Markdown: verdicts, a table for each problem, and how the runs were taken."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.peers.before import BEFORE, describe_packages
from benchmarks.peers.comparison import (
    HEADLINE,
    MARKS,
    Results,
    find_last_trial,
    list_marks,
    list_panels,
    list_problems,
    name_picture,
)
from benchmarks.peers.curves import average_gaps, space_trials
from benchmarks.peers.groups import FCNETS, GROUPS, OF_PEERS, ON_ALL, OURS, list_searches
from benchmarks.peers.record import describe_conditions, list_absent
from benchmarks.peers.run import N_INITIAL, Run
from benchmarks.peers.searches import ON_CHOICES
from benchmarks.peers.verdicts import (
    AHEAD,
    BEHIND,
    FEW,
    LEAST_SEEDS,
    TIED,
    UNCORRECTED,
    UNDECIDED,
    Found,
    Index,
    Row,
    find_best,
)
from bostruct.comparison.statistics import Difference

TITLES = {
    "numbers": "Numbers",
    "mixed": "Numbers and categories",
    "conditional": "Conditions",
    "bits": "Bits and categories",
    "orders": "Orders and sequences",
    "measured": "Measured once",
    "large": "Many variables",
    "transfer": "With a prior",
    "variants": "Variants of auto",
}
PEER_NAMES = {name: name.rsplit(" ", 1)[0] for name in OF_PEERS}  # the package of each search of a peer
VERDICTS = (BEHIND, BEHIND + UNCORRECTED, TIED, UNDECIDED, AHEAD + UNCORRECTED, AHEAD, FEW)
NO_PAIRS = (
    f"No search is compared with `auto`: a comparison needs two common seeds and more than {N_INITIAL} trials. "
    f"The marks are {', '.join(map(str, MARKS))} trials."
)
NO_SUMMARY = "Many variables, priors and variants of `auto` have tables below, but no rows in this summary."
WRITTEN = "<!-- Written by `benchmarks.peers`; not to be edited. -->"
CAPTION = """\
*At most seven methods: `auto`, random search, and the best others. A method with fewer seeds than `auto` ("5 of 25") is
drawn as the mean of `auto` plus the mean paired difference, so its curve may rise.*"""
INTRODUCTION = f"""\
# Results

{WRITTEN}

{{opening}}
[docs/evidence/peers.md]({{guide}}) describes the problems and the searches, and how to repeat the runs.

- **Pairs**: all problems are minimized. A seed is one instance of a problem and ten initial points. Searches share
  them, except those that draw their own points. "Minus `auto`" is the best value of a search minus the best value of
  `auto`: the mean over their common seeds, with its 95% interval (Student's t). A positive difference is a gain of
  `auto`. A mean best value is over all seeds of a search, so compare the differences, not these means.
- **Tied**: the interval lies within 5% of the gap of random search, on either side of zero. The gap is the mean over
  seeds of random search's best value at that mark minus the lowest known value of the same instance: the optimum if
  all seeds share it, else the lowest value that any run found. The 5% were fixed before any interval was computed.
- **Behind** and **ahead** describe the search of the row: the t test finds a difference from `auto` at the 5% level
  after Holm's correction over all problems of the search at that mark. "Not after Holm": the interval excludes zero,
  but the corrected test finds no difference. Tied has priority, because a significant difference may be small compared
  with the gap of random search.
- **Undecided**: all other rows. A row with fewer than five pairs has **few seeds**, and no verdict.
- **Figures**: the mean over seeds, by the number of trials and by the CPU seconds that a run had spent on suggestions
  after the initial points. If a search has fewer seeds than `auto`, its curve is the mean of `auto` over all its seeds
  plus the mean paired difference over the common seeds. Its distance from `auto` is then the difference in the tables,
  and the curve may rise. On the axis of seconds, each run is shifted by the difference after the same number of
  trials. The band is one standard error, without the variation between instances (Morey 2008); panels by seconds have
  no bands. If all seeds share the optimum, it is subtracted, the error is the usual standard error, and a band that
  reaches the optimum is omitted. Legends are in the order of the last values, except in the summary, with the seeds in
  parentheses; "5 of 25" marks a curve of differences. Searches that share fewer than five seeds with `auto` appear only
  in the tables, unless `auto` has no more seeds. A figure has at most seven curves: `auto`, random search, and the five
  others with the best last values.
- **CPU seconds** were measured on the machines at the end of this page. Machines differ, other processes slow a run,
  and the first call of a model compiles it. Only ratios of several times are meaningful.
"""


def format_page(results: Results, conditions: Sequence[dict[str, Any]], guide: str, pictures: Mapping[str, str]) -> str:
    """Return the page of the results in Markdown.

    results: as `judge_runs` returns them.
    conditions: how the runs were taken, as `benchmarks.peers.record.read_file` returns it.
    guide: path of the page that explains the comparison.
    pictures: path of each figure, by its name.
    """
    parts = [_sum_hours(results.runs), "\n".join(list_absent(results.runs)), describe_conditions(conditions)]
    record = "\n\n".join([part for part in parts if part])
    sections = [
        INTRODUCTION.format(guide=guide, opening=_name_others(results.runs)) + _describe_seconds(results.runs),
        "## Summary\n\n" + _summarize(results, pictures),
        "## Where `auto` is behind\n\n" + _list_losses(results.rows[0]),
        *(_format_group(results, group, guide, pictures) for group in TITLES),
        "## How the runs were taken\n\n" + record.strip(),
    ]
    return "\n\n".join(section.strip() for section in sections if section) + "\n"


def _name_others(runs: Mapping[Run, Found]) -> str:
    """Write the first sentence: the other methods of this package and the packages of peers that have runs."""
    searches = {run.search for run, found in runs.items() if "missing" not in found} - {OURS}
    own = ["other methods of this package"] if searches - PEER_NAMES.keys() else []
    *first, last = [*own, *dict.fromkeys(peer for name, peer in PEER_NAMES.items() if name in searches)] or [""]
    sentence = f"`auto` compared with {', '.join(first)}{' and ' * bool(first)}{last}." if last else "`auto` alone."
    return textwrap.fill(sentence, 120)


def describe_difference(difference: Difference | None) -> str:
    """Return a mean difference with its 95% interval; empty for None.

    difference: between a search and `auto`.
    """
    if difference is None:
        return ""
    mean, low, high = (_round(value, 3, "+") for value in difference[:3])
    return f"{mean} [{low}, {high}]"


def _round(value: float, digits: int, sign: str = "") -> str:
    """Return a number with some significant digits, without an exponent if it is large."""
    return format(value, f"{sign},.0f" if abs(value) >= 10**digits else f"{sign}.{digits}g")


def _describe_seconds(runs: Mapping[Run, Found]) -> str:
    whole = [found for found in runs.values() if "missing" not in found and not found["cut"]]
    recorded = sum("improvement_seconds" in found for found in whole)
    rest = "" if recorded == len(whole) else " In the figures, each suggestion of the other runs takes the run's mean."
    text = f"- **Seconds**: {recorded:,} of {len(whole):,} runs recorded the seconds of each improvement.{rest}"
    return textwrap.fill(text, 120, subsequent_indent="  ")


def _sum_hours(runs: Mapping[Run, Found]) -> str:
    """Write how many CPU hours the processes of all runs took; empty if no run has recorded it."""
    whole = [found for found in runs.values() if "missing" not in found]
    seconds = [found["process_seconds"] for found in whole if "process_seconds" in found]
    if not seconds:
        return ""
    few = "" if len(seconds) == len(whole) else f", recorded for {len(seconds):,} of {len(whole):,} runs"
    return f"Runs took {_round(sum(seconds) / 3600.0, 3)} CPU hours{few}."


def _summarize(results: Results, pictures: Mapping[str, str]) -> str:
    lines = []
    if HEADLINE in pictures:
        lines += [
            f"![Gap of each search, by group of problems]({pictures[HEADLINE]})\n",
            "The gap is the mean best value minus the lowest known value of the instance, as a share of the gap of\n"
            "random search after the initial points. It is averaged over the problems of a group; their number is in\n"
            f"parentheses. A search is drawn if it shares at least {LEAST_SEEDS} seeds with `auto` on each problem.\n"
            "If it has fewer seeds than `auto`, its gap is the gap of `auto` plus the mean paired difference. A panel\n"
            "has at most seven curves: `auto`, random search, and the five others with the smallest gaps.\n",
            _list_undrawn(results.whole),
        ]
    lines += _count_verdicts(results.rows)
    before = describe_packages(found for run, found in results.runs.items() if run.search == BEFORE)
    return "\n".join([line for line in lines if line]) + (f"\n\n{before}" if before else "")


def _count_verdicts(families: Sequence[Sequence[Row]]) -> list[str]:
    """Return the lines of the table of the verdicts on the first family, or why there is no table."""
    rows = families[0]
    if not any(row.difference for row in rows):
        return [NO_SUMMARY if any(row.difference for family in families for row in family) else NO_PAIRS]
    columns = ["search", "trials", "problems", "pairs", *(verdict.replace("*", "") for verdict in VERDICTS)]
    lines = ["Number of problems on which each search is behind `auto`, tied with it, or ahead:\n"]
    lines += [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    for search, mark in dict.fromkeys((row.search, row.mark) for row in rows):
        lines.append(_count([row for row in rows if (row.search, row.mark) == (search, mark) and row.difference]))
    return lines


def _list_undrawn(index: Index) -> str:
    """List the searches that have runs on problems of a panel of the headline but are not drawn there."""
    text, at = "", space_trials(find_last_trial(index))
    for title, problems in list_panels(index).items():
        tried = [name for name in ON_ALL | ON_CHOICES if any(index.get((problem, name)) for problem in problems)]
        if undrawn := [name for name in tried if average_gaps(index, problems, name, at) is None]:
            text += f"- Not drawn in {title}, because of too few seeds on some problem: {', '.join(undrawn)}.\n"
    return text


def _count(rows: Sequence[Row]) -> str:
    """Return the line of a search in the summary; empty without pairs."""
    if not rows:
        return ""
    verdicts = [row.verdict for row in rows]
    counts = [str(verdicts.count(verdict)) for verdict in VERDICTS]
    seeds = [row.difference.n for row in rows if row.difference]
    pairs = f"{min(seeds)}" if min(seeds) == max(seeds) else f"{min(seeds)}–{max(seeds)}"
    return f"| {rows[0].search} | {rows[0].mark} | {len(rows)} | {pairs} | {' | '.join(counts)} |"


def _list_losses(rows: Sequence[Row]) -> str:
    """List the rows whose interval lies below zero, with any verdict, and name the rows of which only the mean does."""
    below = [row for row in rows if row.difference and row.difference.mean < 0.0]
    lost = [row for row in below if row.difference and row.difference.high < 0.0]
    none = "No interval lies below zero." if any(row.difference for row in rows) else "There are no intervals."
    lines = [
        "Variants of `auto`, and `auto` with a prior, have separate sections.\n",
        "All rows with an interval below zero, with their verdicts:\n" if lost else f"{none}\n",
    ]
    lines += [f"- {_describe_row(row)}: {describe_difference(row.difference)}, {row.verdict}" for row in lost]
    means = [row for row in below if row not in lost]
    if means:
        lines.append("\nRows with a mean below zero, but not the whole interval:\n")
    for search, mark in dict.fromkeys((row.search, row.mark) for row in means):
        problems = [_name_loss(row) for row in means if (row.search, row.mark) == (search, mark)]
        lines.append(f"- {search} at {mark} trials: {'; '.join(problems)}")
    return "\n".join(lines)


def _name_loss(row: Row) -> str:
    return f"{row.problem} (few seeds)" if row.verdict == FEW else row.problem


def _describe_row(row: Row) -> str:
    return f"{row.search} on {row.problem} at {row.mark} trials"


def _format_group(results: Results, group: str, guide: str, pictures: Mapping[str, str]) -> str:
    problems = list_problems(results.whole, group)
    if not problems:
        return ""
    title = TITLES[group]
    parts = [f"## {title}", f"[What is compared]({guide}#{title.lower().replace(' ', '-')})"]
    for problem in problems:
        parts.append(f"### {problem}{' with a prior' if group == 'transfer' else ''}")
        parts.append(_format_table(results, group, problem))
        has_own_picture = group != "variants"  # its problems belong to other groups, which have the figures
        if has_own_picture and (picture := name_picture(group, problem)) in pictures:
            parts += [f"![Mean best values on {problem}]({pictures[picture]})", CAPTION]
    if absent := [problem for problem in GROUPS[group] if problem not in problems]:
        parts.append(f"No runs yet: {'; '.join(absent)}.")
    if group == "transfer":
        parts.append(_describe_priors(results.rows[1]))
    return "\n\n".join(parts)


def _format_table(results: Results, group: str, problem: str) -> str:
    marks = list_marks(results.whole, group, problem)
    named = [f"{what} {mark}" for mark in marks for what in ("mean best at", "minus `auto` [95%] at")]
    columns = ["search", "seeds", *named, "CPU s per suggestion"]
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    lines += [_format_row(results, problem, name, marks) for name in list_searches(group, problem)]
    return "\n".join([line for line in lines if line])


def _format_row(results: Results, problem: str, search: str, marks: Sequence[int]) -> str:
    """Return the line of a search; empty if it has no runs. Runs that were cut are counted, but not averaged."""
    own = list(results.whole.get((problem, search), {}).values())
    cut = sum(bool(found.get("cut")) for run, found in results.runs.items() if run[:2] == (problem, search))
    if not own:
        return f"| {search} | 0, {cut} cut |{' |' * (2 * len(marks) + 1)}" if cut else ""
    cells = [search, f"{len(own)}, {cut} cut" if cut else str(len(own))]
    rows = {row.mark: row for family in results.rows for row in family if row[:2] == (problem, search)}
    for mark in marks:
        values = list(find_best(results.whole, problem, search, mark).values())
        fewer = f" ({len(values)} seeds)" if values and len(values) < len(own) else ""
        cells.append(f"{_round(float(np.mean(values)), 4)}{fewer}" if values else "")
        row = rows.get(mark)
        cells.append(f"{describe_difference(row.difference)} {row.verdict}".strip() if row else "")
    return f"| {' | '.join([*cells, format(np.mean([found['seconds'] for found in own]), '.3g')])} |"


def _describe_priors(rows: Sequence[Row]) -> str:
    """Write on which problems a prior lost, and its effect on the tables."""
    with_prior = [row for row in rows if row.search.endswith("prior") and row.difference]
    lost = [_describe_row(row) for row in with_prior if row.difference and row.difference.low > 0.0]
    lines = [f"- Significantly worse with a prior than without: {', '.join(lost) or 'none'}."]
    related = [row for row in with_prior if row.problem in FCNETS and row.search == "related prior"]
    for mark in dict.fromkeys(row.mark for row in related):
        differences = [row.difference for row in related if row.mark == mark and row.difference]
        better = sum(one.mean < 0.0 for one in differences)
        beyond = sum(one.high < 0.0 for one in differences)
        lines.append(
            f"- FC-Net with the related prior at {mark} trials: the mean is better on {better} of {len(differences)} "
            f"data sets, significantly on {beyond}."
        )
    return "\n".join(lines)
