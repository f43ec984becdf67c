"""Draw the pictures of spaces.md, orders.md and others into docs/images: python docs/pictures.py [FOLDER]."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch

import bostruct as bo
from bostruct import methods
from bostruct.domains import ChoiceVariable, NumberGrid

BLUE, ORANGE, GREEN, GRAY = "#0072B2", "#D55E00", "#009E73", "#8C8C8C"  # told apart by color-blind readers
STYLE: Any = {"font.size": 11, "svg.hashsalt": "bostruct", "svg.fonttype": "path"}  # the same file every time


def draw_conditions() -> Figure:
    """Draw the conditions of the example: variables as boxes, conditions on the arrows between them."""
    figure, axes = plt.subplots(figsize=(7.2, 3.2))
    axes.set(xlim=(0, 10), ylim=(-0.1, 4.7))
    axes.axis("off")
    parents = {"optimizer": ("sgd, adam, none", 3.65), "layers": ("1, 2, 3", 0.95)}
    children = [
        ("momentum", "0 to 0.99", 4.2, "optimizer", "sgd"),
        ("beta", "0.9, 0.99, 0.999", 3.1, "optimizer", "adam or none"),
        ("second", "8 to 64", 1.5, "layers", "2 or more"),
        ("third", "8 to 64", 0.4, "layers", "3"),
    ]
    for name, (values, y) in parents.items():
        _draw_box(axes, 1.5, y, name, values, BLUE)
    for name, values, y, parent, condition in children:
        start = (2.95, parents[parent][1])
        axes.annotate("", (6.95, y), start, arrowprops={"arrowstyle": "-|>", "color": GRAY, "lw": 1.2})
        middle = (start[1] + y) / 2
        label = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        axes.text(4.95, middle, condition, ha="center", va="center", color=ORANGE, bbox=label)
        _draw_box(axes, 8.4, y, name, values, BLUE)
    return figure


def _draw_box(axes: Axes, x: float, y: float, name: str, values: str, color: str) -> None:
    box = {"boxstyle": "round,pad=0.1", "facecolor": "#EAF3F9", "edgecolor": color, "lw": 1.2}
    axes.add_patch(FancyBboxPatch((x - 1.3, y - 0.3), 2.6, 0.6, **box))
    axes.text(x, y + 0.16, name, ha="center", va="center", weight="bold")
    axes.text(x, y - 0.17, values, ha="center", va="center", fontsize=10)


def draw_log_scale() -> Figure:
    """Draw 200 values of a number without and with a logarithmic scale, and the share of 20,000 in each decade."""
    figure, rows = plt.subplots(2, 1, figsize=(7.2, 3.2), sharex=True)
    rng = np.random.default_rng(0)
    for axes, log, title in zip(rows, (False, True), ("Real(1e-5, 1e-1)", "Real(1e-5, 1e-1, log=True)"), strict=True):
        space = bo.Space({"rate": bo.Real(1e-5, 1e-1, log=log)})
        values = np.array([space.present(x)["rate"] for x in space.sample(20_000, rng)])
        axes.scatter(values[:200], rng.uniform(0.1, 0.6, 200), s=7, color=BLUE, linewidths=0)
        for decade in range(-5, -1):
            share = np.mean((values >= 10.0**decade) & (values < 10.0 ** (decade + 1)))
            axes.text(10 ** (decade + 0.5), 0.84, f"{share:.0%}", ha="center", va="center", color=ORANGE)
            axes.axvline(10.0**decade, color=GRAY, lw=0.6)
        axes.set(xscale="log", xlim=(1e-5, 1e-1), ylim=(0, 1), yticks=[])
        axes.set_title(title, fontsize=11, loc="left", family="monospace")
        axes.tick_params(length=0)
        axes.minorticks_off()
    figure.subplots_adjust(hspace=0.35)
    rows[1].set_xlabel("rate")
    return figure


def draw_neighbors() -> Figure:
    """Draw a value of each kind of variable, its neighbors, and the other values."""
    kinds = {
        "Categorical(5 choices)": (bo.Categorical(list("abcde")), 2),
        "Ordinal(5 numbers)": (bo.Ordinal([1, 2, 4, 8, 16]), 2),
        "Integer(1, 12)": (bo.Integer(1, 12), 4),
        "Integer(1, 5000)": (bo.Integer(1, 5000), 1400),
        "Integer(1, 5000, log=True)": (bo.Integer(1, 5000, log=True), 29),
        "Real(0, 1)": (bo.Real(0.0, 1.0), 3 * 10**11),
    }
    figure, axes = plt.subplots(figsize=(7.2, 3.4))
    for y, (variable, vertex) in enumerate(reversed(kinds.values())):
        neighbors = _place(variable, variable.graph.neighbors(vertex))
        axes.plot([0, 1], [y, y], color=GRAY, lw=0.8 * variable.ordered, zorder=0)
        if not isinstance(variable.choices, NumberGrid):
            others = _place(variable, np.arange(len(variable.choices)))
            axes.scatter(others, np.full(others.shape, y), s=22, color=GRAY, zorder=1)
        axes.scatter(neighbors, np.full(neighbors.shape, y), s=36, marker="D", facecolor="white", edgecolor=ORANGE)
        axes.scatter(_place(variable, np.array([vertex])), [y], s=80, color=BLUE, zorder=3)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.6, len(kinds) - 0.4), xticks=[])
    axes.set_yticks(range(len(kinds)), list(reversed(kinds)), family="monospace", fontsize=9.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    marks = {"the value": ("o", BLUE, BLUE), "its neighbors": ("D", "white", ORANGE), "other values": ("o", GRAY, GRAY)}
    handles = [
        Line2D([], [], ls="", marker=marker, markerfacecolor=face, markeredgecolor=edge, label=label)
        for label, (marker, face, edge) in marks.items()
    ]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.3, 1.0), ncols=3, frameon=False)
    return figure


def _place(variable: ChoiceVariable, vertices: np.ndarray) -> np.ndarray:
    """Return where values lie from left, 0, to right, 1, on the scale of the variable."""
    choices = variable.choices
    return choices.shares(vertices) if isinstance(choices, NumberGrid) else vertices / (len(choices) - 1)


def draw_sequences() -> Figure:
    """Draw a sequence of varying length, and one neighbor of each kind; a letter that left has a dashed frame."""
    variable = bo.Sequence("ACGU", (3, 8))
    rows = [
        _Row("the value", "GACUA"),
        _Row("another letter", "GAGUA", changed=(2,)),
        _Row("one letter more", "GACCUA", changed=(3,)),
        _Row("one letter less", "GACUA", left=(1,)),
    ]
    near = [variable.present(row) for row in variable.neighbors(variable.parse("GACUA")).tolist()]
    for row in rows[1:]:
        assert "".join(letter for x, letter in enumerate(row.cells) if x not in row.left) in near
    return _draw_rows(rows)


def draw_orders() -> Figure:
    """Draw an order, and one neighbor of each kind: two items swapped, an item moved, a stretch reversed."""
    variable = bo.Permutation(list("ABCDEF"))
    rows = [
        _Row("the value", "ABCDEF"),
        _Row("two items swapped", "AECDBF", changed=(1, 4)),
        _Row("one item moved", "ACDEBF", changed=(4,)),
        _Row("a stretch reversed", "AEDCBF", changed=(1, 2, 3, 4)),
    ]
    near = {variable.present(row) for row in variable.neighbors(variable.parse(list("ABCDEF"))).tolist()}
    assert all(tuple(row.cells) in near for row in rows[1:])
    return _draw_rows(rows)


class _Row(NamedTuple):
    """A value in cells, of which some changed, and some hold what left."""

    label: str
    cells: str
    changed: tuple[int, ...] = ()
    left: tuple[int, ...] = ()


def _draw_rows(rows: Sequence[_Row]) -> Figure:
    figure, axes = plt.subplots(figsize=(7.2, 2.2))
    for y, row in enumerate(reversed(rows)):
        for x, letter in enumerate(row.cells):
            has_left = x in row.left
            color = GRAY if has_left else ORANGE if x in row.changed else BLUE
            frame: Any = {"fc": "none", "ec": color, "ls": "--" if has_left else "-"}
            axes.text(x, y, letter, ha="center", va="center", color=color, family="monospace", fontsize=14)
            axes.add_patch(FancyBboxPatch((x - 0.4, y - 0.36), 0.8, 0.72, boxstyle="square,pad=0", **frame))
            if has_left:
                axes.plot([x - 0.4, x + 0.4], [y - 0.36, y + 0.36], color=color, lw=1.0)
        axes.text(-0.9, y, row.label, ha="right", va="center")
    axes.set(xlim=(-4.6, 8), ylim=(-0.6, len(rows) - 0.4))
    axes.axis("off")
    return figure


def draw_subsets() -> Figure:
    """Draw a subset of three nodes of a grid, and one neighbor: an item goes along an edge of the graph."""
    streets = nx.grid_2d_graph(5, 3)
    variable = bo.Subset(streets.nodes, size=3, graph=streets)
    value, other = {(0, 2), (1, 0), (4, 1)}, {(0, 2), (2, 0), (4, 1)}
    near = [set(variable.present(row)) for row in variable.neighbors(variable.parse(value)).tolist()]
    assert other in near
    figure, rows = plt.subplots(1, 2, figsize=(7.2, 2.0))
    titles = f"a subset, size 3, with {len(near)} neighbors", "one neighbor"
    for axes, title, chosen in zip(rows, titles, (value, other), strict=True):
        for one, two in streets.edges:
            axes.plot(*zip(one, two, strict=True), color=GRAY, lw=1.0, zorder=0)
        for node in streets.nodes:
            color = (ORANGE if node not in value else BLUE) if node in chosen else "white"
            axes.scatter(*node, s=130, facecolor=color, edgecolor=color if node in chosen else GRAY, zorder=2)
        axes.set(title=title, xlim=(-0.4, 4.4), ylim=(-0.4, 2.4))
        axes.title.set_fontsize(10)
        axes.axis("off")
    arrow = {"arrowstyle": "-|>", "color": ORANGE, "lw": 2.0, "shrinkA": 7, "shrinkB": 8}
    rows[1].annotate("", (2, 0), (1, 0), arrowprops=arrow)
    return figure


def draw_branches() -> Figure:
    """Draw the share of points and the share of draws of each branch of a space."""
    variables = {
        "optimizer": ["sgd", "adam", "none"],
        "momentum": bo.Ordinal([0.5, 0.9, 0.99], when={"optimizer": "sgd"}),
        "nesterov": bo.Categorical([False, True], when={"optimizer": "sgd"}),
        "beta": bo.Ordinal([0.9, 0.99, 0.999], when={"optimizer": "adam"}),
    }
    space = bo.Space(variables)
    points = space.enumerate(), space.sample(6000, np.random.default_rng(0))
    figure, axes = plt.subplots(figsize=(7.2, 2.0))
    for y, batch in zip((1, 0), points, strict=True):
        taken, start = [space.present(x)["optimizer"] for x in batch], 0.0
        for value, color in zip(variables["optimizer"], (BLUE, ORANGE, GREEN), strict=True):
            share = taken.count(value) / len(taken)
            axes.barh(y, share, left=start, height=0.6, color=color, edgecolor="white")
            axes.text(
                start + share / 2, y, f"{value}\n{share:.0%}", ha="center", va="center", color="white", weight="bold"
            )
            start += share
    axes.set_yticks([1, 0], ["points", "draws"])
    axes.set(xlim=(0, 1), xticks=[])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def draw_likeness() -> Figure:
    """Draw what a model predicts of 30 bases, of which 10 were tried: without a descriptor, and with one."""
    rng = np.random.default_rng(3)
    acidity = np.sort(rng.uniform(2.0, 16.0, 30))
    yields = 80.0 * np.exp(-(((acidity - 10.5) / 3.0) ** 2)) + rng.normal(0.0, 2.0, 30)
    tried = np.arange(1, 30, 3)[:, None]
    figure, rows = plt.subplots(1, 2, figsize=(7.2, 2.8), sharey=True)
    for axes, descriptors in zip(rows, (None, {"pKa": acidity}), strict=True):
        space = bo.Space({"base": bo.Categorical(range(30), descriptors=descriptors)})
        surrogate = methods.auto(space).surrogate
        posterior, _, _ = surrogate.condition(tried, yields[tried[:, 0]], surrogate.initial_state(), rng)
        found = posterior.predict(space.enumerate())
        spread = 1.96 * np.sqrt(found.variance[0])
        axes.errorbar(acidity, found.mean[0], spread, fmt="o", ms=4, color=ORANGE, lw=0.8, capsize=2)
        axes.scatter(acidity, yields, s=14, marker="x", color=BLUE, lw=1.2, zorder=3)
        axes.scatter(acidity[tried], yields[tried], s=40, color=BLUE, zorder=3)
        axes.set_title(
            "Categorical(bases)" if descriptors is None else "descriptors=pKa", family="monospace", fontsize=10
        )
        axes.set(xlabel="pKa", xticks=range(2, 17, 2))
    rows[0].set_ylabel("yield")
    marks = {"tried": ("o", BLUE), "not tried": ("x", BLUE), "predicted, 95 %": ("o", ORANGE)}
    handles = [Line2D([], [], ls="", marker=m, color=color, label=label) for label, (m, color) in marks.items()]
    figure.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 0.98), ncols=3, frameon=False)
    return figure


def draw_front() -> Figure:
    """Draw the front of the example of docs/constraints.md: seconds and kilobytes of a program."""
    page = (Path(__file__).parent / "constraints.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    goals: Any = {"directions": ["minimize", "minimize"]}
    result = bo.minimize(names["build"], names["passes"], n_trials=30, seed=0, progress=False, **goals)
    figure, axes = plt.subplots(figsize=(7.2, 3.6))
    bo.plot_front(result, axes)
    axes.set(xlabel="seconds", ylabel="kilobytes")
    return figure


PICTURES = {
    "conditions": draw_conditions,
    "log-scale": draw_log_scale,
    "neighbors": draw_neighbors,
    "branches": draw_branches,
    "orders": draw_orders,
    "subsets": draw_subsets,
    "sequences": draw_sequences,
    "likeness": draw_likeness,
    "front": draw_front,
}


def draw_pictures(folder: Path) -> None:
    """Draw all pictures as SVG files.

    folder: where they are written; it exists.
    """
    with mpl.rc_context(STYLE):
        for name, draw in PICTURES.items():
            figure = draw()
            figure.savefig(folder / f"{name}.svg", bbox_inches="tight", facecolor="white", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    draw_pictures(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent / "images")
