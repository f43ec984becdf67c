"""Spaces and points of ConfigSpace, which SMAC3 and others take, read and written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bostruct.contracts import Presented
from bostruct.domains.space.choices import to_python
from bostruct.domains.space.space import Space
from bostruct.integrations.configspace_reading import SpaceReader
from bostruct.integrations.configspace_values import constant_value, listed_choices
from bostruct.integrations.configspace_writing import SpaceWriter

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace


def read_space(configuration_space: ConfigurationSpace) -> Space:
    """Read a space of ConfigSpace, with its conditions and its forbidden clauses.

    configuration_space: `ConfigSpace.ConfigurationSpace`.

    Uniform, normal and beta numbers become `Real` and `Integer`, categories and orders `Categorical` and `Ordinal`,
    conditions `when=`, and forbidden clauses constraints. Constants are no variables; `write_point` puts them back.
    Default values and meta data say nothing of which points there are, and are not read.

    Raises DomainError, naming the hyperparameter, for a condition on several parents joined by "or", and for whatever
    else has no counterpart. Warns of distributions, which a space does not hold.
    """
    return SpaceReader(configuration_space).read()


def write_space(space: Space, name: str | None = None) -> ConfigurationSpace:
    """Write a space as one of ConfigSpace, whose default configuration is a valid point.

    space: of `Binary`, `Categorical`, `Ordinal`, `Integer` and `Real` variables.
    name: of the result.

    A predicate of `when=` is asked for each choice of its parent. Raises DomainError, naming the variable or the
    constraint, for other kinds of variables, for predicates of numbers, and for constraints that are functions.
    """
    return SpaceWriter(space, name).write()


def read_point(configuration: Configuration) -> dict[str, Presented]:
    """Return a configuration as a point of the space that `read_space` reads.

    configuration: `ConfigSpace.Configuration`.

    NumPy scalars become the choices themselves. Inactive hyperparameters and constants are left out.
    """
    hyperparameters = configuration.config_space
    point = {}
    for name, value in dict(configuration).items():
        hyperparameter = hyperparameters[name]
        if constant_value(hyperparameter) is None:
            choices = listed_choices(hyperparameter) or ()
            point[name] = next((choice for choice in choices if choice == value), to_python(value))
    return point


def write_point(point: dict[str, Any], configuration_space: ConfigurationSpace) -> Configuration:
    """Return a point as a checked configuration, with the constants that are active.

    point: dict, of a space that `read_space` or `write_space` made an equivalent of `configuration_space`.
    configuration_space: that the configuration belongs to, which rounds its numbers to 13 decimals.

    Raises PointError and errors of ConfigSpace for a point that it does not allow.
    """
    from ConfigSpace import Configuration
    from ConfigSpace.types import NotSet

    values = dict(point)
    for name, hyperparameter in configuration_space.items():  # parents first
        constant = constant_value(hyperparameter)
        if constant is None:
            continue
        known = {parent: values.get(parent, NotSet) for parent in configuration_space}
        if all(condition.satisfied_by_value(known) for condition in configuration_space.parent_conditions_of[name]):
            values[name] = constant[0]
    return Configuration(configuration_space, values=values)
