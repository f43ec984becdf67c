"""A searcher with a note suggests, predicts and describes itself as it does without."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts.search import describe_part
from bostruct.kernels.otmann.settings import REFERENCE
from bostruct.methods.goals import serve_goals
from bostruct.study.history import History
from bostruct.study.records import describe_method, is_same_class, is_same_method
from tests.architectures import SMALL_CNN

SPACE = bo.Space({f"b{i}": bool for i in range(4)})
HISTORY = History.of(SPACE, list(SPACE.sample(5, np.random.default_rng(0))), [3.0, 1.0, 2.0, 5.0, 4.0], [], [])


@pytest.mark.parametrize("method", [methods.random, methods.evolution, methods.combo, methods.smac])
def test_only_info_differs(method):
    plain = method(SPACE)
    noted = replace(plain, note="why not")
    assert noted.settings() == plain.settings()
    assert noted.initial_state() == plain.initial_state()
    found = [
        next(one.suggest_jointly(HISTORY, one.initial_state(), np.random.default_rng(1))) for one in (plain, noted)
    ]
    assert found[0].point.tolist() == found[1].point.tolist()
    assert found[0].state == found[1].state
    assert found[1].info == {**found[0].info, "auto": "why not"}


def test_a_searcher_without_a_model_that_serves_several_objectives_keeps_its_note():
    noted = serve_goals(replace(methods.combo(SPACE), note="because"), 2, 0)
    history = History.of(SPACE, [], [], [], [])
    assert noted.suggest(history, noted.initial_state(), np.random.default_rng(0)).info["auto"] == "because"


def test_files_that_name_its_former_classes_go_on():
    """Older files name the class that held the note, and have the note among the settings of some."""
    searcher = replace(methods.combo(SPACE), note="because")
    given = describe_method(searcher, searcher)
    for name in ("ExplainedRegression", "ExplainedModel", "Explained", "BayesianSearch"):
        stored = json.loads(json.dumps(given)) | {"searcher": name}
        assert is_same_class(stored, given)
        assert is_same_method(json.dumps(stored), json.dumps(given))
        stored["settings"]["note"] = "once"
        assert is_same_method(json.dumps(stored), json.dumps(given))
        stored["settings"]["n_initial"] = 3
        assert not is_same_method(json.dumps(stored), json.dumps(given))
    assert not is_same_class({"searcher": "RandomSearch"}, given)


def test_files_that_have_the_rates_of_nasbot_go_on():
    """Older files have the rates that the kernel computes from the domain, even those of a searcher object."""
    searcher = methods.nasbot(SMALL_CNN)
    given = json.dumps(describe_method(searcher, searcher))
    settings = json.dumps(describe_part(REFERENCE))
    stored = re.sub(
        r'"part": "ScaledOtmann".*?"settings"',
        '"part": "OtmannKernel", "distance": {}, "normalized": {}, "settings"',
        given,
    )
    assert is_same_method(stored, given)
    assert not is_same_method(given, stored)
    for old, new in (
        (settings, "{}"),
        ('"part": "OtmannKernel"', '"part": "OtmannSumKernel"'),
        ('"most": 100', '"most": 90'),
    ):
        assert old in stored
        assert not is_same_method(stored.replace(old, new), given)
