"""Random polynomials over spaces, for the tests of what fits and of what minimizes them."""

from __future__ import annotations

import numpy as np

import bostruct as bo
from bostruct.surrogates.horseshoe import Monomials, Polynomial

BITS = bo.Space({f"b{i}": bool for i in range(7)})
MIXED = bo.Space({"a": ["x", "y", "z"], "b": bool, "c": range(4), "d": bool})


def random_polynomial(space: bo.Space, seed: int, order: int = 2) -> Polynomial:
    monomials = Monomials(tuple(space.n_choices.tolist()), order)
    return Polynomial(monomials, np.random.default_rng(seed).standard_normal(monomials.count))
