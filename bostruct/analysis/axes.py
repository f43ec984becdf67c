"""Axes of plots: scales of values, marks beyond their ends, labels of values and of points.

A scale shows the values near the best ones well, and counts the values that it leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.analysis.pictures import GRAY, Look, choose_ink, run_layout, shorten_label
from bostruct.checks import ROUNDING, optional_import
from bostruct.contracts import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

JOINT = "+"  # between the items of a subset, an order or a sequence
STEP = 3.0  # points between the sampled places on a line that a label may cover
COST_OF_LINE, COST_OF_BORDER, COST_OF_LABEL = 0.3, 3.0, 6.0  # of a covered place, of leaving the axes; a dot costs 1
COST_OF_DISTANCE, COST_OF_RANK = 0.5, 0.01
ROOM = 3.0  # points around a label: half the width of a dot
Kind = Literal["linear", "log", "symlog"]
ROOMY = 3.0  # all values are shown if their range is at most so many times the range without the far values
FAR = 10.0  # values are left out if they are farther away than so many times the range of most values
FEW = 5  # with fewer values, all are shown
LOG_VALUE_RATIO = 20.0  # ratio of positive important values from which the axis is logarithmic
SYMLOG_RATIO = 100.0  # ratio of the largest to the median absolute value, for values of both signs
TINY = float(np.finfo(np.float64).tiny)  # below which a logarithm loses digits
LEAST_THRESHOLD = 1e-300  # of a symlog axis; matplotlib divides pixels by numbers of that size
LARGEST = float(np.finfo(np.float64).max) / 32.0  # largest end of an axis; matplotlib computes ten times its length
MOST_DECADES = 150  # of a logarithmic axis for which matplotlib finds ticks; with more, it computes 10**309
TICKS = 6  # of an axis with more decades
FEW_DECADES = 2.2  # up to which a logarithmic axis labels numbers between powers of ten
WORSE_SHARE, BETTER_SHARE = 0.8, 0.9  # shares of the chosen values within the worse end, and within the better end
PAD = 0.07  # share of the range of the shown values at each end
STRIP = 0.03  # shares of the height at both borders for triangles and failures, without dots


class ValueScale(NamedTuple):
    """The scale of an axis of values.

    kind: ``linear``, ``log``, or ``symlog`` for values of both signs.
    threshold: absolute value up to which a ``symlog`` axis is linear; 0 for the other kinds.
    """

    kind: Kind
    low: float
    high: float
    threshold: float = 0.0

    def apply(self, axes: Axes) -> None:
        """Set the scale and the limits of the y axis, with room at both ends."""
        if self.kind == "symlog":
            axes.set_yscale("symlog", linthresh=self.threshold)
        else:
            axes.set_yscale(self.kind)
        if self.kind != "linear":
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        transform = axes.yaxis.get_transform()
        ends = np.asarray(transform.transform(np.array([self.low, self.high], dtype=np.float64)))
        width = float(ends[1] - ends[0]) or 0.1 * max(abs(float(ends[0])), 1e-300)
        bounds = np.asarray(transform.transform(np.array([TINY if self.kind == "log" else -LARGEST, LARGEST])))
        padded = np.array([ends[0] - PAD * width, ends[1] + PAD * width])
        low, high = np.asarray(transform.inverted().transform(np.clip(padded, *bounds))).tolist()
        axes.set_ylim(low, high)
        if self.kind != "log":
            return
        ticker, decades = optional_import("matplotlib.ticker", "plot"), math.log10(high) - math.log10(low)
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
        if decades <= FEW_DECADES:  # numbers between powers of ten are also labeled
            axes.yaxis.set_major_locator(ticker.LogLocator(10.0, subs=(1.0, 2.0, 5.0)))
        if decades > MOST_DECADES:
            axes.set_yticks(10.0 ** np.round(np.linspace(math.log10(low), math.log10(high), TICKS + 2)[1:-1]))
            axes.set_yticks([], minor=True)

    def describe(self, axes: Axes, values: Array) -> str:
        """Return the note on the scale for the axis label; empty for a linear scale that shows all values.

        values: the drawn values (n,), of which those beyond the y axis are counted.
        """
        kind = {"linear": "", "log": ", log scale", "symlog": ", symmetric log scale"}[self.kind]
        counts = zip(find_beyond(axes, values), ("above", "below"), strict=True)
        beyond = " and ".join(f"{own.sum()} {side}" for own, side in counts if own.any())
        return f"{kind}, {beyond} the axis" if beyond else kind


def find_beyond(axes: Axes, values: Array) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which values lie above the y axis, and which below (n,) each; the strips at its borders count as beyond.

    values: (n,).
    """
    transform = axes.yaxis.get_transform().transform
    low, high = np.asarray(transform(np.array(axes.get_ylim())))
    shares = (np.asarray(transform(clip_to_axis(values))) - low) / (high - low)
    return shares > 1.0 - STRIP, shares < STRIP


