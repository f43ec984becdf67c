"""Read and set the variable of a domain that determines how thoroughly a point is evaluated."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bostruct.contracts import Batch, Domain, DomainError, IntArray, Point
from bostruct.domains.space.constraints import ConstrainedProduct
from bostruct.domains.space.variable import INACTIVE


@dataclass(frozen=True)
class FidelityLevels:
    """The one `Fidelity` of a `Space`, or of a `Space` that is part of a joint domain.

    Raises DomainError if there is none, or more than one.
    """

    domain: Domain

    def __post_init__(self) -> None:
        if len(self._found) != 1:
            names = ", ".join(name for _, name in self._found) or "none"
            raise DomainError(
                f"method: expected a domain with one Fidelity variable, in a Space or a part that is one; found {names}"
            )

    @property
    def costs(self) -> tuple[float, ...]:
        """The costs of an evaluation at each fidelity, ascending."""
        return self._space.variables[self._found[0][1]].costs

    def level(self, x: Point) -> int:
        """Return the position of a point's fidelity among `costs`."""
        return int(self._rows([x])[0][self._column])

    def at_level(self, x: Point, level: int) -> Point:
        """Return the same point at another fidelity; raises PointError if a constraint forbids it.

        Variables that exist only at the new fidelity are drawn by a generator that the other variables seed. A point
        therefore gives one point at each fidelity, and different points try different values.
        """
        row = np.array(self._rows([x])[0], dtype=np.int64)
        row[self._column] = level
        untied = np.delete(row, self._tied_columns)
        rng = np.random.default_rng(np.frombuffer(untied.tobytes(), dtype=np.uint32))
        found = self._with_rows([x], self._space.conditions.apply_randomly(row[None], rng))[0]
        self.domain.check(found)
        return found

    def at_target_fidelity(self, xs: Batch) -> Batch:
        """Return the same points at the highest fidelity, even if they are invalid there."""
        rows = np.array(self._rows(xs), dtype=np.int64).reshape(-1, self._space.n_columns)
        rows[:, self._column] = len(self.costs) - 1
        return self._with_rows(xs, rows)

    def keys(self, xs: Batch) -> list[Hashable]:
        """Return keys that are equal for points that differ only in their fidelity, even if a point is invalid.

        Variables that exist only at some fidelities are ignored, because they change with the fidelity.
        """
        rows = np.array(self._rows(xs), dtype=np.int64).reshape(-1, self._space.n_columns)
        rows[:, self._tied_columns] = INACTIVE
        rows[:, self._column] = 0
        return self.domain.keys(self._with_rows(xs, rows))

    def _rows(self, xs: Batch) -> Batch:
        """Return the rows of m points in the space of the fidelity."""
        part = self._found[0][0]
        return xs if part is None else self.domain.part(part, xs)

    def _with_rows(self, xs: Batch, rows: IntArray) -> Batch:
        part = self._found[0][0]
        return rows if part is None else self.domain.with_part(part, xs, rows)

    @cached_property
    def _column(self) -> int:
        return int(self._space.layout.starts[self._space.positions[self._found[0][1]]])

    @cached_property
    def _tied_columns(self) -> list[int]:
        """The columns of the fidelity, and of the variables that depend on it directly or indirectly."""
        space = self._space
        tied = {space.positions[self._found[0][1]]}
        for i in space.conditions.order:  # parents first
            if any(link.parent in tied for link in space.conditions.links[i]):
                tied.add(i)
        return [column for i in sorted(tied) for column in range(space.n_columns)[space.layout.columns(i)]]

    @cached_property
    def _space(self) -> ConstrainedProduct:
        """The variables of the space that contains the fidelity, without constraints."""
        part = self._found[0][0]
        return ConstrainedProduct((self.domain if part is None else self.domain.parts[part]).variables, ())

    @cached_property
    def _found(self) -> list[tuple[str | None, str]]:
        """The part and the name of each fidelity; the part is None if the domain has no parts."""
        parts: dict[str | None, Domain] = {**self.domain.parts} or {None: self.domain}
        return [(part, name) for part, own in parts.items() for name, one in own.variables.items() if one.costs]
