"""The laws of a surrogate, and of the posteriors that it returns."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bostruct.checks import check_part
from bostruct.contracts import (
    Array,
    Batch,
    Domain,
    Kernel,
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
    """Check every law of a surrogate (`LAWS`), and of its posterior on n random points; raise AssertionError.

    surrogate: a model of one objective over the domain.
    domain: any.
    rng: draws points, values and seeds.
    n: points told, at least 4.
    """
    xs, values = domain.sample(n, rng), SHIFT + SCALE * rng.normal(size=n)
    values.flags.writeable = False
    seed, first = int(rng.integers(2**31)), check_part("surrogate", surrogate, Surrogate).initial_state()
    assert read_back(first) == first, "the first state survives JSON"
    posterior, state = _condition(surrogate, xs, values, first, seed)
    _check_units(posterior, xs, values)
    _check_training_means(posterior, domain, xs, values)
    check_posterior(posterior, domain, rng)
    learned = Learned(xs, values, seed, posterior, state)
    for law in dict.fromkeys(LAWS.values()):
        law(surrogate, learned)
    again, same = _condition(surrogate, copy_batch(domain, xs), values, read_back(first), seed)
    assert same == state, "the state is the same for equal points, an equal state and the same seed"
    _assert_same(again, posterior, xs, "equal points that are other objects give the same posterior")
    later, _ = _condition(surrogate, xs, values, state, seed)
    reread, _ = _condition(surrogate, xs, values, read_back(state), seed)
    _assert_same(reread, later, xs, "a state read back from JSON gives the same posterior")
    check_posterior(later, domain, rng)


class Learned(NamedTuple):
    """The posterior and the state that a surrogate learned from its first state.

    xs, values: that it learned from.
    seed: of the generator.
    posterior, state: as `condition` returned them.
    """

    xs: Batch
    values: Array
    seed: int
    posterior: Posterior
    state: State


def _check_declared(surrogate: Surrogate, learned: Learned) -> None:
    assert surrogate.n_outputs is None, "a surrogate whose values are (n,) has n_outputs None"
    if learned.posterior.covariance(learned.xs[:1]) is not None:
        assert surrogate.has_covariance, "a surrogate that declares no covariances has a posterior without"


def _check_kept(surrogate: Surrogate, learned: Learned) -> None:
    """Check that what is learned at kept hyperparameters is what was learned as they were fitted."""
    kept = surrogate.condition_at(learned.xs, learned.values, read_back(learned.state))
    if kept is not None:
        _assert_same(kept, learned.posterior, learned.xs, "condition_at returns the posterior of the fit")


def _check_unknown_noise(surrogate: Surrogate, learned: Learned) -> None:
    told = surrogate.with_variances(np.full(len(learned.values), np.nan))
    unknown, same = _condition(told, learned.xs, learned.values, surrogate.initial_state(), learned.seed)
    law = "a surrogate that is told that no noise is known"
    assert same == learned.state, f"{law} learns the same state"
    _assert_same(unknown, learned.posterior, learned.xs, f"{law} learns the same posterior")


def _check_restored(surrogate: Surrogate, learned: Learned) -> None:
    """Check that units are restored of what `restore_units` is given, and that those of values near the median stay."""
    found = learned.posterior.predict(learned.xs)
    restored = surrogate.restore_units(found, learned.values)
    for array, name in zip(restored, restored._fields, strict=True):
        assert array.shape == found.mean.shape, f"the {name} that restore_units returns is (s, m)"
        assert np.all(np.isfinite(array)), f"the {name} that restore_units returns is finite"
    order = np.argsort(found.mean, axis=1, kind="stable")
    is_sorted = np.diff(np.take_along_axis(restored.mean, order, axis=1), axis=1) >= -SCALE * MEANS_ROUNDING
    assert np.all(is_sorted), "restore_units keeps the order of means"


def _check_changes(surrogate: Surrogate, learned: Learned) -> None:
    """Check that changes of a surrogate are surrogates, and that no change leaves what it learns."""
    for name, changed in (
        ("around", surrogate.around(lambda model: model)),
        ("compress_less", surrogate.compress_less()),
        ("for_slack", surrogate.for_slack(lambda model: model)),
    ):
        check_part(name, changed, Surrogate)
    same, _ = _condition(surrogate.around(lambda model: model), *learned[:2], surrogate.initial_state(), learned.seed)
    _assert_same(same, learned.posterior, learned.xs, "around with no change returns an equal surrogate")
    warped = surrogate.warp(learned.values)
    assert warped.shape == learned.values.shape, "warp returns as many values as it is given"
    ranks = np.argsort(learned.values, kind="stable")
    assert (np.diff(warped[ranks]) >= 0.0).all(), "warp keeps the order of the values"


def _check_kernels(surrogate: Surrogate, learned: Learned) -> None:
    """Check that a surrogate has kernels to change, or returns None, and is left as it is."""
    del learned
    seen: list[Kernel] = []

    def note(kernel: Kernel) -> Kernel:
        seen.append(check_part("with_kernel: the kernel", kernel, Kernel))
        return kernel

    changed = surrogate.with_kernel(note, lambda *batches: [x for batch in batches for x in batch])
    assert (changed is None) == (not seen), "with_kernel returns None if, and only if, there is no kernel to change"
    if changed is not None:
        check_part("with_kernel", changed, Surrogate)


LAWS: dict[str, Callable[[Surrogate, Learned], None]] = {  # of each member of the base, beside `condition`
    "n_outputs": _check_declared,
    "has_covariance": _check_declared,
    "condition_at": _check_kept,
    "with_variances": _check_unknown_noise,
    "restore_units": _check_restored,
    "around": _check_changes,
    "warp": _check_changes,
    "compress_less": _check_changes,
    "for_slack": _check_changes,
    "with_kernel": _check_kernels,
}


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
    """Check that the mean at the points told is that of a prediction, unless it learned from a part of them."""
    for told in (xs, copy_batch(domain, xs)):
        known, mean = posterior.find_training_means(told), posterior.predict(xs).mean
        if known.shape == mean.shape:
            rounding = MEANS_ROUNDING * float(np.ptp(values))
            assert_close(known, mean, rounding, "find_training_means is the mean of predict")


def _assert_same(found: Posterior, expected: Posterior, xs: Batch, law: str) -> None:
    assert_same_prediction(found.predict(xs), expected.predict(xs), law)
