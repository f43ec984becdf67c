"""Variables of any kind with one fixed value, as made by `Space.fix`, and their JSON."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import DomainError, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.choice_json import is_json_scalar
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.clauses import Clause, PartialPoint, predicate_name
from bostruct.domains.space.conditions import ParentTest
from bostruct.domains.space.graphs import CompleteGraph
from bostruct.domains.space.registry import KINDS, variable_from_json
from bostruct.domains.space.variable import Variable


class Fixed(ChoiceVariable):
    """A variable with only one of the values of a free variable; each of the two can read the trials of the other.

    variable: the free variable, whose conditions also apply here.
    columns: columns of the fixed value.
    """

    def __init__(self, variable: Variable, columns: Sequence[int]) -> None:
        self.variable, self.columns = variable, tuple(int(column) for column in columns)
        super().__init__((variable.present(self.columns),), CompleteGraph(1))
        self.when, self.ordered, self.parts = variable.when, variable.ordered, variable.parts
        self.values_are_choices = variable.values_are_choices and is_json_scalar(self.choices[0])
        self.default_columns = (0,) if variable.default_columns == self.columns else None

    @property
    def arguments(self) -> str:
        return f"{self.variable.kind}({self.variable.arguments}), {short_repr(self.choices[0])}"

    def parse(self, value: object) -> list[int]:
        return self._require(self.variable.parse(value), value)

    def present(self, columns: Sequence[int]) -> Presented:
        del columns  # there is only one value
        return self.variable.present(self.columns)

    def encode(self, columns: Sequence[int]) -> Json:
        del columns
        return self.variable.encode(self.columns)

    def decode(self, data: ParsedJson) -> list[int]:
        return self._require(self.variable.decode(data), data)

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> list[int]:
        return self._require(self.variable.decode_from(data, description), data)

    def _require(self, columns: Sequence[int], given: object) -> list[int]:
        if tuple(columns) != self.columns:
            raise PointError(f"expected {short_repr(self.choices[0])}, its fixed value, got {short_repr(given)}")
        return [0]

    def describe(self) -> dict[str, Json]:
        free = {name: part for name, part in self.variable.to_json().items() if name not in ("when", "default")}
        return {"variable": free, "value": self.variable.encode(self.columns)}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Fixed:
        free = variable_from_json("variable", data["variable"])
        return cls(free, free.decode(data["value"]))


KINDS["Fixed"] = Fixed


def fix_variables(
    variables: Mapping[str, Variable], order: Sequence[str], values: Mapping[str, object]
) -> dict[str, Variable]:
    """Return the variables with values fixed, without the variables that no point has any more.

    order: names of the variables, parents first.

    Conditions that always hold are removed. Raises DomainError, naming the cause, for an unknown name, an invalid
    value, and a variable that the other values exclude.
    """
    for name in values:
        if name not in variables:
            known = f"expected one of {short_repr(list(variables), 200)}{did_you_mean(name, variables)}"
            raise DomainError(f"fix: there is no variable {short_repr(name)}; {known}")
    found: dict[str, Variable] = {}
    for name in order:
        own = _drop_known_conditions(name, variables[name], variables, found)
        if own is not None and name in values:
            try:
                columns = own.parse(values[name])
            except PointError as error:
                hint = "; one part is fixed by equal bounds of it" if own.parts else ""
                raise DomainError(f"fix: {name}: {error}{hint}") from None
            own = own if own.is_fixed else Fixed(own, columns)
        if own is not None:
            found[name] = own
        elif name in values:
            raise DomainError(f"fix: {name}: no point has this variable, because of the other fixed values")
    return {name: found[name] for name in variables if name in found}


def fix_constraints(
    rules: Sequence[Callable[..., bool]], before: Collection[str], after: Mapping[str, object]
) -> list[Callable[..., bool]]:
    """Return the remaining constraints of a space after some of its variables have been fixed.

    before: the names of its values.
    after: the remaining variables and other domains, by name.

    Raises DomainError for a constraint that no point satisfies any more, or that reads a variable that no point has.
    """
    shared = {
        name: copy.deepcopy(value) if one.has_mutable_choices else value
        for name, one in after.items()
        if isinstance(one, Variable) and one.is_fixed and one.width == 1 and not one.when
        for value in [one.present((0,))]
    }
    point = PartialPoint(shared, after.keys() - shared, before - after.keys())
    left: list[Callable[..., bool]] = []
    for rule in rules:
        try:
            rest = rule.simplify(point) if isinstance(rule, Clause) else point.decide(rule)
        except KeyError as error:
            raise DomainError(
                f"fix: constraint {predicate_name(rule)} reads {error.args[0]}, which no point has because of the "
                f"fixed values; use point.get({error.args[0]!r}, VALUE)"
            ) from error
        if rest is False:
            without = f" and without {', '.join(sorted(point.gone))}" if point.gone else ""
            raise DomainError(
                f"fix: constraint {predicate_name(rule)} does not hold for {short_repr(shared, 200)}{without}"
            )
        left += [] if rest is True else [rule if rest is None else rest]
    return left


def _drop_known_conditions(
    name: str, variable: Variable, variables: Mapping[str, Variable], found: Mapping[str, Variable]
) -> Variable | None:
    """Return a variable without the conditions that always hold; None if one of the conditions never holds."""
    left = dict(variable.when)
    for parent, test in variable.when.items():
        if parent not in found and parent in variables:
            return None
        if (own := found.get(parent)) is not None and own.is_fixed:
            columns = own.columns if isinstance(own, Fixed) else (0,)
            if not ParentTest(name, parent, variables[parent], test).holds_for(columns):
                return None
            if not own.when:
                del left[parent]
    return variable if len(left) == len(variable.when) else variable.with_conditions(left)
