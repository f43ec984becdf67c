"""Distances between profiles, compiled: by linear programs, block by block, and triangles that agree."""

from __future__ import annotations

import numpy as np

from bostruct.contracts import Array
from bostruct.kernels.otmann.compiled import allocate_memory, distances, plans
from tests.kernels.otmann.oracle import least_cost

MEMORY = allocate_memory(4)


def test_memory_has_room_for_the_largest_block():
    for size, n in ((3, 4), (4, 8), (5, 8)):
        shapes = [(size, size), (size, n), (n + 1, n), (n + 1, n // 4, 4), (5, 2 * n), (3, 2 * n), (3, n // 2, 4)]
        assert [part.shape for part in allocate_memory(size)] == shapes


def stacked(sizes: list[list[int]], rng: np.random.Generator):
    """Profiles of some architectures, each of blocks of layers of these sizes."""
    bounds = np.array([[0, *np.cumsum(blocks)] for blocks in sizes])
    starts = bounds + np.cumsum([0, *bounds[:-1, -1]])[:, None]
    layers = int(starts[-1, -1])
    labels, masses = rng.integers(0, 3, layers), rng.uniform(0.5, 4.0, layers)
    return starts, labels, masses, rng.uniform(0.0, 3.0, (6, layers)), rng.integers(0, 2, (layers, 1))


def costs_of(rng: np.random.Generator):
    table = rng.uniform(0.0, 2.0, (3, 3))
    table = table + table.T
    np.fill_diagonal(table, 0.0)
    table.flags.writeable = False  # as those of settings are: the same machine code serves
    return np.array([0.3, 1.0, 0.0]), table, np.array([0.25]), np.array([1, 0, 2])


def by_linear_programs(profiles, i: int, j: int, costs) -> Array:
    """The distance between two of the profiles at each weight: block by block, what is not shipped costs one a unit."""
    starts, labels, masses, paths, codes = profiles
    weights, table, extra, _ = costs
    out = np.zeros(len(weights))
    for block in range(starts.shape[1] - 1):
        rows, columns = (slice(starts[k, block], starts[k, block + 1]) for k in (i, j))
        out += masses[rows].sum() + masses[columns].sum()
        if rows.start == rows.stop or columns.start == columns.stop:
            continue
        base = table[labels[rows][:, None], labels[columns]] - 2.0
        base = base + (codes[rows][:, None] != codes[columns]) @ extra
        far = np.abs(paths[:, rows][:, :, None] - paths[:, columns][:, None]).sum(axis=0)
        out += [least_cost(base + weight * far, masses[rows], masses[columns]) for weight in weights]
    return out


SIZES = [[2, 3, 1], [0, 4, 2], [3, 1, 0], [1, 1, 1]]


def test_distances_are_those_of_all_blocks_by_linear_programs():
    rng = np.random.default_rng(0)
    profiles, costs = stacked(SIZES, rng), costs_of(rng)
    starts, _, masses, *_ = profiles
    out = np.zeros((2, 4, 4, 3))
    distances(profiles, profiles, costs, MEMORY, False, out)
    total = np.array([masses[row[0] : row[-1]].sum() for row in starts])
    for i in range(4):
        for j in range(4):
            np.testing.assert_allclose(out[0, i, j], by_linear_programs(profiles, i, j, costs), atol=1e-9)
    np.testing.assert_allclose(out[1], out[0] / (total[:, None] + total)[..., None])


def test_the_distance_of_a_pair_does_not_depend_on_the_layers_beside_it():
    """Path lengths are summed in whole vectors, which reach into the next block or architecture."""
    rng = np.random.default_rng(2)
    profiles, costs = stacked(SIZES, rng), costs_of(rng)
    starts, together = profiles[0], np.zeros((2, 4, 4, 3))
    distances(profiles, profiles, costs, MEMORY, False, together)

    for i, row in enumerate(starts):
        for j, row2 in enumerate(starts):
            first, second, alone = cut(profiles, row), cut(profiles, row2), np.zeros((2, 1, 1, 3))
            distances(first, second, costs, MEMORY, False, alone)
            np.testing.assert_array_equal(alone[:, 0, 0], together[:, i, j])


def cut(profiles, row: Array):
    """The profile of the architecture of these starts alone."""
    _, labels, masses, paths, codes = profiles
    own = slice(row[0], row[-1])
    return row[None] - row[0], labels[own], masses[own], paths[:, own].copy(), codes[own]


def test_one_triangle_is_both():
    rng = np.random.default_rng(1)
    profiles, costs = stacked(SIZES, rng), costs_of(rng)
    full, half = np.zeros((2, 4, 4, 3)), np.zeros((2, 4, 4, 3))
    distances(profiles, profiles, costs, MEMORY, False, full)
    distances(profiles, profiles, costs, MEMORY, True, half)
    np.testing.assert_allclose(half, full, atol=1e-9)
    np.testing.assert_array_equal(half, half.transpose(0, 2, 1, 3))
    assert not half[:, range(4), range(4)].any()


def test_plans_cost_the_distance_and_cross_no_block():
    rng = np.random.default_rng(2)
    costs = costs_of(rng)
    one, two = stacked([[2, 3, 1]], rng), stacked([[3, 0, 2]], rng)
    plan, out = np.full((3, 6, 5), np.nan), np.zeros((2, 1, 1, 3))
    plans(one, two, costs, MEMORY, plan)
    distances(one, two, costs, MEMORY, False, out)
    assert not plan[:, :2, 3:].any()
    assert not plan[:, 2:5].any()  # the other has no layer in that block
    assert not plan[:, 5:, :3].any()
    weights, table, extra, _ = costs
    for w, weight in enumerate(weights):
        unit = table[one[1][:, None], two[1]] + (one[4][:, None] != two[4]) @ extra
        unit = unit + weight * np.abs(one[3][:, :, None] - two[3][:, None]).sum(axis=0)
        unmatched = one[2].sum() + two[2].sum() - 2.0 * plan[w].sum()
        np.testing.assert_allclose((plan[w] * unit).sum() + unmatched, out[0, 0, 0, w])


def test_architectures_without_mass_are_at_no_distance():
    rng = np.random.default_rng(3)
    starts, labels, _, paths, codes = stacked([[1, 1]], rng)
    nothing = (starts, labels, np.zeros(2), paths, codes)
    out = np.zeros((2, 1, 1, 3))
    distances(nothing, nothing, costs_of(rng), MEMORY, False, out)
    assert not out.any()
