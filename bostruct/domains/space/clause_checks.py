"""Checks of clauses against the variables that they are about: unknown names and values, and order among texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import DomainError, PointError, Presented
from bostruct.domains.space.choices import ChoiceVariable, number_grid
from bostruct.domains.space.clauses import (
    ORDERS,
    RELATIONS,
    AllOf,
    AnyOf,
    Clause,
    Compare,
    CompareVariables,
    IsIn,
    Not,
    ValueOf,
    list_leaves,
)
from bostruct.domains.space.variable import Variable


def check_constraints(rules: Iterable[object], values: Mapping[str, object]) -> None:
    """Raise DomainError, naming the clause, where a clause asks what no point of a space could answer.

    rules: the constraints of the space; functions among them are not looked at.
    values: of its points, by name: variables and other domains. Of other domains the name is checked alone.
    """
    for i, rule in enumerate(rules):
        if isinstance(rule, Clause):
            for leaf, depth in list_leaves(rule):
                _check_point_test(leaf, depth, values, f"constraints: {i}: {leaf!r}")


def name_levels(rule: Any, values: Mapping[str, object], variable: object = None) -> Any:
    """Return a clause whose numbers are those that its variables list: one that `Levels.find` takes for a level is it.

    rule: a clause that has been checked, or a function, which is returned as it is.
    values: of points, by name: variables and other domains.
    variable: whose value a test asks about.
    """
    if isinstance(rule, AllOf | AnyOf):
        return replace(rule, clauses=tuple(name_levels(one, values, variable) for one in rule.clauses))
    if isinstance(rule, Not):
        return Not(name_levels(rule.clause, values, variable))
    if isinstance(rule, ValueOf):
        return replace(rule, test=name_levels(rule.test, values, values.get(rule.name)))
    if isinstance(rule, IsIn):
        return IsIn(tuple(_name_level(value, variable) for value in rule.values))
    return replace(rule, value=_name_level(rule.value, variable)) if isinstance(rule, Compare) else rule


def _name_level(value: Presented, variable: object) -> Presented:
    """Return the listed number that a number stands for; anything else as it is."""
    if not isinstance(variable, ChoiceVariable) or number_grid(variable) is not None:
        return value
    try:
        level = variable.present(variable.parse(value))
        return value if bool(level == value) else level
    except (PointError, TypeError, ValueError):
        return value


def check_value_test(test: Clause, variable: Variable, where: str, depth: int = 1) -> None:
    """Raise DomainError where a test asks what no value of a variable could answer.

    test: of a value.
    variable: that has the value.
    where: begins the message.
    depth: of the test, as of `list_leaves`.
    """
    for leaf, _ in list_leaves(test, depth):
        if isinstance(leaf, ValueOf | CompareVariables):
            raise DomainError(f"{where}: expected Compare or IsIn, a test of one value; got {leaf!r}, one of a point")
        if isinstance(leaf, Compare) and leaf.relation in ORDERS:
            _check_order(leaf, variable, where)
        elif isinstance(leaf, Compare | IsIn):
            for value in leaf.values if isinstance(leaf, IsIn) else (leaf.value,):
                _check_value(value, variable, where)


def _check_point_test(leaf: Clause, depth: int, values: Mapping[str, object], where: str) -> None:
    """Raise DomainError unless a clause that joins no others is one about points of a space."""
    if isinstance(leaf, Compare | IsIn):
        raise DomainError(f"{where}: expected a test of a point, such as ValueOf(name, {type(leaf).__name__}(...))")
    names = [leaf.name] if isinstance(leaf, ValueOf) else []
    names = [leaf.left, leaf.right] if isinstance(leaf, CompareVariables) else names
    for name in names:
        if name not in values:
            known = f"expected one of {short_repr(list(values), 200)}{did_you_mean(name, values)}"
            raise DomainError(f"{where}: there is no variable {short_repr(name)}; {known}")
    variables = {name: v for name in names if isinstance(v := values[name], Variable)}
    if isinstance(leaf, ValueOf) and variables:
        check_value_test(leaf.test, variables[leaf.name], where, depth + 1)
    if isinstance(leaf, CompareVariables) and leaf.relation in ORDERS:
        for name, variable in variables.items():
            _require_order(leaf.relation, variable, f"{where}: {name}", "ValueOf(name, IsIn((...)))")


def _check_order(test: Compare, variable: Variable, where: str) -> None:
    """Raise DomainError unless a value can be less or greater than that of a comparison."""
    _require_order(test.relation, variable, where, "IsIn((...))")
    value = variable.present(variable.fallback())
    try:
        bool(RELATIONS[test.relation](value, test.value))
    except (TypeError, ValueError):
        raise DomainError(
            f"{where}: {test.relation} does not compare {short_repr(value)} with {short_repr(test.value)}"
        ) from None


def _require_order(relation: str, variable: Variable, where: str, instead: str) -> None:
    if number_grid(variable) is not None:
        return
    if isinstance(variable, ChoiceVariable):
        refused = [value for value in variable.choices if isinstance(value, str)]
    else:  # orders, subsets and sequences would compare item by item
        refused = [variable.present(variable.fallback())]
    if refused:
        raise DomainError(
            f"{where}: {relation} compares numbers, and no values such as {short_repr(refused[0])}; list the values "
            f"that are meant by {instead}"
        )


def _check_value(value: Presented, variable: Variable, where: str) -> None:
    """Raise DomainError unless a value equals one that a variable has."""
    try:
        nearest = variable.present(variable.parse(value))
        if bool(nearest == _name_level(value, variable)):
            return
    except PointError as error:
        raise DomainError(f"{where}: {error}") from None
    except (TypeError, ValueError):
        raise DomainError(f"{where}: expected a value that compares by ==, got {short_repr(value)}") from None
    raise DomainError(f"{where}: the variable has no {short_repr(value)}; next to it is {short_repr(nearest)}")
