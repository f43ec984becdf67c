"""The picture of what two variables do together: the mean prediction of a random forest over all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bostruct.analysis.importances import DesignData, read_design
from bostruct.analysis.picture_inputs import require_result, take_axes
from bostruct.analysis.picture_style import name_objective, set_title, shorten_label
from bostruct.analysis.value_axis import choose_ends_from_best, clip_to_axis
from bostruct.analysis.value_labels import label_values
from bostruct.checks import check_choice, short_repr
from bostruct.contracts import Array, BostructError, IntArray
from bostruct.display import show_count
from bostruct.domains.space.variable import Variable
from bostruct.study.result import Result
from bostruct.surrogates.fanova import Feature, grow_forest, mean_effect, mean_of_draws, scale_to_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bostruct.study.study import Study

MOST_STEPS = 24  # values of a variable in the picture
MOST_STEPS_DRAWN = 12  # where the means are over draws of the space, of which each cell needs some
TREES = 64
MOST_LETTERS = 12  # of a value on an axis


class _Scale(NamedTuple):
    """The values of a variable in the picture.

    atoms: in the columns of its feature (a, c). labels: of the values that are named, by position. places: of the
    trials on this axis (n,), NaN where they lack the variable and it has no place for that. is_listed: False for a
    continuous variable. cells: of the draws of a space with conditions (m,), -1 for none.
    """

    atoms: Array
    labels: dict[float, str]
    places: Array
    is_listed: bool
    cells: IntArray | None


def plot_effects(
    study: Study | Result, pair: Sequence[str], ax: Axes | None = None, objective: int = 0, seed: int = 0
) -> Axes:
    """Draw what a random forest expects for the values of two variables, all others averaged, and return the axes.

    Points are the trials, so that one sees where the forest knows something. The mean is over the whole space, each
    value of the other variables equally likely (the marginal of Hutter, Hoos and Leyton-Brown 2014). Combinations that
    constraints exclude have a shade, too, and no trials. Values far worse than most others count as the worst of these,
    and the picture says how many. Values far better stay as they are, so that the best cell is the darkest.

    Where variables exist only under conditions, the mean is over the points of the space that have the two values,
    which some thousand drawn points stand for. Combinations that no such point has are blank.

    study: or a result, over a space of named variables.
    pair: the names of the two variables, across and up, as `bostruct.importance` names them.
    ax: axes to draw on, None for those of a new figure.
    objective: the position of the objective, from 0.
    seed: of the forest.

    Raises MissingExtra without matplotlib; BostructError for fewer than two completed trials, for points that are not
    made of named choices and for a variable whose values are too many to draw; TypeError, ValueError.
    """
    result = require_result(study)
    data = read_design(result, seed, objective)
    names = [feature.name for feature in data.features]
    if not isinstance(pair, list | tuple) or len(pair) != 2 or pair[0] == pair[1]:
        raise ValueError(f"pair: expected two names of variables, got {short_repr(pair)}")
    for name in pair:
        check_choice("pair", name, names)
    chosen = names.index(pair[0]), names.index(pair[1])
    scales = [_read_scale(result, data, data.features[i]) for i in chosen]
    direction = result.goals.directions[objective]
    told_values = clip_to_axis(data.values)
    ends = choose_ends_from_best(told_values, direction)
    values = np.clip(told_values, *ends)
    forest = grow_forest(data.design, scale_to_unit(values), seed, TREES)
    means = _compute_means(forest, data, chosen, scales)
    low, high = float(np.min(values)), float(np.max(values))
    axes = take_axes(ax, 6.4, 4.6)
    told = name_objective(result, objective)
    label = f"mean {told} ({direction}d), darker is better"
    if n_beyond := int(np.sum(values != told_values)):
        worst = ends[1] if direction == "minimize" else ends[0]
        label += f"\n{n_beyond} beyond taken as {worst:.4g}"
    _draw_map(axes, low + (high - low) * means.T, scales, direction, label)
    axes.set_xlabel(shorten_label(pair[0]))
    axes.set_ylabel(shorten_label(pair[1]))
    set_title(axes, result, "mean effects" if told == "value" else f"mean effects on {told}")
    return axes


def _compute_means(forest: Any, data: DesignData, chosen: tuple[int, int], scales: list[_Scale]) -> Array:
    """Return the mean prediction for the values of two variables (a, b), NaN where the space has no such point."""
    first, second = scales
    if data.draws is None or first.cells is None or second.cells is None:
        return mean_effect(forest, data.features, chosen, (first.atoms, second.atoms))
    shape = len(first.atoms), len(second.atoms)
    return mean_of_draws(forest, data.draws, (first.cells, second.cells), shape)


def _draw_map(axes: Axes, means: Array, scales: list[_Scale], direction: str, label: str) -> None:
    """Draw the map, darker where it is better, the trials on it, and what the shades mean."""
    shades = "cividis" if direction == "minimize" else "cividis_r"
    drawn = axes.imshow(means, origin="lower", aspect="auto", cmap=shades, interpolation="nearest")
    figure: Any = axes.figure
    figure.colorbar(drawn, ax=axes, label=label)
    spread = np.random.default_rng(0).uniform(-0.3, 0.3, (2, len(scales[0].places)))  # the same every time
    across, up = (one.places + own * one.is_listed for one, own in zip(scales, spread, strict=True))
    axes.scatter(across, up, s=14, facecolors="white", edgecolors="black", linewidths=0.7, zorder=3)
    axes.set_xlim(-0.5, means.shape[1] - 0.5)
    axes.set_ylim(-0.5, means.shape[0] - 0.5)
    for set_ticks, scale, turns in ((axes.set_xticks, scales[0], True), (axes.set_yticks, scales[1], False)):
        crowded = turns and sum(map(len, scale.labels.values())) > 40
        set_ticks(list(scale.labels), list(scale.labels.values()), fontsize=8, rotation=40 if crowded else 0)


def _read_scale(result: Result, data: DesignData, feature: Feature) -> _Scale:
    """Return the values of a variable to draw, and where the trials lie."""
    domain: Any = result.domain
    variables = {} if domain is None else domain.variables
    variable = variables.get(feature.name)
    steps = MOST_STEPS if data.draws is None else MOST_STEPS_DRAWN
    rows, draws = data.design[:, feature.columns], None if data.draws is None else data.draws[:, feature.columns]
    if feature.atoms is None:
        atoms = (np.arange(steps) + 0.5)[:, None] / steps
        places = np.where(rows[:, 0] < 0.0, np.nan, rows[:, 0] * steps - 0.5)
        cells = None if draws is None else np.floor(np.clip(draws[:, 0] * steps, -1.0, steps - 1)).astype(np.int64)
        return _Scale(atoms, _name_numbers(variable, steps), np.clip(places, -0.5, steps - 0.5), False, cells)
    atoms = feature.atoms
    if len(atoms) > MOST_STEPS and atoms.shape[1] > 1:
        count = data.structures[feature.name].size if feature.name in data.structures else len(atoms)
        raise BostructError(
            f"pair: {feature.name!r} has {show_count(count)} values, too many to draw; at most {MOST_STEPS}"
        )
    count = len(atoms) if atoms.shape[1] > 1 else min(steps, len(atoms))
    kept = np.unique(np.linspace(0, len(atoms) - 1, count).round().astype(np.int64))
    cells = None if draws is None else _find_nearest(draws, atoms[kept])
    places = _find_nearest(rows, atoms[kept]).astype(np.float64)
    return _Scale(atoms[kept], _name_atoms(variable, atoms, kept), places, True, cells)


def _find_nearest(rows: Array, atoms: Array) -> IntArray:
    """Return the position of the nearest atom for each row of a variable (n,)."""
    return np.abs(rows[:, None, :] - atoms[None, :, :]).sum(axis=2).argmin(axis=1)


def _name_numbers(variable: Variable | None, count: int) -> dict[float, str]:
    """Return labels of a continuous variable by their places: powers of ten over two decades or more, else quarters."""
    described: dict[str, Any] = {} if variable is None else variable.describe()
    shares = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    if "low" not in described:
        return {share * count - 0.5: f"{share:.2g}" for share in shares.tolist()}
    low, high, is_log = float(described["low"]), float(described["high"]), bool(described.get("log"))
    values = low * (high / low) ** shares if is_log else low + shares * (high - low)
    if is_log and high >= 100.0 * low:
        values = 10.0 ** np.arange(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    if isinstance(described["low"], int):
        values = np.round(values)
    shares = np.log(values / low) / math.log(high / low) if is_log else (values - low) / (high - low)
    places = np.clip(shares, 0.0, 1.0) * count - 0.5
    return {place: f"{value:.6g}" for place, value in zip(places.tolist(), values.tolist(), strict=True)}


def _name_atoms(variable: Variable | None, atoms: Array, kept: IntArray) -> dict[float, str]:
    """Return labels of listed values, every so many of them where they are many."""
    values: list[object] = []
    if variable is not None and variable.size <= len(atoms):
        values = [variable.present(row) for row in variable.enumerate().tolist()]
    names = label_values(values, MOST_LETTERS)
    step = -(-len(kept) // 12)
    labels: dict[float, str] = {}
    for place, i in enumerate(kept.tolist()):
        is_absent = bool(np.all(atoms[i] == -1.0))
        if place % step == 0 or is_absent:
            labels[place] = "absent" if is_absent else names[i] if i < len(names) else str(i)
    return labels
