"""Functional analysis of variance: how a forest's predictions vary with each variable (Hutter et al. 2014).

A tree is constant on boxes. If variables are independent, the share of a box is the product of its shares of each
variable, so main effects and interactions are sums over leaves. Every variable is a finite set of atoms with weights:
its choices, with equal weights; the intervals between the cuts of the tree, weighted by length, if it is continuous;
and its absence, weighted by the share of points without the variable, if some points lack it.

With conditions, variables are not independent, so the variance is not a sum over products of their distributions.
Instead, it is estimated from points sampled from the space: the effect of a variable is the variance of the mean
prediction for each of its values, among the points that have the variable, times the share of these points.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_integer, list_first
from bostruct.contracts import Array, Choice, IntArray
from bostruct.display import html_table, pluralize

Forest: TypeAlias = Sequence[Any]  # trees of scikit-learn, or of the class `RegressionTree`
TREES = 64
MOST_CUTS = 4_000  # of all columns, in `grow_binned_forest`
TIES = 1e-9  # cuts whose gains differ by a smaller share are equally good
LEAST_SEARCHED = 0.2  # minimum share of trials that a search chose for a warning
LEAST_NOTED_SHARE = 0.02  # minimum share for a warning or a remark
MOST_LISTED = 25  # rows of the text that `print` shows
MOST_NAMED = 4  # variables in a warning


@dataclass(frozen=True, eq=False)
class Feature:
    """One variable as columns of a design.

    Without atoms, the variable is continuous, uniform on [0, 1], and has one column.

    atoms: values of the columns for each atom (a, c).
    weights: weights of the atoms, which sum to 1 (a,).
    """

    name: str
    columns: slice
    atoms: Array | None = None
    weights: Array | None = None


class Effect(NamedTuple):
    """The share of the variance that a variable, or a pair of variables, explains.

    share: averaged over trees; 1 is the whole variance.
    spread: standard deviation of the share from tree to tree.
    """

    share: float
    spread: float

    @property
    def is_vague(self) -> bool:
        """True if the spread is at least the share: the trees do not agree that there is an effect."""
        return self.share > 0.0 and self.spread >= self.share


class Importances(NamedTuple):
    """Effects by name.

    searched: share of the trials that a search chose, in [0, 1], whose points are not a random sample.
    objective: position of the explained objective, from 0; None if it is the only one.
    selected: variables that the method's last model selected; empty if it selected none.
    learned: a sentence on the trials that the forest learned from, if not from all, or if all values are equal.
    """

    main: dict[str, Effect]
    pairs: dict[tuple[str, str], Effect]
    left_out: tuple[str, ...] = ()
    searched: float = 0.0
    objective: int | None = None
    study: str = ""
    selected: tuple[str, ...] = ()
    learned: str = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """The variables that the last model selected, if any, the rest of the variance, and the warnings."""
        rest = 1.0 - sum(effect.share for effect in self._named().values())
        hint = "" if self.pairs else "; pairs=True lists pairs"
        missed = f"the other {rest:.0%} of the random forest's variance is mainly due to interactions{hint}"
        is_noted = LEAST_NOTED_SHARE <= rest < 1.0  # 1 if the forest predicts a constant
        others = (*filter(None, (self.learned, missed if is_noted else "")), *self.warnings)
        return (f"the last model selected {list_variables(self.selected)}", *others) if self.selected else others

    @property
    def warnings(self) -> tuple[str, ...]:
        """The reasons for caution about the shares, one sentence each."""
        found = []
        effects = {name: effect for name, effect in self._named().items() if effect.is_vague}
        vague = [name for name, effect in effects.items() if effect.share >= LEAST_NOTED_SHARE]
        if vague:
            shown = list_first(vague, MOST_NAMED)
            rest = ", and variables with smaller shares" if len(vague) < len(effects) else ""
            found.append(f"no clear effect (the spread is at least as large as the share): {shown}{rest}")
        return (*found, self.sample_warning) if self.sample_warning else tuple(found)

    @property
    def sample_warning(self) -> str:
        """A warning that a search chose a fifth of the trials or more; otherwise empty."""
        if self.searched < LEAST_SEARCHED:
            return ""
        return f"a search chose {self.searched:.0%} of the trials: shares describe where it looked, not the whole space"

    def __repr__(self) -> str:
        width = max(map(len, ["variable", *self._named()]))
        rows = self._rows()
        lines = [f"{name:<{width}}  {share:>5}  {spread:>6}" for name, share, spread in rows[:MOST_LISTED]]
        lines += [f"and {len(rows) - MOST_LISTED} more, in main and pairs"] if len(rows) > MOST_LISTED else []
        lines += self._notes
        which = [] if self.objective is None else [f"importance for objective {self.objective}"]
        return "\n".join([*which, f"{'variable':<{width}}  share  spread", *lines])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(line)}</p>" for line in self._notes)
        which = "" if self.objective is None else f"importance for objective {self.objective}"
        return html_table(self._rows(), ("variable", "share", "spread"), which) + notes

    @property
    def _notes(self) -> list[str]:
        omitted = f"omitted (no named choices): {', '.join(self.left_out)}; shares refer to the other variables"
        return [*([omitted] if self.left_out else []), *self.remarks]

    def _named(self) -> dict[str, Effect]:
        return self.main | {" x ".join(both): effect for both, effect in self.pairs.items()}

    def _rows(self) -> list[tuple[str, str, str]]:
        return [(name, f"{effect.share:.3f}", f"{effect.spread:.3f}") for name, effect in self._named().items()]


def list_variables(names: Sequence[str]) -> str:
    """Return the number of some variables, and the first names."""
    return f"{pluralize(len(names), 'variable')}: {list_first(names, MOST_LISTED)}"


class Leaves(NamedTuple):
    """The leaves of a tree, boxes on which it is constant."""

    lower: Array
    upper: Array
    values: Array


def grow_forest(design: Array, values: Array, seed: int, trees: int = TREES) -> Forest:
    """Grow unpruned trees on bootstrap samples by scikit-learn; every cut tries all columns.

    design: points in the columns of the features (n, c).
    values: values of the points (n,).
    trees: number of trees, at least 1.
    """
    from sklearn.ensemble import RandomForestRegressor

    check_integer("trees", trees, 1)
    forest = RandomForestRegressor(trees, max_features=1.0, random_state=seed, n_jobs=1).fit(design, values)
    return [one.tree_ for one in forest.estimators_]


class RegressionTree(NamedTuple):
    """A regression tree, in the arrays of scikit-learn: a node is a leaf if its left child is -1."""

    children_left: IntArray
    children_right: IntArray
    feature: IntArray
    threshold: Array
    value: Array
    n_features: int

    def predict(self, rows: Array) -> Array:
        """Return the value of the leaf of each point (n, 1)."""
        at = np.zeros(len(rows), dtype=np.int64)
        while len(inner := np.flatnonzero(self.children_left[at] >= 0)):
            nodes = at[inner]
            is_left = rows[inner, self.feature[nodes]] <= self.threshold[nodes]
            at[inner] = np.where(is_left, self.children_left[nodes], self.children_right[nodes])
        return self.value[at, :, 0]


def grow_binned_forest(design: Array, values: Array, seed: int, trees: int = TREES) -> Forest:
    """Grow trees as `grow_forest` does, with at most 33 cuts of a column: half evenly by rank, half by value."""
    check_integer("trees", trees, 1)
    rng, n = np.random.default_rng((seed, trees)), len(values)  # not the generator that may have drawn the points
    most, cuts = int(np.clip(MOST_CUTS // design.shape[1], 4, 32)), [np.array([np.inf])]  # in case points are equal
    for column in design.T:
        known = np.unique(column)
        if len(known) > most:
            even = np.linspace(0.0, 1.0, most // 2 + 1)
            wide = known[np.searchsorted(known, np.quantile(known[[0, -1]], even))]  # a search leaves few points there
            known = np.union1d(wide, np.quantile(column, even, method="nearest"))
        cuts.append(0.5 * (known[:-1] + known[1:]))
    columns = np.repeat(np.arange(-1, len(cuts) - 1), list(map(len, cuts)))
    is_left = (design[:, columns] <= np.concatenate(cuts)).astype(np.float64, order="C")  # else SciPy copies it
    counts = rng.multinomial(n, np.full(n, 1.0 / n), trees)  # how often each sample contains each point
    return [_grow_tree(design, values, own, columns, is_left, rng) for own in counts]


def _grow_tree(
    design: Array, values: Array, counts: IntArray, columns: IntArray, is_left: Array, rng: np.random.Generator
) -> RegressionTree:
    """Grow a tree by cuts in columns (cuts,), one level at a time: its nodes are the rows of a sparse matrix."""
    from scipy.sparse import csr_matrix

    points = np.flatnonzero(counts)
    nodes, weights = np.zeros(len(points), dtype=np.int64), counts[points].astype(np.float64)
    levels, first, size = [], 0, 1  # nodes of a level are counted from 0; `first` is its first node in the tree
    while len(nodes):
        total = np.bincount(nodes, weights, size)
        mean = np.bincount(nodes, weights * values[points], size) / total
        own, ends = weights * (values[points] - mean[nodes]), np.searchsorted(nodes, np.arange(size + 1))
        left, sums = (csr_matrix((one, points, ends), (size, len(values))) @ is_left for one in (weights, own))
        both = left * (total[:, None] - left)
        gain = np.square(sums) / np.maximum(both, 0.5) - (both == 0.0)  # -1 if a side is empty
        best = (gain * (1.0 + TIES * rng.random(len(columns)))).argmax(axis=1)
        is_cut = (gain[np.arange(size), best] >= 0.0) & (np.bincount(nodes, np.abs(own), size) > 1e-12 * total)
        is_kept, threshold, feature = is_cut[nodes], np.zeros(size), columns[best]
        nodes, points, weights = nodes[is_kept], points[is_kept], weights[is_kept]
        x, is_right = design[points, feature[nodes]], is_left[points, best[nodes]] == 0.0
        starts = np.flatnonzero(np.diff(nodes, prepend=-1))
        low = np.maximum.reduceat(np.where(is_right, -np.inf, x), starts)
        threshold[is_cut] = 0.5 * (low + np.minimum.reduceat(np.where(is_right, x, np.inf), starts))
        first, size, child = first + size, 2 * int(is_cut.sum()), 2 * np.cumsum(is_cut) - 2
        levels.append((np.where(is_cut, first + child, -1), feature, threshold, mean[:, None, None]))
        nodes = child[nodes] + is_right
        order = np.argsort(nodes, kind="stable")
        nodes, points, weights = nodes[order], points[order], weights[order]
    left, feature, threshold, mean = map(np.concatenate, zip(*levels, strict=True))
    return RegressionTree(left, np.where(left < 0, -1, left + 1), feature, threshold, mean, design.shape[1])


def importances(forest: Forest, features: Sequence[Feature], pairs: bool = False) -> Importances:
    """Return the importance of each variable to a fitted forest (Hutter, Hoos and Leyton-Brown 2014).

    Trees that predict a constant are ignored; if all do, every effect is 0.
    """
    found = [effects for tree in forest if (effects := _decompose(leaf_boxes(tree), features, pairs))]
    main = {feature.name: _summarize([effects[0][i] for effects in found]) for i, feature in enumerate(features)}
    names = list(combinations([feature.name for feature in features], 2)) if pairs else []
    return Importances(main, {both: _summarize([effects[1][k] for effects in found]) for k, both in enumerate(names)})


def mean_effect(
    forest: Forest, features: Sequence[Feature], pair: tuple[int, int], atoms: tuple[Array, Array]
) -> Array:
    """Return a forest's prediction for pairs of values of two variables, averaged over all other variables (a, b).

    Source: the marginal predictions of Hutter, Hoos and Leyton-Brown 2014, section 3.
    """
    total = np.zeros((len(atoms[0]), len(atoms[1])))
    for tree in forest:
        boxes = leaf_boxes(tree)
        leaf_atoms = [_leaf_atoms(boxes, feature) for feature in features]
        others = [one.share for i, one in enumerate(leaf_atoms) if i not in pair]
        volume = np.prod(others, axis=0) if others else np.ones(len(boxes.values))
        first, second = (_find_inside(boxes, features[i], own) for i, own in zip(pair, atoms, strict=True))
        total += (first * (volume * boxes.values)[:, None]).T @ second
    return total / len(forest)


def scale_to_unit(values: Array) -> Array:
    """Scale values to [0, 1], because trees compare squares, which overflow for the largest floats.

    values: the values (n,); the smallest becomes 0, and all values do if they are equal.
    """
    low, high = float(np.min(values)), float(np.max(values))
    half = 0.5 * high - 0.5 * low
    return (0.5 * values - 0.5 * low) / half if half > 0.0 else np.zeros(len(values))


def _summarize(shares: Sequence[float] | Array) -> Effect:
    return Effect(float(np.mean(shares)), float(np.std(shares))) if len(shares) else Effect(0.0, 0.0)


def leaf_boxes(tree: Any) -> Leaves:
    """Return the boxes of a tree, which branches left if a column is at most the threshold."""
    shape, nodes = (len(tree.feature), tree.n_features), np.zeros(1, dtype=np.int64)
    lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
    while len(nodes := nodes[tree.children_left[nodes] >= 0]):  # a level of the tree at a time, from the root
        left, right, column = tree.children_left[nodes], tree.children_right[nodes], tree.feature[nodes]
        for child in (left, right):
            lower[child], upper[child] = lower[nodes], upper[nodes]
        upper[left, column] = lower[right, column] = tree.threshold[nodes]
        nodes = np.concatenate([left, right])
    is_leaf = tree.children_left < 0
    return Leaves(lower[is_leaf], upper[is_leaf], tree.value[is_leaf, 0, 0])


class LeafAtoms(NamedTuple):
    """The atoms of one variable in each leaf.

    inside: 1 if atom a lies in leaf l (l, a). weights: of the atoms (a,). share: weight of the atoms in each leaf (l,).
    """

    inside: Array
    weights: Array
    share: Array


def _leaf_atoms(boxes: Leaves, feature: Feature) -> LeafAtoms:
    lower, upper = boxes.lower[:, feature.columns], boxes.upper[:, feature.columns]
    atoms, weights = feature.atoms, feature.weights
    if atoms is None or weights is None:
        cuts = np.unique(np.clip(np.concatenate([lower, upper, [[0.0], [1.0]]]), 0.0, 1.0))
        atoms, weights = 0.5 * (cuts[:-1] + cuts[1:])[:, None], np.diff(cuts)
    inside = _find_inside(boxes, feature, atoms)
    return LeafAtoms(inside, weights, inside @ weights)


def _find_inside(boxes: Leaves, feature: Feature, atoms: Array) -> Array:
    """Return 1 if an atom of a variable (a, c) lies in a leaf (l, a)."""
    lower, upper = boxes.lower[:, feature.columns], boxes.upper[:, feature.columns]
    inside = np.ones((len(lower), len(atoms)), dtype=bool)
    is_cut = np.isfinite(lower) | np.isfinite(upper)
    for column in np.flatnonzero(is_cut.any(axis=0)):
        own = is_cut[:, column]
        above, below = lower[own, column, None] < atoms[:, column], atoms[:, column] <= upper[own, column, None]
        inside[own] &= above & below
    return inside.astype(np.float64)


def _decompose(boxes: Leaves, features: Sequence[Feature], pairs: bool) -> tuple[list[float], list[float]] | None:
    """Return the shares of the variance of one tree; None if it has no variance."""
    leaf_atoms = [_leaf_atoms(boxes, feature) for feature in features]
    volume = np.prod([one.share for one in leaf_atoms], axis=0)
    reached = volume > 0.0  # a leaf between two choices contains none
    leaf_atoms = [LeafAtoms(one.inside[reached], one.weights, one.share[reached]) for one in leaf_atoms]
    volume, values = volume[reached], boxes.values[reached]
    mean = float(volume @ values)
    variance = float(volume @ np.square(values - mean))
    if variance <= 1e-12 * max(mean * mean, 1e-300):
        return None
    mass = volume * (values - mean)
    main = [float(one.weights @ np.square((mass / one.share) @ one.inside)) for one in leaf_atoms]
    both: list[float] = []
    if pairs:
        for i, k in combinations(range(len(leaf_atoms)), 2):
            a, b = leaf_atoms[i], leaf_atoms[k]
            joint = (a.inside * (mass / (a.share * b.share))[:, None]).T @ b.inside
            both.append((float(a.weights @ np.square(joint) @ b.weights) - main[i] - main[k]) / variance)
    return [effect / variance for effect in main], both


def ordered_atoms(count: int) -> tuple[Array, Array]:
    """Return the atoms of a variable of ordered choices (count, 1), and their weights (count,).

    An atom is position / (count - 1), in the single precision of trees' comparisons. Atoms have equal weights.

    count: number of choices.
    """
    return np.linspace(0.0, 1.0, count, dtype=np.float32).astype(np.float64)[:, None], np.full(count, 1.0 / count)


def unordered_atoms(count: int) -> tuple[Array, Array]:
    """Return the atoms of a variable of unordered choices (count, count), and their weights (count,).

    Each choice has its own column. Atoms have equal weights.

    count: number of choices.
    """
    return np.eye(count), np.full(count, 1.0 / count)


def add_absence(atoms: Array, weights: Array, absent: float) -> tuple[Array, Array]:
    """Add an atom for points without the variable, -1 in every column.

    weights: weights of the atoms, which sum to 1 (a,).
    absent: share of the points that lack the variable, in [0, 1].
    """
    return np.vstack([atoms, np.full((1, atoms.shape[1]), -1.0)]), np.append(weights * (1.0 - absent), absent)


def design_and_features(points: Sequence[Sequence[Choice]]) -> tuple[Array, list[Feature]]:
    """Return points as a matrix (n, c), and the features of its columns.

    If some points lack a path, its feature has an atom for absence.

    points: n points, each a sequence of choices (path, value, count, ordered). The count is infinite for a continuous
        choice, whose value is in [0, 1].
    """
    kinds: dict[str, Choice] = {}
    present: Counter[str] = Counter()
    for point in points:
        for one in point:
            present[one.path] += 1
            known = kinds.setdefault(one.path, one)
            if known.count < one.count < np.inf:  # the number of options depends on other choices
                kinds[one.path] = one
    features: list[Feature] = []
    width = 0
    for path, one in kinds.items():
        size = one.count if not one.ordered and one.count < np.inf else 1
        columns = slice(width, width + int(size))
        width += int(size)
        if one.count == np.inf:
            features.append(Feature(path, columns))
            continue
        atoms, weights = (ordered_atoms if one.ordered else unordered_atoms)(int(one.count))
        if present[path] < len(points):
            atoms, weights = add_absence(atoms, weights, 1.0 - present[path] / len(points))
        features.append(Feature(path, columns, atoms, weights))
    return fill_design(points, features), features


def join_features(
    features: Sequence[Feature], design: Array, name: str, values: Sequence[Sequence[Choice]], weights: Array
) -> Feature:
    """Return one feature for a variable of several choices that depend on each other, such as the places of an order.

    design: points in the columns of all features (n, c); -1 if a point lacks the variable.
    weights: weights of the values, which sum to 1 (a,).
    """
    columns = slice(features[0].columns.start, features[-1].columns.stop)
    atoms = fill_design(values, features)[:, columns]
    absent = float(np.mean(design[:, columns.start] < 0.0))
    return Feature(name, columns, *(add_absence(atoms, weights, absent) if absent else (atoms, weights)))


def fill_design(points: Sequence[Sequence[Choice]], features: Sequence[Feature]) -> Array:
    """Return points in the columns of some features (n, c)."""
    known = {feature.name: feature for feature in features}
    width = max((feature.columns.stop for feature in features), default=0)
    design: npt.NDArray[np.float64] = np.full((len(points), width), -1.0)
    for row, point in enumerate(points):
        for one in point:
            feature = known.get(one.path)
            if feature is None:
                continue
            if one.count == np.inf:
                design[row, feature.columns] = one.value
            elif feature.atoms is not None and one.value < len(feature.atoms):
                design[row, feature.columns] = feature.atoms[int(one.value)]
    return design


def fill_design_from_values(values: Array, features: Sequence[Feature]) -> Array:
    """Return the design as in `fill_design`, for points that all have the same choices, one for each feature.

    values: values of the choices (n, d).
    """
    columns = [
        value[:, None] if feature.atoms is None else feature.atoms[value.astype(np.int64)]
        for value, feature in zip(values.T, features, strict=True)
    ]
    return np.concatenate(columns, axis=1)


BINS = 16  # number of bins of a variable with more ordered values
MOST_LEVELS = 64  # maximum number of values of a structure, such as an order, in the draws


@dataclass(frozen=True)
class VarianceShares:
    """The main effect of each choice as a share of a forest's variance. trees: number of trees, at least 1."""

    trees: int = 16

    def __call__(
        self, points: Sequence[Sequence[Choice]], values: Array, seed: int, draws: Sequence[Sequence[Choice]] = ()
    ) -> dict[str, float]:
        """Return the share of each choice by its path.

        values: values of the points (n,).
        """
        design, features = design_and_features(points)
        forest = grow_forest(design, scale_to_unit(values), seed, self.trees)
        if draws:
            found = importances_of_draws(forest, features, fill_design(draws, features))
        else:
            found = importances(forest, features)
        return {name: effect.share for name, effect in found.main.items()}


