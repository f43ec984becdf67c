"""Models of success: labels regressed, and averages of models by what they say of points held out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.contracts import Feasibility, Posterior, SuccessModel, Surrogate
from bostruct.methods import auto
from bostruct.methods.defaults import success_model
from bostruct.surrogates.success import AveragedFeasibility, AveragedSuccess, RegressedSuccess, _keep_last


@dataclass(frozen=True)
class Says(SuccessModel, Feasibility):
    """A model whose chance of success is one number where the point is 1, and another where it is 0."""

    at_one: float
    at_zero: float

    def condition(self, points, succeeded, state, rng, *, keep=False):
        del points, succeeded, state, rng, keep
        return self, None

    def log_probability(self, xs):
        return np.log(np.where(xs[:, 0] == 1, self.at_one, self.at_zero))


def take(xs, positions):
    return xs[positions]


RIGHT, WRONG = Says(0.9, 0.1), Says(0.1, 0.9)
XS = np.tile([[0], [1]], (15, 1))


def average(models, xs=XS, succeeded=XS[:, 0] == 1, seed=0):
    return AveragedSuccess(models, take).condition(xs, succeeded, None, np.random.default_rng(seed))[0]


def test_the_model_that_foretells_points_it_was_not_shown_has_the_weight():
    found = average((WRONG, RIGHT))
    assert found.chances == [RIGHT]
    assert_allclose(np.exp(found.log_probability(XS[:2])), [0.1, 0.9], atol=1e-6)


def test_weights_are_the_likelihoods_of_a_third_of_the_points():
    kept = np.sort(np.random.default_rng(3).permutation(30)[:10])
    models = (RIGHT, Says(0.85, 0.15))
    expected = [np.prod(np.where(XS[kept, 0] == 1, one.at_one, 1 - one.at_zero)) for one in models]
    assert_allclose(np.exp(average(models, seed=3).log_weights), expected / np.sum(expected))


def test_models_are_shown_the_other_points():
    shown = []

    class Looks(Says):
        def condition(self, points, succeeded, state, rng, *, keep=False):
            shown.append((points[:, 0].tolist(), succeeded.tolist()))
            return super().condition(points, succeeded, state, rng, keep=keep)

    points = np.column_stack([XS[:, 0], np.arange(30)])
    average((Looks(0.6, 0.4), Looks(0.4, 0.6), RIGHT), points, XS[:, 0] == 1)
    assert [len(rows) for rows, _ in shown] == [20, 20, 30]  # the second one has next to no weight, and is left out
    assert all(told == [one == 1 for one in rows] for rows, told in shown)


@pytest.mark.parametrize("n_failed", [0, 2])
def test_where_few_points_tell_models_count_the_same(n_failed):
    xs = XS[: 11 if n_failed else 30]
    succeeded = np.arange(len(xs)) >= n_failed
    assert_allclose(np.exp(average((WRONG, RIGHT), xs, succeeded).log_weights), 0.5)


def test_one_surprise_does_not_decide():
    sure = Says(1.0 - 1e-12, 1e-12)
    succeeded = XS[:, 0] == 1
    succeeded[0] = True
    weights = [np.exp(average((sure, RIGHT), XS, succeeded, seed).log_weights) for seed in range(9)]
    assert min(weight[0] for weight in weights) > 1e-4


def test_an_average_is_one_of_chances():
    found = AveragedFeasibility((RIGHT, WRONG), np.log([0.25, 0.75]))
    assert_allclose(np.exp(found.log_probability(XS[:2])), [0.25 * 0.1 + 0.75 * 0.9, 0.25 * 0.9 + 0.75 * 0.1])


@dataclass(frozen=True)
class Counts(Says):
    """A model whose state is the number of points that it was fitted to last, and which records how it is asked."""

    asked: list = field(default_factory=list)

    def condition(self, points, succeeded, state, rng, *, keep=False):
        del succeeded, rng
        self.asked.append((len(points), state, keep))
        return self, state if keep else len(points)


def test_what_was_learned_serves_as_it_is_where_it_is_kept():
    models = Counts(0.9, 0.1), Counts(0.85, 0.15)
    model, succeeded = AveragedSuccess(models, take), XS[:, 0] == 1
    learned, state = model.condition(XS[:27], succeeded[:27], None, np.random.default_rng(0))
    state = json.loads(json.dumps(state))
    found, same = model.condition(XS, succeeded, state, np.random.default_rng(1), keep=True)
    assert same == state
    assert found.log_weights.tolist() == learned.log_weights.tolist()
    again, _ = model.condition(XS, succeeded, state, np.random.default_rng(1))
    assert again.log_weights.tolist() != learned.log_weights.tolist()
    for one in models:  # each fit goes on from the last one to as large a part of the points
        assert one.asked == [(18, None, False), (27, 18, False), (30, 27, True), (20, 18, False), (30, 27, False)]


def test_the_state_of_other_models_is_none():
    _, state = AveragedSuccess((RIGHT,), take).condition(XS, XS[:, 0] == 1, None, np.random.default_rng(0))
    model = AveragedSuccess((RIGHT, Says(0.85, 0.15)), take)
    found, _ = model.condition(XS, XS[:, 0] == 1, state, np.random.default_rng(3), keep=True)
    assert_allclose(found.log_weights, average(model.models, seed=3).log_weights)


MIXED = {"a": ["x", "y", "z"], **{f"b{i}": bool for i in range(6)}, "r": bo.Real(0.0, 1.0), "o": range(5)}


def draw_outcomes(space, n, seed=0):
    xs = space.sample(n, np.random.default_rng(seed))
    points = [space.present(x) for x in xs]
    return xs, np.array([not (p["b0"] and p["a"] == "x") and p["o"] + 3 * p["b1"] < 6 for p in points])


def test_kept_hyperparameters_are_those_of_the_fit_on_all_points():
    space, rng = bo.Space(MIXED), np.random.default_rng(0)
    regressed = auto(space).score.success.models[0]
    assert isinstance(regressed, RegressedSuccess)
    xs, succeeded = draw_outcomes(space, 70)
    first, state = regressed.condition(xs[:60], succeeded[:60], None, rng)
    found, same = regressed.condition(xs, succeeded, json.loads(json.dumps(state)), rng, keep=True)
    assert same == state
    assert len(found.label.xs) == 70
    assert [one.hyper.theta.tolist() for one in found.label.samples] == [state[1:]]
    other, _ = regressed.condition(xs, succeeded, state[:-1], rng, keep=True)  # of a kernel with other parameters
    fresh, _ = regressed.condition(xs, succeeded, None, rng)
    np.testing.assert_array_equal(other.log_probability(xs), fresh.log_probability(xs))
    assert not np.array_equal(first.log_probability(xs), found.log_probability(xs))


@pytest.mark.parametrize("n", [12, 60, 300])
@pytest.mark.parametrize("names", [tuple(MIXED), ("b0", "b1", "o", "a"), ("b0", "b1", "o", "a", "r")])
def test_bounds_of_a_chance_are_never_below_it(n, names):
    space = bo.Space({name: MIXED[name] for name in names})
    xs, succeeded = draw_outcomes(space, n)
    average = auto(space).score.success
    near, _ = space.sample_neighborhoods(xs[:3], 40, np.random.default_rng(1))
    for model in (average, *getattr(average, "models", [])[:1]):
        found, _ = model.condition(xs, succeeded, None, np.random.default_rng(0))
        for new in (xs, space.sample(400, np.random.default_rng(2)), near):
            log_probability, bounds = found.log_probability(new), found.log_probability_bound(new)
            assert np.all(
                bounds >= log_probability - 1e-5 * (1.0 - log_probability)
            )  # as scores allow for single precision
            assert np.all(bounds <= 1e-12)
    assert n < 300 or np.any(bounds < -0.01)


def test_a_posterior_without_quick_bounds_has_bounds_by_its_predictions():
    space = bo.Space({"r": bo.Real(0, 1)})

    class Label(Posterior):
        def __init__(self, posterior):
            self.posterior = posterior

        def predict(self, xs):
            return self.posterior.predict(xs)

    class Plain(Surrogate):
        def condition(self, xs, values, state, rng):
            posterior, state, info = auto(space).score.success.surrogate.condition(xs, values, state, rng)
            return Label(posterior), state, info

    xs = space.sample(20, np.random.default_rng(0))
    found, _ = success_model(space, Plain()).condition(xs, np.arange(20) % 3 > 0, None, np.random.default_rng(0))
    bounds, log_probability = found.log_probability_bound(xs), found.log_probability(xs)
    assert np.all(bounds >= log_probability)
    below = log_probability < np.log(0.5)
    assert below.any()
    assert_allclose(bounds[below], log_probability[below], rtol=1e-4)


def test_of_many_points_the_last_of_each_outcome_are_learned_from():
    space = bo.Space({"r": bo.Real(0, 1)})
    model = auto(space).score.success
    assert model.most == 1_000
    xs, succeeded = space.sample(90, np.random.default_rng(0)), np.arange(90) < 60
    kept = np.r_[40:60, 80:90]
    found, expected = (
        replace(model, most=30).condition(points, labels, None, np.random.default_rng(0))
        for points, labels in ((xs, succeeded), (xs[kept], succeeded[kept]))
    )
    assert found[1] == expected[1]
    np.testing.assert_array_equal(found[0].log_probability(xs), expected[0].log_probability(xs))


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ((90, 30), (30, 10)),
        ((200, 2), (38, 2)),  # of which the shares would keep none
        ((200, 1), (39, 1)),
        ((200, 0), (40, 0)),
        ((1, 200), (1, 39)),
        ((2, 200), (2, 38)),
        ((0, 200), (0, 40)),
        ((40, 1), (39, 1)),
    ],
)
def test_of_rare_outcomes_the_last_two_are_always_learned_from(told, kept):
    succeeded = np.repeat([True, False], told)
    found = succeeded[_keep_last(succeeded, 40)]
    assert (np.count_nonzero(found), np.count_nonzero(~found)) == kept


def test_a_model_of_success_needs_four_points():
    space = bo.Space({"r": bo.Real(0, 1)})
    with pytest.raises(ValueError, match="most"):
        RegressedSuccess(auto(space).score.success.surrogate, space.take, most=3)


def test_a_long_search_learns_where_it_fails_now():
    """Failures of the beginning, far from where the search is now, leave room for those beside it."""
    space, rng = bo.Space({f"b{i}": bool for i in range(20)}), np.random.default_rng(0)
    early, late = space.sample(300, rng), space.sample(300, rng)
    early[:, :4], late[:, :4] = 0, 1
    early_succeeded, late_succeeded = np.zeros(300, dtype=bool), late[:, 5] == 1
    xs, succeeded = np.concatenate([early, late]), np.concatenate([early_succeeded, late_succeeded])
    order = np.argsort(~succeeded, kind="stable")  # successes first, as a search gives them
    new = space.sample(200, rng)
    new[:, :4] = 1
    model = replace(auto(space).score.success.models[0], most=100)
    found, _ = model.condition(xs[order], succeeded[order], None, rng)
    np.testing.assert_array_equal(np.exp(found.log_probability(new)) > 0.5, new[:, 5] == 1)
