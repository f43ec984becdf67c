"""Importances of the variables of a study, and plots of importances, hyperparameters and effects of two variables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bostruct.analysis import pictures
from bostruct.analysis.axes import choose_ends_from_best, clip_to_axis, label_values
from bostruct.checks import check_bool, check_choice, check_integer, check_objective, short_repr
from bostruct.contracts import Array, BostructError, Choice, ChoiceDomain, Domain, IntArray, Point
from bostruct.display import show_count
from bostruct.domains.part_choices import MARK, DescribedParts, StructureChoices, draw_values
from bostruct.domains.space.variable import Variable, find_owner
from bostruct.study.hyperparameters import HyperparameterTable
from bostruct.study.result import Result
from bostruct.surrogates.fanova import (
    TREES,
    Effect,
    Feature,
    Importances,
    design_and_features,
    fill_design,
    grow_binned_forest,
    importances,
    importances_of_draws,
    join_features,
    mean_effect,
    mean_of_draws,
    scale_to_unit,
    thin_levels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bostruct.study.study import Study

__all__ = ["Effect", "Importances", "importance"]
SEARCHED = ("model", "mutation", "repeat")  # origins of points that a search chose
DRAWS = 4_096  # sampled points that represent a space with conditions
MOST_NUMBERS = 1_000_000  # in the design of all draws; above, there are fewer draws
FEWEST_DRAWS = 512
MOST_LEARNED = 1_000  # trials that the forest learns from
SLOWER = 4  # divisor of the draws of programs, and of spaces with parts such as networks, which are slow to sample
MOST_STEPS = 24  # values of a variable in the plot
MOST_STEPS_DRAWN = 12  # if the means are over draws of the space, because each cell needs several draws
MOST_BARS = 20  # hyperparameters in a plot
MOST_LETTERS = 12  # in the label of a value


def importance(
    study: Study | Result, *, pairs: bool = False, trees: int = TREES, seed: int = 0, objective: int = 0
) -> Importances:
    """Compute the share of the objective's variance that each variable explains, largest first.

    The method is functional ANOVA (Hutter et al. 2014) of a random forest on the completed trials, over the whole space
    with all values equally likely; with conditions or mixtures, over points drawn from the space. The forest learns
    from at most 1,000 trials, chosen evenly by rank. Variables of another domain in the space are called
    ``part.variable``, parts of a `Mixture` or an `Allocation` ``variable.part``. A `Permutation`, `Subset` or
    `Sequence` has one joint share for all its places, items or letters; with more than 1000 values, it is estimated
    from 1000 draws. Parts without named choices, such as networks, are left out.

    Points that a search chose are not a random sample: a variable that was settled early looks unimportant. The result
    warns of this, and of shares no larger than their spread.

    Parameters
    ----------
    study : Study or Result
        A study, or a result, whose kept trials are used.
    pairs : bool, default False
        Whether to include what pairs of variables explain beyond each alone.
    trees : int, default 64
        Number of trees of the forest, at least 1.
    seed : int, default 0
        Random seed of the forest.
    objective : int, default 0
        The position of the objective, from 0.

    Returns
    -------
    Importances
        `main` maps each variable to its `share` in [0, 1] and `spread`, the standard deviation over trees. `left_out`
        names what was left out, and `selected` the variables that the last model of `auto` selected, if any.

    Raises
    ------
    BostructError
        If fewer than two trials have completed, or points have no named choices.
    TypeError, ValueError
        If an argument is invalid.
    """
    check_integer("trees", trees, 1)
    check_bool("pairs", pairs)
    data = read_design(study, seed, objective)
    forest = grow_binned_forest(data.design, scale_to_unit(data.values), seed, trees)
    if data.draws is None:
        found = importances(forest, data.features, pairs)
    else:
        found = importances_of_draws(forest, data.features, data.draws, pairs)
    which = None if data.result.goals.n_objectives == 1 else objective
    name = pictures.describe_study(data.result)
    selected = find_selected(data.result)
    learned, n = len(data.values), len(data.result.list_completed())
    note = f"the forest learned from {learned:,} of {n:,} trials, evenly by rank" if learned < n else ""
    note = f"all {learned:,} values are equal, so no variable has an effect" if np.ptp(data.values) == 0.0 else note
    return Importances(_sort(found.main), _sort(found.pairs), data.left_out, data.searched, which, name, selected, note)


def find_selected(result: Result) -> tuple[str, ...]:
    """Return the variables that the last model of `auto` selected; empty if it selected none."""
    models = (one.info for one in reversed(result.trials) if "fit" in one.info)
    return tuple(next(models, {}).get("variables", ()))


def is_selected(name: str, selected: Sequence[str]) -> bool:
    """Return whether a variable, or the variable whose part has the name, is selected."""
    return any(name == one or name.startswith(f"{one}.") for one in selected)


def plot_importance(found: Importances | Study | Result, ax: Axes | None = None, most: int = 20) -> Axes:
    """Plot the largest shares that `bostruct.importance` found, with their spread.

    A bar is hatched if its spread is as large as its share. The title names the study, and the objective if there are
    several, and says if a search chose a fifth of the trials or more.

    Parameters
    ----------
    found : Importances, Study or Result
        The result of `importance`, which is called with its defaults for a study or a result.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, axes of a new figure.
    most : int, default 20
        The largest number of bars, at least 1.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    TypeError, ValueError
        If an argument is invalid.
    """
    check_integer("most", most, 1)
    found = found if isinstance(found, Importances) else importance(found)
    named = [(name, effect, pictures.BLUE) for name, effect in found.main.items()]
    named += [(" x ".join(both), effect, pictures.ORANGE) for both, effect in found.pairs.items()]
    shown = sorted(named, key=lambda bar: (not is_selected(bar[0], found.selected), -bar[1].share))[:most][::-1]
    axes = pictures.take_axes(ax, 7.2, 1.6 + 0.28 * len(shown))
    ink = pictures.choose_ink(axes)
    for place, (_, effect, color) in enumerate(shown):
        hatched = {"facecolor": "none", "edgecolor": color, "hatch": "////"}
        look: pictures.Look = hatched if effect.is_vague else {"color": color}
        axes.barh(place, effect.share, xerr=effect.spread, ecolor=ink, error_kw={"elinewidth": 1.0}, **look)
    axes.set_yticks(range(len(shown)), [pictures.shorten_label(name) for name, _, _ in shown])
    axes.set_xlabel("share of the variance, ± its standard deviation from tree to tree")
    axes.set_xlim(left=0.0)
    pictures.clear_frame(axes, "x")
    hidden = len(named) - len(shown)
    which = f", {'the largest ' * (not found.selected)}{len(shown)} of {len(named)}" if hidden else ""
    aim = "" if found.objective is None else f" for objective {found.objective}"
    source = f" of {pictures.escape_dollars(found.study)}" if found.study else ""
    lines = [f"importance{aim}{source}, by a random forest{which}"]
    if first := sum(is_selected(name, found.selected) for name, _, _ in shown):
        lines.append(f"the first {first}: the variables that the last model selected")
    if any(effect.is_vague for _, effect, _ in shown):
        lines.append("hatched: no clear effect (the spread is at least as large as the share)")
    lines.append(found.sample_warning)
    pictures.run_layout(axes)
    wrapped = [part for line in lines for part in pictures.wrap_evenly(axes, line)]
    axes.set_title("\n".join(wrapped), loc="left", fontsize=10 if len(wrapped) == 1 else 9)
    return axes


def draw_hyperparameters(found: HyperparameterTable, ax: Axes | None = None) -> Axes:
    """Draw `HyperparameterTable.plot`: relevances, or coefficients if there are none, or else all hyperparameters."""
    kinds = ("relevance", "coefficient")
    kind = next((one for one in kinds if any(row.name == one for row in found)), None)
    rows = [row for row in found if row.name == kind or kind is None]
    shown = rows[:MOST_BARS][::-1]
    axes = pictures.take_axes(ax, 7.2, 1.6 + 0.28 * len(shown))
    for place, row in enumerate(shown):
        if row.interval is not None:
            axes.plot(row.interval, (place, place), color=pictures.GRAY, linewidth=3.0, solid_capstyle="butt", zorder=1)
        axes.plot([row.mean], [place], "o", color=pictures.BLUE, zorder=2)
    names = [": ".join(part for part in (row.output, row.variable or row.name) if part) for row in shown]
    axes.set_yticks(range(len(shown)), [pictures.shorten_label(name) for name in names])
    labels = {
        "relevance": "relevance: 1 - correlation of points that differ in this variable alone",
        "coefficient": "coefficient, in the units of the objective",
        None: "value",
    }
    axes.set_xlabel(f"{labels[kind]}\n{'mean, 95% interval' if any(r.interval for r in shown) else 'point estimate'}")
    if kind == "relevance":
        axes.set_xlim(0.0, 1.05 * axes.dataLim.x1)
    which = f", the largest {len(shown)} of {len(rows)}" if len(rows) > len(shown) else ""
    axes.set_title(f"{kind or 'hyperparameters'} in the model{which}", loc="left", fontsize=10)
    pictures.clear_frame(axes, "x")
    return axes


def plot_effects(
    study: Study | Result, pair: Sequence[str], ax: Axes | None = None, objective: int = 0, seed: int = 0
) -> Axes:
    """Plot the mean of a random forest over two variables, averaged over all others, with the trials as points.

    The mean is the marginal of Hutter, Hoos and Leyton-Brown 2014, over the whole space with all values equally likely;
    combinations that constraints exclude are included. With conditions, it is over some thousand points drawn from the
    space, and impossible combinations are blank. Values far worse than most are clipped, and the label counts them.
    Values far better are not clipped, so that the best cell is the darkest.

    Parameters
    ----------
    study : Study or Result
        A study or result over a space of named variables.
    pair : sequence of str
        The two variables on the x and y axes, with names as in `bostruct.importance`.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, axes of a new figure.
    objective : int, default 0
        The position of the objective, from 0.
    seed : int, default 0
        Random seed of the forest.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    BostructError
        If fewer than two trials have completed, points have no named choices, or a variable has too many values to
        draw.
    TypeError, ValueError
        If an argument is invalid.
    """
    result = pictures.require_result(study)
    data = read_design(result, seed, objective)
    names = [feature.name for feature in data.features]
    if not isinstance(pair, list | tuple) or len(pair) != 2 or pair[0] == pair[1]:
        raise ValueError(f"pair: expected two names of variables, got {short_repr(pair)}")
    for name in pair:
        check_choice("pair", name, names)
    chosen = names.index(pair[0]), names.index(pair[1])
    scales = [_read_scale(result, data, data.features[i]) for i in chosen]
    direction = result.goals.directions[objective]
    observed = clip_to_axis(data.values)
    ends = choose_ends_from_best(observed, direction)
    values = np.clip(observed, *ends)
    forest = grow_binned_forest(data.design, scale_to_unit(values), seed)
    first, second = scales
    if data.draws is None or first.cells is None or second.cells is None:
        means = mean_effect(forest, data.features, chosen, (first.atoms, second.atoms))
    else:
        shape = len(first.atoms), len(second.atoms)
        means = mean_of_draws(forest, data.draws, (first.cells, second.cells), shape)
    low, high = float(np.min(values)), float(np.max(values))
    axes = pictures.take_axes(ax, 6.4, 4.6)
    name = pictures.name_objective(result, objective)
    label = f"mean {name} ({direction}d), darker is better"
    if n_beyond := int(np.sum(values != observed)):
        worst = ends[1] if direction == "minimize" else ends[0]
        label += f"\n{n_beyond} beyond taken as {worst:.4g}"
    _draw_map(axes, low + (high - low) * means.T, scales, direction, label)
    axes.set_xlabel(pictures.shorten_label(pair[0]))
    axes.set_ylabel(pictures.shorten_label(pair[1]))
    pictures.set_title(axes, result, "mean effects" if name == "value" else f"mean effects on {name}")
    return axes


class DesignData(NamedTuple):
    """The training data of a forest: the completed trials of a study.

    design: (n, c), with one row for each trial.
    values: values of the objective (n,), in the user's units.
    searched: share of the trials that a search chose, in [0, 1].
    draws: points sampled from a space with conditions, or of programs with different choices (m, c); otherwise None.
    """

    design: Array
    features: Sequence[Feature]
    values: Array
    left_out: tuple[str, ...]
    searched: float
    draws: Array | None
    result: Result
    structures: Mapping[str, Variable]


def read_design(study: Study | Result, seed: int, objective: int) -> DesignData:
    """Return the training data of a forest: the completed trials of a study.

    objective: position of the objective to explain, from 0.

    Raises BostructError for fewer than two completed trials or points without named choices, TypeError, ValueError.
    """
    result = getattr(study, "result", study)
    if not isinstance(result, Result):
        raise TypeError(f"study: expected a Study or a Result, got {short_repr(study)}")
    domain: Any = result.domain
    if domain is None:
        raise BostructError(
            "study: expected a result with its space; a pickled result has lost its space, pass the study itself"
        )
    check_objective(objective, result.goals.n_objectives)
    check_integer("seed", seed, 0)
    described = _find_choices(domain)
    if (left_out := _parts_without_choices(described)) == ("",):
        raise BostructError(f"study: expected points made of named choices, got points of {short_repr(domain)}")
    completed = sorted(result.list_completed(), key=lambda trial: trial.number)
    if len(completed) < 2:
        raise BostructError(f"study: expected at least two completed trials, got {len(completed)}")
    searched = sum(trial.origin in SEARCHED for trial in completed) / len(completed)
    completed = pictures.thin_trials(result, completed, objective, MOST_LEARNED)
    design, choices = design_and_features([described.coordinates(domain.parse(trial.point)) for trial in completed])
    structures = _find_structures(described)
    features = _join_structures(choices, design, structures, np.random.default_rng(seed))
    values = np.array([trial.values[objective] for trial in completed], dtype=np.float64)
    draws = None
    is_conditional = _has_conditions(domain)
    if is_conditional or bool(np.any(design < 0.0)):  # only some programs have a choice
        rng = np.random.default_rng((seed, DRAWS))
        count = min(DRAWS, max(FEWEST_DRAWS, MOST_NUMBERS // design.shape[1]))
        if left_out or not is_conditional:
            count = DRAWS // SLOWER
        draws = fill_design([described.coordinates(x) for x in domain.sample(count, rng)], choices)
        for feature in features:
            if feature.name in structures:
                thin_levels(draws, feature, rng)
    return DesignData(design, features, values, left_out, searched, draws, result, structures)


def _has_conditions(domain: Domain) -> bool:
    """Return whether some variable, of the domain or of a part inside, has conditions, or parts that sum to a total."""
    own = any(one.when or one.parts for one in domain.variables.values())
    return own or any(map(_has_conditions, domain.parts.values()))


@dataclass(frozen=True)
class _LeftOut:
    """The choices of a part without named choices: there are none."""

    def coordinates(self, x: Point) -> list[Choice]:
        return []


def _find_choices(domain: Domain) -> ChoiceDomain | DescribedParts | StructureChoices | _LeftOut:
    """Return an object that lists the named choices of a domain's points."""
    if (choices := domain.traits.choices) is not None:
        return choices
    structures = StructureChoices(domain)
    if len(structures.left_out) < len(domain.variables):
        return structures
    if domain.parts:
        return DescribedParts(domain, [_find_choices(part) for part in domain.parts.values()])
    return _LeftOut()


