"""The laws of acquisition functions, score builders, and maximizers, tested with synthetic scores."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from bostruct.checks import check_part, short_repr
from bostruct.contracts import (
    AcquisitionFunction,
    Array,
    Batch,
    Domain,
    Feasibility,
    Info,
    Json,
    Maximizer,
    Prediction,
    Score,
    ScoreBuilder,
    Surrogate,
)
from bostruct.study.history import History
from bostruct.testing.batch_laws import keys_of
from bostruct.testing.capability_laws import check_valid
from bostruct.testing.common import (
    assert_close,
    check_array,
    copy_batch,
    names_part,
    no_global_randomness,
    read_back,
    sample_changes,
)
from bostruct.testing.gradient_laws import check_acquisition_gradient

Law: TypeAlias = Callable[[AcquisitionFunction, Prediction, float, np.random.Generator], None]
UNLESS = ", because values are minimized (minimizes=False for an acquisition function with another goal)"
TINY = 1e-12  # relative to 1 and to the acquisition value: tolerance of rounding


@names_part
def check_acquisition(
    acquisition: AcquisitionFunction, rng: np.random.Generator, s: int = 3, m: int = 40, minimizes: bool = True
) -> None:
    """Check every law of an acquisition function (`LAWS`), and its derivatives.

    Parameters
    ----------
    acquisition : AcquisitionFunction
        The acquisition function; larger values are better.
    rng : Generator
        Generator of random predictions.
    s : int, default 3
        Number of posterior samples, at least 2.
    m : int, default 40
        Number of points, at least 2.
    minimizes : bool, default True
        True if a lower mean or a larger incumbent never decreases the acquisition value. False if the function does not
        search for small values, but for a level, for example.

    Raises
    ------
    AssertionError
        If a law is violated.
    """
    check_acquisition_gradient(check_part("acquisition", acquisition, AcquisitionFunction), rng)
    assert isinstance(acquisition.is_logarithm, bool), "is_logarithm is True or False"
    for spread in (1.0, 100.0):
        mean, variance = spread * rng.normal(size=(s, m)), spread**2 * rng.uniform(0.01, 2.0, size=(s, m))
        prediction = Prediction(_read_only(mean), _read_only(variance))
        incumbent = spread * float(rng.normal())
        if minimizes:
            _check_direction(acquisition, prediction, incumbent, spread)
        for law in LAWS.values():
            law(acquisition, prediction, incumbent, rng)


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _check_value_form(
    acquisition: AcquisitionFunction, prediction: Prediction, incumbent: float, rng: np.random.Generator
) -> None:
    del rng
    shape = prediction.mean.shape
    for what, found in (
        ("an acquisition value", acquisition(prediction, incumbent)),
        ("a bound", acquisition.upper_bounds(prediction, incumbent)),
    ):
        found = check_array(found, 2, f"{what} is (s, m)")
        assert found.shape == shape, f"{what} is (s, m): expected {shape}, got {found.shape}"
        assert not np.any(np.isnan(found)), f"{what} is a number"
    value = acquisition(prediction, incumbent)
    alone = acquisition(Prediction(prediction.mean[:, :1], prediction.variance[:, :1]), incumbent)
    assert_close(alone, value[:, :1], _rounding(value[:, :1]), "the value of a point does not depend on the others")


def _check_direction(acquisition: AcquisitionFunction, prediction: Prediction, incumbent: float, spread: float) -> None:
    mean, variance = prediction
    value = acquisition(prediction, incumbent)
    for step in (0.01, 1.0):
        lower = acquisition(Prediction(mean - step * spread, variance), incumbent)
        assert _is_above(lower, value), f"a lower mean never decreases the acquisition value{UNLESS}"
        easier = acquisition(prediction, incumbent + step * spread)
        assert _is_above(easier, value), f"a larger incumbent never decreases the acquisition value{UNLESS}"


def _check_bounds(
    acquisition: AcquisitionFunction, prediction: Prediction, incumbent: float, rng: np.random.Generator
) -> None:
    spread = float(np.std(prediction.mean))
    value, bounds = acquisition(prediction, incumbent), acquisition.upper_bounds(prediction, incumbent)
    law = "upper_bounds are never below the value of the same prediction"
    assert np.all(bounds >= value), f"{law}: {_first_below(bounds, value)}"
    for step in (1e-3, 0.1, 3.0):
        shape = value.shape
        mean = prediction.mean - step * spread * rng.uniform(size=shape) * (rng.random(shape) < 0.7)
        variance = prediction.variance + step * spread**2 * rng.uniform(size=shape) * (rng.random(shape) < 0.7)
        wider = acquisition.upper_bounds(Prediction(mean, variance), incumbent)
        law = "upper_bounds of lower means and larger variances are never below the value"
        assert _is_above(wider, value), f"{law}: {_first_below(wider, value)}"


def _check_average(
    acquisition: AcquisitionFunction, prediction: Prediction, incumbent: float, rng: np.random.Generator
) -> None:
    value = acquisition(prediction, incumbent)
    found = check_array(acquisition.average(_read_only(value.copy())), 1, "average returns one value per point (m,)")
    assert found.shape == value.shape[1:], f"an average is (m,): expected {value.shape[1:]}, got {found.shape}"
    expected = AcquisitionFunction.average(acquisition, value)
    law = "the logarithm of the average value" if acquisition.is_logarithm else "the average value"
    assert_close(found, expected, 1e3 * _rounding(value), f"average returns {law} over samples")
    mixed = acquisition.average(value[rng.permutation(len(value))])
    assert_close(mixed, found, 1e3 * _rounding(value), "average does not depend on the order of samples")


def _check_with_noise(
    acquisition: AcquisitionFunction, prediction: Prediction, incumbent: float, rng: np.random.Generator
) -> None:
    noise = prediction.variance[:, :1] * rng.uniform(size=(len(prediction.mean), 1))
    noisy = check_part("with_noise", acquisition.with_noise(_read_only(noise)), AcquisitionFunction)
    _check_value_form(noisy, prediction, incumbent, rng)
    _check_bounds(noisy, prediction, incumbent, rng)
    replaced = acquisition.with_noise(_read_only(2.0 * noise)).with_noise(noise)
    value, again = noisy(prediction, incumbent), replaced(prediction, incumbent)
    assert_close(again, value, _rounding(value), "with_noise replaces the previous noise")
    assert noisy.is_logarithm == acquisition.is_logarithm, "with_noise returns a function on the same scale"


def _is_above(found: Array, expected: Array) -> bool:
    finite = np.where(np.isfinite(expected), expected, 0.0)
    is_near = np.isfinite(expected) & (found >= finite - TINY * (1.0 + np.abs(finite)))
    return bool(np.all((found >= expected) | is_near))


def _first_below(found: Array, expected: Array) -> str:
    place = tuple(int(i) for i in np.argwhere(~(found >= expected))[0])
    return f"expected at least {expected[place]}, got {found[place]} at {place}"


def _rounding(value: Array) -> float:
    return TINY * (1.0 + float(np.max(np.abs(value), where=np.isfinite(value), initial=0.0)))


LAWS: dict[str, Law] = {  # for each member of the base class, except the direction and the derivatives
    "__call__": _check_value_form,
    "upper_bounds": _check_bounds,
    "average": _check_average,
    "with_noise": _check_with_noise,
}


@names_part
def check_maximizer(maximizer: Maximizer, domain: Domain, rng: np.random.Generator, n_starts: int = 4) -> None:
    """Check every law of a maximizer.

    A maximizer that needs starting points may raise a ValueError that names `starts` if there are none.

    Parameters
    ----------
    maximizer : Maximizer
        The maximizer to test.
    domain : Domain
        A domain that the maximizer supports.
    rng : Generator
        Generator of starting points, scores and seeds.
    n_starts : int, default 4
        Number of starting points, at least 2.

    Raises
    ------
    AssertionError
        If a law is violated; the message states the law.
    """
    check_part("maximizer", maximizer, Maximizer)
    starts, seed = domain.sample(n_starts, rng), int(rng.integers(2**31))
    for levels in (1_000, 3):
        score = RandomScore(domain, seed, levels, 0.3 * levels)
        found = _maximize(maximizer, score, domain, starts, seed)
        _check_maxima(score, domain, found)
        copied = _maximize(maximizer, score, domain, copy_batch(domain, starts), seed)
        assert copied[0] == found[0], "equal starts that are other objects lead to the same points"
        unbounded = _maximize(maximizer, RandomScore(domain, seed, levels, np.inf), domain, starts, seed)
        assert unbounded[0] == found[0], "bounds do not change the result"
        pair = sample_changes(domain, starts, 2, rng)
        if pair is not None:
            both = [_maximize(maximizer, score, domain, batch, seed)[0] for batch in pair]
            assert both[0] == both[1], "starts that are single changes lead to the same points as a plain batch"
    score = RandomScore(domain, seed, 1_000, 300.0)
    try:
        found = _maximize(maximizer, score, domain, domain.join(), seed)
    except ValueError as error:
        if not str(error).startswith("starts:"):  # allowed for a maximizer that needs starting points
            raise
    else:
        _check_maxima(score, domain, found)


def _maximize(
    maximizer: Maximizer, score: RandomScore, domain: Domain, starts: Batch, seed: int
) -> tuple[list[Any], Info, Any]:
    """Return the keys of the found points, the record, and the points; check that nothing else changes."""
    before, runs = keys_of(domain, starts), []
    recorded = [RecordedScore(score, domain) for _ in range(2)]
    for one in recorded:
        with no_global_randomness():
            runs.append(maximizer(one, domain, starts, np.random.default_rng(seed)))
    for found in runs:
        is_pair = isinstance(found, tuple) and len(found) == 2
        assert is_pair, f"a maximizer returns points and their info: got {short_repr(found)}"
    (points, info), (again, _) = runs
    keys = domain.keys(points)
    assert keys_of(domain, starts) == before, "a maximizer does not change the starts"
    assert domain.keys(again) == keys, "the same seed leads to the same points"
    is_same = recorded[0].scored == recorded[1].scored
    assert is_same, "the same seed scores the same points: all randomness comes from the generator"
    assert read_back(info) == info, f"the info survives JSON: {short_repr(info)} does not"
    return keys, info, points


def _check_maxima(score: RandomScore, domain: Domain, found: tuple[list[Hashable], Info, Batch]) -> None:
    keys, info, points = found
    assert len(keys), "a maximizer returns at least one point"
    check_valid(domain, points, "a maximizer")
    assert len(set(keys)) == len(keys), "each point is returned once"
    scores = score(points)
    assert np.all(np.diff(scores) <= 0.0), f"points are returned best first: got the scores {scores.tolist()}"
    if "best_score" in info:
        assert_close(info["best_score"], scores[0], 0.0, "best_score is the score of the first point")


def check_score_builder(builder: ScoreBuilder, domain: Domain, surrogate: Surrogate, rng: np.random.Generator) -> None:
    """Check every law of a builder of scores, on a short history of random values.

    Parameters
    ----------
    builder : ScoreBuilder
        The builder to test.
    domain : Domain
        A domain with at least eight points.
    surrogate : Surrogate
        The surrogate that provides posteriors.
    rng : Generator
        Generator of points and values.

    Raises
    ------
    AssertionError
        If a law is violated.
    """
    check_part("builder", builder, ScoreBuilder)
    xs, values = domain.sample_candidates(8, domain.join(), rng), rng.normal(size=8)
    values = values[: len(xs)]
    posterior = surrogate.condition(xs, values, surrogate.initial_state(), rng)[0]
    history = History.of(domain, xs, values, failed=domain.sample(3, rng))
    seed, probes, state = int(rng.integers(2**32)), domain.sample(20, rng), None
    for step in ("first", "next"):
        with no_global_randomness():
            built = [builder.build_from(posterior, history, state, np.random.default_rng(seed)) for _ in range(2)]
        (score, state), (again, _) = built
        scores = check_array(check_part("score", score, Score)(probes), 1, f"the {step} score is (m,)")
        assert scores.shape == (20,), f"a score is (m,): expected (20,), got {scores.shape}"
        assert not np.isnan(scores).any(), "a score is a number, or -inf"
        assert np.array_equal(again(probes), scores), "the same seed builds the same score"
        assert read_back(state) == state, f"the state survives JSON: {short_repr(state)} does not"
        feasible = builder.learn_feasibility(posterior, history, state, np.random.default_rng(seed))
        if feasible is not None:
            check_part("learn_feasibility", feasible, Feasibility)
    called = builder(posterior, history, np.random.default_rng(seed))(probes)
    first = builder.build_from(posterior, history, None, np.random.default_rng(seed))[0]
    assert np.array_equal(first(probes), called), "build_from without a state builds the score of a call"


class RecordedScore(Score):
    """A score that records the points it is called with, in order."""

    def __init__(self, score: Score, domain: Domain) -> None:
        self.score, self.domain = score, domain
        self.scored: list[Hashable] = []

    def __call__(self, xs: Batch) -> Array:
        self.scored += self.domain.keys(xs)
        return self.score(xs)

    def upper_bounds(self, xs: Batch) -> Array:
        self.scored += self.domain.keys(xs)
        return self.score.upper_bounds(xs)


@dataclass(frozen=True, eq=False)
class RandomScore(Score):
    """A random score for any domain: a checksum of the point's JSON, in 0..levels - 1.

    seed: seed of at most 32 bits.
    levels: number of different scores, at least 1; with few levels, equal scores are frequent.
    slack: maximum difference between a bound and the score, at least 0.
    """

    domain: Domain
    seed: int
    levels: int = 1_000
    slack: float = 0.0

    def __call__(self, xs: Batch) -> Array:
        return np.array([self._digest(self.domain.encode(x), 0) for x in xs], dtype=np.float64)

    def upper_bounds(self, xs: Batch) -> Array:
        """Return the scores, each plus a share of the slack (m,)."""
        shares = np.array([1 + self._digest(self.domain.encode(x), 1) for x in xs], dtype=np.float64) / self.levels
        return self(xs) + self.slack * shares

    def _digest(self, data: Json, salt: int) -> int:
        return zlib.crc32(json.dumps([self.seed, salt, data]).encode()) % self.levels
