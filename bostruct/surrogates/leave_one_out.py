"""Leave-one-out prediction of a Gaussian process in closed form (Rasmussen and Williams 2006, section 5.4.2)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from bostruct.contracts import Array, Prediction
from bostruct.surrogates.members import Member


def predict_left_out(one: Member) -> Prediction:
    """Return mean and variance of each training value given all others, (n,) each, on the scale of the model.

    one: a member with the weights of n values. Its hyperparameters, the mean of the process among them, stay.

    The variance includes the noise of the value. With C = K + ratio I and the residual r = C w, the mean is
    value - w_i / (C^-1)_ii and the variance amplitude / (C^-1)_ii. Source: Rasmussen and Williams 2006, (5.10) to
    (5.12).
    """
    precision = np.square(one.whitener).sum(axis=0)
    return Prediction(read_values(one) - one.weights / precision, np.exp(one.hyper.log_amplitude) / precision)


def read_values(one: Member) -> Array:
    """Return the n values that a member has the weights of (n,), on the scale of the model, up to rounding.

    They are its mean plus C w, where its whitener is the inverse of the lower Cholesky factor of C.

    one: a member with the weights of n values.
    """
    half = solve_triangular(one.whitener, one.weights, lower=True, trans=1)
    return one.hyper.mean + solve_triangular(one.whitener, half, lower=True)
