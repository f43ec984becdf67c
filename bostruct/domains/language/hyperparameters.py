"""Define hyperparameters: independent values and values derived from them.

A permutation is represented by its position in lexicographic order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from bostruct.checks import check_integer, check_number, short_repr
from bostruct.domains.language.errors import ForeignHyperparameter, LanguageError, NameClash
from bostruct.domains.language.graph import (
    DependentHyperparameter,
    Discrete,
    Fragment,
    Hyperparameter,
    build_into,
    current_fragment,
    is_hyperparameter,
    open_fragment,
)
from bostruct.domains.language.values import Value, as_name
from bostruct.domains.space.permutation import count_rearrangements, list_rearrangements


def order_at(position: int, k: int) -> tuple[int, ...]:
    """Return the permutation of 0 to k - 1 at a position in lexicographic order.

    position: in 0..k! - 1.
    k: number of items, at least 0.
    """
    left = list(range(k))
    order = []
    for i in range(k - 1, -1, -1):
        index, position = divmod(position, math.factorial(i))
        order.append(left.pop(index))
    return tuple(order)


def read_order(h: Discrete, values: Mapping[str, Value]) -> tuple[int, ...] | None:
    """Return the permutation that a choice encodes, or None if it encodes none.

    A permutation that is chosen in steps belongs to the first step, and is None until all steps have values; the other
    steps return an empty tuple.
    """
    if h.steps and h is not h.steps[0]:
        return ()
    if not h.steps or any(step.path not in values for step in h.steps):
        return None
    return _order_of_steps(tuple(values[step.path] for step in h.steps), h.things)


@lru_cache(maxsize=10_000)
def _order_of_steps(values: tuple[int, ...], k: int) -> tuple[int, ...]:
    return order_at(values[0] if len(values) == 1 else position_of_steps(values), k)


def position_of_steps(values: tuple[int, ...]) -> int:
    """Return the position of a permutation in lexicographic order, from the values of its steps."""
    k = len(values) + 1
    return sum(value * math.factorial(k - 1 - i) for i, value in enumerate(values))


def other_values(h: Discrete, value: Value) -> tuple[Value, ...]:
    """Return the values that are one change away.

    These are all other values. For a permutation in one choice, they are one swap, move or reversal away.
    """
    if _is_whole_order(h):
        return _nearby_positions(value, h.things)
    return tuple(other for other in h.values if other != value)


def count_other_values(h: Discrete) -> int:
    """Return the number of values that are one change away."""
    return count_rearrangements(h.things) if _is_whole_order(h) else len(h.values) - 1


def _is_whole_order(h: Discrete) -> bool:
    return h.steps == (h,)


@lru_cache(maxsize=2_000)
def _nearby_positions(position: int, k: int) -> tuple[int, ...]:
    near = np.array(order_at(position, k))[list_rearrangements(k)]
    smaller_after = [(near[:, i : i + 1] > near[:, i + 1 :]).sum(axis=1) for i in range(k)]
    return tuple((np.array([math.factorial(k - 1 - i) for i in range(k)]) @ smaller_after).tolist())


MAX_INTEGERS = 1_000_000  # values of an IntRange
MAX_PERMUTED = 100  # permuted items
MAX_LISTED_ORDERS = 8  # permuted items that one choice can encode
ROUNDING_DIGITS = (12, 15, 17)
LARGE_NUMBER = 1e307  # the difference of larger numbers may overflow


D = Discrete


def Bool(name: str | None = None) -> Discrete:
    """Return a hyperparameter that is 0 or 1.

    Parameters
    ----------
    name : str, optional
        Key in traces, as in `D`.
    """
    return Discrete((0, 1), name)


def OneOfK(k: int, name: str | None = None) -> Discrete:
    """Return a hyperparameter with the values 0 to k - 1, for example for `siso_or` with k functions.

    Parameters
    ----------
    k : int
        Number of values, at least 1.
    name : str, optional
        Key in traces, as in `D`.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """
    return Discrete(range(check_integer("k", k, 1)), name)


def OneOfKFactorial(k: int, name: str | None = None) -> Hyperparameter:
    """Return a hyperparameter with the values 0 to k! - 1, the positions of all permutations, for `siso_permutation`.

    Parameters
    ----------
    k : int
        Number of items, 1 to 100. Up to 8 items, the position is one choice. For more, it is derived from k - 1
        choices, with keys ``order_0`` and so on, or prefixed by `name`: which item is first, which of the remaining
        items is second, and so on. The order of choice is then also lexicographic. Models compare permutations by the
        pairs of items in a different order. A change of a permutation in one choice swaps two items, moves one, or
        reverses a segment.
    name : str, optional
        Key in traces, as in `D`, or the prefix of its steps' keys.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """
    if check_integer("k", k, 1, MAX_PERMUTED) <= MAX_LISTED_ORDERS:
        (whole,) = _join_steps([Discrete(range(math.factorial(k)), name)], k)
        return whole
    digits = _join_steps([Discrete(range(k - i), f"{name or 'order'}_{i}") for i in range(k - 1)], k)

    def position(dh: dict[str, Value]) -> int:
        return position_of_steps(tuple(dh[f"{i:02}"] for i in range(k - 1)))

    return DependentHyperparameter(position, {f"{i:02}": digit for i, digit in enumerate(digits)}, name)


