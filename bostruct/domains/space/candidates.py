"""A variable whose values are the rows of a table of descriptors, and the graph in which near rows are adjacent."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from bostruct.checks import memory_size, optional_import, short_repr
from bostruct.contracts import Array, DomainError, IntArray, Json, ParsedJson, PointError
from bostruct.domains.space.choice_json import choices_from_json
from bostruct.domains.space.choices import ChoiceVariable, check_choices, max_rows
from bostruct.domains.space.clauses import When
from bostruct.domains.space.descriptors import (
    DescriptorGroup,
    Descriptors,
    GivenTable,
    are_numbers_of_rows,
    build_descriptors,
    read_counts,
    read_table,
)
from bostruct.domains.space.graphs import MAX_CHOICES, CompleteGraph, VariableGraph
from bostruct.domains.space.likeness import check_varies, count_degrees
from bostruct.domains.space.variable import NO_DEFAULT

DIRECTIONS = 8  # the most directions along which rows are ranked
PROJECTED = 32  # random directions onto which counts are projected
TYPICAL_ATOMS = 64  # nonzero columns of a typical molecule
MORGAN_RADIUS, MORGAN_SIZE = 2, 2_048
ROUNDS = 6  # of the iteration that finds the directions
TEXT_FEATURES = 8  # random numbers that represent a string


class Candidates(ChoiceVariable):
    """A variable whose values are the rows of a table, whose columns (descriptors) define how similar the rows are.

    A value is the label of a row, so that `frame.loc[point["solvent"]]` is the row. Columns of numbers are
    standardized; up to 8 of them have a lengthscale each, more share one. At least 8 columns of zeros and ones are a
    fingerprint, compared by the Tanimoto similarity. A column of strings is compared by equality. Columns without
    information, constant or of distinct strings, are ignored.

    Any two of up to 1000 rows are neighbors. If there are more rows, neighbors are rows near each other in a ranking
    along the directions in which the descriptors vary most.

    Parameters
    ----------
    table : DataFrame, dict, list of dict, or array
        At least two rows; as an array of shape (rows, columns).
    label : hashable, optional
        The column with the labels of the rows, which is not a descriptor, or the name of the index of a DataFrame. By
        default the index, or the row numbers from 0.
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError
        If a descriptor is missing or not finite, labels are equal, or rows without labels are equal.
    """

    values_are_choices = True
    likeness: Descriptors

    def __init__(
        self, table: object, *, label: Hashable = None, when: When | None = None, default: object = NO_DEFAULT
    ) -> None:
        given = read_table(self.kind, table)
        index, columns = given.labels, given.columns
        n = len(next(iter(columns.values())))
        check_fits(n, len(columns))
        if label is not None:
            index = _find_labels(given, label)
        labels = tuple(range(n)) if index is None else check_choices(self.kind, index, "label", n)
        descriptors = check_varies(self.kind, build_descriptors(self.kind, columns, labels))
        if index is None and (equal := descriptors.find_equal_rows()):
            first, second = equal
            got = f"rows {first} and {second}, which are equal"
            raise DomainError(f"Candidates: expected rows that differ, or labels, got {got}")
        self._set_rows(labels, descriptors, index is not None)
        super().__init__(self.choices, self.graph, when, default)

    @classmethod
    def from_smiles(
        cls, smiles: Iterable[str], *, when: When | None = None, default: object = NO_DEFAULT
    ) -> Candidates:
        """Create candidates from molecules, which are compared by their Morgan fingerprints; needs the extra `rdkit`.

        smiles: two or more distinct SMILES strings, which are the labels.
        when, default: see `Candidates`.

        The fingerprints count the environments of atoms of radius 2, in 2,048 columns (Rogers and Hahn 2010). A study
        stores them, so that RDKit is not needed to load it.

        Raises DomainError, which names the row, for a string that RDKit cannot parse, and MissingExtra.

        >>> molecules = bo.Candidates.from_smiles(["CCO", "CCN", "c1ccccc1"])             # doctest: +SKIP
        >>> bo.maximize(measure_yield, {"molecule": molecules}, n_trials=20)              # doctest: +SKIP
        """
        labels = check_choices(cls.__name__, smiles, "SMILES string", max_rows(TYPICAL_ATOMS))
        return cls.from_fingerprints(count_substructures(labels), labels, when=when, default=default)

    @classmethod
    def from_fingerprints(
        cls, counts: Any, labels: Iterable[object], *, when: When | None = None, default: object = NO_DEFAULT
    ) -> Candidates:
        """Create candidates from fingerprints of counts, which are compared by the Tanimoto similarity.

        counts: integers from 0 to 65,535 (rows, up to 65,536 columns), as an array of NumPy or SciPy, preferably a
            sparse array.
        labels: distinct names of the rows.
        when, default: see `Candidates`.

        The similarity of x and y is <x, y> / (|x|^2 + |y|^2 - <x, y>) (Ralaivola et al. 2005), as in GAUCHE.

        Raises DomainError.

        >>> v = bo.Candidates.from_fingerprints([[2, 0, 1], [1, 0, 1], [0, 3, 0]], ["a", "b", "c"])
        >>> v.size
        3
        """
        found = cls.__new__(cls)
        table = read_counts(cls.__name__, counts)
        n = table.shape[0]
        names = check_choices(cls.__name__, labels, "label", max_rows(0))
        if len(names) != n:
            raise DomainError(f"Candidates: expected a label for each of {n} rows, got {len(names)}")
        check_fits(n, table.nnz // n)
        descriptors = Descriptors({}, np.zeros((n, 0), np.uint8), counts=table)
        found._set_rows(names, check_varies(cls.__name__, descriptors), True)
        ChoiceVariable.__init__(found, found.choices, found.graph, when, default)
        return found

    def _set_rows(self, labels: Sequence[Any], descriptors: Descriptors, are_given: bool) -> None:
        """Set labels, and whether they were given, which is stored if the labels are row numbers."""
        self.likeness, self.degrees = descriptors, count_degrees(descriptors)
        self.choices = tuple(labels)
        self.is_labeled = are_given and are_numbers_of_rows(labels)
        is_long = descriptors.size > MAX_CHOICES
        self.graph = RankedGraph(descriptors) if is_long else CompleteGraph(descriptors.size)

    @cached_property
    def is_numbered(self) -> bool:
        """True if rows have no labels except their row numbers."""
        return not self.is_labeled and are_numbers_of_rows(self.choices)

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> Sequence[int]:
        """Rebuild the position of a row that another variable encoded; raise PointError if this variable lacks it.

        A row is identified by its label. If one of the tables has no labels, the row must also have the same
        descriptors as before in all common columns of both tables, and there must be a common column.
        """
        known = description.get("choices")
        found = super().decode_from(data, description) if isinstance(data, dict) else self._parse_from(data, known)
        if description.get("kind") == self.kind and (
            self.is_numbered or (not description.get("labeled", False) and are_numbers_of_rows(description["choices"]))
        ):  # rows without labels except their numbers
            self._check_is_same(found[0], data, description)
        return found

    def _check_is_same(self, row: int, data: ParsedJson, description: ParsedJson) -> None:
        """Raise PointError if a row has other values than the row with the label `data` of another table."""
        if data not in description["choices"]:
            raise PointError(f"expected a row of the earlier table, got {short_repr(data)}")
        other, at = _rebuild_table(json.dumps(description["descriptors"])), description["choices"].index(data)
        mine, before = (dict(zip(one.names, one.row(i), strict=True)) for one, i in ((self.likeness, row), (other, at)))
        shared = mine.keys() & before.keys()
        if not shared:
            raise PointError(f"row {row}: none of the earlier columns is left, and no label identifies the row")
        if any(mine[name] != before[name] for name in shared):
            raise PointError(f"row {row} has other descriptors than before, and no label identifies the row")

    def describe(self) -> dict[str, Json]:
        """Return the labels and the descriptors as JSON."""
        labeled: dict[str, Json] = {"labeled": True} if self.is_labeled else {}
        return super().describe() | labeled | {"descriptors": self.likeness.to_json()}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Candidates:
        labels, found = choices_from_json(data["choices"]), cls.__new__(cls)
        found._set_rows(labels, Descriptors.from_json(data["descriptors"]), data.get("labeled", False))
        ChoiceVariable.__init__(found, found.choices, found.graph)
        return found


def check_fits(n: int, n_cells: int) -> None:
    """Raise DomainError unless there are at least two rows, and no more than fit into memory.

    n: number of rows.
    n_cells: see `max_rows`.
    """
    most = max_rows(n_cells)
    if not 2 <= n <= most:
        raise DomainError(
            f"Candidates: expected 2 to {most:,} rows, which fit into half of the memory "
            f"({memory_size() / 2**30:.0f} GiB, {n_cells} cells per row), got {n:,}"
        )


def count_substructures(smiles: Sequence[Any]) -> Any:
    """Return the Morgan fingerprint of each molecule as counts, sparse (n, 2048); raise DomainError, MissingExtra."""
    from scipy.sparse import csr_array

    chem = optional_import("rdkit.Chem", "rdkit")
    generator = optional_import("rdkit.Chem.rdFingerprintGenerator", "rdkit").GetMorganGenerator(
        radius=MORGAN_RADIUS, fpSize=MORGAN_SIZE
    )
    starts, columns, counts = [0], list[int](), list[int]()
    with optional_import("rdkit.rdBase", "rdkit").BlockLogs():  # errors name the row
        for row, text in enumerate(smiles):
            molecule = chem.MolFromSmiles(text) if isinstance(text, str) and text.strip() else None
            if molecule is None:
                raise DomainError(f"Candidates: row {row}: expected a SMILES string, got {short_repr(text)}")
            found = generator.GetCountFingerprint(molecule).GetNonzeroElements()
            columns += found.keys()
            counts += found.values()
            starts.append(len(columns))
    return csr_array((counts, columns, starts), shape=(len(smiles), MORGAN_SIZE))


def _find_labels(given: GivenTable, label: object) -> list[Any]:
    """Return the labels in a column, which is removed, or in the index; raise DomainError if none has the name."""
    if str(label) in given.columns:
        return list(given.columns.pop(str(label)))
    if given.index_labels is not None and str(label) == given.index_name:
        return given.index_labels
    named = [] if given.index_name is None else [given.index_name]
    raise DomainError(f"Candidates: label: expected one of {short_repr([*given.columns, *named])}, got {label!r}")


@lru_cache(maxsize=2)
def _rebuild_table(text: str) -> Descriptors:
    """Rebuild a table from its JSON text, once for many trials."""
    return Descriptors.from_json(json.loads(text))


@dataclass(frozen=True)
class RankedGraph(VariableGraph):
    """Rows ranked along the directions in which descriptors vary most: 1, 2, 4, ... ranks apart is one change.

    The graph is connected, because each ranking has all rows. A row has some hundred neighbors, regardless of the
    number of rows.
    """

    descriptors: Descriptors

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.descriptors.size

    def neighbors(self, vertex: int) -> IntArray:
        orders, ranks = self._rankings
        steps = 1 << np.arange((self.size - 1).bit_length())
        at = ranks[:, vertex, None] + np.concatenate([-steps, steps])
        which, step = np.nonzero((at >= 0) & (at < self.size))
        return np.unique(orders[which, at[which, step]])

    @cached_property
    def _rankings(self) -> tuple[IntArray, IntArray]:
        """The rows in the order of each direction, and the rank of each row, both (directions, rows)."""
        features = np.hstack([_features(group) for group in self.descriptors.groups])
        orders = np.argsort(features @ _principal_directions(features), axis=0, kind="stable").T
        return orders, np.argsort(orders, axis=1)


def _features(group: DescriptorGroup) -> Array:
    """Return the descriptors as numbers of mean 0, whose variances sum to 1 (n, p)."""
    if group.kind == "counts":  # too many columns to rank by: a random projection to few keeps distances
        columns = group.columns @ np.random.default_rng(0).normal(size=(group.columns.shape[1], PROJECTED))
    else:
        columns = np.asarray(group.columns, dtype=np.float64)
    if group.kind == "texts":
        codes = group.columns[:, 0]
        columns = np.random.default_rng(0).normal(size=(int(codes.max()) + 1, TEXT_FEATURES))[codes]
    columns = columns - columns.mean(axis=0)
    if group.kind == "numbers":
        columns /= columns.std(axis=0)
    return columns / np.sqrt(columns.var(axis=0).sum())


def _principal_directions(features: Array) -> Array:
    """Find the directions of the largest variances by subspace iteration (p, at most 8).

    features: centered features of n rows (n, p).
    """
    p = features.shape[1]
    found = np.linalg.qr(np.random.default_rng(0).normal(size=(p, min(p, DIRECTIONS))))[0]
    for _ in range(ROUNDS):
        found = np.linalg.qr(features.T @ (features @ found))[0]
    return found
