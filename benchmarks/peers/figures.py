"""The figures of the results, as SVG files that are the same for the same runs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator, ScalarFormatter

from benchmarks.peers.curves import Curve, average_gaps, curve_by_seconds, curve_by_trials, find_errors, space_trials
from benchmarks.peers.groups import OURS, VALUES
from benchmarks.peers.run import N_INITIAL
from benchmarks.peers.verdicts import LEAST_SEEDS, OPTIMA, Found, Index

STYLE: Any = {"font.size": 9, "svg.hashsalt": "bostruct", "svg.fonttype": "none", "path.simplify": False}
COLORS = {  # that color-blind readers distinguish; methods of this package except auto are dashed
    "auto": "#0072B2",
    "Optuna TPE": "#D55E00",
    "Optuna GP": "#E69F00",
    "BoTorch": "#CC79A7",
    "BoTorch fast": "#882255",
    "SMAC3": "#009E73",
    "Bounce": "#56B4E9",
    "CatCMA": "#000000",
    "NGOpt": "#4B0082",
    "HEBO": "#2F4F4F",
    "Ax": "#C71585",
    "Casmopolitan": "#556B2F",
    "BODi": "#8FBC8F",
    "Optuna NSGA-II": "#6A3D9A",
    "Kernel Tuner GA": "#CC79A7",
    "Kernel Tuner VNDX": "#8B4513",
    "smac": "#009E73",
    "combo": "#7A3E9D",
    "bocs": "#A6761D",
    "evolution": "#B22222",
    "hill-climbing": "#6B8E23",
    "annealing": "#B8A000",
    "random": "#8C8C8C",
    "auto before": "#5A9BD4",
    "tpe": "#D55E00",
    "climbing by swaps": "#009E73",
    "bits with a predicate": "#CC79A7",
    "auto on plain categories": "#56B4E9",
    "BoTorch Tanimoto": "#CC79A7",
    "from 5 points": "#56B4E9",
    "related prior": "#009E73",
    "unrelated prior": "#D55E00",
    "opposite prior": "#CC79A7",
}
DASHED = ("smac", "combo", "bocs", "evolution", "hill-climbing", "annealing", "tpe", "auto before")
MOST_CURVES = 7  # of a panel; readers cannot distinguish more
LEAST_GAP = 1e-6  # smallest gap on a logarithmic axis
LEAST_DECADE = 5.0  # an axis is logarithmic if the ratio of its values is larger
RIGHT: Any = {"loc": "center left", "bbox_to_anchor": (1.02, 0.5)}  # place of a legend
EARLY = 20  # trials; values worse than at this trial lie above the axis
LOST = "hypervolume lost"  # the measure of runs of several objectives


@mpl.rc_context(STYLE)
def draw_problem(index: Index, problem: str, searches: Sequence[str]) -> Figure:
    """Draw the mean best values on a problem against trials and against CPU seconds, side by side.

    If a problem has several objectives, the values are the hypervolume that is lost.

    A curve uses the seeds that `auto` has, too. If `auto` has more seeds, the curve is the mean of `auto` plus the
    mean paired difference, see `average_values`, so that instances that are easy for all do not look like a gain.

    index: of the runs.
    problem: its name.
    searches: names. Searches that share `LEAST_SEEDS` seeds with `auto`, or all of its seeds, may be drawn:
        `thin` chooses among them.
    """
    runs = _list_runs(index, problem, searches)
    base, optimum = index.get((problem, OURS), {}), OPTIMA.get(problem)
    curves = [
        {name: _subtract_optimum(make(own, base), optimum) for name, own in runs.items()}
        for make in (curve_by_trials, curve_by_seconds)
    ]
    figure, (left, right) = _make_panels(8.6, 2.9, 2)
    order = thin({name: float(curves[0][name].mean[-1]) for name in runs})
    for axes, own in zip((left, right), curves, strict=True):
        for name in reversed(order):
            axes.plot(own[name].x, own[name].mean, **_line(name))
    sharing = {name: {name: runs[name]} if problem in OPTIMA else runs for name in order}
    errors = {name: find_errors(sharing[name], name, curves[0][name].x) for name in order}
    for name in order:
        _draw_band(left, name, curves[0][name], errors[name], problem in OPTIMA)
    _set_values(left, [(curves[0][name], errors[name]) for name in order], problem in OPTIMA)
    _set_trials(left, max(float(curve.x[-1]) for curve in curves[0].values()))
    right.set(xscale="log", xlabel="CPU seconds of suggestions")
    right.xaxis.set_major_locator(LogLocator(10, numticks=12))
    right.xaxis.set_minor_locator(NullLocator())
    left.set_ylabel("mean best − optimum" if problem in OPTIMA else f"mean {_name_values(problem, runs)}")
    _put_legend(right, {name: f"{name} ({_format_seeds(runs[name], base)})" for name in order}, RIGHT)
    return figure


def thin(ends: Mapping[str, float]) -> list[str]:
    """Return the searches to draw, the best one at the end first: `auto`, random search and the best of the others.

    ends: the last value of each curve, by search.
    """
    order = sorted(ends, key=lambda name: (ends[name], name))
    always = [name for name in (OURS, "random") if name in ends]
    others = [name for name in order if name not in always][: MOST_CURVES - len(always)]
    return [name for name in order if name in always or name in others]


def _list_runs(index: Index, problem: str, searches: Sequence[str]) -> dict[str, dict[int, Found]]:
    """List the runs to draw, by search and seed: the seeds that `auto` has, too, or all seeds if `auto` has no runs."""
    base = index.get((problem, OURS), {})
    runs = {
        name: {seed: found for seed, found in index.get((problem, name), {}).items() if seed in base or not base}
        for name in searches
    }
    return {name: own for name, own in runs.items() if len(own) >= max(min(LEAST_SEEDS, len(base)), 1)}


def _format_seeds(own: Mapping[int, Found], base: Mapping[int, Found]) -> str:
    """Return the number of seeds, and the number of seeds of `auto` if it is larger."""
    return f"{len(own)} of {len(base)}" if len(own) < len(base) else str(len(own))


def _subtract_optimum(curve: Curve, optimum: float | None) -> Curve:
    """Subtract the optimum from a curve if it is known; values below it, which pairs may give, become infinite."""
    return curve if optimum is None else curve._replace(mean=_hide_negative(curve.mean - optimum))


def _hide_negative(gaps: np.ndarray) -> np.ndarray:
    """Replace gaps below 0, which only paired means may have and a logarithmic axis cannot show, by infinity."""
    return np.where(gaps < -LEAST_GAP, np.inf, gaps)


def _name_values(problem: str, runs: Mapping[str, Mapping[int, Found]]) -> str:
    """Return the name of the values of runs: the best value so far, or the hypervolume that is lost."""
    measures = {name for own in runs.values() for found in own.values() for name in found.get("measures", ())}
    return LOST if LOST in measures else f"best {VALUES.get(problem, 'value')}"


@mpl.rc_context(STYLE)
def draw_headline(index: Index, panels: Mapping[str, Sequence[str]], searches: Sequence[str], trials: int) -> Figure:
    """Draw the gaps that searches leave, averaged over the problems of each panel, against trials.

    index: of the runs.
    panels: problems by title, at least one.
    searches: names. A search is drawn in a panel if it has enough seeds on every problem of the panel.
    trials: the last trial on the axis.
    """
    figure, all_axes = _make_panels(2.6 * len(panels), 2.8, len(panels))
    at = space_trials(trials)
    shown: set[str] = set()
    for axes, (title, problems) in zip(all_axes, panels.items(), strict=True):
        averages = {name: average_gaps(index, problems, name, at) for name in searches}
        gaps = {name: found for name, found in averages.items() if found is not None}
        for name in sorted(thin({name: float(found[-1]) for name, found in gaps.items()}), key=list(gaps).index):
            axes.plot(at, _hide_negative(gaps[name]), **_line(name))
            shown.add(name)
        axes.set_title(f"{title} ({len(problems)})", fontsize=9.5)
        _set_trials(axes, float(trials))
    all_axes[0].set(yscale="log", ylabel="gap left, share of the start")
    _set_log_values(all_axes[0], (1.0, 2.0, 5.0))
    place: Any = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, -0.02),
        "ncols": 6,
        "bbox_transform": figure.transFigure,
    }
    _put_legend(all_axes[0], {name: name for name in COLORS if name in shown}, place)
    return figure


@mpl.rc_context(STYLE)
def save_figure(figure: Figure, file: Path) -> None:
    """Write a figure as a compact SVG file without a date.

    figure: drawn by this module.
    file: to write; its folder is created.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, bbox_inches="tight", facecolor="white", metadata={"Date": None})
    file.write_text(shorten(file.read_text(encoding="utf-8")), encoding="utf-8")


