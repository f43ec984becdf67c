"""Variables whose values are numbers that sum to a total: shares of a mixture, and integers allocated to items.

A share is stored as a whole number of billionths of the total, so that sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_bool, check_integer, check_number, did_you_mean, short_repr
from bostruct.contracts import Array, DomainError, IntArray, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.choices import to_python
from bostruct.domains.space.clauses import When, check_when
from bostruct.domains.space.compositions import MAX_CELLS, Compositions
from bostruct.domains.space.variable import NO_DEFAULT, PartNumbers, Variable

GRID = 10**9  # steps of a share of a mixture
MOST_PARTS = 1_000
MOST_NEIGHBORS = 4_000  # the most directed pairs of parts that neighbors use, and the most moves of 3 or more amounts
MOST_KNOWN = 16  # the most values whose neighbors are cached
FINEST = 10  # the most halvings of the total in an amount that a neighbor moves
MOST_LISTED_TOTAL = 1_000  # integers of larger totals are continuous coordinates, which a search moves by gradients
MOST_SHARE = 1e300  # the largest total or share
SUM_TOLERANCE = 1e-6  # of sums of shares that users pass, relative to the total


class Composition(Variable):
    """A variable whose values are dicts from parts to numbers that sum to a total: the base of Mixture and Allocation.

    parts: the names of the parts.
    compositions: compositions of the columns: one for each part, and one more for the slack of an `Allocation`.
    """

    has_mutable_choices = True
    compositions: Compositions
    _names: tuple[str, ...]  # the arguments that files store, the parts first
    _pairs: Sequence[tuple[float, float]]  # the bounds of each part
    _max_parts: int | None

    def _build(self, compositions: Compositions, when: When | None, default: object) -> None:
        """Set the compositions; raise DomainError if there are fewer than two."""
        self.compositions, self.width = compositions, compositions.width
        self._known: dict[tuple[tuple[int, ...], bool], IntArray] = {}
        self.degrees = self.width - 1
        self.is_even = compositions.n_cells <= MAX_CELLS
        if compositions.total <= MOST_LISTED_TOTAL:
            self.n_codes = compositions.total + 1
        try:
            self._first = compositions.find_composition().tolist()
        except DomainError as error:
            raise DomainError(f"{self.kind}: {error}; widen bounds=, or allow more parts") from None
        if compositions.size < 2:
            raise DomainError(f"{self.kind}: expected two values or more, got bounds= that leave one; widen them")
        self.when = check_when(self.kind, when)
        self.default_columns = self.read_default(default)

    @property
    def size(self) -> int:
        """The number of values; an upper bound if the sum is too large for a table."""
        return self.compositions.size

    @property
    def n_continuous(self) -> int:
        return self.width if self.compositions.total > MOST_LISTED_TOTAL else 0

    @property
    def is_fine(self) -> bool:
        return self.compositions.total >= GRID and not self.compositions.is_sparse

    def find_discrete_changes(self, before: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
        if self.compositions.total < GRID:
            return np.ones(len(before), dtype=bool)
        return ((before > 0) != (after > 0)).any(axis=1) & self.compositions.is_sparse

    @property
    def is_countable(self) -> bool:
        return self.compositions.n_cells <= MAX_CELLS

    def shares(self, values: IntArray) -> Array:
        shares = values / float(self.compositions.total)
        if self.compositions.is_sparse:
            shares[(values == 0) & self.compositions.is_optional] = np.nan
        return shares

    def with_shares(self, values: IntArray, shares: Array) -> IntArray:
        present = ~self.compositions.is_optional | (values > 0)
        target = np.where(present, np.nan_to_num(shares), 0.0) * self.compositions.total
        return self.compositions.nearest(target, present)

    def share_bounds(self, values: IntArray) -> tuple[Array, Array]:
        present = ~self.compositions.is_optional | (values > 0)
        least, most = self.compositions.bounds
        total = float(self.compositions.total)
        return np.where(present, least, 0) / total, np.where(present, most, 0) / total

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        return self.compositions.sample(m, rng)

    def neighbors(self, columns: Sequence[int], large_steps: bool = False) -> IntArray:
        exchanges = large_steps and self.width * (self.width - 1) <= MOST_NEIGHBORS
        key = tuple(columns), large_steps
        if key not in self._known:  # searches count neighbors before they draw
            found = self.compositions.neighbors(columns, self._steps[large_steps], self._near_pairs, exchanges)
            self._known = dict([*self._known.items()][1 - MOST_KNOWN :]) | {key: found}
        return self._known[key]

    def move(self, columns: Sequence[int], share: float) -> list[int]:
        return self.compositions.move_pair(columns, share)

    def cross(self, mine: Sequence[int], theirs: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Return a weighted mean of two values, with the present parts of one of them."""
        first, second, weight = np.array(mine), np.array(theirs), rng.random()
        parent = first if rng.random() < 0.5 else second
        present = ~self.compositions.is_optional | (parent > 0)
        return self.compositions.nearest((weight * first + (1.0 - weight) * second)[None], present[None])[0].tolist()

    def fallback(self) -> list[int]:
        return list(self._first)

    def check(self, columns: Sequence[int]) -> None:
        if len(columns) != self.width or not self.compositions.holds(np.array([columns], dtype=np.int64))[0]:
            raise PointError(f"expected {self._expected()}, got the steps {short_repr(list(columns))}")

    def parse(self, value: object) -> list[int]:
        """Return the columns of a value; raise PointError, naming the part or the sum, for anything else."""
        if not isinstance(value, Mapping):
            raise PointError(f"expected a dict of {self._expected()}, got {short_repr(value)}")
        for name in value:
            if name not in self.parts:
                known = f"expected the parts {short_repr(list(self.parts), 200)}"
                raise PointError(f"unknown part {short_repr(name)}; {known}{did_you_mean(name, self.parts)}")
        return self._read([to_python(value.get(name, 0)) for name in self.parts])

    def decode(self, data: ParsedJson) -> list[int]:
        return self.parse(data)

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> list[int]:
        if description.get("kind") != self.kind or not isinstance(data, Mapping):
            raise PointError(f"its values changed, and {self.kind} cannot read the earlier values")
        return self.parse({name: one for name, one in data.items() if one or name in self.parts})

    def encode(self, columns: Sequence[int]) -> Json:
        return dict(self.present(columns))

    @property
    def arguments(self) -> str:
        shown = [(name, one) for name, one in self.describe().items() if name != self._names[0]]
        return ", ".join([short_repr(list(self.parts)), *(f"{name}={short_repr(one)}" for name, one in shown)])

    def describe(self) -> dict[str, Json]:
        """Return the parts, the total and the limits as JSON."""
        pairs = zip(self.parts, self._pairs, strict=True)
        bounds: Json = {name: list(pair) for name, pair in pairs if pair != (0, self.total)}
        found: dict[str, Json] = {self._names[0]: list(self.parts), "total": self.total}
        found |= {"bounds": bounds} if bounds else {}
        return found | ({} if self._max_parts is None else {"max_parts": self._max_parts})

    @classmethod
    def from_json(cls, data: ParsedJson) -> Self:
        return cls(**{name: data[name] for name in cls._names if name in data})

    def _read(self, numbers: list[float]) -> list[int]:
        """Return the columns of the values of all parts; raise PointError."""
        raise NotImplementedError

    def _expected(self) -> str:
        limit = self.compositions.max_parts
        at_most = "" if limit is None else f", at most {limit} of them above 0"
        return f"{len(self.parts)} parts that sum to {self.total}{at_most}, each within its bounds"

    def _refuse_parts(self, columns: IntArray, numbers: Sequence[float]) -> None:
        """Raise PointError, naming a part that is outside of its bounds, or too many parts; the sum is not checked."""
        least, most = self.compositions.bounds
        may_have = self.compositions.may_have(columns[None])[0]
        for i, name in enumerate(self.parts):
            if not may_have[i]:
                low, high = (self._unit * int(one[i]) for one in (least, most))
                zero = "0, or " if self.compositions.optional[i] else ""
                raise PointError(f"{name}: expected {zero}a number from {low:g} to {high:g}, got {numbers[i]!r}")
        present, limit = [name for i, name in enumerate(self.parts) if columns[i] > 0], self.compositions.max_parts
        if limit is not None and len(present) > limit:
            raise PointError(f"expected at most {limit} parts above 0, got {', '.join(present)}")

    @property
    def _unit(self) -> float:
        """The value of one step of a column."""
        return self.total / self.compositions.total

    @cached_property
    def _near_pairs(self) -> IntArray:
        """The pairs of parts between which neighbors move an amount; of many parts only those near in order (p, 2)."""
        w = self.width
        if w * (w - 1) <= MOST_NEIGHBORS:
            return np.column_stack(np.triu_indices(w, 1))
        spans = np.arange(1, max(1, MOST_NEIGHBORS // (2 * w)) + 1)
        first = np.tile(np.arange(w), len(spans))
        return np.column_stack([first, (first + np.repeat(spans, w)) % w])

    @cached_property
    def _steps(self) -> tuple[list[int], list[int]]:
        """The amounts that neighbors move, without and with large steps: 1, or 1/2, 1/4, ... of the total."""
        total, n_pairs = self.compositions.total, 2 * len(self._near_pairs)
        halvings = min(FINEST, max(2, MOST_NEIGHBORS // n_pairs))
        halves = list(dict.fromkeys(max(1, total >> k) for k in range(1, halvings + 1)))
        return (halves, halves) if self.n_continuous else ([1], list(dict.fromkeys([1, *halves])))


class Mixture(Composition):
    """A variable of shares that sum to a total: a recipe, a portfolio, a blend.

    A value is a dict from parts to shares whose `math.fsum` is the total. With `max_parts`, each part is 0 or within
    its bounds; otherwise a part with a lower bound above 0 is never 0. Shares are drawn uniformly from all allowed
    ones; with `max_parts` or `min_share`, first the number of parts above 0 is drawn, then the parts. Shares that agree
    to 1e-9 of the total are the same point.

    Parameters
    ----------
    parts : iterable of str
        2 to 1,000 names.
    total : float, default 1.0
        The sum, above 0, such as 1.0, or 100 for percentages.
    bounds : tuple of (float, float) or dict of them, optional
        The smallest and the largest share of every part, or of each part by name. A part that the dict lacks is
        unbounded.
    max_parts : int, optional
        The largest number of parts above 0. By default all.
    min_share : float or dict of float, optional
        The smallest share of a part that is not 0, of every part or by name.
    required : iterable of str, default ()
        Parts that are never 0.
    sum_tolerance : float, default 1e-6
        The largest relative deviation of the sum of your shares from the total; they are rescaled.
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError, TypeError, ValueError
        If an argument is invalid, or no shares satisfy all limits.
    """

    is_real = True
    _names = ("parts", "total", "bounds", "max_parts", "min_share", "required", "sum_tolerance")

    def __init__(
        self,
        parts: Iterable[str],
        *,
        total: float = 1.0,
        bounds: object = None,
        max_parts: int | None = None,
        min_share: object = None,
        required: Iterable[str] = (),
        sum_tolerance: float = SUM_TOLERANCE,
        when: When | None = None,
        default: object = NO_DEFAULT,
    ) -> None:
        self.parts = _check_parts("Mixture", parts)
        self.total = check_number("Mixture: total", total)
        if not 1e-300 < self.total < MOST_SHARE:
            raise DomainError(f"Mixture: total: expected a number above 0 and below {MOST_SHARE:g}, got {self.total}")
        self.sum_tolerance = check_number("Mixture: sum_tolerance", sum_tolerance, 0.0, 1.0)
        pairs = _read_bounds("Mixture", self.parts, bounds, 0.0, self.total)
        shares = _read_min_shares("Mixture", "min_share", self.parts, min_share, self.total)
        always = _read_required("Mixture", self.parts, required)
        limit = _check_max_parts("Mixture", max_parts, len(self.parts))
        self._pairs, self._min_shares = pairs, shares
        self._max_parts, self._required = limit, tuple(name for name in self.parts if name in always)
        least, most, optional = [], [], []
        for name, (low, high), share in zip(self.parts, pairs, shares, strict=True):
            may_lack = name not in always and (low == 0.0 or limit is not None) and (limit is not None or share > 0.0)
            floor = max(low, share if may_lack or name in always else low)
            steps = math.ceil(GRID * (floor / self.total) - 1e-6), math.floor(GRID * (high / self.total) + 1e-6)
            if steps[0] > steps[1] and floor <= high:  # a share between two steps
                steps = steps[0], steps[0]
            least.append(max(steps[0], 1) if may_lack or name in always else steps[0])
            most.append(steps[1])
            optional.append(may_lack)
        _check_reach("Mixture", self.parts, (least, most, optional), limit, (self.total, GRID))
        w = len(self.parts)
        self._build(Compositions(GRID, tuple(least), tuple(most), tuple(optional), (True,) * w, limit), when, default)

    def present(self, columns: Sequence[int]) -> Presented:
        """Return the shares by part, a new dict, whose `math.fsum` is the total."""
        low, high = np.array(self._pairs).T
        steps = np.asarray(columns, dtype=np.float64)
        shares = np.where(steps > 0, np.clip(steps * self.total / GRID, low, high), 0.0)
        for i in self._order(shares) * 3:  # the first takes the rounding error; a smaller share takes the finer rest
            if math.fsum(shares) == self.total:
                break
            shares[i] = min(max(shares[i] + math.fsum([self.total, *-shares]), low[i]), high[i])
        return PartNumbers(zip(self.parts, shares.tolist(), strict=True))

    def _order(self, shares: Array) -> list[int]:
        """Return the parts above 0, those farthest from their bounds first."""
        low, high = np.array(self._pairs).T
        order = np.argsort(-np.minimum(shares - low, high - shares), kind="stable")
        return [i for i in order.tolist() if shares[i] > 0]

    def describe(self) -> dict[str, Json]:
        found = super().describe()
        floors = {name: one for name, one in zip(self.parts, self._min_shares, strict=True) if one > 0.0}
        found |= {"min_share": floors} if floors else {}
        found |= {"required": list(self._required)} if self._required else {}
        return found | ({} if self.sum_tolerance == SUM_TOLERANCE else {"sum_tolerance": self.sum_tolerance})

    def _read(self, numbers: list[float]) -> list[int]:
        for name, one in zip(self.parts, numbers, strict=True):
            if isinstance(one, bool) or not isinstance(one, int | float) or not 0.0 <= one <= MOST_SHARE:
                raise PointError(f"{name}: expected a number from 0 to {self.total:g}, got {short_repr(one)}")
        found = math.fsum(numbers)
        if not found or not math.isclose(found, self.total, rel_tol=max(self.sum_tolerance, 1e-12)):
            raise PointError(f"expected shares that sum to {self.total:g}, got a sum of {found:.9g}{self._hint(found)}")
        target = np.array(numbers, dtype=np.float64) * (GRID / found)
        steps = np.rint(target).astype(np.int64)
        least, most = self.compositions.bounds
        moved = np.abs(target - np.array(numbers) * (GRID / self.total))  # by rescaling
        slack = moved + GRID * min(self.sum_tolerance, SUM_TOLERANCE) + 1.0
        is_low = (steps < least) & (steps >= least - slack) & ((steps > slack) | ~self.compositions.is_optional)
        near = np.where(is_low, least, np.where((steps > most) & (steps <= most + slack), most, steps))
        self._refuse_parts(near, numbers)
        if 0 < abs(lacking := GRID - int(near.sum())) <= self.width:  # the rounding error that `present` added
            near[self._order(target * self._unit)[0]] += lacking
        if near.sum() == GRID and self.compositions.holds(near[None])[0]:
            return near.tolist()
        present = ~self.compositions.is_optional | (near > 0)
        return self.compositions.nearest(target[None], present[None])[0].tolist()

    def _hint(self, found: float) -> str:
        for other in (1.0, 100.0):
            if self.total != other and math.isclose(found, other, rel_tol=0.02):
                return f"; for shares that sum to {other:g}, pass total={other:g}"
        if math.isclose(found, self.total, rel_tol=0.05):
            return f"; Mixture(..., sum_tolerance={abs(found / self.total - 1.0):.1g}) or more rescales them"
        return ""


class Allocation(Composition):
    """A variable of whole numbers that sum to a total: units of a budget, machines, shifts, layers.

    A value is a dict from items to integers. All values have the same probability if a table of at most 10^7 partial
    sums can count them; otherwise they are drawn as for a `Mixture`. With `max_parts`, each item is 0 or within its
    bounds.

    Parameters
    ----------
    items : iterable of str
        2 to 1,000 names.
    total : int
        The sum, 1 to 10^9.
    bounds : tuple of (int, int) or dict of them, optional
        The smallest and the largest number of every item, or of each item by name. An item that the dict lacks is
        unbounded.
    max_parts : int, optional
        The largest number of items above 0. By default all.
    slack : bool, default False
        Whether the sum may be below the total.
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError, TypeError, ValueError
        If an argument is invalid, or no numbers satisfy all limits.
    """

    _names = ("items", "total", "bounds", "max_parts", "slack")

    def __init__(
        self,
        items: Iterable[str],
        total: int,
        *,
        bounds: object = None,
        max_parts: int | None = None,
        slack: bool = False,
        when: When | None = None,
        default: object = NO_DEFAULT,
    ) -> None:
        self.parts = _check_parts("Allocation", items)
        whole = check_integer("Allocation: total", total, 1, GRID)
        self.total, self.slack = whole, check_bool("Allocation: slack", slack)
        pairs = [(int(a), int(b)) for a, b in _read_bounds("Allocation", self.parts, bounds, 0, whole)]
        limit = _check_max_parts("Allocation", max_parts, len(self.parts))
        self._pairs, self._max_parts = pairs, limit
        more = int(self.slack)
        optional = [limit is not None] * len(pairs)
        least = [max(low, 1) if limit is not None else low for low, _ in pairs] + [0] * more
        most = [high for _, high in pairs] + [whole] * more
        optional += [False] * more
        _check_reach("Allocation", self.parts, (least, most, optional), limit, (whole, whole))
        counted = (True,) * len(pairs) + (False,) * more
        self._build(Compositions(whole, tuple(least), tuple(most), tuple(optional), counted, limit), when, default)

    def present(self, columns: Sequence[int]) -> Presented:
        """Return the numbers by item, a new dict."""
        return PartNumbers((name, int(one)) for name, one in zip(self.parts, columns, strict=False))

    def describe(self) -> dict[str, Json]:
        return super().describe() | ({"slack": True} if self.slack else {})

    def _read(self, numbers: list[float]) -> list[int]:
        columns = []
        for name, one in zip(self.parts, numbers, strict=True):
            is_number = isinstance(one, int | float) and not isinstance(one, bool)
            if not is_number or not 0 <= one <= MOST_SHARE or int(one) != one:
                raise PointError(f"{name}: expected an integer from 0 to {self.total}, got {short_repr(one)}")
            columns.append(int(one))
        found = sum(columns)
        if found > self.total or (found < self.total and not self.slack):
            limit = f"at most {self.total}" if self.slack else f"{self.total}"
            raise PointError(f"expected integers that sum to {limit}, got a sum of {found}")
        columns += [int(self.total) - found] * self.slack
        self._refuse_parts(np.array(columns, dtype=np.int64), numbers)
        return columns

    def _expected(self) -> str:
        expected = super()._expected()
        return expected.replace("sum to", "sum to at most") if self.slack else expected


def _check_parts(kind: str, parts: object) -> tuple[str, ...]:
    """Return the names of parts; raise DomainError unless they are 2 to 1,000 distinct strings."""
    if isinstance(parts, str | bytes | Mapping) or not isinstance(parts, Iterable):
        raise DomainError(f"{kind}: expected a list of names, got {short_repr(parts)}")
    names = tuple(parts)
    for name in names:
        if not isinstance(name, str) or not name:
            raise DomainError(f"{kind}: expected names that are non-empty strings, got {short_repr(name)}")
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise DomainError(f"{kind}: expected distinct names, got {twice!r} twice")
    if not 2 <= len(names) <= MOST_PARTS:
        raise DomainError(f"{kind}: expected 2 to {MOST_PARTS} names, got {len(names)}")
    return names


def _check_max_parts(kind: str, max_parts: object, n: int) -> int | None:
    """Return the most parts above 0, None for all; raise ValueError unless it is from 1 to n."""
    if max_parts is None:
        return None
    limit = check_integer(f"{kind}: max_parts", max_parts, 1, n)
    return None if limit == n else limit


def _by_part(kind: str, argument: str, parts: Sequence[str], given: object) -> dict[str, Any]:
    """Return a user's setting of each part, given once for all or as a mapping; raise DomainError for unknown parts."""
    if not isinstance(given, Mapping):
        return {} if given is None else dict.fromkeys(parts, given)
    for name in given:
        if name not in parts:
            raise DomainError(
                f"{kind}: {argument}: unknown part {short_repr(name)}; expected some of "
                f"{short_repr(list(parts), 200)}{did_you_mean(name, parts)}"
            )
    return dict(given)


def _read_bounds(
    kind: str, parts: Sequence[str], bounds: object, lowest: float, highest: float
) -> list[tuple[float, float]]:
    """Return the bounds of each part; raise DomainError unless they are a pair of numbers within the range."""
    given, found = _by_part(kind, "bounds", parts, bounds), []
    for name in parts:
        own = given.get(name, (lowest, highest))
        is_pair = isinstance(own, Iterable) and not isinstance(own, str)
        pair: tuple[Any, ...] = tuple(map(to_python, own)) if is_pair else (own,)
        are_numbers = len(pair) == 2 and all(type(one) in (int, float) and abs(one) < math.inf for one in pair)
        if isinstance(lowest, int) and are_numbers:
            are_numbers = all(int(one) == one for one in pair)
        if not are_numbers or not lowest <= pair[0] <= pair[1]:
            numbers = "integers" if isinstance(lowest, int) else "numbers"
            raise DomainError(
                f"{kind}: bounds: {name}: expected {numbers} (low, high) with {lowest:g} <= low <= high, got "
                f"{short_repr(own)}"
            )
        if pair[0] > highest:
            raise DomainError(
                f"{kind}: bounds: {name}: expected a lower bound up to the total of {highest:g}, got "
                f"{short_repr(own)}; for percentages, pass total=100"
            )
        found.append((pair[0], min(pair[1], highest)))
    return found


def _read_min_shares(kind: str, argument: str, parts: Sequence[str], given: object, highest: float) -> list[float]:
    """Return a number for each part, 0 by default; raise DomainError unless it is a number within the range."""
    found = []
    for name in parts:
        one = to_python(_by_part(kind, argument, parts, given).get(name, 0.0))
        if type(one) not in (int, float) or not 0.0 <= one <= highest:  # type: ignore[operator]  # a number by now
            raise DomainError(
                f"{kind}: {argument}: {name}: expected a number from 0 to {highest:g}, got {short_repr(one)}"
            )
        found.append(float(one))  # type: ignore[arg-type]  # a number by now
    return found


def _read_required(kind: str, parts: Sequence[str], required: Iterable[str]) -> frozenset[str]:
    names = (
        [required] if isinstance(required, str) else list(required) if isinstance(required, Iterable) else [required]
    )
    if not all(isinstance(name, str) for name in names):
        raise DomainError(f"{kind}: required: expected names of parts, got {short_repr(required)}")
    return frozenset(_by_part(kind, "required", parts, dict.fromkeys(names)))


def _check_reach(
    kind: str,
    parts: Sequence[str],
    columns: tuple[Sequence[int], Sequence[int], Sequence[bool]],
    limit: int | None,
    scale: tuple[float, int],
) -> None:
    """Raise DomainError, naming the sum, if the bounds of the parts cannot reach the total.

    columns: the smallest and the largest value of each part, in steps, and whether it may be 0.
    scale: the total, and the number of its steps.
    """
    least, most, optional = columns
    total, steps = scale
    narrow = next(
        (name for name, low, high, may in zip(parts, least, most, optional, strict=False) if low > high), None
    )
    if narrow is not None:
        i = parts.index(narrow)
        raise DomainError(
            f"{kind}: bounds: {narrow}: expected an upper bound of at least {total * least[i] / steps:g}, the smallest "
            f"number above 0 that it may have, got {total * most[i] / steps:g}; raise it, or remove the part"
        )
    always = [low for low, may in zip(least, optional, strict=True) if not may]
    highest = sorted((high for high, may in zip(most, optional, strict=True) if may), reverse=True)
    n_more = len(highest) if limit is None else max(0, limit - sum(low > 0 for low in always))
    if limit is not None and sum(low > 0 for low in always) > limit:
        raise DomainError(f"{kind}: max_parts: expected at least the number of parts that are never 0, got {limit}")
    reach = sum(high for high, may in zip(most, optional, strict=True) if not may) + sum(highest[:n_more])
    if reach < steps:
        which = f"{limit} parts" if limit is not None else "all parts"
        raise DomainError(
            f"{kind}: bounds: expected upper bounds that reach the total of {total:g}; those of {which} sum to at most "
            f"{total * reach / steps:g}; raise them, or lower total="
        )
    if sum(always) > steps:
        raise DomainError(
            f"{kind}: bounds: expected lower bounds with a sum up to the total of {total:g}; they sum to "
            f"{total * sum(always) / steps:g}; lower them, or raise total="
        )