def importances_of_draws(forest: Forest, features: Sequence[Feature], draws: Array, pairs: bool = False) -> Importances:
    """Return the importance of each variable to a fitted forest over points of a space with conditions.

    For a tree f and the share p of points that have variable i, the effect of i is
    p Var(E[f | x_i, i exists] | i exists) / Var(f). For the share p of points that have both i and k, the effect of the
    pair is p (Var(E[f | x_i, x_k]) - Var(E[f | x_i]) - Var(E[f | x_k])) / Var(f), all given that both exist. Estimates
    are corrected for the sampling noise in means of few points, and at least 0. Trees that predict a constant are
    ignored; if all do, every effect is 0.

    features: variables, as columns of the design that the forest was grown on; -1 if a point lacks the variable.
    draws: points of the space in these columns (n, c).

    Source: the marginals of Hutter, Hoos and Leyton-Brown 2014, section 3, under the distribution of the space, with
    the correction of the analysis of variance with random effects (Searle, Casella and McCulloch 1992, section 3.6).
    """
    predictions = predict_by_tree(forest, draws)
    variances = predictions.var(axis=0)
    varies = variances > 1e-12 * np.maximum(np.square(predictions.mean(axis=0)), 1e-300)
    predictions, variances = predictions[:, varies], variances[varies]
    levels = [number_levels(draws[:, feature.columns]) for feature in features]

    main = {
        one.name: _summarize(np.maximum(_explained(predictions, own) / variances, 0.0))
        for one, own in zip(features, levels, strict=True)
    }
    both: dict[tuple[str, str], Effect] = {}
    for i, k in combinations(range(len(features)), 2) if pairs else ():
        exist = (levels[i] >= 0) & (levels[k] >= 0)
        crossed = levels[i] * (1 + int(levels[k].max(initial=0))) + levels[k]
        joint, first, second = (np.where(exist, one, -1) for one in (crossed, levels[i], levels[k]))
        extra = _explained(predictions, joint) - _explained(predictions, first) - _explained(predictions, second)
        both[features[i].name, features[k].name] = _summarize(np.maximum(extra / variances, 0.0))
    return Importances(main, both)


