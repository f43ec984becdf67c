"""Constants, listed choices, sorts of values and preferred values of the hyperparameters of ConfigSpace."""

from __future__ import annotations

import numpy as np

from bostruct.checks import missing_package
from bostruct.contracts import Presented

try:
    import ConfigSpace as cs
    from ConfigSpace.hyperparameters import FloatHyperparameter, Hyperparameter, IntegerHyperparameter
except ModuleNotFoundError as error:
    raise missing_package(error.name or "ConfigSpace", "configspace") from error


def constant_value(given: Hyperparameter) -> tuple[Presented] | None:
    """Return the one value of a constant, or of a hyperparameter with one choice, in a tuple; None for any other.

    given: `ConfigSpace.hyperparameters.Hyperparameter`.
    """
    if isinstance(given, cs.Constant):
        return (given.value,)
    choices = listed_choices(given)
    return (choices[0],) if choices is not None and len(choices) == 1 else None


def listed_choices(given: Hyperparameter) -> tuple[Presented, ...] | None:
    """Return the choices of a category or an order; None for a hyperparameter of another kind.

    given: `ConfigSpace.hyperparameters.Hyperparameter`.
    """
    if isinstance(given, cs.CategoricalHyperparameter):
        return tuple(given.choices)
    return tuple(given.sequence) if isinstance(given, cs.OrdinalHyperparameter) else None


def sort_of_values(given: Hyperparameter) -> str:
    """Tell what the values of a hyperparameter compare with: a "number", a "text", or nothing ("mixed").

    given: `ConfigSpace.hyperparameters.Hyperparameter`.
    """
    values = listed_choices(given) or constant_value(given)
    if values is None or all(isinstance(value, int | float | np.number) for value in values):
        return "number"
    return "text" if all(isinstance(value, str) for value in values) else "mixed"


def is_biased(given: Hyperparameter) -> bool:
    """Tell whether a hyperparameter prefers some values, beyond a scale of logarithms.

    given: `ConfigSpace.hyperparameters.Hyperparameter`.
    """
    if isinstance(given, cs.CategoricalHyperparameter):
        return len(given.choices) > 1 and len(set(given.probabilities.tolist())) > 1
    is_even = isinstance(given, cs.UniformFloatHyperparameter | cs.UniformIntegerHyperparameter)
    return isinstance(given, FloatHyperparameter | IntegerHyperparameter) and not is_even
