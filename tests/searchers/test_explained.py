"""A searcher with a note suggests, appraises and describes itself as it does without."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.checks import has_capability
from bostruct.contracts import HasAppraisal, HasPrediction
from bostruct.searchers.explained import explain
from bostruct.study.history import History

SPACE = bo.Space({f"b{i}": bool for i in range(4)})


def history() -> History:
    xs = SPACE.sample(5, np.random.default_rng(0))
    return History.of(SPACE, list(xs), [3.0, 1.0, 2.0, 5.0, 4.0], [], [])


@pytest.mark.parametrize("method", [methods.random, methods.evolution])
def test_only_info_differs(method):
    plain = method(SPACE)
    noted = explain(plain, "why not")
    assert noted.domain is plain.domain
    assert noted.settings() == plain.settings()
    assert noted.initial_state() == plain.initial_state()
    told = history()
    found = [one.suggest(told, one.initial_state(), np.random.default_rng(1)) for one in (plain, noted)]
    assert found[0].point.tolist() == found[1].point.tolist()
    assert found[0].state == found[1].state
    assert found[1].info == {**found[0].info, "auto": "why not"}


def test_a_model_is_passed_on_and_none_is_made_up():
    assert not has_capability(explain(methods.random(SPACE), "none"), HasAppraisal)
    plain = methods.smac(SPACE)
    assert has_capability(plain, HasAppraisal)
    noted, told = explain(plain, "a forest"), history()
    assert has_capability(noted, HasAppraisal)
    state = plain.initial_state()
    first, second = (one.appraise(told, state, np.random.default_rng(2)) for one in (plain, noted))
    np.testing.assert_array_equal(first.eligible, second.eligible)
    np.testing.assert_array_equal(first.prediction.mean, second.prediction.mean)
    predicted = [one.predict(told, state, SPACE.enumerate(), np.random.default_rng(2)) for one in (plain, noted)]
    np.testing.assert_array_equal(predicted[0].mean, predicted[1].mean)
    assert not has_capability(explain(methods.random(SPACE), "none"), HasPrediction)
