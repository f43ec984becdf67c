"""Axes of pictures: scales of values, marks beyond their ends, labels of values and of points.

A scale shows what happened near the best values, and says what it leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.analysis.pictures import GRAY, Look, choose_ink, shorten_label
from bostruct.checks import ROUNDING, optional_import
from bostruct.contracts import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

JOINT = "+"  # between the items of a subset, an order or a sequence
STEP = 3.0  # points between the places on a line that a label may cover
COST_OF_LINE, COST_OF_BORDER, COST_OF_LABEL = 0.3, 3.0, 6.0  # of such a place, of leaving the axes; a dot costs 1
COST_OF_DISTANCE, COST_OF_RANK = 0.5, 0.01
ROOM = 3.0  # points around a label: half the width of a dot
Kind = Literal["linear", "log", "symlog"]
ROOMY = 1.6  # all values are shown if they take at most so many times the room of those that matter
FAR = 10.0  # times the room of most values, which the farthest take from which on they are left out
FEW = 5  # values, fewer than which are all shown
LOG_VALUE_RATIO = 20.0  # of positive values that matter, from which on the axis is logarithmic
SYMLOG_RATIO = 100.0  # of the largest to the median size of values of both signs
TINY = float(np.finfo(np.float64).tiny)  # below which a logarithm loses digits
LEAST_THRESHOLD = 1e-300  # of a symlog axis; matplotlib divides pixels by numbers of that size
LARGEST = float(np.finfo(np.float64).max) / 32.0  # that an axis reaches; matplotlib computes ten times its length
MOST_DECADES = 150  # of a logarithmic axis that matplotlib finds ticks for; beyond them it computes 10**309
TICKS = 6  # of one with more
FEW_DECADES = 2.2  # of a logarithmic axis that names numbers between powers of ten
HALF, MOST = 0.5, 0.8  # of what the method chose: the share that is shown at any price, and where that costs little
CHEAP = 3.0  # times the room of what matters
WORSE_SHARE, BETTER_SHARE = 0.8, 0.9  # of what the method chose, not beyond the worse end, and not the better end
BETTER_PAD, WORSE_PAD = 0.11, 0.13  # shares of the height: room for triangles at both ends, and at one for failures
UPPER, LOWER = 0.955, 0.045  # shares of the height at which triangles stand


class ValueScale(NamedTuple):
    """The scale of an axis of values.

    kind: ``linear``, ``log``, or ``symlog`` for values of both signs.
    threshold: up to which a ``symlog`` axis is linear, 0 for the others.
    """

    kind: Kind
    low: float
    high: float
    threshold: float = 0.0

    def apply(self, axes: Axes, direction: str) -> None:
        """Set the scale and the limits of the y axis, with room for marks at the worse end.

        direction: ``minimize`` or ``maximize``.
        """
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
        pads = (BETTER_PAD, WORSE_PAD) if direction == "minimize" else (WORSE_PAD, BETTER_PAD)
        padded = np.array([ends[0] - pads[0] * width, ends[1] + pads[1] * width])
        low, high = np.asarray(transform.inverted().transform(np.clip(padded, *bounds))).tolist()
        axes.set_ylim(low, high)
        if self.kind != "log":
            return
        ticker, decades = optional_import("matplotlib.ticker", "plot"), math.log10(high) - math.log10(low)
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
        if decades <= FEW_DECADES:  # numbers between powers of ten are named, too
            axes.yaxis.set_major_locator(ticker.LogLocator(10.0, subs=(1.0, 2.0, 5.0)))
        if decades > MOST_DECADES:
            axes.set_yticks(10.0 ** np.round(np.linspace(math.log10(low), math.log10(high), TICKS + 2)[1:-1]))
            axes.set_yticks([], minor=True)

    def describe(self, outside: int) -> str:
        """Say on the axis what is unusual about it; empty for a linear one that shows everything.

        outside: number of values beyond the ends.
        """
        kind = {"linear": "", "log": ", log scale", "symlog": ", symmetric log scale"}[self.kind]
        return f"{kind}, {outside} beyond" if outside else kind


def is_beyond(axes: Axes, values: Array) -> npt.NDArray[np.bool_]:
    """Tell which values lie beyond the limits of the y axis (n,).

    values: (n,).
    """
    return lie_outside(values, *axes.get_ylim())


def lie_outside(values: Array, low: float, high: float) -> npt.NDArray[np.bool_]:
    """Tell which values lie beyond the ends of an axis (n,).

    values: (n,).
    """
    return (values < low) | (values > high)


def choose_scale(values: Array, matters: Array) -> ValueScale:
    """Choose a scale that shows what matters, and all other values if they leave it enough room.

    values: all finite values that are drawn (n,); may be empty.
    matters: those that must be seen well, such as the best so far (m,); empty for all.
    """
    matters = clip_to_axis(matters)
    every = np.concatenate([clip_to_axis(values), matters])
    if not len(every):
        return ValueScale("linear", 0.0, 1.0)
    inner = matters if len(matters) and np.ptp(matters) > 0.0 else every
    low, high = float(np.min(inner)), float(np.max(inner))
    all_low, all_high = float(np.min(every)), float(np.max(every))
    if all_low > 0.0 and high / low >= LOG_VALUE_RATIO:
        fits = math.log(all_high / all_low) <= 2.0 * ROOMY * math.log(high / low)
        return ValueScale("log", *((all_low, all_high) if fits else (low, high)))
    sizes = np.abs(inner[inner != 0.0])
    if len(sizes) and float(np.max(sizes)) >= SYMLOG_RATIO * (middle := float(np.median(sizes))) and low <= 0.0:
        least = max(middle, float(np.max(sizes)) * 10.0**-MOST_DECADES, LEAST_THRESHOLD)
        return ValueScale("symlog", low, high, 10.0 ** math.floor(math.log10(least)))
    fits = all_high - all_low <= ROOMY * (high - low)
    return ValueScale("linear", *((all_low, all_high) if fits else (low, high)))


def choose_scale_of_most(values: Array, matters: Array, chosen: Array, direction: str) -> ValueScale:
    """Choose a scale that shows what matters and, where that is but a part of it, most of what the method chose.

    Values that break a limit are no part of what matters, and may be far better. At least half of what the method chose
    is shown, and most of it where what matters keeps a third of the height.

    chosen: values of the points that the method chose, those that break a limit included (k,); empty for none.
    direction: ``minimize`` or ``maximize``.
    """
    scale = choose_scale(values, matters)
    several = clip_to_axis(chosen if len(chosen) else values)
    shown = np.mean((several >= scale.low) & (several <= scale.high)) if len(several) else 1.0
    if shown >= MOST:
        return scale
    shares = np.array([1.0 - BETTER_SHARE, WORSE_SHARE])
    ends = np.quantile(several, shares if direction == "minimize" else 1.0 - shares)
    wide = choose_scale(values, np.concatenate([matters, ends]))
    is_cheap = wide.kind == scale.kind == "linear" and wide.high - wide.low <= CHEAP * (scale.high - scale.low)
    return wide if shown < HALF or is_cheap else scale


def choose_ends(values: Array, matters: Array, direction: str) -> tuple[float, float]:
    """Return the ends of a linear axis of all values but those that lie far from most of them.

    Most are those between the median and the best tenth. Far means farther from these, and from what matters, than
    `FAR` times the room that they take together. Where all of them are one number, the room is the median of the
    distances from it of the other distinct values.

    values: as `clip_to_axis` returns them (n,), n >= 1.
    matters: those that must be seen well, such as a front (m,); may be empty.
    direction: ``minimize`` or ``maximize``.
    """
    every = np.append(matters, values)
    ends = (1.0 - BETTER_SHARE, "higher") if direction == "minimize" else (BETTER_SHARE, "lower")  # of one value
    inner = np.append(matters, [np.median(values), np.quantile(values, ends[0], method=ends[1])])
    room = FAR * _find_room(values, inner)
    if room > 0.0 and len(values) >= FEW:
        every = every[(every >= np.min(inner) - room) & (every <= np.max(inner) + room)]
    return float(np.min(every)), float(np.max(every))


def choose_ends_from_best(values: Array, direction: str) -> tuple[float, float]:
    """Return the ends of a linear axis of all values but those far worse than most, as `choose_ends` tells them.

    values: as `clip_to_axis` returns them (n,), n >= 1.
    direction: ``minimize`` or ``maximize``.
    """
    low, high = choose_ends(values, np.empty(0), direction)
    return (float(np.min(values)), high) if direction == "minimize" else (low, float(np.max(values)))


def _find_room(values: Array, inner: Array) -> float:
    """Return the room that inner values take; of one number, the median distance from it of the other distinct values.

    Returns 0 if all values are one number up to rounding.
    """
    room, rounding = float(np.ptp(inner)), ROUNDING * float(np.max(np.abs(inner)))
    if room > rounding:
        return room
    distances = np.unique(np.abs(values - inner[0]))  # a penalty that many trials were given counts once
    others = distances[distances > rounding]
    return float(np.quantile(others, 0.5, method="lower")) if len(others) else 0.0


def clip_to_axis(values: npt.ArrayLike) -> Array:
    """Return values as far as an axis reaches, at most `LARGEST` in size (n,).

    values: (n,).
    """
    return np.clip(np.asarray(values, dtype=np.float64), -LARGEST, LARGEST)


def pad_ends(low: float, high: float, share: float) -> tuple[float, float]:
    """Return the ends of an axis with room beside them, also if both are the same number."""
    pad = share * (high - low) or share * max(abs(low), 1.0)
    return low - pad, high + pad


def first_that_matters(beginning: int, total: int) -> int:
    """Return the trial, from 1, from which on the best so far must be seen well: the last of the initial phase.

    beginning: number of trials of the initial phase; of a run without one, a fifth of it counts as such.
    total: number of trials.
    """
    return max(beginning if beginning < total else 0, total // 5, 1)


def pick_what_matters(values: Array, incumbents: Array, chosen: Array, direction: str, optimum: float | None) -> Array:
    """Return the values that the picture of a run must show well: the best so far, and most of what the method chose.

    values: all that were told (n,).
    incumbents: the best so far, from the end of the initial phase on (m,).
    chosen: values of the points that the method chose (k,); empty if it chose none.
    direction: ``minimize`` or ``maximize``.
    optimum: shown if it is no farther from the best than the best has come; None if unknown.
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

    color: as ``#rrggbb``.
    size: in square points.
    is_hollow: True for a mark without a filling.
    """

    label: str
    color: str
    marker: str = "o"
    size: float = 18.0
    is_hollow: bool = False


def mark_values(axes: Axes, at: Array, values: Array, mark: ValueMark) -> int:
    """Mark values, those beyond the axis by triangles at its border, and return how many lie beyond.

    The legend shows a mark that is in the picture: the dot, or a triangle if all values lie beyond.

    at: places on the x axis (n,).
    values: (n,).
    """
    if not len(values):
        return 0
    outside = is_beyond(axes, values)
    marks = [axes.scatter(at, values, s=mark.size, marker=mark.marker)]
    for is_out, height, triangle in (
        (outside & (values > axes.get_ylim()[1]), UPPER, "^"),
        (outside & (values < axes.get_ylim()[0]), LOWER, "v"),
    ):
        if is_out.any():
            marks.append(mark_border(axes, at[is_out].tolist(), height, 16, [mark.color], triangle))
    for drawn in marks:
        if mark.is_hollow:
            drawn.set(facecolor="none", edgecolor=mark.color, linewidth=1.0, zorder=1)
        elif mark.marker == "_":  # a line has no filling
            drawn.set(color=mark.color, linewidth=1.6, zorder=2)
        else:
            drawn.set(color=mark.color, alpha=0.85, linewidth=0, zorder=2)
    marks[1 if outside.all() else 0].set_label(mark.label)
    return int(outside.sum())


def mark_border(
    axes: Axes, at: Sequence[float], height: float, size: float, colors: list[str], marker: str
) -> PathCollection:
    """Draw marks at a share of the axes' height, which no value decides, and return them.

    height: share from the lower end, in [0, 1].
    size: in square points.
    """
    place = axes.get_xaxis_transform()
    return axes.scatter(at, np.full(len(at), height), s=size, color=colors, marker=marker, transform=place, zorder=2)


def label_values(values: Sequence[object], most: int) -> list[str]:
    """Return a label for each value of a variable, different ones for different values.

    most: number of letters of a label, at least 8.

    Tuples, such as those of a `Subset`, are their items joined by a plus. Where they are long, all items lose letters
    at their ends, as few as needed. Other long values lose their middle; where two are the same then, their positions,
    from 0, stand before them.
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
    """Return tuples as texts, their items cut to the longest beginnings that fit and tell them apart."""
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
    """A place of a label: how far from its point, in points, and which side of the label is there."""

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
    """Write labels beside points on a white halo, if they cover the fewest dots and the least of a line.

    dots: places of all points (n, 2).
    line: places of its corners (m, 2), m from 0.
    """
    root: Any = axes.figure.canvas.figure  # of which the axes may have a part
    if (engine := root.get_layout_engine()) is not None:
        engine.execute(root)
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
    """Write a label at a place beside a point, and return it."""
    line: Look = {"arrowstyle": "-", "color": GRAY, "linewidth": 0.8, "shrinkA": 0.0, "shrinkB": 4.0}
    look: Look = {"ha": place.across, "va": place.up, "arrowprops": line if has_line else None}
    look |= {"fontsize": 9, "color": choose_ink(axes), "zorder": 6}
    return axes.annotate(text, point, (place.x, place.y), textcoords="offset points", **look)


def _count_inside(box: Bbox, places: Array) -> int:
    """Count the places in a box."""
    return int(np.sum((places >= (box.x0, box.y0)).all(axis=1) & (places <= (box.x1, box.y1)).all(axis=1)))


def _walk_line(corners: Array, step: float) -> Array:
    """Return places on a line, at most a step apart (n, 2)."""
    pieces = [
        np.linspace(start, end, max(2, int(np.hypot(*(end - start)) / step) + 1)) for start, end in pairwise(corners)
    ]
    return np.concatenate(pieces) if pieces else np.empty((0, 2))
