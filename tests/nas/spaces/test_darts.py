"""DARTS: the cells that were published, and what each operation does to an image."""

from __future__ import annotations

import pytest
import torch

from bostruct.language import SearchSpace
from bostruct.nas.networks import cost
from bostruct.nas.spaces.darts import DARTS_OPERATIONS, darts, darts_operation
from tests.nas.spaces.programs import build_part, draw_program, kinds_of, specify_by_name

# Of trained networks, as published: Liu, Simonyan and Yang 2019, second order, 3.3 M.
DARTS_NORMAL = "sep_conv_3x3 sep_conv_3x3, sep_conv_3x3 sep_conv_3x3, skip sep_conv_3x3, skip dil_conv_3x3"


DARTS_REDUCTION = "max_pool_3x3 max_pool_3x3, max_pool_3x3 skip, max_pool_3x3 skip, max_pool_3x3 skip"


DARTS_INPUTS = {"normal": [(0, 1), (0, 1), (0, 1), (0, 2)], "reduction": [(0, 1), (1, 2), (0, 2), (1, 2)]}


def darts_cells():
    chosen = {}
    for kind, cell in (("normal", DARTS_NORMAL), ("reduction", DARTS_REDUCTION)):
        for node, operations in enumerate(cell.split(", ")):
            chosen[f"{kind}_inputs_{node}"] = DARTS_INPUTS[kind][node]
            for side, operation in zip("ab", operations.split(), strict=True):
                chosen[f"{kind}_operation_{node}{side}"] = operation
    return chosen


def test_the_published_cells_cost_what_was_published():
    program = specify_by_name(SearchSpace(darts(cells=20, filters=36)), darts_cells()).program()
    assert cost(program.to_torch((2, 3, 32, 32)), (3, 32, 32)).parameters == 3_349_342


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("name", DARTS_OPERATIONS)
def test_operations_keep_an_image_or_halve_it(name, stride):
    program = build_part(lambda: darts_operation(name, 4, stride))
    answer = program.to_torch((2, 4, 9, 8))(torch.randn(2, 4, 9, 8))
    assert answer.shape == ((2, 4, 9, 8) if stride == 1 else (2, 4, 5, 4))
    assert (len(program) == 0) == ((name, stride) == ("skip", 1))


@pytest.mark.parametrize("size", [3, 5])
def test_a_separable_convolution_is_applied_twice_and_a_dilated_one_once(size):
    twice = build_part(lambda: darts_operation(f"sep_conv_{size}x{size}", 4, 2))
    assert kinds_of(twice) == ["ReLU", "SeparableConv2D", "BatchNorm"] * 2
    convolutions = [node.values for node in twice.nodes if node.kind == "SeparableConv2D"]
    assert [(v["kernel"], v["stride"], v["dilation"]) for v in convolutions] == [(size, 2, 1), (size, 1, 1)]
    once = build_part(lambda: darts_operation(f"dil_conv_{size}x{size}", 4, 2))
    assert kinds_of(once) == ["ReLU", "SeparableConv2D", "BatchNorm"]
    assert (once.nodes[1].values["kernel"], once.nodes[1].values["dilation"]) == (size, 2)


def test_all_four_nodes_of_a_cell_are_joined():
    program = draw_program(darts(cells=3, filters=2), 0)
    joins = [node for node in program.nodes if node.kind == "Concat"]
    assert [len(node.sources) for node in joins] == [4, 4, 4]
    assert len({node.path.partition("/")[0] for node in joins}) == 3
