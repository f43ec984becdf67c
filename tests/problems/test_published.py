"""Contamination, Ising, Branin and pest control: values of the published code, and the same things done plainly.

Golden values: produced by the code of Oh et al., NeurIPS 2019 (github.com/QUVA-Lab/COMBO), which stores float32.
"""

import itertools

import numpy as np
import pytest

from bostruct import problems
from bostruct.problems import contamination as contamination_module
from bostruct.problems import ising as ising_module
from bostruct.problems import pest as pest_module
from bostruct.problems.base import bits, published_initial_seeds, published_seeds

ALTERNATING = "1010101010101010101010101"

ISING_SEEDS = {
    1286: [1182, 1879, 3770, 4560, 8935],
    6786: [1188, 2393, 5857, 6683, 7009],
    8158: [486, 626, 2996, 4172, 9012],
    8193: [107, 2727, 5775, 6488, 8056],
    8733: [3416, 6943, 6979, 7215, 8995],
}
CONTAMINATION_SEEDS = {
    758: [598, 1916, 7724, 8424, 9100],
    1203: [920, 1149, 3362, 5073, 5969],
    2539: [1315, 2349, 2949, 6817, 6878],
    6031: [2879, 3047, 3625, 4711, 6240],
    7596: [1787, 6731, 8067, 9041, 9345],
}
PEST_SEEDS = [533, 782, 952, 1155, 1414, 2374, 2659, 2791, 2888, 2934, 2993, 4093, 4348, 4617, 5355, 6115, 6945, 7032]
PEST_SEEDS += [7437, 7915, 8099, 9124, 9126, 9290, 9846]
MAXSAT_SEEDS = [129, 378, 634, 1380, 1427, 1773, 2181, 2661, 2927, 3802, 4379, 4379, 4985, 6032, 6548, 6881, 7100, 7367]
MAXSAT_SEEDS += [7434, 7467, 7658, 7726, 8889, 9495, 9644]


@pytest.mark.parametrize(
    ("tag", "table"), [("2019ICML_ISING", ISING_SEEDS), ("2019ICML_CONTAMINATION", CONTAMINATION_SEEDS)]
)
def test_seeds_of_instances_and_initial_points(tag, table):
    expected = [(case, seed) for case, seeds in table.items() for seed in seeds]
    assert published_seeds(tag) == dict(enumerate(expected, start=1))


@pytest.mark.parametrize(("tag", "seeds"), [("2019ICML_PESTCONTROL", PEST_SEEDS), ("2019NeurIPS_MAXSAT", MAXSAT_SEEDS)])
def test_seeds_of_initial_points(tag, seeds):
    assert published_initial_seeds(tag) == dict(enumerate(seeds, start=1))


def test_a_case_has_its_five_configurations_and_another_all_of_them():
    assert problems.load("contamination:case=1203").configs == (6, 7, 8, 9, 10)
    assert problems.load("ising:case=8733").configs == (21, 22, 23, 24, 25)
    assert problems.load("contamination:case=4").configs == tuple(range(1, 26))
    assert published_seeds(contamination_module.TAG)[6] == (1203, 920)
    with pytest.raises(ValueError, match="config: expected one of 6, 7, 8, 9, 10; got 1"):
        problems.load("contamination:case=1203").initial_points(1)


INITIAL = [
    ("contamination", 1, ["1110010101101100101110010", "0110001111100000010001001"]),
    ("ising", 1, ["101001110111000010111111", "011001010100100001010001"]),
    ("pest", 1, ["3022230234043024321042212"]),
]


@pytest.mark.parametrize(("spec", "config", "rows"), INITIAL)
def test_initial_points_are_those_of_torch(spec, config, rows):
    assert ["".join(map(str, row)) for row in problems.load(spec).initial(config)[: len(rows)]] == rows


# contamination control


def test_contamination_rates():
    objective = contamination_module.contamination(758).vertex_objective
    np.testing.assert_allclose(objective.initial[:3], [0.02104677, 0.00977463, 0.00693168], atol=5e-9)
    np.testing.assert_allclose(objective.spread[0, :3], [0.2382055, 0.04309567, 0.04182091], atol=5e-9)
    np.testing.assert_allclose(objective.cure[0, :3], [0.58688597, 0.75967827, 0.31641726], atol=5e-9)