def predict_by_tree(forest: Forest, draws: Array) -> Array:
    """Return the predictions of each tree of a forest (n, trees).

    draws: points in the columns of the forest's design (n, c).
    """
    rows = np.asarray(draws, dtype=np.float32)  # the precision of trees' comparisons
    return np.column_stack([tree.predict(rows)[:, 0] for tree in forest])


def number_levels(rows: Array) -> IntArray:
    """Return the number of the value of a variable at each point (n,), -1 if the variable is absent.

    rows: the variable's columns (n, c). A single column with more than 16 values is split into 16 equal bins of [0, 1].
    """
    absent = rows[:, 0] < 0.0
    if rows.shape[1] == 1 and len(np.unique(rows[~absent])) > BINS:
        levels = np.minimum((rows[:, 0] * BINS).astype(np.int64), BINS - 1)
    else:
        levels = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.where(absent, -1, levels)


def thin_levels(draws: Array, feature: Feature, rng: np.random.Generator) -> None:
    """Replace the values of a structure in draws by at most 64 of them, in place, so that each has many points.

    Given that the structure exists, its value is independent of other variables without constraints and conditions.

    draws: points of the space (n, c).
    rng: random number generator.
    """
    present = np.flatnonzero(draws[:, feature.columns.start] >= 0.0)
    values = np.unique(draws[present, feature.columns], axis=0)
    if len(values) > MOST_LEVELS:
        kept = draws[rng.choice(present, MOST_LEVELS, replace=False), feature.columns]
        draws[present, feature.columns] = kept[rng.integers(0, MOST_LEVELS, len(present))]


