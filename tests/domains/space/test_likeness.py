"""What a user says of how alike choices are: read by name, refused by name, clipped where it must be, and said."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.space.descriptors import Descriptors, find_rows
from bostruct.domains.space.likeness import GivenMatrix, count_degrees, likeness_from_json, likeness_to_json
from bostruct.domains.space.registry import variable_from_json

BASES = ["K2CO3", "NaOH", "Et3N"]
POINTS = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
DISTANCES = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
KERNEL = np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.2], [0.0, 0.2, 9.0]])
INDEFINITE = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])


def squares(**given) -> np.ndarray:
    likeness = bo.Categorical(BASES, **given).likeness
    assert isinstance(likeness, GivenMatrix)
    return likeness.squared_distances


def test_euclidean_distances_and_kernels_stay_as_they_are():
    assert_allclose(squares(distances=DISTANCES), (DISTANCES / 8.0) ** 2)
    roots = np.sqrt(KERNEL.diagonal())
    assert_allclose(squares(kernel=KERNEL), 2.0 - 2.0 * KERNEL / np.outer(roots, roots), atol=1e-12)


@pytest.mark.parametrize("given", [{"kernel": INDEFINITE}, {"distances": [[0, 1, 9], [1, 0, 1], [9, 1, 0]]}])
def test_an_indefinite_matrix_is_clipped_and_said(given):
    name = next(iter(given))
    with pytest.warns(UserWarning, match=rf"Categorical: {name}: not positive semi-definite, as .*% of the spectrum"):
        variable = bo.Categorical(BASES, **given)
    likeness = variable.likeness
    assert isinstance(likeness, GivenMatrix)
    assert 0.0 < likeness.clipped < 1.0
    found = likeness.squared_distances
    assert_allclose(found, found.T)
    center = np.eye(3) - 1.0 / 3.0
    assert np.linalg.eigvalsh(-0.5 * center @ found @ center).min() > -1e-9
    assert_allclose(found.diagonal(), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = variable_from_json("x", json.loads(json.dumps(variable.to_json())))
    assert again.likeness == likeness


def test_frames_are_read_by_their_labels():
    order = [2, 0, 1]
    labels = [BASES[i] for i in order]
    shuffled = pd.DataFrame(DISTANCES[np.ix_(order, order)], index=labels, columns=labels)
    assert bo.Categorical(BASES, distances=shuffled) == bo.Categorical(BASES, distances=DISTANCES)
    table = pd.DataFrame({"pKa": [10.3, 15.7, 10.8, 1.0]}, index=[*BASES, "another"])
    assert bo.Categorical(BASES, descriptors=table.iloc[[3, 1, 2, 0]]) == bo.Categorical(BASES, descriptors=table[:3])
    one_column = {"pKa": [10.3, 15.7, 10.8]}
    assert bo.Categorical(BASES, descriptors=table[:3]) == bo.Categorical(BASES, descriptors=one_column)
    assert find_rows("t", ["b", [1]], ["a", "b", [1]]) == [1, 2]


def read_column(choices: list[object], table: pd.DataFrame) -> list[float]:
    """The only descriptor of choices, in their order."""
    found = bo.Categorical(choices, descriptors=table).likeness
    assert isinstance(found, Descriptors)
    (column,) = found.numbers.values()
    return column.tolist()


def test_labels_that_are_numbers_or_bools_are_labels():
    matrix = pd.DataFrame([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]])
    found = bo.Categorical([2, 1, 0], kernel=matrix).likeness
    assert isinstance(found, GivenMatrix)
    assert found.matrix[0, 1] == matrix.loc[2, 1]
    assert bo.Categorical(["a", "b", "c"], kernel=matrix) == bo.Categorical(["a", "b", "c"], kernel=matrix.to_numpy())
    for index, order in ([False, True], [20.0, 10.0]), ([True, False], [10.0, 20.0]), ([0, 1], [10.0, 20.0]):
        assert read_column([True, False], pd.DataFrame({"pKa": [10.0, 20.0]}, index=index)) == order
    assert read_column([2, 0], pd.DataFrame({"pKa": [10.0, 20.0, 40.0]})) == [40.0, 10.0]


def test_numbers_of_rows_that_name_some_choices_only_are_refused():
    table = pd.DataFrame({"x": [0.0, 10.0, 20.0, 30.0]})
    assert read_column([1, 2, 3], table) == [10.0, 20.0, 30.0]
    message = r"expected an index that has all choices, or none; got 0 to 2, which has \[1, 2\] and may number the rows"
    with pytest.raises(DomainError, match=message):
        bo.Categorical([1, 2, 3], descriptors=table[:3])
    named = bo.Categorical([1, 2, 3], descriptors=table[:3].set_index(pd.Index([1, 2, 3])))
    assert named == bo.Categorical([1, 2, 3], descriptors={"x": [0.0, 10.0, 20.0]})


def test_what_is_not_given_is_in_no_file_and_changes_no_description():
    plain = bo.Categorical(BASES)
    assert plain.to_json() == {"kind": "Categorical", "choices": BASES}
    assert (plain.likeness, plain.degrees, count_degrees(None)) == (None, 1, 1)
    assert likeness_to_json(None) == {}
    assert likeness_from_json({"choices": BASES}) is None
    assert bo.Binary().likeness is None
    assert bo.Categorical(BASES, distances=DISTANCES) != plain
    assert bo.Categorical(BASES, distances=DISTANCES) != bo.Categorical(BASES, kernel=KERNEL)


def replaced(i: int, j: int, value: float, matrix: np.ndarray = DISTANCES) -> np.ndarray:
    found = matrix.copy()
    found[i, j] = value
    return found


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"distances": replaced(0, 1, 9.0)}, "distances: expected a symmetric matrix, got 9.0 between 'K2CO3' and 'NaOH'"),
    ({"distances": replaced(0, 1, np.nan)}, "distances: expected finite numbers, got nan between 'K2CO3' and 'NaOH'"),
    ({"distances": DISTANCES[:2, :2]}, r"distances: expected shape \(3, 3\) for 3 choices, got \(2, 2\)"),
    ({"distances": -DISTANCES}, "distances: expected distances of at least 0, got -3.0 between"),
    ({"distances": DISTANCES + 1.0}, "distances: expected a diagonal of zeros, got 1.0 for 'K2CO3'$"),
    ({"distances": np.zeros((3, 3))}, "distances: expected choices that are not all the same, got only zeros"),
    ({"distances": "near"}, r"distances: expected numbers \(3, 3\), got 'near'"),
    ({"kernel": replaced(0, 1, 9.0, KERNEL)}, "kernel: expected a symmetric matrix, got 9.0"),
    ({"kernel": replaced(2, 2, 0.0, KERNEL)}, "kernel: expected a positive diagonal, got 0.0 for 'Et3N'$"),
    ({"distances": [[0, 10**5000, 1], [1, 0, 1], [1, 1, 0]]}, "distances: expected finite numbers, got an int beyond"),
    ({"kernel": np.where(np.eye(3), 1e-300, 1e300)}, "kernel: expected numbers near the size of the diagonal, got 1e"),
    ({"kernel": np.ones((3, 3))}, "kernel: expected choices that are not all the same, got only ones"),
    ({"kernel": [[1, 2, 2], [2, 1, 2], [2, 2, 1]]}, "kernel: expected choices that are not all the same, got a matrix"),
    ({"kernel": KERNEL, "distances": DISTANCES}, "expected one of .*, got distances and kernel"),
    (
        {"descriptors": {name: [1.0, 2.0 + i, 3.0] for i, name in enumerate(BASES)}},
        "descriptors: expected a dict of columns, not of rows, got the choices as names",
    ),
    ({"descriptors": {"a": [1.0, 2.0]}}, "descriptors: expected a row for each of the 3 choices, got 2"),
    ({"descriptors": {"a": [1.0, 2.0, np.nan]}}, "column 'a': expected finite numbers, got nan in row 'Et3N'"),
    ({"descriptors": {"a": [2.0, 2.0, 2.0]}}, "descriptors: expected a column that shows which rows are similar"),
    ({"descriptors": pd.DataFrame({"a": [1, 2, 3]}, index=["x", "y", "z"])}, "expected one row for 'K2CO3', got 0"),
    (
        {"descriptors": pd.DataFrame({"a": [1, 2, 3, 4]}, index=[*BASES, "NaOH"])},
        "descriptors: expected one row for 'NaOH', got 2",
    ),
    ({"kernel": pd.DataFrame(KERNEL, index=BASES, columns=BASES[::-1])}, "kernel: expected the same labels of rows"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_says_nothing_or_the_wrong_is_refused_by_name(given, message):
    with pytest.raises(DomainError, match=f"^Categorical: .*{message}" if "one of" in message else message):
        bo.Categorical(BASES, **given)