CONTAMINATION_VALUES = [
    ("0" * 25, (23.33, 23.33, 23.33)),
    ("1" * 25, (23.75, 23.7525, 24.00)),
    (ALTERNATING, (22.98, 22.9813, 23.11)),
    ("1110010101101100101110010", (22.71, 22.7114, 22.85)),
    ("0110001111100000010001001", (24.23, 24.2310, 24.33)),
]


@pytest.mark.parametrize(("text", "values"), CONTAMINATION_VALUES)
def test_contamination_values(text, values):
    for strength, value in zip((0.0, 1e-4, 1e-2), values, strict=True):
        problem = contamination_module.contamination(758, strength)
        assert problem.evaluate(np.array([bits(text)]))[0] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("case", CONTAMINATION_SEEDS)
@pytest.mark.parametrize("strength", [0.0, 1e-4, 1e-2])
def test_no_change_of_two_stages_improves_a_contamination_optimum(case, strength):
    problem = contamination_module.contamination(case, strength)
    best = np.array(problem.optimal_vertices)
    assert problem.evaluate(best[None])[0] == pytest.approx(problem.optimum, abs=1e-9)
    flips = np.array([np.isin(np.arange(25), pair) for pair in itertools.combinations(range(25), 2)])
    for rows in (best ^ flips, problem.space.neighbors(best)):
        assert problem.evaluate(rows).min() >= problem.optimum - 1e-9


def plain_contamination(x, objective):
    total, simulations = 0.0, len(objective.initial)
    fractions = list(objective.initial)
    for i, prevent in enumerate(x):
        good = 0
        for s in range(simulations):
            spread, cure, z = objective.spread[i, s], objective.cure[i, s], fractions[s]
            fractions[s] = (1 - cure) * z if prevent else spread * (1 - z) + z
            good += fractions[s] < 0.1
        total += prevent - (good / simulations - 0.95)
    return total + objective.strength * sum(x)


def test_contamination_equals_a_plain_loop_and_its_optimum_is_proved():
    problem = contamination_module.contamination(1203, 0.01, stages=6)
    points = problem.space.enumerate()
    values = [plain_contamination([int(v) for v in x], problem.vertex_objective) for x in points]
    np.testing.assert_allclose(problem.evaluate(points), values, atol=1e-12)
    assert problem.optimum == pytest.approx(min(values), abs=1e-12)
    assert problem.optimum_source == "proved by enumeration"


def test_contamination_ties_are_exact():
    problem = contamination_module.contamination(758)
    values = problem.evaluate(problem.space.sample(2000, np.random.default_rng(0)))
    assert len(np.unique(values)) == len(np.unique(np.round(values, 6))) < 600


# Ising sparsification


def test_ising_instance():
    objective = ising_module.ising(1286).vertex_objective
    np.testing.assert_allclose(objective.horizontal[0], [-4.85056257, 4.61171389, 0.20757684], atol=5e-9)
    np.testing.assert_allclose(objective.vertical[0], [1.54144013, -1.18104982, 3.02408695, 0.23517901], atol=5e-9)
    edges = ising_module.grid_edges()
    assert objective.correlations[edges.index((0, 1))] == pytest.approx(-0.9999999763, abs=1e-10)
    assert objective.correlations[edges.index((0, 4))] == pytest.approx(0.9867178952, abs=1e-10)
    assert objective.log_z == pytest.approx(83.6628722, abs=1e-7)


