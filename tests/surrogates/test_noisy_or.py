"""A noisy-OR of choices: its sums by hand, its fixed point, and what rules it learns."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.methods.defaults import find_codes
from bostruct.surrogates import success
from bostruct.surrogates.success import PRIOR_COUNT, ChoiceCodes, NoisyOr

LETTERS = list("abcdef")


def learn(space, xs, succeeded):
    return NoisyOr(find_codes(space)).condition(xs, succeeded, None, np.random.default_rng(0))[0]


def test_costs_of_all_causes_add_up():
    """Single choices, all pairs, and the steps of two rows, with codes of absence among them."""
    codes = ChoiceCodes((0, 1, 2, 3, 4, 5), (3, 3, 3, 4, 4, 2), ((0, 1), (1, 2), (3, 4)))
    rng = np.random.default_rng(0)
    causes = success._Causes(codes)
    assert causes.n == 19 + sum(a * b for a, b in combinations(codes.sizes, 2)) + 9 + 16
    costs = rng.exponential(size=causes.n)
    xs = np.column_stack([rng.integers(size, size=50) for size in codes.sizes])
    listed = causes.list_all(xs)
    assert listed.shape == (50, 6 + 15 + 3)
    assert np.unique(causes.list_all(xs)).max() < causes.n
    found = success.NoisyOrPosterior(causes, costs).log_probability(xs)
    assert_allclose(found, -costs[listed].sum(axis=1), rtol=1e-5)


def test_each_cause_has_a_number_of_its_own():
    codes = ChoiceCodes((0, 1, 2), (3, 3, 3), ((0, 1), (1, 2)))
    xs = np.array(np.meshgrid(*[np.arange(3)] * 3)).reshape(3, -1).T
    listed = success._Causes(codes).list_all(xs)
    meaning = [
        *[{("one", c, x[c]) for x in xs.tolist()} for c in range(3)],
        *[{("two", a, b, x[a], x[b]) for x in xs.tolist()} for a, b in combinations(range(3), 2)],
        {("step", *x[:2]) for x in xs.tolist()} | {("step", *x[1:]) for x in xs.tolist()},
    ]
    assert len(np.unique(listed)) == sum(map(len, meaning))
    again = {(int(a), int(b)): step for x, row in zip(xs, listed, strict=True) for a, b, step in [(*x[:2], row[-2])]}
    for x, row in zip(xs.tolist(), listed, strict=True):
        assert row[-1] == again[x[1], x[2]]  # the same step, one place on


def test_one_pair_and_one_step_have_the_whole_prior_of_their_kind():
    prior = success._Causes(ChoiceCodes((0, 1), (3, 3), ((0, 1),))).prior
    parts = [[success.SINGLE / 2] * 6, [success.PAIR] * 9, [success.STEP] * 9]
    assert_allclose(prior, PRIOR_COUNT * np.concatenate(parts))


def test_expected_firings_are_a_fixed_point():
    rng = np.random.default_rng(1)
    space = bo.Space({f"x{i}": list("abc") for i in range(4)})
    xs = space.sample(40, rng)
    succeeded = ~((xs[:, 0] == 1) & (xs[:, 2] == 2)) & (rng.random(40) < 0.9)
    model = learn(space, xs, succeeded)
    chance = -np.expm1(-model.costs)
    listed = model.causes.list_all(xs)
    seen = np.bincount(listed.ravel(), minlength=model.causes.n)
    fired = np.zeros(model.causes.n)
    for row in listed[~succeeded]:
        fired[row] += chance[row] / -np.expm1(np.log1p(-chance[row]).sum())
    cleared = np.bincount(listed[succeeded].ravel(), minlength=model.causes.n) >= success.CLEARED
    expected = (model.causes.prior + np.where(cleared, 0.0, fired)) / (PRIOR_COUNT + model.causes.prior + seen)
    assert_allclose(chance, expected, atol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_a_forbidden_pair_is_found(seed):
    rng = np.random.default_rng(seed)
    space = bo.Space({f"x{i}": bool for i in range(20)})
    xs = space.sample(80, rng)
    forbidden = (xs[:, 3] == 1) & (xs[:, 11] == 0)
    new = space.sample(400, rng)
    fails = (new[:, 3] == 1) & (new[:, 11] == 0)
    chance = np.exp(learn(space, xs, ~forbidden).log_probability(new))
    assert chance[fails].max() < 0.2 < 0.8 < chance[~fails].min()


def test_a_banned_step_is_banned_wherever_it_stands():
    """A step that failed at one place is not suggested at another, where no pair has been seen."""
    space = bo.Space({f"x{i}": LETTERS for i in range(10)})
    rng = np.random.default_rng(0)
    xs = space.sample(120, rng)
    banned = ((xs[:, :-1] == 2) & (xs[:, 1:] == 4)).any(axis=1)
    near = np.flatnonzero(~((xs[:, 7] == 2) & (xs[:, 8] == 4)))  # never seen at the eighth place
    model = learn(space, xs[near], ~banned[near])
    clean = np.zeros((1, 10), dtype=np.int64)
    with_step = clean.copy()
    with_step[0, 7:9] = 2, 4
    assert model.log_probability(with_step)[0] < np.log(0.5) < np.log(0.8) < model.log_probability(clean)[0]


def test_many_choices_have_no_pairs(monkeypatch):
    space = bo.Space({f"x{i}": bool for i in range(8)})
    rng = np.random.default_rng(0)
    xs = space.sample(60, rng)
    succeeded = xs[:, 5] == 0
    with_pairs = learn(space, xs, succeeded).causes
    monkeypatch.setattr(success, "MOST_PAIRED", 15)
    model = learn(space, xs, succeeded)
    assert with_pairs.n > model.causes.n == 16
    chance = np.exp(model.log_probability(xs))
    assert chance[~succeeded].max() < 0.2 < 0.8 < chance[succeeded].min()


def test_points_are_scored_in_batches(monkeypatch):
    space = bo.Space({f"x{i}": LETTERS for i in range(5)})
    xs = space.sample(50, np.random.default_rng(0))
    model = learn(space, xs, xs[:, 0] != 1)
    expected = model.log_probability(xs)
    monkeypatch.setattr(success, "BATCH", 7)
    assert_allclose(model.log_probability(xs), expected, rtol=1e-5)
    assert model.log_probability(xs[:0]).shape == (0,)
