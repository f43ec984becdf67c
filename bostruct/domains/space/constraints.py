"""Count the known constraints of a space that hold at a point: opaque predicates, each call of which is counted."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_answer, short_repr
from bostruct.contracts import IntArray, PredicateError
from bostruct.domains.space.call_limit import call_limit, limit_calls
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.conditions import Conditions
from bostruct.domains.space.single_changes import Layout, SpaceBatch
from bostruct.domains.space.variable import ABSENT, Variable
from bostruct.domains.space.when import describe_when, predicate_name

Constraint = Callable[[dict[str, Any]], bool]
Point = TypeVar("Point")


COUNTED_CALLS = 10_000  # beyond any limit, to say how many draws satisfy each constraint
WORK = 5_000_000  # most variables looked at by one kind of search


class Survey(NamedTuple):
    """The findings of a search from a fixed seed in a constrained space, a function of the space alone.

    points: a few valid points, integer rows (k, columns); none where none was found.
    uniform_hits: True where one of the uniform draws was valid.
    calls: how many calls of predicates it took.
    refusal: what was tried and how near it came, in words.
    """

    points: IntArray
    uniform_hits: bool
    calls: int
    refusal: str


class ConstrainedProduct(Protocol):
    """The view of a `Space` that drawing under constraints needs: variables, predicates, and points in both forms."""

    @property
    def variables(self) -> Mapping[str, Variable]: ...
    @property
    def constraints(self) -> Sequence[Constraint]: ...
    @property
    def d(self) -> int: ...
    @property
    def n_choices(self) -> IntArray: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def n_points(self) -> int: ...
    @property
    def n_continuous(self) -> int: ...
    @property
    def enumerable(self) -> bool: ...
    @property
    def positions(self) -> Mapping[str, int]: ...
    @property
    def mutable_names(self) -> Sequence[str]: ...
    @property
    def survey(self) -> Survey: ...
    @property
    def conditions(self) -> Conditions: ...
    def enumerate(self) -> IntArray: ...
    def join(self, *batches: SpaceBatch) -> IntArray: ...
    def sample(self, m: int, rng: np.random.Generator) -> IntArray: ...
    def sample_freely(self, m: int, rng: np.random.Generator) -> IntArray: ...
    def present(self, x: IntArray) -> dict[str, Any]: ...
    def keys(self, batch: IntArray) -> list[Hashable]: ...
    def from_keys(self, keys: Collection[Hashable]) -> IntArray: ...


def work_limit(space: ConstrainedProduct) -> int:
    """Return how many points one kind of search may look at, so that giving up takes a second or two.

    space: `Space`; the more variables and constraints it has, the fewer points.
    """
    return WORK // (space.d + 5 * len(space.constraints))


def count_satisfied_rules(space: ConstrainedProduct, xs: IntArray, rules: Sequence[Constraint]) -> IntArray:
    """Count the rules that hold at each point -> (m,); raises DomainError where one itself fails.

    space: `Space`.
    xs: integer rows (m, d).
    rules: predicates of a point as a dict of the user's values.
    """
    broken = [len(find_broken(space, point, rules)) for point in _present_rows(space, xs)]
    return len(rules) - np.array(broken, dtype=np.int64)


def count_within_limit(space: ConstrainedProduct, xs: IntArray) -> IntArray:
    """Count the constraints that hold at each point -> (m,); raises DomainError where one itself fails.

    None counts as one that holds, unasked, once the limit of calls is reached.

    space: `Space`.
    xs: integer rows (m, d).
    """
    counts, limit = np.zeros(len(xs), dtype=np.int64), call_limit()
    for i, point in enumerate(_present_rows(space, xs)):
        if limit.is_reached:
            break
        counts[i] = len(space.constraints) - len(find_broken(space, point, space.constraints))
    return counts


def valid_mask(space: ConstrainedProduct, xs: IntArray) -> npt.NDArray[np.bool_]:
    """Tell for each point whether all constraints hold -> (m,) of bool; raises DomainError where one itself fails.

    Points are told invalid, unasked, once the limit of calls is reached.

    space: `Space`.
    xs: integer rows (m, d).
    """
    return count_until_broken(space, xs) == len(space.constraints)


def count_until_broken(space: ConstrainedProduct, xs: IntArray) -> IntArray:
    """Count the constraints that hold at each point before the first broken one, which is the last one called -> (m,).

    -1 for points that are not checked because the limit of calls is reached.

    space: `Space`.
    xs: integer rows (m, d).
    """
    counts, limit = np.full(len(xs), -1, dtype=np.int64), call_limit()
    for i, point in enumerate(_present_rows(space, xs)):
        if limit.is_reached:
            break
        holds = 0
        for rule in space.constraints:
            if not _satisfies(space, point, rule):
                break
            holds += 1
        counts[i] = holds
    return counts


def describe_draws(
    rules: Sequence[Constraint], points: Sequence[Point], satisfies: Callable[[Point, Constraint], bool]
) -> str:
    """Return how many draws satisfied each constraint, whatever the order of the constraints, as a clause of a message.

    rules: predicates. One that fails at a point is not satisfied there, for another may exclude the point.
    points: the draws; of many constraints fewer are taken, so that 10,000 calls do, which no limit counts.
    satisfies: asks a predicate about a point.
    """

    def ask_one(point: Point, rule: Constraint) -> bool:
        with suppress(PredicateError):
            return satisfies(point, rule)
        return False

    taken = points[: max(1, COUNTED_CALLS // len(rules))]
    with limit_calls(math.inf, reserved=0):
        held = np.array([[ask_one(point, rule) for rule in rules] for point in taken]).reshape(-1, len(rules))
    counts = (f"{np.count_nonzero(column)} satisfied {label_rules(rules, [i])}" for i, column in enumerate(held.T))
    together = f", {np.count_nonzero(held.all(axis=1))} all of them" if len(rules) > 1 else ""
    return f"of {len(held)} draws, {', '.join(counts)}{together}"


def label_rules(rules: Sequence[Constraint], which: Sequence[int]) -> str:
    """Return the number, from 1, and the name of constraints for messages.

    rules: all predicates, in the user's order.
    which: positions of at least one of them.
    """
    names = ", ".join(f"{i + 1} ({predicate_name(rules[i])})" for i in which)
    return f"constraint{'s' if len(which) > 1 else ''} {names}"


def satisfies_all(space: ConstrainedProduct, point: dict[str, Any]) -> bool:
    """Tell whether all constraints hold at a point; raises DomainError where one itself fails.

    space: `Space`.
    point: dict of the user's values.
    """
    return all(_satisfies(space, point, rule) for rule in space.constraints)


def find_broken(space: ConstrainedProduct, point: dict[str, Any], rules: Sequence[Constraint]) -> list[int]:
    """Return the positions of the rules that a point breaks; raises DomainError if one itself fails.

    space: `Space`.
    point: dict of the user's values.
    rules: predicates, all of which are called.
    """
    return [i for i, rule in enumerate(rules) if not _satisfies(space, point, rule)]


def _satisfies(space: ConstrainedProduct, point: dict[str, Any], rule: Constraint) -> bool:
    """Ask a predicate about a copy of the point, so that it can change neither the space nor what others are asked."""
    own = point.copy()
    for name in space.mutable_names:
        if name in own:
            own[name] = copy.deepcopy(own[name])
    return ask(rule, own, space.variables)


def ask(rule: Constraint, point: dict[str, Any], variables: Mapping[str, Variable]) -> bool:
    """Ask a predicate, which counts as one call.

    rule: the predicate.
    point: dict of the user's values, which the predicate may change.
    variables: of the space by name, for messages.

    Raises PredicateError where the predicate fails.
    """
    call_limit().left -= 1
    try:
        return check_answer(rule(point))
    except Exception as error:
        raise _failure(rule, point, variables, error) from error


def _failure(
    rule: Constraint, point: dict[str, Any], variables: Mapping[str, Variable], error: Exception
) -> PredicateError:
    """Say which rule failed, and where it asked for a variable that the point has not."""
    name = error.args[0] if isinstance(error, KeyError) and error.args else None
    if isinstance(name, str) and name in variables and name not in point:
        return PredicateError(
            f"constraint {predicate_name(rule)} asks for {name}, which {short_repr(point, 200)} has not: it exists "
            f"where {describe_when(variables[name].when)}; use point.get({name!r})"
        )
    return PredicateError(f"constraint {predicate_name(rule)} failed on {short_repr(point, 200)}: {error!r}")


def _present_rows(space: ConstrainedProduct, xs: IntArray) -> Iterator[dict[str, Any]]:
    """Yield points as dicts of the space's own choices, of which `_satisfies` makes copies."""
    variables = space.variables
    if not space.conditions and all(isinstance(v, ChoiceVariable) for v in variables.values()):
        choices = [(name, v.choices) for name, v in variables.items() if isinstance(v, ChoiceVariable)]
        for row in np.asarray(xs).tolist():
            yield {name: own[vertex] for (name, own), vertex in zip(choices, row, strict=True)}
        return
    for row in np.asarray(xs):
        split = zip(variables.items(), space.layout.split(row), strict=True)
        yield {name: v.present(own) for (name, v), own in split if own[0] != ABSENT}
