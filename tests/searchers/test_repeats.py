"""A point is asked again where one more value there is worth more than a new point."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.stats import norm

import bostruct as bo
from bostruct.contracts import Array, Suggestion
from bostruct.methods import auto, smac
from bostruct.searchers.baselines import RandomSearch
from bostruct.searchers.bayesian import choose_repeat, expected_falls, knowledge_gradients
from bostruct.study.history import History

SPACE = bo.Space({f"x{i}": bool for i in range(4)})
POINTS = SPACE.enumerate()
EFFECTS = np.array([2.0, -1.0, 1.5, -0.5])


def search(repeats: bool = True) -> Any:
    found: Any = auto(SPACE)
    return dataclasses.replace(found, repeats=repeats)


def told(noise: float, n: int = 12, variances: Array | None = None) -> History:
    rng = np.random.default_rng(0)
    xs = POINTS[rng.permutation(16)[:n]]
    values = xs @ EFFECTS + noise * rng.normal(size=n)
    return dataclasses.replace(History.of(SPACE, xs, values.tolist()), variances=variances)


def test_knowledge_gradients_are_those_of_simulated_values() -> None:
    """Conditioned on a value drawn at each point in turn, the smallest mean is that much smaller on average."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    covariance, mean, noise = root @ root.T, rng.normal(size=5), 0.7
    found = knowledge_gradients(mean[None], covariance[None], np.array([[noise]]))
    for j in range(5):
        values = mean[j] + np.sqrt(covariance[j, j] + noise) * rng.normal(size=400_000)
        after = mean + np.outer(values - mean[j], covariance[j] / (covariance[j, j] + noise))
        assert found[j] == pytest.approx(mean.min() - after.min(axis=1).mean(), abs=0.02)
    twice = knowledge_gradients(np.array([mean, mean]), np.array([covariance] * 2), np.array([[noise]] * 2))
    np.testing.assert_allclose(twice, found)


@given(st.integers(0, 2**32 - 1), st.integers(1, 17), st.booleans())
@settings(deadline=None, max_examples=30)
def test_the_expected_minimum_of_lines_is_the_integral_of_their_minimum(seed: int, m: int, is_tied: bool) -> None:
    """Rounded lines are often parallel, equal, or cross in one point."""
    rng = np.random.default_rng(seed)
    starts, slopes = rng.normal(size=m), rng.normal(size=(m, 2))
    if is_tied:
        starts, slopes = np.round(starts, 1), np.round(slopes, 1)
    z = np.linspace(-12.0, 12.0, 200_001)
    for found, one in zip(expected_falls(starts, slopes), slopes.T, strict=True):
        lowest = np.min(starts[:, None] + one[:, None] * z, axis=0)
        assert found == pytest.approx(starts.min() - trapezoid(lowest * norm.pdf(z), z), abs=1e-8)


@pytest.mark.parametrize("distance", [0.0, 1.0, 2.5, 5.0, 10.0, 30.0])
def test_a_point_that_is_unlikely_to_be_the_best_gains_its_expected_improvement(distance: float) -> None:
    """Its mean is some standard deviations above one that is known; at 2.5 of them it gains 0.00200."""
    mean, covariance = np.array([[0.0, distance]]), np.diag([0.0, 1.0])[None]
    found = knowledge_gradients(mean, covariance, np.array([[1e-300]]))
    assert found[0] == 0.0
    assert found[1] == pytest.approx(norm.pdf(distance) - distance * norm.sf(distance), rel=1e-9)


@pytest.mark.parametrize(("noise", "origin"), [(0.0, "model"), (1.0, "repeat")])
def test_exact_values_are_never_asked_again_and_noisy_ones_are(noise: float, origin: str) -> None:
    """The one point that is new is the worst."""
    rng = np.random.default_rng(0)
    xs = POINTS[np.argsort(POINTS @ EFFECTS)[:15]]
    history = History.of(SPACE, xs, (xs @ EFFECTS + noise * rng.normal(size=15)).tolist())
    history, one = dataclasses.replace(history, variances=np.full(15, noise**2)), search()
    found = one.suggest(history, one.initial_state(), rng)
    assert found.info["origin"] == origin
    assert (SPACE.key(found.point) in history.seen) == (origin == "repeat")


def test_a_value_that_was_told_exactly_the_second_time_is_not_asked_again() -> None:
    """Once all points are seen, the rule asks any point that is not exact, however small its gain."""
    rng = np.random.default_rng(0)
    xs, values, variances = np.concatenate([POINTS, POINTS[:1]]), np.append(np.arange(16.0), 0.0), np.zeros(17)
    variances[0] = 1.0
    posterior = search().surrogate.with_variances(variances).condition(xs, values, None, rng)[0]
    history = dataclasses.replace(History.of(SPACE, xs, values.tolist()), variances=variances)
    assert choose_repeat(SPACE, posterior, history, None) is None
    once = dataclasses.replace(History.of(SPACE, POINTS, values[:16].tolist()), variances=variances[:16])
    assert SPACE.key(choose_repeat(SPACE, posterior, once, None)) == SPACE.key(POINTS[0])


def test_a_repeat_among_the_first_values_does_not_hide_which_point_is_exact() -> None:
    """Only the last point is not exact; positions among distinct points are not those among values."""
    rng = np.random.default_rng(0)
    xs, values, variances = np.concatenate([POINTS[:1], POINTS]), np.append(0.0, np.arange(16.0)), np.zeros(17)
    variances[-1] = 1.0
    posterior = search().surrogate.with_variances(variances).condition(xs, values, None, rng)[0]
    history = dataclasses.replace(History.of(SPACE, xs, values.tolist()), variances=variances)
    assert SPACE.key(choose_repeat(SPACE, posterior, history, None)) == SPACE.key(POINTS[-1])


