"""The members of a posterior: samples of the hyperparameters, each with the factor of its Gram matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, Batch, Kernel
from bostruct.surrogates.gaussian import cholesky, inverse_lower
from bostruct.surrogates.hyperparameters import Hyperparameters


class Member(NamedTuple):
    """One sample of the hyperparameters, with what prediction needs.

    hyper: the sample.
    weights: (K + ratio I)^-1 (y - mean), (n,); empty where no values were given.
    whitener: inverse of the Cholesky factor of K + ratio I, (n, n).
    reach: 1 / sqrt of the diagonal of K + ratio I, (n,): the share of a prior variance that one point explains.
    jitter: added to the diagonal of K, 0 where none was needed.
    """

    hyper: Hyperparameters
    weights: Array
    whitener: Array
    reach: Array
    jitter: float


def fit_member(
    kernel: Kernel,
    xs: Batch,
    residual: Array | None,
    hyper: Hyperparameters,
    nugget: float,
    known: Array | None = None,
) -> Member:
    """Factor the Gram matrix of training points under one sample of the hyperparameters; raises NumericalError.

    kernel: of the points.
    xs: n points.
    residual: values less the mean (n,); None leaves the weights empty.
    hyper: the sample.
    nugget: share of the amplitude added to the diagonal of K, at least 0.
    known: as of `Hyperparameters.ratio`.
    """
    return member_from_gram(kernel.gram(hyper.theta, kernel.prepare(xs)), residual, hyper, nugget, known)


def member_from_gram(
    gram: Array, residual: Array | None, hyper: Hyperparameters, nugget: float, known: Array | None = None
) -> Member:
    """Factor the Gram matrix of training points under one sample of the hyperparameters; raises NumericalError.

    gram: K (n, n) at the sample's theta, which is only read.
    residual: values less the mean (n,); None leaves the weights empty.
    hyper: the sample.
    nugget: share of the amplitude added to the diagonal of K, at least 0.
    known: as of `Hyperparameters.ratio`.
    """
    ratio = hyper.ratio(nugget, known)
    lower, jitter = cholesky(gram.copy, ratio)
    whitener = inverse_lower(lower)
    weights = np.empty(0) if residual is None else whitener.T @ (whitener @ residual)
    return Member(hyper, weights, whitener, 1.0 / np.sqrt(gram.diagonal() + ratio + jitter), jitter)
