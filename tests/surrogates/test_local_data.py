"""The points that a model of many trials learns from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.surrogates import map_gp
from bostruct.surrogates.map_gp import CENTERS, MAPGP, choose_local

BITS = bo.Space({f"b{i}": bool for i in range(20)})
MIXED = bo.Space(
    {"a": bool, "x": bo.Real(0, 1), "y": bo.Real(0, 1, when={"a": True}), "c": list("pqrs"), "n": bo.Integer(0, 9)}
)


def model_of(space: bo.Space) -> MAPGP:
    return methods.auto(space).surrogate.on_all_variables().surrogate.quiet  # type: ignore[attr-defined]


def make_data(space: bo.Space, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return space.sample(n, rng), rng.normal(size=n)


def test_the_best_half_and_the_nearest_to_the_best_five_are_kept():
    xs, values = make_data(BITS, 200)
    kept = choose_local(model_of(BITS).kernel, BITS.join, xs, values, 40)
    order = np.argsort(values)
    assert len(kept) == 40
    assert set(order[:20]) <= set(kept)
    distance = (xs[:, None] != xs[order[:CENTERS]]).sum(axis=2).min(axis=1)
    rest = np.setdiff1d(kept, order[:20])
    assert distance[rest].max() <= distance[np.setdiff1d(np.arange(200), kept)].min()


@pytest.mark.parametrize("space", [BITS, MIXED])
def test_points_compared_in_blocks_are_chosen_as_all_at_once(space, monkeypatch):
    xs, values = make_data(space, 90)
    expected = choose_local(model_of(space).kernel, space.join, xs, values, 31)
    monkeypatch.setattr(map_gp, "BLOCK_NUMBERS", 7 * space.n_columns)
    np.testing.assert_array_equal(choose_local(model_of(space).kernel, space.join, xs, values, 31), expected)


@pytest.mark.parametrize("space", [BITS, MIXED])
def test_a_model_of_more_data_is_that_of_the_kept_points(space):
    model = replace(model_of(space), most=31)
    xs, values = make_data(space, 90)
    kept = choose_local(model.kernel, space.join, xs, values, 31)
    assert len(kept) == 31
    rng = np.random.default_rng(0)
    found, state, info = model.condition(xs, values, None, rng)
    expected, same, told = model.condition(xs[kept], values[kept], None, rng)
    assert info.pop("learned_from") == 31
    assert (state, info) == (same, told)
    np.testing.assert_allclose(found.find_training_means(xs), found.predict(xs[kept]).mean, rtol=1e-9, atol=1e-9)
    others = xs[kept]
    np.testing.assert_array_equal(found.find_training_means(others), found.screen(others).mean)
    np.testing.assert_array_equal(found.predict(xs).variance, expected.predict(xs).variance)


def test_the_latest_points_are_kept_in_place_of_the_least_near():
    xs, values = make_data(BITS, 200)
    kernel = model_of(BITS).kernel
    plain, kept = (set(choose_local(kernel, BITS.join, xs, values, 40, latest)) for latest in (0, 15))
    assert len(kept) == 40
    assert set(np.argsort(values)[:20]) | set(range(185, 200)) <= kept
    assert kept - set(range(185, 200)) < plain


def test_few_data_are_all_kept():
    model, (xs, values) = model_of(BITS), make_data(BITS, 30)
    rng = np.random.default_rng(0)
    few, every = (replace(model, most=most).condition(xs, values, None, rng)[1] for most in (30, None))
    assert few == every


def test_a_model_learns_from_two_points_at_least():
    with pytest.raises(ValueError, match="most: expected"):
        replace(model_of(BITS), most=1)