def lie_outside(values: Array, low: float, high: float) -> npt.NDArray[np.bool_]:
    """Return which values lie beyond the ends of an axis (n,).

    values: (n,).
    """
    return (values < low) | (values > high)


def choose_scale(values: Array, matters: Array) -> ValueScale:
    """Choose a scale that shows all values, or all but far values if these would leave too little room for the others.

    A value is far if its distance from the important values is larger than their range.

    values: all finite values that are drawn (n,); may be empty.
    matters: important values, such as the best so far (m,); empty for all values.
    """
    matters = clip_to_axis(matters)
    every = np.concatenate([clip_to_axis(values), matters])
    if not len(every):
        return ValueScale("linear", 0.0, 1.0)
    inner = matters if len(matters) and np.ptp(matters) > 0.0 else every
    low, high = float(np.min(inner)), float(np.max(inner))
    kind: Kind = "linear"
    threshold, scaled, ends, sizes = 0.0, every, np.array([low, high]), np.abs(inner[inner != 0.0])
    if float(np.min(every)) > 0.0 and high / low >= LOG_VALUE_RATIO:
        kind, scaled, ends = "log", np.log(every), np.log(ends)
    elif len(sizes) and float(np.max(sizes)) >= SYMLOG_RATIO * (middle := float(np.median(sizes))) and low <= 0.0:
        least = max(middle, float(np.max(sizes)) * 10.0**-MOST_DECADES, LEAST_THRESHOLD)
        kind, threshold = "symlog", 10.0 ** math.floor(math.log10(least))
        with np.errstate(over="ignore"):
            scaled, ends = np.arcsinh(every / threshold), np.arcsinh(ends / threshold)
    room = float(np.ptp(ends))
    is_near = (scaled >= ends[0] - room) & (scaled <= ends[1] + room)
    shown = every[is_near] if np.ptp(scaled) > ROOMY * np.ptp(scaled[is_near]) else every
    return ValueScale(kind, float(np.min(shown)), float(np.max(shown)), threshold)


def choose_ends(values: Array, matters: Array, direction: str) -> tuple[float, float]:
    """Return the ends of a linear axis, without the values that are far from most values.

    Most values are those between the median and the best tenth. Far means farther from these and from the important
    values than `FAR` times their joint range. If all of them are one number, the range is replaced by the median
    distance of the other distinct values from it.

    values: as returned by `clip_to_axis` (n,), n >= 1.
    matters: important values, such as a Pareto front (m,); may be empty.
    direction: ``minimize`` or ``maximize``.
    """
    every = np.append(matters, values)
    ends = (1.0 - BETTER_SHARE, "higher") if direction == "minimize" else (BETTER_SHARE, "lower")  # never between two
    inner = np.append(matters, [np.median(values), np.quantile(values, ends[0], method=ends[1])])
    room = FAR * _find_room(values, inner)
    if room > 0.0 and len(values) >= FEW:
        every = every[(every >= np.min(inner) - room) & (every <= np.max(inner) + room)]
    return float(np.min(every)), float(np.max(every))


def choose_ends_from_best(values: Array, direction: str) -> tuple[float, float]:
    """Return the ends of a linear axis, without the values that are far worse than most, as in `choose_ends`.

    values: as returned by `clip_to_axis` (n,), n >= 1.
    direction: ``minimize`` or ``maximize``.
    """
    low, high = choose_ends(values, np.empty(0), direction)
    return (float(np.min(values)), high) if direction == "minimize" else (low, float(np.max(values)))


def _find_room(values: Array, inner: Array) -> float:
    """Return the range of inner values; if they are one number, the median distance of the other distinct values.

    Returns 0 if all values are one number up to rounding.
    """
    room, rounding = float(np.ptp(inner)), ROUNDING * float(np.max(np.abs(inner)))
    if room > rounding:
        return room
    distances = np.unique(np.abs(values - inner[0]))  # a penalty that many trials share counts once
    others = distances[distances > rounding]
    return float(np.quantile(others, 0.5, method="lower")) if len(others) else 0.0


def clip_to_axis(values: npt.ArrayLike) -> Array:
    """Return values clipped to the largest ends of an axis, ±`LARGEST` (n,).

    values: (n,).
    """
    return np.clip(np.asarray(values, dtype=np.float64), -LARGEST, LARGEST)


