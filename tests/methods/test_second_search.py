"""Samples of a regression while `auto` stands still: where they are used, when, and what they minimize."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

import bostruct as bo
from bostruct.contracts import Domain, Searcher, Suggestion
from bostruct.methods import auto
from bostruct.methods.exploration import SecondSearch, sample_regression
from bostruct.study.history import History

BITS = bo.Space({f"b{i}": bool for i in range(20)})
RULE: Any = sample_regression(BITS)


@dataclass(frozen=True)
class Named(Searcher):
    """A searcher that always suggests the same point."""

    domain: Domain
    origin: str = "model"

    def suggest(self, history, state, rng):
        assert state is None
        return Suggestion(BITS.parse(dict.fromkeys(BITS.variables, True)), state, {"origin": self.origin})


def ask_often(rule, values, n, failed=0):
    """Return which of n suggestions in a row are another searcher's, and the last state."""
    xs, state, found = BITS.sample(len(values) + failed, np.random.default_rng(0)), None, []
    history = History.of(BITS, xs[: len(values)], values, failed=xs[len(values) :])
    for _ in range(n):
        step = rule(BITS, history, state, np.random.default_rng(0))
        state = json.loads(json.dumps(step.state))
        found.append(step.point is not None)
    return np.flatnonzero(found).tolist(), state


def test_spaces_of_bits_have_it_and_no_other_space():
    assert auto(BITS).exploration == RULE
    assert RULE.searcher.regression.monomials.count == 20 + 190
    two = bo.Space({f"c{i}": ["x", "y"] for i in range(20)})
    assert sample_regression(two) is not None
    others = (["x", "y", "z"], bo.Real(0.0, 1.0), bo.Permutation(["x", "y"]), bo.Categorical([0, 1], when={"b0": True}))
    for other in others:
        assert sample_regression(bo.Space({**BITS.variables, "c": other})) is None
    assert sample_regression(bo.Space(BITS.variables, constraints=[lambda x: x["b0"] or x["b1"]])) is None
    assert sample_regression(bo.Space({f"b{i}": bool for i in range(19)})) is None
    assert sample_regression(bo.Space({f"b{i}": bool for i in range(1_001)})) is None


def test_every_third_suggestion_is_another_searchers_once_ten_brought_nothing_better():
    assert ask_often(SecondSearch(Named(BITS)), [3.0, 1.0], 20)[0] == [11, 14, 17]


def test_a_better_value_ends_it():
    rule = SecondSearch(Named(BITS))
    state = ask_often(rule, [3.0, 1.0], 11)[1]
    xs = BITS.sample(3, np.random.default_rng(0))
    assert rule(BITS, History.of(BITS, xs, [3.0, 1.0, 1.0]), state, np.random.default_rng(0)).point is not None
    step = rule(BITS, History.of(BITS, xs, [3.0, 1.0, 0.5]), state, np.random.default_rng(0))
    assert step == (None, {"told": 3, "asked": 1}, "", "random")


def test_failures_and_fallbacks_leave_the_model_alone():
    assert ask_often(SecondSearch(Named(BITS)), [3.0, 1.0], 20, failed=1)[0] == []
    assert ask_often(SecondSearch(Named(BITS, "fallback")), [3.0, 1.0], 20)[0] == []
    assert ask_often(RULE, [2.0] * 80, 20)[0] == []


def test_a_third_as_many_values_as_bits_and_pairs_are_needed():
    values = np.arange(70.0)
    assert ask_often(RULE, values, 13)[0] == [11]
    assert ask_often(RULE, values[:69], 13)[0] == []


def test_the_suggested_point_minimizes_what_a_quadratic_model_knows():
    xs, tables = BITS.sample(250, np.random.default_rng(1)), np.random.default_rng(2).standard_normal((10, 2, 2))

    def value(x):
        return sum(table[tuple(pair)] for table, pair in zip(tables, x.reshape(10, 2), strict=True))

    history = History.of(BITS, xs, [value(x) for x in xs])
    step = RULE(BITS, history, {"told": 250, "asked": 11}, np.random.default_rng(0))
    assert step.origin == "model"
    assert "regression" in step.why
    lowest = tables.min(axis=(1, 2)).sum()
    assert value(step.point) - lowest < 0.2 * (np.min(history.values) - lowest)
    assert value(step.point) < np.min(history.values)


def test_of_more_than_sixty_bits_it_samples_single_effects():
    space = bo.Space({f"b{i}": bool for i in range(61)})
    rule: Any = sample_regression(space)
    assert rule.searcher.regression.monomials.count == 61
    rng = np.random.default_rng(4)
    xs, effects = space.sample(300, rng), rng.standard_normal(61)
    history = History.of(space, xs, xs @ effects + 0.1 * rng.standard_normal(300))
    step = rule(space, history, {"told": 300, "asked": 11}, np.random.default_rng(0))
    assert step.point @ effects < 0.98 * np.minimum(effects, 0.0).sum()


def test_a_run_that_stands_still_records_it():
    study, values = bo.Study(BITS, seed=0), np.random.default_rng(3).standard_normal(90)
    for value in np.sort(values):
        study.tell(study.ask(), float(value))
    why = [trial.info["why"] for trial in study.result.trials if "why" in trial.info]
    assert any("sample of a regression" in one for one in why)
