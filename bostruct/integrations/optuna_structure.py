"""The search space and the structure that a user gives to the sampler, and its points in trials of Optuna."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import Domain, DomainError, Point, PointError
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.discrete import Ordinal
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable
from bostruct.integrations.optuna_spaces import describe_parameters, read_distribution, write_variable
from bostruct.study.records import as_domain


def read_search_space(given: Domain | Mapping[str, object]) -> Domain:
    """Return the domain of a search space, without distributions of one value, which Optuna knows without asking.

    given: a domain, or a dict of variables or of distributions of Optuna.

    Raises DomainError, TypeError.
    """
    if not isinstance(given, Mapping):
        return as_domain(given)
    several = {name: one for name, one in given.items() if not (isinstance(one, BaseDistribution) and one.single())}
    return as_domain(
        {
            name: read_distribution(name, one) if isinstance(one, BaseDistribution) else one
            for name, one in several.items()
        }
    )


def check_structure(given: object) -> dict[str, Any]:
    """Return a structure whose parts are all known.

    given: by name, ``"ordinal"`` or a variable.

    Raises TypeError for anything else, DomainError for a variable with conditions.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f'structure: expected a dict such as {{"dose": "ordinal"}}, got {short_repr(given)}')
    for name, one in given.items():
        if one != "ordinal" and not isinstance(one, Variable):
            raise TypeError(
                f"structure[{name!r}]: expected 'ordinal' or a variable, Permutation(...), got {short_repr(one)}"
            )
        if isinstance(one, Variable) and one.when:
            raise DomainError(f"structure[{name!r}]: when: conditions need a search_space, which has all variables")
    return dict(given)


def check_structured(domain: Domain, name: str) -> None:
    """Raise ValueError unless a name is that of a structured parameter, whose values are no plain ones.

    domain: that has the parameters.
    name: as the user gave it.
    """
    names = [one for one, distribution in describe_parameters(domain).items() if distribution is None]
    if name not in names:
        plain = "; trial.suggest_float, suggest_int and suggest_categorical read the others"
        raise ValueError(
            f"name: expected a structured parameter, {', '.join(map(repr, names)) or 'of which there is none'}, "
            f"got {short_repr(name)}{did_you_mean(name, names)}{plain}"
        )


def read_structured(name: str, given: str | Variable, distribution: BaseDistribution) -> Variable:
    """Return the variable of a parameter whose structure the user gave.

    name: of the parameter.
    given: ``"ordinal"`` or a variable.
    distribution: as the objective asks for it.

    Raises ValueError where they do not go together.
    """
    if isinstance(given, Variable) and write_variable(given) is None:
        raise ValueError(
            f"structure[{name!r}]: {given} is no parameter of Optuna; sampler.suggest(trial, {name!r}) reads it"
        )
    if not isinstance(distribution, CategoricalDistribution):
        raise ValueError(
            f"structure[{name!r}]: expected None for numbers, which have an order, got {short_repr(given)}"
        )
    if isinstance(given, str):
        return Ordinal(distribution.choices)
    own = list(given.choices) if isinstance(given, ChoiceVariable) else []
    if sorted(map(repr, own)) != sorted(map(repr, distribution.choices)):
        raise ValueError(
            f"structure[{name!r}]: expected the choices that the objective asks for, "
            f"{short_repr(distribution.choices)}, got {short_repr(own)}"
        )
    return given


def suggest_parameter(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """Have a trial suggest a parameter, as an objective does.

    trial: of Optuna.
    name: of the parameter.
    distribution: of the parameter, a float without a step.
    """
    if isinstance(distribution, FloatDistribution):
        return trial.suggest_float(name, distribution.low, distribution.high, log=distribution.log)
    if isinstance(distribution, IntDistribution):
        low, high, step = distribution.low, distribution.high, distribution.step
        return trial.suggest_int(name, low, high, step=step, log=distribution.log)
    assert isinstance(distribution, CategoricalDistribution)
    return trial.suggest_categorical(name, distribution.choices)


def fix_parameters(domain: Domain, x: Point, fixed: Mapping[str, object], rng: np.random.Generator) -> Point:
    """Return a point that agrees with the fixed parameters of an enqueued trial, and with the conditions then.

    domain: of the point.
    x: the point.
    fixed: values of parameters, by name.
    rng: draws the variables that the point gains.

    The point itself comes back where the domain is no space, and where the fixed ones lead to no point.
    """
    if not isinstance(domain, Space) or not domain.variables.keys() & fixed.keys():
        return x
    row = np.array(x)
    try:
        for name in domain.variables.keys() & fixed.keys():
            own = domain.variables[name]
            row[domain.layout.columns(domain.positions[name])] = own.parse(fixed[name])
        row = domain.conditions.settle_randomly(row[None], rng)[0]
        domain.check(row)
    except PointError:
        return x
    return row