def pad_ends(low: float, high: float, share: float) -> tuple[float, float]:
    """Return the padded ends of an axis, even if both are the same number."""
    pad = share * (high - low) or share * max(abs(low), 1.0)
    return low - pad, high + pad


def first_that_matters(beginning: int, total: int) -> int:
    """Return the trial, from 1, from which the best so far is important: the last trial of the initial phase.

    beginning: number of trials of the initial phase; at least a fifth of the run counts as such.
    total: number of trials.
    """
    return max(beginning if beginning < total else 0, total // 5, 1)


def pick_what_matters(values: Array, incumbents: Array, chosen: Array, direction: str, optimum: float | None) -> Array:
    """Return the important values of a run: the best so far, and most of the values that the method chose.

    values: all observed values (n,).
    incumbents: the best so far, from the end of the initial phase onward (m,).
    chosen: values of the points that the method chose (k,); empty if it chose none.
    direction: ``minimize`` or ``maximize``.
    optimum: included if its distance from the nearest of the others is at most their range; None if unknown.
    """
    several = clip_to_axis(chosen if len(chosen) >= 4 else values)
    share = WORSE_SHARE if direction == "minimize" else 1.0 - WORSE_SHARE
    found = [incumbents, np.quantile(several, [share])] if len(several) else [incumbents]
    inner = clip_to_axis(np.concatenate(found))
    if optimum is not None and abs(optimum) <= LARGEST and len(inner):
        nearest = float(np.min(np.abs(inner - optimum)))
        if nearest <= max(float(np.ptp(inner)), 1e-12 * abs(optimum)):
            inner = np.append(inner, optimum)
    return inner


class ValueMark(NamedTuple):
    """The mark of some values.

    color: color as ``#rrggbb``.
    size: area in square points.
    is_hollow: True for a mark without a filling.
    """

    label: str
    color: str
    marker: str = "o"
    size: float = 18.0
    is_hollow: bool = False


def mark_values(axes: Axes, at: Array, values: Array, mark: ValueMark) -> None:
    """Mark values, with triangles at the border instead of dots for values beyond the axis.

    The legend shows a mark that is in the plot: the dot, or a triangle if all values lie beyond.

    at: positions on the x axis (n,).
    values: (n,).
    """
    if not len(values):
        return
    inside = ~np.any(find_beyond(axes, values), axis=0)
    dots = [axes.scatter(at[inside], values[inside], s=mark.size, marker=mark.marker)] if inside.any() else []
    marks = [*dots, *mark_beyond(axes, at, values, mark.color)]
    marks[0].set_label(mark.label)
    for drawn in marks:
        if mark.is_hollow:
            drawn.set(facecolor="none", edgecolor=mark.color, linewidth=1.0, zorder=1)
        elif mark.marker == "_":  # a line has no filling
            drawn.set(color=mark.color, linewidth=1.6, zorder=2)
        else:
            drawn.set(color=mark.color, alpha=0.85, linewidth=0, zorder=2)


def mark_beyond(axes: Axes, at: Array, values: Array, color: str) -> list[PathCollection]:
    """Draw triangles at the border for values beyond the axis, and return them.

    at: positions on the x axis (n,).
    values: (n,).
    """
    sides = zip(find_beyond(axes, values), (True, False), strict=True)
    return [mark_border(axes, at[own], up, 18, color, "^" if up else "v") for own, up in sides if own.any()]


def mark_border(axes: Axes, at: Array, is_upper: bool, size: float, color: str, marker: str) -> PathCollection:
    """Draw marks in the strip at the upper or the lower border, and return them.

    at: positions on the x axis (n,).
    size: area in square points.
    """
    heights, place = np.full(len(at), 1.0 - STRIP / 2.0 if is_upper else STRIP / 2.0), axes.get_xaxis_transform()
    axes.update_datalim(np.column_stack([at, heights]), updatey=False)
    axes.autoscale_view(scaley=False)
    return axes.scatter(at, heights, s=size, color=color, marker=marker, transform=place, zorder=2)


def label_values(values: Sequence[object], most: int) -> list[str]:
    """Return distinct labels for the values of a variable.

    Tuples, such as values of a `Subset`, are their items joined by a plus sign. If they are too long, the ends of all
    items are cut, as little as needed. The middle of other long values is left out. If two labels would be equal, each
    label starts with its position, from 0.

    most: maximum number of letters of a label, at least 8.
    """
    if values and all(isinstance(value, tuple) for value in values):
        texts = _join_items([value for value in values if isinstance(value, tuple)], most)
    else:
        texts = [str(value) for value in values]
    labels = [shorten_label(text, most) for text in texts]
    if len(set(labels)) == len(labels):
        return labels
    return [shorten_label(f"{place} {text}", most) for place, text in enumerate(texts)]


def _join_items(values: Sequence[tuple[object, ...]], most: int) -> list[str]:
    """Return tuples as strings, with items cut to the longest prefixes that fit and are distinct."""
    names = {repr(item): str(item) for value in values for item in value}
    longest = max(map(len, names.values()), default=0)
    for length in range(longest, 0, -1):
        if len({name[:length] for name in names.values()}) < len(names):
            break  # items look the same: the middle of the text is left out instead
        joined = [JOINT.join(names[repr(item)][:length] for item in value) or "none" for value in values]
        if max(map(len, joined)) <= most:
            return joined
    return [JOINT.join(names[repr(item)] for item in value) or "none" for value in values]


class _Place(NamedTuple):
    """A place of a label: its offset from its point, in points, and its alignment."""

    x: float
    y: float
    across: str
    up: str


BESIDE = (
    _Place(6.0, 6.0, "left", "bottom"),
    _Place(-6.0, 6.0, "right", "bottom"),
    _Place(6.0, -6.0, "left", "top"),
    _Place(-6.0, -6.0, "right", "top"),
    _Place(8.0, 0.0, "left", "center"),
    _Place(-8.0, 0.0, "right", "center"),
    _Place(0.0, 8.0, "center", "bottom"),
    _Place(0.0, -8.0, "center", "top"),
)


FARTHER = tuple(place._replace(x=2.5 * place.x, y=2.5 * place.y) for place in BESIDE)  # with a line to the point


def label_points(axes: Axes, labels: Sequence[tuple[str, float, float]], dots: Array, line: Array) -> None:
    """Write labels next to points on a white halo, at the places that cover the fewest dots and the least of a line.

    dots: coordinates of all points (n, 2).
    line: coordinates of the line's corners (m, 2), m from 0.
    """
    run_layout(axes)
    point = axes.figure.dpi / 72.0
    covered = axes.transData.transform(np.reshape(dots, (-1, 2)))
    crossed = _walk_line(axes.transData.transform(np.reshape(line, (-1, 2))), STEP * point)
    taken: list[Bbox] = []
    for text, x, y in labels:
        boxes, costs = [], []
        for rank, place in enumerate((*BESIDE, *FARTHER)):
            label = _write(axes, text, (x, y), place)
            box = label.get_window_extent()
            label.remove()
            room = box.padded(ROOM * point)
            is_out = not (axes.bbox.contains(box.x0, box.y0) and axes.bbox.contains(box.x1, box.y1))
            cost = _count_inside(room, covered) + COST_OF_LINE * _count_inside(room, crossed)
            cost += COST_OF_BORDER * is_out + COST_OF_LABEL * sum(box.overlaps(other) for other in taken)
            costs.append(cost + COST_OF_DISTANCE * (place in FARTHER) + COST_OF_RANK * rank)
            boxes.append(box)
        best = int(np.argmin(costs))
        label = _write(axes, text, (x, y), (*BESIDE, *FARTHER)[best], has_line=best >= len(BESIDE))
        patheffects = optional_import("matplotlib.patheffects", "plot")
        label.set_path_effects([patheffects.withStroke(linewidth=2.5, foreground=axes.get_facecolor())])
        taken.append(boxes[best])


def _write(axes: Axes, text: str, point: tuple[float, float], place: _Place, *, has_line: bool = False) -> Annotation:
    """Write a label at a place next to a point, and return it."""
    line: Look = {"arrowstyle": "-", "color": GRAY, "linewidth": 0.8, "shrinkA": 0.0, "shrinkB": 4.0}
    look: Look = {"ha": place.across, "va": place.up, "arrowprops": line if has_line else None}
    look |= {"fontsize": 9, "color": choose_ink(axes), "zorder": 6}
    return axes.annotate(text, point, (place.x, place.y), textcoords="offset points", **look)


def _count_inside(box: Bbox, places: Array) -> int:
    """Count the places in a box."""
    return int(np.sum((places >= (box.x0, box.y0)).all(axis=1) & (places <= (box.x1, box.y1)).all(axis=1)))


def _walk_line(corners: Array, step: float) -> Array:
    """Return places on a line, at most a step apart (n, 2)."""
    pieces = [np.linspace(a, b, max(2, int(np.hypot(*(b - a)) / step) + 1)) for a, b in pairwise(corners)]
    return np.concatenate(pieces) if pieces else np.empty((0, 2))
