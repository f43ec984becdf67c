"""NASNet: where the second output leaves, which states are joined, and what each operation does to an image."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bostruct.language import SearchSpace
from bostruct.nas.spaces.nasnet import NORMAL, REDUCTION, nasnet, nasnet_operation
from tests.nas.spaces.programs import build_part, draw_program, read_by


def test_the_second_output_leaves_before_the_second_reduction():
    space = SearchSpace(nasnet(cells=18, filters=4))
    program = space.present(space.sample(1, np.random.default_rng(0))[0])
    behind = {program.nodes[program.outputs["aux"].node].path}
    for node in program.nodes[::-1]:
        if node.path in behind:
            behind |= {source.path for source in read_by(program, node)}
    cells = {path.partition("[")[0] for path in behind if "Cell" in path}
    assert "NormalCell-11" in cells
    assert cells <= {"ReductionCell-0", *(f"NormalCell-{i}" for i in range(12))}


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("name", NORMAL)
def test_operations_keep_an_image_or_halve_it(name, stride):
    program = build_part(lambda: nasnet_operation(name, 8, stride))
    answer = program.to_torch((2, 8, 9, 8))(torch.randn(2, 8, 9, 8))
    assert answer.shape == ((2, 8, 9, 8) if stride == 1 else (2, 8, 5, 4))
    assert (len(program) == 0) == ((name, stride) == ("none", 1))


def test_only_normal_cells_dilate():
    choices = {h.path: h.values for h in SearchSpace(nasnet(cells=3, filters=4)).hyperparameters}
    assert len(choices) == 2 * 5 * 4
    for path, values in choices.items():
        if "operation" in path:
            assert values == (NORMAL if path.startswith("normal") else REDUCTION)
        else:
            assert values == tuple(range(int(path[-2]) + 2))
    assert set(NORMAL) - set(REDUCTION) == {"dilated3x3"}


@pytest.mark.parametrize("seed", range(5))
def test_the_states_that_nobody_reads_are_joined(seed):
    program = draw_program(nasnet(cells=3, filters=4, keep=1.0, auxiliary=False), seed)
    for kind in ("normal", "reduction"):
        read = {value for path, value in program.trace.items() if path.startswith(f"{kind}_input")}
        left = {*range(7)} - read | {0, 1} - read
        cells = {node.path.partition("[")[0] for node in program.nodes if node.path.startswith(f"{kind.title()}Cell")}
        joins = [n for n in program.nodes if n.kind == "Concat" and n.path.startswith(f"{kind.title()}Cell")]
        assert [len(node.sources) for node in joins] == ([len(left)] * len(cells) if len(left) > 1 else [])


def test_without_the_second_output_there_is_one():
    assert set(draw_program(nasnet(3, 4, auxiliary=False), 0).outputs) == {"out"}
    assert set(draw_program(nasnet(3, 4), 0).outputs) == {"out", "aux"}
