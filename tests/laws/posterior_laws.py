"""What it means to be a posterior of many points together, and to believe points that are being evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np

from bostruct.contracts import Array

ROUNDING = 1e-7  # of the largest variance; jitter is part of it


def check_covariance(posterior: Any, domain: Any, xs: Any, rng: np.random.Generator) -> Array:
    """Symmetric, positive semi-definite, with `predict`'s variances, in whatever order the points come; returns it.

    xs: m points, some of them twice.
    """
    found, variance = posterior.covariance(xs), posterior.predict(xs).variance
    assert found.shape == (len(variance), len(xs), len(xs))
    scale = float(variance.max())
    np.testing.assert_allclose(found, found.transpose(0, 2, 1), atol=ROUNDING * scale)
    np.testing.assert_allclose(np.einsum("sii->si", found), variance, rtol=1e-9)
    for one in found:
        assert np.linalg.eigvalsh(one)[0] >= -ROUNDING * scale
    order = rng.permutation(len(xs))
    mixed = posterior.covariance(domain.take(xs, order))
    np.testing.assert_allclose(mixed, found[:, order][:, :, order], atol=ROUNDING * scale)
    assert posterior.covariance(domain.take(xs, [])).shape == (len(variance), 0, 0)
    return found


def check_belief(posterior: Any, domain: Any, xs: Any, running: Any, noise: Array) -> None:
    """Believing points moves no mean, and shrinks variances as the covariances say: the two agree.

    noise: its variance under each posterior sample (s,), in the user's units squared.
    """
    together = posterior.covariance(domain.join(running, xs))
    r = len(running)
    before, after = posterior.predict(xs), posterior.believe(running).predict(xs)
    scale = float(before.variance.max())
    np.testing.assert_allclose(after.mean, before.mean, atol=ROUNDING * np.sqrt(scale))
    for s, joint in enumerate(together):
        told = joint[:r, :r] + noise[s] * np.eye(r)
        explained = np.einsum("rm,rm->m", joint[:r, r:], np.linalg.solve(told, joint[:r, r:]))
        np.testing.assert_allclose(after.variance[s], before.variance[s] - explained, atol=ROUNDING * scale)
