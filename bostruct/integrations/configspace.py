"""Read and write spaces and points of ConfigSpace, which SMAC3 and others use.

Hyperparameters, conditions and forbidden clauses of ConfigSpace are variables, `when=` and constraints of bostruct.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from bostruct.checks import count_own_frames, missing_package, short_repr
from bostruct.contracts import DomainError, PointError, Presented
from bostruct.domains.space.choice_json import is_json_scalar
from bostruct.domains.space.choices import ChoiceVariable, to_python
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
    ask_predicate,
    predicate_name,
)
from bostruct.domains.space.conditions import NeverActive
from bostruct.domains.space.discrete import Binary, Categorical, Ordinal
from bostruct.domains.space.numeric import Integer, Real
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable

try:
    import ConfigSpace as cs
    from ConfigSpace import Configuration, ConfigurationSpace, conditions, forbidden
    from ConfigSpace.hyperparameters import FloatHyperparameter, Hyperparameter, IntegerHyperparameter
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
DECIMALS = 13  # to which ConfigSpace rounds the numbers of its configurations
CONDITION_KINDS = {relation: kind for kind, relation in CONDITION_RELATIONS.items()}
CLAUSE_KINDS = {relation: kind for kind, relation in CLAUSE_RELATIONS.items()}
RELATION_KINDS = {relation: kind for kind, relation in VARIABLE_RELATIONS.items()}
FIXED: dict[Hashable, str] = {"bostruct": "fixed"}  # meta data of a constant that is a variable of one value
Condition = Any  # a condition, or a conjunction of conditions
Forbidden = Any  # a forbidden clause, a relation, or a conjunction of them
LAST_READER: list[tuple[SpaceReader, list[Any]]] = []  # at most one, with the parts of its space when it was made


def read_space(configuration_space: ConfigurationSpace) -> Space:
    """Read a space of ConfigSpace, with its conditions and its forbidden clauses.

    Uniform, normal and beta numbers become `Real` and `Integer`, categories and orders `Categorical` and `Ordinal`,
    conditions `when=`, and forbidden clauses constraints. Constants are not variables; `write_point` restores them.
    If `when=` cannot express a condition, such as "or" of several parents, points have the variable and
    `write_point` drops it. Hyperparameters that no configuration has are omitted. Default values and meta data are not
    read, because they do not define points. Warns about distributions, which a space cannot represent.

    Parameters
    ----------
    configuration_space : ConfigurationSpace
        `ConfigSpace.ConfigurationSpace`.

    Raises
    ------
    DomainError
        If an argument is invalid.
    """
    return SpaceReader(configuration_space).read()


def write_space(space: Space, name: str | None = None) -> ConfigurationSpace:
    """Write a space as a space of ConfigSpace, whose default configuration is a valid point.

    A predicate of `when=` is evaluated for each choice of its parent.

    Parameters
    ----------
    space : Space
        A space of `Binary`, `Categorical`, `Ordinal`, `Integer` and `Real` variables. Numbers with a step become an
        order. A variable of one value becomes a constant, which `read_space` and `read_point` identify by meta data.
    name : str, optional
        Name of the result.

    Raises
    ------
    DomainError
        For other kinds of variables, for predicates of numbers, and for constraints that are functions. The message
        names the variable or the constraint.
    """
    return SpaceWriter(space, name).write()


def read_point(configuration: Configuration) -> dict[str, Presented]:
    """Return a configuration as a point of the space that `read_space` reads.

    NumPy scalars become the choices themselves. Inactive hyperparameters and constants are omitted, except for inactive
    variables of the space whose condition `when=` cannot express; they have the default value.

    Parameters
    ----------
    configuration : Configuration
        `ConfigSpace.Configuration`.
    """
    hyperparameters = configuration.config_space
    point = {}
    for name, value in dict(configuration).items():
        hyperparameter = hyperparameters[name]
        if constant_value(hyperparameter) is None:
            choices = listed_choices(hyperparameter) or ()
            point[name] = next((choice for choice in choices if choice == value), to_python(value))
    if reader := _find_reader(hyperparameters):
        for name in reader.idle:  # parents first
            present = reader.present[name]
            if name not in point and (present is True or (isinstance(present, Clause) and present(point))):
                point[name] = to_python(hyperparameters[name].default_value)
    return point


def write_point(point: dict[str, Any], configuration_space: ConfigurationSpace) -> Configuration:
    """Return a point as a checked configuration, with the constants that are active.

    Parameters
    ----------
    point : dict of str to Any
        Point of a space that `read_space` or `write_space` has made equivalent to `configuration_space`.
    configuration_space : ConfigurationSpace
        Space of the configuration. It rounds numbers to 13 decimals.

    Raises
    ------
    PointError
        And errors of ConfigSpace, if the point is not allowed.
    """
    from ConfigSpace.types import NotSet

    values = dict(point)
    reader = _find_reader(configuration_space)
    for name, given in configuration_space.items():  # parents first
        constant = constant_value(given)
        if constant is None and (reader is None or name not in reader.idle):
            continue
        if reader is not None:
            active = reader.active[name]
        else:
            known = {parent: values.get(parent, NotSet) for parent in configuration_space}
            active = all(one.satisfied_by_value(known) for one in configuration_space.parent_conditions_of[name])
        if active(values) if isinstance(active, Clause) else active:
            values |= {} if constant is None else {name: constant[0]}
        elif constant is None:
            values.pop(name, None)
    return Configuration(configuration_space, values=values)


def _find_reader(given: ConfigurationSpace) -> SpaceReader | None:
    """Return the reader of a space, cached until it changes; None unless `when=` may not express some conditions."""
    kinds = (conditions.OrConjunction, conditions.NotEqualsCondition)
    if not any(isinstance(part, kinds) for one in given.conditions for part in _split_conjunction(one)):
        return None
    parts = [*given.values(), *given.conditions]
    for reader, its_parts in LAST_READER:
        if reader.given is given and its_parts == parts:
            return reader
    reader = SpaceReader(given)
    LAST_READER[:] = [(reader, parts)]
    return reader


def constant_value(given: Hyperparameter) -> tuple[Presented] | None:
    """Return the value of a constant, or of a hyperparameter with one choice, in a tuple; None for any other.

    A constant that `write_space` made from a variable of one value is a variable.

    Parameters
    ----------
    given : Hyperparameter
        `ConfigSpace.hyperparameters.Hyperparameter`.
    """
    if isinstance(given, cs.Constant):
        return None if given.meta == FIXED else (given.value,)
    choices = listed_choices(given)
    return (choices[0],) if choices is not None and len(choices) == 1 else None


def listed_choices(given: Hyperparameter) -> tuple[Presented, ...] | None:
    """Return the choices of a category, an order or a constant; None for a hyperparameter of another kind.

    Parameters
    ----------
    given : Hyperparameter
        `ConfigSpace.hyperparameters.Hyperparameter`.
    """
    if isinstance(given, cs.CategoricalHyperparameter):
        return tuple(given.choices)
    if isinstance(given, cs.Constant):
        return (given.value,)
    return tuple(given.sequence) if isinstance(given, cs.OrdinalHyperparameter) else None


def sort_of_values(given: Hyperparameter) -> str:
    """Return what the values of a hyperparameter can be compared with: "number", "text", or "mixed" for nothing.

    Parameters
    ----------
    given : Hyperparameter
        `ConfigSpace.hyperparameters.Hyperparameter`.
    """
    values = listed_choices(given) or constant_value(given)
    if values is None or all(isinstance(value, int | float | np.number) for value in values):
        return "number"
    return "text" if all(isinstance(value, str) for value in values) else "mixed"


def is_biased(given: Hyperparameter) -> bool:
    """Return whether a hyperparameter prefers some values, apart from a logarithmic scale.

    Parameters
    ----------
    given : Hyperparameter
        `ConfigSpace.hyperparameters.Hyperparameter`.
    """
    if isinstance(given, cs.CategoricalHyperparameter):
        return len(given.choices) > 1 and len(set(given.probabilities.tolist())) > 1
    is_even = isinstance(given, cs.UniformFloatHyperparameter | cs.UniformIntegerHyperparameter)
    return isinstance(given, FloatHyperparameter | IntegerHyperparameter) and not is_even


class SpaceReader:
    """A reader of one `ConfigSpace.ConfigurationSpace`.

    Parameters
    ----------
    configuration_space : ConfigurationSpace
        The space to read.
    """

    def __init__(self, configuration_space: ConfigurationSpace) -> None:
        if not isinstance(configuration_space, ConfigurationSpace):
            raise DomainError(
                f"configuration_space: expected a ConfigSpace.ConfigurationSpace, got {short_repr(configuration_space)}"
            )
        self.given = configuration_space
        self.constants = {name: constant_value(given) for name, given in configuration_space.items()}
        self.dead: set[str] = set()  # names that no configuration has
        self.read_variables()

    def read_variables(self) -> None:
        """Read hyperparameters and conditions, parents first, without hyperparameters that no configuration has."""
        self.__dict__.pop("idle", None)
        self.variables: dict[str, ChoiceVariable] = {}
        self.whens: dict[str, dict[str, Presented]] = {}  # `when=` of hyperparameters, including constants
        self.present: dict[str, Clause | bool] = {}  # whether a point of the space has the hyperparameter
        self.active: dict[str, Clause | bool] = {}  # whether a configuration has it
        for name, given in self.given.items():  # parents first
            when, rest = self._read_conditions(name)
            self.whens[name] = when
            self.present[name] = _combine([_as_clause(*one) for one in when.items()], AllOf, neutral=True)
            self.active[name] = name not in self.dead and _combine([self.present[name], *rest], AllOf, neutral=True)
            if self.constants[name] is None and self.active[name] is not False:
                self.variables[name] = _read_variable(name, given, when)

    @cached_property
    def idle(self) -> list[str]:
        """The variables that a point may have although its configuration does not have them."""
        return [name for name in self.variables if self.active[name] != self.present[name]]

    def read(self) -> Space:
        """Return the space, and warn about distributions.

        Raises
        ------
        DomainError
            If a part has no counterpart.
        """
        while True:
            if not self.variables:
                raise DomainError("configuration_space: expected at least one hyperparameter with several values")
            try:
                Space(self.variables)
                break
            except NeverActive as error:
                self.dead.add(error.name)
                self.read_variables()
        if biased := [name for name, given in self.given.items() if is_biased(given)]:
            warnings.warn(
                f"{', '.join(biased)}: read as all values of the range, evenly, because a space has no distributions; "
                "configuration_space.remove_hyperparameter_priors() makes a copy without them",
                UserWarning,
                stacklevel=count_own_frames(),
            )
        rules = [self._read_clause(clause) for clause in self.given.forbidden_clauses]  # False: holds for no point
        if True in rules:
            raise DomainError(f"{self.given.forbidden_clauses[rules.index(True)]}: forbids every configuration")
        return Space(self.variables, [Not(rule) for rule in rules if isinstance(rule, Clause)])

    def _read_conditions(self, child: str) -> tuple[dict[str, Presented], list[Clause | bool]]:
        """Return `when=` of a hyperparameter, empty if there is none, and the conditions that it cannot express."""
        parts = [part for given in self.given.parent_conditions_of[child] for part in _split_conjunction(given)]
        plain = [self._read_condition(child, part, is_active=True) for part in parts]
        single = [part for part in parts if len(_list_parents(part)) == 1 and not _holds_if_inactive(part)]
        needed = {_list_parents(part)[0] for part in single}
        needed |= {name for part in parts for name in _list_parents(part) if self.active[name] is True}
        sure = [one for part, one in zip(parts, plain, strict=True) if needed.issuperset(_list_parents(part))]
        when, _ = self._split_clauses(sure)
        found: list[Clause | bool] = []
        for part, clause in zip(parts, plain, strict=True):
            parents = _list_parents(part)
            own = self.whens[parents[0]]
            is_sure = len(parents) == 1 and (
                parents[0] in needed or bool(own and all(when.get(name) == test for name, test in own.items()))
            )
            found.append(clause if is_sure else self._read_condition(child, part, is_active=False))
        return self._split_clauses(found)

    def _read_condition(self, child: str, given: Condition, is_active: bool) -> Clause | bool:
        """Return a condition as a clause about points; a bool if constants decide it.

        is_active: True if its parents are known to be active.
        """
        parents = _list_parents(given)
        if len(parents) > 1:
            clauses = [self._read_condition(child, part, is_active=False) for part in given.components]
            is_and = isinstance(given, conditions.AndConjunction)
            return _combine(clauses, AllOf if is_and else AnyOf, neutral=is_and)
        parent, active = parents[0], self.active[parents[0]]
        if active is False or parent in self.dead:
            return _holds_if_inactive(given)
        if constant := self.constants[parent]:
            holds = active if given.satisfied_by_value({parent: constant[0]}) else False
        else:
            holds = self._test_value(child, parent, given)
            if active != self.present[parent]:
                holds = _combine([active, holds], AllOf, neutral=True)
        if isinstance(active, Clause) and not is_active and _holds_if_inactive(given):
            return _combine([Not(active), holds], AnyOf, neutral=False)
        return holds

    def _test_value(self, child: str, parent: str, given: Condition) -> Clause | bool:
        """Return a condition on the value of one variable as a clause; False if no value fulfills it."""
        variable = self.variables[parent]
        if variable.grid is not None:
            return ValueOf(parent, _condition_clause(child, variable, given))
        choices = tuple(v for v in variable.choices if given.satisfied_by_value({parent: v}))
        return ValueOf(parent, IsIn(choices)) if choices else False

    def _split_clauses(self, clauses: Iterable[Clause | bool]) -> tuple[dict[str, Presented], list[Clause | bool]]:
        """Return the clauses about one value each as `when=`, and the other clauses, including False."""
        tests: dict[str, list[Clause]] = {}
        rest: list[Clause | bool] = []
        for clause in clauses:
            for one in clause.clauses if isinstance(clause, AllOf) else (clause,):
                if isinstance(one, ValueOf):
                    tests.setdefault(one.name, []).append(one.test)
                elif one is not True:
                    rest.append(one)
        when: dict[str, Presented] = {}
        for name, own in tests.items():
            variable = self.variables[name]
            if variable.grid is not None:
                when[name] = own[0] if len(own) == 1 else AllOf(tuple(own))
                continue
            choices = [v for v in variable.choices if all(test(v) for test in own)]
            if choices:
                when[name] = choices[0] if len(choices) == 1 else OneOf(*choices)
            else:
                rest.append(False)
        return when, rest

    def _read_clause(self, given: Forbidden) -> Clause | bool:
        """Return a forbidden clause as a clause about points; a bool if constants decide it."""
        if isinstance(given, forbidden.ForbiddenConjunction):
            parts = [self._read_clause(part) for part in given.components]
            if isinstance(given, forbidden.ForbiddenAndConjunction):
                return _combine(parts, AllOf, neutral=True)
            return _combine(parts, AnyOf, neutral=False)
        if isinstance(given, forbidden.ForbiddenRelation):
            names = given.left.name, given.right.name
            if any(self.active[name] is False for name in names):
                return False
            return self._if_active(names, self._compare(given))
        name = given.hyperparameter.name
        return self._if_active((name,), self._read_value_clause(name, given))

    def _if_active(self, names: Iterable[str], clause: Clause | bool) -> Clause | bool:
        """Return a clause that holds only if the configuration has all given hyperparameters."""
        needed = [self.active[name] for name in names if name not in self.variables or name in self.idle]
        return _combine([*needed, clause], AllOf, neutral=True)

    def _read_value_clause(self, name: str, given: Forbidden) -> Clause | bool:
        if constant := self.constants[name]:
            return bool(given.is_forbidden_value({name: constant[0]}))
        if name not in self.variables:
            return False
        variable = self.variables[name]
        if variable.grid is None:
            return ValueOf(name, IsIn(tuple(v for v in variable.choices if given.is_forbidden_value({name: v}))))
        if isinstance(given, forbidden.ForbiddenInClause):
            return ValueOf(name, IsIn(tuple(_exact(name, variable, value) for value in given.values)))
        relation = CLAUSE_RELATIONS.get(type(given)) or _refuse_to_read(str(given), given)
        return ValueOf(name, Compare(relation, _compared(name, variable, relation, given.value)))

    def _compare(self, given: Forbidden) -> Clause | bool:
        relation = VARIABLE_RELATIONS.get(type(given)) or _refuse_to_read(str(given), given)
        left, right = given.left.name, given.right.name
        sorts = {sort_of_values(side) for side in (given.left, given.right)}
        if relation != "==" and sorts not in ({"number"}, {"text"}):
            raise DomainError(f"{given}: expected two hyperparameters of numbers, or two of strings")
        fixed = {name: constant[0] for name in (left, right) if (constant := self.constants[name])}
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
        """Return the comparison of a variable with a constant as a clause; False if it never holds."""
        variable = self.variables[name]
        if variable.grid is None:
            choices = [choice for choice in variable.choices if RELATIONS[relation](choice, value)]
            return ValueOf(name, IsIn(tuple(choices))) if choices else False
        if relation == "==":
            try:
                variable.parse(value)
            except PointError:
                return False
        return ValueOf(name, Compare(relation, _compared(name, variable, relation, value)))

    def _list_pairs(self, given: Forbidden, left: str, right: str) -> Clause | bool:
        """Return a relation of strings as the pairs that it forbids; a space compares strings only for equality."""
        pairs: list[Clause | bool] = []
        for one in self.variables[left].choices:
            others = [v for v in self.variables[right].choices if given.is_forbidden_value({left: one, right: v})]
            if others:
                pairs.append(AllOf((ValueOf(left, IsIn((one,))), ValueOf(right, IsIn(tuple(others))))))
        return _combine(pairs, AnyOf, neutral=False)


def _read_variable(name: str, given: Any, when: dict[str, Presented]) -> ChoiceVariable:
    """Return a hyperparameter of several values as a variable; raise DomainError, with its name, for other kinds."""
    own = when or None
    try:
        if isinstance(given, cs.CategoricalHyperparameter | cs.Constant):
            return Categorical(listed_choices(given) or (), when=own)
        if isinstance(given, cs.OrdinalHyperparameter):
            return Ordinal(given.sequence, when=own)
        if isinstance(given, IntegerHyperparameter):
            return Integer(int(given.lower), int(given.upper), log=bool(given.log), when=own)
        if isinstance(given, FloatHyperparameter):
            return Real(float(given.lower), float(given.upper), log=bool(given.log), when=own)
    except DomainError as error:
        raise DomainError(f"{name}: {error}") from None
    return _refuse_to_read(name, given)


def _split_conjunction(condition: Condition) -> Iterator[Condition]:
    """Yield the parts of nested conjunctions by "and"."""
    if isinstance(condition, conditions.AndConjunction):
        for part in condition.components:
            yield from _split_conjunction(part)
    else:
        yield condition


def _list_parents(condition: Condition) -> list[str]:
    """Return the names of the parents of a condition, each once."""
    leaves = condition.dlcs if isinstance(condition, conditions.Conjunction) else [condition]
    return list(dict.fromkeys(leaf.parent.name for leaf in leaves))


def _as_clause(parent: str, test: Any) -> Clause:
    """Return one test of `when=` as a clause about points."""
    if isinstance(test, Clause):
        return ValueOf(parent, test)
    return ValueOf(parent, IsIn(test.values if isinstance(test, OneOf) else (test,)))


def _holds_if_inactive(condition: Condition) -> bool:
    """Return whether ConfigSpace considers a condition fulfilled if its parent is inactive, which is NaN there."""
    if isinstance(condition, conditions.AndConjunction):
        return all(map(_holds_if_inactive, condition.components))
    if isinstance(condition, conditions.OrConjunction):
        return any(map(_holds_if_inactive, condition.components))
    return isinstance(condition, conditions.NotEqualsCondition)


def _condition_clause(child: str, parent: ChoiceVariable, condition: Condition) -> Clause:
    """Return a condition on a number as a clause about its value."""
    if isinstance(condition, conditions.Conjunction):
        kind = AllOf if isinstance(condition, conditions.AndConjunction) else AnyOf
        return kind(tuple(_condition_clause(child, parent, part) for part in condition.components))
    if isinstance(condition, conditions.InCondition):
        return IsIn(tuple(_exact(child, parent, value) for value in condition.values))
    relation = CONDITION_RELATIONS.get(type(condition)) or _refuse_to_read(child, condition)
    return Compare(relation, _compared(child, parent, relation, condition.value))


def _compared(name: str, variable: ChoiceVariable, relation: str, value: Presented) -> Presented:
    """Return the right side of a comparison; for equality it must be a value of the variable."""
    return _exact(name, variable, value) if relation in ("==", "!=") else to_python(value)


def _exact(name: str, variable: ChoiceVariable, value: Presented) -> Presented:
    """Return a value of a numeric variable; raise DomainError if the variable does not have exactly this value."""
    try:
        if variable.present(variable.parse(value)) == value:
            return to_python(value)
    except PointError:
        pass
    raise DomainError(f"{name}: {value!r} lies between the numbers that {variable!r} has; compare by < or >")


def _combine(
    parts: list[Clause | bool], kind: Callable[[tuple[Clause, ...]], Clause], *, neutral: bool
) -> Clause | bool:
    """Combine clauses; True and False are clauses that are known to hold, or not to."""
    clauses = tuple(part for part in parts if not isinstance(part, bool))
    if (not neutral) in parts:
        return not neutral
    return (clauses[0] if len(clauses) == 1 else kind(clauses)) if clauses else neutral


def _refuse_to_read(name: str, given: object) -> NoReturn:
    raise DomainError(f"{name}: a {type(given).__name__} has no counterpart in a space")


class SpaceWriter:
    """A writer of one space.

    Parameters
    ----------
    space : Space
        The space to write.
    name : str or None
        Name of the result, if any.
    """

    def __init__(self, space: Space, name: str | None) -> None:
        if not isinstance(space, Space):
            raise DomainError(f"space: expected a bostruct.Space of variables, got {short_repr(space)}")
        self.space = space
        self.result = ConfigurationSpace(name=name)

    def write(self) -> ConfigurationSpace:
        """Return the space; raise DomainError if a part has no counterpart."""
        default = self.space.present(self.space.sample(1, np.random.default_rng(0))[0])
        for name, variable in self.space.variables.items():
            self.result.add(_hyperparameter(name, variable, default.get(name, variable.present(variable.fallback()))))
        found = [self._write_when(name) for name, variable in self.space.variables.items() if variable.when]
        clauses = [self._write_constraint(rule) for rule in self.space.constraints]
        self.result.add(*found, *clauses)
        return self.result

    def _write_when(self, child: str) -> Any:
        """Return the conditions of a variable as one condition."""
        tests = self.space.variables[child].when.items()
        parts = [self._write_test(child, parent, test) for parent, test in tests]
        return parts[0] if len(parts) == 1 else cs.AndConjunction(*parts)

    def _write_test(self, child: str, parent: str, test: object) -> Any:
        """Return the test of the value of one parent as a condition."""
        variable = self.space.variables[parent]
        if variable.choices is not None and variable.grid is None:
            choices = [v for v in variable.choices if self._holds(child, parent, test, v)]
            return self._is_one_of(child, parent, choices)
        if isinstance(test, OneOf):
            return self._is_one_of(child, parent, list(test.values))
        if isinstance(test, Clause):
            return self._write_clause_test(child, parent, test)
        if callable(test):
            raise DomainError(
                f"{child}: when: {predicate_name(test)} is a function of {parent}, which has too many values to try "
                "all; give a test of bostruct.domains"
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
        if isinstance(test, Compare) and test.relation in CONDITION_KINDS:
            return CONDITION_KINDS[test.relation](self.result[child], self.result[parent], test.value)
        return _refuse_to_write(f"{child}: when: {parent} {test!r}", "a condition")

    def _write_constraint(self, rule: object) -> Any:
        """Return a constraint as a forbidden clause."""
        if isinstance(rule, Not):
            return self._write_forbidden(rule.clause)
        name = repr(rule) if isinstance(rule, Clause) else predicate_name(rule)  # type: ignore[arg-type]
        return _refuse_to_write(f"constraint {name}", "a forbidden clause; expected Not(...) of bostruct.domains")

    def _write_forbidden(self, clause: Clause) -> Any:
        if isinstance(clause, Not) and isinstance(clause.clause, AllOf | AnyOf):
            parts = tuple(map(Not, clause.clause.clauses))
            clause = AnyOf(parts) if isinstance(clause.clause, AllOf) else AllOf(parts)
        variables = self.space.variables
        if isinstance(clause, Not) and isinstance(one := clause.clause, ValueOf) and not variables[one.name].when:
            clause = ValueOf(one.name, Not(one.test))
        if isinstance(clause, AllOf | AnyOf):
            kind = cs.ForbiddenAndConjunction if isinstance(clause, AllOf) else cs.ForbiddenOrConjunction
            return kind(*map(self._write_forbidden, clause.clauses))
        if isinstance(clause, CompareVariables) and clause.relation in RELATION_KINDS:
            return RELATION_KINDS[clause.relation](self.result[clause.left], self.result[clause.right])
        if isinstance(clause, ValueOf):
            return self._write_forbidden_value(clause)
        return _refuse_to_write(f"constraint {clause!r}", "a forbidden clause")

    def _write_forbidden_value(self, clause: ValueOf) -> Any:
        given, variable, test = self.result[clause.name], self.space.variables[clause.name], clause.test
        if variable.choices is not None and variable.grid is None:
            return cs.ForbiddenInClause(given, [value for value in variable.choices if test(value)])
        if isinstance(test, IsIn):
            return cs.ForbiddenInClause(given, test.values)
        if isinstance(test, Compare) and test.relation in CLAUSE_KINDS:
            return CLAUSE_KINDS[test.relation](given, test.value)
        return _refuse_to_write(f"constraint {clause!r}", "a forbidden clause")


def _hyperparameter(name: str, variable: Variable, default: Presented) -> Hyperparameter:
    """Return a variable as a hyperparameter; raise DomainError for kinds that ConfigSpace does not have."""
    if variable.is_fixed and is_json_scalar(default):
        return cs.Constant(name, default, meta=FIXED)
    if isinstance(variable, Binary) or (isinstance(variable, Categorical) and variable.likeness is None):
        return cs.CategoricalHyperparameter(name, variable.choices, default_value=default)
    has_steps = isinstance(variable, Integer | Real) and variable.step not in (None, 1)
    if has_steps or (isinstance(variable, Ordinal) and variable.weight == 1.0):
        return cs.OrdinalHyperparameter(name, tuple(variable.choices), default_value=default)
    if isinstance(variable, Integer):
        return cs.UniformIntegerHyperparameter(
            name, variable.low, variable.high, default_value=default, log=variable.log
        )
    if isinstance(variable, Real):
        low, high = variable.low, variable.high
        if round(low, DECIMALS) != low or round(high, DECIMALS) != high:
            raise DomainError(f"{name}: ConfigSpace rounds numbers to {DECIMALS} decimals; expected rounded bounds")
        return cs.UniformFloatHyperparameter(name, low, high, default_value=default, log=variable.log)
    return _refuse_to_write(f"{name}: {variable!r}", "a hyperparameter")


def _refuse_to_write(what: str, counterpart: str) -> NoReturn:
    raise DomainError(f"{what} cannot be written to ConfigSpace as {counterpart}")
