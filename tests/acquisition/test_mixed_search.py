"""Gradients find the maxima of smooth scores, neighbors those of the rest; without gradients it is a local search."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.annealed_search import AnnealedSearch
from bostruct.acquisition.mixed_search import MixedSearch
from bostruct.contracts import Maximizer, Score
from bostruct.testing.acquisition_laws import check_maximizer

SPACE = bo.Space({"x": bo.Real(-1, 1), "c": list("abcd"), "y": bo.Real(1e-3, 1e3, log=True), "n": bo.Integer(0, 5_000)})
TOP = np.array([0.3, 0.8, 0.6])  # shares of x, y and n


class Bowl(Score):
    """A score with one maximum in shares, and a worth of each choice; coarse: integers count as they are rounded."""

    def __init__(self, space: bo.Space = SPACE) -> None:
        self.space = space

    def __call__(self, xs):
        return self.value(xs, self.space.shares(xs))

    def upper_bounds(self, xs):
        return self(xs)

    def value(self, xs, shares):
        return -np.sum((shares - TOP) ** 2, axis=1) + 0.5 * (np.asarray(xs)[:, 1] == 2)

    def input_vjp(self, xs):
        rows = np.asarray(xs)
        return lambda shares: (self.value(rows, shares), -2.0 * (shares - TOP))


def test_it_finds_the_maximum_of_both_parts():
    starts = SPACE.sample(3, np.random.default_rng(1))
    found, info = MixedSearch(raw_samples=5, num_spray_points=2, num_restarts=2)(
        Bowl(), SPACE, starts, np.random.default_rng(0)
    )
    assert found[0][1] == 2
    np.testing.assert_allclose(SPACE.shares(found[:1])[0], TOP, atol=1e-6)
    assert info["best_score"] == pytest.approx(0.5, abs=1e-9)
    assert info["gradients"] > 0
    for x in found:
        SPACE.check(x)


CONDITIONAL = bo.Space(
    {
        "c": list("ab"),
        "x": bo.Real(0, 1, when={"c": "a"}),
        "y": bo.Real(0, 1, when={"c": "b"}),
        "z": bo.Real(0, 1, when={"y": lambda y: y > 0.5}),
    }
)


class Branches(Score):
    """A score of each number that a point has; z is worth having, where it is low."""

    def __call__(self, xs):
        return self.value(CONDITIONAL.shares(xs))

    def upper_bounds(self, xs):
        return self(xs)

    def value(self, shares):
        tops = np.where(np.isnan(shares), 0.0, -((shares - [0.25, 0.6, 0.1]) ** 2))
        return tops.sum(axis=1) + ~np.isnan(shares[:, 2])

    def input_vjp(self, xs):
        lacks = np.isnan(CONDITIONAL.shares(xs))

        def at(shares):
            assert np.array_equal(np.isnan(shares), lacks), "coordinates that a point lacks stay out of the climb"
            return self.value(shares), np.where(lacks, np.nan, -2.0 * (shares - [0.25, 0.6, 0.1]))

        return at


def test_each_point_climbs_in_the_numbers_that_it_has():
    starts = CONDITIONAL.parse({"c": "a", "x": 0.9})[None]
    found, info = MixedSearch(raw_samples=30, num_spray_points=2, num_restarts=8)(
        Branches(), CONDITIONAL, starts, np.random.default_rng(0)
    )
    np.testing.assert_allclose(CONDITIONAL.shares(found[:1])[0], [np.nan, 0.6, 0.1], atol=1e-6)
    assert info["best_score"] == pytest.approx(1.0, abs=1e-9)
    assert info["gradients"] > 0
    for x in found:
        CONDITIONAL.check(x)


def test_points_without_any_number_climb_by_neighbors():
    space = bo.Space({"c": list("abc"), "x": bo.Real(0, 1, when={"c": "a"})})

    class OfChoice(Score):
        def __call__(self, xs):
            return np.asarray(xs)[:, 0].astype(float)

        upper_bounds = __call__

        def input_vjp(self, xs):
            return lambda shares: (self(xs), np.zeros(shares.shape))

    starts = space.parse({"c": "b"})[None]
    found, info = MixedSearch(raw_samples=1, num_restarts=1)(OfChoice(), space, starts, np.random.default_rng(7))
    assert space.present(found[0]) == {"c": "c"}
    assert info["best_score"] == 2.0


def test_ends_that_constraints_forbid_are_left_for_the_way_to_them():
    space = bo.Space(SPACE.variables, [lambda p: p["x"] > -0.2])  # the maximum is at x = -0.4
    found, info = MixedSearch(raw_samples=20)(
        Bowl(space), space, space.sample(2, np.random.default_rng(1)), np.random.default_rng(0)
    )
    for x in found:
        space.check(x)
    assert info["best_score"] > 0.4


class Peak(Score):
    """A score with its maximum at given shares of a mixture."""

    def __init__(self, space, top):
        self.space, self.top = space, np.array(top)

    def __call__(self, xs):
        return -np.square(np.nan_to_num(self.space.shares(xs)) - self.top).sum(axis=1)

    def upper_bounds(self, xs):
        return self(xs)

    def input_vjp(self, xs):
        del xs
        return lambda shares: (
            -np.square(np.nan_to_num(shares) - self.top).sum(axis=1),
            -2.0 * (np.nan_to_num(shares) - self.top),
        )


@pytest.mark.parametrize(
    ("mixture", "top", "expected"),
    [
        (bo.Mixture(list("abcd")), [0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4]),
        (bo.Mixture(list("abcd")), [0.9, 0.9, -0.5, -0.5], [0.5, 0.5, 0.0, 0.0]),
        (bo.Mixture(list("abcd"), bounds={"a": (0.2, 0.4)}), [0.9, 0.3, 0.1, 0.1], [0.4, 1 / 3, 2 / 15, 2 / 15]),
        (bo.Mixture(list("abcdef"), max_parts=2, min_share=0.1), [0, 0, 0.6, 0, 0.4, 0], [0, 0, 0.6, 0, 0.4, 0]),
    ],
)
def test_mixtures_climb_along_their_polytope(mixture, top, expected):
    space, rng = bo.Space({"m": mixture}), np.random.default_rng(0)
    found, info = MixedSearch(raw_samples=20, num_restarts=2)(Peak(space, top), space, space.sample(2, rng), rng)
    np.testing.assert_allclose(np.nan_to_num(space.shares(found[:1])[0]), expected, atol=1e-5)
    assert info["gradients"] > 0
    for x in found:
        space.check(x)


def test_the_best_points_of_another_search_climb():
    """It gives three points, the best of which is not the first start; the climbs begin there and nowhere else."""
    given = SPACE.sample(3, np.random.default_rng(3))
    asked = []

    class Three(Maximizer):
        def __call__(self, score, domain, starts, rng):
            del domain, rng
            asked.append(len(starts))
            order = np.argsort(-score(given))
            return given[order], {"walks": 7}

    starts = SPACE.sample(2, np.random.default_rng(1))
    mixed = MixedSearch(num_restarts=2, incumbents=0, begin=Three())
    found, info = mixed(Bowl(), SPACE, starts, np.random.default_rng(0))
    assert asked == [2]
    assert 1 <= len(found) <= 2
    assert info["best_score"] == pytest.approx(0.5, abs=1e-9)
    assert info["walks"] == 7
    assert "candidates" not in info


@pytest.mark.parametrize(
    "space",
    [bo.Space({"a": bool, "c": list("abc"), "k": range(5)}), SPACE, bo.Space({"x": bo.Real(0, 1)}), CONDITIONAL],
)
def test_laws(space):
    check_maximizer(
        MixedSearch(raw_samples=20, num_spray_points=5, num_restarts=3, most=200), space, np.random.default_rng(0)
    )
    walks = AnnealedSearch(raw_samples=20, num_spray_points=5, walks=4, steps=5, neighbors=6)
    check_maximizer(MixedSearch(num_restarts=2, most=100, neighbors=10, begin=walks), space, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("raw_samples", 0),
        ("num_spray_points", -1),
        ("num_restarts", 0),
        ("incumbents", -1),
        ("turns", 0),
        ("most", 0),
        ("neighbors", 0),
    ],
)
def test_wrong_settings(field, value):
    with pytest.raises(ValueError, match=f"{field}: expected at least"):
        MixedSearch(**{field: value})
