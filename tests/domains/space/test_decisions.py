"""A space as a tree of decisions, and its points as coordinates and tokens."""

import math

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Choice, Infeasible, token
from bostruct.domains.space.choices import coordinate
from bostruct.domains.space.scale import GRID_STEPS

MIXED = bo.Space({"a": list("xyz"), "n": bo.Integer(0, 4), "r": bo.Real(0.0, 1.0)})
BITS = bo.Space({f"b{i}": bool for i in range(6)}, [lambda point: sum(point.values()) == 3])


def test_a_coordinate_is_a_position_or_a_share_of_a_range():
    assert coordinate("n", bo.Integer(0, 4), 2) == Choice("n", "n", 2, 5, True)
    assert coordinate("a", bo.Categorical("xyz"[i] for i in range(3)), 1) == Choice("a", "a", 1, 3, False)
    assert coordinate("r", bo.Real(0.0, 1.0), GRID_STEPS // 4) == Choice("r", "r", 0.25, math.inf, True)
    assert MIXED.coordinate_values(np.array([[1, 3, GRID_STEPS // 2]])).tolist() == [[1.0, 3.0, 0.5]]


def test_integers_on_a_grid_are_shares_of_their_range():
    long, log = bo.Integer(0, 4_000), bo.Integer(1, 10_000, log=True)
    assert coordinate("n", long, 1_000) == Choice("n", "n", 0.25, math.inf, True)
    assert coordinate("n", log, 99) == Choice("n", "n", pytest.approx(0.5), math.inf, True)
    space = bo.Space({"c": list("xyz"), "long": long, "log": log})
    np.testing.assert_allclose(space.coordinate_values(np.array([[2, 1_000, 99]])), [[2.0, 0.25, 0.5]])


def test_tokens_are_the_same_everywhere_and_tell_choices_apart():
    assert token("a = 1") == token("a = 1") != token("a = 2")
    assert 0 <= token("") < 2**63
    found = bo.Space({"a": bool, "b": list("xyz")}).tokens(np.array([[0, 2], [1, 0]]))
    assert [own.tolist() for own in found] == [[token("a = 0"), token("b = 2")], [token("a = 1"), token("b = 0")]]


def test_a_variable_that_is_drawn_anew_alone_changes_and_no_other_does():
    rng, x = np.random.default_rng(0), np.array([1, 3, 7])
    found = {tuple(MIXED.resample(x, ["a"], rng).tolist()) for _ in range(50)}
    assert (found, x.tolist()) == ({(0, 3, 7), (2, 3, 7)}, [1, 3, 7])


def test_a_variable_on_a_scale_is_drawn_anew_on_it():
    space, rng = bo.Space({"n": bo.Integer(1, 10**6, log=True), "c": bool}), np.random.default_rng(0)
    drawn = np.array([space.resample(np.array([4, 1]), ["n"], rng) for _ in range(400)])
    assert (drawn[:, 1] == 1).all()
    assert (drawn[:, 0] != 4).all()
    assert 0.4 < (drawn[:, 0] < 1_000).mean() < 0.6


def test_a_point_that_is_drawn_anew_is_valid_or_the_same():
    rng, x = np.random.default_rng(0), np.array([1, 1, 1, 0, 0, 0])
    assert BITS.resample(x, ["b0"], rng).tolist() == x.tolist()  # one bit alone breaks the sum
    for _ in range(20):
        y = BITS.resample(x, ["b0", "b3", "b4"], rng)
        assert (y.sum(), y[[1, 2, 5]].tolist()) == (3, [1, 1, 0])


def test_a_roll_out_keeps_what_was_decided(rng):
    for _ in range(10):
        x = BITS.roll_out((0, 1, 0), rng)
        assert (x[:3].tolist(), x.sum()) == ([0, 1, 0], 3)
    with pytest.raises(Infeasible, match=r"with the choices \(1, 1, 1, 1\)"):
        BITS.roll_out((1, 1, 1, 1), rng)
