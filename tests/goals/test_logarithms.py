"""The log density is that of scipy, and means of exponentials do not overflow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bostruct.goals.logarithms import log_density, log_mean_exp


def test_the_density_is_that_of_scipy():
    z = np.linspace(-40.0, 40.0, 33).reshape(3, 11)
    assert log_density(z) == pytest.approx(stats.norm.logpdf(z), rel=1e-14)


@pytest.mark.parametrize("shift", [-2000.0, 0.0, 2000.0])  # where exp is 0, and where it overflows
def test_the_mean_is_that_of_what_the_logarithms_are_of(shift):
    numbers = np.random.default_rng(0).random((5, 3))
    assert log_mean_exp(np.log(numbers) + shift) == pytest.approx(np.log(numbers.mean(axis=0)) + shift, rel=1e-14)
