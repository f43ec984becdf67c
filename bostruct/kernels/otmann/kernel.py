"""Kernels over architectures from OTMANN distances (Kandasamy et al. 2018, section 4).

A table caches the distances between the training architectures, which are needed repeatedly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray, Kernel, Parameter, Prior, Pullback
from bostruct.domains.architecture.value import Architecture
from bostruct.kernels.algebra import mix_grams, slope_in_odds, weight_of
from bostruct.kernels.distance import ExponentialKernel
from bostruct.kernels.otmann.distance import otmann_distances
from bostruct.kernels.otmann.settings import REFERENCE, Otmann

BoolArray = npt.NDArray[np.bool_]
MAX_ROWS = 2000
SPARE = 1.25  # rows for each architecture of a batch, with room for running and failed trials


@dataclass(frozen=True)
class DistanceTerms:
    """One kind of distance in the exponent, at all structural weights.

    prior: prior of each log rate; a rate multiplies a distance raised to `power`.
    initial: initial log rate.
    power: exponent of the distance, above 0; published: 1 for the distance, 2 for the normalized distance.
    """

    prior: Prior
    initial: float
    power: float = 1.0


@dataclass(frozen=True)
class OtmannKernel(ExponentialKernel):
    """The OTMANN kernel exp(-sum_i beta_i d_i^p - sum_i gamma_i dbar_i^q) (Kandasamy et al. 2018, section 4).

    theta = (log beta, log gamma), with one beta and one gamma for each structural weight.

    distance: terms of d, in units of mass (beta is about 1e-9 to 1e-3).
    normalized: terms of dbar, in [0, 1].
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
        """Return each distance, raised to its power (p, n, m)."""
        distances = self._table.among(xs) if ys is None else self._table.between(xs, ys)
        half = len(self.settings.weights)
        for part, terms in ((distances[:half], self.distance), (distances[half:], self.normalized)):
            if terms.power != 1.0:
                np.power(part, terms.power, out=part)
        return distances

    @cached_property
    def _table(self) -> DistanceTable:
        return DistanceTable(self.settings)


@dataclass(frozen=True)
class OtmannSumKernel(Kernel):
    """The OTMANN kernel (1 - s) exp(-sum_i beta_i d_i^p) + s exp(-sum_i gamma_i dbar_i^q), the published form.

    theta = (log beta, log gamma, logit s). The two published amplitudes are one amplitude here, with the share s of the
    second; published with q = 2.

    share_prior: prior of logit s.
    initial_logit: initial logit s.
    """

    both: OtmannKernel
    share_prior: Prior
    initial_logit: float = 0.0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        share = Parameter("logit share of normalized distance", 1, self.share_prior, self.initial_logit)
        return (*self.both.parameters, share)

    def prepare(self, xs: Sequence[Architecture], ys: Sequence[Architecture] | None = None) -> Array:
        """Return each distance, raised to its power (p - 1, n, m)."""
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
        """Return the kernel of each kind of distance, and its pullback."""
        half = len(prepared) // 2
        return [self.both.gram_and_pullback(theta[:-1][own], prepared[own]) for own in np.s_[:half, half:]]


