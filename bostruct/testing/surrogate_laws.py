"""The laws of a surrogate, and of the posteriors that it returns."""

from __future__ import annotations

import copy

import numpy as np

from bostruct.checks import has_capability, may_have_covariance
from bostruct.contracts import (
    Array,
    Batch,
    Domain,
    HasCovariance,
    HasTrainingMeans,
    LearnsNoise,
    Posterior,
    State,
    Surrogate,
)
from bostruct.testing.common import assert_close, copy_batch, names_part, no_global_randomness, read_back
from bostruct.testing.posterior_laws import assert_same_prediction, check_posterior

SHIFT, SCALE = 100.0, 10.0  # of the values told: units that a model has to find out
MEANS_ROUNDING = 1e-6  # of the range of the values told
REACH = 5.0  # standard deviations of the values told, in which the predictions of their points lie


@names_part
def check_surrogate(surrogate: Surrogate, domain: Domain, rng: np.random.Generator, n: int = 12) -> None:
    """Check every law of a surrogate, and of its posterior on n random points; raise AssertionError.

    surrogate: a model of objectives over the domain.
    domain: any.
    rng: draws points, values and seeds.
    n: points told, at least 4.
    """
    xs, values = domain.sample(n, rng), SHIFT + SCALE * rng.normal(size=n)
    values.flags.writeable = False
    seed, first = int(rng.integers(2**31)), surrogate.initial_state()
    assert read_back(first) == first, "the first state survives JSON"
    posterior, state = _condition(surrogate, xs, values, first, seed)
    if has_capability(posterior, HasCovariance):
        assert may_have_covariance(surrogate), "a surrogate that declares no covariances has a posterior without"
    _check_units(posterior, xs, values)
    _check_training_means(posterior, domain, xs, values)
    check_posterior(posterior, domain, rng)
    again, same = _condition(surrogate, copy_batch(domain, xs), values, read_back(first), seed)
    assert same == state, "the state is the same for equal points, an equal state and the same seed"
    _assert_same(again, posterior, xs, "equal points that are other objects give the same posterior")
    later, _ = _condition(surrogate, xs, values, state, seed)
    reread, _ = _condition(surrogate, xs, values, read_back(state), seed)
    _assert_same(reread, later, xs, "a state read back from JSON gives the same posterior")
    check_posterior(later, domain, rng)
    if has_capability(surrogate, LearnsNoise):
        unknown, same = _condition(surrogate.with_variances(np.full(n, np.nan)), xs, values, first, seed)
        law = "a surrogate that is told that no noise is known"
        assert same == state, f"{law} learns the same state"
        _assert_same(unknown, posterior, xs, f"{law} learns the same posterior")


def _condition(surrogate: Surrogate, xs: Batch, values: Array, state: State, seed: int) -> tuple[Posterior, State]:
    """Condition a surrogate, and check that it leaves its arguments alone and that its state and info are JSON."""
    before = copy.deepcopy(state)
    with no_global_randomness():
        posterior, after, info = surrogate.condition(xs, values, state, np.random.default_rng(seed))
    assert state == before, "condition leaves the state that it was given as it is"
    assert read_back(after) == after, "the state survives JSON"
    assert read_back(info) == info, "the info survives JSON"
    return posterior, after


def _check_units(posterior: Posterior, xs: Batch, values: Array) -> None:
    mean, spread = posterior.predict(xs).mean, float(np.std(values))
    is_near = np.abs(mean - np.mean(values)) <= REACH * spread
    assert np.all(is_near), f"predictions are in the units of the values told, {SHIFT} and around: got {mean}"


def _check_training_means(posterior: Posterior, domain: Domain, xs: Batch, values: Array) -> None:
    """Check that the mean at the points told, where the posterior knows it, is that of its prediction."""
    if not has_capability(posterior, HasTrainingMeans):
        return
    assert posterior.find_training_means(copy_batch(domain, xs)) is None, (
        "find_training_means knows the batch that was told, no equal one"
    )
    if (known := posterior.find_training_means(xs)) is None:
        return
    mean = posterior.predict(xs).mean
    if known.shape == mean.shape:  # else it learned from a part of them
        assert_close(known, mean, MEANS_ROUNDING * float(np.ptp(values)), "find_training_means is the mean of predict")


def _assert_same(found: Posterior, expected: Posterior, xs: Batch, law: str) -> None:
    assert_same_prediction(found.predict(xs), expected.predict(xs), law)
