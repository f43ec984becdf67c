"""Spaces that contain other domains: numbers and choices form one row, and each other domain is a part.

A condition of a variable on a part is represented by a binary variable, which is true if the condition holds.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from bostruct.checks import check_draw, did_you_mean, hide_addresses, short_repr, try_mutation
from bostruct.contracts import (
    INFINITE,
    AtLeast,
    Batch,
    Count,
    Domain,
    DomainError,
    Exact,
    IntArray,
    Json,
    ParsedJson,
    Point,
    PointError,
    PredicateError,
    Presented,
    SpaceExhausted,
    draw_unseen,
)
from bostruct.display import html_table, show_all_parts, show_parts, show_rules
from bostruct.domains.joint import Joint, JointPoint, as_part, read_part
from bostruct.domains.part_choices import PartChoices, PartDecisions
from bostruct.domains.space.call_limit import call_limit, limit_calls, limit_search, release_calls
from bostruct.domains.space.clauses import OneOf, ask_predicate, describe_when, predicate_name
from bostruct.domains.space.conditions import check_constraints, name_levels, refuse_contradictions
from bostruct.domains.space.constraints import Constraint, ask, describe_draws
from bostruct.domains.space.discrete import Binary
from bostruct.domains.space.fixed import fix_constraints, fix_variables
from bostruct.domains.space.levels import note_under
from bostruct.domains.space.points import (
    NOTHING,
    OWN,
    check_left_out,
    check_part_left_out,
    fill_row,
    read_contents,
    split_values,
)
from bostruct.domains.space.registry import is_part, variable
from bostruct.domains.space.sampling import draw_listed
from bostruct.domains.space.space import Space as Space
from bostruct.domains.space.variable import INACTIVE, Variable

MAX_REMEMBERED = 10_000  # results of one test


@dataclass(frozen=True)
class PartTest:
    """A test of one part of a point, which is a condition of variables.

    label: name of the binary variable that is true if the test holds.

    Raises DomainError if the test is a point that the domain does not contain.
    """

    label: str
    part: int
    owner: str = field(compare=False)
    name: str = field(compare=False)
    domain: Domain = field(compare=False, repr=False)
    test: object = field(hash=False)

    def __post_init__(self) -> None:
        if isinstance(self.test, OneOf) or not callable(self.test):
            _ = self._keys  # invalid values are rejected now

    def holds(self, x: Point) -> bool:
        """Return whether the test holds.

        Raises PredicateError if the predicate itself fails.
        """
        key = self.domain.key(x)
        if key not in self._answers:
            if len(self._answers) >= MAX_REMEMBERED:
                self._answers.clear()
            if self._keys is not None:
                self._answers[key] = key in self._keys
            else:
                predicate: Any = self.test
                self._answers[key] = ask_predicate(predicate, self.domain.present(x), self.owner, self.name)
        return self._answers[key]

    @cached_property
    def _keys(self) -> frozenset[Hashable] | None:
        """The keys of the points for which the test holds; None for a predicate."""
        given = self.test.values if isinstance(self.test, OneOf) else (self.test,)
        try:
            return frozenset(self.domain.key(self.domain.parse(value)) for value in given)
        except PointError as error:
            if callable(self.test) and not isinstance(self.test, OneOf):
                return None
            raise DomainError(f"{self.owner}: when: {self.name}: {error}") from None

    @cached_property
    def _answers(self) -> dict[Hashable, bool]:
        return {}


def check_condition_names(values: Mapping[str, object]) -> None:
    """Raise DomainError, which names the variable, if a condition uses a name that the variable's dict lacks."""
    for name, one in values.items():
        for parent in one.when if isinstance(one, Variable) else ():
            if parent not in values:
                raise DomainError(f"{name}: when: {_explain_unknown_name(name, parent, values)}")


