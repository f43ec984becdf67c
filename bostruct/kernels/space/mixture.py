"""Kernels of mixtures and allocations, which compare compositions by their shares and the logarithms of shares.

Each part has two features, its share and the logarithm of its share, each divided by its spread over samples, and each
with its own lengthscale. So the data determine whether differences or ratios of shares matter (Aitchison 1982 compares
compositions only by ratios). A small number is added to shares before the logarithm, so that a share of 0 is far from
positive shares, but not infinitely far.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bostruct.contracts import Array, IntArray, Pullback
from bostruct.domains.space.compositions import Compositions
from bostruct.kernels.space.effects import EffectKernel
from bostruct.kernels.space.spectra import compute_rates
from bostruct.kernels.space.subset import MOST_RELEVANCES, FeatureFactor

UNIFORM_SPREAD = math.sqrt(1.0 / 12.0)  # of a uniform number in [0, 1], to which features are scaled
DRAWS = 1_000  # samples from a fixed seed, to compute spreads
SMALLEST_SHARE = 0.01  # added before the logarithm, in units of the mean share; for integers at least half a unit
EFFECT_LENGTHSCALE = 0.5


@dataclass(frozen=True)
class MixtureFeatures:
    """The features of compositions of one kind: the scaled share and the scaled log share of each part.

    compositions: the set of values.
    """

    compositions: Compositions

    @classmethod
    def of(cls, variable: Any) -> MixtureFeatures:
        """Return the features of a `Mixture` or an `Allocation`."""
        return cls(variable.compositions)

    @property
    def width(self) -> int:
        """The number of columns, w."""
        return self.compositions.width

    @property
    def groups(self) -> IntArray:
        """The lengthscale of each feature (2 w,): its own, or for many parts one for shares and one for logarithms."""
        if self.width > MOST_RELEVANCES:
            return np.repeat([0, 1], self.width)
        return np.arange(2 * self.width)

    def encode(self, xs: IntArray) -> Array:
        """Return the features of values (n, 2 w).

        xs: columns of n values (n, w).
        """
        return self.encode_shares(xs / float(self.compositions.total))

    def encode_shares(self, shares: Array) -> Array:
        """Return the features of shares (n, 2 w).

        shares: (n, w), in [0, 1].
        """
        return np.hstack([shares, np.log(shares + self._floor)]) / self._scales

    def slopes(self, shares: Array) -> Array:
        """Return the derivative of each feature in its share (n, 2 w)."""
        return np.hstack([np.ones_like(shares), 1.0 / (shares + self._floor)]) / self._scales

    @property
    def _floor(self) -> float:
        return max(SMALLEST_SHARE / self.width, 0.5 / self.compositions.total)

    @cached_property
    def _scales(self) -> Array:
        """The divisor of each feature (2 w,)."""
        drawn = self.compositions.sample(DRAWS, np.random.default_rng(0)) / float(self.compositions.total)
        spread = np.hstack([drawn, np.log(drawn + self._floor)]).std(axis=0)
        return np.where(spread > 0.0, spread, 1.0) / UNIFORM_SPREAD


@dataclass(frozen=True)
class MixtureFactor(FeatureFactor):
    """The factor of compositions, with gradients in their shares.

    features: features of each composition.
    """

    features: MixtureFeatures  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleVariableOverride]

    def input_vjp(self, theta: Array, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        weights, others = compute_rates(theta)[self._groups], self._encode(ys)
        encode = _encode_parts(self.features, xs, self.n_variables)

        def at(shares: Array) -> tuple[Array, Pullback]:
            features, slopes = encode(shares)
            gram = (features * (2.0 * weights)) @ others.T
            gram -= (np.square(features) @ weights)[:, None] + np.square(others) @ weights

            def pullback(weighted: Array) -> Array:
                pulled = weighted @ others - features * weighted.sum(axis=1, keepdims=True)
                return _sum_pairs(2.0 * weights * pulled * slopes, self.n_variables)

            return np.minimum(gram, 0.0, out=gram), pullback

        return at


@dataclass(frozen=True)
class MixtureEffect(EffectKernel):
    """The effect of a composition: the sum of smooth functions of each share, and of each log share."""

    features: MixtureFeatures
    has_unit_diagonal = True

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        mine, theirs = self.features.encode(xs), self.features.encode(ys)
        gram, rate = np.zeros((len(mine), len(theirs))), 1.0 / EFFECT_LENGTHSCALE**2
        for one, other in zip(mine.T, theirs.T, strict=True):
            gram += np.exp(-0.5 * rate * np.square(one[:, None] - other))
        return gram / mine.shape[1]

    def input_vjp(self, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        others, encode = self.features.encode(ys), _encode_parts(self.features, xs, 1)

        def at(shares: Array) -> tuple[Array, Pullback]:
            features, slopes = encode(shares)
            gram, pulls = self._compare(features, others)

            def pullback(weighted: Array) -> Array:
                pulled = np.stack([np.einsum("mn,mn->m", weighted, one) for one in pulls], axis=1)
                return _sum_pairs(pulled * slopes, 1)

            return gram, pullback

        return at

    def _compare(self, mine: Array, theirs: Array) -> tuple[Array, list[Array]]:
        """Return the kernel of features (n, m), and its derivatives in each feature of the first (n, m) each."""
        q, rate = mine.shape[1], 1.0 / EFFECT_LENGTHSCALE**2
        gram, pulls = np.zeros((len(mine), len(theirs))), []
        for j in range(q):
            difference = mine[:, j, None] - theirs[:, j]
            own = np.exp(-0.5 * rate * np.square(difference)) / q
            gram += own
            pulls.append(-rate * difference * own)
        return gram, pulls


def _encode_parts(features: MixtureFeatures, xs: IntArray, n_variables: int) -> Callable[[Array], tuple[Array, Array]]:
    """Return a function from shares (m, c w) to features and their derivatives (m, 2 c w); absent parts stay at 0.

    xs: columns of m points, which show the parts that each point has (m, c w).
    """
    is_absent = np.tile(features.compositions.is_optional, n_variables) & (xs == 0)

    def encode(shares: Array) -> tuple[Array, Array]:
        own = np.split(np.where(is_absent, 0.0, shares), n_variables, axis=1)
        slopes = [features.slopes(one) for one in own]
        absent = np.split(is_absent, n_variables, axis=1)
        kept = [np.where(np.hstack([mask, mask]), 0.0, one) for mask, one in zip(absent, slopes, strict=True)]
        return np.hstack([features.encode_shares(one) for one in own]), np.hstack(kept)

    return encode


def _sum_pairs(pulled: Array, n_variables: int) -> Array:
    """Return the gradient in shares (m, c w), the sum of the gradients of each share and its logarithm (m, 2 c w)."""
    halves = pulled.reshape(len(pulled), n_variables, 2, -1)
    return halves.sum(axis=2).reshape(len(pulled), -1)
