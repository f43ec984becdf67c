"""Descriptors: what is compared together, and that a file holds all of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bostruct.domains.space.descriptors import MOST_APART, Descriptors, pack_numbers, unpack_numbers

RNG = np.random.default_rng(0)


def describe(n_numbers: int = 0, n_bits: int = 0, **texts: tuple[str, ...]) -> Descriptors:
    bits = RNG.integers(0, 2, (4, n_bits)).astype(np.uint8)
    numbers = {f"x{i}": RNG.normal(size=4) for i in range(n_numbers)}
    return Descriptors(numbers, bits, tuple(f"b{i}" for i in range(n_bits)), texts)


@pytest.mark.parametrize("table", [describe(2), describe(0, 13), describe(3, 8, a=("é", "", "x", "y")), describe(0, 0)])
def test_a_file_holds_all(table):
    again = Descriptors.from_json(json.loads(json.dumps(table.to_json())))
    assert (again, hash(again)) == (table, hash(table))
    assert [again.row(i) for i in range(4)] == [table.row(i) for i in range(4)]
    assert again.names == table.names


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
