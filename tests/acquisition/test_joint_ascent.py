"""Joint ascents: the maximum of a sum over many variables in one step, never below the starts, valid points alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import bostruct as bo
from bostruct.acquisition.local_search import JointAscent, LocalSearch, list_counts
from bostruct.contracts import Score
from tests.fakes import TableScore
from tests.strategies import constrained_spaces, rngs


class Additive(Score):
    """A sum of one random number for each bit that is set, which counts its calls."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights, self.scored = weights, 0

    def __call__(self, xs):
        self.scored += len(xs)
        return np.asarray(xs) @ self.weights

    def upper_bounds(self, xs):
        return np.asarray(xs) @ self.weights


def test_the_numbers_of_changes_grow_by_half():
    assert list_counts(1) == [1]
    assert list_counts(10) == [1, 2, 3, 4, 6, 9, 10]
    assert len(list_counts(10_000)) < 30


def test_the_maximum_of_a_sum_of_500_bits_takes_few_steps_and_scores():
    space, rng = bo.Space({f"b{i}": bool for i in range(500)}), np.random.default_rng(0)
    score = Additive(rng.normal(size=500))
    ends, info = JointAscent()(score, space, space.sample(2, rng), rng)
    np.testing.assert_array_equal(ends[0], score.weights > 0.0)
    assert info["best_score"] == pytest.approx(score.weights[score.weights > 0.0].sum())
    assert info["steps"] <= 40
    assert score.scored <= 3 + 20 * (info["steps"] + 3)  # some 15 points a step, not 500


def test_where_no_single_change_is_allowed_another_search_takes_over():
    """Of 110 bits ten are set: two have to change together, which the search among candidates does."""
    space = bo.Space({f"b{i}": bool for i in range(110)}, constraints=[lambda x: sum(x.values()) == 10])
    rng = np.random.default_rng(0)
    score, starts = Additive(rng.normal(size=110)), space.sample(1, rng)
    ends, info = JointAscent(instead=LocalSearch(raw_samples=1_000))(score, space, starts, rng)
    assert score(ends[:1])[0] == info["best_score"] > score(space.sample(100, rng)).max()


@given(constrained_spaces(4), rngs())
@settings(deadline=None, max_examples=40)
def test_ends_are_valid_points_no_worse_than_the_starts_in_order(space, rng):
    if np.prod(space.n_choices) > 10_000:
        return
    score = TableScore.draw(space.n_choices, rng)
    starts = space.sample(2, rng)
    ends, info = JointAscent(raw_samples=2, most_steps=3, instead=LocalSearch(raw_samples=50, distinct=False))(
        score, space, starts, rng
    )
    for x in ends:
        space.check(x)
    found = score(ends)
    assert np.all(np.diff(found) <= 0.0)
    assert found[0] == info["best_score"]
    if info["candidates"] > 4:  # no single change is allowed: another search took over
        return
    assert len(ends) == 4
    assert info["steps"] <= 4 * 3
    assert found[0] >= score(starts).max()


def test_it_works_under_conditions_and_without_starts():
    space = bo.Space({"a": bool, "b": bo.Binary(when={"a": True}), "c": range(5)})
    rng = np.random.default_rng(0)
    ends, _ = JointAscent(raw_samples=4)(Peak(), space, space.join(), rng)
    assert space.present(ends[0])["c"] == 4
    for x in ends:
        space.check(x)


class Peak(Score):
    """The value of the last column, and no bound."""

    def __call__(self, xs):
        return np.asarray(xs)[:, -1].astype(float)

    def upper_bounds(self, xs):
        return np.asarray(xs)[:, -1].astype(float)


@pytest.mark.parametrize(("name", "value"), [("raw_samples", 0), ("most_steps", 0)])
def test_settings_are_checked(name, value):
    with pytest.raises(ValueError, match=name):
        JointAscent(**{name: value})
