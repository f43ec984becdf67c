"""The flat space: one motif everywhere, wired as its edges say."""

from __future__ import annotations

import numpy as np
import torch

from bostruct.language import Exact, SearchSpace
from bostruct.nas.spaces.hierarchical import FLAT_OPERATIONS, NONE, flat
from tests.nas.spaces.programs import read_by


def test_a_motif_ends_in_a_convolution():
    space = SearchSpace(flat(nodes=3, filters=(4,)))
    program = space.present(space.sample(1, np.random.default_rng(0))[0])
    inside = [node for node in program.nodes if node.path.startswith("Motif-0")]
    read = [source for node in inside for source in read_by(program, node)]
    (end,) = (node for node in inside if node not in read)
    assert [source.kind for source in read_by(program, end)] == ["ReLU"]
    assert (end.kind, end.values["kernel"], end.values["filters"]) == ("Conv2D", 1, 4)


def test_only_edges_between_consecutive_nodes_must_have_an_operation():
    space = SearchSpace(flat(nodes=4, filters=(2, 4)))
    assert space.count() == Exact(6**3 * 7**3)
    for h in space.hyperparameters:
        _, i, j = h.path.split("_")
        assert h.values == (FLAT_OPERATIONS if int(j) == int(i) + 1 else (NONE, *FLAT_OPERATIONS))


def test_each_operation_keeps_the_image_and_all_motifs_are_alike():
    for name in FLAT_OPERATIONS:
        program = SearchSpace(flat(nodes=2, filters=(4, 8))).replay({"edge_0_1": name}).program()
        motifs = [[n.kind for n in program.nodes if n.path.startswith(f"Motif-{i}")] for i in range(4)]
        assert motifs.count(motifs[0]) == 4
        assert len(motifs[0]) == (4 if name == "identity" else 5)
        answer = program.to_torch((2, 3, 8, 8))(torch.randn(2, 3, 8, 8))
        assert answer.shape == (2, 10)


def test_a_node_joins_what_its_edges_give():
    chosen = {"edge_0_1": "identity", "edge_1_2": "maxpool3x3", "edge_0_2": "avgpool3x3"}
    space = SearchSpace(flat(nodes=3, filters=(4,)))
    joined = [node for node in space.replay(chosen).program().nodes if node.kind == "Concat"]
    assert [len(node.sources) for node in joined] == [2, 2]  # one in each motif
    alone = space.replay(chosen | {"edge_0_2": NONE}).program()
    assert all(node.kind != "Concat" for node in alone.nodes)