def test_ising_couplings_lie_at_the_published_positions():
    edges = ising_module.grid_edges()
    assert [i for i, (a, b) in enumerate(edges) if b == a + 1] == [0, 2, 4, 7, 9, 11, 14, 16, 18, 21, 22, 23]
    across, down = ising_module.couplings(1286)
    ordered = ising_module.ising(1286).vertex_objective.couplings
    for position, (a, b) in enumerate(edges):
        assert ordered[position] == (across[a // 4, a % 4] if b == a + 1 else down[a // 4, a % 4])


ISING_VALUES = [
    ("0" * 24, 9.273808, 9.273808),
    ("1" * 24, 0.0, 0.24),
    ("10" * 12, 8.742753, 8.862753),
    ("101001110111000010111111", 6.059520, 6.209520),
    ("011001010100100001010001", 17.012291, 17.102291),
]


@pytest.mark.parametrize(("text", "free", "priced"), ISING_VALUES)
def test_ising_values(text, free, priced):
    for strength, value in ((0.0, free), (0.01, priced)):
        problem = ising_module.ising(1286, strength)
        assert problem.evaluate(np.array([bits(text)]))[0] == pytest.approx(value, abs=1e-6)


ISING_OPTIMA = [
    (0.0, (0, 0, 0, 0, 0)),
    (1e-4, (0.002400, 0.002100, 0.001508, 0.002275, 0.002019)),
    (1e-2, (0.219250, 0.159378, 0.150008, 0.210580, 0.181290)),
]


@pytest.mark.parametrize(("strength", "optima"), ISING_OPTIMA)
def test_ising_optima(strength, optima):
    for case, value in zip(ISING_SEEDS, optima, strict=True):
        problem = ising_module.ising(case, strength)
        assert problem.optimum == pytest.approx(value, abs=6e-7)
        assert problem(problem.optimal_point) == pytest.approx(problem.optimum, abs=1e-10)
        assert problem.evaluate(problem.space.neighbors(np.array(problem.optimal_vertices))).min() > value - 1e-6


@pytest.mark.parametrize("case", [1286, 17])
def test_ising_equals_the_sum_over_all_states(case):
    problem = ising_module.ising(case, 0.003)
    objective = problem.vertex_objective
    spins = 1 - 2 * ((np.arange(2**16)[:, None] >> np.arange(16)) & 1)
    bonds = np.stack([spins[:, a] * spins[:, b] for a, b in ising_module.grid_edges()], axis=1)

    def log_z(j):
        energy = 2 * bonds @ j
        return energy.max() + np.log(np.exp(energy - energy.max()).sum())

    j = objective.couplings
    probability = np.exp(2 * bonds @ j - log_z(j))
    correlations = probability @ bonds
    np.testing.assert_allclose(objective.correlations, correlations, atol=1e-12)
    rows = problem.space.sample(6, np.random.default_rng(case))
    expected = [2 * (j - x * j) @ correlations + log_z(x * j) - log_z(j) + 0.003 * x.sum() for x in rows]
    np.testing.assert_allclose(problem.evaluate(rows), expected, atol=1e-10)


# pest control


PEST_VALUES = [
    ("0" * 25, (23.66, 23.62)),
    ("1" * 25, (20.08, 20.02)),
    ("01234" * 5, (18.00, 17.97)),
    ("4" * 25, (12.57, 12.52)),
    ("3022230234043024321042212", (17.5504, 17.9004)),
]


@pytest.mark.parametrize(("text", "values"), PEST_VALUES)
def test_pest_values_of_the_legacy_generator(text, values):
    for seed, value in enumerate(values):
        legacy = np.random.RandomState(seed)
        assert pest_module.simulate(np.array(bits(text)), legacy) == pytest.approx(value, abs=1e-9)


def test_pest_noise_belongs_to_the_point_and_the_seed():
    problem, other = problems.load("pest"), problems.load("pest:noise=1")
    rows = problem.space.sample(30, np.random.default_rng(1))
    np.testing.assert_array_equal(problem.evaluate(rows)[::-1], problem.evaluate(rows[::-1]))
    assert (problem.evaluate(rows) != other.evaluate(rows)).mean() > 0.8


def test_pest_noise_has_the_published_spread_around_the_noise_free_value():
    row = np.array(bits("01234" * 5))
    problem = problems.load("pest")
    values = [pest_module.PestControl(seed)(row[None])[0] for seed in range(400)]
    assert np.std(values) == pytest.approx(0.163, abs=0.02)
    assert problem.noise_free(problem.space.present(row)) == pytest.approx(np.mean(values), abs=4 * 0.163 / 20)


def test_pest_without_noise_costs_what_the_exceedance_probability_says():
    # Nothing sprayed: after one stage 1 - Z is a product of independent 1 - Beta; the price is 0. All 1: prices alone.
    problem = problems.load("pest")
    idle = problem.noise_free(dict.fromkeys(problem.space.variables, 0), 100_000)
    rng = np.random.default_rng(9)
    clean = 1 - rng.beta(1, 30, 100_000)
    expected = 0.0
    for _ in range(25):
        expected += np.mean(1 - clean > 0.1)
        clean *= 1 - rng.beta(1, 17 / 3, 100_000)
    assert idle == pytest.approx(expected, abs=0.03)


def test_pest_graphs():
    point = np.array(bits("3022230234043024321042212"))
    complete, path = problems.load("pest"), problems.load("pest:graph=path")
    assert len(complete.space.neighbors(point)) == 100
    assert len(path.space.neighbors(point)) == sum(1 if v in (0, 4) else 2 for v in point)
    assert complete.evaluate(point[None]) == path.evaluate(point[None])
