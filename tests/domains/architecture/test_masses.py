"""Masses of all layers: those that the paper prints, and sums that the released code has."""

import math

import pytest

from bostruct.domains.architecture.masses import all_masses
from tests.architectures import GOLDEN
from tests.kernels.otmann.test_golden import TOTAL_MASSES


def test_masses_are_those_of_figure_1():
    found = all_masses(GOLDEN["a"], end_floor=0.0, dense_factor=1.0)
    assert found == pytest.approx([235.2, 16, 256, 512, 1024, 32, 512, 235.2, 235.2])


@pytest.mark.parametrize("name", TOTAL_MASSES)
def test_totals_are_those_of_the_released_code(name):
    assert math.fsum(all_masses(GOLDEN[name])) == pytest.approx(TOTAL_MASSES[name])
