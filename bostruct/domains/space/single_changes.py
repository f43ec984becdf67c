"""Points given by what sets each apart from a point near by: one variable, at another vertex.

A neighborhood of d variables is d numbers so, not d rows of d, and a kernel on a product need look at one factor only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from bostruct.contracts import IntArray


@dataclass(frozen=True, eq=False)
class SingleChanges:
    """Rows that each differ from a base row in one variable.

    base: integer rows (b, d), which never change.
    of: (m,), the base row of each row.
    which: (m,), the variable that differs.
    vertices: (m,), the vertex of that variable.

    A batch like an integer array: it has a length, is indexed by integers, slices and arrays, and turns into rows
    wherever NumPy asks for an array.
    """

    base: IntArray
    of: IntArray
    which: IntArray
    vertices: IntArray

    def __len__(self) -> int:
        return len(self.of)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int | np.integer):
            return self[np.array([index])].rows()[0]
        return SingleChanges(self.base, self.of[index], self.which[index], self.vertices[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> IntArray:
        del copy  # rows are always new
        return self.rows().astype(dtype or np.int64, copy=False)

    def rows(self) -> IntArray:
        """Return the batch as an integer array (m, d)."""
        rows = self.base[self.of]
        rows[np.arange(len(self)), self.which] = self.vertices
        return rows

    def column(self, i: int) -> IntArray:
        """Return the vertices of variable i (m,)."""
        return np.where(self.which == i, self.vertices, self.base[self.of, i])


SpaceBatch: TypeAlias = IntArray | SingleChanges


def column(xs: SpaceBatch, i: int) -> IntArray:
    """Return the vertices of variable i of a batch (m,)."""
    return xs.column(i) if isinstance(xs, SingleChanges) else xs[:, i]
