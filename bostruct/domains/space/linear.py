"""Linear constraints between the numbers of a space: exact counts, draws and steps that satisfy them.

If all numbers are discrete, points are counted and drawn by a table of partial sums. Otherwise draws come from
hit-and-run (Smith 1984) along directions that keep the equalities, in integer multiples if they change integers.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.checks import count_own_frames, did_you_mean, short_repr
from bostruct.contracts import Array, DomainError, IntArray, Json, Polytope, Presented
from bostruct.domains.space.choices import to_python
from bostruct.domains.space.clauses import BUILDERS, Clause, PartialPoint
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.variable import INACTIVE, Variable, find_owner

ROUNDING = 1e-9  # by which a sum may miss its limit, as a share of the largest possible sum of the constraint
SIGNS: dict[type[ast.cmpop], str] = {ast.LtE: "<=", ast.GtE: ">=", ast.Eq: "=="}
PRODUCT = re.compile(r"(?<![\w.])((?>\d+\.?\d*(?:[eE][+-]?\d+)?))\s*(?=[A-Za-z_(])")  # 2 x, as constraints are printed
MAX_CELLS = 10**7  # the most states times values of a table of partial sums
EXACT = 2.0**60  # a long double represents all counts up to this one
SOLVER_SECONDS = 10.0  # the time limit of a decision whether a point exists
CHAIN_STEPS = 15  # of hit-and-run, times k (1 + log k) for k numbers
MAX_SUBSETS = 600  # the most subsets of variables whose directions are computed
LARGEST_DENOMINATOR = 1_000  # of a ratio of steps of integers
HALVINGS = 10  # of the range of a continuous number, as steps of neighbors
INTERIOR_GOALS = 8  # random objectives; draws start at the mean of their extreme points
OFTEN_DRAWS = 400  # draws of points to find whether rejection suffices
BRANCH_DRAWS = (200, 20_000)  # draws of points to find which variables may be active together
EXTREME_NODES = 100  # of the solver's search for an extreme point
WHOLE_SCALE = 4e8  # the largest scale of sums of whole numbers, whose tolerance must be below 1

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Linear(Clause):
    """A linear constraint on the numbers of a point: a weighted sum is at most, at least or equal to a limit.

    A variable that a point lacks counts as 0. A sum may miss the limit by rounding, 1e-9 of the largest possible sum.

    Parameters
    ----------
    weights : dict of float
        The weight of each variable by name: `Real`, `Integer`, numeric `Ordinal` or `Binary`, or a part of a `Mixture`
        or an `Allocation`, such as ``"blend.resin"``.
    relation : {"<=", ">=", "=="}
        How the sum compares with the limit.
    limit : float
        A finite number.
    scale : float, optional
        The largest possible sum, set by the space.

    Raises
    ------
    DomainError
        If an argument is invalid.
    """

    weights: Mapping[str, float]
    relation: str
    limit: float
    scale: float = field(default=0.0, compare=False)

    @classmethod
    def parse(cls, text: str) -> Linear:
        """Read a constraint written as a formula, as Ax has it.

        Parameters
        ----------
        text : str
            Two linear expressions of names and numbers with ``<=``, ``>=`` or ``==`` between them.

        Returns
        -------
        Linear
            The constraint.

        Raises
        ------
        DomainError
            If the text is anything else. It is never run as code.

        Examples
        --------
        >>> bo.Linear.parse("x + 2*y <= 3")
        x + 2 y <= 3
        """
        try:
            if not isinstance(text, str):
                raise ValueError("it is not a string")
            node = ast.parse(PRODUCT.sub(r"\1*", text.strip()), mode="eval").body
            if not isinstance(node, ast.Compare) or [type(one) in SIGNS for one in node.ops] != [True]:
                raise ValueError(
                    "expected two expressions with one of <=, >=, == between them; < and > are not supported"
                )
            terms = _read_terms(ast.BinOp(node.left, ast.Sub(), node.comparators[0]))
            if not terms.keys() - {""}:
                raise ValueError("it names no variable")
        except (AttributeError, SyntaxError, ValueError, RecursionError) as error:
            expected = 'expected a linear formula such as "x + 2*y <= 3"'
            why = getattr(error, "msg", error)  # of a SyntaxError
            raise DomainError(f"Linear.parse: text: {expected}, got {short_repr(text)}: {why}") from error
        return cls(terms, SIGNS[type(node.ops[0])], 0 - terms.pop("", 0))

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Mapping) or not self.weights:
            raise DomainError(
                f"Linear: weights: expected a dict from variables to numbers, got {short_repr(self.weights)}"
            )
        found = {name: to_python(one) for name, one in self.weights.items()}
        for name, one in found.items():
            if not isinstance(name, str) or type(one) not in (int, float) or not -1e300 < one < 1e300:
                raise DomainError(
                    f"Linear: weights: expected names with finite numbers, got {short_repr(name)}: {short_repr(one)}"
                )
        if not any(found.values()):
            raise DomainError(f"Linear: weights: expected a weight other than 0, got {short_repr(found)}")
        if self.relation not in ("<=", ">=", "=="):
            raise DomainError(f"Linear: relation: expected one of <=, >=, ==, got {short_repr(self.relation)}")
        limit = to_python(self.limit)
        if type(limit) not in (int, float) or not -1e300 < limit < 1e300:
            raise DomainError(f"Linear: limit: expected a finite number, got {short_repr(self.limit)}")
        object.__setattr__(self, "weights", {name: one for name, one in found.items() if one})
        object.__setattr__(self, "limit", limit)

    def __call__(self, given: Presented) -> bool:
        terms = [weight * _look_up(given, name) for name, weight in self.weights.items()]
        slack = ROUNDING * (self.scale or max(math.fsum(map(abs, terms)), abs(self.limit)))
        excess = math.fsum([*terms, -self.limit])
        if self.relation == "==":
            return abs(excess) <= slack
        return excess - slack <= 0.0 if self.relation == "<=" else excess + slack >= 0.0

    def __hash__(self) -> int:
        return hash((frozenset(self.weights.items()), self.relation, self.limit))

    def __repr__(self) -> str:
        terms = [
            f"{'-' if one < 0 else '+'} {'' if abs(one) == 1 else f'{_format_weight(abs(one))} '}{name}"
            for name, one in self.weights.items()
        ]
        return f"{' '.join(terms).removeprefix('+ ')} {self.relation} {_format_weight(self.limit)}"

    def to_json(self) -> Json:
        return {"weights": dict(self.weights), "sum": self.relation, "limit": self.limit}

    def simplify(self, point: PartialPoint) -> Clause | bool:
        gone = {name for name in self.weights.keys() - point.free if _is_among(name, point.gone)}
        weights = {name: one for name, one in self.weights.items() if name not in gone}
        if not weights:
            return self({})
        is_open, rest = any(_is_among(name, point.free) for name in weights), replace(self, weights=weights)
        return rest if is_open or (answer := point.decide(rest)) is None else answer

    def bind(self, variables: Mapping[str, Variable], where: str) -> Linear:
        """Return the constraint with its scale in a space.

        Parameters
        ----------
        variables : mapping of str to Variable
            The variables of the space.
        where : str
            The name of the constraint in messages.

        Returns
        -------
        Linear
            The constraint.

        Raises
        ------
        DomainError
            If a variable is missing or not a number.
        """
        largest, numbers = abs(self.limit), [self.limit, *self.weights.values()]
        for name, weight in self.weights.items():
            if (own := find_owner(name, variables)) is None:
                raise DomainError(f"{where}: unknown variable {name!r}{did_you_mean(name, variables)}")
            axis = next((axis for axis in find_axes(0, own, variables[own]) if axis.name == name), None)
            if axis is None:
                parts = [f"; name a part, such as {f'{name}.{part}'!r}" for part in variables[own].parts[:1]]
                raise DomainError(
                    f"{where}: expected variables that are Real, Integer, Binary or an Ordinal of numbers; {name!r} is "
                    f"{short_repr(variables[name])}{''.join(parts)}"
                )
            largest += abs(weight) * (variables[own].total or max(abs(axis.low), abs(axis.high)))
            numbers += [axis.low, axis.step or math.nan]
        if not math.isfinite(largest):
            raise DomainError(f"{where}: expected weights and bounds of variables whose largest sum is finite")
        return replace(self, scale=min(largest, WHOLE_SCALE) if all(one % 1 == 0 for one in numbers) else largest)


def _is_among(name: str, owners: Collection[str]) -> bool:
    """Return whether a name is the name of a variable, or of a part of a variable."""
    return name in owners or any(name.startswith(f"{own}.") for own in owners)


def _look_up(given: Presented, name: str) -> float:
    """Return a number of a point by its name, or a part of a value by both names joined by a dot; 0 if absent."""
    if name in given or "." not in name:
        return given.get(name, 0)
    values = ((name[len(own) + 1 :], one) for own, one in given.items() if name.startswith(f"{own}."))
    return next((one[part] for part, one in values if isinstance(one, Mapping) and part in one), 0)


def _format_weight(number: float) -> str:
    """Return a number with 15 digits if they are exact, otherwise its repr."""
    return f"{number:.15g}" if float(f"{number:.15g}") == number else repr(number)


def _read_terms(node: ast.AST) -> dict[str, float]:
    """Return the weight of each name in a linear expression, the constant under ""; raise ValueError otherwise."""
    match node:
        case ast.Constant(value=int() | float() as value) if type(value) is not bool:
            return {"": value}
        case ast.Name(id=name):
            return {name: 1}
        case ast.Attribute(value=ast.Name(id=name), attr=part):
            return {f"{name}.{part}": 1}
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
            return _scale_terms(_read_terms(inner), -1 if isinstance(sign, ast.USub) else 1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
            terms = _read_terms(left)
            for name, weight in _read_terms(right).items():
                terms[name] = terms.get(name, 0) + (-weight if isinstance(sign, ast.Sub) else weight)
            return terms
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            first, second = sorted((_read_terms(left), _read_terms(right)), key=lambda terms: terms.keys() != {""})
            if first.keys() == {""}:
                return _scale_terms(second, first[""])
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            divisor = _read_terms(right)
            if divisor.keys() == {""} and divisor[""]:
                return _scale_terms(_read_terms(left), 1 / divisor[""])
    raise ValueError(f"{ast.unparse(node)} is not linear")


def _scale_terms(terms: Mapping[str, float], factor: float) -> dict[str, float]:
    return {name: weight * factor for name, weight in terms.items()}


BUILDERS["weights"] = (
    "the weights, a relation sum and a limit",
    lambda data, _: Linear(data["weights"], data["sum"], data["limit"]),
)
BUILDERS["formula"] = ("a formula", lambda data, _: Linear.parse(data["formula"]))


class Axis(NamedTuple):
    """The numbers of one variable, or of one part of its values.

    name: name of the variable, followed by a dot and the part, if any.
    i: position of the variable.
    low, high: the smallest and the largest number.
    step: distance of even, discrete numbers; 0 if they are continuous, NaN if they are uneven.
    levels: all numbers by position, if listed; otherwise None.
    unit: distance of the numbers of adjacent positions, if even; otherwise 0.
    first, size: the first position, and the number of positions.
    column: column of the part among the variable's columns.
    is_optional: True if the part may also be 0.
    """

    name: str
    i: int
    low: float
    high: float
    step: float
    levels: Array | None
    variable: Variable
    unit: float
    first: int
    size: int
    column: int = 0
    is_optional: bool = False

    @property
    def is_log(self) -> bool:
        """True if the numbers are drawn evenly by their logarithms."""
        return self.levels is None and bool(getattr(self.variable.grid, "log", False))

    @property
    def shares(self) -> tuple[float, float]:
        """The number at the continuous coordinate 0, and the difference to the number at 1."""
        return (0.0, self.variable.total) if self.variable.total else (self.low, self.high - self.low)

    def values(self, vertices: IntArray) -> Array:
        """Return the numbers at positions, 0 for inactive variables, in the same shape."""
        is_absent = vertices == INACTIVE
        known = np.where(is_absent, 0, vertices)
        if self.levels is not None:
            found = self.levels[known]
        elif self.unit:
            found = self.low + self.unit * (known - self.first)
        else:
            shares = self.variable.shares(known[:, None])[:, 0]
            found = self.low + shares * (self.high - self.low)
            if self.is_log:
                found = self.low * np.exp(shares * math.log(self.high / self.low))
        return np.where(is_absent, 0.0, found)

    def vertices(self, values: Array) -> IntArray:
        """Return the positions of the nearest numbers, in the same shape."""
        inside = np.clip(values, self.low, self.high)
        if self.levels is not None:
            ascending = np.sort(self.levels)
            places = np.clip(np.searchsorted(ascending, inside), 1, len(ascending) - 1)
            nearer = inside - ascending[places - 1] < ascending[places] - inside
            return np.argsort(self.levels)[places - nearer]
        if self.unit:
            return self.first + np.rint((inside - self.low) / self.unit).astype(np.int64)
        shares = (inside - self.low) / (self.high - self.low)
        if self.is_log:
            shares = np.log(inside / self.low) / math.log(self.high / self.low)
        return self.variable.with_shares(np.empty((len(values), 1), dtype=np.int64), shares[:, None])[:, 0]


def find_axes(i: int, name: str, variable: Variable) -> list[Axis]:
    """Return the axes of a variable: one, or one for each part; none if its values are not numbers."""
    if (sums := variable.compositions) is not None:
        unit, step = variable.total / sums.total, 0.0 if variable.is_real else 1.0
        names = [*(f"{name}.{part}" for part in variable.parts), f"{name} (slack)"]
        least, most = (bounds.tolist() for bounds in sums.bounds)
        return [
            Axis(own, i, low * unit, high * unit, step, None, variable, unit, low, high - low + 1, column, optional)
            for column, (own, low, high, optional) in enumerate(zip(names, least, most, sums.optional, strict=False))
        ]
    if variable.width > 1 or variable.choices is None:
        return []
    if variable.grid is not None:
        low, high = float(variable.choices[0]), float(variable.choices[len(variable.choices) - 1])
        step = 0.0 if variable.kind == "Real" else 1.0
        return [Axis(name, i, low, high, step, None, variable, step, 0, variable.size)]
    listed = {f"{name}.{part}": [variable.choices[0][part]] for part in variable.parts}  # the value is fixed
    listed = listed or {name: [to_python(one) for one in variable.choices]}
    kinds = {type(one) for numbers in listed.values() for one in numbers}
    is_bit = kinds == {bool} and (variable.kind == "Binary" or variable.is_fixed)
    if not is_bit and not ((variable.ordered or variable.parts) and kinds <= {int, float}):
        return []
    found = []
    for own, numbers in listed.items():
        levels = np.array(numbers, dtype=np.float64)
        if not np.isfinite(levels).all():
            return []
        gaps = np.diff(np.sort(levels))
        step = float(gaps[0]) if len(gaps) and np.allclose(gaps, gaps[0], rtol=1e-9) else math.nan
        found.append(
            Axis(own, i, float(levels.min()), float(levels.max()), step, levels, variable, 0.0, 0, len(levels))
        )
    return found


class NullDirection(NamedTuple):
    """A direction in which numbers can change without violating the equalities.

    vector: change of each number (k,).
    is_whole: True if only integer multiples are allowed.
    """

    vector: Array
    is_whole: bool


class Table(NamedTuple):
    """All combinations of discrete numbers that satisfy the constraints, by partial sums.

    ways: number of completions of each state before each number, and after the last (k + 1 arrays).
    after: for each number, the next state by state and value, -1 if there is none (k arrays (states, values)).
    """

    ways: list[npt.NDArray[np.longdouble]]
    after: list[IntArray]

    def draw(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw positions uniformly among all combinations (m, k)."""
        found, state = [], np.zeros(m, dtype=np.int64)
        for ways, after in zip(self.ways[1:], self.after, strict=True):
            following = after[state]
            weights = np.where(following >= 0, ways[following], 0.0)
            sums = np.cumsum(weights, axis=1)
            chosen = (rng.random((m, 1)) * sums[:, -1:] >= sums).sum(axis=1)
            found.append(chosen)
            state = following[np.arange(m), chosen]
        return np.column_stack(found)


