"""The choices of points as codes: which columns have them, and which follow each other in a row."""

import numpy as np

import bostruct as bo
from bostruct.methods.defaults import find_codes


def test_columns_of_choices_have_codes_and_numbers_have_none():
    space = bo.Space({"r": bo.Real(0, 1), "b": bool, "long": bo.Integer(0, 10**6), "o": range(5), "many": range(65)})
    codes = find_codes(space)
    assert (codes.columns, codes.sizes, codes.steps) == ((1, 3), (2, 5), ())


def test_a_space_of_numbers_has_no_codes():
    assert find_codes(bo.Space({"r": bo.Real(0, 1)})) is None


def test_absence_is_one_more_code():
    space = bo.Space({"c": ["a", "b"], "d": bo.Categorical(list("xyz"), when={"c": "a"})})
    codes = find_codes(space)
    assert codes.sizes == (2, 4)
    found = codes.encode(np.vstack([space.parse({"c": "a", "d": "z"}), space.parse({"c": "b"})]))
    assert found.tolist() == [[0, 2], [1, 3]]


def test_variables_with_equal_choices_in_a_row_are_a_sequence():
    letters = {f"x{i}": list("abc") for i in range(4)}
    assert find_codes(bo.Space(letters)).steps == ((0, 1), (1, 2), (2, 3))
    parted = {"a": list("abc"), "b": list("abc"), "between": bool, "c": list("abc"), "d": list("abc")}
    assert find_codes(bo.Space(parted)).steps == ()
    for kind in (bool, range(3)):
        assert find_codes(bo.Space({f"x{i}": kind for i in range(6)})).steps == ()


def test_an_order_is_a_row_of_its_items():
    space = bo.Space({"r": bo.Real(0, 1), "p": bo.Permutation(list("abcd")), "q": bo.Permutation(list("abcd"))})
    codes = find_codes(space)
    assert codes.columns == tuple(range(1, 9))
    assert codes.steps == ((0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7))


def test_letters_of_a_sequence_and_items_of_a_subset_have_codes():
    codes = find_codes(bo.Space({"s": bo.Sequence("ACGU", (2, 4)), "few": bo.Subset(range(3), 2)}))
    assert codes.sizes == (5, 5, 5, 5, 2, 2, 2)  # the end mark is a letter, too
    assert codes.steps == ((0, 1), (1, 2), (2, 3))
