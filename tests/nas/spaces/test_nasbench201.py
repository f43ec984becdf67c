"""NAS-Bench-201: what an operation computes, and what a published cell costs."""

from __future__ import annotations

from itertools import combinations, product

import pytest
import torch

from bostruct.language import SearchSpace
from bostruct.nas.networks import cost
from bostruct.nas.spaces.nasbench201 import (
    NASBENCH201_EDGES,
    NASBENCH201_OPERATIONS,
    nasbench201,
    nasbench201_operation,
)
from tests.nas.spaces.programs import build_part, kinds_of, specify_by_name

# Of trained networks, as published: Dong and Yang 2020 (index 9930).
CONVOLUTIONS = {f"edge_{i}_{j}": "nor_conv_3x3" for i, j in combinations(range(4), 2)}


def test_the_published_network_costs_what_was_published():
    chosen = CONVOLUTIONS | {"edge_0_3": "skip_connect"}
    found = cost(specify_by_name(SearchSpace(nasbench201()), chosen).program().to_torch((2, 3, 32, 32)), (3, 32, 32))
    assert (found.parameters, found.flops) == (1_288_506, 2 * 184_730_240)  # torch counts additions too


def test_the_choices_are_the_edges_of_the_cell_whatever_its_number():
    for cells in (1, 3):
        places = {h.path: h.values for h in SearchSpace(nasbench201(cells, 4)).hyperparameters}
        assert places == {f"edge_{i}_{j}": NASBENCH201_OPERATIONS for i, j in combinations(range(4), 2)}
    assert tuple(combinations(range(4), 2)) == NASBENCH201_EDGES


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("none", ["Zero"]),
        ("skip_connect", []),
        ("nor_conv_1x1", ["ReLU", "Conv2D", "BatchNorm"]),
        ("nor_conv_3x3", ["ReLU", "Conv2D", "BatchNorm"]),
        ("avg_pool_3x3", ["AvgPool2D"]),
    ],
)
def test_operations_keep_the_shape_of_an_image(name, kinds):
    program = build_part(lambda: nasbench201_operation(name, 4))
    assert kinds_of(program) == kinds
    image = torch.randn(2, 4, 5, 6)
    answer = program.to_torch(image.shape)(image)
    assert answer.shape == image.shape
    if name == "none":
        assert not answer.any()
    if name == "skip_connect":
        assert torch.equal(answer, image)


def test_each_stage_has_as_many_cells_and_twice_the_filters():
    for cells, filters in product((1, 2), (2, 4)):
        program = specify_by_name(SearchSpace(nasbench201(cells, filters)), CONVOLUTIONS).program()
        widths = [node.values["filters"] for node in program.nodes if "/" in node.path and node.kind == "Conv2D"]
        assert {width: widths.count(width) for width in widths} == {filters * 2**s: 6 * cells for s in range(3)}
