"""Kernels from distances: exp(-sum_k rate_k D_k), with one log rate for each of p distances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bostruct.contracts import Array, Batch


class DistanceKernel:
    """The kernel exp(-sum_k exp(theta_k) D_k). It is positive semi-definite where every D_k is of negative type.

    A kernel derives from this class and adds `parameters` and `prepare`, which returns the distances D (p, n, m).
    """

    def gram(self, theta: Array, prepared: Array) -> Array:
        """Return the Gram matrix (n, m).

        theta: (p,).
        prepared: distances between n and m points (p, n, m).
        """
        return np.exp(-np.tensordot(np.exp(theta), prepared, axes=1))

    def diag(self, theta: Array, xs: Batch) -> Array:
        """Return 1 for each point, k(x, x) (n,).

        theta: (p,), unused.
        xs: n points.
        """
        del theta
        return np.ones(len(xs))

    def line(self, theta: Array, i: int, prepared: Array, gram: Array | None = None) -> Callable[[float], Array]:
        """Return the Gram matrix as a function of theta_i alone; a call costs one pass over one distance.

        theta: (p,).
        i: position of the parameter that varies.
        prepared: distances between n and m points (p, n, m).
        gram: ignored.
        """
        del gram  # an entry that underflowed at theta says nothing of what it is elsewhere
        rates = np.exp(theta)
        rates[i] = 0.0
        others, own = np.tensordot(rates, prepared, axes=1), prepared[i]

        def along(value: float) -> Array:
            exponent = own * -np.exp(value)
            exponent -= others
            return np.exp(exponent, out=exponent)

        return along

    def gram_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Return the Gram matrix K (n, m), and the map from G (n, m) to the gradient of sum(G * K) in theta (p,).

        theta: (p,).
        prepared: distances between n and m points (p, n, m).
        """
        gram = self.gram(theta, prepared)
        return gram, lambda cotangent: -np.exp(theta) * np.tensordot(prepared, cotangent * gram, axes=2)