def mean_of_draws(forest: Forest, draws: Array, cells: tuple[IntArray, IntArray], shape: tuple[int, int]) -> Array:
    """Return a forest's mean prediction in each cell of two variables (a, b), NaN for a cell without points.

    draws: points of the space in the columns of the forest's design (n, c).
    cells: cell of each point by the first and by the second variable, (n,) each, -1 for none.
    """
    inside = (cells[0] >= 0) & (cells[1] >= 0)
    flat = np.where(inside, cells[0] * shape[1] + cells[1], shape[0] * shape[1])
    means = predict_by_tree(forest, draws).mean(axis=1)
    counts = np.bincount(flat, minlength=shape[0] * shape[1] + 1)[:-1]
    sums = np.bincount(flat, means, minlength=shape[0] * shape[1] + 1)[:-1]
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0).reshape(shape)


def _explained(predictions: Array, levels: IntArray) -> Array:
    """Return the variance of the means of levels, times the share of the points that have a level (trees,).

    Means of few points also vary randomly, which adds the variance within a level once for each of k - 1 levels. This
    is subtracted, so the result may be below 0.
    """
    from scipy.sparse import csr_matrix

    present = np.flatnonzero(levels >= 0)
    if not len(present):
        return np.zeros(predictions.shape[1])
    _, groups, counts = np.unique(levels[present], return_inverse=True, return_counts=True)
    n, m, k = len(levels), len(present), len(counts)
    if k == 1 or k == m:  # nothing varies, or effects cannot be distinguished from noise
        return np.zeros(predictions.shape[1])
    own = predictions[present] - predictions[present].mean(axis=0)
    sums = csr_matrix((np.ones(m), (groups, np.arange(m))), shape=(k, m)) @ own
    between = (np.square(sums) / counts[:, None]).sum(axis=0)
    within = np.maximum(np.square(own).sum(axis=0) - between, 0.0)
    return (between - (k - 1) * within / (m - k)) / n
