"""The next point of a study: the user's own first, a generator for each trial, and searchers held to their contract."""

from __future__ import annotations

import json
import logging
import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import BostructError, NumericalError, Searcher, Suggestion
from bostruct.goals.declared import Goals
from bostruct.searchers.baselines import RandomSearch
from bostruct.study.history import History
from bostruct.study.suggestion import FallbackWarning, FallbackWatch, next_points
from tests.permutations import Permutations

SPACE = bo.Space({"a": range(5), "b": range(5)})
POINT = np.array([1, 2])


class Kept:
    """What a study keeps: points to ask first, points seen, the searcher's state as JSON text."""

    def __init__(
        self, initial: list[Any] | None = None, seen: Any = (), length: int = 0, state: str = '{"n": 3}'
    ) -> None:
        self.initial, self.points, self.length, self.state = initial or [], SPACE.join(seen), length, state
        self.goals = Goals()

    def __len__(self) -> int:
        return self.length

    def iterate_back(self) -> Any:
        return iter(())

    def next_initial(self) -> Any:
        return self.initial.pop(0) if self.initial else None

    def history(self) -> History:
        return History.of(SPACE, self.points, np.zeros(len(self.points)))


class Says(Searcher):
    """A searcher that suggests what it is told to, and keeps what it was given."""

    domain = SPACE

    def __init__(self, point: Any = POINT, state: Any = None, info: Any = None) -> None:
        self.answer = Suggestion(point, state, {"origin": "model"} if info is None else info)
        self.states: list[Any] = []
        self.drawn: list[float] = []

    def suggest(self, history: Any, state: Any, rng: np.random.Generator) -> Suggestion:
        del history
        self.states.append(state)
        self.drawn.append(float(rng.random()))
        return self.answer


def ask(searcher: Any, kept: Any = None, seed: int = 0) -> Any:
    return next(next_points(searcher, Kept() if kept is None else kept, seed, type(searcher).__name__, nullcontext()))


def test_points_of_the_user_come_first_and_cost_the_searcher_nothing():
    searcher = Says()
    first, second = np.array([0, 0]), np.array([4, 4])
    kept = Kept([first, second])
    for expected in (first, second):
        found = ask(searcher, kept)
        assert found.point is expected
        assert (found.info["origin"], found.state) == ("given", kept.state)
    assert searcher.states == []
    assert ask(searcher, kept).point is POINT


def test_the_searcher_gets_its_state_and_the_next_one_is_json():
    searcher = Says(state={"n": np.int64(4), "w": np.array([0.5, 1.0])})
    found = ask(searcher)
    assert searcher.states == [{"n": 3}]
    assert json.loads(found.state) == {"n": 4, "w": [0.5, 1.0]}


def test_the_generator_depends_on_the_seed_and_on_the_number_of_the_trial_alone():
    searcher = Says()
    for seed, number in ((0, 0), (0, 0), (0, 1), (1, 0)):
        ask(searcher, Kept(length=number), seed)
    first, again, later, other = searcher.drawn
    assert first == again
    assert len({first, later, other}) == 3
    expected = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(1,))).random()
    assert later == expected


def test_what_goes_on_record_is_what_a_file_would_hold():
    found = ask(Says(info={"origin": "model", "score": np.float64(0.1), "tuple": (1, 2)}))
    seconds = found.info.pop("suggest_seconds")
    assert found.info == {"origin": "model", "score": 0.1, "tuple": [1, 2]}
    assert seconds >= 0.0


@pytest.mark.parametrize(
    ("searcher", "kept", "why"),
    [
        (Says(np.array([1, 7])), None, r"Says suggested an invalid point: .*b"),
        (Says(), Kept(seen=[POINT]), r"Says suggested a point that was seen before: \{'a': 1, 'b': 2\}"),
        (Says(state={"s": {1, 2}}), None, "Says: state and info must be plain JSON: .* got set"),
        (Says(info={"origin": "model", "f": print}), None, "Says: state and info must be plain JSON"),
    ],
)
def test_a_searcher_that_breaks_its_contract_is_named(searcher, kept, why):
    with pytest.raises(BostructError, match=why):
        ask(searcher, kept)


def test_a_bare_point_for_a_suggestion_is_refused_in_words():
    searcher = Says()
    for answer in ((1, 2), (POINT, None, {"origin": "model"})):
        searcher.answer = answer
        with pytest.raises(
            BostructError, match=r"Says: suggest returns a bostruct\.contracts\.Suggestion\(point, .*got"
        ):
            ask(searcher)


class Repeating(Permutations):
    def sample_unseen(self, seen, rng):
        del seen
        return self.sample(1, rng)[0]


class Constant(Permutations):
    def sample_unseen(self, seen, rng):
        del seen, rng
        return tuple(range(self.n))


@pytest.mark.parametrize("method", ["random", "auto"])
@pytest.mark.parametrize("kind", [Repeating, Constant])
def test_a_domain_that_repeats_points_is_blamed_with_the_method_by_its_name(method, kind):
    why = (
        rf"^{method} suggested a point that was seen before: .*, because {kind.__name__}\.sample_unseen returns points"
    )
    with pytest.raises(BostructError, match=why):
        bo.minimize(lambda order: order[0], kind(3), method=method, n_trials=6, seed=0, progress=False)


def test_a_fallback_is_a_warning_in_the_log_and_all_else_is_not(caplog):
    with caplog.at_level(logging.INFO, "bostruct"):
        ask(Says(info={"origin": "fallback", "why": "no factor"}), Kept(length=7))
        ask(Says())
    warned, told = caplog.records
    assert (warned.levelname, warned.message) == ("WARNING", "trial 7: Says fell back to a random point: no factor")
    assert (told.levelname, told.message[:22]) == ("INFO", "trial 0: Says, model, ")


def note(watch: FallbackWatch, *origins: str) -> None:
    for origin in origins:
        failed = {"why": "no factor", "model": "failed"} if origin == "failed" else {}
        watch.note("study 'mine'", {"origin": "fallback" if failed else origin, **failed})


def test_most_suggestions_falling_back_is_one_warning():
    watch = FallbackWatch()
    note(watch, *["initial"] * 20, *["model"] * 5, *["failed"] * 9)
    with pytest.warns(
        FallbackWarning, match=r"^study 'mine': 10 of 15 suggestions fell back .*: no factor; until"
    ) as told:
        note(watch, *["failed"] * 20)
    assert len(told) == 1


@pytest.mark.parametrize(
    "origins",
    [["model"] * 40 + ["failed"] * 15 + ["random"] * 20, ["fallback"] * 40],
    ids=["a few failed", "seen points alone"],
)
def test_fallbacks_that_are_few_or_meet_seen_points_are_not_warned_of(origins):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        note(FallbackWatch(), *origins)
    assert told == []


def test_a_study_whose_model_fails_warns_once():
    class Indefinite(RandomSearch):
        """A searcher whose model never works."""

        def suggest(self, history, state, rng):
            found = super().suggest(history, state, rng)
            return found._replace(info={"origin": "fallback", "why": "no factor", "model": "failed"})

        def appraise(self, *_):
            raise NumericalError("no factor")

    study = bo.Study(SPACE, method=Indefinite(SPACE), seed=0)
    with pytest.warns(FallbackWarning, match=r"^study 'study': 10 of 10 suggestions fell back") as told:
        study.optimize(lambda p: p["a"], 20, progress=False)
    assert len(told) == 1
