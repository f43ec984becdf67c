"""Bounds of a posterior mean and variance from covariances in single precision.

With k the covariances of a point with n training points, S = K + ratio I and weights w, the mean is w'k, and the
variance explained is k'S^-1 k. Rounding changes a sum of n products by at most n + 4 roundings of the sum of their
magnitudes, which is computed, too. And k'S^-1 k is at least |B k|^2 for rows B with B S B' = I: what r components
explain, all of them explain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.contracts import SINGLE_ROUNDING, Array, SingleGram
from bostruct.surrogates.members import Member

MAX_COMPONENTS = 32
FEWEST_COMPONENTS = 24  # from some 200 training points on; of fewer points an exact variance costs as little
POINTS_PER_COMPONENT = 8  # training points: what a component costs, and an exact variance saves
POWER_ITERATIONS = 2
LEAST_EIGENVALUE = 0.3  # of a component that is worth its product, in units of a variance
NEGLIGIBLE = 1e-11  # a coefficient that counts as 0: times the smallest covariance it would be slow to multiply
COMPONENT_ROUNDING = 1e-6  # relative: rounding leaves B S B' within that of I


class SingleMember(NamedTuple):
    """One member of a posterior in single precision.

    rows: the weights over their scale, the magnitudes of these, ones, and the components B (3 + r, n).
    scale: the largest weight.
    spread: the Frobenius norm of B.
    reach: as of `Member`, a column, of one number where all are equal.
    """

    rows: npt.NDArray[np.float32]
    scale: float
    spread: float
    reach: npt.NDArray[np.float32]


def prepare_member(build: Callable[[], Array], one: Member, nugget: float, known: Array | None = None) -> SingleMember:
    """Return what the bounds need of a member.

    build: makes K of the training points under it (n, n); asked only where components pay.
    one: the member.
    nugget: share of the amplitude added to the diagonal of K.
    known: as of `Hyperparameters.ratio`.
    """
    n = len(one.weights)
    most = min(MAX_COMPONENTS, n // POINTS_PER_COMPONENT)
    components = np.empty((0, n))
    if most >= FEWEST_COMPONENTS:
        components = leading_components(build(), one.hyper.ratio(nugget, known) + one.jitter, most)
    scale = float(np.max(np.abs(one.weights))) or 1.0
    weights = one.weights / scale
    rows = np.vstack([weights, np.abs(weights), np.ones(n), components])
    rows[np.abs(rows) < NEGLIGIBLE] = 0.0
    is_level = float(np.ptp(one.reach)) <= SINGLE_ROUNDING * float(one.reach[0])
    reach = (one.reach[:1] if is_level else one.reach).astype(np.float32)
    return SingleMember(rows.astype(np.float32), scale, float(np.linalg.norm(components)), reach[:, None])


def leading_components(gram: Array, ridge: float | Array, most: int) -> Array:
    """Return rows B (r, n) with B (K + ridge I) B' = I that span about the leading eigenvectors of K.

    gram: K (n, n).
    ridge: added to the diagonal, at least 0; a number, or (n,).
    most: the most that r may be, in 1..n.

    Source: Halko, Martinsson and Tropp 2011, algorithm 4.4, begun at columns of K.
    """
    n = len(gram)
    basis = gram[:, np.linspace(0, n - 1, most).astype(np.int64)]
    for _ in range(POWER_ITERATIONS):
        basis = gram @ np.linalg.qr(basis)[0]
    basis = np.linalg.qr(basis)[0]
    among = basis.T @ (gram @ basis)
    if isinstance(ridge, np.ndarray):
        among += (basis.T * ridge) @ basis
    values, vectors = np.linalg.eigh(among)
    if not isinstance(ridge, np.ndarray):
        values += ridge
    kept = values >= LEAST_EIGENVALUE * (float(np.mean(gram.diagonal())) + float(np.mean(ridge)))
    return ((basis @ vectors[:, kept]) / np.sqrt(values[kept])).T


def bound_member(one: SingleMember, single: SingleGram) -> tuple[Array, Array]:
    """Return the least that the weighted sum w'k, and the variance explained, can be at m points, (m,) each.

    one: the member.
    single: covariances of the n training points with the m points (n, m).
    """
    gram, n = single.gram, len(single.gram)
    share = (n + 4) * SINGLE_ROUNDING + single.error
    share = share / (1.0 - share) if share < 0.5 else 2.0 * share  # of what was computed, no longer of what is true
    found = one.rows @ gram
    weighted, magnitude, total = found[:3].astype(np.float64)
    nearest = gram.max(axis=0).astype(np.float64)
    reached = nearest * one.reach[0] if len(one.reach) == 1 else (gram * one.reach).max(axis=0)
    lowest = weighted - share * (1.0 + share) * magnitude - NEGLIGIBLE * (1.0 + share) * total
    explained = max(1.0 - share - 4.0 * SINGLE_ROUNDING, 0.0) * reached
    if len(components := found[3:]):
        length = np.sqrt(nearest * total) * (1.0 + share)  # at least |k|
        projected = np.sqrt(np.einsum("rm,rm->m", components, components, dtype=np.float64))
        projected -= (share * one.spread + NEGLIGIBLE * n) * length
        np.maximum(explained, (1.0 - COMPONENT_ROUNDING) * projected, out=explained)
    return one.scale * lowest, np.square(explained)
