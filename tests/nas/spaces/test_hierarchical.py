"""The hierarchical space: a cell of motifs, which the whole network shares."""

from __future__ import annotations

from itertools import product

import numpy as np

from bostruct.language import AtLeast, Exact, SearchSpace
from bostruct.nas.spaces.hierarchical import FLAT_OPERATIONS, NONE, hierarchical


def test_motifs_are_shared_and_count_where_the_cell_has_them():
    small = SearchSpace(hierarchical(nodes=2, motifs=3, cell_nodes=3, filters=(2,)))
    cells = product(range(3), range(3), (NONE, 0, 1, 2))
    assert small.count() == Exact(sum(6 ** len(set(edges) - {NONE}) for edges in cells))
    space = SearchSpace(hierarchical(nodes=3, motifs=2, cell_nodes=3, filters=(2,)))
    names = {name for x in space.sample(50, np.random.default_rng(0)) for name in x}
    edges = ("0_1", "0_2", "1_2")
    assert names == {f"{owner}_{edge}" for owner in ("cell", "motif_0", "motif_1") for edge in edges}


def test_an_edge_between_consecutive_nodes_is_never_none():
    space = SearchSpace(hierarchical(nodes=3, motifs=2, cell_nodes=3, filters=(2,)))
    values = {"cell_0_1": (0, 1), "cell_0_2": (NONE, 0, 1), "cell_1_2": (0, 1)}
    assert {h.path: h.values for h in space.hyperparameters} == values
    inside = space.assign("cell_0_1", 0).assign("cell_0_2", NONE).assign("cell_1_2", 0)
    assert [len(h.values) for h in inside.hyperparameters] == [6, 7, 6]
    assert set(inside.hyperparameters[0].values) == set(FLAT_OPERATIONS)


def test_the_published_space_has_a_thousand_modules_and_is_counted_from_below():
    space = SearchSpace(hierarchical())
    assert len(space.present(space.sample(1, np.random.default_rng(0))[0])) > 700
    found = space.count(budget=20_000)
    assert isinstance(found, AtLeast)
    assert found.count >= 1
