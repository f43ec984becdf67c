"""Keys of the points of a space: their integer rows in as few bytes as hold them, from which they are read again."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import cast

import numpy as np

from bostruct.contracts import IntArray
from bostruct.domains.space.variable import ABSENT, Variable

TYPES = (np.int64, np.uint32, np.uint16, np.uint8)  # of the entries of a key; the first holds any column


class RowKeys:
    """A form of keys, in which each column takes as few bytes as its values need.

    variables: of a space, in their order. A column of one that has no codes takes eight bytes.
    """

    def __init__(self, variables: Iterable[Variable]) -> None:
        owners = [one for one in variables for _ in range(one.width)]
        self._n_columns = len(owners)
        self._absent = np.array([one.n_codes if one.when else ABSENT for one in owners], dtype=np.int64)
        self._has_conditions = any(one.when for one in owners)
        types = [_smallest_type(one) for one in owners]
        found = ((own, np.flatnonzero([one is own for one in types])) for own in TYPES)
        self._groups = [(own, columns) for own, columns in found if len(columns)]
        self._width = sum(np.dtype(own).itemsize * len(columns) for own, columns in self._groups)  # of a key

    def write(self, rows: IntArray) -> list[Hashable]:
        """Return the keys of m points.

        rows: valid integer rows (m, columns).
        """
        if self._has_conditions:
            rows = np.where(rows == ABSENT, self._absent, rows)
        if len(self._groups) == 1:
            packed = np.ascontiguousarray(rows, dtype=self._groups[0][0]).view(np.uint8)
        else:
            parts = [np.ascontiguousarray(rows[:, columns], dtype=own).view(np.uint8) for own, columns in self._groups]
            packed = np.concatenate(parts, axis=1)
        data = packed.tobytes()
        return [data[start : start + self._width] for start in range(0, len(data), self._width)]

    def read(self, keys: Collection[Hashable]) -> IntArray:
        """Return the integer rows of m points (m, columns).

        keys: as of `write`.
        """
        rows = np.empty((len(keys), self._n_columns), dtype=np.int64)
        packed = np.frombuffer(b"".join(cast(Collection[bytes], keys)), dtype=np.uint8).reshape(-1, self._width)
        start = 0
        for own, columns in self._groups:
            end = start + len(columns) * np.dtype(own).itemsize
            rows[:, columns] = np.ascontiguousarray(packed[:, start:end]).view(own)
            start = end
        if self._has_conditions:
            rows[rows == self._absent] = ABSENT
        return rows


def _smallest_type(variable: Variable) -> type[np.integer]:
    """Return the smallest type of TYPES for the codes of a variable, one of which stands for its absence."""
    if not variable.n_codes:
        return TYPES[0]
    largest = variable.n_codes - 1 + bool(variable.when)
    return next(own for own in reversed(TYPES) if largest <= np.iinfo(own).max)
