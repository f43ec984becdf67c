"""The cell of COMBO: its bits, what it costs as its authors count, and the objective that weighs both."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Infeasible
from bostruct.language import SearchSpace
from bostruct.nas.networks import cost
from bostruct.nas.spaces import combo_cell as module
from bostruct.nas.spaces.combo_cell import INITIAL_CELLS, CellNode, bits_space, combo_cell, decode_bits, published_flops
from tests.nas.spaces.programs import PAIRS

FLOPS = (  # pthflops 0.4.2 on the authors' network
    20_978_698, 100_195_338, 80_448_522, 41_298_954, 40_782_858, 21_208_074, 60_587_018, 41_012_234, 101_055_498,
    61_905_930,
)  # fmt: skip


def test_cells_of_combo_cost_what_the_authors_count():
    assert tuple(published_flops([int(bit) for bit in bits]) for bits in INITIAL_CELLS) == FLOPS
    largest = SearchSpace(combo_cell()).specify([1] * 31).program()
    assert cost(largest.to_torch((2, 3, 32, 32)), (3, 32, 32)).parameters == 687_066
    with pytest.raises(bo.Infeasible):
        published_flops([0] * 31)
    with pytest.raises(ValueError, match="31"):
        published_flops([1] * 30)


def test_combo_cells_without_a_path_are_infeasible():
    space = SearchSpace(combo_cell(filters=(2, 2, 2)))
    ones = {f"bit_{i}": 1 for i in range(31)}
    assert space.parse(ones)
    with pytest.raises(Infeasible, match="no path"):
        space.parse(ones | {f"bit_{10 + i}": 0 for i, (source, _) in enumerate(PAIRS) if source == 0})


def test_the_objective_of_combo():
    space = bits_space()
    point = {f"bit_{i}": int(bit) for i, bit in enumerate(INITIAL_CELLS[0])}
    space.parse(point)
    programs = []
    objective = module.ComboObjective(lambda program: programs.append(program) or 0.25)
    assert objective(point) == pytest.approx(0.25 + 0.02 * FLOPS[0] / FLOPS[8])
    assert objective(programs[0]) == objective(point)
    assert objective(dict.fromkeys(point, 0)) == 0.92
    assert len(programs) == 3


def bits_of(kinds, edges):
    """Types and sizes of nodes 1 to 5, as text, then the edges."""
    return [int(bit) for bit in kinds] + [int(pair in edges) for pair in PAIRS]


def test_nodes_off_the_path_are_cut_and_the_others_say_what_they_read():
    bits = bits_of("0001101100", {(0, 1), (1, 3), (0, 3), (3, 6), (0, 2), (4, 6), (4, 5)})
    kept = (1, (0,), (0, 0)), (3, (0, 1), (1, 0)), (6, (3,), (0, 0))
    assert decode_bits(bits) == tuple(CellNode(*node) for node in kept)
    assert decode_bits(bits_of("1" * 10, {(0, 6)})) == (CellNode(6, (0,), (0, 0)),)
    for wrong in ([2] * 31, [-1] * 31):
        with pytest.raises(ValueError, match="bits: expected"):
            decode_bits(wrong)
    with pytest.raises(TypeError, match="bits"):
        decode_bits("1" * 31)


def test_every_node_that_is_kept_leads_from_input_to_output():
    rng = np.random.default_rng(0)
    for bits in rng.integers(2, size=(300, 31)).tolist():
        try:
            nodes = decode_bits(bits)
        except Infeasible:
            continue
        reads = {node.position: node.reads for node in nodes}
        assert nodes[-1].position == 6
        assert all(above == 0 or above in reads for node in nodes for above in node.reads)
        assert {0, *reads} - {6} == {above for node in nodes for above in node.reads}


def test_a_program_has_an_operation_for_each_node_in_each_of_three_cells():
    bits = bits_of("0001101100", {(0, 1), (1, 3), (3, 6), (0, 2), (2, 6), (0, 4), (4, 6)})
    nodes = [node for node in module.program_of(bits).nodes if node.path.startswith("Cell-0")]
    kinds = sorted((node.kind, node.values.get("kernel")) for node in nodes if node.kind in ("Conv2D", "MaxPool2D"))
    assert kinds == [("Conv2D", 3), ("Conv2D", 5), ("MaxPool2D", 3)]
    assert sum(node.kind == "Add" for node in nodes) == 1


def test_the_cells_that_searches_begin_with_are_points_of_both_spaces():
    space, programs = bits_space(), SearchSpace(combo_cell())
    assert space.size == 2**31
    for cell in INITIAL_CELLS:
        point = {f"bit_{i}": int(bit) for i, bit in enumerate(cell)}
        assert space.present(space.parse(point)) == point
        assert dict(programs.parse(point)) == point
