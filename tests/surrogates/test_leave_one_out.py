"""Leave-one-out predictions in closed form are those of refits without the value, at the same hyperparameters."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from bostruct.contracts import Prediction
from bostruct.methods import nasbot
from bostruct.surrogates.map_gp import MAPGP
from bostruct.surrogates.posterior import GaussianPosterior, fit_posterior_sample, predict_left_out
from tests.architectures import SMALL_MLP
from tests.surrogates.test_posterior import SPACE, chain, mode, told


def without(posterior: GaussianPosterior, i: int, values: np.ndarray) -> Prediction:
    """The prediction of value i, noise included, by the posterior of all others; values: on the model's scale."""
    kept = [k for k in range(len(values)) if k != i]
    xs = posterior.join([posterior.xs[k] for k in kept])
    known = None if posterior.known is None else posterior.known[kept]
    samples = [
        fit_posterior_sample(posterior.kernel, xs, values[kept] - one.hyper.mean, one.hyper, posterior.nugget, known)
        for one in posterior.samples
    ]
    found = dataclasses.replace(posterior, xs=xs, samples=samples, known=known).predict(
        posterior.join([posterior.xs[i]])
    )
    own = posterior.known[i] if posterior.known is not None and np.isfinite(posterior.known[i]) else None
    noise = posterior.noise if own is None else posterior.scale**2 * own
    return Prediction(found.mean, found.variance + noise)


def with_known_noise() -> GaussianPosterior:
    xs, values = told(SPACE, 9)
    variances = np.where(np.arange(9) % 3 == 0, np.nan, np.linspace(0.05, 0.4, 9))
    surrogate = MAPGP(mode().kernel, SPACE.join, *noise_prior()).with_variances(variances)
    return surrogate.condition(xs, values, None, np.random.default_rng(2))[0]


def noise_prior():
    from bostruct.surrogates.hyperparameters import Normal

    return Normal(-3.0, 1.0), -3.0


@pytest.mark.parametrize("make", [mode, chain, with_known_noise])
def test_it_is_the_refit_without_the_value(make):
    posterior = make()
    values = told(SPACE, 9)[1] * (40.0 if make is mode else 1.0)
    values = (values - posterior.shift) / posterior.scale
    found = posterior.leave_one_out().prediction
    assert found.mean.shape == (len(posterior.samples), 9)
    for i in range(9):
        refit = without(posterior, i, values)
        np.testing.assert_allclose(found.mean[:, i], refit.mean[:, 0], rtol=1e-6, atol=1e-6 * posterior.scale)
        np.testing.assert_allclose(found.variance[:, i], refit.variance[:, 0], rtol=1e-5)


@pytest.mark.parametrize("make", [mode, chain, with_known_noise])
def test_the_values_are_those_it_was_told(make):
    values = told(SPACE, 9)[1] * (40.0 if make is mode else 1.0)
    assert make().leave_one_out().values == pytest.approx(values, rel=1e-9, abs=1e-9)


def test_values_that_the_model_interpolates_are_not_predicted_from_themselves():
    posterior = mode()
    error = np.abs(posterior.leave_one_out().prediction.mean - posterior.predict(posterior.xs).mean)
    assert error.max() > 0.1 * posterior.scale


def test_a_single_value_is_predicted_by_the_prior():
    one = chain().samples[0]
    alone = one._replace(weights=one.weights[:1], whitener=one.whitener[:1, :1])
    found = predict_left_out(alone)
    assert found.mean[0] == pytest.approx(one.hyper.mean)
    assert found.variance[0] == pytest.approx(np.exp(one.hyper.log_amplitude) / alone.whitener[0, 0] ** 2)


def test_a_kernel_of_architectures_has_it_too():
    xs, values = told(SMALL_MLP, 9)
    posterior = nasbot(SMALL_MLP).surrogate.condition(xs, values, None, np.random.default_rng(2))[0]
    found = posterior.leave_one_out().prediction
    assert np.isfinite(found.mean).all()
    assert (found.variance > 0.0).all()