def _explain_unknown_name(name: str, parent: str, values: Mapping[str, object]) -> str:
    """Describe an unknown name in a condition of a variable, and the names that the condition may use."""
    others = [other for other in values if other != name]
    parts = [other for other in others if is_part(values[other])]
    known = f"expected one of {short_repr(others, 200)}" if others else "its dict has no other names"
    whole = f", and tests {parts[0]} as a whole, against a point or by a predicate" if parts else ""
    rule = f"a condition uses names of its own dict{whole}"
    return f"there is no variable {short_repr(parent)} in its dict; {known}; {rule}{did_you_mean(parent, others)}"


def split_conditions(
    variables: Mapping[str, Variable], parts: Mapping[str, Domain]
) -> tuple[dict[str, Variable], tuple[PartTest, ...]]:
    """Replace each condition on a part by a condition on a binary variable.

    Returns the variables, with the binary variables last, and the test of each binary variable. Raises DomainError for
    a point that a part does not contain.
    """
    positions = {name: i for i, name in enumerate(parts, start=1)}
    found: dict[str, Variable] = {}
    tests: dict[str, PartTest] = {}
    for name, one in variables.items():
        own = {parent: test for parent, test in one.when.items() if parent not in parts}
        for parent, test in one.when.items():
            if parent in parts:
                made = PartTest(describe_when({parent: test}), positions[parent], name, parent, parts[parent], test)
                own[_add_test(tests, made, {*variables, *parts})] = True
        found[name] = one
        if own != dict(one.when):
            found[name] = one.with_conditions(own)
    return found | {label: Binary() for label in tests}, tuple(tests.values())


def _add_test(tests: dict[str, PartTest], made: PartTest, taken: set[str]) -> str:
    """Add a test to `tests` unless they contain it; return its label, which is unique."""
    label, number = made.label, 2
    while (label in tests and tests[label].test != made.test) or label in taken:
        label, number = f"{made.label} ({number})", number + 1
    if label not in tests:
        tests[label] = replace(made, label=label)
    return label


MAX_ENUMERATED = 20_000
MAX_PART_POINTS = 100_000  # points that are listed of one part
REJECTION_DRAWS = 5_000  # draws before rejection sampling stops
FIRST_DRAWS = 1_000  # draws on which each constraint is evaluated if no point is valid
REJECTION_RATE = 20  # draws per valid point, up to which rejection continues beyond `REJECTION_DRAWS`
POOL_TRIES = 100  # draws of the other parts for a point of a pool
TRIES = 20  # attempts at a change or a child that is valid