@dataclass
class DistanceTable:
    """A table of both kinds of distance between architectures, each of which is computed once.

    The table drops the rows of architectures outside a batch if it would have more than 2000 rows and more than 1.25
    rows for each architecture of the batch. Another family clears the table. The distances of the last batch of
    candidates are also computed once, because several models may need them.

    distances: distances, then normalized distances, NaN if not computed yet (2 * weights, rows, rows).
    candidate_distances: distances of the candidates, NaN if not computed yet (2 * weights, m, rows).
    """

    settings: Otmann
    architectures: list[Architecture] = field(default_factory=list)
    row: dict[Architecture, int] = field(default_factory=dict)
    distances: Array = field(default_factory=lambda: np.empty((0, 0, 0)))
    candidates: list[Architecture] = field(default_factory=list)
    candidate_distances: Array = field(default_factory=lambda: np.empty((0, 0, 0)))

    def among(self, xs: Sequence[Architecture]) -> Array:
        """Return the distances at each structural weight, then the normalized ones (2 * weights, n, n)."""
        self._admit(list(dict.fromkeys(xs)))
        rows = np.array([self.row[x] for x in xs], dtype=np.int64)
        self._fill_among(np.unique(rows))
        return self.distances[:, rows[:, None], rows]

    def between(self, xs: Sequence[Architecture], ys: Sequence[Architecture]) -> Array:
        """Return the distances from candidates to architectures of the table (2 * weights, n, m)."""
        if not all(y in self.row for y in ys):
            return both_distances(xs, ys, self.settings)
        if self.candidates != list(xs):
            known = [i for i, x in enumerate(xs) if x in self.row]
            found = np.full((2 * len(self.settings.weights), len(xs), len(self.architectures)), np.nan)
            found[:, known] = self.distances[:, [self.row[xs[i]] for i in known]]
            self.candidates, self.candidate_distances = list(xs), found  # NaN if not computed yet
        rows = np.array([self.row[y] for y in ys], dtype=np.int64)
        self._fill_between(np.unique(rows))
        return self.candidate_distances[:, :, rows]

    def _admit(self, batch: list[Architecture]) -> None:
        """Give each architecture of a batch a row, NaN if it is new."""
        new = [x for x in batch if x not in self.row]
        if not new:
            return
        if self.architectures and new[0].family != self.architectures[0].family:
            self.architectures, self.row = [], {}
        kept = self.architectures
        if len(kept) + len(new) > max(MAX_ROWS, SPARE * len(batch)):
            kept = [x for x in batch if x in self.row]
        rows = [self.row[x] for x in kept]
        grown = np.full((2 * len(self.settings.weights), len(kept) + len(new), len(kept) + len(new)), np.nan)
        if kept:
            grown[:, : len(kept), : len(kept)] = self.distances[:, np.array(rows)[:, None], rows]
        self.distances, self.architectures = grown, [*kept, *new]
        self.row = {x: row for row, x in enumerate(self.architectures)}
        self.candidates = []

    def _fill_among(self, rows: IntArray) -> None:
        missing = np.isnan(self.distances[0][rows[:, None], rows])
        while missing.any():
            some, lacking = _shared_gap(missing)
            own, others = rows[some], rows[np.setdiff1d(lacking, some)]
            if missing[some[0], some[0]]:  # new architectures, without any distances
                self.distances[:, own[:, None], own] = both_distances(self._at(own), None, self.settings)
            if len(others):
                across = both_distances(self._at(others), self._at(own), self.settings)
                self.distances[:, others[:, None], own] = across
                self.distances[:, own[:, None], others] = across.transpose(0, 2, 1)
            missing[some[:, None], lacking] = missing[lacking[:, None], some] = False

    def _fill_between(self, rows: IntArray) -> None:
        missing = np.isnan(self.candidate_distances[0][:, rows])
        while missing.any():
            some, lacking = _shared_gap(missing)
            found = both_distances([self.candidates[i] for i in some], self._at(rows[lacking]), self.settings)
            self.candidate_distances[:, some[:, None], rows[lacking]] = found
            missing[some[:, None], lacking] = False

    def _at(self, rows: IntArray) -> list[Architecture]:
        return [self.architectures[row] for row in rows]


def _shared_gap(missing: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the rows that lack the same columns as the row that lacks most, and these columns, for a single call."""
    lacking = missing[np.argmax(missing.sum(axis=1))]
    return np.flatnonzero((missing == lacking).all(axis=1)), np.flatnonzero(lacking)


def both_distances(xs: Sequence[Architecture], ys: Sequence[Architecture] | None, settings: Otmann) -> Array:
    """Compute the distances, then the normalized distances (2 * weights, n, m).

    ys: m architectures; None for xs with themselves.
    """
    found = otmann_distances(xs, ys, settings)
    return np.ascontiguousarray(np.concatenate(found, axis=2).transpose(2, 0, 1))
