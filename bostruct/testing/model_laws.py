"""The laws of a model: of a surrogate, and of its posteriors, with their bounds, conditioning and covariances."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bostruct.checks import check_part
from bostruct.contracts import Array, Batch, Domain, Feasibility, Kernel, Posterior, Prediction, State, Surrogate
from bostruct.testing.common import (
    assert_close,
    check_array,
    copy_batch,
    names_part,
    no_global_randomness,
    read_back,
    sample_changes,
)
from bostruct.testing.gradient_laws import check_prediction_gradient

ROUNDING = 1e-7  # relative to the largest variance; includes jitter
CHANCE_ROUNDING = 1e-4  # of the log probability, by which a bound may exceed 0
SHIFT, SCALE = 100.0, 10.0  # of the observed values: units that a model must adapt to
MEANS_ROUNDING = 1e-6  # relative to the range of the observed values
REACH = 5.0  # maximum distance of predictions at the observed points, in standard deviations of the values
Law: TypeAlias = Callable[[Posterior, Domain, Batch, np.random.Generator], None]


@names_part
def check_surrogate(surrogate: Surrogate, domain: Domain, rng: np.random.Generator, n: int = 12) -> None:
    """Check every law of a surrogate (`SURROGATE_LAWS`), and of its posterior on n random points.

    Parameters
    ----------
    surrogate : Surrogate
        A surrogate of one objective on the domain.
    domain : Domain
        The domain of the points.
    rng : Generator
        Generator of points, values and seeds.
    n : int, default 12
        Number of observed points, at least 4.

    Raises
    ------
    AssertionError
        If a law is violated.
    """
    xs, values = domain.sample(n, rng), SHIFT + SCALE * rng.normal(size=n)
    values.flags.writeable = False
    seed, first = int(rng.integers(2**31)), check_part("surrogate", surrogate, Surrogate).initial_state()
    assert read_back(first) == first, "the first state survives JSON"
    posterior, state = _condition(surrogate, xs, values, first, seed)
    mean, spread = posterior.predict(xs).mean, float(np.std(values))
    is_near = np.abs(mean - np.mean(values)) <= REACH * spread
    assert np.all(is_near), f"predictions are in the units of the observed values, around {SHIFT}: got {mean}"
    _check_training_means(posterior, domain, xs, values)
    check_posterior(posterior, domain, rng)
    learned = Learned(xs, values, seed, posterior, state)
    _check_left_out(learned)
    for law in dict.fromkeys(SURROGATE_LAWS.values()):
        law(surrogate, learned)
    again, same = _condition(surrogate, copy_batch(domain, xs), values, read_back(first), seed)
    assert same == state, "the state is the same for equal points, an equal state and the same seed"
    _assert_equal_posteriors(again, posterior, xs, "equal points that are other objects give the same posterior")
    later, _ = _condition(surrogate, xs, values, state, seed)
    reread, _ = _condition(surrogate, xs, values, read_back(state), seed)
    _assert_equal_posteriors(reread, later, xs, "a state read back from JSON gives the same posterior")
    check_posterior(later, domain, rng)


class Learned(NamedTuple):
    """The posterior and the state of a surrogate after its initial state."""

    xs: Batch
    values: Array
    seed: int
    posterior: Posterior
    state: State


def _condition(surrogate: Surrogate, xs: Batch, values: Array, state: State, seed: int) -> tuple[Posterior, State]:
    """Condition a surrogate; check that it does not change its arguments and that its state and info are JSON."""
    before = copy.deepcopy(state)
    with no_global_randomness():
        posterior, after, info = surrogate.condition(xs, values, state, np.random.default_rng(seed))
    assert state == before, "condition does not change its argument state"
    assert read_back(after) == after, "the state survives JSON"
    assert read_back(info) == info, "the info survives JSON"
    return posterior, after


def _check_training_means(posterior: Posterior, domain: Domain, xs: Batch, values: Array) -> None:
    """Check that the mean at the observed points is the predicted mean, unless only some points were used."""
    for observed in (xs, copy_batch(domain, xs)):
        known, mean = posterior.find_training_means(observed), posterior.predict(xs).mean
        if known.shape == mean.shape:
            rounding = MEANS_ROUNDING * float(np.ptp(values))
            assert_close(known, mean, rounding, "find_training_means is the mean of predict")


def _check_declared(surrogate: Surrogate, learned: Learned) -> None:
    assert surrogate.n_outputs is None, "a surrogate whose values are (n,) has n_outputs None"
    if learned.posterior.covariance(learned.xs[:1]) is not None:
        assert surrogate.has_covariance, "a surrogate that declares no covariances has a posterior without"


def _check_left_out(learned: Learned) -> None:
    """Check that leave-one-out results contain the observed values."""
    if (held_out := learned.posterior.leave_one_out()) is None:
        return
    least, most = float(np.min(learned.values)), float(np.max(learned.values))
    rounding = MEANS_ROUNDING * (most - least)
    are_observed = (held_out.values >= least - rounding) & (held_out.values <= most + rounding)
    assert np.all(are_observed), f"leave_one_out returns the observed values: got {held_out.values}"
    assert len(held_out.xs) <= len(learned.xs), "leave_one_out returns a value for each observed point, or for some"


def _check_kept(surrogate: Surrogate, learned: Learned) -> None:
    """Check that conditioning with stored hyperparameters gives the same posterior as the fit."""
    kept = surrogate.condition_at(learned.xs, learned.values, read_back(learned.state))
    if kept is not None:
        _assert_equal_posteriors(kept, learned.posterior, learned.xs, "condition_at returns the posterior of the fit")


def _check_unknown_noise(surrogate: Surrogate, learned: Learned) -> None:
    changed = surrogate.with_variances(np.full(len(learned.values), np.nan))
    unknown, same = _condition(changed, learned.xs, learned.values, surrogate.initial_state(), learned.seed)
    law = "a surrogate with_variances of NaN, unknown noise,"
    assert same == learned.state, f"{law} learns the same state"
    _assert_equal_posteriors(unknown, learned.posterior, learned.xs, f"{law} learns the same posterior")


def _check_restored(surrogate: Surrogate, learned: Learned) -> None:
    """Check that `restore_units` restores the units of its argument, finite and in the order of the means."""
    found = learned.posterior.predict(learned.xs)
    restored = surrogate.restore_units(found, learned.values)
    for array, name in zip(restored, restored._fields, strict=True):
        assert array.shape == found.mean.shape, f"the {name} that restore_units returns is (s, m)"
        assert np.all(np.isfinite(array)), f"the {name} that restore_units returns is finite"
    order = np.argsort(found.mean, axis=1, kind="stable")
    is_sorted = np.diff(np.take_along_axis(restored.mean, order, axis=1), axis=1) >= -SCALE * MEANS_ROUNDING
    assert np.all(is_sorted), "restore_units keeps the order of means"


def _assert_equal_posteriors(found: Posterior, expected: Posterior, xs: Batch, law: str) -> None:
    assert_same_prediction(found.predict(xs), expected.predict(xs), law)


def _check_surrogate_changes(surrogate: Surrogate, learned: Learned) -> None:
    """Check that modified surrogates are surrogates, and that each modification affects the posterior."""
    for name, changed in (
        ("around", surrogate.around(lambda model: model)),
        ("compress_less", surrogate.compress_less()),
        ("on_all_variables", surrogate.on_all_variables()),
        ("for_violation", surrogate.for_violation(lambda model: model)),
    ):
        check_part(name, changed, Surrogate)
    same, _ = _condition(surrogate.around(lambda model: model), *learned[:2], surrogate.initial_state(), learned.seed)
    _assert_equal_posteriors(same, learned.posterior, learned.xs, "around with no change returns an equal surrogate")
    warped = surrogate.warp(learned.values)
    assert warped.shape == learned.values.shape, "warp returns as many values as it is given"
    ranks = np.argsort(learned.values, kind="stable")
    assert (np.diff(warped[ranks]) >= 0.0).all(), "warp keeps the order of the values"


def _check_kernels(surrogate: Surrogate, learned: Learned) -> None:
    """Check that a surrogate has replaceable kernels or returns None, and is not changed."""
    del learned
    seen: list[Kernel] = []

    def note(kernel: Kernel) -> Kernel:
        seen.append(check_part("with_kernel: the kernel", kernel, Kernel))
        return kernel

    changed = surrogate.with_kernel(note, lambda *batches: [x for batch in batches for x in batch])
    assert (changed is None) == (not seen), "with_kernel returns None if and only if there is no kernel to change"
    if changed is not None:
        check_part("with_kernel", changed, Surrogate)


SURROGATE_LAWS: dict[str, Callable[[Surrogate, Learned], None]] = {  # all members except `condition`
    "n_outputs": _check_declared,
    "has_covariance": _check_declared,
    "condition_at": _check_kept,
    "with_variances": _check_unknown_noise,
    "restore_units": _check_restored,
    "around": _check_surrogate_changes,
    "warp": _check_surrogate_changes,
    "compress_less": _check_surrogate_changes,
    "on_all_variables": _check_surrogate_changes,
    "for_violation": _check_surrogate_changes,
    "with_kernel": _check_kernels,
}


@names_part
def check_feasibility(feasibility: Feasibility, domain: Domain, rng: np.random.Generator, m: int = 7) -> None:
    """Check every law of a model of the probability of success.

    Parameters
    ----------
    feasibility : Feasibility
        The model to test.
    domain : Domain
        The domain of the points.
    rng : Generator
        Generator of points.
    m : int, default 7
        Number of random points, at least 3.

    Raises
    ------
    AssertionError
        If a law is violated; the message states the law.
    """
    check_part("feasibility", feasibility, Feasibility)
    xs = domain.sample(m, rng)
    found = check_array(feasibility.log_probability(xs), 1, "log_probability returns a logarithm for each point (m,)")
    assert found.shape == (m,), f"log_probability returns a logarithm for each point: got {found.shape}"
    assert not np.any(np.isnan(found)), "log_probability is a number"
    assert np.all(found <= 0.0), f"log_probability is the logarithm of a probability, at most 0: got {found.max()}"
    assert_close(
        feasibility.log_probability(copy_batch(domain, xs)), found, ROUNDING, "equal points have equal log_probability"
    )
    alone = feasibility.log_probability(domain.take(xs, [m - 1]))
    assert_close(alone, found[-1:], ROUNDING, "log_probability of a point does not depend on the others")
    bounds = feasibility.log_probability_bound(xs)
    assert np.shape(bounds) == (m,), f"log_probability_bound returns one bound for each point: got {np.shape(bounds)}"
    is_bound = np.all(bounds >= found - ROUNDING) and np.all(bounds <= CHANCE_ROUNDING)
    assert is_bound, "log_probability_bound is never below log_probability, and at most 0"
    if (varied := feasibility.log_probability_vjp(xs)) is not None:
        law = "log_probability_vjp at a point's own shares is log_probability"
        assert_close(varied(domain.shares(xs))[0], found, 1e3 * ROUNDING, law)


@names_part
def check_posterior(posterior: Posterior, domain: Domain, rng: np.random.Generator, m: int = 7) -> None:
    """Check `POSTERIOR_LAWS`, and that overridden members agree with the defaults of the base class.

    Parameters
    ----------
    posterior : Posterior
        A posterior of an objective on the domain.
    domain : Domain
        The domain of the points.
    rng : Generator
        Generator of points.
    m : int, default 7
        Number of random points, at least 3.

    Raises
    ------
    AssertionError
        If a law is violated.
    """
    xs = domain.sample(m, rng)
    for law in dict.fromkeys(POSTERIOR_LAWS.values()):
        law(check_part("posterior", posterior, Posterior), domain, xs, rng)


# Bounds; the defaults of the base class must also hold for every posterior.
BOUNDS: dict[str, tuple[float, Callable[[Posterior, Batch], Prediction]]] = {
    "screen": (-1.0, lambda posterior, xs: posterior.screen(xs)),
    "bound": (-1.0, lambda posterior, xs: posterior.bound(xs)),
    "upper_bound": (1.0, lambda posterior, xs: posterior.upper_bound(xs)),
    "the default screen": (-1.0, Posterior.screen),
    "the default upper_bound": (1.0, Posterior.upper_bound),
}


def _check_beliefs(posterior: Posterior, domain: Domain, xs: Batch, rng: np.random.Generator) -> None:
    running = domain.sample(3, rng)
    check_beliefs(posterior, domain, xs, running)
    believed = posterior.believe(running)
    check_prediction(believed, domain, xs, rng)
    check_screen(believed, domain, xs, rng)


def _check_covariances(posterior: Posterior, domain: Domain, xs: Batch, rng: np.random.Generator) -> None:
    if posterior.covariance(xs) is not None:
        check_covariance(posterior, domain, domain.join(xs, xs[:2]), rng)


def _check_shares(posterior: Posterior, domain: Domain, xs: Batch, rng: np.random.Generator) -> None:
    if domain.n_continuous > 0 and posterior.input_vjp(xs) is not None:
        check_prediction_gradient(posterior, domain, xs, rng)


def _check_posterior_form(posterior: Posterior, domain: Domain, xs: Batch, rng: np.random.Generator) -> None:
    """Check the form of noise, outputs, averages, leave-one-out results, and means at unobserved points."""
    del domain, rng
    found = posterior.predict(xs)
    s, largest = len(found.mean), float(np.sqrt(found.variance.max()))
    if (noise := posterior.noise) is not None:
        assert np.shape(noise) == (s, 1), f"noise is (s, 1): expected {(s, 1)}, got {np.shape(noise)}"
        is_sound = np.isfinite(noise) & (noise >= 0.0)
        assert np.all(is_sound), "noise is finite and at least 0"
    assert len(posterior.outputs), "a posterior has one output or more"
    assert_same_prediction(posterior.outputs[0].predict(xs), found, "predict is the prediction of the first output")
    first = Prediction(*(array[:s] for array in posterior.average_models().predict(xs)))
    assert_same_prediction(first, found, "average_models adds samples to those of predict")
    if (held_out := posterior.leave_one_out()) is not None:
        shape = s, len(held_out.xs)
        assert np.shape(held_out.values) == shape[1:], "leave_one_out returns a value for each training point"
        for array, name in zip(held_out.prediction, found._fields, strict=True):
            assert array.shape == shape, f"the {name} of leave_one_out is (s, n): expected {shape}, got {array.shape}"
            assert np.all(np.isfinite(array)), f"the {name} of leave_one_out is finite"
        known = posterior.predict(held_out.xs).variance
        is_wider = np.all(held_out.prediction.variance >= (1.0 - ROUNDING) * known)
        assert is_wider, "a variance of leave_one_out is never below the variance of predict"
    means, expected = posterior.find_training_means(xs), Posterior.find_training_means(posterior, xs)
    law = "find_training_means of new points, as objects, are the means of screen"
    assert_close(means, expected, ROUNDING * largest, law)


def check_prediction(posterior: Posterior, domain: Domain, xs: Batch, rng: np.random.Generator) -> None:
    """Check the form of predictions, and that they depend only on the point."""
    found = posterior.predict(xs)
    s, m = len(found.mean), len(xs)
    for array, name in zip(found, found._fields, strict=True):
        assert array.shape == (s, m), f"{name} is (s, m): expected {(s, m)}, got {array.shape}"
        assert np.all(np.isfinite(array)), f"{name} is finite"
    assert np.all(found.variance > 0.0), "variance is above 0"
    _assert_same(posterior.predict(copy_batch(domain, xs)), found, "an equal batch that is another object")
    order = rng.permutation(m)
    mixed = Prediction(found.mean[:, order], found.variance[:, order])
    _assert_same(posterior.predict(domain.take(xs, order)), mixed, "points in another order")
    for i in range(m):
        alone = Prediction(found.mean[:, i : i + 1], found.variance[:, i : i + 1])
        _assert_same(posterior.predict(xs[i : i + 1]), alone, "a single point")
    for array in posterior.predict(domain.take(xs, [])):
        assert array.shape == (s, 0), f"the prediction of no points is (s, 0), got {array.shape}"
    pair = sample_changes(domain, xs[:2], 10, rng)
    if pair is not None:
        _assert_same(posterior.predict(pair.changes), posterior.predict(pair.rows), "single changes")


def _assert_same(found: Prediction, expected: Prediction, kind: str) -> None:
    assert_same_prediction(found, expected, f"the prediction of {kind} is the prediction of the points")


def assert_same_prediction(found: Prediction, expected: Prediction, law: str) -> None:
    """Assert that two predictions are equal up to rounding."""
    scale = float(expected.variance.max())
    assert_close(found.mean, expected.mean, ROUNDING * np.sqrt(scale), f"{law}: mean")
    assert_close(found.variance, expected.variance, ROUNDING * scale, f"{law}: variance")


def check_screen(posterior: Posterior, domain: Domain, xs: Batch, rng: np.random.Generator) -> None:
    """Check `BOUNDS`: `screen` and `bound` never exceed the mean of `predict` or fall below its variance.

    The mean of `upper_bound` is never below that mean. The defaults of the base class are checked as well.

    A maximizer screens all points and predicts some of them, so these calls are compared.
    """
    pair = sample_changes(domain, xs[:2], 10, rng)
    for batch in (xs,) if pair is None else (xs, pair.changes):
        bounds = {name: (sign, bound(posterior, batch)) for name, (sign, bound) in BOUNDS.items()}
        again, unreached = posterior.bound_and_reach(batch)
        _assert_same(again, bounds["bound"][1], "bound_and_reach")
        if unreached is not None:
            equal = [one[:, unreached] for one in posterior.predict(batch)]
            law = "bound_and_reach: points that no training point reaches have equal predictions"
            assert all(np.all(one == one[:, :1]) for one in equal), law
        for some in (range(len(batch)), rng.permutation(len(batch))[: max(len(batch) // 2, 1)]):
            found = posterior.predict(domain.take(batch, some))
            positions = np.asarray(some)
            for name, (sign, (mean, variance)) in bounds.items():
                law = f"the mean of {name} is never {'above' if sign < 0.0 else 'below'} the mean of predict"
                assert np.all(sign * (mean[:, positions] - found.mean) >= 0.0), law
                is_wider = variance[:, positions] >= found.variance
                assert np.all(is_wider), f"the variance of {name} is never below the variance of predict"


def check_beliefs(posterior: Posterior, domain: Domain, xs: Batch, running: Batch) -> None:
    """Check that conditioning on means keeps every mean, increases no variance, and leaves the original unchanged.

    If the posterior has covariances, the variance at a conditioned point decreases.
    """
    every = domain.join(xs, running)
    before = posterior.predict(every)
    after = posterior.believe(running).predict(every)
    scale = float(before.variance.max())
    assert_close(after.mean, before.mean, ROUNDING * np.sqrt(scale), "believe changes no mean")
    assert np.all(after.variance <= before.variance + ROUNDING * scale), "believe increases no variance"
    if posterior.covariance(running) is not None:
        own = slice(len(xs), len(every))
        is_smaller = float(after.variance[:, own].sum()) < float(before.variance[:, own].sum())
        assert is_smaller, "believe decreases the variance at its points"
    _assert_same(posterior.predict(every), before, "a posterior whose believe was called")
    _assert_same(posterior.believe(domain.take(xs, [])).predict(every), before, "a posterior that believes no point")


def check_covariance(posterior: Posterior, domain: Domain, xs: Batch, rng: np.random.Generator) -> Array:
    """Check that covariances are symmetric, positive semi-definite, and consistent with `predict`, in any order.

    posterior: posterior with covariances.

    Returns the covariances (s, m, m).
    """
    found, variance = _covariance(posterior, xs), posterior.predict(xs).variance
    s, m = variance.shape
    assert found.shape == (s, m, m), f"covariances are (s, m, m): expected {(s, m, m)}, got {found.shape}"
    rounding = ROUNDING * float(variance.max())
    assert_close(found, found.transpose(0, 2, 1), rounding, "covariances are symmetric")
    diagonal = np.einsum("sii->si", found)
    assert_close(diagonal / variance, np.ones((s, m)), 1e-9, "the diagonal of the covariances is predict's variance")
    for one in found:
        smallest = float(np.linalg.eigvalsh(one)[0])
        assert smallest >= -rounding, f"covariances are positive semi-definite: smallest eigenvalue {smallest}"
    order = rng.permutation(m)
    mixed = _covariance(posterior, domain.take(xs, order))
    assert_close(mixed, found[:, order][:, :, order], rounding, "covariances of points in another order are the same")
    copied = _covariance(posterior, copy_batch(domain, xs))
    assert_close(copied, found, rounding, "covariances of an equal batch that is another object are the same")
    empty = _covariance(posterior, domain.take(xs, []))
    assert empty.shape == (s, 0, 0), f"covariances of no points are (s, 0, 0), got {empty.shape}"
    pair = sample_changes(domain, xs[:2], 4, rng)
    if pair is not None:
        changed, rows = _covariance(posterior, pair.changes), _covariance(posterior, pair.rows)
        assert_close(changed, rows, rounding, "covariances of single changes are the covariances of the points")
    return found


def _covariance(posterior: Posterior, xs: Batch) -> Array:
    found = posterior.covariance(xs)
    assert found is not None, "a posterior has covariances of all points, or of none"
    return found


def _check_hyperparameters(posterior: Posterior, domain: Domain, xs: Batch, rng: np.random.Generator) -> None:
    """Check samples of hyperparameters, and that predictions do not depend on unused variables."""
    for one in posterior.list_hyperparameters():
        values = check_array(one.values, 1, f"list_hyperparameters: {one.name}: values are (s,)")
        assert np.all(np.isfinite(values)), f"list_hyperparameters: {one.name} is finite"
    if unused := posterior.unused:
        space: Any = domain
        before = posterior.predict(xs)
        moved = posterior.predict(domain.join(*(domain.join([space.resample(x, unused, rng)]) for x in xs)))
        assert_close(moved.mean, before.mean, ROUNDING, "no prediction depends on unused variables")


POSTERIOR_LAWS: dict[str, Law] = {  # for each member of the base class
    "predict": check_prediction,
    "screen": check_screen,
    "bound": check_screen,
    "bound_and_reach": check_screen,
    "upper_bound": check_screen,
    "believe": _check_beliefs,
    "covariance": _check_covariances,
    "gaussian": _check_posterior_form,
    "noise": _check_posterior_form,
    "outputs": _check_posterior_form,
    "average_models": _check_posterior_form,
    "leave_one_out": _check_posterior_form,
    "find_training_means": _check_posterior_form,
    "list_hyperparameters": _check_hyperparameters,
    "unused": _check_hyperparameters,
    "input_vjp": _check_shares,
}