def _join_steps(steps: list[Discrete], k: int) -> list[Discrete]:
    """Mark hyperparameters as the steps of one permutation of k items; one item has no steps."""
    for h in steps if k > 1 else ():
        h.things, h.steps = k, tuple(steps)
    return steps


def IntRange(low: int, high: int, steps: int | None = None, *, log: bool = False, name: str | None = None) -> Discrete:
    """Return an ordered hyperparameter of integers from low to high, inclusive.

    Parameters
    ----------
    low, high : int
        Bounds with low <= high; low >= 1 if `log` is True.
    steps : int, optional
        Approximate number of evenly spaced values. None for all integers, at most a million, or 8 if `log` is True.
    log : bool, default False
        True for even spacing on a logarithmic scale.
    name : str, optional
        Key in traces, as in `D`.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """
    low = check_integer("low with log=True" if log else "low", low, 1 if log else -(2**53))
    high = check_integer("high", high, low, 2**53)
    if steps is None and not log:
        if high - low >= MAX_INTEGERS:
            raise ValueError(
                f"steps: expected a number for {low} to {high}, more than {MAX_INTEGERS} integers; got None"
            )
        return Discrete(range(low, high + 1), name, ordered=True)
    steps = check_integer("steps", min(8, high - low + 1) if steps is None else steps, 1, MAX_INTEGERS)
    last = max(steps - 1, 1)
    if log:
        inner = {min(max(round(x), low), high) for x in _even_grid(low, high, steps, log)[:-1]}
    else:
        inner = {round(low + Fraction((high - low) * i, last)) for i in range(1, last)}
    return Discrete(sorted({low, *inner, *((high,) if steps > 1 else ())}), name, ordered=True)


def FloatRange(low: float, high: float, steps: int, *, log: bool = False, name: str | None = None) -> Discrete:
    """Return an ordered hyperparameter of evenly spaced numbers from low to high, inclusive.

    Numbers between low and high are rounded to 12 digits, or to more if they would otherwise be equal.

    Parameters
    ----------
    low, high : float
        Finite bounds with low <= high; low > 0 if `log` is True.
    steps : int
        Number of values, at least 1. There are fewer if the interval contains fewer floats.
    log : bool, default False
        True for even spacing on a logarithmic scale.
    name : str, optional
        Key in traces, as in `D`.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """
    low = check_number("low with log=True" if log else "low", low, above=0.0 if log else -math.inf)
    high = check_number("high", high, low)
    return Discrete([*dict.fromkeys(_even_grid(low, high, check_integer("steps", steps, 1), log))], name, ordered=True)


def _even_grid(low: float, high: float, steps: int, log: bool) -> list[float]:
    """Return evenly spaced values from low to high, ascending."""
    if steps == 1:
        return [float(low)]
    scale = 1.0 if max(abs(low), abs(high)) < LARGE_NUMBER else 0.5
    ends = low * scale, high * scale
    grid = np.geomspace(low, high, steps) if log else np.clip(np.linspace(*ends, steps), *ends) / scale
    raw = np.clip(grid[1:-1], low, high).tolist()
    for digits in ROUNDING_DIGITS:
        inner = [float(f"{x:.{digits}g}") for x in raw]  # the same digits on every machine
        whole = [float(low), *inner, float(high)]
        if all(a < b for a, b in pairwise(whole)):
            return whole
    return sorted([float(low), *raw, float(high)])


