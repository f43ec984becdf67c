"""The similarity of a variable's values: by descriptors, or by a matrix of distances or of a kernel."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Array, DomainError, Json, ParsedJson
from bostruct.domains.space.choices import to_python
from bostruct.domains.space.descriptors import (
    Descriptors,
    are_same,
    build_descriptors,
    find_labeled_rows,
    freeze,
    is_frame,
    pack_numbers,
    read_table,
    scale_to_one,
    unpack_numbers,
)

SYMMETRY = 1e-6  # share of the largest entry: smaller differences of opposite entries are rounding
CLIPPED = 1e-6  # share of the spectrum that rounding may make negative
ROUNDING = 1e-12  # share of the largest squared norm: smaller squared distances after clipping are only rounding


@dataclass(frozen=True, eq=False)
class GivenMatrix:
    """A matrix between n values that the user gave.

    matrix: symmetric (n, n), distances or a kernel.
    is_kernel: True for a kernel.
    """

    matrix: Array
    is_kernel: bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenMatrix) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def n_distances(self) -> int:
        """The number of distances between two values, 1."""
        return 1

    @cached_property
    def key(self) -> str:
        """A digest, equal for equal matrices."""
        return hashlib.blake2b(json.dumps(self.to_json()).encode(), digest_size=16).hexdigest()

    @property
    def squared_distances(self) -> Array:
        """The squared Euclidean distances (n, n) nearest to the given distances between the values.

        Distances are scaled first, see `scale_to_one`.
        """
        return self._embedding[0]

    @property
    def clipped(self) -> float:
        """The share of the spectrum that is negative and was clipped, in [0, 1); 0 if nothing was clipped."""
        return self._embedding[1]

    @cached_property
    def _embedding(self) -> tuple[Array, float]:
        """Clip the negative eigenvalues of inner products (Torgerson 1952, for distances).

        A kernel is scaled to a diagonal of ones before and after. The inner products of distances D are -J D^2 J / 2
        with the centering matrix J, which subtracts the mean.
        """
        matrix = self.matrix if self.is_kernel else scale_to_one(self.matrix)
        inner = _scale_to_correlations(matrix) if self.is_kernel else _center(-0.5 * matrix**2)
        values, vectors = np.linalg.eigh(inner)
        negative = float(-values[values < 0.0].sum() / np.abs(values).sum())
        if negative <= CLIPPED:
            squares = 2.0 * (1.0 - inner) if self.is_kernel else matrix**2
            return np.maximum(squares, 0.0), 0.0
        kept = np.maximum(values, 0.0)
        clipped = (vectors * kept) @ vectors.T
        if self.is_kernel:
            clipped = _scale_to_correlations(clipped)
        own = clipped.diagonal()
        squares = own[:, None] + own - 2.0 * clipped
        squares = 0.5 * (squares + squares.T)
        squares[squares <= ROUNDING * own.max()] = 0.0  # rounding errors, which must not be scaled up to distances
        np.fill_diagonal(squares, 0.0)
        return squares, negative

    def to_json(self) -> dict[str, Json]:
        """Return the lower triangle of the matrix, with its diagonal, as base64 of little-endian doubles."""
        return {"size": len(self.matrix), "data": pack_numbers(self.matrix[np.tril_indices(len(self.matrix))])}

    @classmethod
    def from_json(cls, data: ParsedJson, is_kernel: bool) -> GivenMatrix:
        """Rebuild the matrix from the result of `to_json`.

        is_kernel: True for a kernel.
        """
        below = np.zeros((data["size"], data["size"]))
        below[np.tril_indices(data["size"])] = unpack_numbers(data["data"])
        return cls(freeze(below + np.tril(below, -1).T), is_kernel)


Likeness: TypeAlias = Descriptors | GivenMatrix


def read_likeness(choices: Sequence[Any], descriptors: object, distances: object, kernel: object) -> Likeness | None:
    """Read a user's similarities between the choices of a `Categorical`; None if nothing is given.

    choices: the choices, in order.
    descriptors: a table; a frame is read by its index, or in order if the index has only row numbers and no choice.
    distances, kernel: matrices (n, n), as arrays or frames.

    Raises DomainError. Warns if a matrix is not positive semi-definite.
    """
    given = [
        name
        for name, one in (("descriptors", descriptors), ("distances", distances), ("kernel", kernel))
        if one is not None
    ]
    if len(given) > 1:
        raise DomainError(f"Categorical: expected one of descriptors, distances and kernel, got {' and '.join(given)}")
    if descriptors is not None:
        return _read_descriptors(choices, descriptors)
    if not given:
        return None
    found = GivenMatrix(_read_symmetric(choices, given[0], distances if kernel is None else kernel), kernel is not None)
    if found.is_kernel and found.squared_distances.max() <= SYMMETRY:
        raise DomainError(
            f"Categorical: {given[0]}: expected choices that are not all the same, got a matrix that is not positive "
            "semi-definite; the nearest positive semi-definite matrix has only ones"
        )
    if found.clipped:
        kind = "a kernel" if found.is_kernel else "Euclidean distances"
        warnings.warn(
            f"Categorical: {given[0]}: not positive semi-definite, as {kind} would be; {found.clipped:.2%} of the "
            "spectrum is negative and was clipped",
            stacklevel=3,
        )
    return found


def likeness_to_json(likeness: Likeness | None) -> dict[str, Json]:
    """Return the similarities of choices as a member of a variable's JSON; an empty dict if there are none."""
    if likeness is None:
        return {}
    is_matrix = isinstance(likeness, GivenMatrix)
    return {("kernel" if likeness.is_kernel else "distances") if is_matrix else "descriptors": likeness.to_json()}


