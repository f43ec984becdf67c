"""Added numbers stay as their user gave them, and a study says where two of them are one point to a model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.study.point_forms import find_moved_numbers, restore_numbers

SPACE = bo.Space({"x": bo.Real(0, 1), "rate": bo.Real(1e-5, 1.0, log=True), "k": ["a", "b"], "n": range(4)})
POINT = {"x": 0.123456789012345, "rate": 0.1, "k": "a", "n": 2}


@given(st.fixed_dictionaries({"x": st.floats(0, 1), "rate": st.floats(1e-5, 1), "k": st.just("b"), "n": st.just(3)}))
def test_what_was_moved_and_only_that_is_restored(point):
    presented = SPACE.present(SPACE.parse(point))
    moved = find_moved_numbers(point, presented)
    assert set(moved) <= {"x", "rate"}
    assert restore_numbers(presented, moved) == point
    assert find_moved_numbers(presented, presented) == {}
    assert (SPACE.parse(restore_numbers(presented, moved)) == SPACE.parse(point)).all()


def test_parts_of_points_are_looked_into_and_other_domains_left_alone():
    moved = find_moved_numbers({"a": POINT, "b": "word"}, {"a": POINT | {"x": 0.5}, "b": "word"})
    assert moved == {"a": {"x": POINT["x"]}}
    assert restore_numbers({"a": POINT | {"x": 0.5}, "b": "word"}, moved) == {"a": POINT, "b": "word"}
    assert find_moved_numbers(np.arange(3), "program") == {}
    assert restore_numbers("program", {}) == "program"
    assert restore_numbers({"a": 1}, None) == {"a": 1}


def test_an_added_number_stays_as_it_was_given(tmp_path):
    path = tmp_path / "runs.db"
    with bo.Study(SPACE, method="random", seed=0, storage=path) as study:
        trial = study.add(POINT | {"n": np.int64(2)}, 1.0)
        assert trial.point == POINT
        assert trial.info == {"origin": "added", "given": {"x": POINT["x"]}}
        study.optimize(lambda p: 2.0 + p["x"], 3)
        assert study.result.best_point == POINT
        trials = study.trials
    with bo.Study.load(path) as again:
        assert again.trials == trials
        assert again.trials[0].point == POINT


def test_an_end_that_rounding_moved_out_is_shown_as_the_end():
    with bo.Study({"x": bo.Real(0, 0.3)}, method="random", seed=0) as study:
        assert study.add({"x": 0.1 + 0.2}, 1.0).point == {"x": 0.3}
        assert study.best_point == {"x": 0.3}


def test_numbers_on_one_step_are_said():
    with bo.Study(SPACE, method="random", seed=0) as study:
        study.add(POINT, 1.0)
        with pytest.warns(UserWarning, match="trial 1: .*0.1234567890123451.* is the same point as trial 0"):
            trial = study.add(POINT | {"x": 0.1234567890123451}, 1.1)
        assert trial.info["same_step_as"] == 0
        assert "same_step_as" not in study.add(POINT | {"x": 0.2}, 1.0).info
        assert "same_step_as" not in study.add(POINT | {"x": 0.2}, 1.3).info  # the same number, told again
