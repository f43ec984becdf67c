"""Bins of chances hold what they say, and a forecast that is right lies on the diagonal."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import bostruct as bo
from benchmarks.chance_reliability import EDGES, RULES, Foretold, bin_chances, draw, join


def test_a_right_forecast_lies_on_the_diagonal_and_a_wrong_one_does_not() -> None:
    rng = np.random.default_rng(0)
    chances = rng.random(20_000)
    right = Foretold(chances, (rng.random(20_000) < chances).astype(np.float64))
    wrong = Foretold(chances, (rng.random(20_000) < 1.0 - chances).astype(np.float64))
    assert max(abs(chance - share) for _, chance, share in bin_chances(right)) < 0.05
    assert max(abs(chance - share) for _, chance, share in bin_chances(wrong)) > 0.5
    assert sum(n for n, _, _ in bin_chances(join([right, wrong]))) == 40_000


def test_edges_belong_to_one_bin_each() -> None:
    found = Foretold(np.array(EDGES), np.ones(len(EDGES)))
    assert [n for n, _, _ in bin_chances(found)] == [1, 1, 1, 1, 1, 2]


def test_each_rule_fails_some_points_and_not_all(tmp_path: Path) -> None:
    for make in RULES.values():
        rule = make(0)
        space = bo.Space(rule.space)
        drawn = [space.present(x) for x in space.sample(300, np.random.default_rng(0))]
        share = np.mean([rule.succeeds(point) for point in drawn])
        assert 0.1 < share < 0.9
        assert np.std([rule.objective(point) for point in drawn]) > 0.0
    some = Foretold(np.array([0.2, 0.8]), np.array([0.0, 1.0]))
    draw({"random points": some, "suggested points": some}, tmp_path / "chance.svg")
    assert (tmp_path / "chance.svg").stat().st_size > 1_000
