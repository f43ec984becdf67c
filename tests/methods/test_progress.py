"""The best value that a rule knew at an earlier call."""

import numpy as np

from bostruct.methods.exploration import recall_best


def test_the_best_of_the_values_told_then_is_taken_anew():
    assert recall_best({"told": 2}, np.array([4.0, 3.0, 1.0])) == 3.0
    assert recall_best({"told": 2}, np.array([501.0, 500.9, 500.0])) == 500.9, "what was told since may change them"
    assert recall_best({"told": 5}, np.array([4.0, 3.0])) == 3.0, "points may have left the space"


def test_a_memory_of_an_older_file_has_the_value():
    assert recall_best({"best": 2.5, "asked": 1}, np.array([4.0, 3.0])) == 2.5
