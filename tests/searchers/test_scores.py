"""The score is a part: a builder of one's own serves the searcher as it is."""

import dataclasses
import json

import numpy as np
import pytest

from bostruct.acquisition.functions import LogAugmentedExpectedImprovement, LogExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.contracts import NumericalError, Posterior, Score, ScoreBuilder
from bostruct.methods import auto
from bostruct.searchers.scores import (
    Feasible,
    Improvement,
    best_predicted,
)
from bostruct.study.history import History
from bostruct.testing.searcher_laws import check_searcher
from tests.laws.maxsat import bits

SPACE = bits(5)
POINTS = SPACE.enumerate()


class Draw(Score):
    """One joint draw of the posterior at all points: Thompson sampling, by the covariances."""

    def __init__(self, posterior, rng):
        mean = posterior.predict(POINTS).mean[0]
        self.values = rng.multivariate_normal(mean, posterior.covariance(POINTS)[0], method="eigh")

    def __call__(self, xs):
        return -self.values[np.asarray(xs) @ (1 << np.arange(5)[::-1])]


class Thompson(ScoreBuilder):
    """A builder of draws."""

    def __call__(self, posterior, history, rng):
        del history
        return Draw(posterior, rng)


def sampler(space):
    return dataclasses.replace(auto(space), score=Thompson(), n_initial=4, maximizer=LocalSearch(100, 5, 3))


def cost(point):
    return sum(i * value for i, value in enumerate(point.values()))


def test_thompson_sampling_is_one_function():
    check_searcher(sampler, SPACE, cost, np.random.default_rng(0), n_trials=9)


def test_its_generator_decides():
    searcher = sampler(SPACE)
    values = [cost(SPACE.present(x)) for x in POINTS[::5]]
    history = History.of(SPACE, POINTS[::5], values)
    found = [
        searcher.suggest(history, searcher.initial_state(), np.random.default_rng(seed)).point for seed in range(9)
    ]
    assert 1 < len({x.tobytes() for x in found}) <= 9


def test_a_score_that_cannot_be_built_is_a_fallback():
    class Refusing(ScoreBuilder):
        def __call__(self, *_):
            raise NumericalError("no score, on purpose")

    searcher = dataclasses.replace(sampler(SPACE), score=Refusing())
    history = History.of(SPACE, POINTS[:4], np.arange(4.0))
    found = searcher.suggest(history, searcher.initial_state(), np.random.default_rng(0))
    assert found.info == {"origin": "fallback", "why": "no score, on purpose", "model": "failed"}


@pytest.mark.parametrize("failed", [0, 3])
def test_a_chance_of_success_is_learned_once_a_point_has_failed(failed):
    model = auto(SPACE).score
    assert isinstance(model, Feasible)
    history = History.of(SPACE, POINTS[:8], np.arange(8.0), failed=POINTS[16 : 16 + failed])
    posterior = auto(SPACE).surrogate.condition(history.completed, history.values, None, np.random.default_rng(0))[0]
    plain = Improvement(LogExpectedImprovement(), model.score.incumbent)(posterior, history, np.random.default_rng(1))
    scored = model(posterior, history, np.random.default_rng(1))
    assert np.all(scored(POINTS) <= plain(POINTS))
    assert np.array_equal(scored(POINTS), plain(POINTS)) == (not failed)
    assert np.all(scored.upper_bounds(POINTS) >= scored(POINTS))
    loss = plain.upper_bounds(POINTS) - scored.upper_bounds(POINTS)  # a search by bounds passes failures by
    assert (loss.max() > 0.1) == bool(failed)


def ask_states(searcher, counts, growth=0.1):
    """Return what is kept of success after scores of the first points, for numbers of completed and failed ones."""
    every = SPACE.enumerate()[np.random.default_rng(0).permutation(32)]
    searcher, kept = dataclasses.replace(searcher, score=dataclasses.replace(searcher.score, growth=growth)), None
    for completed, failed in counts:
        history = History.of(SPACE, every[:completed], np.arange(float(completed)), failed=every[20 : 20 + failed])
        posterior = searcher.surrogate.condition(history.completed, history.values, None, np.random.default_rng(0))[0]
        score, kept = searcher.score.build_from(
            posterior, history, json.loads(json.dumps(kept)), np.random.default_rng(1)
        )
        yield kept, score


def test_what_was_learned_of_success_serves_until_either_count_has_grown():
    counts = [(10, 0), (10, 5), (10, 5), (11, 5), (11, 6), (12, 6), (13, 6), (12, 6)]
    kept = [state for state, _ in ask_states(auto(SPACE), counts, growth=0.15)]
    assert kept[0] is None  # no point has failed
    assert [state["counts"] for state in kept[1:]] == [[10, 5], [10, 5], [10, 5], [11, 6], [11, 6], [13, 6], [12, 6]]
    assert kept[1] == kept[2] == kept[3]
    assert kept[4] == kept[5]


def test_without_growth_success_is_learned_anew_each_time():
    states = list(ask_states(auto(SPACE), [(10, 5), (10, 5)], growth=0.0))
    assert [state for state, _ in states] == [None, None]
    np.testing.assert_array_equal(states[0][1](POINTS), states[1][1](POINTS))
    with pytest.raises(ValueError, match="growth: expected"):
        dataclasses.replace(auto(SPACE).score, growth=-0.1)


def test_all_points_count_between_two_fits():
    (_, before), (_, after) = ask_states(auto(SPACE), [(12, 6), (13, 6)])
    assert not np.allclose(before.scores[1](POINTS), after.scores[1](POINTS))


def test_augmented_improvement_takes_the_noise_of_the_posterior():
    """A value told with ten times the scale has a hundred times the noise; where none is known, it is log EI."""
    history = History.of(SPACE, POINTS[:8], np.arange(8.0))
    generator, model = np.random.default_rng(0), auto(SPACE).surrogate.surrogate.noisy
    posterior = model.condition(history.completed, history.values, None, generator)[0]
    scaled = model.condition(history.completed, 10.0 * history.values, None, generator)[0]
    assert posterior.noise > 0.0
    np.testing.assert_allclose(scaled.noise, 100.0 * posterior.noise, rtol=1e-4)
    incumbent = best_predicted(history, posterior)
    prediction = posterior.predict(POINTS)

    class Noiseless(Posterior):
        def predict(self, xs):
            return posterior.predict(xs)

        def find_training_means(self, xs):
            return posterior.find_training_means(xs)

    for told, expected in (
        (posterior, LogAugmentedExpectedImprovement(posterior.noise)),
        (Noiseless(), LogExpectedImprovement()),
    ):
        found = Improvement(LogAugmentedExpectedImprovement(), best_predicted)(told, history, generator)(POINTS)
        np.testing.assert_allclose(found, expected(prediction, incumbent)[0], rtol=1e-12)


def test_a_score_that_believes_points_is_that_of_a_posterior_that_does():
    searcher, values = auto(SPACE), [cost(SPACE.present(x)) for x in POINTS[::3]]
    history = History.of(SPACE, POINTS[::3], values, failed=POINTS[1:6:2])
    running = POINTS[7:9]
    posterior, _, _ = searcher.surrogate.condition(history.completed, history.values, None, np.random.default_rng(0))
    told = searcher.score(posterior, history, np.random.default_rng(0))
    expected = searcher.score(posterior.believe(running), history, np.random.default_rng(0))
    np.testing.assert_allclose(told.believe(running)(POINTS), expected(POINTS), rtol=1e-10)
    assert not np.allclose(told(POINTS), expected(POINTS))
