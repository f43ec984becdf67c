"""The score of several objectives."""

import dataclasses

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.functions import LOG_EI
from bostruct.acquisition.mixed_search import MixedSearch
from bostruct.goals.hypervolume import LogHypervolumeImprovement, divide_nondominated
from bostruct.goals.pareto import distant_reference
from bostruct.methods import auto
from bostruct.methods.goals import serve_goals
from bostruct.searchers.outputs import FrontScore, HypervolumeImprovement
from bostruct.study.history import History
from bostruct.surrogates.outputs import OutputsPosterior
from bostruct.testing.gradient_laws import check_score_gradient
from tests.fakes import TablePosterior
from tests.laws.maxsat import bits

SPACE = bits(4)
POINTS = SPACE.enumerate()
GENERATOR = np.random.default_rng(0)
POSTERIOR = OutputsPosterior(
    tuple(
        TablePosterior(np.full(4, 2), GENERATOR.normal(size=16), GENERATOR.uniform(0.1, 1.0, 16), np.full(16, 0.2))
        for _ in range(3)
    )
)
MEANS = np.stack([one.mean - one.optimism for one in POSTERIOR.outputs], axis=1)  # as `screen` has them


def build(k, n=6, running=()):
    told = History.of(SPACE, POINTS[:n], np.zeros(n), running=running)
    return HypervolumeImprovement(LogHypervolumeImprovement, k)(POSTERIOR, told, GENERATOR)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_front_is_that_of_the_means_of_completed_and_running_points(k):
    known = MEANS[:9, :k]
    acquisition = LogHypervolumeImprovement(divide_nondominated(known, distant_reference(known)))
    expected = acquisition([one.predict(POINTS) for one in POSTERIOR.outputs[:k]])
    found = build(k, running=POINTS[6:9])
    assert found(POINTS).tolist() == expected.tolist()
    assert np.all(found.upper_bounds(POINTS) >= expected)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_means_of_believed_points_join_the_front(k):
    """The table believes points one by one, so only the front tells what others are worth once some are believed."""
    known, before = MEANS[:6, :k], build(k)
    one, two = 6 + np.argsort(MEANS[6:, :k].sum(axis=1))[:2]
    front = np.vstack([known, MEANS[[one, two], :k]])
    others = np.delete(POINTS, [one, two], axis=0)
    acquisition = LogHypervolumeImprovement(divide_nondominated(front, distant_reference(known)))
    expected = acquisition([one.predict(others) for one in POSTERIOR.outputs[:k]])
    believing = before.believe(POINTS[[one]]).believe(POINTS[[two]])
    assert believing(others).tolist() == expected.tolist()
    assert not np.array_equal(believing(others), before(others))


def test_one_objective_is_log_expected_improvement():
    found, known = build(1)(POINTS), MEANS[:6, 0]
    unit = np.log(distant_reference(known[:, None])[0] - known.min())
    np.testing.assert_allclose(found + unit, LOG_EI(POSTERIOR.outputs[0].predict(POINTS), known.min())[0], rtol=1e-12)


def test_the_order_of_objectives_and_their_units_change_no_order_of_points():
    def score(outputs):
        told = History.of(SPACE, POINTS[:6], np.zeros(6))
        return HypervolumeImprovement(LogHypervolumeImprovement, 2)(OutputsPosterior(outputs), told, GENERATOR)(POINTS)

    one, two = POSTERIOR.outputs[:2]
    scaled = TablePosterior(two.n_choices, 8.0 * two.mean + 3.0, 64.0 * two.variance, 8.0 * two.optimism)
    np.testing.assert_allclose(score((two, one)), score((one, two)), rtol=1e-9)
    np.testing.assert_allclose(score((one, scaled)), score((one, two)), rtol=1e-9)


def test_a_posterior_of_one_output_is_refused():
    with pytest.raises(TypeError, match="posterior: expected an output for each objective"):
        HypervolumeImprovement(LogHypervolumeImprovement, 2)(POSTERIOR.outputs[0], None, GENERATOR)


@pytest.mark.parametrize(("k", "c"), [(2, 0), (3, 0), (2, 1)])
def test_gradients_in_numbers(k, c):
    space = bo.Space({"a": ["x", "y"], "r": bo.Real(0.0, 1.0), "t": bo.Real(0.0, 1.0)})
    generator = np.random.default_rng(0)
    points, outputs = space.sample(12, generator), generator.normal(size=(12, k + c))
    told = History.of(space, points, np.zeros(12))
    told = dataclasses.replace(told, objectives=outputs[:, :k], violations=outputs[:, k:])
    searcher = serve_goals(auto(space), k, c)
    posterior = searcher.surrogate.condition(points, outputs, [None] * (k + c), generator)[0]
    score = searcher.score(posterior, told, generator)
    check_score_gradient(score, space, space.sample(4, generator), generator)
    assert isinstance(searcher.maximizer, MixedSearch)
    info = searcher.suggest(told, searcher.initial_state(), generator).info
    assert info["gradients"] > 0


def test_without_gradients_it_says_so():
    score = build(2)
    assert isinstance(score, FrontScore)
    assert score.input_vjp(POINTS) is None
