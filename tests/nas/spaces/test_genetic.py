"""Genetic CNN: a stage is wired as its bits say."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from bostruct.language import SearchSpace
from bostruct.nas.spaces.genetic import genetic_cnn
from tests.nas.spaces.programs import kinds_of, read_by


def test_a_genetic_stage_without_edges_is_its_first_node():
    space = SearchSpace(genetic_cnn(stages=(3,), filters=(2,), units=4))
    empty = space.present(space.parse(dict.fromkeys([h.path for h in space.hyperparameters], 0)))
    full = space.present(space.parse(dict.fromkeys([h.path for h in space.hyperparameters], 1)))
    assert sum(node.kind == "Conv2D" for node in empty.nodes) == 1
    assert sum(node.kind == "Conv2D" for node in full.nodes) == 1 + 3 + 1


def test_every_wiring_of_three_nodes_has_the_convolutions_and_sums_that_its_bits_ask_for():
    space = SearchSpace(genetic_cnn(stages=(3,), filters=(2,), units=4))
    pairs = list(combinations(range(3), 2))
    for bits in product((0, 1), repeat=3):
        edges = [pair for pair, bit in zip(pairs, bits, strict=True) if bit]
        used = {node for edge in edges for node in edge}
        ends = [node for node in used if all(i != node for i, _ in edges)]
        program = space.present({f"Stage-0.{i}_{j}": bit for (i, j), bit in zip(pairs, bits, strict=True)})
        inside = [node for node in program.nodes if node.path.startswith("Stage-0")]
        assert sum(node.kind == "Conv2D" for node in inside) == 1 + len(used) + bool(used)
        sums = sorted(len(node.sources) for node in inside if node.kind == "Add")
        read = [sum(j == node for _, j in edges) for node in used]
        assert sums == sorted(n for n in [*read, len(ends)] if n > 1)


def test_a_network_is_its_stages_each_followed_by_a_pool_and_a_head():
    space = SearchSpace(genetic_cnn(stages=(2, 2), filters=(3, 5), classes=7, units=4))
    program = space.present(dict.fromkeys([h.path for h in space.hyperparameters], 0))
    stage = ["Conv2D", "BatchNorm", "ReLU", "MaxPool2D"]
    assert kinds_of(program) == [*stage, *stage, "Flatten", "Dense", "ReLU", "Dropout", "Dense"]
    assert [node.values["filters"] for node in program.nodes if node.kind == "Conv2D"] == [3, 5]
    assert [node.values["units"] for node in program.nodes if node.kind == "Dense"] == [4, 7]
    assert all(len(read_by(program, node)) == 1 for node in program.nodes[1:])


def test_as_many_filters_as_stages_are_asked_for():
    with pytest.raises(ValueError, match="stages, filters: expected equal numbers, got 3 and 2"):
        genetic_cnn(filters=(1, 2))
