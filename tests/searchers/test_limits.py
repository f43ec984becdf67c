"""Scores under limits."""

import dataclasses

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.functions import LOG_EI, ExpectedImprovement, ProbabilityOfImprovement
from bostruct.contracts import Posterior, Prediction, ScoreBuilder
from bostruct.methods import auto
from bostruct.methods.goals import serve_goals
from bostruct.searchers.outputs import LEAST_CHANCE, ProductScore, WithinLimits, find_kept
from bostruct.searchers.scores import AcquisitionScore, Improvement, best_observed
from bostruct.study.history import History
from bostruct.surrogates.outputs import OutputsPosterior
from bostruct.testing.gradient_laws import check_score_gradient
from tests.fakes import TablePosterior
from tests.laws.maxsat import bits

SPACE = bits(4)
POINTS = SPACE.enumerate()
COUNTS = np.full(4, 2)
GENERATOR = np.random.default_rng(0)
POSTERIOR = OutputsPosterior(
    tuple(
        TablePosterior(COUNTS, GENERATOR.normal(size=16), GENERATOR.uniform(0.1, 1.0, 16), np.full(16, 0.2))
        for _ in range(3)
    )
)
CHANCE = ProbabilityOfImprovement()
BUILDER = WithinLimits(Improvement(LOG_EI, best_observed), CHANCE, SPACE.take)


def history(values, violations, running=()):
    n = len(values)
    told = History.of(SPACE, POINTS[:n], values, running=running)
    return dataclasses.replace(told, violations=np.array(violations, dtype=np.float64))


def chance_of(xs):
    return np.sum([CHANCE(one.predict(xs), 0.0)[0] for one in POSTERIOR.outputs[1:]], axis=0)


def test_improvement_on_the_best_feasible_point_times_the_chances():
    told = history([-9.0, 1.0, 2.0], [[1.0, -1.0], [0.0, -1.0], [-1.0, -1.0]])
    score = BUILDER(POSTERIOR, told, GENERATOR)
    expected = LOG_EI(POSTERIOR.outputs[0].predict(POINTS), 1.0)[0] + chance_of(POINTS)
    np.testing.assert_allclose(score(POINTS), expected, rtol=1e-12)
    assert np.all(score.upper_bounds(POINTS) >= score(POINTS))


def test_without_a_feasible_point_feasibility_is_all_that_counts():
    score = BUILDER(POSTERIOR, history([-9.0, 1.0], [[1.0, -1.0], [-1.0, 2.0]]), GENERATOR)
    np.testing.assert_allclose(score(POINTS), chance_of(POINTS), rtol=1e-12)


def test_the_builder_sees_feasible_points_and_running_ones_believed_to_be():
    seen = []

    class Builder(ScoreBuilder):
        is_logarithm = True

        def __call__(self, posterior, history, rng):
            seen.append((posterior, history))
            return Improvement(LOG_EI)(posterior, history, rng)

    running = POINTS[5:]
    told = history([-9.0, 1.0], [[1.0, -1.0], [-1.0, 0.0]], running)
    WithinLimits(Builder(), CHANCE, SPACE.take)(POSTERIOR, told, GENERATOR)
    posterior, view = seen[0]
    kept = np.all([one.predict(running).mean[0] <= 0.0 for one in POSTERIOR.outputs[1:]], axis=0)
    assert posterior is POSTERIOR.outputs[0]
    assert (view.values.tolist(), SPACE.keys(view.running)) == ([1.0], SPACE.keys(running[kept]))
    assert 0 < kept.sum() < len(running)


def test_chances_are_averaged_over_samples_before_they_are_multiplied():
    class Two(Posterior):
        def predict(self, xs):
            return Prediction(np.tile([[-1.0], [9.0]], len(xs)), np.ones((2, len(xs))))

    score = ProductScore([AcquisitionScore(Two(), CHANCE, 0.0)] * 2)
    assert score(POINTS[:1])[0] == pytest.approx(2.0 * np.log(0.5 * 0.841344746))


