"""Descriptors: what is compared together, and that a file holds all of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from bostruct.contracts import DomainError
from bostruct.domains.space.descriptors import MOST_APART, Descriptors, pack_numbers, read_counts, unpack_numbers

COUNTS = [[2, 0, 1], [0, 0, 0], [1, 65_535, 0], [2, 0, 1]]
RNG = np.random.default_rng(0)


def describe(n_numbers: int = 0, n_bits: int = 0, **texts: tuple[str, ...]) -> Descriptors:
    bits = RNG.integers(0, 2, (4, n_bits)).astype(np.uint8)
    numbers = {f"x{i}": RNG.normal(size=4) for i in range(n_numbers)}
    return Descriptors(numbers, bits, tuple(f"b{i}" for i in range(n_bits)), texts)


def describe_counts(counts: object) -> Descriptors:
    return Descriptors({}, np.zeros((4, 0), np.uint8), counts=read_counts("Candidates", counts))


TABLES = [describe(2), describe(0, 13), describe(3, 8, a=("é", "", "x", "y")), describe(0, 0), describe_counts(COUNTS)]


@pytest.mark.parametrize("table", TABLES)
def test_a_file_holds_all(table):
    again = Descriptors.from_json(json.loads(json.dumps(table.to_json())))
    assert (again, hash(again)) == (table, hash(table))
    assert [again.row(i) for i in range(4)] == [table.row(i) for i in range(4)]
    assert again.names == table.names


def test_counts_are_one_group_in_any_form():
    table = describe_counts(COUNTS)
    assert describe_counts(csr_array(np.array(COUNTS))) == table
    assert [group.kind for group in table.groups] == ["counts"]
    assert describe_counts([[1, 2]] * 4).groups == ()
    assert table.row(0) == table.row(3) != table.row(1)
    assert table.take([2, 0]).counts.toarray().tolist() == [COUNTS[2], COUNTS[0]]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, -1]] * 4, r"expected integers from 0 to 65535, got -1.0 in row 0"),
        ([[1, 1], [1, 0.5]], r"got 0.5 in row 1"),
        ([[1, 1], [np.nan, 0]], r"got nan in row 1"),
        ([[1, 1], [65_536, 0]], r"got 65536.0 in row 1"),
        ("abc", r"Candidates: expected counts \(rows, at most 65536 columns\), got 'abc'"),
        (csr_array((2, 65_537)), r"got shape \(2, 65537\)"),
    ],
)
def test_what_is_no_count_is_refused(counts, message):
    with pytest.raises(DomainError, match=message):
        read_counts("Candidates", counts)


def test_counts_of_a_damaged_file_are_refused():
    damaged = describe_counts(COUNTS).to_json()
    damaged["counts"] |= {"width": 1}
    with pytest.raises(ValueError, match="indices"):
        Descriptors.from_json(damaged)


def test_numbers_come_back_bit_by_bit():
    values = np.array([0.1, -0.0, 1e-300, 2**53 + 1.0])
    assert unpack_numbers(pack_numbers(values)).tobytes() == values.tobytes()


def test_tables_that_differ_in_one_entry_differ():
    one = describe(2)
    other = Descriptors({**one.numbers, "x0": one.numbers["x0"] + 1e-9}, one.bits)
    assert one != other
    assert one != "a table"


GROUPS = [
    (describe(MOST_APART), ["numbers"] * MOST_APART),
    (describe(MOST_APART + 1), ["numbers"]),
    (describe(1, 9, a=("u", "v", "u", "u")), ["numbers", "bits", "texts"]),
    (describe(0, 0, a=("u", "v", "w", "z"), b=("u", "u", "u", "u")), []),
    (Descriptors({"c": np.full(4, 2.0)}, np.ones((4, 9), dtype=np.uint8)), []),
]


@pytest.mark.parametrize(("table", "kinds"), GROUPS)
def test_groups_are_what_is_compared_together(table, kinds):
    assert [group.kind for group in table.groups] == kinds
    assert table.n_distances == len(kinds)


def test_equal_rows_are_found():
    assert describe(1).find_equal_rows() is None
    assert Descriptors({"a": np.array([1.0, 2.0, 1.0])}, np.zeros((3, 0), np.uint8)).find_equal_rows() == (0, 2)
