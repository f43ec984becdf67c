"""Tables in each form that users have them in, and what is refused by the names of column and row."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.space.descriptors import MIN_BITS, build_descriptors, read_table

COLUMNS = {"mass": [1.0, 2.5, 4.0], "rings": [0, 1, 3], "class": ["ether", "amide", "ether"]}
RECORDS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
FORMS: dict[str, object] = {
    "a frame": pd.DataFrame(COLUMNS),
    "a dict of columns": COLUMNS,
    "a dict of arrays": {name: np.array(column) for name, column in COLUMNS.items()},
    "a dict of series": {name: pd.Series(column) for name, column in COLUMNS.items()},
    "a list of dicts": RECORDS,
}


def build(given: object):
    table = read_table("Candidates", given)
    return table, build_descriptors("Candidates", table.columns, table.labels or range(3))


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_table_is_the_same_table(form):
    table, found = build(FORMS[form])
    assert table.labels is None
    assert found == build(COLUMNS)[1]
    numbers = {name: column.tolist() for name, column in found.numbers.items()}
    assert numbers == {"mass": [1.0, 2.5, 4.0], "rings": [0.0, 1.0, 3.0]}
    assert found.texts == {"class": ("ether", "amide", "ether")}


def test_the_index_of_a_frame_has_the_labels():
    assert build(pd.DataFrame(COLUMNS, index=["THF", "DMF", "DME"]))[0].labels == ["THF", "DMF", "DME"]
    assert build(pd.DataFrame(COLUMNS).iloc[::-1])[0].labels == [2, 1, 0]


def test_numbers_that_are_texts_are_warned_of():
    column = ["1.0", "2.0", "3.5"]
    with pytest.warns(UserWarning, match="column 'pKa': its strings are numbers, but are compared as") as warned:
        bo.Candidates(pd.DataFrame({"pKa": column, "z": [1, 5, 2]}, index=list("abc")))
    assert warned[0].filename == __file__
    many = {"pKa": [str(i) for i in range(19)] + ["n/a"], "z": range(20)}
    with pytest.warns(UserWarning, match=r"its strings are numbers except \['n/a'\], but"):
        bo.Candidates(many)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bo.Candidates({"grade": ["1", "2", "three", "four"], "z": range(4)})


def test_bools_of_an_index_are_labels():
    frame = pd.DataFrame(COLUMNS, index=[False, True, 2])
    assert build(frame)[0].labels == [False, True, 2]
    choices = bo.Candidates(pd.DataFrame({"a": [1.0, 2.0]}, index=[False, True])).choices
    assert [type(one) for one in choices] == [bool, bool]


def test_a_label_is_the_name_of_a_column_or_of_the_index():
    frame = pd.DataFrame([[1.0, 5], [3.0, 4]], index=pd.Index(["x", "y"], name="id"))
    assert bo.Candidates(frame, label=1).choices == (5, 4)
    assert bo.Candidates(frame, label="id") == bo.Candidates(frame)
    numbered = frame.set_axis(pd.RangeIndex(2, name="id"))
    assert bo.Candidates(numbered).is_numbered
    assert not bo.Candidates(numbered, label="id").is_numbered
    wrong: list[Any] = [["x"], "2"]
    for label in wrong:
        with pytest.raises(DomainError, match=r"Candidates: label: expected one of \['0', '1', 'id'\], got "):
            bo.Candidates(frame, label=label)


def test_columns_may_have_any_names_and_numbers_need_none():
    assert list(read_table("t", pd.DataFrame([[1, 2], [3, 4]])).columns) == ["0", "1"]
    assert list(read_table("t", [[1, 2, 5], [3, 4, 6]]).columns) == ["0", "1", "2"]


@pytest.mark.parametrize(("n_bits", "n_numbers"), [(MIN_BITS, 0), (MIN_BITS - 1, MIN_BITS - 1)])
def test_many_columns_of_zeros_and_ones_are_a_fingerprint(n_bits, n_numbers):
    flags = np.random.default_rng(0).integers(0, 2, (3, n_bits))
    found = build_descriptors("t", read_table("t", flags).columns, range(3))
    assert len(found.numbers) == n_numbers
    assert found.bits.shape == (3, n_bits - n_numbers)


class Untouchable(Mapping):
    """A mapping that would be changed by whoever writes to its columns."""

    def __init__(self) -> None:
        self.column = np.array([1.0, 2.0, 3.0])
        self.column.flags.writeable = False

    def __getitem__(self, key):
        return self.column

    def __iter__(self):
        return iter(["a"])

    def __len__(self):
        return 1


def test_a_table_is_copied():
    given = {"a": np.array([1.0, 2.0, 3.0])}
    variable = bo.Candidates(given)
    given["a"][0] = 9.0
    assert variable.likeness.numbers["a"].tolist() == [1.0, 2.0, 3.0]
    bo.Candidates(Untouchable())


NAN = float("nan")
REFUSED: list[tuple[object, str]] = [
    (pd.DataFrame({"a": [1.0, NAN]}), r"Candidates: column 'a': expected finite numbers, got nan in row 1$"),
    (pd.DataFrame({"a": [1.0, np.inf]}, index=["x", "y"]), r"column 'a': expected finite numbers, got inf in row 'y'$"),
    ({"a": [1.0, "x"]}, r"column 'a': expected a number, as in the first row, got 'x' in row 1$"),
    ({"a": [1.0, None]}, r"column 'a': expected a number or a string, got None in row 1$"),
    (pd.DataFrame({"a": pd.array([1, pd.NA], dtype="Int64")}), r"column 'a': expected a number or a string, got <NA>"),
    ({"a": [1, -(10**5000), 2]}, r"column 'a': expected finite numbers, got an int beyond 1.8e308 in row 1$"),
    ({"a": ["x", 3]}, r"column 'a': expected a string, as in the first row, got 3 in row 1$"),
    ({"a": pd.Series(["x", None])}, r"column 'a': expected a string, as in the first row, got (None|nan) in row 1$"),
    ({"a": pd.date_range("2026", periods=2)}, r"column 'a': expected a number or a string, got Timestamp"),
    ({"a": [1, 2], "b": [1, 2, 3]}, r"Candidates: expected columns of one length, got \{'a': 2, 'b': 3\}$"),
    ({"a": 3.0}, r"column 'a': expected one value for each row, got 3.0"),
    ({"a": "xy"}, r"column 'a': expected one value for each row, got 'xy'"),
    ({"a": np.ones((2, 2))}, r"column 'a': expected one value for each row"),
    ([{"a": 1}, {"b": 2}], r"Candidates: row 1: expected the columns \['a'\], got \['b'\]$"),
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"expected columns of distinct names, got 'a' more than once"),
    ({1: [1, 2], "1": [5, 5]}, r"expected columns of distinct names, got '1' more than once"),
    ([{1: 1, "1": 5}, {1: 2, "1": 5}], r"expected columns of distinct names, got '1' more than once"),
    ({}, "Candidates: expected at least one column"),
    ([], "Candidates: expected a pandas frame, a dict of columns, a list of dicts, or numbers"),
    ("abc", "Candidates: expected a pandas frame"),
    (None, "Candidates: expected a pandas frame"),
    ([["a", "b"], ["c", "d"]], "Candidates: expected a pandas frame"),
    ([1, 2, 3], "Candidates: expected a pandas frame"),
    (
        pd.DataFrame({"a": [1.0]}),
        r"Candidates: expected 2 to [\d,]+ rows, which fit into half of the memory \(.*\), got 1$",
    ),
    ({"a": [1.0, 1.0, 1.0]}, r"expected a column that shows which rows are similar; in each of \('a',\) all rows"),
    ({"a": ["x", "y", "z"]}, "or all are different strings"),
    ({"a": [1.0, 2.0, 1.0]}, "expected rows that differ, or labels, got rows 0 and 2, which are equal$"),
    (pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "x"]), "expected distinct labels, got 'x' more than once"),
    (pd.DataFrame({"a": [1.0, 2.0]}, index=["x", NAN]), "each label must equal itself"),
]


@pytest.mark.parametrize(("table", "message"), REFUSED)
def test_what_is_no_table_is_refused_by_name(table, message):
    with pytest.raises(DomainError, match=message):
        bo.Candidates(table)


MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])


@pytest.mark.parametrize("table", [MASKED[:, None], {"x": MASKED}])
def test_masked_numbers_are_refused(table):
    with pytest.raises(DomainError, match="expected finite numbers, got a masked one in row 1"):
        bo.Candidates(table)


def test_masked_matrices_are_refused_and_masks_without_masked_numbers_are_not():
    distances = np.ma.array([[0.0, 1.0], [1.0, 0.0]], mask=[[0, 1], [0, 0]])
    with pytest.raises(DomainError, match="distances: expected finite numbers, got masked ones"):
        bo.Categorical(["a", "b"], distances=distances)
    assert bo.Categorical(["a", "b"], distances=np.ma.array(distances.data, mask=False)).size == 2
