"""Read parameters, points and outcomes of Optuna's trials as variables, points, conditions and goals of bostruct."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from bostruct.checks import install_command, missing_package, short_repr
from bostruct.contracts import Domain, DomainError, MissingExtra, ParsedJson, Point, PointError, Presented
from bostruct.domains.mixed import MixedSpace
from bostruct.domains.space.clauses import OneOf
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.registry import variable, variable_from_json
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import INACTIVE, Variable
from bostruct.goals.declared import Goals, declare_goals
from bostruct.outcome import Outcome, outcome_of

try:
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
    from optuna.trial import FrozenTrial, TrialState
except ModuleNotFoundError as error:
    raise missing_package(error.name or "optuna", "optuna") from error
if not hasattr(FrozenTrial, "constraints"):
    raise MissingExtra(
        "bostruct.integrations needs Optuna 5.0 or later, whose trials have constraints, and found an older one: "
        f"{install_command('optuna')}"
    )


DISTRIBUTIONS = {"Real": FloatDistribution, "Integer": IntDistribution}  # by kind of variable
WHOLE = "point"  # the user attribute with a point of a domain without named variables
CHOSEN = "bostruct:point"  # the system attribute with the point that was chosen for a trial
WITH_VALUES = (TrialState.COMPLETE, TrialState.PRUNED)
Params = Mapping[str, Any]  # parameters of one trial


def read_distribution(name: str, distribution: BaseDistribution) -> Variable:
    """Return the variable of a distribution.

    name: name of the parameter, for messages.
    distribution: float, int or categorical.

    Raises DomainError for a distribution of another class, or if no variable can be made.
    """
    if not isinstance(distribution, FloatDistribution | IntDistribution | CategoricalDistribution):
        raise DomainError(
            f"{name}: expected a FloatDistribution, an IntDistribution or a CategoricalDistribution, got "
            f"{short_repr(distribution)}"
        )
    if isinstance(distribution, CategoricalDistribution):
        is_binary = list(map(repr, distribution.choices)) == ["False", "True"]
        return variable(name, bool if is_binary else list(distribution.choices))
    kind = "Integer" if isinstance(distribution, IntDistribution) else "Real"
    bounds = {"low": distribution.low, "high": distribution.high, "log": distribution.log}
    return variable_from_json(name, {"kind": kind, **bounds, "step": distribution.step})


def write_variable(one: Variable | None) -> BaseDistribution | None:
    """Return the distribution of a variable, None if its values are not plain.

    one: a variable; None for a domain inside a space.

    Equidistant integers become an int with a step. The order of other ordered choices is lost.
    """
    if one is not None and one.kind in DISTRIBUTIONS:
        return DISTRIBUTIONS[one.kind](**cast(dict[str, Any], one.describe()))
    if one is None or one.choices is None or one.grid is not None:
        return None
    choices = list(one.choices)
    if not all(type(choice) in (type(None), bool, int, float, str) for choice in choices):
        return None
    steps = {b - a for a, b in itertools.pairwise(choices)} if set(map(type, choices)) == {int} else set()
    if one.ordered and len(steps) == 1 and (step := steps.pop()) > 0:
        return IntDistribution(choices[0], choices[-1], step=step)
    return CategoricalDistribution(choices)


def list_parameters(domain: Domain) -> dict[str, Variable | None] | None:
    """Return the variables of a space by name, with None for a domain inside it; None for a domain without names.

    domain: any domain.
    """
    if isinstance(domain, Space):
        return dict(domain.variables)
    if not isinstance(domain, MixedSpace):
        return None
    parts = dict(zip(domain.part_names, domain.domains, strict=True))
    own = parts.get("")
    variables = own.variables if isinstance(own, Space) else {}
    return {name: None if name in parts else variables[name] for name in domain.order}


def describe_parameters(domain: Domain) -> dict[str, BaseDistribution | None]:
    """Return the distribution of each parameter that a trial of a domain has, None for a user attribute.

    domain: any domain. A point of a domain without names is the user attribute `point`.
    """
    names = list_parameters(domain)
    return {WHOLE: None} if names is None else {name: write_variable(one) for name, one in names.items()}


def encode_point(domain: Domain, x: Point) -> dict[str, ParsedJson]:
    """Return the JSON of all values of a point by name; a domain without names has only the name `point`.

    domain: domain of the point.
    x: the point.
    """
    encoded = json.loads(json.dumps(domain.encode(x)))
    return {WHOLE: encoded} if list_parameters(domain) is None else encoded


def encode_structures(domain: Domain, x: Point) -> dict[str, ParsedJson]:
    """Return the user attributes of a point: the JSON of all values that are not plain.

    domain: domain of the point.
    x: the point.
    """
    encoded = encode_point(domain, x)
    return {name: encoded[name] for name, one in describe_parameters(domain).items() if one is None and name in encoded}


def read_structure(domain: Domain, name: str, data: ParsedJson) -> Presented:
    """Return the value of a structured parameter, as an objective receives it.

    domain: domain with the parameter.
    name: name of the parameter.
    data: the user attribute.

    Raises PointError.
    """
    try:
        if (variables := list_parameters(domain)) is None:
            return domain.present(domain.decode(data))
        if (one := variables[name]) is not None:
            return one.present(one.decode(data))
        assert isinstance(domain, MixedSpace)
        part = domain.domains[domain.part_names.index(name)]
        return part.present(part.decode(data))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise PointError(f"{name}: expected a value of the space as JSON, got {short_repr(data)}: {error}") from error


def read_trial_point(domain: Domain, trial: FrozenTrial) -> Presented:
    """Return the point of a trial in the form of `Domain.present`, which `Domain.parse` still has to check.

    domain: domain of the point.
    trial: trial of Optuna. Missing values are the values that `BostructSampler` had chosen. Inactive parameters are
        dropped.

    Raises PointError.
    """
    chosen = trial.system_attrs.get(CHOSEN, {})
    return drop_inactive(domain, assemble_point(domain, trial.params, trial.user_attrs, chosen))


def assemble_point(
    domain: Domain,
    params: Mapping[str, object],
    attributes: Mapping[str, ParsedJson],
    chosen: Mapping[str, ParsedJson] = MappingProxyType({}),
) -> Presented:
    """Return the point of a trial in the form of `Domain.present`, which `Domain.parse` still has to check.

    domain: domain of the point.
    params: parameters of the trial; other names are ignored.
    attributes: user attributes of the trial with structured values; other attributes are ignored.
    chosen: values for parameters that the trial lacks, in the form of `encode_point`; others are ignored.

    Raises PointError.
    """
    variables = list_parameters(domain)
    if variables is None:
        if WHOLE not in attributes and WHOLE not in chosen:
            raise PointError(f"the trial has no user attribute {WHOLE!r} with the point")
        return read_structure(domain, WHOLE, attributes[WHOLE] if WHOLE in attributes else chosen[WHOLE])
    point: dict[str, Presented] = {}
    for name, one in variables.items():
        if name in params and one is not None:
            point[name] = params[name]
        elif name in attributes and write_variable(one) is None:
            point[name] = read_structure(domain, name, attributes[name])
        elif name in chosen:
            point[name] = read_structure(domain, name, chosen[name])
    return point


def fit_value(name: str, value: Presented, distribution: BaseDistribution) -> Any:
    """Return the value of a distribution that represents a value of a variable.

    name: name of the parameter, for messages.
    value: presented value of the variable.
    distribution: distribution that the objective uses. If it has more than 1,000 steps, the nearest step is taken.

    Raises ValueError if the distribution does not have the value.
    """
    if isinstance(distribution, CategoricalDistribution):
        equal = [choice for choice in distribution.choices if choice == value]
        for choice in sorted(equal, key=lambda one: type(one) is not type(value)):  # True == 1
            return choice
    elif isinstance(distribution, FloatDistribution | IntDistribution) and type(value) in (int, float):
        low, high, step = distribution.low, distribution.high, distribution.step
        number = value if step is None else low + step * round((value - low) / step)
        has_many = step is not None and (high - low) / step >= MAX_CHOICES
        if low <= value <= high and (has_many or math.isclose(number, value, rel_tol=1e-9, abs_tol=1e-12)):
            nearest = min(max(number, low), high)
            return int(nearest) if isinstance(distribution, IntDistribution) else float(nearest)
    raise ValueError(
        f"{name}: expected an objective that uses the values of the sampler's search space, such as "
        f"{short_repr(value)}; it uses {distribution}"
    )


def drop_inactive(domain: Domain, point: Presented) -> Presented:
    """Return a point without the variables that are inactive by the conditions of its space.

    domain: domain of the point; only a space has conditions.
    point: a point for `Domain.parse`, except for the inactive variables.

    Raises PointError, naming the variable or part, for an invalid value.
    """
    own = domain.domains[0] if isinstance(domain, MixedSpace) and not domain.part_names[0] else domain
    if not isinstance(own, Space) or not own.conditions:
        return point
    known = dict(point) | (_answer_tests(domain, point) if isinstance(domain, MixedSpace) else {})
    row, names = np.full(own.n_columns, INACTIVE, dtype=np.int64), list(own.variables)
    for i in own.conditions.order:
        if (name := names[i]) not in known:
            continue
        if not own.conditions.holds(i, row[None])[0]:
            del known[name]
            continue
        try:
            row[own.layout.columns(i)] = own.variables[name].parse(known[name])
        except PointError as error:
            raise PointError(f"{name}: {error}") from None
    return {name: value for name, value in point.items() if name in known}


def _answer_tests(space: MixedSpace, point: Presented) -> dict[str, bool]:
    """Return whether each test of a part holds, if the point has the part; conditions of variables use the tests."""
    answers = {}
    for test in space.tests:
        if (name := space.part_names[test.part]) in point:
            answers[test.label] = bool(test.holds(space.domains[test.part].parse(point[name])))
    return answers


def infer_conditions(
    trials: Sequence[Params], distributions: Mapping[str, BaseDistribution]
) -> dict[str, dict[str, OneOf] | None]:
    """Infer the `when=` of parameters from trials; None for a parameter that all trials have.

    trials: parameters of the trials with values.
    distributions: distributions, by name, of all parameters with exactly one distribution, of several values.

    The presence of a parameter that only some trials have depends on one other parameter, the parent, a categorical or
    an integer without a step, if trials with and without the parameter have different values of the parent. For a value
    that no trial has tried, the parameter is inactive if the parent is categorical; for an integer parent, the
    neighboring values decide. Parameters without such a parent are left out.
    """
    names = sorted(distributions)
    found: dict[str, dict[str, OneOf] | None] = {name: None for name in names if all(name in one for one in trials)}
    waiting = [name for name in names if name not in found]
    while waiting:  # a parent may have a condition itself
        more = {name: when for name in waiting if (when := _infer_condition(name, list(found), trials, distributions))}
        if not more:
            break
        found |= more
        waiting = [name for name in waiting if name not in more]
    return found


def add_conditions(
    variables: Mapping[str, Variable], conditions: Mapping[str, Mapping[str, OneOf] | None]
) -> dict[str, Variable]:
    """Return variables with their conditions if the parents exist; other variables are returned unchanged.

    variables: variables by name; none is changed.
    conditions: see `infer_conditions`.
    """
    found = dict(variables)
    for name, one in variables.items():
        when = conditions.get(name)
        if when and when.keys() <= variables.keys():
            found[name] = one.with_conditions(when)
    return found


def _infer_condition(
    name: str, parents: Sequence[str], trials: Sequence[Params], distributions: Mapping[str, BaseDistribution]
) -> dict[str, OneOf] | None:
    """Return the condition of a parameter on the first parent that determines its presence; None if no parent does."""
    for parent in parents:
        if any(name in one and parent not in one for one in trials):
            continue
        present = [one[parent] for one in trials if name in one]
        absent = [one[parent] for one in trials if parent in one and name not in one]
        values = _separate(distributions[parent], present, absent)
        if values:
            return {parent: OneOf(*values)}
    return None


def _separate(distribution: BaseDistribution, present: Sequence[Any], absent: Sequence[Any]) -> list[Any]:
    """Return the values of a parent for which a parameter is present; empty if they do not determine its presence."""
    if isinstance(distribution, CategoricalDistribution):
        inside = [choice for choice in distribution.choices if choice in present]
        return [] if any(choice in absent for choice in inside) else inside
    if not isinstance(distribution, IntDistribution) or distribution.step != 1:
        return []
    if distribution.high - distribution.low >= MAX_CHOICES:
        return []
    low = max((value + 1 for value in absent if value < min(present)), default=distribution.low)
    high = min((value - 1 for value in absent if value > max(present)), default=distribution.high)
    if any(low <= value <= high for value in absent):
        return []
    # between the last value without and the first value with the parameter, only observed values count
    low = low if low == distribution.low else min(present)
    high = high if high == distribution.high else max(present)
    return list(range(low, high + 1))


def has_values(trial: FrozenTrial) -> bool:
    """Return whether a trial has values: it is complete, or was pruned after a report; its value is the last report.

    trial: trial of Optuna.
    """
    return trial.state in WITH_VALUES and trial.values is not None


def read_outcome(trial: FrozenTrial, limits: Collection[str]) -> Outcome:
    """Return the outcome of a finished trial.

    trial: trial of Optuna.
    limits: names of the constraints that all trials with values have. A trial that violates any other constraint is
        infeasible, because that constraint is unknown at the other points.

    A trial that was pruned before its first report is infeasible; a trial whose value is not finite is a failure.
    """
    if not has_values(trial):
        if trial.state is TrialState.PRUNED:
            return Outcome(infeasible="pruned before its first report")
        return Outcome(failed=str(trial.system_attrs.get("fail_reason") or "the trial failed in Optuna"))
    constraints = trial.constraints
    if broken := [name for name, number in constraints.items() if name not in limits and number > 0.0]:
        return Outcome(infeasible=f"breaks the constraint {', '.join(broken)}")
    measured = {name: constraints[name] for name in limits}
    return outcome_of({"value": read_value(trial), "constraints": measured or None})


def read_value(trial: FrozenTrial) -> float | tuple[float, ...]:
    """Return the value of a trial that has values, a tuple if there are several objectives.

    trial: trial of Optuna.
    """
    return trial.values[0] if len(trial.values) == 1 else tuple(trial.values)


def count_limits(trials: Iterable[FrozenTrial], before: frozenset[str] | None = None) -> frozenset[str] | None:
    """Return the names of the constraints that all trials with values have; None if there is no such trial.

    trials: trials of Optuna; trials without values are ignored.
    before: result for trials that were counted already.
    """
    for trial in trials:
        if has_values(trial):
            names = frozenset(trial.constraints)
            before = names if before is None else before & names
    return before


def declare(directions: Sequence[Any], limits: Collection[str]) -> Goals:
    """Return the goals of an Optuna study: its directions, and an upper bound of 0 for each constraint.

    directions: directions of the Optuna study.
    limits: names of constraints.
    """
    names = [direction.name.lower() for direction in directions]
    is_one, constraints = len(names) == 1, {name: ("<=", 0.0) for name in limits} or None
    return declare_goals(names[0] if is_one else "minimize", None if is_one else names, constraints)
