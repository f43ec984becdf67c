"""No data set ends a run: constant and repeated values, one point, absurd scales, outliers, through both surrogates."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.functions import ExpectedImprovement, LogExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.contracts import Array, SpaceExhausted
from bostruct.methods import auto, combo
from bostruct.study.threads import ThreadLimit

SHAPES = ("normal", "constant", "two levels", "outlier", "offset", "heavy tails", "integers")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work: threads that wait for each other cost these small matrices most of the time."""
    with ThreadLimit(1)():
        yield


def data_set(seed: int) -> tuple[bo.Space, Array, Array, np.random.Generator]:
    """A space of 1 to 6 variables of any kind, 1 to 14 points with repeats, and values of a random character."""
    rng = np.random.default_rng([seed, 2024])
    weight = float(10.0 ** rng.uniform(-8, 8))
    kinds = [bool, list("pqr"), range(4), bo.Ordinal(range(6), weight), bo.Categorical(range(int(rng.integers(2, 40))))]
    space = bo.Space({f"x{i}": kinds[rng.integers(len(kinds))] for i in range(rng.integers(1, 7))})
    n = int(rng.integers(1, 15))
    xs = space.sample(n, rng)
    if rng.random() < 0.4:
        xs = xs[rng.integers(0, n, n)]  # the same points again, with other values
    return space, xs, values_of(SHAPES[seed % len(SHAPES)], n, rng), rng


def values_of(shape: str, n: int, rng: np.random.Generator) -> Array:
    scale = float(10.0 ** rng.uniform(-12, 12))
    values = rng.normal(size=n)
    if shape == "constant":
        values = np.full(n, values[0])
    elif shape == "two levels":
        values = (values > 0).astype(float)
    elif shape == "outlier":
        values[0] = 10.0 ** rng.uniform(3, 12)
    elif shape == "offset":
        values += 10.0 ** rng.uniform(2, 14)
    elif shape == "heavy tails":
        values = rng.standard_cauchy(n) ** 3
    elif shape == "integers":
        values, scale = np.round(3 * values), 1.0
    return scale * values


def check_posterior(posterior, space: bo.Space, values: Array, rng: np.random.Generator, functions) -> None:
    """Predictions and what they are worth are finite, also once points are believed."""
    incumbent = float(values.min())
    candidates = space.join(space.sample(6, rng), posterior.xs[:4])
    for believed in (posterior, posterior.believe(candidates[:2])):
        for prediction in (believed.predict(candidates), believed.screen(candidates)):
            assert np.all(np.isfinite(prediction.mean))
            assert np.all(np.isfinite(prediction.variance))
            assert np.all(prediction.variance > 0)
            for acquisition in functions:
                assert np.all(np.isfinite(acquisition.average(acquisition(prediction, incumbent))))
                assert not np.any(np.isnan(acquisition.average(acquisition.upper_bounds(prediction, incumbent))))


def check_mode(seed: int) -> None:
    space, xs, values, rng = data_set(seed)
    surrogate = auto(space).surrogate
    posterior, state, info = surrogate.condition(xs, values, None, rng)
    assert info["fit"] == "mode"
    check_posterior(posterior, space, values, rng, [LogExpectedImprovement(), ExpectedImprovement()])
    assert surrogate.condition(xs, values, state, rng)[2]["fit"] == "kept"
    fitting = dataclasses.replace(surrogate, surrogate=dataclasses.replace(surrogate.surrogate, growth=0.0))
    assert fitting.condition(xs, values, state, rng)[2]["fit"] == "mode"


def check_chain(seed: int) -> None:
    space, xs, values, rng = data_set(seed)
    surrogate = dataclasses.replace(combo(space).surrogate, burn_in=2, samples=2)
    posterior, state, info = surrogate.condition(xs, values, None, rng)
    assert np.isfinite(info["largest_jitter"])
    check_posterior(posterior, space, values, rng, [ExpectedImprovement()])
    surrogate.condition(xs, values, state, rng)


def all_faults_raised(check, seeds) -> list[str]:
    """What went wrong, seed by seed; warnings of numpy count."""
    faults = []
    for seed in seeds:
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise"):
                check(seed)
        except (ArithmeticError, ValueError, AssertionError, RuntimeWarning) as error:
            faults.append(f"seed {seed}: {error!r}"[:300])
    return faults


@pytest.mark.parametrize(
    ("check", "first", "last"),
    [
        (check_mode, 0, 140),
        (check_chain, 0, 70),
        pytest.param(check_mode, 140, 2_000, marks=pytest.mark.slow),
        pytest.param(check_chain, 70, 3_000, marks=pytest.mark.slow),
    ],
)
def test_data_sets_are_learned_from_at_the_mode_and_by_sampling(check, first, last):
    assert all_faults_raised(check, range(first, last)) == []


def check_study(seed: int) -> None:
    """Whatever is told, NaN and infinities among it, the next ask answers with a new valid point, or says why not."""
    space, xs, values, rng = data_set(seed)
    search = dataclasses.replace(
        auto(space), n_initial=2, maximizer=LocalSearch(raw_samples=20, num_spray_points=5, num_restarts=2), n_starts=1
    )
    with bo.Study(space, method=search, seed=seed) as study:
        for x, value in zip(xs, values, strict=True):
            told = float(rng.choice([value, np.nan, np.inf], p=[0.7, 0.2, 0.1]))
            trial = study.add(space.present(x), told)
            assert trial.status == ("completed" if np.isfinite(told) else "failed")
        for told in (np.nan, 1e300, -np.inf, 0.0):
            try:
                trial = study.ask()
            except SpaceExhausted:
                return
            assert study.tell(trial, told).status == ("completed" if np.isfinite(told) else "failed")


def test_whatever_is_told_the_study_goes_on():
    assert all_faults_raised(check_study, range(25)) == []
