"""Read and set the variable of a domain that says how thoroughly a point is evaluated."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bostruct.contracts import Batch, DomainError, IntArray, Point
from bostruct.domains.joint import Joint
from bostruct.domains.space.discrete import Fidelity
from bostruct.domains.space.space import Space


@dataclass(frozen=True)
class FidelityLevels:
    """The one `Fidelity` of a `Space`, or of a `Space` that is part of a joint domain.

    Raises DomainError for other numbers of them.
    """

    domain: Any

    def __post_init__(self) -> None:
        if len(self._fidelity_variables) != 1:
            names = ", ".join(name for _, name, _ in self._fidelity_variables) or "none"
            raise DomainError(
                f"method: expected a domain with one Fidelity variable, in a Space or a part that is one; found {names}"
            )

    @property
    def costs(self) -> tuple[float, ...]:
        """The costs of an evaluation at each fidelity, ascending."""
        _, _, space = self._fidelity_variables[0]
        found = next(v for v in space.variables.values() if isinstance(v, Fidelity))
        return tuple(float(cost) for cost in found.choices)

    def level(self, x: Point) -> int:
        """Return the position of a point's fidelity among `costs`."""
        return int(self._row(x)[self._column])

    def at_level(self, x: Point, level: int) -> Point:
        """Return the same point at another fidelity; raises PointError where a constraint forbids it.

        Variables that exist at that fidelity, and not at the point's, are drawn by a generator that the other variables
        seed: so one point leads to one point at each fidelity, and different points try different values.
        """
        part, _, space = self._fidelity_variables[0]
        row = np.array(self._row(x), dtype=np.int64)
        row[self._column] = level
        rng = np.random.default_rng(np.frombuffer(self._untied(row), dtype=np.uint32))
        row = space.conditions.settle_randomly(row[None], rng)[0]
        found = row
        if part is not None:
            parts = [row if i == part else own for i, own in enumerate(x.parts)]
            found = self.domain.points([[own] for own in parts])[0]
        self.domain.check(found)
        return found

    def at_target_fidelity(self, xs: Batch) -> Batch:
        """Return the same points at the highest fidelity, be they valid there or not."""
        part, name, space = self._fidelity_variables[0]
        top = len(space.variables[name]) - 1
        if part is None:
            rows = np.array(xs, dtype=np.int64)
            rows[:, self._column] = top
            return rows
        columns: list[list[Any]] = [[x.parts[i] for x in xs] for i in range(len(self.domain.domains))]
        columns[part] = [np.array(row, dtype=np.int64) for row in columns[part]]
        for row in columns[part]:
            row[self._column] = top
        return self.domain.points(columns) if len(xs) else []

    def keys(self, xs: Iterable[Point]) -> list[Hashable]:
        """Return keys that are equal where points differ in their fidelity alone, be the other one valid or not.

        Variables that only some fidelities have are left out, for a point loses and gains them with its fidelity.
        """
        return [self._key(x) for x in xs]

    def _key(self, x: Point) -> Hashable:
        part = self._fidelity_variables[0][0]
        rest = self._untied(self._row(x))
        return rest if part is None else (*x.key[:part], rest, *x.key[part + 1 :])

    def _untied(self, row: IntArray) -> bytes:
        """Return what a row holds beside the fidelity and the variables that depend on it."""
        return np.delete(np.asarray(row, dtype=np.int64), self._tied_columns).tobytes()

    def _row(self, x: Point) -> IntArray:
        part = self._fidelity_variables[0][0]
        return x if part is None else x.parts[part]

    @cached_property
    def _column(self) -> int:
        _, name, space = self._fidelity_variables[0]
        return int(space.layout.starts[space.positions[name]])

    @cached_property
    def _tied_columns(self) -> list[int]:
        """The columns of the fidelity, and of the variables that depend on it, if only through others."""
        _, name, space = self._fidelity_variables[0]
        tied = {space.positions[name]}
        for i in space.conditions.order:  # parents first
            if any(link.parent in tied for link in space.conditions.links[i]):
                tied.add(i)
        return [column for i in sorted(tied) for column in range(space.n_columns)[space.layout.columns(i)]]

    @cached_property
    def _fidelity_variables(self) -> list[tuple[int | None, str, Space]]:
        """Each such variable: its part, None where the domain is a space itself; its name; the space."""
        parts = enumerate(self.domain.domains) if isinstance(self.domain, Joint) else [(None, self.domain)]
        return [
            (part, name, space)
            for part, space in parts
            if isinstance(space, Space)
            for name, variable in space.variables.items()
            if isinstance(variable, Fidelity)
        ]
