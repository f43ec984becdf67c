"""Points of spaces with conditions, from objectives that ask for more parameters than a point has."""

from __future__ import annotations

import numpy as np

from bostruct.contracts import Domain, PointError, Presented
from bostruct.domains.mixed import MixedSpace
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import ABSENT


def drop_inactive(domain: Domain, point: Presented) -> Presented:
    """Return a point without the variables that the conditions of its space leave out.

    domain: of the point; only a space has conditions.
    point: what `Domain.parse` takes, but for these variables.

    Raises PointError, naming the variable or part, for a value that there is not.
    """
    own = domain.domains[0] if isinstance(domain, MixedSpace) and not domain.part_names[0] else domain
    if not isinstance(own, Space) or not own.conditions:
        return point
    known = dict(point) | (_answer_tests(domain, point) if isinstance(domain, MixedSpace) else {})
    row, names = np.full(own.n_columns, ABSENT, dtype=np.int64), list(own.variables)
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
    """Return whether each test of a part holds, which conditions of variables ask, where the point has the part."""
    answers = {}
    for test in space.tests:
        if (name := space.part_names[test.part]) in point:
            answers[test.label] = bool(test.holds(space.domains[test.part].parse(point[name])))
    return answers