def show_likeness(likeness: Likeness | None) -> str:
    """Return the similarities of choices as a further argument of a call, by name and size; "" if there are none."""
    if likeness is None:
        return ""
    if isinstance(likeness, GivenMatrix):
        n = len(likeness.matrix)
        return f", {'kernel' if likeness.is_kernel else 'distances'}=<{n} x {n}>"
    n_columns = len(likeness.names)
    return f", descriptors=<{n_columns} column{'s' if n_columns > 1 else ''}>"


def likeness_from_json(data: ParsedJson) -> Likeness | None:
    """Rebuild the similarities of choices from a variable's JSON; None if there are none."""
    if "descriptors" in data:
        return Descriptors.from_json(data["descriptors"])
    for name in ("distances", "kernel"):
        if name in data:
            return GivenMatrix.from_json(data[name], name == "kernel")
    return None


def count_degrees(likeness: Likeness | None) -> int:
    """Return 1 plus the number of distances between the values of a variable.

    likeness: similarities of the values; None if there are none.
    """
    return 1 if likeness is None else 1 + likeness.n_distances


def check_varies(owner: str, descriptors: Descriptors) -> Descriptors:
    """Return descriptors; raise DomainError if they distinguish no two values, or all values equally."""
    if not descriptors.groups:
        raise DomainError(
            f"{owner}: expected a column that shows which rows are similar; in each of {short_repr(descriptors.names)} "
            "all rows are equal, or all are different strings"
        )
    return descriptors


def _read_descriptors(choices: Sequence[Any], given: object) -> Descriptors:
    owner = "Categorical: descriptors"
    _check_has_columns(owner, choices, given)
    table = read_table(owner, given)
    columns, n = table.columns, len(next(iter(table.columns.values())))
    if (rows := find_labeled_rows(owner, choices, table.index_labels)) is not None:
        columns = {name: [column[row] for row in rows] for name, column in columns.items()}
    elif n != len(choices):
        raise DomainError(f"{owner}: expected a row for each of the {len(choices)} choices, got {n}")
    return check_varies(owner, build_descriptors(owner, columns, choices))


def _check_has_columns(owner: str, choices: Sequence[Any], given: object) -> None:
    """Raise DomainError for a mapping from the choices to their rows."""
    if isinstance(given, Mapping) and len(given) == len(choices):
        names = list(given)
        if all(any(are_same(name, choice) for name in names) for choice in choices):
            raise DomainError(f"{owner}: expected a dict of columns, not of rows, got the choices as names")