def _parts_without_choices(described: object) -> tuple[str, ...]:
    """Return the paths of the parts that are left out: only the empty path if the domain has no named choices."""
    if isinstance(described, _LeftOut):
        return ("",)
    if isinstance(described, StructureChoices):
        return described.left_out
    if not isinstance(described, DescribedParts):
        return ()
    lacking = [_parts_without_choices(part) for part in described.described]
    if all(paths == ("",) for paths in lacking):
        return ("",)
    parts = zip(described.domain.parts, described.choices.prefixes, lacking, strict=True)
    return tuple(prefix + path if path else name or "variables" for name, prefix, paths in parts for path in paths)


def _find_structures(described: object) -> dict[str, Variable]:
    """Return the variables with several choices, by path."""
    if isinstance(described, StructureChoices):
        return described.structures
    if not isinstance(described, DescribedParts):
        return {}
    parts = zip(described.choices.prefixes, described.described, strict=True)
    return {prefix + path: one for prefix, part in parts for path, one in _find_structures(part).items()}


def _join_structures(
    features: Sequence[Feature], design: Array, structures: Mapping[str, Variable], rng: np.random.Generator
) -> list[Feature]:
    """Return the features, with the choices of each structure joined to one feature."""
    groups: dict[str, list[Feature]] = {}
    for feature in features:
        groups.setdefault(feature.name.partition(MARK)[0], []).append(feature)
    for path in [path for path in groups if path in structures]:
        groups[path] = [join_features(groups[path], design, path, *draw_values(path, structures[path], rng))]
    return [group[0] for group in groups.values()]