class LinearSystem:
    """The linear constraints of a space, for the points that have a given set of numbers.

    axes: axes of the k numbers in the constraints.
    rules: the constraints.
    """

    def __init__(self, axes: Sequence[Axis], rules: Sequence[Linear]) -> None:
        self.axes, self.rules = list(axes), list(rules)
        weights = np.array([[rule.weights.get(axis.name, 0.0) for axis in axes] for rule in rules])
        self._weights = weights = weights.reshape(len(rules), len(axes))
        limits, slacks = np.array([rule.limit for rule in rules]), ROUNDING * np.array([rule.scale for rule in rules])
        is_equal = np.array([rule.relation == "==" for rule in rules], dtype=bool)
        signs = np.array([-1.0 if rule.relation == ">=" else 1.0 for rule in rules])
        self.equal, self.total = weights[is_equal], limits[is_equal]
        self.upper = (weights * signs[:, None])[~is_equal]
        self.limit = (limits * signs)[~is_equal]
        self.slacks = slacks[is_equal], slacks[~is_equal]
        self.low = np.array([axis.low for axis in axes])
        self.high = np.array([axis.high for axis in axes])

    def holds(self, values: Array) -> Mask:
        """Return which points satisfy all constraints (m,).

        values: numbers (m, k), 0 for inactive variables.
        """
        equal = np.abs(values @ self.equal.T - self.total) <= self.slacks[0]
        below = values @ self.upper.T <= self.limit + self.slacks[1]
        return np.all(equal, axis=1) & np.all(below, axis=1)

    def find_point(self, rules: Sequence[int] | None = None, goal: Array | None = None) -> Array | None:
        """Return numbers that satisfy the constraints (k,), found by HiGHS; None if there are none.

        rules: positions of the constraints to satisfy; None for all.
        goal: weight of each number in a sum to minimize (k,); None for any point.

        Raises TimeoutError if the solver does not decide in 10 seconds.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        k, blocks = len(self.axes), [i for i, axis in enumerate(self.axes) if math.isnan(axis.step)]
        sizes = [len(self.axes[i].levels) for i in blocks]  # type: ignore[arg-type]  # uneven numbers are listed
        n, first, limits = k + sum(sizes), k, []
        for i, size in zip(blocks, sizes, strict=True):  # one level of each is chosen
            chosen, is_level = np.zeros(n), np.zeros(n)
            chosen[first : first + size] = 1.0
            is_level[first : first + size], is_level[i] = self.axes[i].levels, -1.0
            limits += [LinearConstraint(chosen, 1.0, 1.0), LinearConstraint(is_level, 0.0, 0.0)]
            first += size
        lattice = np.array([axis.step if axis.step > 0.0 else 0.0 for axis in self.axes])
        unit = np.where(lattice > 0.0, lattice, 1.0)
        offset = np.where(lattice > 0.0, self.low, 0.0)
        for r in range(len(self.rules)) if rules is None else rules:
            rule = self.rules[r]
            row = np.zeros(n)
            row[:k] = self._weights[r]
            shift = float(row[:k] @ offset)
            row[:k] *= unit
            slack = ROUNDING * rule.scale
            low = -np.inf if rule.relation == "<=" else rule.limit - shift - (slack if rule.relation == ">=" else 0.0)
            high = np.inf if rule.relation == ">=" else rule.limit - shift + (slack if rule.relation == "<=" else 0.0)
            limits.append(LinearConstraint(row, low, high))
        for i in blocks:
            unit[i], offset[i] = 1.0, 0.0
        lower: Any = np.append((self.low - offset) / unit, np.zeros(n - k))  # Bounds is typed only for numbers
        upper: Any = np.append((self.high - offset) / unit, np.ones(n - k))
        bounds = Bounds(lower, upper)
        costs = np.zeros(n)
        costs[:k] = 0.0 if goal is None else goal * unit
        kinds = np.append(lattice > 0.0, np.ones(n - k)).astype(int)
        options = {"time_limit": SOLVER_SECONDS} | ({} if goal is None else {"node_limit": EXTREME_NODES})
        found = milp(costs, integrality=kinds, bounds=bounds, constraints=limits, options=options)
        if found.x is None and found.status != 2:
            raise TimeoutError(found.message)
        if found.x is None:
            return None
        values = np.where(lattice > 0.0, np.rint(found.x[:k]), found.x[:k])
        return np.clip(offset + unit * values, self.low, self.high)

    def find_conflict(self) -> list[int]:
        """Return the positions of a minimal set of constraints that contradict each other."""
        kept = list(range(len(self.rules)))
        for r in list(kept):
            others = [one for one in kept if one != r]
            with suppress(TimeoutError):
                if self.find_point(others) is None:
                    kept = others
        return kept

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m points as positions (m, k), uniformly among the points that satisfy the constraints.

        Raises DomainError if there is none.
        """
        if self.table is not None:
            if not self.table.ways[0][0]:
                raise DomainError(f"constraints: no point satisfies {', '.join(map(repr, self.rules))}")
            return self.table.draw(m, rng) + np.array([axis.first for axis in self.axes])
        return self._to_positions(self._run_chain(m, rng))

    @cached_property
    def n_points(self) -> int | None:
        """The number of combinations that satisfy the constraints; None if there is no table that counts them."""
        if self.table is None or self.table.ways[0][0] > EXACT:
            return None
        return int(self.table.ways[0][0])

    def moves(self, values: Array) -> Array:
        """Return the results of steps along directions, which change several numbers at once (q, k).

        values: numbers of one point (k,).
        """
        steps = []
        for vector, is_whole in self._neighbor_directions:
            span = np.abs(vector) > 0.0
            most = float(((self.high - self.low)[span] / np.abs(vector[span])).min())
            sizes = [2.0**e for e in range(int(math.log2(max(most, 1.0))) + 1)] if is_whole else []
            sizes = sizes if is_whole else [most * 2.0**-e for e in range(1, HALVINGS + 1)]
            steps += [sign * size * vector for size in sizes for sign in (1.0, -1.0)]
        if not steps:
            return np.empty((0, len(values)))
        changes = np.array(steps)
        for own in self._mixtures:  # steps back and forth end at the same point if they are whole and sum to 0
            units = np.rint(changes[:, own] / self.axes[own[0]].unit)
            units[np.arange(len(units)), np.argmax(np.abs(units), axis=1)] -= units.sum(axis=1)
            changes[:, own] = units * self.axes[own[0]].unit
        found = values + changes
        margin = 1e-9 * (self.high - self.low)
        inside = ((found >= self.low - margin) & (found <= self.high + margin)).all(axis=1)
        return found[inside & self.holds(found)]

    @cached_property
    def table(self) -> Table | None:
        """The table of partial sums; None if a number has too many values or a log scale, or the table is too large."""
        if any(axis.size > MAX_CHOICES or axis.is_log for axis in self.axes):
            return None
        return self._build_table()

    def _build_table(self) -> Table | None:
        weights = np.concatenate([self.equal, self.upper])
        slack = np.concatenate(self.slacks)
        limits = np.concatenate([self.total, self.limit])
        values = [axis.values(axis.first + np.arange(axis.size)) for axis in self.axes]
        terms = [own[:, None] * weights[:, j] for j, own in enumerate(values)]
        least = np.cumsum([one.min(axis=0) for one in terms[::-1]], axis=0)[::-1]  # sums of the numbers from each on
        most = np.cumsum([one.max(axis=0) for one in terms[::-1]], axis=0)[::-1]
        n_equal, none = len(self.equal), np.zeros(len(weights))
        unit = np.maximum(slack, 1e-300)
        sums, after, n_cells = np.zeros((1, len(weights))), list[IntArray](), 0
        for j, own in enumerate(terms):
            n_cells += len(sums) * len(own)
            if n_cells > MAX_CELLS:
                return None
            reached = (sums[:, None, :] + own).reshape(-1, len(weights))
            rest_least, rest_most = (least[j + 1], most[j + 1]) if j + 1 < len(terms) else (none, none)
            fits = (reached + rest_least <= limits + slack).all(axis=1)
            fits &= (reached + rest_most >= limits - slack)[:, :n_equal].all(axis=1)
            # all sums are equivalent in an inequality that later numbers cannot violate
            is_free = reached[:, n_equal:] + rest_most[n_equal:] <= limits[n_equal:]
            reached[:, n_equal:][is_free] = -np.inf
            keys = np.where(np.isfinite(reached), np.rint(reached / unit), -(2.0**62))
            _, firsts, of = np.unique(keys[fits], axis=0, return_index=True, return_inverse=True)
            states = np.full(len(reached), -1, dtype=np.int64)
            states[fits] = of.ravel()
            after.append(states.reshape(len(sums), len(own)))
            sums = reached[fits][firsts]
            if not len(sums):
                return Table([np.zeros(1, dtype=np.longdouble)] * (len(terms) + 1), after)
        ways = [np.ones(len(sums), dtype=np.longdouble)]
        for following in after[::-1]:
            ways.append(np.where(following >= 0, ways[-1][following], 0.0).sum(axis=1))
        return Table(ways[::-1], after)

    def _to_positions(self, values: Array) -> IntArray:
        found = [axis.vertices(own) for axis, own in zip(self.axes, values.T, strict=True)]
        return np.column_stack(found).astype(np.int64).reshape(len(values), len(self.axes))

    def _run_chain(self, m: int, rng: np.random.Generator) -> Array:
        """Draw numbers by hit-and-run (m, k).

        Chains start at the mean of extreme points, or, if some numbers are discrete, at extreme points. Half of the
        general directions are combinations of extreme points, so that chains also cross thin polytopes.
        """
        extremes, k = self._extremes, len(self.axes)
        span = np.maximum(self.high - self.low, 1e-300)
        spread = (extremes - extremes.mean(axis=0)) / span @ (self._smooth_basis / span).T @ self._smooth_basis
        is_even = all(axis.step == 0.0 or axis.low == axis.high for axis in self.axes)
        values = np.tile(extremes.mean(axis=0), (m, 1)) if is_even else extremes[rng.integers(0, len(extremes), size=m)]
        uneven = [j for j, axis in enumerate(self.axes) if math.isnan(axis.step) and axis.low < axis.high]
        logs = [j for j, axis in enumerate(self.axes) if axis.is_log]
        directions, smooth = self._directions, self._smooth_basis
        n_kinds = len(directions) + len(uneven) + (len(directions) if len(smooth) > 1 else 0)
        for kind in rng.integers(0, max(n_kinds, 1), size=int(CHAIN_STEPS * k * (1.0 + math.log(k)))).tolist():
            if kind < len(directions):
                moved = self._hit_and_run(values, directions[kind], rng)
            elif kind < len(directions) + len(uneven):
                moved = self._change_level(values, uneven[kind - len(directions)], rng)
            elif len(smooth) > 1:
                basis = spread if is_even and spread.any() and rng.random() < 0.5 else smooth
                moved = self._hit_and_run(values, NullDirection(rng.normal(size=len(basis)) @ basis, False), rng)
            else:
                continue
            if logs:  # Metropolis step to a uniform law of the logarithms, because proposals are uniform in the numbers
                ratio = np.prod(values[:, logs] / np.maximum(moved[:, logs], 1e-300), axis=1)
                moved = np.where((rng.random(m) < ratio)[:, None], moved, values)
            values = moved
        return values

    def _hit_and_run(self, values: Array, direction: NullDirection, rng: np.random.Generator) -> Array:
        """Move each point to a uniform point of its line within the constraints (m, k)."""
        vector, is_whole = direction
        own = np.flatnonzero(vector)
        ends = np.stack([(self.low - values)[:, own] / vector[own], (self.high - values)[:, own] / vector[own]])
        low, high = ends.min(axis=0).max(axis=1), ends.max(axis=0).min(axis=1)
        slopes = self.upper @ vector
        room = self.limit - values @ self.upper.T
        for r in np.flatnonzero(np.abs(slopes) > 1e-12 * np.abs(self.upper).sum(axis=1)).tolist():
            end = room[:, r] / slopes[r]
            low, high = (low, np.minimum(high, end)) if slopes[r] > 0.0 else (np.maximum(low, end), high)
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        if is_whole:
            first = np.ceil(low - 1e-9)
            drawn = first + np.floor(rng.random(len(values)) * (np.floor(high + 1e-9) - first + 1.0))
        else:
            drawn = low + rng.random(len(values)) * (high - low)
        return values + drawn[:, None] * vector

    def _change_level(self, values: Array, j: int, rng: np.random.Generator) -> Array:
        """Propose another level of a number; another number compensates for it in equalities, if that is allowed."""
        levels = self.axes[j].levels
        assert levels is not None
        moved = values.copy()
        moved[:, j] = rng.choice(levels, size=len(values))
        partners = [i for i, axis in enumerate(self.axes) if i != j and self.equal[:, i].any() and axis.step >= 0.0]
        if self.equal[:, j].any() and partners:
            i = int(rng.choice(partners))
            row = int(np.argmax(np.abs(self.equal[:, i])))
            moved[:, i] -= self.equal[row, j] / self.equal[row, i] * (moved[:, j] - values[:, j])
            if (step := self.axes[i].step) > 0.0:
                whole = (moved[:, i] - self.low[i]) / step
                moved[np.abs(whole - np.rint(whole)) > 1e-6, j] = np.nan
        margin = 1e-12 * (self.high - self.low)
        valid = ((moved >= self.low - margin) & (moved <= self.high + margin)).all(axis=1) & self.holds(
            np.nan_to_num(moved)
        )
        return np.where(valid[:, None], moved, values)

    @cached_property
    def _extremes(self) -> Array:
        """Points that minimize random linear objectives (q, k)."""
        first = self.find_point()
        if first is None:
            raise DomainError(f"constraints: no point satisfies {', '.join(map(repr, self.rules))}")
        rng, found = np.random.default_rng(0), list[Array | None]([first])
        for _ in range(INTERIOR_GOALS):
            goal = rng.normal(size=len(self.axes)) / np.maximum(self.high - self.low, 1e-300)
            for sign in (1.0, -1.0):
                with suppress(TimeoutError):
                    found.append(self.find_point(goal=sign * goal))
        return np.array([one for one in found if one is not None])

    @cached_property
    def _smooth_basis(self) -> Array:
        """Directions of the continuous numbers that keep the equalities, scaled by their ranges (f, k)."""
        own = [j for j, axis in enumerate(self.axes) if axis.step == 0.0]
        found = np.zeros((0, len(self.axes)))
        if own:
            span = (self.high - self.low)[own]
            basis = _find_null_space(self.equal[:, own] * span)
            found = np.zeros((len(basis), len(self.axes)))
            found[:, own] = basis * span
        return found

    @cached_property
    def _directions(self) -> list[NullDirection]:
        """Directions of few numbers each that keep the equalities, and directions that also keep one inequality."""
        found = self._list_directions(self.equal)
        for row in self.upper:
            found += self._list_directions(np.concatenate([self.equal, row[None]]))
        return list({tuple(np.round(one.vector / np.abs(one.vector).max(), 9)): one for one in found}.values())

    @cached_property
    def _neighbor_directions(self) -> list[NullDirection]:
        """The directions that change several numbers, none on a logarithmic scale, and not only two mixture parts."""
        logs = [axis.is_log for axis in self.axes]
        return [
            one
            for one in self._directions
            if (n := np.count_nonzero(one.vector)) > 1
            and not one.vector[logs].any()
            and not (n == 2 and any(np.count_nonzero(one.vector[own]) == 2 for own in self._mixtures))
        ]

    @cached_property
    def _mixtures(self) -> list[list[int]]:
        """The positions of the numbers that are parts of a variable, for each variable with parts."""
        found = dict[int, list[int]]()
        for j, axis in enumerate(self.axes):
            if axis.variable.compositions is not None:
                found.setdefault(axis.i, []).append(j)
        return list(found.values())

    def _list_directions(self, kept: Array) -> list[NullDirection]:
        """Return the directions with a minimal set of numbers that keep some sums.

        kept: weights of the sums (e, k).
        """
        even = [j for j, axis in enumerate(self.axes) if not math.isnan(axis.step)]
        found, used = [], 0
        for size in range(1, min(np.linalg.matrix_rank(kept) if len(kept) else 0, 3) + 2):
            for own in map(list, itertools.combinations(even, size)):
                if (used := used + 1) > MAX_SUBSETS:
                    return found
                null = _find_null_space(kept[:, own] * (self.high - self.low)[own])
                if len(null) != 1 or np.abs(null[0]).min() < 1e-9:
                    continue  # no direction, or one of fewer numbers
                vector = null[0] * (self.high - self.low)[own]
                steps = np.array([self.axes[j].step for j in own])
                ratio = _find_whole(vector[steps > 0.0] / steps[steps > 0.0])
                if ratio is None:
                    continue
                whole = np.zeros(len(self.axes))
                whole[own] = vector * ratio
                found.append(NullDirection(whole, bool((steps > 0.0).any())))
        return found


