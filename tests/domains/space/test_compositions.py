"""Sums of whole numbers: counts, uniform draws, and the nearest one, against lists of all."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2

from bostruct.domains.space import compositions
from bostruct.domains.space.compositions import Compositions


def build(total, least, most, *, optional=False, max_parts=None, slack=False):
    w = len(least)
    counted = [True] * (w - slack) + [False] * slack
    return Compositions(
        total, tuple(least), tuple(most), (optional,) * (w - slack) + (False,) * slack, tuple(counted), max_parts
    )


CASES = {
    "plain": build(6, [0] * 4, [6] * 4),
    "bounds": build(7, [0, 1, 2], [3, 5, 4]),
    "few": build(5, [1] * 4, [5] * 4, optional=True, max_parts=2),
    "few with a least": build(9, [2] * 4, [6] * 4, optional=True, max_parts=3),
    "slack": build(4, [0] * 4, [4] * 4, slack=True),
    "few and slack": build(5, [2, 2, 2, 0], [4, 4, 4, 5], optional=True, max_parts=2, slack=True),
}


def list_all(found: Compositions) -> list[tuple[int, ...]]:
    rows = itertools.product(range(found.total + 1), repeat=found.width)
    kept = []
    for row in rows:
        parts = zip(row, found.least, found.most, found.optional, strict=True)
        inside = all((one == 0 and may) or low <= one <= high for one, low, high, may in parts)
        n = sum(one > 0 for one, counts in zip(row, found.counted, strict=True) if counts)
        if sum(row) == found.total and inside and (found.max_parts is None or n <= found.max_parts):
            kept.append(row)
    return kept


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def test_counts_are_those_of_a_list(case):
    every = list_all(case)
    assert case.size == len(every)
    assert case.holds(np.array(every)).all()
    around = np.array(list(itertools.product(range(-1, case.total + 2), repeat=case.width)))
    assert case.holds(around).sum() == len(every)


def test_draws_by_the_table_are_uniform(case):
    every = {row: i for i, row in enumerate(list_all(case))}
    n = 100 * len(every)
    drawn = case.sample(n, np.random.default_rng(0))
    counts = np.bincount([every[tuple(row)] for row in drawn.tolist()], minlength=len(every))
    assert ((counts - 100.0) ** 2 / 100.0).sum() < chi2.ppf(0.9999, len(every) - 1)


@pytest.mark.parametrize("name", ["plain", "bounds", "slack"])
def test_draws_without_a_table_are_uniform(name, monkeypatch):
    monkeypatch.setattr(compositions, "MAX_CELLS", 0)
    case = build(
        *{"plain": (6, [0] * 4, [6] * 4), "bounds": (7, [0, 1, 2], [3, 5, 4]), "slack": (4, [0] * 4, [4] * 4)}[name]
    )
    every = {row: i for i, row in enumerate(list_all(case))}
    rows = np.repeat(case.find_composition()[None], 100 * len(every), axis=0)
    drawn = case._mix(rows, np.ones(rows.shape, dtype=bool), np.random.default_rng(0))
    counts = np.bincount([every[tuple(row)] for row in drawn.tolist()], minlength=len(every))
    assert ((counts - 100.0) ** 2 / 100.0).sum() < chi2.ppf(0.9999, len(every) - 1)


def test_moves_keep_the_uniform_law(case):
    """The matrix of a move, over shares on a fine grid, is symmetric."""
    every = {row: i for i, row in enumerate(list_all(case))}
    n_pairs, shares = case.width * (case.width - 1) // 2, 2520
    chances = np.zeros((len(every), len(every)))
    for row, i in every.items():
        for k in range(n_pairs * shares):
            if k % 40 == 0:
                chances[i, every[tuple(case.move_pair(row, (k + 20.0) / (n_pairs * shares)))]] += 1
    assert np.abs(chances - chances.T).max() <= 2


def test_moments_on_a_simplex_a_cut_box_and_faces():
    rng, n, total = np.random.default_rng(1), 20_000, 10**9
    simplex = build(total, [0] * 4, [total] * 4).sample(n, rng) / total
    assert simplex.mean(axis=0) == pytest.approx(0.25, abs=0.006)
    assert simplex.var(axis=0) == pytest.approx(3 / 80, abs=0.0015)  # of a Dirichlet law of ones
    cut = build(total, [0] * 3, [total // 2] * 3).sample(n, rng) / total
    assert cut.max() <= 0.5
    assert cut.mean(axis=0) == pytest.approx(1 / 3, abs=0.005)
    assert cut.var(axis=0) == pytest.approx(1 / 72, abs=0.0007)  # a triangle of half the size, upside down
    faces = build(total, [1] * 6, [total] * 6, optional=True, max_parts=3).sample(n, rng)
    sizes = np.bincount((faces > 0).sum(axis=1), minlength=4) / n
    assert sizes[1:] == pytest.approx(1 / 3, abs=0.015)
    three = faces[(faces > 0).sum(axis=1) == 3] / total
    assert (three > 0).mean(axis=0) == pytest.approx(0.5, abs=0.03)
    assert three[three > 0].var() == pytest.approx(1 / 18, abs=0.003)


def test_the_nearest_composition_is_the_nearest_of_all(case):
    rng, every = np.random.default_rng(0), np.array(list_all(case))
    target = rng.uniform(-1.0, case.total, (50, case.width))
    present = every[rng.integers(len(every), size=50)] > 0
    present |= ~case.is_optional
    found = case.nearest(target, present)
    assert case.holds(found).all()
    for row, near, has in zip(target, found, present, strict=True):
        alike = every[((every > 0) | ~case.is_optional == has).all(axis=1)]
        best = math.dist(row, alike[np.square(alike - row).sum(axis=1).argmin()])
        assert math.dist(row, near) <= best + math.sqrt(case.width)  # up to rounding


def test_sums_of_a_large_total_are_drawn_exactly():
    large = build(10**9, [0] * 30, [10**8] * 30)
    assert large.holds(large.sample(200, np.random.default_rng(0))).all()
    assert large.size > 10**100
