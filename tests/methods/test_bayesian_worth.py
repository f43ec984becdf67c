"""The Bayesian searchers are worth their cost: against random search, and against one that is blind to failures."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, wilcoxon

from bostruct.searchers.baselines import RandomSearch
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.study.history import History
from bostruct.study.threads import ThreadLimit
from bostruct.testing.searcher_laws import Schedule, play
from tests.laws.maxsat import bits
from tests.searchers.test_bayesian import quick_auto, quick_combo


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work: threads that wait for each other cost these small matrices most of the time."""
    with ThreadLimit(1)():
        yield


def landscape(seed: int, d: int = 20) -> Any:
    """Pairs and singles with random weights."""
    rng = np.random.default_rng([seed, 11])
    single, pair = rng.normal(size=d), np.triu(rng.normal(size=(d, d)), 1)

    def objective(point: dict[str, bool]) -> float:
        x = 2.0 * np.array(list(point.values())) - 1.0
        return float(single @ x + x @ pair @ x)

    return objective


def best_found(make: Any, objective: Any, schedule: Schedule, d: int = 20) -> float:
    values = []
    play(make, bits(d), lambda point: values.append(objective(point)) or values[-1], schedule)
    return min(values)


@pytest.mark.parametrize("make", [quick_auto, quick_combo])
def test_beats_random_search_beyond_chance(make):
    """Paired by seed, which gives both the same instance: a signed-rank test at the level of 1 %.

    It weighs how much each pair differs, so that rounding, which differs between processors, decides no verdict.
    """
    gains = []
    for seed in range(8):
        schedule = Schedule(25, seed)
        gains.append(best_found(RandomSearch, landscape(seed), schedule) - best_found(make, landscape(seed), schedule))
    assert wilcoxon(gains, alternative="greater").pvalue < 0.01


def test_learns_to_avoid_the_half_of_a_space_where_trials_fail():
    """Failures lie on the side that looks better; counted against the same search without feasibility."""

    def failures(make: Any, seed: int) -> int:
        space, search = bits(10), make(bits(10))
        state, told, values, failed = search.initial_state(), [], [], []
        for number in range(24):
            history = History.of(space, told, values, failed=failed)
            x, state, _ = search.suggest(history, state, np.random.default_rng([seed, number]))
            if x[0] == 1:
                failed.append(x)
            else:
                told.append(x)
                values.append(landscape(seed, 10)(space.present(x)))
        return len(failed)

    def blind(domain: Any) -> BayesianSearch:
        found = quick_auto(domain)
        return dataclasses.replace(found, score=found.score.score)

    counts = np.array([[failures(quick_auto, seed), failures(blind, seed)] for seed in range(6)])
    fewer = int(np.sum(counts[:, 0] < counts[:, 1]))
    differ = int(np.sum(counts[:, 0] != counts[:, 1]))
    assert binomtest(fewer, differ, alternative="greater").pvalue < 0.05
    assert counts[:, 0].mean() < 24 / 3  # far from half of the trials