def _find_null_space(matrix: Array) -> Array:
    """Return an orthonormal basis of the null space of a matrix (f, k)."""
    if not len(matrix):
        return np.eye(matrix.shape[1])
    _, scales, vectors = np.linalg.svd(matrix)
    rank = int((scales > 1e-10 * max(scales.max(initial=0.0), 1e-300)).sum())
    return vectors[rank:]


def _find_whole(units: Array) -> float | None:
    """Return the smallest factor that makes numbers whole; None if their ratios have no small denominators."""
    if not len(units):
        return 1.0
    ratios = [Fraction(float(one / units[0])).limit_denominator(LARGEST_DENOMINATOR) for one in units]
    if any(
        abs(float(ratio) - one / units[0]) > 1e-7 * abs(one / units[0])
        for ratio, one in zip(ratios, units, strict=True)
    ):
        return None
    common = math.lcm(*(ratio.denominator for ratio in ratios))
    shared = math.gcd(*(int(ratio * common) for ratio in ratios))
    return abs(common / shared / float(units[0]))


class SpaceLinear:
    """The linear constraints of a space, for points with any variables: inactive variables count as 0.

    variables: the variables of the space, by name, in order.
    rules: its linear constraints.
    starts: the first column of each variable.
    apply_conditions: rows, generator -> rows in which variables exist if their conditions hold.
    draw: number, generator -> points that ignore the constraints (m, columns).
    """

    def __init__(
        self,
        variables: Mapping[str, Variable],
        rules: Sequence[Linear],
        starts: IntArray,
        apply_conditions: Callable[[IntArray, np.random.Generator], IntArray],
        draw: Callable[[int, np.random.Generator], IntArray],
    ) -> None:
        self.rules, self._apply_conditions, self._draw = list(rules), apply_conditions, draw
        used = {find_owner(name, variables) for rule in rules for name in rule.weights}
        own = [(i, name, one) for i, (name, one) in enumerate(variables.items()) if name in used]
        self.axes = [axis for i, name, one in own for axis in find_axes(i, name, one)]
        self.columns = starts[[axis.i for axis in self.axes]] + [axis.column for axis in self.axes]
        self._is_optional = np.array([axis.is_optional for axis in self.axes], dtype=bool)
        self._sums = [  # of the parts of a variable
            (i, one, Linear({axis.name: 1 for axis in self.axes if axis.i == i}, "==", one.total, one.total))
            for i, _, one in own
            if one.compositions is not None
        ]
        self.has_conditions = any(one.when for one in variables.values())
        self._systems: dict[bytes, LinearSystem | None] = {}
        self._is_undecided = False  # True if the solver did not decide whether some system has a point

    @cached_property
    def whole(self) -> LinearSystem:
        """The constraints for points that have all variables."""
        return LinearSystem(self.axes, [*self.rules, *(rule for _, one, rule in self._sums if not one.when)])

    @cached_property
    def is_often_met(self) -> bool:
        """True if the constraints have parts of mixtures, and at least one unconstrained draw in 20 satisfies them."""
        if not self._sums:
            return False
        return bool(self.holds(self._draw(OFTEN_DRAWS, np.random.default_rng(0))).mean() >= 0.05)

    def has(self, rows: IntArray) -> Mask:
        """Return which numbers points have: the variable is active, and the part is not absent (m, k)."""
        positions = rows[:, self.columns]
        return (positions != INACTIVE) & ~(self._is_optional & (positions == 0))

    def values(self, rows: IntArray) -> Array:
        """Return the numbers of points in the constraints (m, k), 0 for inactive variables."""
        return np.column_stack([axis.values(rows[:, c]) for axis, c in zip(self.axes, self.columns, strict=True)])

    def holds(self, rows: IntArray) -> Mask:
        """Return which points satisfy all linear constraints (m,)."""
        return self.whole.holds(self.values(rows)) if len(rows) else np.zeros(0, dtype=bool)

    def redraw(self, rows: IntArray, rng: np.random.Generator) -> IntArray:
        """Return points whose numbers in the constraints are redrawn subject to them, if possible (m, columns)."""
        if self.is_often_met:
            return rows
        drawn, has = rows.copy(), self.has(rows)
        for mask in np.unique(has, axis=0):
            own = np.flatnonzero((has == mask).all(axis=1))
            if (system := self._system(mask)) is not None and len(own):
                drawn[np.ix_(own, self.columns[mask])] = system.sample(len(own), rng)
        self._round_parts(drawn)
        return self._apply_conditions(drawn, rng) if self.has_conditions else drawn

    def moves(self, row: IntArray) -> IntArray:
        """Return the results of steps that change several numbers at once (q, columns)."""
        mask = self.has(row[None])[0]
        system = self._system(mask)
        if system is None or not mask.any():
            return np.empty((0, len(row)), dtype=np.int64)
        found = system._to_positions(system.moves(self.values(row[None])[0][mask]))
        rows = np.repeat(row[None], len(found), axis=0)
        rows[:, self.columns[mask]] = found
        rows = rows[self.holds(rows) & (rows != row).any(axis=1)]
        return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]

    def _round_parts(self, rows: IntArray) -> None:
        """Make the parts of mixtures sum to their totals in whole steps."""
        for i, one, _ in self._sums:
            at = np.array([axis.i == i for axis in self.axes])
            cells = np.ix_(rows[:, self.columns[at][0]] != INACTIVE, self.columns[at])
            present = (rows[cells] > 0) | ~self._is_optional[at]
            rows[cells] = one.compositions.nearest(rows[cells].astype(np.float64), present)

    def refuse_infeasible(self) -> None:
        """Raise DomainError, naming contradictory constraints, if no branch of a space has a point.

        Without conditions there is one branch. With conditions, a number that a point may lack is relaxed to 0 or any
        number between its bounds: if the relaxation has no point, the constraints are rejected; otherwise a search of
        the space may still find a rare branch.
        """
        is_zero_valid = self.whole.holds(np.zeros((1, len(self.axes))))[0]
        for n_draws in BRANCH_DRAWS[: 1 + (self.has_conditions or bool(self._is_optional.any()))]:
            for mask in np.unique(self.has(self._draw(n_draws, np.random.default_rng(0))), axis=0):
                if self._system(mask) is not None or (is_zero_valid and not mask.any()):
                    return
        axes = [
            axis._replace(low=min(axis.low, 0.0), high=max(axis.high, 0.0), step=0.0)
            if axis.variable.when or axis.is_optional
            else axis
            for axis in self.axes
        ]
        widest, is_undecided = LinearSystem(axes, self.whole.rules), self._is_undecided
        try:
            if not is_undecided and widest.find_point() is not None:
                return
        except TimeoutError:
            is_undecided = True
        if is_undecided:
            warnings.warn(
                f"constraints: whether a point satisfies all of them was not decided in {SOLVER_SECONDS:g} seconds",
                stacklevel=count_own_frames(),
            )
            return
        conflict = widest.find_conflict()
        named = (" and " if len(conflict) == 2 else ", ").join(short_repr(widest.rules[r], 200) for r in conflict)
        few = {1: "", 2: "both "}.get(len(conflict), "all of ")
        raise DomainError(
            f"constraints: no point satisfies {few}{named}, within the bounds of the variables; leave one out, or "
            "widen the bounds"
        )

    def limit_shares(self, rows: IntArray, continuous: Mapping[int, int], shares: Array) -> list[Polytope]:
        """Return the polytope of allowed continuous coordinates for each point.

        continuous: the first coordinate of each variable with continuous coordinates.
        shares: continuous coordinates of the points (m, c).
        """
        values, has, c = self.values(rows), self.has(rows), shares.shape[1]
        own = [(j, axis, continuous[axis.i] + axis.column) for j, axis in enumerate(self.axes) if axis.i in continuous]
        free = [(j, at, *axis.shares) for j, axis, at in own if not axis.is_log]
        n_equal = sum(rule.relation == "==" for rule in self.rules)  # without the sums of mixtures
        given = (self.whole.equal[:n_equal], self.whole.total[:n_equal]), (self.whole.upper, self.whole.limit)
        fixed = [at for _, axis, at in own if axis.is_log]
        found = []
        for x, present, mine in zip(values, has, shares, strict=True):
            low, high = np.zeros(c), np.ones(c)
            low[fixed] = high[fixed] = np.nan_to_num(mine[fixed])
            rest, limits = x.copy(), list[Array]()
            for j, _, origin, _ in free:
                rest[j] = origin if present[j] else 0.0
            for weights, goals in given:
                matrix = np.zeros((len(weights), c))
                for j, at, _, span in free:
                    matrix[:, at] = weights[:, j] * span * present[j]
                kept = np.abs(matrix).max(axis=1, initial=0.0) > 0.0
                limits += [matrix[kept], (goals - weights @ rest)[kept]]
            found.append(Polytope(low, high, *limits))
        return found

    def _system(self, mask: Mask) -> LinearSystem | None:
        """Return the constraints for points that have some of the numbers; None if no point is known to exist."""
        key = mask.tobytes()
        if not mask.any():
            return None
        if key not in self._systems:
            axes = [axis for axis, has in zip(self.axes, mask, strict=True) if has]
            present = {axis.i for axis in axes}
            system = LinearSystem(axes, [*self.rules, *(rule for i, _, rule in self._sums if i in present)])
            is_known = system.table is not None and bool(system.table.ways[0][0])
            try:
                is_known = is_known or (not self._is_undecided and system.find_point() is not None)
            except TimeoutError:
                self._is_undecided = True
            self._systems[key] = system if is_known else None
        return self._systems[key]
