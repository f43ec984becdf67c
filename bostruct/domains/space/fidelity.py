"""A variable for how thoroughly a point is evaluated."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from bostruct.checks import short_repr
from bostruct.contracts import DomainError
from bostruct.domains.space.choices import ChoiceVariable, check_choices, path_graph
from bostruct.domains.space.variable import NO_DEFAULT


class Fidelity(ChoiceVariable):
    """A variable for how thoroughly a point is evaluated: epochs, shares of the data, simulations (path graph).

    costs: positive numbers, ascending: what an evaluation costs at each fidelity, in any unit.
    when: not taken, because all points have a fidelity; anything but None raises TypeError.
    default: a value, which trials had that were told before the variable existed; see docs/studies.md.

    Hyperband and successive halving raise it for points that do well; to all other methods it is an ordered variable.
    Raises DomainError.
    """

    ordered = True

    def __init__(self, costs: Iterable[float], *, when: object = None, default: object = NO_DEFAULT) -> None:
        if when is not None:
            raise TypeError(
                "Fidelity: when: it takes no conditions, because all points have it; give when= to other variables, "
                f"got {short_repr(when)}"
            )
        values = check_choices("Fidelity", costs)
        numbers = all(type(cost) in (int, float) and 0 < cost <= sys.float_info.max for cost in values)
        if not numbers or list(values) != sorted(values):
            raise DomainError(f"Fidelity: expected positive numbers in ascending order, got {short_repr(list(values))}")
        super().__init__(values, path_graph(len(values)), default=default)