def draw_two_best(position: int, rng: np.random.Generator) -> tuple[Any, Any, int]:
    """Return values of all points, two of them equal and best, their variances, and where the noisier of the two is."""
    values, variances = rng.normal(size=16), np.full(16, 1e-6)
    best = np.argsort(values)[:2]
    values[best], variances[best[position]] = -3.0, 1.0
    return values, variances, int(best[position])


@pytest.mark.parametrize("position", [0, 1])
def test_a_point_known_worse_is_asked_again(position: int) -> None:
    """Of two points of equal values, the one whose value had more noise."""
    rng = np.random.default_rng(0)
    values, variances, noisier = draw_two_best(position, rng)
    posterior = search().surrogate.with_variances(variances).condition(POINTS, values, None, rng)[0]
    again = choose_repeat(SPACE, posterior, History.of(SPACE, POINTS, values.tolist()), POINTS[np.argmax(values)])
    assert again is not None
    np.testing.assert_array_equal(again, POINTS[noisier])


def test_without_the_option_nothing_is_repeated() -> None:
    plain, history = search(False), told(2.0, variances=np.full(12, 4.0))
    assert plain == auto(SPACE)
    found = plain.suggest(history, plain.initial_state(), np.random.default_rng(1))
    assert SPACE.key(found.point) not in history.seen
    with pytest.raises(TypeError, match="repeats: expected True or False"):
        dataclasses.replace(plain, repeats="auto")


def test_of_several_outputs_nothing_is_repeated() -> None:
    """The best mean of the first objective may break a limit."""
    history = told(2.0, n=15)
    posterior = search().surrogate.condition(history.completed, history.values, None, np.random.default_rng(0))[0]
    assert choose_repeat(SPACE, posterior, history, POINTS[0]) is not None
    limited = dataclasses.replace(history, violations=np.ones((15, 1)))
    assert choose_repeat(SPACE, posterior, limited, POINTS[0]) is None


def test_a_model_without_covariances_repeats_nothing() -> None:
    forest: Any = smac(SPACE)
    forest, history = dataclasses.replace(forest, repeats=True, n_initial=4), told(2.0)
    found = forest.suggest(history, forest.initial_state(), np.random.default_rng(0))
    assert found.info["origin"] == "model"


def test_a_study_asks_a_point_again_where_its_searcher_may() -> None:
    noise = np.random.default_rng(0)

    def objective(point: Any) -> float:
        return float(np.dot(list(point.values()), EFFECTS)) + 3.0 * noise.normal()

    result = bo.minimize(objective, SPACE, 15, method=search(), seed=0, progress=False)
    asked = [tuple(trial.point.values()) for trial in result.trials]
    repeats = [trial for trial in result.trials if trial.origin == "repeat"]
    assert len(set(asked)) == 15 - len(repeats) < 15


@pytest.mark.parametrize("n_bits", [2, 4])
def test_once_all_points_are_seen_a_study_goes_on_with_repeats(n_bits: int) -> None:
    """Of four points, fewer than the initial design has, and of sixteen."""
    noise, space = np.random.default_rng(0), bo.Space({f"x{i}": bool for i in range(n_bits)})

    def objective(point: Any) -> float:
        return float(np.dot(list(point.values()), EFFECTS[:n_bits])) + 5.0 * noise.normal()

    result = bo.minimize(objective, space, 24, repeats="auto", seed=0, progress=False)
    assert len(result.trials) == 24
    asked = [tuple(trial.point.values()) for trial in result.trials]
    assert len(set(asked)) == 24 - sum(trial.origin == "repeat" for trial in result.trials)


@pytest.mark.parametrize("position", [0, 1])
def test_once_all_points_are_seen_the_one_of_the_largest_gain_is_asked_again(position: int) -> None:
    """Of two best points of equal values, the one whose value had more noise."""
    rng = np.random.default_rng(0)
    values, variances, noisier = draw_two_best(position, rng)
    history = dataclasses.replace(History.of(SPACE, POINTS, values.tolist()), variances=variances)
    found = search().suggest(history, search().initial_state(), rng)
    assert found.info["origin"] == "repeat"
    np.testing.assert_array_equal(found.point, POINTS[noisier])


def test_values_that_are_all_exact_end_with_the_space() -> None:
    """So does a model that does not know what a repeat is worth."""
    history = History.of(SPACE, POINTS, (POINTS @ EFFECTS).tolist())
    exact = dataclasses.replace(history, variances=np.zeros(16))
    forest: Any = dataclasses.replace(smac(SPACE), repeats=True)
    for searcher, told_all in ((search(), exact), (search(False), history), (forest, history)):
        with pytest.raises(bo.SpaceExhausted, match="all 16 points"):
            searcher.suggest(told_all, searcher.initial_state(), np.random.default_rng(0))


def test_a_study_refuses_a_repeat_of_a_searcher_that_may_not() -> None:
    @dataclasses.dataclass(frozen=True)
    class Stubborn(RandomSearch):
        repeats: bool = False

        def suggest(self, history: Any, state: Any, rng: Any) -> Suggestion:
            del rng
            return Suggestion(POINTS[3], state, {"origin": "repeat" if len(history.seen) else "random"})

    study = bo.Study(SPACE, method=Stubborn(SPACE, repeats=True), seed=0)
    assert study.ask().point == study.ask().point
    study = bo.Study(SPACE, method=Stubborn(SPACE), seed=0)
    study.ask()
    with pytest.raises(bo.BostructError, match="suggested a point that was seen before"):
        study.ask()
