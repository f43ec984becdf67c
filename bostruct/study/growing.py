"""Batches and values that grow by one trial at a time, and are read at every ask without being built anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock

import numpy as np

from bostruct.contracts import Batch, Domain, Point


class GrowingArray:
    """An array that is appended to along its first axis; what was read of it before stays as it was.

    rows: the first rows (n, ...), which are copied.
    """

    def __init__(self, rows: Batch) -> None:
        self._buffer = np.array(rows)
        self._n = len(self._buffer)

    def extend(self, rows: Batch) -> None:
        """Append rows, in amortized constant time each.

        rows: (m, ...), of the same form as the first.
        """
        n = self._n + len(rows)
        if n > len(self._buffer):
            wider = np.empty((max(n, 2 * len(self._buffer)), *self._buffer.shape[1:]), dtype=self._buffer.dtype)
            wider[: self._n] = self._buffer[: self._n]
            self._buffer = wider
        self._buffer[self._n : n] = rows
        self._n = n

    def read(self) -> Batch:
        """Return the rows so far (n, ...), a view that cannot be written to."""
        rows = self._buffer[: self._n]
        rows.flags.writeable = False
        return rows


class GrowingBatch:
    """Points of a domain, appended one at a time and read as one batch.

    domain: of the points.
    join: makes a batch of what is appended; None where these are points.
    """

    def __init__(self, domain: Domain, join: Callable[[list[Point]], Batch] | None = None) -> None:
        self._join = domain.join
        self._join_fresh = domain.join if join is None else join
        self._fresh: list[Point] = []  # not yet joined
        self._batch: Batch = domain.join()
        self._rows = GrowingArray(self._batch) if isinstance(self._batch, np.ndarray) else None
        self._lock = Lock()  # a searcher may read while another thread appends

    def append(self, x: Point) -> None:
        """Append a point.

        x: of the domain, or in the form that `join` takes.
        """
        with self._lock:
            self._fresh.append(x)

    def read(self) -> Batch:
        """Return the points so far as a batch of the domain, the same object while none is appended."""
        return self.read_later()()

    def read_later(self) -> Callable[[], Batch]:
        """Return a function that reads the points which there are now."""
        with self._lock:
            return partial(self._read_first, len(self._batch) + len(self._fresh))

    def _read_first(self, n: int) -> Batch:
        with self._lock:
            if self._fresh:
                fresh = self._join_fresh(self._fresh)
                if self._rows is not None:
                    self._rows.extend(fresh)
                    self._batch = self._rows.read()
                else:
                    self._batch = self._join(self._batch, fresh)
                self._fresh = []
            return self._batch if n == len(self._batch) else self._batch[:n]
