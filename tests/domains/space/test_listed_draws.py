"""Draws from lists of valid points: each variable on its own scale, and even spaces as they always were."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.numeric import Integer
from bostruct.domains.space.sampling import draw_listed

RARE = {"k": list(range(100))}


def is_seven(point: dict) -> bool:
    return point["k"] == 7


def is_small(point: dict) -> bool:
    return point["n"] == 1


@pytest.mark.parametrize("variable", [Integer(1, 9, log=True), Integer(3, 1000, log=True), Integer(0, 10**6)])
def test_the_chances_of_integers_are_those_of_their_draws(variable: Integer) -> None:
    chances = variable.chances(np.arange(variable.size)[:, None])
    assert math.isclose(chances.sum(), 1.0)
    drawn = np.bincount(variable.sample(20_000, np.random.default_rng(0))[:, 0], minlength=variable.size) / 20_000
    few = [own.sum() for own in np.array_split(drawn, 4)]
    np.testing.assert_allclose(few, [own.sum() for own in np.array_split(chances, 4)], atol=0.015)


def test_a_logarithmic_integer_under_tight_constraints_is_uniform_on_its_scale() -> None:
    space = bo.Space(RARE | {"n": bo.Integer(1, 200, log=True)}, [is_seven])
    drawn = space.sample(3_000, np.random.default_rng(0))[:, 1] + 1
    share = (np.log(np.quantile(drawn, [0.25, 0.5, 0.75])) - math.log(0.5)) / (math.log(200.5) - math.log(0.5))
    np.testing.assert_allclose(share, [0.25, 0.5, 0.75], atol=0.04)


def test_a_branch_keeps_its_chance_however_many_points_it_has() -> None:
    variables = RARE | {"on": bool, "n": bo.Integer(1, 200, log=True, when={"on": True})}
    drawn = bo.Space(variables, [is_seven]).sample(3_000, np.random.default_rng(0))
    assert abs(np.mean(drawn[:, 1] == 1) - 0.5) < 0.04


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("beside", [{}, {"inner": {"b": bool}}], ids=["plain", "mixed"])
def test_a_branch_keeps_its_chance_whatever_scale_another_variable_has(log: bool, beside: dict) -> None:
    k = bo.Categorical(list(range(60)), when={"o": "a"})
    space: Any = bo.Space({"o": ["a", "b"], "k": k, "n": bo.Integer(1, 50, log=log), **beside}, [is_small])
    rng = np.random.default_rng(0)
    drawn = [space.present(space.sample_unseen(frozenset(), rng))["o"] for _ in range(400)]
    assert abs(drawn.count("b") / len(drawn) - 0.5) < 0.1
    assert beside or abs(np.mean(space.sample(3_000, rng)[:, 0]) - 0.5) < 0.04


def test_unseen_points_of_a_list_are_drawn_so_too() -> None:
    space = bo.Space({"n": bo.Integer(1, 60, log=True), "inner": {"b": bool}}, [lambda point: point["n"] != 5])
    rng = np.random.default_rng(0)
    drawn = np.array([space.present(space.sample_unseen(frozenset(), rng))["n"] for _ in range(1_500)])
    chances = Integer(1, 60, log=True).chances(np.arange(60)[:, None])
    expected = chances[:4].sum() / (1.0 - chances[4])
    assert abs(np.mean(drawn < 5) - expected) < 0.05
    plain = bo.Space({"n": bo.Integer(1, 60, log=True)}, [lambda point: point["n"] > 3])
    rows = plain.enumerate()
    found = rows[draw_listed([plain.variables], [rows], 2_000, rng), 0]
    assert abs(np.mean(found < 9) - chances[3:9].sum() / chances[3:].sum()) < 0.05


def test_even_spaces_draw_from_lists_what_they_drew_before() -> None:
    space = bo.Space(RARE | {"b": bool, "c": bo.Integer(0, 9)}, [is_seven])
    rows = space.enumerate()
    expected = np.random.default_rng(3).integers(len(rows), size=50)
    assert draw_listed([space.variables], [rows], 50, np.random.default_rng(3)).tolist() == expected.tolist()
    found = space.sample_unseen(frozenset(space.keys(rows[:-1])), np.random.default_rng(3))
    assert found.tolist() == rows[-1].tolist()
