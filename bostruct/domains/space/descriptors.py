"""Tables of descriptors of the values of a variable: reading every form that users pass, arrays, and JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from bostruct.checks import count_own_frames, short_repr
from bostruct.contracts import Array, DomainError, Json, ParsedJson
from bostruct.domains.space.choices import to_python
from bostruct.domains.space.levels import Levels

MOST_COUNTED = 2**16  # the most columns of a fingerprint of counts; each count is below it
MOST_APART = 8  # the most columns of numbers that are separate groups; more form one group

Bits: TypeAlias = npt.NDArray[np.uint8]
Numbers = TypeVar("Numbers", bound=npt.NDArray[Any])


class DescriptorGroup(NamedTuple):
    """Descriptors that are compared together.

    kind: "numbers", compared by standardized differences; "bits" and "counts", by the Tanimoto similarity; "texts"
        (strings), by equality.
    columns: one row for each value: numbers, scaled by `scale_to_one` (n, p), bits (n, q), a sparse array of counts
        (n, q), or codes of strings (n, 1).
    """

    kind: str
    columns: Any


@dataclass(frozen=True, eq=False)
class Descriptors:
    """The descriptors of n values, which define their similarity. Columns that do not vary are ignored.

    numbers: values by name of the column, (n,) each.
    bits: zeros and ones (n, q), columns of a fingerprint.
    counts: a fingerprint of counts, as `read_counts` returns it (n, q); None if there is none.
    """

    numbers: Mapping[str, Array]
    bits: Bits
    bit_names: tuple[str, ...] = ()
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counts: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descriptors) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def size(self) -> int:
        """The number of rows, n."""
        return len(self.bits)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns: numbers, bits, strings; all counts are one column."""
        return (*self.numbers, *self.bit_names, *self.texts, *(() if self.counts is None else ("counts",)))

    @cached_property
    def key(self) -> str:
        """A digest, equal for equal tables."""
        return hashlib.blake2b(json.dumps(self.to_json()).encode(), digest_size=16).hexdigest()

    @cached_property
    def groups(self) -> tuple[DescriptorGroup, ...]:
        """The groups: up to 8 columns of numbers, one each; all bits together; each column of strings, one each."""
        found = []
        varying = [scale_to_one(column) for column in self.numbers.values() if column.max() > column.min()]
        if len(varying) > MOST_APART:
            found.append(DescriptorGroup("numbers", np.column_stack(varying)))
        else:
            found += [DescriptorGroup("numbers", column[:, None]) for column in varying]
        if self.bits.size and np.ptp(self.bits, axis=0).any():
            found.append(DescriptorGroup("bits", self.bits))
        if self.counts is not None and len({self.row(i) for i in range(self.size)}) > 1:
            found.append(DescriptorGroup("counts", self.counts))
        for texts in self.texts.values():
            levels = {text: code for code, text in enumerate(sorted(set(texts)))}
            if 1 < len(levels) < self.size:  # all equal or all different strings carry no information
                codes = np.array([levels[text] for text in texts], dtype=np.int64)
                found.append(DescriptorGroup("texts", codes[:, None]))
        return tuple(found)

    @property
    def n_distances(self) -> int:
        """The number of distances between rows: one for each group."""
        return len(self.groups)

    def find_equal_rows(self) -> tuple[int, int] | None:
        """Return two rows that are equal in all columns; None if there are none."""
        seen: dict[tuple[Any, ...], int] = {}
        for row in range(self.size):
            if (earlier := seen.setdefault(self.row(row), row)) != row:
                return earlier, row
        return None

    def row(self, i: int) -> tuple[Any, ...]:
        """Return the values of a row, as `names` orders them."""
        numbers = [float(column[i]) for column in self.numbers.values()]
        found = (*numbers, *self.bits[i].tolist(), *(texts[i] for texts in self.texts.values()))
        if self.counts is None:
            return found
        own = slice(*self.counts.indptr[i : i + 2])
        return (*found, b"".join(one[own].astype("<u2").tobytes() for one in (self.counts.indices, self.counts.data)))

    def take(self, rows: Sequence[int]) -> Descriptors:
        """Return the table of some rows."""
        numbers = {name: freeze(column[list(rows)]) for name, column in self.numbers.items()}
        texts = {name: tuple(column[i] for i in rows) for name, column in self.texts.items()}
        counts = None if self.counts is None else self.counts[list(rows)]
        return Descriptors(numbers, freeze(self.bits[list(rows)]), self.bit_names, texts, counts)

    def to_json(self) -> dict[str, Json]:
        """Return the table as JSON: arrays as base64 of little-endian numbers, bits packed by eight."""
        found: dict[str, Json] = {"rows": self.size}
        if self.numbers:
            found["numbers"] = {name: pack_numbers(column) for name, column in self.numbers.items()}
        if self.bit_names:
            packed = np.packbits(self.bits, axis=1)
            found["bits"] = {"names": list(self.bit_names), "data": base64.b64encode(packed.tobytes()).decode()}
        if self.texts:
            found["texts"] = {name: list(column) for name, column in self.texts.items()}
        if self.counts is not None:
            parts = {"lengths": np.diff(self.counts.indptr), "columns": self.counts.indices, "counts": self.counts.data}
            packed = {name: base64.b64encode(part.astype("<u2").tobytes()).decode() for name, part in parts.items()}
            found["counts"] = {"width": self.counts.shape[1], **packed}
        return found

    @classmethod
    def from_json(cls, data: ParsedJson) -> Descriptors:
        """Rebuild the table from the result of `to_json`."""
        n, bits = data["rows"], data.get("bits", {"names": [], "data": ""})
        packed = np.frombuffer(base64.b64decode(bits["data"]), dtype=np.uint8).reshape(n, -1)
        flat = np.unpackbits(packed, axis=1, count=len(bits["names"])) if bits["names"] else np.zeros((n, 0), np.uint8)
        numbers = {name: unpack_numbers(text) for name, text in data.get("numbers", {}).items()}
        texts = {name: tuple(column) for name, column in data.get("texts", {}).items()}
        counts = None
        if given := data.get("counts"):
            parts = [np.frombuffer(base64.b64decode(given[name]), "<u2") for name in ("lengths", "columns", "counts")]
            starts = np.concatenate([[0], np.cumsum(parts[0], dtype=np.int64)])
            counts = make_counts((parts[2], parts[1], starts), (n, given["width"]))
        return cls(numbers, freeze(flat), tuple(bits["names"]), texts, counts)


