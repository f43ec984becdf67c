"""Descriptors of the values of a variable, as arrays: what is compared together, and their JSON."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, Json, ParsedJson

MOST_APART = 8  # columns of numbers that are told apart; more are one group

Bits: TypeAlias = npt.NDArray[np.uint8]
Numbers = TypeVar("Numbers", bound=npt.NDArray[Any])


class DescriptorGroup(NamedTuple):
    """Descriptors that are compared together.

    kind: "numbers", told apart by standardized differences; "bits", by Tanimoto; "texts", by whether they are equal.
    columns: of the rows: numbers, scaled by `scale_to_one` (n, p), bits (n, q), or codes of texts (n, 1).
    """

    kind: str
    columns: npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Descriptors:
    """The descriptors of n values, which say how alike they are. Columns that do not vary are left out.

    numbers: values by name of the column, (n,) each.
    bits: zeros and ones (n, q), columns of a fingerprint.
    bit_names: of the columns of bits, q of them.
    texts: by name of the column, n each.
    """

    numbers: Mapping[str, Array]
    bits: Bits
    bit_names: tuple[str, ...] = ()
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

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
        """The names of the columns: numbers, bits, texts."""
        return (*self.numbers, *self.bit_names, *self.texts)

    @cached_property
    def key(self) -> str:
        """A digest, equal for equal tables."""
        return hashlib.blake2b(json.dumps(self.to_json()).encode(), digest_size=16).hexdigest()

    @cached_property
    def groups(self) -> tuple[DescriptorGroup, ...]:
        """The descriptors that are compared together: up to 8 numbers each by itself, all bits, each text by itself."""
        found = []
        varying = [scale_to_one(column) for column in self.numbers.values() if column.max() > column.min()]
        if len(varying) > MOST_APART:
            found.append(DescriptorGroup("numbers", np.column_stack(varying)))
        else:
            found += [DescriptorGroup("numbers", column[:, None]) for column in varying]
        if self.bits.size and np.ptp(self.bits, axis=0).any():
            found.append(DescriptorGroup("bits", self.bits))
        for texts in self.texts.values():
            levels = {text: code for code, text in enumerate(sorted(set(texts)))}
            if 1 < len(levels) < self.size:  # where all differ, they say as little as where none do
                codes = np.array([levels[text] for text in texts], dtype=np.int64)
                found.append(DescriptorGroup("texts", codes[:, None]))
        return tuple(found)

    @property
    def n_distances(self) -> int:
        """The number of distances between rows: one for each group."""
        return len(self.groups)

    def find_equal_rows(self) -> tuple[int, int] | None:
        """Return two rows that are equal in all columns; None where there are none."""
        seen: dict[tuple[Any, ...], int] = {}
        for row in range(self.size):
            if (earlier := seen.setdefault(self.row(row), row)) != row:
                return earlier, row
        return None

    def row(self, i: int) -> tuple[Any, ...]:
        """Return the values of a row, as `names` orders them.

        i: position of the row.
        """
        numbers = [float(column[i]) for column in self.numbers.values()]
        return (*numbers, *self.bits[i].tolist(), *(texts[i] for texts in self.texts.values()))

    def take(self, rows: Sequence[int]) -> Descriptors:
        """Return the table of some rows.

        rows: positions, in the order wanted.
        """
        numbers = {name: freeze(column[list(rows)]) for name, column in self.numbers.items()}
        texts = {name: tuple(column[i] for i in rows) for name, column in self.texts.items()}
        return Descriptors(numbers, freeze(self.bits[list(rows)]), self.bit_names, texts)

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
        return found

    @classmethod
    def from_json(cls, data: ParsedJson) -> Descriptors:
        """Rebuild the table from what `to_json` returned.

        data: dict.
        """
        n, bits = data["rows"], data.get("bits", {"names": [], "data": ""})
        packed = np.frombuffer(base64.b64decode(bits["data"]), dtype=np.uint8).reshape(n, -1)
        flat = np.unpackbits(packed, axis=1, count=len(bits["names"])) if bits["names"] else np.zeros((n, 0), np.uint8)
        numbers = {name: unpack_numbers(text) for name, text in data.get("numbers", {}).items()}
        texts = {name: tuple(column) for name, column in data.get("texts", {}).items()}
        return cls(numbers, freeze(flat), tuple(bits["names"]), texts)


def scale_to_one(values: Array) -> Array:
    """Scale numbers by a power of two, which rounds none, so that their squares neither overflow nor vanish.

    values: finite, any shape; the largest size among them comes into [1/2, 1), unless all are 0.
    """
    return np.asarray(np.ldexp(values, -int(np.frexp(np.abs(values).max())[1])))


def pack_numbers(values: Array) -> str:
    """Return numbers as text: base64 of doubles, little-endian.

    values: any shape, in C order.
    """
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def unpack_numbers(text: str) -> Array:
    """Rebuild numbers from what `pack_numbers` returned (n,).

    text: of n numbers.
    """
    return freeze(np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64))


def freeze(array: Numbers) -> Numbers:
    """Make an array that nobody may write to, and return it.

    array: changed in place.
    """
    array.flags.writeable = False
    return array