def _sort(effects: dict[Any, Effect]) -> dict[Any, Effect]:
    return dict(sorted(effects.items(), key=lambda item: -item[1].share if math.isfinite(item[1].share) else 0.0))


class _Scale(NamedTuple):
    """The values of a variable in the plot.

    atoms: values in the columns of its feature (a, c).
    labels: labels of values, by position; not all values have one.
    places: positions of the trials on this axis (n,), NaN for an inactive variable without a position for that.
    is_listed: False for a continuous variable.
    cells: positions of the draws of a space with conditions (m,), -1 for no position.
    """

    atoms: Array
    labels: dict[float, str]
    places: Array
    is_listed: bool
    cells: IntArray | None


def _draw_map(axes: Axes, means: Array, scales: list[_Scale], direction: str, label: str) -> None:
    """Draw the map, darker for better values, with the trials and a color bar."""
    shades = "cividis" if direction == "minimize" else "cividis_r"
    drawn = axes.imshow(means, origin="lower", aspect="auto", cmap=shades, interpolation="nearest")
    figure: Any = axes.figure
    figure.colorbar(drawn, ax=axes, label=label)
    spread = np.random.default_rng(0).uniform(-0.3, 0.3, (2, len(scales[0].places)))  # deterministic jitter
    across, up = (one.places + own * one.is_listed for one, own in zip(scales, spread, strict=True))
    axes.scatter(across, up, s=14, facecolors="white", edgecolors="black", linewidths=0.7, zorder=3)
    axes.set_xlim(-0.5, means.shape[1] - 0.5)
    axes.set_ylim(-0.5, means.shape[0] - 0.5)
    for set_ticks, scale, turns in ((axes.set_xticks, scales[0], True), (axes.set_yticks, scales[1], False)):
        crowded = turns and sum(map(len, scale.labels.values())) > 40
        set_ticks(list(scale.labels), list(scale.labels.values()), fontsize=8, rotation=40 if crowded else 0)


def _read_scale(result: Result, data: DesignData, feature: Feature) -> _Scale:
    """Return the values of a variable to draw, and the positions of the trials."""
    domain: Any = result.domain
    variables = {} if domain is None else domain.variables
    variable = variables.get(find_owner(feature.name, variables) or "")
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
    """Return labels of a continuous variable by place: powers of ten over two decades or more, otherwise quarters."""
    described: dict[str, Any] = {} if variable is None else variable.describe()
    described |= {"low": 0 * described["total"], "high": described["total"]} if "total" in described else {}
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
    """Return labels of listed values by place; of many values, only every k-th label."""
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
