"""The posterior of many points together: its laws on every Gaussian process, and faults that the laws find."""

import dataclasses

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Array, Batch, Domain, Posterior
from bostruct.methods import auto, combo, nasbot, smac
from bostruct.surrogates.posterior import FantasizedPosterior, GaussianPosterior
from bostruct.testing.common import assert_close
from bostruct.testing.model_laws import ROUNDING, check_covariance
from tests.architectures import SMALL_MLP

SPACE = bo.Space({"a": bool, "b": list("pqr"), "c": range(5), "d": bo.Integer(-3, 3)})


def told(domain, n, seed=0):
    xs = domain.sample(n, np.random.default_rng(seed))
    return xs, np.random.default_rng(seed + 1).normal(size=n)


def mode() -> GaussianPosterior:
    xs, values = told(SPACE, 9)
    return auto(SPACE).surrogate.condition(xs, 40.0 * values, None, np.random.default_rng(2))[0]


def chain() -> GaussianPosterior:
    xs, values = told(SPACE, 9)
    surrogate = dataclasses.replace(combo(SPACE).surrogate, burn_in=3, samples=3)
    return surrogate.condition(xs, values, None, np.random.default_rng(2))[0]


def clipped():
    xs, values = told(SMALL_MLP, 9)
    return nasbot(SMALL_MLP).surrogate.condition(xs, values, None, np.random.default_rng(2))[0]


def noise(posterior: GaussianPosterior):
    return posterior.scale**2 * np.exp([one.hyper.log_noise for one in posterior.samples])


def check_belief(posterior: Posterior, domain: Domain, xs: Batch, running: Batch, noise: Array) -> None:
    """Check that believing shrinks variances exactly as the covariances say.

    posterior: with covariances.
    noise: its variance under each posterior sample (s,), in the user's units squared.
    """
    together = posterior.covariance(domain.join(running, xs))
    r = len(running)
    before, after = posterior.predict(xs), posterior.believe(running).predict(xs)
    rounding = ROUNDING * float(before.variance.max())
    assert_close(after.mean, before.mean, np.sqrt(ROUNDING * rounding), "believing moves no mean")
    for s, joint in enumerate(together):
        told = joint[:r, :r] + noise[s] * np.eye(r)
        explained = np.einsum("rm,rm->m", joint[:r, r:], np.linalg.solve(told, joint[:r, r:]))
        expected = before.variance[s] - explained
        assert_close(after.variance[s], expected, rounding, "believing shrinks variances as the covariances say")


@pytest.mark.parametrize("make", [mode, chain])
def test_laws_of_a_gaussian_process(make):
    posterior, rng = make(), np.random.default_rng(3)
    xs = SPACE.join(SPACE.sample(7, rng), posterior.xs[:2])
    xs = SPACE.join(xs, xs[:2])
    whole = check_covariance(posterior, SPACE, xs, rng)
    np.testing.assert_allclose(posterior.covariance(xs[:4]), whole[:, :4, :4], atol=1e-9 * whole.max())
    running = SPACE.sample(3, rng)
    check_belief(posterior, SPACE, SPACE.sample(6, rng), running, noise(posterior))
    check_covariance(posterior.believe(running), SPACE, xs, rng)


def test_single_changes_are_points_as_all_others():
    posterior = mode()
    near = SPACE.sample_neighborhoods(posterior.xs[:2], 5, np.random.default_rng(4))[0]
    np.testing.assert_allclose(posterior.covariance(near), posterior.covariance(near.rows()))


@pytest.mark.parametrize("believed", [0, 2])
def test_laws_of_a_kernel_that_depends_on_the_training_points(believed):
    rng = np.random.default_rng(5)
    posterior = clipped().believe(SMALL_MLP.sample(believed, rng))
    assert isinstance(posterior, FantasizedPosterior if believed else GaussianPosterior)
    xs = SMALL_MLP.sample(6, rng)
    check_covariance(posterior, SMALL_MLP, [*xs, xs[0]], rng)


def test_a_forest_has_no_covariances():
    xs, values = told(SPACE, 9)
    posterior = smac(SPACE).surrogate.condition(xs, values, None, np.random.default_rng(2))[0]
    assert posterior.covariance(xs) is None


class Wrapped(Posterior):
    """A posterior whose covariances have a fault."""

    def __init__(self, posterior, fault):
        self.posterior, self.fault = posterior, fault

    def predict(self, xs):
        return self.posterior.predict(xs)

    def believe(self, xs):
        return self.posterior.believe(xs)

    def covariance(self, xs):
        return self.fault(self.posterior.covariance(xs))


def independent(found):
    return np.einsum("sii->si", found)[:, :, None] * np.eye(found.shape[1])


def in_model_units(found):
    return found / 1600.0


def prior(found):
    """Correlations that are too strong: what a model would say that forgets its data."""
    root = np.sqrt(np.einsum("sii->si", found))
    return 0.5 * found + 0.5 * root[:, :, None] * root[:, None, :]


def lopsided(found):
    return found + np.triu(np.ones(found.shape[1:]), 1) * found.max(initial=0.0)


@pytest.mark.parametrize("fault", [independent, in_model_units, prior, lopsided])
def test_a_faulty_covariance_fails(fault):
    posterior, rng = mode(), np.random.default_rng(3)
    faulty = Wrapped(posterior, fault)
    running, xs = SPACE.sample(3, rng), SPACE.sample(6, rng)

    def check():
        check_covariance(faulty, SPACE, xs, rng)
        check_belief(faulty, SPACE, xs, running, noise(posterior))

    with pytest.raises(AssertionError):
        check()


@pytest.mark.parametrize("fit", ["mode", "samples"])
def test_a_plain_object_in_place_of_a_kernel_is_refused_at_the_door(fit):
    class Plain:
        parameters = ()

        def gram(self, theta, prepared):
            raise AssertionError((theta, prepared))

    sampled = combo(SPACE).surrogate
    model = sampled if fit == "samples" else auto(SPACE).surrogate.surrogate.quiet
    with pytest.raises(TypeError, match=r"kernel: expected a bostruct.contracts.Kernel \(subclass it\), got Plain"):
        dataclasses.replace(model, kernel=Plain())
