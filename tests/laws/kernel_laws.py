"""What it means to be a kernel, alone and along one coordinate and with a gradient.

`check_kernel` states every law on a few random points, at parameters drawn around their initial values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bostruct.contracts import Array

TINY = 1e-10  # of the largest prior variance: what rounding may cost


def check_kernel(kernel: Any, domain: Any, rng: np.random.Generator, reach: float = 3.0, m: int = 6) -> None:
    """Every law of a kernel with `line` and `gram_and_pullback`, on m points of a domain and repeats of some.

    reach: how far parameters are drawn from their initial values.
    """
    xs = domain.sample(m, rng)
    ys = domain.join(domain.sample(m - 1, rng), xs[:2])
    theta = near_initial(kernel, rng, reach)
    check_gram(kernel, xs, ys, theta)
    check_line(kernel, xs, ys, theta, theta + rng.uniform(-1.0, 1.0, len(theta)))
    check_pullback(kernel, xs, ys, theta, rng)


def near_initial(kernel: Any, rng: np.random.Generator, reach: float) -> Array:
    blocks = [block.initial + rng.uniform(-reach, reach, block.size) for block in kernel.parameters]
    for block in kernel.parameters:
        assert np.isfinite(block.prior.log_density(block.initial)), "the prior refuses the initial value"
    return np.concatenate(blocks)


def check_gram(kernel: Any, xs: Any, ys: Any, theta: Array) -> None:
    """Symmetric, positive semi-definite, with `diag` on its diagonal; the other way round is its transpose."""
    gram, diag = kernel.gram(theta, kernel.prepare(xs)), kernel.diag(theta, xs)
    assert gram.shape == (len(xs), len(xs))
    assert diag.shape == (len(xs),)
    assert np.all(np.isfinite(gram))
    assert np.all(diag > 0)
    scale = float(np.max(diag))
    assert np.max(np.abs(gram - gram.T)) <= TINY * scale
    assert np.max(np.abs(gram.diagonal() - diag)) <= TINY * scale
    np.linalg.cholesky(0.5 * (gram + gram.T) + TINY * scale * np.eye(len(xs)))
    across, back = kernel.gram(theta, kernel.prepare(xs, ys)), kernel.gram(theta, kernel.prepare(ys, xs))
    assert across.shape == (len(xs), len(ys))
    np.testing.assert_allclose(across, back.T, rtol=0, atol=TINY * scale)
    np.testing.assert_allclose(kernel.gram(theta, kernel.prepare(xs, xs.copy())), gram, rtol=0, atol=TINY * scale)
    for i, x in enumerate(xs):
        alone = kernel.gram(theta, kernel.prepare(xs[i : i + 1], ys))
        np.testing.assert_allclose(alone[0], across[i], rtol=0, atol=TINY * scale, err_msg=f"row of {x}")


def check_line(kernel: Any, xs: Any, ys: Any, theta: Array, other: Array) -> None:
    """`line` is `gram` at every coordinate and value, whatever the caller did to the last array it returned.

    With the Gram matrix at theta given, and without; what is given stays as it was.
    """
    for prepared in (kernel.prepare(xs), kernel.prepare(xs, ys)):
        known = kernel.gram(theta, prepared)
        known.flags.writeable = False
        for i in range(len(theta)):
            lines = (kernel.line(theta, i, prepared), kernel.line(theta, i, prepared, known))
            for value in (float(other[i]), float(theta[i])):
                moved = theta.copy()
                moved[i] = value
                expected = kernel.gram(moved, prepared)
                for line in lines:
                    along = line(value)
                    np.testing.assert_allclose(along, expected, rtol=0, atol=TINY * np.max(expected))
                    along.fill(np.nan)


def check_pullback(kernel: Any, xs: Any, ys: Any, theta: Array, rng: np.random.Generator) -> None:
    """The gradient of sum(G * K) equals central differences."""
    prepared = kernel.prepare(xs, ys)
    gram, pullback = kernel.gram_and_pullback(theta, prepared)
    np.testing.assert_array_equal(gram, kernel.gram(theta, prepared))
    cotangent = rng.normal(size=gram.shape)
    gradient = pullback(cotangent)
    assert gradient.shape == theta.shape
    for i in range(len(theta)):
        step = np.zeros(len(theta))
        step[i] = 1e-5
        ahead, behind = (kernel.gram(theta + sign * step, prepared) for sign in (1, -1))
        numeric = float(np.sum(cotangent * (ahead - behind))) / 2e-5
        scale = float(np.sum(np.abs(cotangent) * np.maximum(np.abs(ahead), np.abs(behind))))
        assert abs(gradient[i] - numeric) <= 1e-6 * scale + 1e-12, f"coordinate {i}"
