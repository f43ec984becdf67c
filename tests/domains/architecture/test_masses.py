"""Masses of all layers: those that the paper prints, and sums that the released code has."""

import math

import pytest

from bostruct.contracts import PointError
from bostruct.domains.architecture.layers import CNN, Label
from bostruct.domains.architecture.value import Architecture, all_masses
from tests.architectures import GOLDEN
from tests.kernels.otmann.test_golden import TOTAL_MASSES


def test_masses_are_those_of_figure_1():
    found = all_masses(GOLDEN["a"], end_floor=0.0, dense_factor=1.0)
    assert found == pytest.approx([235.2, 16, 256, 512, 1024, 32, 512, 235.2, 235.2])


@pytest.mark.parametrize("name", TOTAL_MASSES)
def test_totals_are_those_of_the_released_code(name):
    assert math.fsum(all_masses(GOLDEN[name])) == pytest.approx(TOTAL_MASSES[name])


@pytest.mark.parametrize("n_layers", [600, 1400])  # about 10^160 and 10^370, which no float holds
def test_masses_beyond_all_measure_are_refused(n_layers):
    """Channels grow by a factor in every layer that takes what three others give."""
    family = CNN.with_label(Label("pass", units=False), {"max-pool": 0.5})
    layers = ["ip", "conv3-8", *["pass"] * n_layers, "conv3-16", "softmax", "op"]
    edges = [(u, v) for v in range(1, len(layers)) for u in range(max(1, v - 3), v) if v < n_layers + 3] + [(0, 1)]
    edges += [(n_layers + 2, n_layers + 3), (n_layers + 3, n_layers + 4)]
    x = Architecture(layers, edges, family)
    with pytest.raises(PointError, match=r"layer \d+ \(conv3-16\): expected a mass, .* of at most 1e\+150, got 10\^"):
        x.masses  # noqa: B018
