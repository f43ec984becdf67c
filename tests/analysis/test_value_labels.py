"""Labels of values: short, and different for different values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bostruct.analysis.axes import label_values

BEANS = [("arabica", "robusta"), ("liberica", "excelsa"), ("arabica",), ()]


def test_items_lose_as_few_letters_as_needed():
    assert label_values(BEANS, 40) == ["arabica+robusta", "liberica+excelsa", "arabica", "none"]
    assert label_values(BEANS, 11) == ["arabi+robus", "liber+excel", "arabi", "none"]
    assert label_values([("x10", "x11"), ("x11", "x12")], 8) == ["x10+x11", "x11+x12"]


def test_values_that_look_the_same_have_their_position():
    values = ["aaaaaaaa_one_zzzzzzzz", "aaaaaaaa_two_zzzzzzzz"]
    assert [label[0] for label in label_values(values, 12)] == ["0", "1"]
    assert label_values(["french press", "b"], 14) == ["french press", "b"]


@given(st.lists(st.lists(st.text("ab+", max_size=9), max_size=4).map(tuple), unique=True, max_size=24))
def test_labels_differ_and_are_short(values):
    labels = label_values(values, 8)
    assert len(set(labels)) == len(values)
    assert all(len(label) <= 8 for label in labels)
