"""OTMANN against published numbers: Figure 1 of Kandasamy et al. 2018, and what its released code computes."""

import numpy as np
import pytest

import bostruct as bo
from bostruct.kernels.otmann.distance import layer_masses, otmann_distances, path_lengths
from bostruct.kernels.otmann.settings import PAPER, REFERENCE
from tests.architectures import GOLDEN

# Released code, structural weights 0.1, 0.25, 0.61, 1.5; printed to four digits after the point.
DISTANCES = {
    ("a", "b"): (27.5320, 68.8300, 167.9452, 412.9800),
    ("a", "c"): (819.2850, 938.8644, 1225.8548, 1890.5588),
    ("b", "c"): (799.9010, 890.4044, 1107.6124, 1599.7988),
    ("s1", "s2"): (0.0, 0.0, 0.0, 0.0),
    ("s6", "s7"): (0.0, 0.0, 0.0, 0.0),
    ("s3", "s4"): (1367.3484, 1397.5711, 1470.1055, 1649.4267),
    ("s2", "s6"): (322.1400, 365.9100, 470.9580, 730.6600),
    ("s7", "s8"): (168.9600, 168.9600, 168.9600, 168.9600),
    ("VGG1", "VGG2"): (469999.2960, 504073.4400, 585851.3856, 788024.6400),
    ("VGG1", "BLK311"): (242138.2939, 264971.7019, 319771.8811, 378992.6400),
    ("BLK311", "BLK321"): (117529.1520, 126091.6800, 146641.7472, 197446.0800),
    ("BLK321", "RES321"): (13107.2000, 13107.2000, 13107.2000, 13107.2000),
    ("VGG1", "RES321"): (151797.9419, 187191.2219, 272135.0939, 480579.5200),
    ("eg1", "eg2"): (1242.6400, 1259.5600, 1300.1680, 1400.5600),
    ("VGG1", "eg2"): (277361.4015, 291138.2708, 324180.0372, 339306.2400),
    ("m1", "m2"): (12.8, 12.8, 12.8, 12.8),
    ("m1", "m3"): (2864.9333, 2979.4000, 3211.0267, 3727.6000),
    ("m1", "m4"): (2948.8667, 3054.1667, 3302.4733, 3900.6000),
    ("m3", "m4"): (137.4667, 185.2667, 299.9867, 583.6000),
    ("m3", "me1"): (164342.8352, 164398.6880, 164531.8946, 164858.1278),
    ("me1", "me2"): (190.0800, 475.2000, 1159.4880, 2851.2000),
}
TOTAL_MASSES = {
    **dict.fromkeys("ab", 2458.56),
    "c": 1921.92,
    **dict.fromkeys(("s1", "s2"), 1167.2),
    "s3": 1659.84,
    "s4": 2991.04,
    **dict.fromkeys(("s6", "s7", "s8"), 1460.16),
    "VGG1": 302881.28,
    "VGG2": 750164.48,
    "BLK311": 76111.36,
    **dict.fromkeys(("BLK321", "RES321"), 187932.16),
    "eg1": 35193.6,
    "eg2": 36424.96,
    **dict.fromkeys(("m1", "m2"), 3681.6),
    "m3": 956.0,
    "m4": 892.0,
    **dict.fromkeys(("me1", "me2"), 165235.2),
}


