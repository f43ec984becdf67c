"""Thompson sampling of BOCS: the best unseen candidate of the minimizer, a neighbor of it, a random point, in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import NumericalError, Regression
from bostruct.searchers.bocs import BOCS
from bostruct.study.history import History

SPACE = bo.Space({"a": range(3), "b": range(3)})
EVERY = SPACE.enumerate()


@dataclass(frozen=True)
class Known(Regression):
    """A regression whose every draw is 2 a + b, or that cannot be solved; counts its draws in its state."""

    solvable: bool = True

    def __call__(
        self, xs: Any, values: Any, state: int | None, rng: np.random.Generator
    ) -> tuple[Any, int, dict[str, Any]]:
        del rng
        assert len(xs) == len(values) > 0
        if not self.solvable:
            raise NumericalError("no solution here")
        return (lambda rows: np.asarray(rows) @ np.array([2.0, 1.0])), (state or 0) + 1, {"noise": 0.5}


@dataclass(frozen=True)
class FirstCandidates:
    """A minimizer that gives the first points of the enumeration, in the order of the objective."""

    m: int

    def __call__(self, objective: Any, space: Any, rng: np.random.Generator) -> Any:
        del space, rng
        return EVERY[np.argsort(objective(EVERY), kind="stable")][: self.m]


def suggest(told: Any, m: int = 2, solvable: bool = True, **parts: Any):
    search = BOCS(SPACE, Known(solvable), FirstCandidates(m), n_initial=1)
    history = History.of(SPACE, told, np.zeros(len(told)), **parts)
    return search.suggest(history, search.initial_state(), np.random.default_rng(0))


def test_initial_points_are_random_and_cost_no_model():
    search = BOCS(SPACE, Known(), FirstCandidates(2), n_initial=4)
    history = History.of(SPACE, EVERY[:2], [0.0, 1.0], running=EVERY[2:3])
    found = search.suggest(history, 0, np.random.default_rng(0))
    assert (found.state, found.info) == (0, {"origin": "initial"})
    assert SPACE.keys([found.point])[0] not in history.seen


def test_the_best_unseen_candidate_is_suggested():
    first = suggest(EVERY[4:5])
    assert first.point.tolist() == [0, 0]
    assert (first.state, first.info) == (1, {"origin": "model", "noise": 0.5})
    assert suggest(EVERY[:1]).point.tolist() == [0, 1]
    assert suggest(EVERY[4:5], running=EVERY[:1]).point.tolist() == [0, 1]


def test_where_all_candidates_were_seen_the_best_unseen_neighbor_of_the_first_is_suggested():
    found = suggest(EVERY[:1], m=1)  # of (0, 0), whose neighbors are (1, 0), at 2, and (0, 1), at 1
    assert (found.point.tolist(), found.info["origin"]) == ([0, 1], "model")


@pytest.mark.parametrize(
    ("told", "settings", "why"),
    [
        (EVERY[:1], {"solvable": False}, "no solution here"),
        (EVERY[:0], {"failed": EVERY[:1]}, "no trial has completed"),
        (EVERY[[0, 1, 2, 3, 6]], {}, "no unseen point near the minimum"),
        (EVERY[:3], {"m": 0}, "no unseen point near the minimum"),
    ],
)
def test_where_the_model_says_nothing_a_random_point_is_suggested_and_why(told, settings, why):
    found = suggest(told, **settings)
    assert (found.info["origin"], found.info["why"]) == ("fallback", why)
    SPACE.check(found.point)


def test_settings_name_the_parts_and_a_wrong_one_is_refused():
    settings = BOCS(SPACE, Known(), FirstCandidates(2)).settings()
    assert list(settings) == ["regression", "minimizer", "n_initial"]
    assert settings["n_initial"] == 20
    with pytest.raises(ValueError, match="n_initial: expected at least 1, got 0"):
        BOCS(SPACE, Known(), FirstCandidates(2), n_initial=0)
