"""The figure of the published benchmarks: mean regret against trials, a panel for each problem."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.peers.curves import read_best
from benchmarks.peers.figures import COLORS, STYLE
from benchmarks.peers.verdicts import LEAST_SEEDS, Found, Index
from benchmarks.published.cases import CASES, MORE, REFERENCE, SEARCHES, title
from benchmarks.published.regrets import find_mean_optimum

COLUMNS = 4
FIRST = 20  # trial from which curves are drawn, also for Branin
N_POINTS = 24
LEAST = 1e-3  # regret that the axis shows
DASHED = ("bocs", "annealing")


@mpl.rc_context(STYLE)
def draw_regrets(index: Index) -> Figure:
    """Draw the mean regrets of the searches that have `LEAST_SEEDS` configurations, and the published final regret.

    index: of the runs.
    """
    names = [name for name in CASES if find_mean_optimum(index, name) is not None]
    rows = max(1, -(-len(names) // COLUMNS))
    figure = Figure(figsize=(2.6 * COLUMNS, 2.0 * rows))
    panels = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    figure.subplots_adjust(wspace=0.32, hspace=0.55)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    for axes, name in zip(panels, names, strict=False):
        _draw_panel(axes, index, name)
    panels[0].set_ylabel("mean regret")
    for axes in panels[max(0, len(names) - COLUMNS) : len(names)]:
        axes.set_xlabel("trials")
    lines = {line.get_label(): line for axes in panels for line in axes.get_lines()}
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.04), "ncols": 6, "frameon": False}
    figure.legend(list(lines.values()), list(lines), **place)
    return figure


def _draw_panel(axes: Axes, index: Index, name: str) -> None:
    case, optimum = CASES[name], find_mean_optimum(index, name)
    assert optimum is not None
    at = np.unique(np.round(np.geomspace(FIRST, case.trials, N_POINTS)))
    for search in (*SEARCHES, *MORE):
        runs = list(index.get((name, search), {}).values())
        if len(runs) >= LEAST_SEEDS:
            mean = np.maximum(np.mean([_find_regrets(run, at) for run in runs], axis=0), LEAST)
            style: Any = {"linestyle": (0, (4, 1.6))} if search in DASHED else {}
            axes.plot(at, mean, color=COLORS.get(search), lw=2.4 if search == "auto" else 1.3, label=search, **style)
    published = max(case.published[REFERENCE][0] - optimum, LEAST)
    axes.plot([case.trials], [published], "k*", ms=8, label=f"{REFERENCE}, published", clip_on=False, zorder=5)
    axes.set(yscale="log", xlim=(FIRST, case.trials))
    axes.set_title(title(name), fontsize=9)
    axes.set_ylim(bottom=LEAST * 0.8)
    axes.grid(color="#E6E6E6", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _find_regrets(run: Found, at: np.ndarray) -> np.ndarray:
    return read_best(run, at) - run["best_known"]