def make_counts(given: Any, shape: tuple[int, int] | None = None) -> Any:
    """Return counts as a sparse array of doubles in canonical form; raise ValueError for inconsistent parts.

    given: anything that SciPy converts to a CSR array.
    """
    from scipy.sparse import csr_array

    counts = csr_array(given, shape=shape, dtype=np.float64)
    counts.check_format(full_check=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def read_counts(owner: str, given: Any) -> Any:
    """Return fingerprints of counts as a sparse array (n, q).

    given: integers from 0 to 65,535 (n, q), as an array of NumPy or SciPy, of at most 65,536 columns.

    Raises DomainError.
    """
    try:
        counts = make_counts(given)
    except (TypeError, ValueError, OverflowError):
        counts = None
    if counts is None or counts.ndim != 2 or counts.shape[1] > MOST_COUNTED:
        shape = short_repr(given) if counts is None else f"shape {counts.shape}"
        raise DomainError(f"{owner}: expected counts (rows, at most {MOST_COUNTED} columns), got {shape}")
    is_count = (counts.data >= 0) & (counts.data < MOST_COUNTED) & (counts.data == np.floor(counts.data))
    if not is_count.all():
        entry = int(np.flatnonzero(~is_count)[0])
        row = int(np.searchsorted(counts.indptr, entry, side="right")) - 1
        raise DomainError(
            f"{owner}: expected integers from 0 to {MOST_COUNTED - 1}, got {counts.data[entry]} in row {row}"
        )
    return counts


def scale_to_one(values: Array) -> Array:
    """Scale numbers by a power of two, without rounding, so that their squares neither overflow nor underflow.

    values: finite, any shape; their largest absolute value is scaled into [1/2, 1), unless all are 0.
    """
    return np.asarray(np.ldexp(values, -int(np.frexp(np.abs(values).max())[1])))


def pack_numbers(values: Array) -> str:
    """Return numbers as a string: base64 of little-endian doubles."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def unpack_numbers(text: str) -> Array:
    """Rebuild numbers from the result of `pack_numbers` (n,)."""
    return freeze(np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64))


def freeze(array: Numbers) -> Numbers:
    """Make an array read-only, and return it."""
    array.flags.writeable = False
    return array


LARGEST = int(np.finfo(np.float64).max)
MIN_BITS = 8  # the fewest columns of zeros and ones that form a fingerprint; fewer are numbers
MOST_OTHERS = 0.1  # largest share of other strings in a column of numbers written as strings

Column: TypeAlias = Sequence[Any] | npt.NDArray[Any]


class GivenTable(NamedTuple):
    """A table as the user passed it.

    index_labels: labels in the index of a frame; None for a table of any other form.
    index_name: name of the index; None if it has no name.
    """

    columns: dict[str, Column]
    index_labels: list[Any] | None = None
    index_name: str | None = None

    @property
    def labels(self) -> list[Any] | None:
        """The labels of the index; None if there is no index, or if it has only the row numbers."""
        return None if self.index_labels is None or are_numbers_of_rows(self.index_labels) else self.index_labels


def read_table(owner: str, given: object) -> GivenTable:
    """Return the columns of a table, and the index of a frame.

    Raises DomainError.
    """
    if isinstance(given, Mapping):
        table = GivenTable(_name_columns(owner, given, given))
    elif is_frame(given):
        table = _read_frame(owner, given)
    elif (
        isinstance(given, Sequence)
        and not isinstance(given, str | bytes)
        and len(given) > 0
        and all(isinstance(one, Mapping) for one in given)
    ):
        table = GivenTable(_read_records(owner, given))
    else:
        table = GivenTable(_read_descriptor_matrix(owner, given))
    lengths = {name: len(column) for name, column in table.columns.items()}
    if not table.columns:
        raise DomainError(f"{owner}: expected at least one column, got {short_repr(given)}")
    if len(set(lengths.values())) > 1:
        raise DomainError(f"{owner}: expected columns of one length, got {short_repr(lengths)}")
    return table


def is_frame(given: object) -> bool:
    """Return whether an object is a frame, such as a pandas or polars DataFrame."""
    return all(hasattr(given, name) for name in ("columns", "__getitem__"))


def are_numbers_of_rows(labels: Sequence[Any]) -> bool:
    """Return whether labels are the row numbers 0, 1, ..., in order; bools are not numbers."""
    return all(
        isinstance(label, int | float | np.number) and not isinstance(label, bool) and label == i
        for i, label in enumerate(labels)
    )


def find_labeled_rows(owner: str, choices: Sequence[Any], labels: Sequence[Any] | None) -> list[int] | None:
    """Return the row of each choice by its label; None if rows have the order of the choices.

    choices: the choices, in order.
    labels: labels of the rows; None if there are none.

    Raises DomainError for a choice without a row, or with two, and for row numbers that are only some of the choices.
    """
    if labels is None:
        return None
    named = [choice for choice in choices if any(are_same(one, choice) for one in labels)]
    if not are_numbers_of_rows(labels) or len(named) == len(choices):
        return find_rows(owner, choices, labels)
    if not named:
        return None
    raise DomainError(
        f"{owner}: expected an index that has all choices, or none; got 0 to {len(labels) - 1}, which has "
        f"{short_repr(named)} and may number the rows as well; set the index of the frame to the choices"
    )


def are_same(label: object, choice: object) -> bool:
    """Return whether a label equals a choice; a bool is not a number."""
    return isinstance(label, bool) == isinstance(choice, bool) and bool(label == choice)


def find_rows(owner: str, choices: Sequence[Any], labels: Sequence[Any]) -> list[int]:
    """Return the row of each choice by its label; raise DomainError for a choice without a row, or with two.

    choices: the choices, in order.
    """
    values = [to_python(one) for one in labels]
    found = [[i for i, label in enumerate(values) if are_same(label, choice)] for choice in choices]
    levels, named = Levels(choices), {i for rows in found for i in rows}
    for i in (i for i in range(len(values)) if i not in named):
        if (position := levels.find(values[i])) is not None:
            found[position].append(i)
    for choice, rows in zip(choices, found, strict=True):
        if len(rows) != 1:
            raise DomainError(f"{owner}: expected one row for {short_repr(choice)}, got {len(rows)}")
    return [rows[0] for rows in found]


def _read_frame(owner: str, frame: Any) -> GivenTable:
    columns, index = _name_columns(owner, frame.columns, frame), getattr(frame, "index", None)
    if index is None:
        return GivenTable(columns)
    name = getattr(index, "name", None)
    return GivenTable(columns, [to_python(label) for label in index], None if name is None else str(name))


def _name_columns(owner: str, names: Iterable[Any], table: Any) -> dict[str, Column]:
    """Return the columns of a frame or a mapping by their names as strings; raise DomainError for equal names."""
    found: dict[str, Column] = {}
    given = list(names)
    texts = [str(name) for name in given]
    if len(set(texts)) < len(texts):
        twice = next(name for i, name in enumerate(texts) if name in texts[:i])
        raise DomainError(f"{owner}: expected columns of distinct names, got {twice!r} more than once")
    for text, name in zip(texts, given, strict=True):
        found[text] = _list_cells(owner, name, table[name])
    return found


def _read_records(owner: str, records: Sequence[Mapping[Any, Any]]) -> dict[str, Column]:
    names = list(records[0])
    for i, record in enumerate(records):
        if set(record) != set(names):
            raise DomainError(f"{owner}: row {i}: expected the columns {short_repr(names)}, got {list(record)}")
    return _name_columns(owner, names, {name: [record[name] for record in records] for name in names})


def _read_descriptor_matrix(owner: str, given: Any) -> dict[str, Column]:
    try:
        matrix: npt.NDArray[Any] = np.ma.asarray(given) if np.ma.is_masked(given) else np.asarray(given)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        allowed = "a pandas frame, a dict of columns, a list of dicts, or numbers (rows, columns)"
        raise DomainError(f"{owner}: expected {allowed}, got {short_repr(given)}; use bo.Categorical for only names")
    return {str(i): column for i, column in enumerate(matrix.T)}


def _list_cells(owner: str, name: object, column: Any) -> Column:
    """Return the values of a column: an array of numbers, or a list."""
    values = column if isinstance(column, np.ndarray | list | tuple) else getattr(column, "tolist", lambda: None)()
    if values is None:
        values = list(column) if isinstance(column, Sequence) and not isinstance(column, str | bytes) else None
    if values is None or np.ndim(np.asarray(values, dtype=object)) != 1:
        raise DomainError(f"{owner}: column {str(name)!r}: expected one value for each row, got {short_repr(column)}")
    return values


def build_descriptors(owner: str, columns: Mapping[str, Column], labels: Sequence[Any]) -> Descriptors:
    """Sort columns into numbers, bits and strings, and check their values.

    Raises DomainError, which names the column and the row.
    """
    numbers, texts = dict[str, Array](), dict[str, tuple[str, ...]]()
    for name, column in columns.items():
        found = _read_cells(f"{owner}: column {name!r}", column, labels)
        if isinstance(found, tuple):
            texts[name] = found
        else:
            numbers[name] = found
    bits = [name for name, column in numbers.items() if np.isin(column, (0.0, 1.0)).all()]
    bits = bits if len(bits) >= MIN_BITS else []
    flags = np.column_stack([numbers.pop(name) for name in bits]) if bits else np.zeros((len(labels), 0))
    return Descriptors(numbers, freeze(flags.astype(np.uint8)), tuple(bits), texts)


def _read_cells(where: str, column: Column, labels: Sequence[Any]) -> Array | tuple[str, ...]:
    """Return a column as numbers (n,) or as strings; raise DomainError, naming the row, for anything else."""
    if np.ma.is_masked(column):
        row = labels[int(np.flatnonzero(np.ma.getmaskarray(np.ma.asarray(column)))[0])]
        raise DomainError(f"{where}: expected finite numbers, got a masked one in row {short_repr(row)}")
    if not (isinstance(column, np.ndarray) and column.dtype.kind in "biuf"):
        values = [to_python(one) for one in column]
        if values and isinstance(values[0], str):
            _check_each(where, values, labels, "a string, as in the first row", lambda one: isinstance(one, str))
            _warn_of_numbers(where, values)
            return tuple(values)
        if values and isinstance(values[0], int | float):
            _check_each(where, values, labels, "a number, as in the first row", lambda one: not isinstance(one, str))
        _check_each(where, values, labels, "a number or a string", lambda one: isinstance(one, int | float))
        for value, label in zip(values, labels, strict=True):
            if isinstance(value, int) and abs(value) > LARGEST:  # too long to be shown
                raise DomainError(
                    f"{where}: expected finite numbers, got an int beyond 1.8e308 in row {short_repr(label)}"
                )
        column = np.array(values, dtype=np.float64)
    numbers = np.array(column, dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        row = labels[wrong[0]]
        raise DomainError(f"{where}: expected finite numbers, got {numbers[wrong[0]]} in row {short_repr(row)}")
    return freeze(numbers)


def _warn_of_numbers(where: str, texts: Sequence[str]) -> None:
    """Warn about a column of numbers as strings, as in a file in which a few cells are not numbers."""
    others = [text for text in texts if not _is_numeric_cell(text)]
    if len(others) > MOST_OTHERS * len(texts):
        return
    but = f" except {short_repr(others)}" if others else ""
    warnings.warn(
        f"{where}: its strings are numbers{but}, but are compared as strings, only by equality. To compare them by "
        "differences, pass numbers, such as the result of pandas.to_numeric",
        stacklevel=count_own_frames(),
    )


def _is_numeric_cell(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_each(where: str, values: Sequence[Any], labels: Sequence[Any], expected: str, is_right: Any) -> None:
    for value, label in zip(values, labels, strict=True):
        if not is_right(value):
            raise DomainError(f"{where}: expected {expected}, got {short_repr(value)} in row {short_repr(label)}")
