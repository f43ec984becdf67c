"""A searcher with a note suggests, predicts and describes itself as it does without."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import BostructError
from bostruct.methods.auto import Explained
from bostruct.study.history import History
from bostruct.study.records import class_of

SPACE = bo.Space({f"b{i}": bool for i in range(4)})
HISTORY = History.of(SPACE, list(SPACE.sample(5, np.random.default_rng(0))), [3.0, 1.0, 2.0, 5.0, 4.0], [], [])


@pytest.mark.parametrize("method", [methods.random, methods.evolution])
def test_only_info_differs(method):
    plain = method(SPACE)
    noted = Explained(plain, "why not")
    assert noted.domain is plain.domain
    assert noted.settings() == plain.settings()
    assert noted.initial_state() == plain.initial_state()
    found = [one.suggest(HISTORY, one.initial_state(), np.random.default_rng(1)) for one in (plain, noted)]
    assert found[0].point.tolist() == found[1].point.tolist()
    assert found[0].state == found[1].state
    assert found[1].info == {**found[0].info, "auto": "why not"}


@pytest.mark.parametrize("method", [methods.random, methods.smac, methods.combo])
def test_a_model_is_passed_on_and_none_is_made_up(method):
    plain = method(SPACE)
    noted, state = Explained(plain, "because"), plain.initial_state()
    for name in ("n_initial", "repeats", "has_model", "bounds_regret", "cross_validates"):
        assert getattr(noted, name) == getattr(plain, name)

    def same(ask):
        first, second = (ask(one, np.random.default_rng(2)) for one in (plain, noted))
        assert str(first) == str(second)

    same(lambda one, rng: one.appraise(HISTORY, state, rng))
    same(lambda one, rng: [found.point for found in one.suggest_jointly(HISTORY, state, rng)])
    if plain.has_model:
        same(lambda one, rng: one.predict(HISTORY, state, SPACE.enumerate(), rng))
    if plain.bounds_regret:
        same(lambda one, rng: one.bound_regret_probability(HISTORY, state, 0.5, rng))
        same(lambda one, rng: one.cross_validate(HISTORY, state, 0, rng))
    else:
        with pytest.raises(BostructError):
            noted.cross_validate(HISTORY, state, 0, np.random.default_rng(2))


def test_files_that_name_its_former_classes_name_it():
    names = ("ExplainedRegression", "ExplainedModel", "Explained", "RandomSearch")
    assert [class_of({"searcher": name}) for name in names] == ["Explained"] * 3 + ["RandomSearch"]
