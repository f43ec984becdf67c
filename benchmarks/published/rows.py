"""Take the missing runs of the papers' rows, and print each row with the verdict on its claims."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.chaos.results import append_result, read_results, read_revision
from benchmarks.peers.names import split_names
from benchmarks.published.papers import ROWS, Row, Setting
from bostruct.comparison.statistics import estimate_difference
from bostruct.study.threads import ThreadLimit

FILES = {True: Path("published-quick.jsonl"), False: Path(__file__).with_name("rows.jsonl")}  # quick or not
PAPERS = ("combo", "wrs", "deeparchitect", "nasbot")
SEEDS = {True: 2, False: 8}  # quick or not
LEAST_SEEDS = 5  # for a verdict
Runs = dict[tuple[str, str, int], dict[str, float]]  # row, method, seed -> figures


def main(arguments: Sequence[str], prog: str) -> int:
    """Take the rows of one paper or of all, and print them; return 0, or 1 if no row can be run.

    arguments: of the command.
    prog: name of the command, for messages.
    """
    parser = argparse.ArgumentParser(prog=prog, description=__doc__)
    parser.add_argument("--paper", choices=(*PAPERS, "all"), default="all", help="by default all")
    parser.add_argument("--rows", default="", help=f"some of {', '.join(ROWS)}; by default all of the paper")
    parser.add_argument("--quick", action="store_true", help="takes minutes; its figures mean little")
    parser.add_argument("--seeds", type=int, help=f"by default {SEEDS[False]}, or {SEEDS[True]} with --quick")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="the folder of the data folders, such as uci_regression"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="a JSON line for each run, by default rows.jsonl in the folder of this module; its runs are not repeated",
    )
    given = parser.parse_args(arguments)
    out = given.out or FILES[given.quick]
    names = split_names(parser, "--rows", given.rows, ROWS) if given.rows else list(ROWS)
    chosen = [name for name in names if given.paper in ("all", ROWS[name].paper)]
    setting, seeds = Setting(given.quick, given.data), given.seeds or SEEDS[given.quick]
    runnable = list(_skip_without_file(chosen, given.data))
    with ThreadLimit(1)():
        for name in runnable:
            _take_missing(name, range(seeds), setting, out)
            print(format_row(name, ROWS[name], _read_runs(out, given.quick), given.quick), flush=True)
    return 0 if runnable else 1


def _skip_without_file(names: Iterable[str], data: Path | None) -> Iterable[str]:
    for name in names:
        file = ROWS[name].file
        if not file or (data is not None and (data / file).exists()):
            yield name
        else:
            print(f"{name}: skipped, because {file} is not in the folder of --data", file=sys.stderr)


def _take_missing(name: str, seeds: Iterable[int], setting: Setting, file: Path) -> None:
    done = _read_runs(file, setting.quick)
    revision = read_revision("benchmarks/published")
    for seed in seeds:
        for method in ROWS[name].methods:
            if (name, method, seed) in done:
                continue
            began = time.process_time()
            figures = ROWS[name].take(method, seed, setting)
            known: dict[str, Any] = {"row": name, "method": method, "seed": seed, "quick": setting.quick}
            cost = {"cpu_seconds": round(time.process_time() - began, 2), "revision": revision}
            append_result(file, known | {"figures": figures} | cost)
            print(json.dumps(known | cost), file=sys.stderr)


def _read_runs(file: Path, quick: bool) -> Runs:
    lines = [one for one in read_results(file) if one.get("quick") == quick and "figures" in one]
    return {(one["row"], one["method"], one["seed"]): one["figures"] for one in lines}


def format_row(name: str, row: Row, runs: Runs, quick: bool) -> str:
    """Return a row in Markdown: a line for each claim, and then figures, mean ± SD over seeds, by method.

    runs: of all rows.
    quick: True adds that the figures mean little.
    """
    own = {method: _select_method(runs, name, method) for method in row.methods}
    named = dict.fromkeys(figure for one in own.values() for figures in one.values() for figure in figures)
    n = min(map(len, own.values()))
    claims = [_judge_claim(better, worse, own) for better, worse in row.claims]
    claims += [_judge_order(row.order, own[row.methods[0]])] if row.order else []
    reduced = row.reduced + ("; and --quick, whose figures mean little" if quick else "")
    heads = ("figure, mean ± SD over seeds", *row.methods)
    table = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for figure in named:
        cells = (_format_figure([one[figure] for one in runs.values() if figure in one]) for runs in own.values())
        table.append(f"| {row.label(figure)} | {' | '.join(cells)} |")
    if "value" in named:
        best = [f"{min(one['value'] for one in own[method].values()):.4g}" for method in row.methods]
        table.append(f"| best value of all seeds, lower is better | {' | '.join(best)} |")
    lines = [*claims, f"published: {row.published}", f"reduced: {reduced}"]
    title = f"## {name}, {n} seeds" + (", too few for a verdict" if n < LEAST_SEEDS else "")
    return "\n".join([title, "", *(f"- {line}" for line in lines), "", *table, ""])


def _select_method(runs: Runs, name: str, method: str) -> dict[int, dict[str, float]]:
    return {seed: figures for (row, other, seed), figures in sorted(runs.items()) if (row, other) == (name, method)}


def _format_figure(values: Sequence[float]) -> str:
    if not values:
        return ""
    spread = f" ± {np.std(values, ddof=1):.3g}" if len(values) > 1 else ""
    return f"{np.mean(values):.4g}{spread}"


def _judge_claim(better: str, worse: str, own: dict[str, dict[int, dict[str, float]]]) -> str:
    """Write whether the seeds agree with the paper that a method has lower values than another."""
    seeds = sorted(own[better].keys() & own[worse].keys())
    difference = estimate_difference([own[better][seed]["value"] - own[worse][seed]["value"] for seed in seeds])
    if difference is None:
        return f"{better} better than {worse}: one seed, no verdict"
    interval = f"difference {difference.mean:.4g} [{difference.low:.4g}, {difference.high:.4g}]"
    interval += "" if difference.p is None else f", t-test p = {difference.p:.2g}"
    if difference.n < LEAST_SEEDS:
        verdict = "few seeds, no verdict"
    elif difference.high < 0.0:
        verdict = "reproduced"
    else:
        verdict = "NOT REPRODUCED: the opposite" if difference.low > 0.0 else "undecided"
    return f"{better} better than {worse}: {verdict}; {interval}, {difference.n} seeds"


def _judge_order(order: Sequence[str], runs: dict[int, dict[str, float]]) -> str:
    """Write how many adjacent pairs of the published order the means keep, and in how many seeds each pair holds."""
    pairs = list(pairwise(order))
    means = {figure: np.mean([one[figure] for one in runs.values()]) for figure in order}
    kept = sum(bool(means[low] <= means[high]) for low, high in pairs)
    agreed = [sum(one[low] <= one[high] for one in runs.values()) for low, high in pairs]
    verdict = "reproduced" if kept == len(pairs) else f"NOT REPRODUCED: {kept} of {len(pairs)} steps"
    verdict = verdict if len(runs) >= LEAST_SEEDS else "few seeds, no verdict"
    seeds = ", ".join(
        f"{low} < {high} in {count} of {len(runs)}" for (low, high), count in zip(pairs, agreed, strict=True)
    )
    return f"order {' < '.join(order)}: {verdict}; {seeds} seeds"
