"""Vizier's copies of the problems of the COMBO paper give the values that ours give.

Golden values: `evaluate` of the experimenters in `vizier._src.benchmarks.experimenters.combo_experimenter` of
google-vizier 0.1.24 (github.com/google/vizier), with NumPy 2.4, at points of random digits. The seed is `random_seed`;
contamination and Ising have `lamda=0.01`.
"""

from __future__ import annotations

import numpy as np
import pytest

from bostruct.problems.contamination import contamination
from bostruct.problems.ising import Ising
from bostruct.problems.pest import PEST_STAGES, simulate

N_COUPLINGS = 12  # of each kind


CONTAMINATION = [
    (758, "1110000001111111111101100", 23.32),
    (758, "1101110010100000000011101", 23.73),
    (2539, "1001110111111010111100001", 22.8),
    (2539, "1011011001110100100110001", 23.18),
]


@pytest.mark.parametrize(("seed", "digits", "value"), CONTAMINATION)
def test_contamination_has_the_same_instances_and_values(seed, digits, value):
    assert contamination(seed, 1e-2).evaluate(read([digits]))[0] == pytest.approx(value, rel=1e-12)


class NewEachTime:
    """Draws of a generator that is made anew from one seed before each draw, as Vizier's stages have it."""

    def __init__(self, seed: int):
        self.seed = seed

    def beta(self, a, b, size):
        return np.random.RandomState(self.seed).beta(a, b, size)


PEST = [
    (0, "0" * 25, 22.27),
    (0, "4" * 25, 12.57),
    (0, "2311340031204243313022404", 18.1296),
    (0, "0324143403401302334222402", 17.53),
    (533, "0" * 25, 22.05),
    (533, "4" * 25, 12.57),
    (533, "0243143402432222130213334", 17.836),
    (533, "4000344344004044410241414", 18.9148),
]


@pytest.mark.parametrize(("seed", "digits", "value"), PEST)
def test_pest_control_agrees_on_the_same_draws(seed, digits, value):
    (row,) = read([digits])
    assert simulate(row, NewEachTime(seed)) == pytest.approx(value, rel=1e-12)


def test_pest_control_differs_in_its_draws():
    """Where pests spread by the same draw at each stage, a simulation with a small draw stays below the limit."""
    nothing = np.zeros(PEST_STAGES, dtype=np.int64)
    one_generator = [simulate(nothing, np.random.RandomState(seed)) for seed in range(40)]
    new_each_time = [simulate(nothing, NewEachTime(seed)) for seed in range(40)]
    assert np.mean(one_generator) == pytest.approx(23.6, abs=0.1)
    assert np.mean(new_each_time) == pytest.approx(22.2, abs=0.3)


ISING = [
    (0, "000011011001100110110110", 19.2497505906972),
    (0, "110001011100011010001101", 5.51856881597818),
    (7, "100001000010111111010000", 13.364110385099428),
    (7, "011111100101011010011011", 15.267209744669282),
]


@pytest.mark.parametrize(("seed", "digits", "value"), ISING)
def test_ising_agrees_on_the_same_couplings(seed, digits, value):
    """Vizier draws couplings of its own, by NumPy; ours are those that torch draws in the paper's code."""
    model = Ising(*numpy_couplings(seed), strength=1e-2)
    assert model(read([digits]))[0] == pytest.approx(value, rel=1e-9)


CENTROID = [
    (0, "0" * 24, 72.06824213001217),
    (0, "212200010001102212200210", 73.43473219451464),
    (0, "111101122200201212011112", 62.19249899280445),
    (7, "0" * 24, 105.26972137046408),
    (7, "200002020212122212201002", 128.54613819503655),
    (7, "022021221121202121001201", 95.17468852848695),
]


@pytest.mark.parametrize(("seed", "digits", "value"), CENTROID)
def test_centroid_is_a_mean_of_divergences_of_our_ising_models(seed, digits, value):
    seeds = np.random.RandomState(seed).randint(0, 10_000, 3)
    given = np.array([np.concatenate([j.ravel() for j in numpy_couplings(s)]) for s in seeds])  # (3, 24)
    mixed = given[read([digits])[0], np.arange(2 * N_COUPLINGS)]
    approximation = as_model(mixed)
    divergences = []
    for model in map(as_model, given):
        lost = 2 * (model.couplings - approximation.couplings) @ model.correlations
        divergences.append(lost + approximation.log_z - model.log_z)
    assert np.mean(divergences) == pytest.approx(value, rel=1e-9)


def read(texts: list[str]) -> np.ndarray:
    return np.array([[int(digit) for digit in text] for text in texts])


def as_model(couplings: np.ndarray) -> Ising:
    """Return the model of 24 couplings, those within rows before those between rows."""
    across, down = couplings[:N_COUPLINGS], couplings[N_COUPLINGS:]
    return Ising(across.reshape(4, 3), down.reshape(3, 4), strength=0.0)


def numpy_couplings(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return couplings within rows (4, 3) and between rows (3, 4), in Vizier's order of draws: signs, then sizes."""
    rng = np.random.RandomState(seed)
    across, down = (np.where(rng.randint(0, 2, 12), 1.0, -1.0) * (0.05 + 4.95 * rng.rand(12)) for _ in range(2))
    return across.reshape(4, 3), down.reshape(3, 4)
