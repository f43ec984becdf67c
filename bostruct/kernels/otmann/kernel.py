"""Kernels over architectures from OTMANN distances (Kandasamy et al. 2018, section 4).

With powers 1 the exponent is a sum of distances; published is the square of the normalized one, of which Gram matrices
are indefinite: in every one of 300 draws of parameters from the published ranges, on 100 networks. OTMANN is no metric
of negative type by proof either, and on cells powers 1 are indefinite too: `PositivePart` makes kernels of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bostruct.contracts import Array, Parameter, Prior
from bostruct.domains.architecture.value import Architecture
from bostruct.kernels.otmann.settings import REFERENCE, Otmann
from bostruct.kernels.otmann.table import DistanceTable


@dataclass(frozen=True)
class DistanceTerms:
    """One kind of distance in the exponent, at all structural weights.

    prior: of each log rate, where a rate multiplies a distance raised to `power`. initial: log rate.
    """

    prior: Prior
    initial: float
    power: float = 1.0


@dataclass(frozen=True)
class OtmannKernel:
    """exp(-sum_i beta_i d_i^p - sum_i gamma_i dbar_i^q), theta = (log beta, log gamma), one each a structural weight.

    distance: terms of d, in units of mass (beta is about 1e-9 to 1e-3). normalized: terms of dbar, in [0, 1].
    """

    distance: DistanceTerms
    normalized: DistanceTerms
    settings: Otmann = REFERENCE

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        size = len(self.settings.weights)
        return (
            Parameter("log rate of distance", size, self.distance.prior, self.distance.initial),
            Parameter("log rate of normalized distance", size, self.normalized.prior, self.normalized.initial),
        )

    def prepare(self, xs: Sequence[Architecture], ys: Sequence[Architecture]) -> Array:
        """(p, n, m): each distance, raised to its power."""
        far = self._table.among(xs) if xs is ys else self._table.between(xs, ys)
        half = len(self.settings.weights)
        for part, terms in ((far[:half], self.distance), (far[half:], self.normalized)):
            if terms.power != 1.0:
                np.power(part, terms.power, out=part)
        return far

    def gram(self, theta: Array, prepared: Array) -> Array:
        """(p,) -> (n, m)."""
        return np.exp(-np.tensordot(np.exp(theta), prepared, axes=1))

    def diag(self, theta: Array, xs: Sequence[Architecture]) -> Array:
        """k(x, x) = 1 of each point (n,)."""
        del theta
        return np.ones(len(xs))

    def line(self, theta: Array, i: int, prepared: Array, gram: Array | None = None) -> Callable[[float], Array]:
        """The Gram matrix along theta_i: one distance a call."""
        del gram  # an entry that underflowed at theta says nothing of what it is elsewhere
        rates = np.exp(theta)
        rates[i] = 0.0
        others = np.tensordot(rates, prepared, axes=1)
        own = prepared[i]

        def along(value: float) -> Array:
            exponent = own * -np.exp(value)
            exponent -= others
            return np.exp(exponent, out=exponent)

        return along

    def gram_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Callable[[Array], Array]]:
        """K, and the map from G (n, m) to the gradient of sum(G * K) in theta (p,)."""
        gram = self.gram(theta, prepared)

        def pullback(cotangent: Array) -> Array:
            return -np.exp(theta) * np.tensordot(prepared, cotangent * gram, axes=2)

        return gram, pullback

    @cached_property
    def _table(self) -> DistanceTable:
        return DistanceTable(self.settings)


@dataclass(frozen=True)
class OtmannSumKernel:
    """(1 - s) exp(-sum_i beta_i d_i^p) + s exp(-sum_i gamma_i dbar_i^q), theta = (log beta, log gamma, logit s).

    The published form with both amplitudes as one and the share s of the second; published with q = 2.
    """

    both: OtmannKernel
    share_prior: Prior
    initial_logit: float = 0.0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        share = Parameter("logit share of normalized distance", 1, self.share_prior, self.initial_logit)
        return (*self.both.parameters, share)

    def prepare(self, xs: Sequence[Architecture], ys: Sequence[Architecture]) -> Array:
        """(p - 1, n, m): each distance, raised to its power."""
        return self.both.prepare(xs, ys)

    def gram(self, theta: Array, prepared: Array) -> Array:
        """(p,) -> (n, m)."""
        return sum(self._parts(theta, prepared), np.zeros(prepared.shape[1:]))

    def diag(self, theta: Array, xs: Sequence[Architecture]) -> Array:
        """k(x, x) = 1 of each point (n,)."""
        return self.both.diag(theta[:-1], xs)

    def line(self, theta: Array, i: int, prepared: Array, gram: Array | None = None) -> Callable[[float], Array]:
        """The Gram matrix along theta_i."""
        del gram
        moved = theta.copy()

        def along(value: float) -> Array:
            moved[i] = value
            return self.gram(moved, prepared)

        return along

    def gram_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Callable[[Array], Array]]:
        """K, and the map from G (n, m) to the gradient of sum(G * K) in theta (p,)."""
        first, second = self._parts(theta, prepared)
        half = len(prepared) // 2
        share = 1.0 / (1.0 + np.exp(-theta[-1]))

        def pullback(cotangent: Array) -> Array:
            slopes = [
                np.tensordot(prepared[own], cotangent * part, axes=2)
                for own, part in ((slice(None, half), first), (slice(half, None), second))
            ]
            along_share = float(np.sum(cotangent * ((1.0 - share) * second - share * first)))
            return np.append(-np.exp(theta[:-1]) * np.concatenate(slopes), along_share)

        return np.zeros(prepared.shape[1:]) + first + second, pullback

    def _parts(self, theta: Array, prepared: Array) -> tuple[Array, Array]:
        half = len(prepared) // 2
        rates, share = np.exp(theta[:-1]), 1.0 / (1.0 + np.exp(-theta[-1]))
        first = np.exp(-np.tensordot(rates[:half], prepared[:half], axes=1))
        second = np.exp(-np.tensordot(rates[half:], prepared[half:], axes=1))
        return (1.0 - share) * first, share * second
