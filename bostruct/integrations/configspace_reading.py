"""Hyperparameters, conditions and forbidden clauses of ConfigSpace, read as variables, `when=` and constraints."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from bostruct.checks import count_own_frames, missing_package, short_repr
from bostruct.contracts import DomainError, PointError, Presented
from bostruct.domains.space.choices import ChoiceVariable, number_grid, to_python
from bostruct.domains.space.clauses import (
    RELATIONS,
    AllOf,
    AnyOf,
    Clause,
    Compare,
    CompareVariables,
    IsIn,
    Not,
    OneOf,
    ValueOf,
)
from bostruct.domains.space.discrete import Categorical, Ordinal
from bostruct.domains.space.numeric import Integer, Real
from bostruct.domains.space.space import Space
from bostruct.integrations.configspace_values import constant_value, is_biased, sort_of_values

try:
    import ConfigSpace as cs
    from ConfigSpace import conditions, forbidden
    from ConfigSpace.hyperparameters import FloatHyperparameter, IntegerHyperparameter
except ModuleNotFoundError as error:
    raise missing_package(error.name or "ConfigSpace", "configspace") from error

CONDITION_RELATIONS = {
    conditions.EqualsCondition: "==",
    conditions.NotEqualsCondition: "!=",
    conditions.LessThanCondition: "<",
    conditions.GreaterThanCondition: ">",
}
CLAUSE_RELATIONS = {
    forbidden.ForbiddenEqualsClause: "==",
    forbidden.ForbiddenLessThanClause: "<",
    forbidden.ForbiddenLessThanEqualsClause: "<=",
    forbidden.ForbiddenGreaterThanClause: ">",
    forbidden.ForbiddenGreaterThanEqualsClause: ">=",
}
VARIABLE_RELATIONS = {
    forbidden.ForbiddenEqualsRelation: "==",
    forbidden.ForbiddenLessThanRelation: "<",
    forbidden.ForbiddenLessThanEqualsRelation: "<=",
    forbidden.ForbiddenGreaterThanRelation: ">",
    forbidden.ForbiddenGreaterThanEqualsRelation: ">=",
}

MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

Condition = Any  # a condition, or a conjunction of some
Forbidden = Any  # a forbidden clause, a relation, or a conjunction of some


class SpaceReader:
    """The reading of one `ConfigSpace.ConfigurationSpace`.

    configuration_space: the one to read.
    """

    def __init__(self, configuration_space: cs.ConfigurationSpace) -> None:
        if not isinstance(configuration_space, cs.ConfigurationSpace):
            raise DomainError(
                f"configuration_space: expected a ConfigSpace.ConfigurationSpace, got {short_repr(configuration_space)}"
            )
        self.given = configuration_space
        self.constants = {name: constant_value(given) for name, given in configuration_space.items()}
        self.variables: dict[str, ChoiceVariable] = {}
        self.whens: dict[str, dict[str, Presented]] = {}  # of constants, too

    def read(self) -> Space:
        """Return the space; raise DomainError for what has no counterpart, and warn of distributions."""
        for name, given in self.given.items():  # parents first
            self.whens[name] = self._read_conditions(name)
            if self.constants[name] is None:
                self.variables[name] = _read_variable(name, given, self.whens[name])
        if not self.variables:
            raise DomainError("configuration_space: expected at least one hyperparameter with several values")
        if biased := [name for name, given in self.given.items() if is_biased(given)]:
            warnings.warn(
                f"{', '.join(biased)}: read as all values of the range, evenly, because a space holds no distributions;"
                " configuration_space.remove_hyperparameter_priors() makes a copy without them",
                UserWarning,
                stacklevel=count_own_frames(),
            )
        rules = [self._read_clause(clause) for clause in self.given.forbidden_clauses]  # False: holds of no point
        if True in rules:
            raise DomainError(f"{self.given.forbidden_clauses[rules.index(True)]}: forbids every configuration")
        return Space(self.variables, [Not(rule) for rule in rules if isinstance(rule, Clause)])

    def _read_conditions(self, child: str) -> dict[str, Presented]:
        """Return `when=` of a hyperparameter, empty for none."""
        tests: dict[str, list[Condition]] = {}
        for condition in self.given.parent_conditions_of[child]:
            for part in _split(condition):
                tests.setdefault(_only_parent(child, part), []).append(part)
        found = {}
        for parent, parts in tests.items():
            if constant := self.constants[parent]:
                self._check_on_constant(child, parent, parts, constant[0])
            else:
                found[parent] = self._read_test(child, parent, parts)
        for parent, parts in tests.items():
            own = self.whens[parent]
            is_sure = all(found.get(name) == test for name, test in own.items())  # the parent is active, too
            if own and not is_sure and all(map(_holds_of_nothing, parts)):
                raise DomainError(
                    f"{child}: the condition {parts[0]} also holds where {parent} is inactive, and when= never does; "
                    f"join it by AndConjunction with the condition of {parent}"
                )
        return found

    def _check_on_constant(self, child: str, parent: str, parts: list[Condition], value: Presented) -> None:
        """Drop conditions that always hold; raise DomainError for those that never do, or that depend on others."""
        if self.whens[parent]:
            raise DomainError(
                f"{child}: its condition is on {parent}, a constant that has a condition; name its parent"
            )
        if not all(part.satisfied_by_value({parent: value}) for part in parts):
            raise DomainError(f"{child}: no configuration has it, because {parent} is always {value!r}")

    def _read_test(self, child: str, parent: str, parts: list[Condition]) -> object:
        """Return a test of the value of one parent: a value, `OneOf`, or of a number a clause."""
        variable = self.variables[parent]
        if number_grid(variable) is not None:
            clauses = tuple(_condition_clause(child, variable, part) for part in parts)
            return clauses[0] if len(clauses) == 1 else AllOf(clauses)
        choices = [v for v in variable.choices if all(part.satisfied_by_value({parent: v}) for part in parts)]
        if not choices:
            raise DomainError(f"{child}: no configuration has it, because no value of {parent} fulfills {parts}")
        return choices[0] if len(choices) == 1 else OneOf(*choices)

    def _read_clause(self, given: Forbidden) -> Clause | bool:
        """Return what is forbidden as a clause; a bool where constants decide it."""
        if isinstance(given, forbidden.ForbiddenConjunction):
            parts = [self._read_clause(part) for part in given.components]
            if isinstance(given, forbidden.ForbiddenAndConjunction):
                return _join(parts, AllOf, neutral=True)
            return _join(parts, AnyOf, neutral=False)
        if isinstance(given, forbidden.ForbiddenRelation):
            return self._read_relation(given)
        name = given.hyperparameter.name
        if constant := self.constants[name]:
            self._check_unconditional(name, given)
            return bool(given.is_forbidden_value({name: constant[0]}))
        variable = self.variables[name]
        if number_grid(variable) is None:
            return ValueOf(name, IsIn(tuple(v for v in variable.choices if given.is_forbidden_value({name: v}))))
        if isinstance(given, forbidden.ForbiddenInClause):
            return ValueOf(name, IsIn(tuple(_exact(name, variable, value) for value in given.values)))
        relation = CLAUSE_RELATIONS.get(type(given)) or _refuse(str(given), given)
        return ValueOf(name, Compare(relation, _compared(name, variable, relation, given.value)))

    def _read_relation(self, given: Forbidden) -> Clause | bool:
        relation = VARIABLE_RELATIONS.get(type(given)) or _refuse(str(given), given)
        left, right = given.left.name, given.right.name
        sorts = {sort_of_values(side) for side in (given.left, given.right)}
        if relation != "==" and sorts not in ({"number"}, {"text"}):
            raise DomainError(f"{given}: expected two hyperparameters of numbers, or two of texts")
        fixed = {name: constant[0] for name in (left, right) if (constant := self.constants[name])}
        for name in fixed:
            self._check_unconditional(name, given)
        if len(fixed) == 2:
            return bool(given.is_forbidden_value(fixed))
        if left in fixed:
            return self._compare_with(right, MIRRORED[relation], fixed[left])
        if right in fixed:
            return self._compare_with(left, relation, fixed[right])
        if relation == "==" or sorts == {"number"}:
            return CompareVariables(left, relation, right)
        return self._list_pairs(given, left, right)

    def _compare_with(self, name: str, relation: str, value: Presented) -> Clause | bool:
        """Return the comparison of a variable with a constant as a clause; False where it never holds."""
        variable = self.variables[name]
        if number_grid(variable) is None:
            held = [choice for choice in variable.choices if RELATIONS[relation](choice, value)]
            return ValueOf(name, IsIn(tuple(held))) if held else False
        if relation == "==":
            try:
                variable.parse(value)
            except PointError:
                return False
        return ValueOf(name, Compare(relation, _compared(name, variable, relation, value)))

    def _list_pairs(self, given: Forbidden, left: str, right: str) -> Clause | bool:
        """Return a relation of texts, which a space compares by equality alone, as the pairs that it forbids."""
        pairs: list[Clause | bool] = []
        for one in self.variables[left].choices:
            others = [v for v in self.variables[right].choices if given.is_forbidden_value({left: one, right: v})]
            if others:
                pairs.append(AllOf((ValueOf(left, IsIn((one,))), ValueOf(right, IsIn(tuple(others))))))
        return _join(pairs, AnyOf, neutral=False)

    def _check_unconditional(self, name: str, given: Forbidden) -> None:
        if self.whens[name]:
            raise DomainError(f"{given}: names {name}, a constant that has a condition; forbid values of its parent")


def _read_variable(name: str, given: Any, when: dict[str, Presented]) -> ChoiceVariable:
    """Return a hyperparameter of several values as a variable; raise DomainError, with its name, for other kinds."""
    own = when or None
    try:
        if isinstance(given, cs.CategoricalHyperparameter):
            return Categorical(given.choices, when=own)
        if isinstance(given, cs.OrdinalHyperparameter):
            return Ordinal(given.sequence, when=own)
        if isinstance(given, IntegerHyperparameter):
            return Integer(int(given.lower), int(given.upper), log=bool(given.log), when=own)
        if isinstance(given, FloatHyperparameter):
            return Real(float(given.lower), float(given.upper), log=bool(given.log), when=own)
    except DomainError as error:
        raise DomainError(f"{name}: {error}") from None
    return _refuse(name, given)


def _split(condition: Condition) -> Iterator[Condition]:
    """Yield the parts of nested conjunctions by "and"."""
    if isinstance(condition, conditions.AndConjunction):
        for part in condition.components:
            yield from _split(part)
    else:
        yield condition


def _only_parent(child: str, condition: Condition) -> str:
    """Return the name of the only parent of a condition; raise DomainError where it has several."""
    leaves = condition.dlcs if isinstance(condition, conditions.Conjunction) else [condition]
    names = list(dict.fromkeys(leaf.parent.name for leaf in leaves))
    if len(names) > 1:
        raise DomainError(
            f"{child}: the condition {condition} is on {' or '.join(names)}, and when= joins tests of several "
            "variables by 'and' alone"
        )
    return names[0]


def _holds_of_nothing(condition: Condition) -> bool:
    """Tell whether ConfigSpace takes a condition as fulfilled where its parent is inactive, which is NaN there."""
    if isinstance(condition, conditions.AndConjunction):
        return all(map(_holds_of_nothing, condition.components))
    if isinstance(condition, conditions.OrConjunction):
        return any(map(_holds_of_nothing, condition.components))
    return isinstance(condition, conditions.NotEqualsCondition)


def _condition_clause(child: str, parent: ChoiceVariable, condition: Condition) -> Clause:
    """Return a condition on a number as a clause about its value."""
    if isinstance(condition, conditions.Conjunction):
        kind = AllOf if isinstance(condition, conditions.AndConjunction) else AnyOf
        return kind(tuple(_condition_clause(child, parent, part) for part in condition.components))
    if isinstance(condition, conditions.InCondition):
        return IsIn(tuple(_exact(child, parent, value) for value in condition.values))
    relation = CONDITION_RELATIONS.get(type(condition)) or _refuse(child, condition)
    return Compare(relation, _compared(child, parent, relation, condition.value))


def _compared(name: str, variable: ChoiceVariable, relation: str, value: Presented) -> Presented:
    """Return the right side of a comparison, which for equality must be a value of the variable."""
    return _exact(name, variable, value) if relation in ("==", "!=") else to_python(value)


def _exact(name: str, variable: ChoiceVariable, value: Presented) -> Presented:
    """Return a value of a number; raise DomainError where the variable has it not exactly."""
    try:
        if variable.present(variable.parse(value)) == value:
            return to_python(value)
    except PointError:
        pass
    raise DomainError(f"{name}: {value!r} lies between the numbers that {variable!r} has; compare by < or >")


def _join(parts: list[Clause | bool], kind: Callable[[tuple[Clause, ...]], Clause], *, neutral: bool) -> Clause | bool:
    """Join clauses some of which are known to hold, or not to."""
    clauses = tuple(part for part in parts if not isinstance(part, bool))
    if (not neutral) in parts:
        return not neutral
    return (clauses[0] if len(clauses) == 1 else kind(clauses)) if clauses else neutral


def _refuse(name: str, given: object) -> NoReturn:
    raise DomainError(f"{name}: a {type(given).__name__} has no counterpart in a space")
