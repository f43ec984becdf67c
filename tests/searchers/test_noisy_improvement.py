"""Noisy expected improvement is asked where values are noisy, and another score where they are not."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.functions import LOG_EI, ExpectedImprovement
from bostruct.contracts import Array, Posterior
from bostruct.methods import auto
from bostruct.searchers.scores import AcquisitionScore, Improvement, NoisyImprovement, best_predicted, noise_share
from bostruct.study.history import History
from bostruct.surrogates.latent_draws import LatentPosterior, LatentSampler
from bostruct.testing.searcher_laws import check_searcher

SPACE = bo.Space({f"x{i}": bool for i in range(5)} | {"o": range(5)})
POINTS = SPACE.enumerate()
PLAIN = Improvement(LOG_EI, best_predicted)


def told(noise: float, n: int = 40) -> tuple[History, Any]:
    rng = np.random.default_rng(0)
    xs = POINTS[rng.choice(len(POINTS), size=n, replace=False)]
    values = xs @ np.array([1.0, -1.0, 0.5, 2.0, 0.0, 0.3]) + noise * rng.normal(size=n)
    history = History.of(SPACE, xs, values.tolist())
    model: Any = auto(SPACE)
    return history, model.surrogate.condition(history.completed, history.values, None, rng)[0]


def noisy_search(space: bo.Space, least: float = 0.1) -> Any:
    search: Any = auto(space)
    score = NoisyImprovement(search.score.score, LOG_EI, LatentSampler(8, 4), least)
    return dataclasses.replace(search, score=dataclasses.replace(search.score, score=score), n_initial=4)


def test_the_noise_that_the_model_finds_decides() -> None:
    builder = NoisyImprovement(PLAIN, LOG_EI, LatentSampler(8, 4), 0.1)
    for noise, is_noisy in ((0.0, False), (1.5, True)):
        history, posterior = told(noise)
        assert (noise_share(posterior, history) >= 0.1) == is_noisy
        rng = np.random.default_rng(3)
        score: Any = builder(posterior, history, rng)
        assert isinstance(score, AcquisitionScore)
        assert isinstance(score.posterior, LatentPosterior) == is_noisy
        if not is_noisy:  # and nothing was drawn
            np.testing.assert_array_equal(score(POINTS), PLAIN(posterior, history, rng)(POINTS))
            assert rng.random() == np.random.default_rng(3).random()


def test_points_whose_latent_value_was_drawn_are_worth_nothing_more() -> None:
    history, posterior = told(1.5)
    score = NoisyImprovement(PLAIN, LOG_EI, LatentSampler(100, 16), 0.1)(posterior, history, np.random.default_rng(0))
    own, others = score(history.completed), score(POINTS)
    assert own.max() < others.max() - 2.0


def test_a_posterior_without_noise_or_draws_has_the_plain_score() -> None:
    @dataclasses.dataclass
    class Forest(Posterior):
        """A posterior of another kind."""

        mean: Array

        def predict(self, _: Any) -> Any:
            return self

        screen = predict

    history, _ = told(0.0)
    posterior: Any = Forest(np.ones((1, 4)))
    assert noise_share(posterior, history) == 0.0
    builder = NoisyImprovement(PLAIN, LOG_EI, lambda *_: None, 0.0)
    score: Any = builder(posterior, history, np.random.default_rng(0))
    assert score.acquisition == LOG_EI
    assert score.incumbent == 1.0


def test_a_search_by_it_keeps_the_laws_of_searchers() -> None:

    def objective(point: Any) -> float:
        seed = [int(one) for one in point.values()]
        return sum(seed) + 2.0 * np.random.default_rng(seed).normal()

    def make_searcher(space: Any) -> Any:
        return noisy_search(space, 0.0)

    check_searcher(make_searcher, SPACE, objective, np.random.default_rng(0), n_trials=9)


def test_the_share_of_noise_is_one() -> None:
    with pytest.raises(ValueError, match="least_noise: expected"):
        NoisyImprovement(PLAIN, LOG_EI, LatentSampler(8, 4), 1.5)
    with pytest.raises(ValueError, match="n_draws: expected"):
        LatentSampler(8, 0)
    assert not NoisyImprovement(PLAIN, ExpectedImprovement(), LatentSampler(8, 4), 0.1).is_logarithm