@dataclass(frozen=True, repr=False)
class MixedSpace(Joint):
    """A space that contains other domains, as `bostruct.Space` builds it.

    tests: conditions of variables on other parts. Each has a binary variable of the same name, which is true if the
        test holds. The user's dict omits this variable.
    """

    reads_earlier_forms = True
    label_in_messages = "a Space with another domain inside"

    order: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    tests: tuple[PartTest, ...] = ()

    def __repr__(self) -> str:
        return show_parts(self.named_values, show_rules(len(self.constraints)))

    def __str__(self) -> str:
        return show_all_parts(self.named_values, show_rules(len(self.constraints)))

    def _repr_html_(self) -> str:
        n_others, rules = sum(name in self.part_names for name in self.order), show_rules(len(self.constraints))
        caption = f"Space of {len(self.order) - n_others} variables and {n_others} other domains{rules}"
        return html_table(_nest_values(self).items(), caption=caption)

    @property
    def pool(self) -> list[JointPoint]:
        """The pools of the parts, joined row by row; empty if no part has a pool.

        Parts without a pool are drawn with the same seed in every study, up to 100 times until the constraints hold.
        Points for which the constraints never hold are left out.
        """
        rng, found = np.random.default_rng(0), []
        for x in self._apply_conditions(super().pool, rng):
            tries = (x if i == 0 else self._redraw(x, rng) for i in range(POOL_TRIES))
            found += next(([y] for y in tries if self._is_valid(y)), [])
        return found

    def fix(self, /, **values: Presented) -> MixedSpace:
        """Return the space with variables fixed at one value, or at a dict for an inner space; see `Space.fix`."""
        tested = {one.label: {one.name: one.test} for one in self.tests}
        free: dict[str, Variable] = {}
        for name, one in self._variables.items():
            if name not in tested:
                pairs = (tested.get(parent, {parent: test}) for parent, test in one.when.items())
                free[name] = one.with_conditions({k: v for pair in pairs for k, v in pair.items()})
        parts = dict(self.parts)
        for name in values.keys() & parts.keys():
            if not isinstance(part := parts[name], Space | MixedSpace) or not isinstance(values[name], Mapping):
                raise DomainError(f"fix: {name}: expected a dict for an inner space, got {short_repr(values[name])}")
            parts[name] = part.fix(**values[name])
        order = [list(self._variables)[i] for i in self._own.conditions.order] if self._own is not None else []
        own = {name: value for name, value in values.items() if name not in parts}
        fixed = fix_variables(free, [name for name in order if name in free], own)
        kept: dict[str, Variable | Domain] = {**fixed, **parts}
        left = {name: kept[name] for name in self.order if name in kept}
        return mixed_space(left, fix_constraints(self.constraints, set(self.order), left))

    def count(self) -> Count:
        """Count the valid points.

        Returns `INFINITE` if a variable is a real number, or if a part is infinite and there are no constraints;
        `AtLeast` if constraints or conditions on parts apply to more points than are listed; otherwise `Exact`.
        """
        if _has_real(self):
            return INFINITE
        if self._is_enumerable:
            return Exact(len(self._all))
        if self.constraints:
            return AtLeast(1)
        total = super().count()
        return total if total == INFINITE or not self.tests else AtLeast(1)

    def sample(self, m: int, rng: np.random.Generator) -> list[JointPoint]:
        """Draw m valid points whose parts are independent, each drawn by its domain.

        Under constraints, points are drawn until m are valid. If valid points are too rare, the remaining points are a
        few changes away from the valid points. Raises DomainError if no valid point is found; TypeError, ValueError.
        """
        check_draw(m, rng)
        if not self.constraints:
            return self._draw(m, rng)
        with limit_search():
            found, n_drawn, draws = self._reject(m, rng)
            ended = "; the search ended at its limit on calls of constraints" if call_limit().is_reached else ""
        if m and not found:
            described = describe_draws(self.constraints, draws, self._satisfies)
            raise DomainError(
                f"constraints: no valid point was found in {n_drawn} draws: {described}{ended}; loosen them, or "
                "move constraints on a single part into that part"
            )
        while len(found) < m:
            found.append(self._walk(found[int(rng.integers(len(found)))], rng))
        return found

    def sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> JointPoint:
        if not self.constraints and not self.tests:
            return super().sample_unseen(seen, rng)
        with release_calls():
            if self._is_enumerable:
                left = [x for x in self._all if x.key not in seen]
                if left:
                    rows = [np.array([x.parts[i] for x in left]) for i in range(len(self.domains))]
                    return left[int(draw_listed([domain.variables for domain in self.domains], rows, 1, rng)[0])]
            elif (x := self._draw_unseen(seen, rng)) is not None:
                return x
        more = "" if self._is_enumerable else "; more may exist"
        raise SpaceExhausted(f"no unseen point of the space was found; {len(seen)} were seen{more}")

    def check(self, x: object) -> None:
        if not isinstance(x, JointPoint) or len(x.parts) != len(self.domains):
            raise PointError(f"point: expected a JointPoint with {', '.join(self.order)}, got {short_repr(x)}")
        for name, domain, part in zip(self.part_names, self.domains, x.parts, strict=True):
            read_part(name, domain.check, part)
        if self._apply_conditions([x], None)[0] is not x:
            raise PointError(f"point: its variables disagree with {', '.join(one.label for one in self.tests)}")
        if broken := [predicate_name(rule) for rule in self.constraints if not self._satisfies(x, rule)]:
            raise PointError(f"point: {short_repr(self.present(x), 200)} breaks the constraint {', '.join(broken)}")

    def parse(self, point: object) -> JointPoint:
        x = self._read(point, "parse")
        self.check(x)
        return x

    def present(self, x: JointPoint) -> dict[str, Presented]:
        return self._write(x, "present")

    def encode(self, x: JointPoint) -> Json:
        return self._write(x, "encode")

    def decode(self, data: ParsedJson) -> JointPoint:
        """Rebuild a point from its description; raises PointError for what `encode` never writes.

        Constraints are not checked.
        """
        return self._read(data, "decode")

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> JointPoint:
        """Rebuild a point that a space of another description encoded; raises PointError if this space lacks it.

        Variables are read as in `Space.decode_from`, also in parts that are spaces. Such a part has the defaults of its
        variables if the point lacks the part, and must be at its defaults if this space lacks the part. Any other part
        must be in both. Constraints are not checked.
        """
        theirs = read_contents(description)
        values, parts = split_values(data, theirs)
        others = {
            name: _migrate_part(name, domain, parts.pop(name, None), theirs.parts.get(name))
            for name, domain in zip(self.part_names, self.domains, strict=True)
            if name != OWN
        }
        for name, value in parts.items():
            check_part_left_out(name, value, theirs.parts[name])
        if (own := self._own) is None:
            for name, value in values.items():
                check_left_out(None, name, value, theirs.variables[name])
            return self._point([others[name] for name in self.part_names])
        results = {one.label: bool(one.holds(others[self.part_names[one.part]])) for one in self.tests}
        for name in [name for name in values if name in results]:  # a variable of the other space
            check_left_out(None, name, values.pop(name), theirs.variables[name])
        described = {label: own.variables[label].to_json() for label in results}
        row = fill_row(own, values | results, {**theirs.variables, **described})
        return self._point([row, *others.values()])

    def mutate(self, x: JointPoint, rng: np.random.Generator) -> JointPoint:
        for i in rng.permutation(len(self.domains)).tolist():
            for _ in range(TRIES):
                part = try_mutation(self.domains[i], x.parts[i], rng)
                if part is None:  # this part has no other point; the next part may have one
                    break
                y = self._apply_conditions(self._replace_part(x, i, [part]), rng)[0]
                if y.key != x.key and self._has_same_tests(x, i, part) and self._is_valid(y):
                    return y
        raise DomainError(f"no valid point other than {short_repr(self.present(x), 200)} was found by a single change")

    def crossover(self, x: JointPoint, y: JointPoint, rng: np.random.Generator) -> JointPoint:
        """Cross over each part if its domain can; otherwise take the part of x or of y with equal probability.

        A variable that exists because of another part takes its value from x or, if x lacks it, from y. If both lack
        it, it is drawn. Returns x if no valid child is found.
        """
        for _ in range(TRIES):
            child = self._apply_conditions([super().crossover(x, y, rng)], rng, (x, y))[0]
            if self._is_valid(child):
                return child
        return x

    def to_json(self) -> Json:
        """Describe the space as JSON, with only the numbers of constraints and of tests of parts."""
        rules = {"constraints": len(self.constraints), "tests": len(self.tests)}
        return {"domain": "mixed", "parts": self._describe_parts(), "order": list(self.order), **rules}

    @property
    def _is_enumerable(self) -> bool:
        return self.size <= MAX_ENUMERATED and all(
            domain.variables and domain.list_few(MAX_PART_POINTS) is not None for domain in self.domains
        )

    @cached_property
    def _all(self) -> list[JointPoint]:
        listed = [domain.list_few(MAX_PART_POINTS) for domain in self.domains]
        parts = [list(rows) for rows in listed if rows is not None]
        every = self.points([list(column) for column in zip(*itertools.product(*parts), strict=True)])
        agreeing = [x for x, y in zip(every, self._apply_conditions(every, None), strict=True) if y is x]
        with limit_calls(math.inf):  # cached: a suggestion must not depend on whether it is the first to list
            return self._keep_valid(agreeing)

    @property
    def _own(self) -> Space | None:
        return cast(Space, self.domains[0]) if self.part_names[0] == OWN else None

    @property
    def _variables(self) -> Mapping[str, Variable]:
        return {} if self._own is None else self._own.variables

    @property
    def named_values(self) -> dict[str, Variable | Domain]:
        """The variables and the other domains, by the names and in the order of the user's dict."""
        every: dict[str, Variable | Domain] = {**self._variables, **self.parts}
        return {name: every[name] for name in self.order}

    @cached_property
    def _choices(self) -> PartChoices:
        own_names, hidden = tuple(self._variables), frozenset(one.label for one in self.tests)
        return PartChoices(self.part_names, self.domains, own_names, hidden)

    @cached_property
    def _decisions(self) -> PartDecisions:
        return PartDecisions(self.domains, self._test_values) if self.tests else PartDecisions(self.domains)

    def _test_values(self, others: Sequence[Point]) -> dict[str, int]:
        """Return the values of the variables that tests set, by name."""
        return {one.label: int(one.holds(others[one.part - 1])) for one in self.tests}

    def _changes(self, x: JointPoint, near: Sequence[Batch]) -> list[tuple[int, Point]]:
        return [(i, part) for i, part in super()._changes(x, near) if self._has_same_tests(x, i, part)]

    def _has_same_tests(self, x: JointPoint, i: int, part: Point) -> bool:
        """Return whether the variables that tests set keep their values: they change only with the tested part."""
        return i > 0 or not self.tests or bool((part[self._test_columns] == x.parts[0][self._test_columns]).all())

    @cached_property
    def _test_columns(self) -> list[int]:
        own = self._own
        return [] if own is None else [int(own.layout.starts[own.positions[one.label]]) for one in self.tests]

    def _draw_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> JointPoint | None:
        try:
            return draw_unseen(self.sample, self.keys, seen, rng)
        except PredicateError:
            raise
        except DomainError:  # no draw was valid, but earlier draws were
            if not seen:
                raise
            return None

    def _redraw(self, x: JointPoint, rng: np.random.Generator) -> JointPoint:
        """Return x with new draws of the parts whose domains have no pool."""
        for i, domain in enumerate(self.domains):
            if not len(domain.pool):
                x = self._replace_part(x, i, domain.sample(1, rng))[0]
        return self._apply_conditions([x], rng)[0]

    def _draw(self, m: int, rng: np.random.Generator) -> list[JointPoint]:
        return self._apply_conditions(super().sample(m, rng), rng)

    def _reject(self, m: int, rng: np.random.Generator) -> tuple[list[JointPoint], int, list[JointPoint]]:
        """Draw until m points are valid or prove rare; return them, the number of draws, and the first draws."""
        found: list[JointPoint] = []
        counts: list[int] = []
        first: list[JointPoint] = []
        most, calls = len(self.constraints), call_limit()
        while (
            len(found) < m and len(counts) < max(REJECTION_DRAWS, REJECTION_RATE * len(found)) and not calls.is_reached
        ):
            draws = self._draw(max(16, min(m - len(found), 256)), rng)
            first += draws if len(first) < FIRST_DRAWS else []
            for x in draws:
                counts.append(self._count_until_broken(x))
                found += [x] if counts[-1] == most else []
        return found[:m], sum(count >= 0 for count in counts), first

    def _walk(self, x: JointPoint, rng: np.random.Generator) -> JointPoint:
        """Return a valid point a few changes away from x, or x if none is found."""
        for _ in range(len(self.order)):
            if (y := try_mutation(self, x, rng)) is None:
                break
            x = y
        return x

    def _apply_conditions(
        self, xs: Sequence[JointPoint], rng: np.random.Generator | None, parents: Sequence[JointPoint] = ()
    ) -> list[JointPoint]:
        """Make the variables of points agree with the tests of parts; points that already agree are kept."""
        if not self.tests or not xs or (own := self._own) is None:
            return list(xs)
        columns = self._test_columns
        rows = own.join(np.array([x.parts[0] for x in xs]))
        results = np.array([[one.holds(x.parts[one.part]) for one in self.tests] for x in xs], dtype=np.int64)
        changed = np.flatnonzero((rows[:, columns] != results).any(axis=1))
        moved = rows[changed]
        moved[:, columns] = results[changed]
        rows_of_parents = [x.parts[0] for x in parents]

        def fill(i: int, k: int) -> IntArray:
            columns = own.layout.columns(i)
            known = (row[columns] for row in rows_of_parents if row[columns.start] != INACTIVE)
            if (values := next(known, None)) is None and rng is not None:
                return own.conditions.variables[i].sample(k, rng)
            return np.repeat([own.conditions.variables[i].fallback() if values is None else values], k, axis=0)

        moved = own.conditions.apply(moved, fill)
        settled = list(xs)
        for i, row in zip(changed.tolist(), moved, strict=True):
            settled[i] = self._replace_part(xs[i], 0, [row])[0]
        return settled

    def _is_valid(self, x: JointPoint) -> bool:
        """Return whether all constraints hold; False without evaluating them once the limit on calls is reached."""
        return self._count_until_broken(x) == len(self.constraints)

    def _count_until_broken(self, x: JointPoint) -> int:
        """Count the constraints that hold before the first violated one; -1 if the limit on calls is reached first."""
        for i, rule in enumerate(self.constraints):
            if call_limit().is_reached:
                return -1
            if not self._satisfies(x, rule):
                return i
        return len(self.constraints)

    def _satisfies(self, x: JointPoint, rule: Constraint) -> bool:
        try:
            return ask(rule, self.present(x), self._variables)
        except PredicateError as error:
            cause = error.__cause__
            name = cause.args[0] if isinstance(cause, KeyError) and cause.args else None
            point = self.present(x)  # a new dict, because the predicate may have changed the other one
            if not isinstance(name, str) or not (hints := list(_find_absent(self, point, "point", name))):
                raise
            problem = f"constraint {predicate_name(rule)} reads {name}, which {short_repr(point, 200)} lacks"
            raise PredicateError(f"{problem}: {'; or '.join(hints)}") from cause

    def _write(self, x: JointPoint, form: str) -> dict[str, Json]:
        """Return a point as the domains' `present` or `encode` writes it, in the user's order."""
        found: dict[str, Json] = {}
        for name, domain, part in zip(self.part_names, self.domains, x.parts, strict=True):
            written = getattr(domain, form)(part)
            found |= written if name == OWN else {name: written}
        return {name: found[name] for name in self.order if name in found}

    def _read(self, data: object, form: str) -> JointPoint:
        """Read a point by the domains' `parse` or `decode`."""
        expected = f"expected {short_repr(list(self.order), 200)}"
        if not isinstance(data, Mapping):
            raise PointError(f"point: expected a dict with the keys {list(self.order)}, got {short_repr(data)}")
        if unknown := [name for name in data if name not in self.order]:
            hint = did_you_mean(unknown[0], self.order)
            raise PointError(f"point: unknown name {short_repr(unknown[0])}; {expected}{hint}")
        required = [n for n in self.order if n in self.part_names or not self._variables[n].when]
        if missing := [name for name in required if name not in data]:
            raise PointError(f"point: missing {', '.join(missing[:5])}; {expected}")
        others = {
            name: read_part(name, getattr(domain, form), data[name])
            for name, domain in zip(self.part_names, self.domains, strict=True)
            if name != OWN
        }
        if self._own is None:
            return self._point([others[name] for name in self.part_names])
        own = {name: value for name, value in data.items() if name not in self.part_names}
        own |= {one.label: one.holds(others[self.part_names[one.part]]) for one in self.tests}
        return self._point([getattr(self._own, form)(own), *others.values()])