def shorten(svg: str) -> str:
    """Return an SVG without its invisible parts, with coordinates rounded to a tenth of a point.

    svg: as matplotlib writes it.
    """
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: 'DejaVu Sans'[^;\"]*", "font-family: 'DejaVu Sans', Verdana, sans-serif", svg)
    svg = re.sub(r"-?\d+\.\d{3,}(?![^<>]*</text>)", lambda one: f"{float(one[0]):.1f}".removesuffix(".0"), svg)
    svg = re.sub(r' d="([^"]*)"', lambda path: f' d="{_join(path[1])}"', svg)
    return re.sub(r'<g id="[^"]*"', "<g", re.sub(r"\n\s*", "\n", svg))


def _join(path: str) -> str:
    """Return a path on one line; a point that follows a point needs no L."""
    words = path.split()
    kept = [word for i, word in enumerate(words) if word != "L" or words[max(i - 3, 0)] not in ("M", "L")]
    return " ".join(kept)


def _make_panels(width: float, height: float, count: int) -> tuple[Figure, Sequence[Axes]]:
    """Make panels side by side that share the scale of their values."""
    figure = Figure(figsize=(width, height))
    panels = figure.subplots(1, count, squeeze=False, sharey=True)[0]
    figure.subplots_adjust(wspace=0.12 if count == 2 else 0.18)
    for axes in panels:
        axes.grid(color="#E6E6E6", lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def _line(name: str) -> dict[str, Any]:
    dashes = (0, (1, 1.2)) if name == "random" else (0, (4, 1.6)) if name in DASHED else "solid"
    width, order = (2.6, 4) if name == OURS else (1.4, 3)
    return {"color": COLORS.get(name, "#8C8C8C"), "linestyle": dashes, "lw": width, "zorder": order, "label": name}


def _draw_band(axes: Axes, name: str, curve: Curve, error: np.ndarray, is_gap: bool) -> None:
    """Draw the error band of a curve, except where it reaches the optimum, which a logarithmic axis cannot show."""
    if error.any():
        color, alpha = COLORS.get(name, "#8C8C8C"), 0.18 if name == OURS else 0.1
        low, high = curve.mean - error, curve.mean + error
        shown = low > 0.0 if is_gap else None
        axes.fill_between(curve.x, low, high, where=shown, color=color, alpha=alpha, lw=0, zorder=2)


def _set_values(axes: Axes, bands: Sequence[tuple[Curve, np.ndarray]], is_gap: bool) -> None:
    """Scale the values so that the last trials are visible: from the best value to the worst after a few trials."""
    lowest = min(float(np.min(curve.mean)) for curve, _ in bands)
    early = [float(np.interp(EARLY, curve.x, curve.mean + error)) for curve, error in bands]
    highest = max(filter(math.isfinite, early), default=math.inf)
    if is_gap and math.inf > highest > LEAST_DECADE * lowest:
        axes.set(yscale="log", ylim=(max(lowest / 2.0, LEAST_GAP), highest * 1.3))
        _set_log_values(axes, (1.0, 2.0, 5.0) if highest < 100.0 * lowest else (1.0,))
        return
    lowest = min(float(np.min(curve.mean - error)) for curve, error in bands)
    margin = 0.05 * (highest - lowest) or 1.0
    if math.isfinite(highest):
        axes.set_ylim(lowest - margin, highest + margin)
    axes.yaxis.set_major_locator(MaxNLocator(6))


def _set_log_values(axes: Axes, steps: tuple[float, ...]) -> None:
    """Mark the steps of each decade, as plain numbers if there are several."""
    axes.yaxis.set_major_locator(LogLocator(10, subs=steps, numticks=8 * len(steps)))
    axes.yaxis.set_minor_locator(NullLocator())
    if len(steps) > 1:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _set_trials(axes: Axes, last: float) -> None:
    axes.set(xscale="log", xlim=(N_INITIAL, last), xlabel="trials")
    axes.set_xticks([n for n in (10, 20, 50, 100, 200, 500, 1000) if n <= last])
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())


def _put_legend(axes: Axes, labels: Mapping[str, str], place: dict[str, Any]) -> None:
    """Put one legend for all panels, in the order of the labels, which are given by the name of the search."""
    lines = {line.get_label(): line for own in axes.figure.axes for line in own.get_lines()}
    axes.legend([lines[name] for name in labels], list(labels.values()), frameon=False, handlelength=2.6, **place)