class HyperparameterSharer:
    """A dictionary of hyperparameters that substitutions share, after Negrinho et al. 2019.

    A hyperparameter belongs to the part whose function registers it, or to the whole space if it is registered outside
    of any part. Its path in traces therefore does not depend on which substitution uses it first.
    """

    def __init__(self) -> None:
        self._homes: dict[str, str] = {}  # name -> path of the part that registered it
        self._makers: dict[str, Callable[[], Hyperparameter]] = {}  # functions registered outside of any part

    def register(self, hyperp_name: str, hyperp_fn: Callable[[], Hyperparameter]) -> None:
        """Register a hyperparameter by name.

        Parameters
        ----------
        hyperp_name : str
            Name for `get`, and the key in traces if the hyperparameter has no name.
        hyperp_fn : callable
            Function without arguments that returns the hyperparameter.

        Raises
        ------
        LanguageError
            If an argument is invalid.
        """
        name = as_name(hyperp_name)
        if name is None or not callable(hyperp_fn):
            raise LanguageError(f"register: expected a name and a function, got {hyperp_name!r}, {hyperp_fn!r}")
        home = open_fragment()
        if name in self._makers or (home is not None and (None, name) in home.shared):
            raise NameClash(f"register: {name!r} is registered already{f' in {home}' if home else ''}")
        if home is None:
            self._makers[name] = hyperp_fn
        else:
            self._homes[name] = home.path
            home.shared[None, name] = _make_shared(home, name, hyperp_fn)

    def get(self, hyperp_name: str) -> Hyperparameter:
        """Return a registered hyperparameter, for a module of the part under construction.

        Parameters
        ----------
        hyperp_name : str
            The registered name.

        Raises
        ------
        LanguageError
            If an argument is invalid.
        """
        home = current_fragment(f"the hyperparameter {hyperp_name!r}")
        if hyperp_name in self._makers:
            while home.host is not None:
                home = home.host.fragment
            if (self, hyperp_name) not in home.shared:
                home.shared[self, hyperp_name] = _make_shared(home, hyperp_name, self._makers[hyperp_name])
            return home.shared[self, hyperp_name]
        if hyperp_name not in self._homes:
            known = ", ".join([*self._homes, *self._makers]) or "none"
            raise LanguageError(f"get: expected a registered name ({known}), got {hyperp_name!r}")
        here = home
        while (None, hyperp_name) not in home.shared or home.path != self._homes[hyperp_name]:
            if home.host is None:
                raise ForeignHyperparameter(
                    f"{hyperp_name!r} is registered in {self._homes[hyperp_name] or 'another space'}, "
                    f"which does not enclose {here}"
                )
            home = home.host.fragment
        return home.shared[None, hyperp_name]


def _make_shared(home: Fragment, name: str, make: Callable[[], Hyperparameter]) -> Hyperparameter:
    """Make a hyperparameter that belongs to a part, even if the part is complete."""
    before = len(home.hyperparameters)
    with build_into(home):
        made = make()
    if not is_hyperparameter(made):
        raise LanguageError(f"{name}: expected a function that makes a hyperparameter, got {short_repr(made)}")
    taken = {h.path for h in home.hyperparameters[:before]}
    for i, h in enumerate(home.hyperparameters[before:]):
        h.name = h.name or (name if h is made else f"{name}-{i}")
        if home.closed:
            h.path = home.child_path(h.name)
            if h.path in taken:
                raise NameClash(f"two hyperparameters of {home} are called {h.name!r}")
            taken.add(h.path)
    return made


def independent_ancestors(h: Hyperparameter) -> tuple[Discrete, ...]:
    """Return the independent hyperparameters that h depends on, or h itself if it is independent.

    They are in breadth-first order, by local name.
    """
    if isinstance(h, Discrete):
        return (h,)
    queue: list[Hyperparameter] = [h]
    known: set[Hyperparameter] = {h}
    for one in queue:  # grows during iteration
        if isinstance(one, DependentHyperparameter):
            queue += [parent for parent in dict.fromkeys(one.parents.values()) if parent not in known]
            known.update(one.parents.values())
    return tuple(one for one in queue if isinstance(one, Discrete))