@pytest.mark.parametrize(("first", "second"), DISTANCES)
def test_distances_of_the_released_code(first, second):
    x, y = GOLDEN[first], GOLDEN[second]
    match = bo.otmann(x, y)
    expected = np.array(DISTANCES[first, second])
    np.testing.assert_allclose(match.distance, expected, rtol=0, atol=5.1e-5)  # half of the last digit printed
    total = TOTAL_MASSES[first] + TOTAL_MASSES[second]
    np.testing.assert_allclose(match.normalized, match.distance / total, rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", TOTAL_MASSES)
def test_total_masses_of_the_released_code(name):
    assert layer_masses(GOLDEN[name], REFERENCE).sum() == pytest.approx(TOTAL_MASSES[name], rel=1e-12)


def test_far_architectures_are_at_normalized_distance_one():
    far = otmann_distances([GOLDEN["VGG1"]], [GOLDEN["BLK311"], GOLDEN["eg2"]]).normalized
    np.testing.assert_allclose(far[0, :, 3], 1.0, rtol=1e-12)


def test_figure_1():
    """The caption's six numbers, its networks a and b exchanged (they are misprinted there)."""
    found = otmann_distances([GOLDEN[name] for name in "abc"], settings=PAPER)
    distance, normalized = found.distance[:, :, 0], found.normalized[:, :, 0]
    expected = {(0, 1): (175.100, 0.0286), (1, 2): (1479.332, 0.2395), (0, 2): (1621.432, 0.2625)}
    for pair, (far, relative) in expected.items():
        assert distance[pair] == pytest.approx(far, abs=5e-4)
        assert normalized[pair] == pytest.approx(relative, abs=5e-5)


def test_masses_printed_in_figure_1():
    expected = {
        "a": [235.2, 16, 256, 512, 1024, 32, 512, 235.2, 235.2],
        "b": [235.2, 16, 256, 256, 256, 1024, 32, 512, 235.2, 235.2],
        "c": [240, 16, 512, 256, 256, 32, 16, 16, 512, 256, 120, 16, 512, 120, 240],
    }
    for name, masses in expected.items():
        np.testing.assert_allclose(layer_masses(GOLDEN[name], PAPER), masses, rtol=1e-12)


def test_plan_of_figure_1():
    """Each layer's share of d(a, b) = 175.1, all mass being matched."""
    a, b = GOLDEN["a"], GOLDEN["b"]
    match = bo.otmann(a, b, PAPER)
    np.testing.assert_allclose(match.plan[0].sum(axis=1), match.masses[0], rtol=1e-12)
    np.testing.assert_allclose(match.plan[0].sum(axis=0), match.masses[1], rtol=1e-12)
    from tests.kernels.otmann.oracle import matching_costs

    shares = (match.plan[0] * np.nan_to_num(matching_costs(a, b, PAPER, 0.5), posinf=0.0)).sum(axis=1)
    np.testing.assert_allclose(shares, [14.7, 1.0, shares[2], 32.0 - shares[2], 64.0, 2.0, 32.0, 14.7, 14.7])


# Network c of the figure, all layers in order.
PATHS_OF_C = {
    (0, 0, 0): "6 5 4 4 6 3 3 5 2 4 1 3 2 1 0",
    (0, 1, 0): "8 7 4 4 6 3 3 5 2 4 1 3 2 1 0",
    (0, 2, 0): "6.6667 5.6667 4 4 6 3 3 5 2 4 1 3 2 1 0",
    (1, 0, 0): "0 1 2 2 2 3 3 3 4 4 5 5 4 5 6",
    (1, 1, 0): "0 1 2 2 2 3 3 3 4 4 5 5 6 7 8",
    (1, 2, 0): "0 1 2 2 2 3 3 3 4 4 5 5 5 5.5 6.25",
    (0, 2, 1): "2.3333 2.3333 1 1 2 0 0 1 0 1 0 0 0 0 0",
    (1, 2, 1): "0 1 2 2 2 2 2 2 2 3 2 3 2.5 2.25 2.125",
    (0, 2, 2): "1.3333 1.3333 1 1 2 1 1 2 0 1 0 1 0 0 0",
    (1, 2, 2): "0 0 0 0 0 1 1 1 1 1 1 2 1.5 1.25 1.125",
}


@pytest.mark.parametrize("which", PATHS_OF_C)
def test_path_lengths_of_network_c(which):
    direction, kind, group = which
    found = path_lengths(GOLDEN["c"])[:, direction, kind, group]
    np.testing.assert_allclose(found, [float(word) for word in PATHS_OF_C[which].split()], atol=5e-5)
