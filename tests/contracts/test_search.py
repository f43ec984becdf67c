"""What a searcher that only suggests can do, and what a history holds."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import BostructError, TrainingPrediction
from bostruct.contracts.search import HistoryView, Searcher, Suggestion
from bostruct.study.history import History
from bostruct.testing import check_searcher

SPACE = bo.Space({"a": bool, "b": range(9)})
HISTORY = History.of(SPACE, SPACE.sample(4, np.random.default_rng(0)), [3.0, 1.0, 2.0, 5.0])


@dataclass(frozen=True)
class Draws(Searcher):
    """A searcher that only suggests."""

    domain: bo.Space

    def suggest(self, history: HistoryView, state: Any, rng: np.random.Generator) -> Suggestion:
        return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "random"})


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def cost(point: dict[str, Any]) -> float:
    return float(point["b"] + point["a"])


def test_a_searcher_that_only_suggests_is_whole(rng):
    check_searcher(Draws, SPACE, cost, rng, n_trials=8)
    study = bo.Study(SPACE, method=Draws(SPACE), seed=0)
    result = study.optimize(cost, 12, workers=2, progress=False)
    assert (study.n_initial, result.recommended.why) == (0, "by its observed value: the method gives no posterior mean")


def test_a_searcher_takes_twelve_lines_of_the_guide_which_the_tests_of_docs_run():
    guide = (Path(__file__).parents[2] / "docs/extending-method.md").read_text(encoding="utf-8")
    lines = re.search(r"@dataclass\(frozen=True\)\nclass \w+\(Searcher\):\n(?:(?: .*)?\n)+", guide)
    assert lines is not None
    assert len(lines[0].strip().splitlines()) <= 12


def test_defaults_say_what_a_searcher_without_a_model_knows(rng):
    searcher = Draws(SPACE)
    assert (searcher.settings(), searcher.initial_state()) == ({}, None)
    assert not any((searcher.repeats, searcher.has_model, searcher.bounds_regret, searcher.cross_validates))
    assert searcher.appraise(HISTORY, None, rng).eligible.tolist() == [True] * 4
    assert searcher.appraise(HISTORY, None, rng)[1:] == (None, "")
    assert searcher.bound_regret_probability(HISTORY, None, 0.5, rng) == 1.0
    (one,) = searcher.suggest_jointly(HISTORY, None, np.random.default_rng(3))
    assert str(one) == str(searcher.suggest(HISTORY, None, np.random.default_rng(3)))
    for ask in (lambda: searcher.predict(HISTORY, None, HISTORY.completed, rng), lambda: left_out(searcher, rng)):
        with pytest.raises(BostructError, match="Draws has no model"):
            ask()


def left_out(searcher: Searcher, rng: np.random.Generator) -> object:
    return searcher.cross_validate(HISTORY, None, 0, rng)


def test_settings_are_the_fields_and_a_searcher_needs_no_dataclass():
    @dataclass(frozen=True)
    class Tuned(Draws):
        rate: float = 1 / 3
        parts: tuple[int, ...] = (1, 2)

    class Plain(Draws):
        def __init__(self, domain: bo.Space, rate: float) -> None:
            object.__setattr__(self, "domain", domain)
            object.__setattr__(self, "rate", rate)

    class Bare(Searcher):
        suggest = Draws.suggest

        def __init__(self, domain: bo.Space, rate: float) -> None:
            self.domain, self.rate, self._memo = domain, rate, {}

    assert Tuned(SPACE).settings() == {"rate": 0.333333333333, "parts": "tuple"}
    assert Plain(SPACE, 0.5).settings() == {}
    assert Bare(SPACE, 0.5).settings() == {"rate": 0.5}


def test_what_is_no_subclass_is_refused_by_the_name_of_the_base(monkeypatch):
    class Thing:
        """A searcher but for its base."""

        domain = SPACE
        suggest, settings, initial_state = Draws.suggest, Searcher.settings, Searcher.initial_state

        def __repr__(self) -> str:
            return "Thing()"

    def make(_: object) -> Any:
        return Thing()

    named = r"a bostruct.contracts.Searcher \(subclass it\)"
    with pytest.raises(TypeError, match=rf"expected a name or {named}, got .*Thing"):
        bo.Study(SPACE, method=make(None))
    monkeypatch.setitem(methods.METHODS, "thing", make)
    with pytest.raises(TypeError, match=rf"the result of 'thing': expected {named}"):
        bo.Study(SPACE, method="thing")
    with pytest.raises(TypeError, match=rf"its result: expected {named}"):
        bo.compare(bo.Problem(cost, SPACE), {"thing": make}, n_trials=2, seeds=1, progress=False)
    with pytest.raises(TypeError, match=r"abstract method '?suggest"):
        Searcher()  # type: ignore[abstract]


def test_a_study_asks_for_joint_suggestions_and_for_what_may_be_recommended():
    class Pairs(Draws):
        def suggest_jointly(self, history: HistoryView, state: Any, rng: np.random.Generator) -> Iterator[Suggestion]:
            for i in range(2):
                yield self.suggest(history, state, rng)._replace(info={"origin": "model", "joint": i})

        def appraise(self, history: HistoryView, state: Any, rng: np.random.Generator) -> TrainingPrediction:
            del state, rng
            return TrainingPrediction(history.values > history.values.min(), None, "the best is suspicious")

    study = bo.Study(SPACE, method=Pairs(SPACE), seed=0)
    trials = list(study.ask_jointly(2))
    assert [trial.info["joint"] for trial in trials] == [0, 1]
    for trial in trials:
        study.tell(trial, cost(trial.point))
    assert study.result.recommended.trial.value == max(cost(trial.point) for trial in trials)
    assert study.result.recommended.why.endswith("no posterior mean, and the best is suspicious")


def test_a_history_of_a_study_is_a_view_and_keeps_what_it_is_a_part_of():
    assert [one.name for one in fields(History)] == [one.name for one in fields(HistoryView)]
    assert HISTORY.whole is None
    again = pickle.loads(pickle.dumps(HISTORY))
    assert again.values.tolist() == HISTORY.values.tolist()
    assert again.whole is None
