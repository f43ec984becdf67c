"""Points stored by their difference from a nearby point: one variable at another value.

A neighborhood of d variables is then d numbers instead of d rows of d, and a product kernel evaluates only one factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from bostruct.contracts import IntArray


@dataclass(frozen=True)
class Layout:
    """The columns of a point that each variable owns, one variable after the other.

    widths: the number of columns of each variable, at least 1.
    """

    widths: tuple[int, ...]

    @property
    def n_columns(self) -> int:
        """The number of columns of a point."""
        return int(self.ends[-1])

    @cached_property
    def is_simple(self) -> bool:
        """True if every variable has one column, so that variable i is column i."""
        return all(width == 1 for width in self.widths)

    @cached_property
    def ends(self) -> IntArray:
        """The column after the last of each variable (d,)."""
        return np.cumsum(self.widths)

    @cached_property
    def starts(self) -> IntArray:
        """The first column of each variable (d,)."""
        return self.ends - self._widths

    @cached_property
    def _widths(self) -> IntArray:
        return np.array(self.widths, dtype=np.int64)

    def columns(self, i: int) -> slice:
        """Return the columns of variable i.

        i: position of the variable, in 0..d - 1.
        """
        return slice(int(self.starts[i]), int(self.ends[i]))

    def split(self, row: Sequence[int] | IntArray) -> list[list[int]]:
        """Return the columns of each variable of a point (d lists)."""
        values = np.asarray(row).tolist()
        if self.is_simple:
            return [[value] for value in values]
        return [values[start:end] for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]

    def columns_of(self, variables: IntArray, width: int) -> IntArray:
        """Return the columns of several variables (r, width); the last column of a narrower variable is repeated."""
        return self.starts[variables][:, None] + np.minimum(np.arange(width), self._widths[variables][:, None] - 1)


def pad_columns(values: Sequence[IntArray]) -> IntArray:
    """Join the columns of variables (k_i, w_i) into one array; the last column of a narrower variable is repeated.

    values: one array for each variable, at least one.
    """
    width = max(one.shape[1] for one in values)
    wide = [one if one.shape[1] == width else one[:, np.minimum(np.arange(width), one.shape[1] - 1)] for one in values]
    return np.concatenate(wide)


@dataclass(frozen=True, eq=False)
class SingleChanges:
    """Rows that each differ from a base row in one variable.

    of: (m,), the base row of each row.
    which: (m,), the variable that differs, which both rows have; its columns may be the same.
    values: (m, w), the new columns of that variable; the last column of a variable narrower than w is repeated.

    The batch behaves like an integer array: it has a length, is indexed by integers, slices and arrays, and NumPy
    converts it to rows.
    """

    base: IntArray
    of: IntArray
    which: IntArray
    values: IntArray
    layout: Layout

    def __len__(self) -> int:
        return len(self.of)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int | np.integer):
            return self[np.array([index])].rows()[0]
        return SingleChanges(self.base, self.of[index], self.which[index], self.values[index], self.layout)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> IntArray:
        return self.rows().astype(dtype or np.int64, copy=False)

    @property
    def before(self) -> IntArray:
        """The columns of each row's variable in its base row (m, w)."""
        if self.layout.is_simple:
            return self.base[self.of, self.which][:, None]
        if (columns := self._shared_columns) is not None:
            return self.base[self.of, columns]
        return self.base[self.of[:, None], self.layout.columns_of(self.which, self.values.shape[1])]

    def rows(self) -> IntArray:
        """Return the batch as an integer array (m, columns)."""
        rows = self.base[self.of]
        if self.layout.is_simple:
            rows[np.arange(len(self)), self.which] = self.values[:, 0]
        elif (shared := self._shared_columns) is not None:
            rows[:, shared] = self.values
        else:
            columns = self.layout.columns_of(self.which, self.values.shape[1])
            rows[np.arange(len(self))[:, None], columns] = self.values
        return rows

    @property
    def _shared_columns(self) -> slice | None:
        """The columns that all rows change, if they belong to one variable and `values` has no other columns."""
        which = self.which
        is_one = len(which) > 0 and self.layout.widths[which[0]] == self.values.shape[1] and (which == which[0]).all()
        return self.layout.columns(int(which[0])) if is_one else None


SpaceBatch: TypeAlias = IntArray | SingleChanges