def _read_symmetric(choices: Sequence[Any], name: str, given: Any) -> Array:
    """Return a symmetric matrix between choices (n, n); raise DomainError, naming what is wrong."""
    owner, n = f"Categorical: {name}", len(choices)
    if is_frame(given) and getattr(given, "index", None) is not None:
        labels, columns = ([to_python(one) for one in own] for own in (given.index, given.columns))
        if labels != columns:
            raise DomainError(f"{owner}: expected the same labels of rows and columns in the same order")
        given = given.to_numpy()
        if (rows := find_labeled_rows(owner, choices, labels)) is not None:
            given = given[np.ix_(rows, rows)]
    if np.ma.is_masked(given):
        raise DomainError(f"{owner}: expected finite numbers, got masked ones")
    if np.iscomplexobj(given):
        raise DomainError(f"{owner}: expected real numbers, got complex ones")
    try:
        matrix = np.array(given, dtype=np.float64)
    except OverflowError:
        raise DomainError(f"{owner}: expected finite numbers, got an int beyond 1.8e308") from None
    except (TypeError, ValueError):
        raise DomainError(f"{owner}: expected numbers ({n}, {n}), got {short_repr(given)}") from None
    if matrix.shape != (n, n):
        raise DomainError(f"{owner}: expected shape {(n, n)} for {n} choices, got {matrix.shape}")
    _check_entries(owner, choices, matrix, np.isfinite(matrix), "finite numbers")
    largest = float(np.abs(matrix).max())
    _check_entries(owner, choices, matrix, np.abs(matrix - matrix.T) <= SYMMETRY * largest, "a symmetric matrix")
    matrix = np.where(matrix == matrix.T, matrix, 0.5 * matrix + 0.5 * matrix.T)  # half the smallest float is 0
    own, is_own = matrix.diagonal(), np.eye(n, dtype=bool)
    if name == "kernel":
        _check_entries(owner, choices, matrix, ~is_own | (own > 0.0)[:, None], "a positive diagonal")
        with np.errstate(over="ignore"):
            scaled = _scale_to_correlations(matrix)
        _check_entries(owner, choices, matrix, np.isfinite(scaled), "numbers near the size of the diagonal")
        if np.ptp(scaled) <= SYMMETRY:
            raise DomainError(f"{owner}: expected choices that are not all the same, got only ones")
    else:
        _check_entries(owner, choices, matrix, matrix >= 0.0, "distances of at least 0")
        _check_entries(owner, choices, matrix, ~is_own | (matrix <= SYMMETRY * largest), "a diagonal of zeros")
        matrix[is_own] = 0.0
        if largest == 0.0:
            raise DomainError(f"{owner}: expected choices that are not all the same, got only zeros")
    return freeze(matrix)


def _check_entries(owner: str, choices: Sequence[Any], matrix: Array, right: Any, expected: str) -> None:
    wrong = np.argwhere(~right)
    if len(wrong):
        i, j = wrong[0].tolist()
        pair = f"{short_repr(choices[i])} and {short_repr(choices[j])}"
        if i == j:
            raise DomainError(f"{owner}: expected {expected}, got {matrix[i, i]} for {short_repr(choices[i])}")
        raise DomainError(f"{owner}: expected {expected}, got {matrix[i, j]} between {pair}, {matrix[j, i]} back")


def _scale_to_correlations(kernel: Array) -> Array:
    """Scale a kernel, whose diagonal is positive, to a diagonal of ones (n, n)."""
    root = np.sqrt(kernel.diagonal())
    scaled = kernel / root[:, None] / root
    np.fill_diagonal(scaled, 1.0)
    return scaled


def _center(matrix: Array) -> Array:
    """Subtract the means of the rows and the columns of a symmetric matrix (n, n)."""
    means = matrix.mean(axis=0)
    return matrix - means - means[:, None] + means.mean()