def test_what_is_no_logarithm_is_refused():
    for parts, name in (
        ((Improvement(ExpectedImprovement()), CHANCE), "score"),
        ((BUILDER, ExpectedImprovement()), "chance"),
    ):
        with pytest.raises(ValueError, match=f"{name}: expected a logarithm"):
            WithinLimits(*parts, SPACE.take)


def test_a_posterior_of_one_output_is_refused():
    with pytest.raises(TypeError, match="posterior: expected outputs for outcome constraints"):
        BUILDER(POSTERIOR.outputs[0], history([1.0], [[0.0]]), GENERATOR)


@pytest.mark.parametrize("feasible", [True, False])
def test_gradients_in_numbers(feasible):
    space = bo.Space({"a": ["x", "y"], "r": bo.Real(0.0, 1.0), "t": bo.Real(0.0, 1.0)})
    generator = np.random.default_rng(0)
    points = space.sample(12, generator)
    values = generator.normal(size=12)
    violations = generator.normal(size=(12, 2)) + (-0.5 if feasible else 9.0)
    told = dataclasses.replace(History.of(space, points, values), violations=violations)
    searcher = serve_goals(auto(space), 1, 2)
    posterior = searcher.surrogate.condition(points, np.hstack([values[:, None], violations]), [None] * 3, generator)[0]
    score = searcher.score(posterior, told, generator)
    check_score_gradient(score, space, space.sample(4, generator), generator)


def believed(means):
    """Three outputs, the last two of which are violations with these means at the first points, sd 1."""
    filled = [np.concatenate([mean, np.zeros(16 - len(mean))]) for mean in means]
    return OutputsPosterior(
        tuple(TablePosterior(COUNTS, mean, np.ones(16), np.full(16, 0.2)) for mean in (np.zeros(16), *filled))
    )


def test_a_number_that_keeps_its_limit_by_luck_is_no_proof():
    posterior = believed([[2.0, 0.0, -1.0, -3.0], [-2.0, -2.0, -2.0, 2.0]])
    told = history([-9.0, 1.0, 2.0, -5.0], [[-0.1, -1.0]] * 4)
    assert find_kept(posterior.outputs[1:], told, SPACE.take) == [1, 2]  # on the limit is within
    score = BUILDER(posterior, told, GENERATOR)
    chances = np.sum([CHANCE(one.predict(POINTS), 0.0)[0] for one in posterior.outputs[1:]], axis=0)
    expected = LOG_EI(posterior.outputs[0].predict(POINTS), 1.0)[0] + chances
    np.testing.assert_allclose(score(POINTS), expected, rtol=1e-12)


def test_where_the_model_believes_none_of_them_what_was_told_counts():
    posterior = believed([[2.0, 3.0], [-2.0, -2.0]])
    assert find_kept(posterior.outputs[1:], history([1.0, 2.0], [[-1.0, 0.0]] * 2), SPACE.take) == [0, 1]
    assert find_kept(posterior.outputs[1:], history([1.0, 2.0], [[1.0, 0.0]] * 2), SPACE.take) == []


def test_what_is_recommended_keeps_a_noisy_limit_likely_enough():
    """A sum that may be 8 is measured with noise of 1.5: some larger ones are told to keep the limit."""
    rng = np.random.default_rng(5)
    study = bo.Study({f"v{i}": range(5) for i in range(4)}, seed=0, constraints={"sum": ("<=", 8.5)})
    for point in study.domain.sample(60, rng):
        shown = study.domain.present(point)
        total = float(sum(shown.values()))
        study.add(shown, -total, constraints={"sum": total + 1.5 * rng.normal()})
    chosen = study.result.recommended.trial
    by_chance, by_value = study.predict([chosen.point, study.result.best_trial.point]).chance
    assert by_chance >= LEAST_CHANCE > by_value
    assert sum(chosen.point.values()) < sum(study.result.best_trial.point.values())
