"""SMBO: the candidate with the least mean, random points in their share, a random point where nothing is learned."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import NumericalError, Suggestion, Surrogate
from bostruct.searchers.proposals import PoolFirst
from bostruct.searchers.smbo import SMBO
from bostruct.study.history import History
from bostruct.surrogates.hashed import HashedRidge
from tests.fakes import TablePosterior

SPACE = bo.Space({"a": range(5), "b": range(4)})
EVERY = SPACE.enumerate()


@dataclass(frozen=True)
class Table(Surrogate):
    """A surrogate that knows a mean for each point, or fails; it counts in its state what it was asked."""

    fails: bool = False

    def initial_state(self) -> int:
        return 0

    def condition(self, xs: Any, values: Any, state: int, rng: Any) -> Any:
        del rng
        assert len(xs) == len(values)
        if self.fails:
            raise NumericalError("no factor")
        mean = np.arange(20.0)[::-1] - 7.0  # the last point is the best
        return TablePosterior(SPACE.n_choices, mean, np.ones(20), np.zeros(20)), state + 1, {"fit": "table"}


def suggest(told: Any, seed: int = 0, **settings: Any) -> Suggestion:
    search = SMBO(SPACE, **{"surrogate": Table(), "exploration": 0.0, **settings})
    history = History.of(SPACE, told, np.zeros(len(told)))
    return search.suggest(history, search.initial_state(), np.random.default_rng(seed))


def test_the_unseen_candidate_with_the_least_mean_is_suggested():
    found = suggest(EVERY[:2])
    assert found.point.tolist() == EVERY[19].tolist()
    assert found.info == {"origin": "model", "predicted": -7.0, "fit": "table"}
    assert found.state == {"surrogate": 1}
    assert suggest(EVERY[17:]).point.tolist() == EVERY[16].tolist()


def test_a_single_candidate_is_a_random_point_whatever_the_model_says():
    found = [suggest(EVERY[:1], seed, candidates=1) for seed in range(300)]
    positions = [EVERY.tolist().index(one.point.tolist()) for one in found if one.info["origin"] == "model"]
    counts = np.bincount(positions, minlength=20)
    assert counts[0] == 0
    assert counts[1:].min() >= 4


@pytest.mark.parametrize("exploration", [0.0, 0.3, 1.0])
def test_random_points_are_suggested_in_their_share(exploration):
    origins = [suggest(EVERY[:3], seed, exploration=exploration).info["origin"] for seed in range(300)]
    assert set(origins) <= {"model", "random"}
    assert origins.count("random") / 300 == pytest.approx(exploration, abs=0.09)


def test_the_design_comes_first():
    found = suggest(EVERY[:2], n_initial=3, design=PoolFirst(EVERY[5:7]))
    assert (found.point.tolist(), found.info) == (EVERY[5].tolist(), {"origin": "initial"})


def test_where_nothing_is_learned_a_random_point_is_suggested_and_why():
    assert suggest(EVERY[:2], surrogate=Table(fails=True)).info == {
        "origin": "fallback",
        "why": "no factor",
        "model": "failed",
    }
    search = SMBO(SPACE, Table(), exploration=0.0)
    history = History.of(SPACE, SPACE.join(), [], failed=EVERY[:2])
    found = search.suggest(history, search.initial_state(), np.random.default_rng(0))
    assert found.info == {"origin": "fallback", "why": "no trial has completed"}


def test_candidates_that_were_all_seen_give_way_to_an_unseen_point():
    for seed in range(10):
        found = suggest(EVERY[1:], seed, candidates=1)
        assert found.point.tolist() == EVERY[0].tolist()
        if found.info["origin"] != "model":
            assert found.info == {"origin": "fallback", "why": "1 draws led only to seen points"}
            break
    else:
        pytest.fail("ten single draws met the one unseen point of twenty")


@pytest.mark.parametrize("setting", [{"candidates": 0}, {"exploration": 1.5}, {"n_initial": 0}])
def test_wrong_settings_are_refused_by_name(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        SMBO(SPACE, Table(), **setting)


def test_settings_are_json_and_name_every_part():
    settings = SMBO(SPACE, HashedRidge(SPACE.tokens)).settings()
    assert list(json.loads(json.dumps(settings))) == ["surrogate", "candidates", "exploration", "n_initial", "design"]
    assert (settings["candidates"], settings["exploration"]) == (512, 0.1)
