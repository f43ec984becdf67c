"""The benchmark of `recommended`: its optimum is 0, and both points that it compares are of the run."""

from __future__ import annotations

import numpy as np

from benchmarks.recommended import SPACE, run_once, true_loss


def test_the_optimum_is_0_and_values_reach_about_10():
    best = {"optimizer": "adam", "rate": 10**-2.5, "beta": 0.95, "layers": 2, "width1": 64, "width2": 64, "norm": True}
    assert abs(true_loss(best)) < 1e-12
    values = [true_loss(SPACE.present(x)) for x in SPACE.sample(2_000, np.random.default_rng(0))]
    assert 0.0 < min(values) < max(values) < 10.0


def test_a_short_run_without_noise_recommends_nothing_better_than_its_best():
    recommended, best = run_once(0, 12, 0.0)
    assert recommended >= best
