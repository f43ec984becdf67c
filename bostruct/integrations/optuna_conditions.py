"""Conditions of parameters that only some trials of an Optuna study have, as far as its trials tell them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from bostruct.domains.space.clauses import OneOf
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.variable import Variable

Params = Mapping[str, Any]  # of one trial


def infer_conditions(
    trials: Sequence[Params], distributions: Mapping[str, BaseDistribution]
) -> dict[str, dict[str, OneOf] | None]:
    """Return the `when=` of each parameter of which the trials tell when it is there, None where it always is.

    trials: parameters of the trials with values.
    distributions: of all parameters that have one distribution alone, of several values.

    A parameter that only some trials have is there for some values of one other parameter, the parent, a categorical
    or an integer without a step, if trials with and without the parameter have different values of it. A value of a
    categorical that no trial has tried counts as one without. One of an integer counts as its neighbors do. A
    parameter of which no parent tells is left out.
    """
    names = sorted(distributions)
    found: dict[str, dict[str, OneOf] | None] = {name: None for name in names if all(name in one for one in trials)}
    waiting = [name for name in names if name not in found]
    while waiting:  # a parameter may depend on one that has a condition itself
        told = {name: when for name in waiting if (when := _find_parent(name, list(found), trials, distributions))}
        if not told:
            break
        found |= told
        waiting = [name for name in waiting if name not in told]
    return found


def add_conditions(
    variables: Mapping[str, Variable], conditions: Mapping[str, Mapping[str, OneOf] | None]
) -> dict[str, Variable]:
    """Return variables with their conditions, of those whose parents are there; others are as they were.

    variables: by name; none is changed.
    conditions: as of `infer_conditions`.
    """
    found = dict(variables)
    for name, one in variables.items():
        when = conditions.get(name)
        if when and when.keys() <= variables.keys():
            found[name] = copy.copy(one)
            found[name].when = dict(when)
    return found


def _find_parent(
    name: str, parents: Sequence[str], trials: Sequence[Params], distributions: Mapping[str, BaseDistribution]
) -> dict[str, OneOf] | None:
    """Return the condition of a parameter on the first parent that tells; None where none does."""
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
    """Return the values of a parent with which a parameter is there; none where they do not tell."""
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
    # between the last value without and the first one with it nobody knows: only values that were seen count there
    low = low if low == distribution.low else min(present)
    high = high if high == distribution.high else max(present)
    return list(range(low, high + 1))
