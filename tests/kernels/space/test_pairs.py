"""The product of two factors: parameters of a variable side by side, all else the sum of what both say."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from bostruct.domains.space.subset import Subset
from bostruct.kernels.space.subset import FactorPair, FeatureFactor, JohnsonFactor, SubsetFeatures

FIRST, SECOND = JohnsonFactor(4, 2, 2), FeatureFactor(SubsetFeatures(4, True, False), 2)
PAIR = FactorPair(FIRST, SECOND)


def test_the_parameters_of_a_variable_are_side_by_side():
    rng = np.random.default_rng(0)
    xs = Subset(range(4), 2).enumerate()[rng.integers(6, size=(5, 2))].reshape(5, -1)
    theta = rng.normal(size=10)
    alone = FIRST.log_gram(theta[[0, 5]], FIRST.prepare(xs))
    alone += SECOND.log_gram(theta[[1, 2, 3, 4, 6, 7, 8, 9]], SECOND.prepare(xs))
    assert PAIR.n_parameters == 10
    assert_allclose(PAIR.log_gram(theta, PAIR.prepare(xs)), alone)
