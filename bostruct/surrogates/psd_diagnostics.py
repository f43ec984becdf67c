"""Diagnostics of a kernel whose Gram matrices may be indefinite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from bostruct.contracts import Array, Batch, Info, Kernel, State, Surrogate
from bostruct.surrogates.map_gp import MAPGP, NoiseSelection
from bostruct.surrogates.marginalized import MarginalizedGP
from bostruct.surrogates.posterior import GaussianPosterior

GaussianSurrogate: TypeAlias = MAPGP | MarginalizedGP | NoiseSelection


@dataclass(frozen=True)
class PSDDiagnostics(Surrogate):
    """A surrogate that also reports the spectrum of the raw similarity at the hyperparameters of its posterior.

    Two numbers are recorded. ``smallest_eigenvalue`` is the smallest eigenvalue of the training points' Gram matrices
    over all posterior samples, in units of the mean diagonal. ``negative_share`` is the largest share of negative
    eigenvalues in the sum of absolute eigenvalues.
    """

    surrogate: GaussianSurrogate
    similarity: Kernel

    def with_variances(self, variances: Array) -> PSDDiagnostics:
        return replace(self, surrogate=self.surrogate.with_variances(variances))

    def with_kernel(self, change: Callable[[Kernel], Kernel], join: Callable[..., Batch]) -> PSDDiagnostics | None:
        surrogate: Any = self.surrogate.with_kernel(change, join)
        return None if surrogate is None else PSDDiagnostics(surrogate, change(self.similarity))

    def initial_state(self) -> State:
        return self.surrogate.initial_state()

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[GaussianPosterior, State, Info]:
        posterior, state, info = self.surrogate.condition(xs, values, state, rng)
        prepared = self.similarity.prepare(posterior.xs)
        grams = [self.similarity.gram(one.hyper.theta, prepared) for one in posterior.samples]
        return posterior, state, info | psd_diagnostics(grams)


def psd_diagnostics(grams: Sequence[Array]) -> Info:
    """Return the numbers that `PSDDiagnostics` records, for some Gram matrices.

    grams: at least one matrix, each (n, n).
    """
    spectra = [np.linalg.eigvalsh(gram) / float(np.mean(gram.diagonal())) for gram in grams]
    shares = [float(-np.minimum(values, 0.0).sum() / np.abs(values).sum()) for values in spectra]
    return {"smallest_eigenvalue": min(float(values[0]) for values in spectra), "negative_share": max(shares)}
