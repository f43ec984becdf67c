"""Kernels over architectures from OTMANN distances (Kandasamy et al. 2018, section 4).

With powers 1 the exponent is a sum of distances; published is the square of the normalized one, of which Gram matrices
are indefinite: in every one of 300 draws of parameters from the published ranges, on 100 networks. OTMANN is no metric
of negative type by proof either, and on cells powers 1 are indefinite too: `SpectrumClip` makes kernels of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bostruct.contracts import Array, Kernel, Parameter, Prior, Pullback
from bostruct.domains.architecture.value import Architecture
from bostruct.kernels.algebra import mix_grams, slope_in_odds, weight_of
from bostruct.kernels.distance import ExponentialKernel
from bostruct.kernels.otmann.settings import REFERENCE, Otmann
from bostruct.kernels.otmann.table import DistanceTable


@dataclass(frozen=True)
class DistanceTerms:
    """One kind of distance in the exponent, at all structural weights.

    prior: of each log rate, where a rate multiplies a distance raised to `power`.
    initial: log rate at first.
    power: exponent of the distance, above 0; published are 1 for the distance and 2 for the normalized one.
    """

    prior: Prior
    initial: float
    power: float = 1.0


@dataclass(frozen=True)
class OtmannKernel(ExponentialKernel):
    """The OTMANN kernel exp(-sum_i beta_i d_i^p - sum_i gamma_i dbar_i^q) (Kandasamy et al. 2018, section 4).

    theta = (log beta, log gamma), with one of each for every structural weight.

    distance: terms of d, in units of mass (beta is about 1e-9 to 1e-3).
    normalized: terms of dbar, in [0, 1].
    settings: of the distance.
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

    def prepare(self, xs: Sequence[Architecture], ys: Sequence[Architecture] | None = None) -> Array:
        """Return each distance, raised to its power (p, n, m).

        xs: n architectures.
        ys: m architectures; None for xs with themselves.
        """
        far = self._table.among(xs) if ys is None else self._table.between(xs, ys)
        half = len(self.settings.weights)
        for part, terms in ((far[:half], self.distance), (far[half:], self.normalized)):
            if terms.power != 1.0:
                np.power(part, terms.power, out=part)
        return far

    @cached_property
    def _table(self) -> DistanceTable:
        return DistanceTable(self.settings)


@dataclass(frozen=True)
class OtmannSumKernel(Kernel):
    """The OTMANN kernel (1 - s) exp(-sum_i beta_i d_i^p) + s exp(-sum_i gamma_i dbar_i^q), the published form.

    theta = (log beta, log gamma, logit s). Both published amplitudes are one, with the share s of the second; published
    with q = 2.

    both: the terms of both distances.
    share_prior: of logit s.
    initial_logit: logit s at first.
    """

    both: OtmannKernel
    share_prior: Prior
    initial_logit: float = 0.0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        share = Parameter("logit share of normalized distance", 1, self.share_prior, self.initial_logit)
        return (*self.both.parameters, share)

    def prepare(self, xs: Sequence[Architecture], ys: Sequence[Architecture] | None = None) -> Array:
        """Return each distance, raised to its power (p - 1, n, m).

        xs: n architectures.
        ys: m architectures; None for xs with themselves.
        """
        return self.both.prepare(xs, ys)

    def gram(self, theta: Array, prepared: Array) -> Array:
        (distance, _), (normalized, _) = self._parts(theta, prepared)
        return mix_grams(normalized, distance, weight_of(theta[-1]))

    def diag(self, theta: Array, xs: Sequence[Architecture]) -> Array:
        return self.both.diag(theta[:-1], xs)

    def gram_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Pullback]:
        (distance, pull_distance), (normalized, pull_normalized) = self._parts(theta, prepared)
        share = weight_of(theta[-1])

        def pullback(cotangent: Array) -> Array:
            odds = slope_in_odds(cotangent, normalized, distance, share)
            return np.concatenate(
                [(1.0 - share) * pull_distance(cotangent), share * pull_normalized(cotangent), [odds]]
            )

        return mix_grams(normalized, distance, share), pullback

    def _parts(self, theta: Array, prepared: Array) -> list[tuple[Array, Pullback]]:
        """Return the kernel of each kind of distance alone, and its pullback."""
        half = len(prepared) // 2
        return [self.both.gram_and_pullback(theta[:-1][own], prepared[own]) for own in np.s_[:half, half:]]
