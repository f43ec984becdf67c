"""TPE on top of Optuna: the laws of searchers, how choices and trials are handed over, and what is left as it was."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import bostruct as bo
from bostruct.searchers.tpe import ASKS, TPE
from bostruct.study.history import History
from bostruct.testing.searcher_laws import check_searcher
from tests.exhausting import check_exhausts
from tests.methods.mixed_space import SPACE, objective

optuna = pytest.importorskip("optuna")


def history_of(space: bo.Space, points: list[dict], values: list[float], running: list[dict] | None = None) -> History:
    told, out = ([space.parse(point) for point in some] for some in (points, running or []))
    return History.of(space, space.join(told), values, running=space.join(out))


def test_searcher_laws():
    check_searcher(TPE, SPACE, objective, np.random.default_rng(0), n_trials=18)
    small = bo.Space({"a": range(4), "b": ["x", "y"], "c": bool}, [lambda p: p["a"] > 0 or p["c"]])
    check_exhausts(TPE, small, lambda p: p["a"] + p["c"], np.random.default_rng(2))


def test_random_points_come_first():
    search = TPE(SPACE, n_startup=3)
    points = [SPACE.present(x) for x in SPACE.sample(3, np.random.default_rng(0))]
    origins = [
        search.suggest(history_of(SPACE, points[:n], [0.0] * n), None, np.random.default_rng(1)).info["origin"]
        for n in range(4)
    ]
    assert origins == ["initial"] * 3 + ["model"]


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        (["x", "y", "z"], optuna.distributions.CategoricalDistribution((0, 1, 2))),
        (bool, optuna.distributions.CategoricalDistribution((0, 1))),
        (range(6), optuna.distributions.IntDistribution(0, 5)),
        (bo.Ordinal([0.1, 0.5, 2.0]), optuna.distributions.IntDistribution(0, 2)),
        (bo.Real(0.1, 10.0, log=True), optuna.distributions.FloatDistribution(0.0, 1.0)),
    ],
)
def test_optuna_is_told_the_kind_of_each_choice_and_all_trials(variable, expected, monkeypatch):
    studies = []
    create = optuna.create_study
    monkeypatch.setattr(optuna, "create_study", lambda **given: studies.append(create(**given)) or studies[-1])
    space = bo.Space({"v": variable, "other": range(50)})
    xs = space.sample(4, np.random.default_rng(0))
    history = History.of(space, xs[:3], [2.0, -1.0, 0.5], running=xs[3:])
    TPE(space, n_startup=1).suggest(history, None, np.random.default_rng(0))
    told = studies[0].get_trials()[:4]
    assert all(trial.distributions["v"] == expected for trial in told)
    assert [trial.value for trial in told] == [2.0, -1.0, 0.5, None]
    assert [trial.state.name for trial in told] == ["COMPLETE"] * 3 + ["RUNNING"]
    for trial, x in zip(told, xs, strict=True):
        assert trial.params["v"] == pytest.approx(next(iter(space.coordinates(x))).value)


def test_what_was_good_is_suggested_more_often():
    space = bo.Space({"a": ["good", "bad", "worse"], "n": range(500)})
    rng = np.random.default_rng(0)
    points = [space.present(x) for x in space.sample(30, rng)]
    values = [float(["good", "bad", "worse"].index(point["a"])) for point in points]
    history = history_of(space, points, values)
    found = [TPE(space).suggest(history, None, np.random.default_rng(seed)).point for seed in range(20)]
    assert sum(space.present(x)["a"] == "good" for x in found) >= 15


def test_where_all_that_is_suggested_was_seen_a_random_point_is_and_says_so(monkeypatch):
    space = bo.Space({"a": range(3)})
    history = history_of(space, [{"a": 0}, {"a": 1}], [0.0, 1.0])
    asked = []
    first = SimpleNamespace(suggest_int=lambda *_: 0)
    monkeypatch.setattr(optuna.study.Study, "ask", lambda *_: asked.append(1) or first)
    found = TPE(space, n_startup=1).suggest(history, None, np.random.default_rng(0))
    assert space.present(found.point) == {"a": 2}
    assert found.info == {
        "origin": "fallback",
        "why": f"{ASKS} suggestions of the sampler were seen or break constraints",
    }
    assert len(asked) == ASKS


def test_a_real_is_found_between_its_choices():
    space = bo.Space({"r": bo.Real(-1.0, 1.0)})
    result = bo.minimize(lambda p: abs(p["r"] - 0.3), space, 40, method=TPE(space), seed=0)
    assert result.best_value < 0.05


def test_optuna_is_left_as_it_was():
    before = optuna.logging.get_verbosity()
    bo.minimize(objective, SPACE, 14, method="tpe", seed=0)
    assert optuna.logging.get_verbosity() == before


def test_wrong_settings_are_refused_by_name():
    with pytest.raises(ValueError, match="n_startup: expected at least 1, got 0"):
        TPE(SPACE, n_startup=0)
