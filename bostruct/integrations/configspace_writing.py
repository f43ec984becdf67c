"""Variables, `when=` and constraints, written as hyperparameters, conditions and forbidden clauses of ConfigSpace."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from bostruct.checks import missing_package, short_repr
from bostruct.contracts import DomainError, Presented
from bostruct.domains.space.choices import ChoiceVariable, number_grid
from bostruct.domains.space.clauses import (
    AllOf,
    AnyOf,
    Clause,
    Compare,
    CompareVariables,
    IsIn,
    Not,
    OneOf,
    ValueOf,
    ask_predicate,
    predicate_name,
)
from bostruct.domains.space.discrete import Binary, Categorical, Ordinal
from bostruct.domains.space.numeric import Integer, Real
from bostruct.domains.space.space import Space
from bostruct.integrations.configspace_reading import CLAUSE_RELATIONS, CONDITION_RELATIONS, VARIABLE_RELATIONS

try:
    import ConfigSpace as cs
    from ConfigSpace.hyperparameters import Hyperparameter
except ModuleNotFoundError as error:
    raise missing_package(error.name or "ConfigSpace", "configspace") from error

DECIMALS = 13  # to which ConfigSpace rounds the numbers of its configurations
CONDITIONS = {relation: kind for kind, relation in CONDITION_RELATIONS.items()}
CLAUSES = {relation: kind for kind, relation in CLAUSE_RELATIONS.items()}
RELATIONS = {relation: kind for kind, relation in VARIABLE_RELATIONS.items()}


class SpaceWriter:
    """The writing of one space.

    space: the one to write.
    name: of the result; None for none.
    """

    def __init__(self, space: Space, name: str | None) -> None:
        if not isinstance(space, Space):
            raise DomainError(f"space: expected a bostruct.Space of variables, got {short_repr(space)}")
        self.space = space
        self.result = cs.ConfigurationSpace(name=name)

    def write(self) -> cs.ConfigurationSpace:
        """Return the space; raise DomainError for what has no counterpart."""
        default = self.space.present(self.space.sample(1, np.random.default_rng(0))[0])
        for name, variable in self.space.variables.items():
            self.result.add(_hyperparameter(name, variable, default.get(name, variable.present(variable.fallback()))))
        found = [self._write_when(name) for name, variable in self.space.variables.items() if variable.when]
        clauses = [self._write_constraint(rule) for rule in self.space.constraints]
        self.result.add(*found, *clauses)
        return self.result

    def _write_when(self, child: str) -> Any:
        """Return the conditions of a variable as one."""
        tests = self.space.variables[child].when.items()
        parts = [self._write_test(child, parent, test) for parent, test in tests]
        return parts[0] if len(parts) == 1 else cs.AndConjunction(*parts)

    def _write_test(self, child: str, parent: str, test: object) -> Any:
        """Return the test of the value of one parent as a condition."""
        variable = self.space.variables[parent]
        if isinstance(variable, ChoiceVariable) and number_grid(variable) is None:
            choices = [v for v in variable.choices if self._holds(child, parent, test, v)]
            return self._is_one_of(child, parent, choices)
        if isinstance(test, OneOf):
            return self._is_one_of(child, parent, list(test.values))
        if isinstance(test, Clause):
            return self._write_clause_test(child, parent, test)
        if callable(test):
            raise DomainError(
                f"{child}: when: {predicate_name(test)} is a function of {parent}, which has too many values to ask "
                "it about each; give a test of bostruct.domains"
            )
        return cs.EqualsCondition(self.result[child], self.result[parent], test)

    def _holds(self, child: str, parent: str, test: object, value: Presented) -> bool:
        if isinstance(test, OneOf):
            return any(self._holds(child, parent, one, value) for one in test.values)
        variable = self.space.variables[parent]
        if callable(test):
            return ask_predicate(test, value, child, parent)
        return variable.parse(test) == variable.parse(value)

    def _is_one_of(self, child: str, parent: str, choices: list[Presented]) -> Any:
        one, other = self.result[child], self.result[parent]
        return cs.EqualsCondition(one, other, choices[0]) if len(choices) == 1 else cs.InCondition(one, other, choices)

    def _write_clause_test(self, child: str, parent: str, test: Clause) -> Any:
        """Return a clause about a number as a condition."""
        if isinstance(test, AllOf | AnyOf) and len(test.clauses) > 1:
            kind = cs.AndConjunction if isinstance(test, AllOf) else cs.OrConjunction
            return kind(*(self._write_clause_test(child, parent, part) for part in test.clauses))
        if isinstance(test, IsIn):
            return self._is_one_of(child, parent, list(test.values))
        if isinstance(test, Compare) and test.relation in CONDITIONS:
            return CONDITIONS[test.relation](self.result[child], self.result[parent], test.value)
        return _refuse(f"{child}: when: {parent} {test!r}", "a condition")

    def _write_constraint(self, rule: object) -> Any:
        """Return a constraint as a forbidden clause."""
        if isinstance(rule, Not):
            return self._write_forbidden(rule.clause)
        name = repr(rule) if isinstance(rule, Clause) else predicate_name(rule)  # type: ignore[arg-type]
        return _refuse(f"constraint {name}", "a forbidden clause; expected Not(...) of bostruct.domains")

    def _write_forbidden(self, clause: Clause) -> Any:
        if isinstance(clause, AllOf | AnyOf):
            kind = cs.ForbiddenAndConjunction if isinstance(clause, AllOf) else cs.ForbiddenOrConjunction
            return kind(*map(self._write_forbidden, clause.clauses))
        if isinstance(clause, CompareVariables) and clause.relation in RELATIONS:
            return RELATIONS[clause.relation](self.result[clause.left], self.result[clause.right])
        if isinstance(clause, ValueOf):
            return self._write_forbidden_value(clause)
        return _refuse(f"constraint {clause!r}", "a forbidden clause")

    def _write_forbidden_value(self, clause: ValueOf) -> Any:
        given, variable, test = self.result[clause.name], self.space.variables[clause.name], clause.test
        if isinstance(variable, ChoiceVariable) and number_grid(variable) is None:
            return cs.ForbiddenInClause(given, [value for value in variable.choices if test(value)])
        if isinstance(test, IsIn):
            return cs.ForbiddenInClause(given, test.values)
        if isinstance(test, Compare) and test.relation in CLAUSES:
            return CLAUSES[test.relation](given, test.value)
        return _refuse(f"constraint {clause!r}", "a forbidden clause")


def _hyperparameter(name: str, variable: object, default: Presented) -> Hyperparameter:
    """Return a variable as a hyperparameter; raise DomainError for kinds that ConfigSpace has not."""
    if isinstance(variable, Binary) or (isinstance(variable, Categorical) and variable.likeness is None):
        return cs.CategoricalHyperparameter(name, variable.choices, default_value=default)
    if isinstance(variable, Ordinal) and variable.weight == 1.0:
        return cs.OrdinalHyperparameter(name, variable.choices, default_value=default)
    if isinstance(variable, Integer):
        low, high, is_log = variable.choices[0], variable.choices[len(variable.choices) - 1], not variable.is_even
        return cs.UniformIntegerHyperparameter(name, low, high, default_value=default, log=is_log)
    if isinstance(variable, Real):
        grid = variable.choices
        if round(grid.low, DECIMALS) != grid.low or round(grid.high, DECIMALS) != grid.high:
            raise DomainError(f"{name}: ConfigSpace rounds numbers to {DECIMALS} decimals; expected such bounds")
        return cs.UniformFloatHyperparameter(name, grid.low, grid.high, default_value=default, log=grid.log)
    return _refuse(f"{name}: {variable!r}", "a hyperparameter")


def _refuse(what: str, counterpart: str) -> NoReturn:
    raise DomainError(f"{what} cannot be written to ConfigSpace as {counterpart}")
