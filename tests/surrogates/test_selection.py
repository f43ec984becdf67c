"""The selection of variables: brute force, planted subsets, both conditions of its gate, and its state."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import NumericalError, Prediction
from bostruct.methods import auto
from bostruct.study.history import History
from bostruct.surrogates.map_gp import MAPGP
from bostruct.surrogates.selection import (
    GRID,
    SubsetSearch,
    VariableSelection,
    compute_held_out_density,
    find_neighbors,
)
from bostruct.testing.model_laws import check_surrogate

SPACE = bo.Space({f"b{i}": bool for i in range(24)})
SELECTED = ["b3", "b11", "b17"]
CONDITIONAL = bo.Space({"a": bool, **{f"c{i}": bo.Ordinal([1, 2, 3], when={"a": True}) for i in range(20)}})


def planted(xs: np.ndarray) -> np.ndarray:
    """Return 3 b3 b11 - 2 b17 in signs."""
    a, b, c = (2.0 * np.asarray(xs)[:, [3, 11, 17]] - 1.0).T
    return 3.0 * a * b - 2.0 * c


def selection_of(space: bo.Space, **settings: Any) -> VariableSelection:
    return replace(auto(space).surrogate.surrogate, **settings)  # type: ignore[attr-defined]


def search_of(xs: np.ndarray, values: np.ndarray) -> SubsetSearch:
    apart = 2.0 * (np.asarray(xs)[:, None] != xs).transpose(2, 0, 1)
    return SubsetSearch(apart.astype(np.float32), (values - values.mean()) / values.std())


@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_best_of_all_subsets(seed):
    rng = np.random.default_rng(seed)
    xs = rng.integers(2, size=(40, 8))
    signs = 2.0 * xs - 1.0
    search = search_of(xs, signs[:, 1] * signs[:, 4] + 0.7 * signs[:, 6] + 0.3 * rng.normal(size=40))
    subsets = (one for size in range(1, 9) for one in itertools.combinations(range(8), size))
    best = max(map(search.make, subsets), key=lambda one: one.score)
    found = search.select([], rng)
    assert found.variables == best.variables
    assert found.score == pytest.approx(best.score)


def test_a_planted_subset_is_found_among_many():
    xs = np.random.default_rng(0).integers(2, size=(60, 24))
    search = search_of(xs, planted(xs))
    assert search.select([], np.random.default_rng(0)).variables == [3, 11, 17]
    assert search.select([5, 6], np.random.default_rng(0)).variables == [3, 11, 17]


class Forgetful(set[Any]):
    """Holds nothing, whatever is added."""

    def __contains__(self, item: object) -> bool:
        return False


@pytest.mark.parametrize("seed", range(3))
def test_climbs_end_where_no_step_is_better_and_stop_at_earlier_climbs(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    xs = rng.integers(2, size=(70, 24))
    search = search_of(xs, planted(xs) + rng.normal(size=70))
    counts = {True: 0, False: 0}

    def count(self: SubsetSearch, *args: Any) -> list[float]:
        counts[isinstance(self.visited, Forgetful)] += 1
        return score(self, *args)

    score = SubsetSearch.score
    monkeypatch.setattr(SubsetSearch, "score", count)
    found, again = (replace(search, visited=one).select([], np.random.default_rng(0)) for one in (set(), Forgetful()))
    assert (found.variables, found.setting, found.score) == (again.variables, again.setting, again.score)
    assert counts[True] > counts[False]
    assert replace(search, visited=set()).climb(found) is found
    assert replace(search, visited=set()).climb(search.make(range(24))).score >= search.all_variables.score


def test_the_score_is_the_evidence_with_mean_and_amplitude_profiled_out():
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(1)
    xs = rng.integers(2, size=(12, 5))
    search, setting = search_of(xs, rng.normal(size=12)), (0.9, 0.3, 0.2)
    h = search.apart[[0, 2]].mean(axis=0).astype(np.float64)
    gram = 0.3 * np.exp(-h / (2 * 0.9**2)) + 0.7 * (2 - h) + 0.2 * np.eye(12)

    def log_density(mean: float, amplitude: float) -> float:
        return float(multivariate_normal(np.full(12, mean), amplitude * gram).logpdf(search.values))

    ones = np.linalg.solve(gram, np.ones(12))
    mean = float(ones @ search.values / ones.sum())
    left = search.values - mean
    amplitude = float(left @ np.linalg.solve(gram, left)) / 12
    best = log_density(mean, amplitude)
    assert best > max(log_density(mean + 0.01, amplitude), log_density(mean, 1.01 * amplitude))
    log_prior = -np.log(10.0) - np.log(6.0)  # one of C(5, 2) subsets of one of six sizes
    constant = -6.0 * np.log(2.0 * np.pi) - 6.0
    assert search.score(2.0 * h, 2, [setting])[0] == pytest.approx(best - constant + log_prior)


def test_slopes_are_derivatives_of_the_evidence():
    xs = np.random.default_rng(2).integers(2, size=(50, 24))
    search = search_of(xs, planted(xs))
    subset, step = search.make([3, 17]), 1e-4
    found = search.find_slopes(subset)
    for j in (3, 5, 11):
        ends = [search.score(subset.total + sign * search.apart[j], 2, [subset.setting])[0] for sign in (step, -step)]
        assert (ends[0] - ends[1]) / (2.0 * step) == pytest.approx(0.25 * found[j], rel=1e-3)
    assert np.argmax(found) == 11  # which makes b3 tell


def test_a_setting_has_neighbors_in_each_coordinate():
    assert {len(find_neighbors(one)) for one in GRID} == {1 + 2 + 1 + 3}


@pytest.mark.parametrize("margin", [-1e9, 3.0, 1e9])
def test_it_obeys_the_laws_of_surrogates(margin):
    check_surrogate(selection_of(SPACE, margin=margin), SPACE, np.random.default_rng(0))
    check_surrogate(selection_of(CONDITIONAL, margin=margin), CONDITIONAL, np.random.default_rng(0))


def learn(surrogate: VariableSelection, n: int, state: Any = None, seed: int = 0) -> Any:
    xs = SPACE.sample(n, np.random.default_rng(seed))
    return surrogate.condition(xs, planted(xs), state, np.random.default_rng(0))


def test_the_posterior_of_a_subset_does_not_depend_on_other_variables():
    posterior, _, info = learn(selection_of(SPACE), 60)
    assert info["variables"] == SELECTED
    assert posterior.unused == tuple(name for name in SPACE.variables if name not in SELECTED)
    xs = SPACE.sample(5, np.random.default_rng(1))
    others = SPACE.sample(5, np.random.default_rng(2))
    others[:, [3, 11, 17]] = xs[:, [3, 11, 17]]
    np.testing.assert_allclose(posterior.predict(xs), posterior.predict(others), rtol=1e-12)
    np.testing.assert_allclose(posterior.predict(xs).mean[0], planted(xs), atol=0.3)


def test_small_effects_of_the_other_variables_are_learned_if_they_show():
    surrogate, xs = selection_of(SPACE), SPACE.sample(90, np.random.default_rng(0))
    small = 0.35 * (2.0 * np.asarray(xs) - 1.0).sum(axis=1)
    posterior, state, info = surrogate.condition(xs, planted(xs) + small, None, np.random.default_rng(0))
    assert set(info["variables"]) >= set(SELECTED)
    assert state["selection"]["has_rest"]
    assert "b5" in posterior.unused  # of which only a small effect is known
    point = np.zeros((2, 24), dtype=np.int64)
    point[1, 5] = 1
    low, high = posterior.predict(point).mean[0]
    assert 0.2 < high - low < 1.2
    assert not learn(surrogate, 60)[1]["selection"]["has_rest"]


@pytest.mark.parametrize("closed", ["evidence", "left-out values"])
def test_either_condition_alone_closes_the_gate(closed, monkeypatch):
    surrogate = selection_of(SPACE)
    if closed == "evidence":
        surrogate = replace(surrogate, margin=1e9)
    else:
        monkeypatch.setattr("bostruct.surrogates.selection.compute_held_out_density", lambda *_: 0.0)
    posterior, state, info = learn(surrogate, 60)
    whole, _, own = surrogate.full.condition(posterior.xs, planted(posterior.xs), None, np.random.default_rng(0))
    xs = SPACE.sample(5, np.random.default_rng(1))
    np.testing.assert_array_equal(posterior.predict(xs), whole.predict(xs))
    assert (posterior.unused, info) == ((), own)
    assert not state["selection"]["serves"]


def test_a_selection_is_kept_until_the_data_have_grown_by_a_twentieth(monkeypatch):
    surrogate = selection_of(SPACE)
    _, state, _ = learn(surrogate, 60)
    calls = []
    monkeypatch.setattr(SubsetSearch, "select", lambda *given: calls.append(given))
    _, later, info = learn(surrogate, 62, json.loads(json.dumps(state)))
    assert info["variables"] == SELECTED
    assert later["selection"]["n"] == 60
    with pytest.raises(AttributeError):  # what the planted search returns is no subset
        learn(surrogate, 63, state)
    assert len(calls) == 1


def condition_in_steps(surrogate: VariableSelection, sizes: Any, small: float = 0.0) -> list[Any]:
    """Return the results of consecutive calls that learn from the first points, as many as each size says."""
    xs = SPACE.sample(max(sizes), np.random.default_rng(0))
    values = planted(xs) + small * (2.0 * np.asarray(xs) - 1.0).sum(axis=1)
    found, state = [], None
    for n in sizes:
        found.append(surrogate.condition(xs[:n], values[:n], json.loads(json.dumps(state)), np.random.default_rng(0)))
        state = found[-1][1]
    return found


@pytest.mark.parametrize(("n", "margin", "small"), [(60, 10.0, 0.0), (90, 10.0, 0.35), (60, 1e9, 0.0)])
def test_steps_come_to_what_one_call_selects(n, margin, small, monkeypatch):
    surrogate = selection_of(SPACE, margin=margin)
    posterior, state, info = condition_in_steps(surrogate, [n], small)[0]
    monkeypatch.setattr("bostruct.surrogates.selection.STAGED_FROM", 0)
    steps = condition_in_steps(surrogate, [n] * 6, small)
    assert "variables" not in steps[4][2]
    later, settled, own = steps[5]
    assert settled == state
    assert own.get("variables") == info.get("variables")
    xs = SPACE.sample(5, np.random.default_rng(1))
    np.testing.assert_allclose(later.predict(xs), posterior.predict(xs), rtol=1e-9)


def test_a_late_selection_goes_on_though_each_call_fits_a_model(monkeypatch):
    monkeypatch.setattr("bostruct.surrogates.selection.STAGED_FROM", 0)
    steps = condition_in_steps(selection_of(SPACE), [*[60] * 6, 64, 68, 72, 76, 80, 84])
    assert steps[5][1]["selection"]["n"] == 60
    assert steps[-1][1]["selection"]["n"] == 68


def test_from_300_values_on_a_call_selects_or_fits_one_model(monkeypatch):
    counts = [0, 0]

    def count(place: int, call: Any) -> Any:
        def counting(*given: Any) -> Any:
            counts[place] += 1
            return call(*given)

        return counting

    monkeypatch.setattr(SubsetSearch, "select", count(0, SubsetSearch.select))
    monkeypatch.setattr(MAPGP, "find_mode", count(1, MAPGP.find_mode))
    surrogate, state, kinds, named = selection_of(SPACE), None, list[str](), list[Any]()
    xs = SPACE.sample(340, np.random.default_rng(0))
    for n in range(300, 341):
        counts[:] = 0, 0
        _, state, info = surrogate.condition(xs[:n], planted(xs[:n]), state, np.random.default_rng(0))
        assert counts[0] == 0 or counts[1] == 0
        assert counts[1] <= 3  # the three models of one choice
        kinds.append("select" if counts[0] else "fit" if counts[1] else "")
        named.append(info.get("variables"))
    assert kinds[:6] == ["fit", "select", "fit", "fit", "", ""]
    assert named[:5] == [None] * 5
    assert named[5:] == [SELECTED] * 36
    assert kinds.count("select") == 3


def test_a_model_that_cannot_be_computed_is_not_selected(monkeypatch):
    monkeypatch.setattr("bostruct.surrogates.selection.STAGED_FROM", 0)

    def fail(positions: tuple[int, ...], has_rest: bool) -> Any:
        part = surrogate.restrict(positions, has_rest)
        return SimpleNamespace(initial_state=part.initial_state, condition=refuse)

    def refuse(*_: Any) -> Any:
        raise NumericalError("planted")

    surrogate = selection_of(SPACE)
    last = condition_in_steps(replace(surrogate, restrict=fail), [60] * 6)[-1]
    assert "variables" not in last[2]
    assert not last[1]["selection"]["serves"]
    assert last[1]["selection"]["n"] == 60


def test_states_of_the_model_of_all_variables_are_read():
    """Studies of version 0.4 and before have these."""
    surrogate = selection_of(SPACE)
    xs = SPACE.sample(30, np.random.default_rng(0))
    _, old, _ = surrogate.full.condition(xs, planted(xs), surrogate.full.initial_state(), np.random.default_rng(0))
    for state in (None, old, surrogate.full.initial_state()):
        posterior, new, _ = learn(replace(surrogate, margin=1e9), 31, state)
        assert len(posterior.xs) == 31
        assert set(new) == {"full", "selection"}


def test_few_values_and_equal_values_select_nothing():
    surrogate = selection_of(SPACE, margin=-1e9)
    assert "variables" not in learn(surrogate, 9)[2]
    xs = SPACE.sample(30, np.random.default_rng(0))
    info = surrogate.condition(xs, np.ones(30), None, np.random.default_rng(0))[2]
    assert "variables" not in info


def test_a_search_that_stands_still_selects_nothing_from_equal_values():
    """The best 75 and the last 75 are equal, although other values differ."""
    surrogate, xs = selection_of(SPACE, margin=-1e9), SPACE.sample(170, np.random.default_rng(0))
    values = np.repeat([2.0, 1.0, 0.0], [5, 5, 160])
    info = surrogate.condition(xs, values, None, np.random.default_rng(0))[2]
    assert "variables" not in info


def test_values_whose_squares_overflow_are_refused_in_words():
    xs = SPACE.sample(30, np.random.default_rng(0))
    with pytest.raises(NumericalError, match="expected magnitudes up to"):
        selection_of(SPACE).condition(xs, 1e160 * planted(xs), None, np.random.default_rng(0))


@pytest.mark.parametrize("far", [None, 1e6])
def test_a_point_whose_value_is_known_is_replaced_also_beside_far_values(far):
    rng, searcher = np.random.default_rng(0), cast(Any, auto(SPACE))
    xs = SPACE.sample(60, rng)
    values = planted(xs)
    if far is not None:
        values[np.argsort(values)[-2:]] = far
    history, known = History.of(SPACE, xs, values), np.array(xs[0])
    known[0] = 1 - known[0]  # an unused variable

    def predict(points: Any) -> Prediction:
        is_known = (np.asarray(points)[:, [3, 11, 17]] == known[[3, 11, 17]]).all(axis=1)
        return Prediction(np.zeros((1, len(points))), np.where(is_known, 0.0, 1.0)[None])

    posterior = SimpleNamespace(predict=predict)
    found = searcher._leave_certain(known, posterior, lambda points: np.zeros(len(points)), history, rng)
    assert predict(found[None]).variance.item() == 1.0


def test_the_held_out_density_is_that_of_the_predictions():
    posterior, _, _ = learn(selection_of(SPACE), 20)
    held_out = posterior.leave_one_out()
    mean, variance = held_out.prediction
    expected = -0.5 * np.log(2 * np.pi * variance) - 0.5 * (held_out.values - mean) ** 2 / variance
    assert compute_held_out_density(posterior) == pytest.approx(expected.mean())
    assert compute_held_out_density(posterior, 3.0) == pytest.approx((expected.sum() - 3.0) / 20.0)


def test_wrong_settings_are_refused():
    surrogate = selection_of(SPACE)
    with pytest.raises(TypeError, match="full"):
        replace(surrogate, full=3)
    with pytest.raises(ValueError, match="growth"):
        replace(surrogate, growth=-1.0)
