"""Objectives that look up the measured value of a network, and the files with such tables."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bostruct.checks import check_integer, short_repr
from bostruct.contracts import Array, IntArray
from bostruct.domains.architecture.table import CELL_SPACES, TableDomain, shared_table
from bostruct.domains.architecture.value import Architecture
from bostruct.problems.base import ArchitectureProblem, PointFunction
from bostruct.problems.paths import is_regular

MAX_LISTED_CODES = 100_000  # maximum number of codes of a space

Arrays = dict[str, np.ndarray]

# Errors of reading a damaged file; MemoryError if it declares an impossible size.
BROKEN_NPZ = (
    ValueError, OSError, EOFError, AttributeError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error,
    struct.error,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Lookup:
    """An objective that looks up the value of an architecture.

    values: values of the points of the domain, (size,).
    """

    domain: TableDomain
    values: Array

    def __call__(self, x: Architecture) -> float:
        return float(self.values[self.domain.index_of(x)])


@dataclass(frozen=True, eq=False)
class NoisyLookup:
    """One of several values of a point, drawn as a function of only the architecture and `seed`.

    seed: an integer from 0.
    """

    domain: TableDomain
    values: Array
    rows: tuple[tuple[int, ...], ...]
    seed: int

    def __call__(self, x: Architecture) -> float:
        found = self.values[list(self.rows[self.domain.index_of(x)])]
        trained = found[~np.isnan(found)]
        rng = np.random.default_rng([self.seed, int(x.fingerprint, 16)])
        return float(trained[int(rng.integers(len(trained)))])


def with_noise(
    quiet: ArchitectureProblem, noise_seed: int | None, drawn: Callable[[int], PointFunction]
) -> ArchitectureProblem:
    """Return a problem with one of several trainings instead of their mean.

    noise_seed: seed that draws the training, from 0; None for `quiet` itself.

    Raises TypeError, ValueError.
    """
    if noise_seed is None:
        return quiet
    seed = check_integer("noise_seed", noise_seed, 0)
    return replace(quiet, name=f"{quiet.name},noise_seed={seed}", objective=drawn(seed), mean=quiet.objective)


def read_arrays(file: str, names: Sequence[str], official: str = "") -> Arrays:
    """Read arrays from an .npz file.

    Raises ValueError if the file cannot be read or lacks one of the names, or if arrays are not rows of real numbers
    or contain numbers that are infinite in float64.
    """
    other = f", or {official}" if official else ""
    if not is_regular(file):
        raise ValueError(f"file: expected an .npz file{other}, found none at {file}")
    try:
        # opened here: NumPy leaves the file of a damaged archive open
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in names if name in stored}
            known = ", ".join(stored)
    except BROKEN_NPZ as error:
        raise ValueError(f"file: {file} is not an .npz file of plain arrays{other}: {error}") from error
    if missing := [name for name in names if name not in arrays]:
        raise ValueError(
            f"file: {file} has no array {missing[0]}; expected {', '.join(names)}, found {short_repr(known, 200)}"
        )
    for name, array in arrays.items():
        if not array.ndim or array.dtype.kind not in "biuf":
            found = f"{array.dtype} of shape {array.shape}"
            raise ValueError(f"file: {file}: {name}: expected rows of real numbers, got {found}")
        if array.dtype.kind == "f" and array.dtype.itemsize > 8:
            with np.errstate(over="ignore"):  # numbers too large for float64 become infinite, and are rejected below
                arrays[name] = array.astype(np.float64)
        if array.dtype.kind == "f" and np.isinf(arrays[name]).any():
            raise ValueError(f"file: {file}: {name}: expected finite numbers, got infinity")
    if len({len(array) for array in arrays.values()}) != 1:
        lengths = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
        raise ValueError(f"file: {file}: expected arrays of one length, got {lengths}")
    return arrays


def check_table(file: str, space: str, codes: IntArray, values: Array, name: str = "arch") -> None:
    """Raise ValueError, naming the file, unless codes are rows of codes of a space, each with one finite value.

    codes: codes (n, positions).
    values: values (n,).
    """
    counts = [len(names) for names in CELL_SPACES[space].choices]
    positions = len(counts)
    if codes.ndim != 2 or codes.shape[1] != positions or not len(codes) or (codes != np.floor(codes)).any():
        raise ValueError(
            f"file: {file}: expected at least one row of {positions} integers, a code of {space}, got {codes.dtype} of "
            f"shape {codes.shape}"
        )
    check_codes(file, name, codes, 0, counts)
    if values.shape != (len(codes),) or not np.isfinite(values).all():
        raise ValueError(
            f"file: {file}: expected one finite value for each of {len(codes)} networks, got shape {values.shape}"
        )


def check_codes(file: str, name: str, codes: IntArray, low: int, counts: Sequence[int]) -> None:
    """Raise ValueError, naming file and array, unless each column has integers in low..low + counts - 1.

    codes: codes (n, positions) with the type of the file: a difference of unsigned codes would wrap around.
    counts: number of choices of each position.
    """
    wrong = (codes < low) | (codes >= low + np.array(counts)) | (codes != np.floor(codes))
    if wrong.any():
        row, position = np.argwhere(wrong)[0]
        raise ValueError(
            f"file: {file}: {name}: expected codes that are integers from {low} to {low + counts[position] - 1}, got "
            f"{codes[row, position]}"
        )


def table_domain(space: str, codes: IntArray) -> TableDomain:
    """Return the domain of rows of codes: the whole space if they contain all its points.

    Raises DomainError.
    """
    rows = tuple(dict.fromkeys(tuple(map(int, code)) for code in codes))
    partial = shared_table(space, rows)
    if math.prod(len(names) for names in CELL_SPACES[space].choices) > MAX_LISTED_CODES:
        return partial
    every = shared_table(space)
    return every if len({every.index_of_code(code) for code in rows}) == every.size else partial


def rows_of(domain: TableDomain, codes: IntArray) -> tuple[tuple[int, ...], ...]:
    """Return for each point of a domain the rows of a table of codes that represent it.

    codes: codes (n, positions), one per row; each belongs to a point of the domain.
    """
    found: list[list[int]] = [[] for _ in range(domain.size)]
    for row, code in enumerate(codes):
        found[domain.index_of_code(code)].append(row)
    return tuple(map(tuple, found))


def point_means(values: Array, rows: Sequence[Sequence[int]]) -> Array:
    """Return for each point the mean over its rows, which are isomorphic networks.

    values: values of the rows (n,).
    """
    return np.array([float(np.mean(values[list(own)], dtype=np.float64)) for own in rows])