def mixed_space(values: Mapping[str, object], constraints: Sequence[Constraint] = ()) -> MixedSpace:
    """Build a space of named variables and other domains.

    Parameters
    ----------
    values : dict
        Variables, domains and dicts by name.
    constraints : sequence, default ()
        As in `bostruct.Space`.

    Raises
    ------
    DomainError
        If an argument is invalid.
    """
    check_condition_names(values)
    parts: dict[str, Domain] = {}
    variables: dict[str, Variable] = {}
    for name, given in values.items():
        if is_part(given):
            parts[name] = _build_part(name, given)
        else:
            variables[name] = variable(name, given)
    check_constraints(constraints, variables, [*variables, *parts])
    constraints = tuple(name_levels(rule, variables) for rule in constraints)
    refuse_contradictions(constraints, variables)
    tests: tuple[PartTest, ...] = ()
    if variables:
        variables, tests = split_conditions(variables, parts)
        parts = {OWN: Space(variables), **parts}
    return MixedSpace(tuple(parts), tuple(parts.values()), tuple(values), constraints, tests)


def _build_part(name: str, given: object) -> Domain:
    """Return the domain of a part; raises DomainError, which names the part, if a dict is not a valid space."""
    if not isinstance(given, Mapping):
        return as_part(name, given)
    try:
        if not any(map(is_part, given.values())):  # a mixed space checks its own names
            check_condition_names(given)
        return as_part(name, given)
    except DomainError as error:
        raise type(error)(f"{name}: {error}") from error.__cause__


def _migrate_part(name: str, domain: Domain, data: ParsedJson, description: ParsedJson | None) -> Point:
    """Read a part that another form of a space encoded; raises PointError, which names the part, if it is invalid.

    description: description of the domain that encoded the part; None if there was no such part.
    """
    if description is None and not (domain.reads_earlier_forms and domain.named_values):
        raise PointError(f"{name}: the trial has no value for this part, and only spaces have default=")
    if domain.reads_earlier_forms:
        before = NOTHING if description is None else description
        with note_under(name):
            return read_part(name, lambda one: domain.decode_from(one, before), {} if description is None else data)
    if _as_text(domain.to_json()) != _as_text(description):
        raise PointError(f"{name}: its domain changed, and {type(domain).__name__} cannot read the earlier points")
    return read_part(name, domain.decode, data)


def _as_text(description: object) -> str:
    return hide_addresses(json.dumps(description))


def _nest_values(domain: Domain) -> dict[str, object]:
    """Return the variables and domains of a space, with inner spaces as dicts."""
    shown: dict[str, object] = {}
    parts = domain.parts
    for name, one in domain.named_values.items():
        shown[name] = _nest_values(parts[name]) if name in parts and parts[name].named_values else one
    return shown


def _find_absent(domain: Domain, point: Mapping[str, Presented], path: str, name: str) -> Iterator[str]:
    """Yield, for each space of a point that lacks a variable, when the variable exists and how to read it."""
    for part, inner in domain.parts.items():
        own, inner_path = (point, path) if part == OWN else (point[part], f"{path}[{part!r}]")
        yield from _find_absent(inner, own, inner_path, name)
        if name in inner.variables and name not in own:
            yield f"it exists if {describe_when(inner.variables[name].when)}; use {inner_path}.get({name!r}, VALUE)"


def _has_real(domain: Domain) -> bool:
    """Return whether a variable of a space, or of an inner space, is a real number."""
    return any(one.is_real for one in domain.variables.values()) or any(map(_has_real, domain.parts.values()))


Space.build_mixed = staticmethod(mixed_space)
