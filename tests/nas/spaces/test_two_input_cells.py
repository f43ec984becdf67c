"""Networks of cells that read two others: where they shrink, and which paths are left out while they train."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bostruct.domains.language.combinators import combine_outputs
from bostruct.language import SearchSpace
from bostruct.nas.spaces.darts import darts
from bostruct.nas.spaces.nasnet import Macro, check_keep, nasnet, two_input_network
from tests.nas.spaces.programs import read_by


def drawn_network(make, keep):
    space = SearchSpace(make(keep))
    return space.present(space.sample(1, np.random.default_rng(3))[0])


@pytest.mark.parametrize(
    ("make", "unchanged"),
    [(lambda keep: nasnet(3, 4, keep=keep), "none"), (lambda keep: darts(3, 4, keep=keep), "skip")],
)
def test_each_operation_of_a_cell_is_a_path_of_its_own(make, unchanged):
    program = drawn_network(make, 0.5)
    dropped = [node for node in program.nodes if node.kind == "DropPath"]
    assert dropped
    for node in dropped:
        assert {other.kind for other in program.nodes if node in read_by(program, other)} == {"Add"}
        assert read_by(program, node)[0].kind not in {"Add", "Concat", "DropPath"}
    cells = {node.path.partition("/")[0]: node.values["rate"] for node in dropped}
    assert sorted(cells.values()) == [0.5 * (i + 1) / len(cells) for i in range(len(cells))]
    operations = [value for path, value in program.trace.items() if path.startswith("normal_operation")]
    in_first = sum(node.path.partition("/")[0] == min(cells, key=cells.__getitem__) for node in dropped)
    assert in_first == len(operations) - operations.count(unchanged)


@pytest.mark.parametrize("make", [lambda keep: nasnet(3, 4, keep=keep), lambda keep: darts(3, 4, keep=keep)])
def test_nothing_is_dropped_when_a_network_is_asked(make):
    image = torch.randn(2, 3, 8, 8)
    with_paths, without = (drawn_network(make, keep).to_torch((2, 3, 8, 8)) for keep in (0.5, 1.0))
    without.load_state_dict(with_paths.state_dict())
    answers = [network.eval()(image) for network in (with_paths, without)]
    answers = [answer["out"] if isinstance(answer, dict) else answer for answer in answers]
    assert torch.equal(*answers)


@pytest.mark.parametrize("make", [nasnet, darts])
@pytest.mark.parametrize("keep", [0.0, -0.1, 1.5, float("nan")])
def test_chances_of_paths_are_checked(make, keep):
    with pytest.raises(ValueError, match="keep"):
        make(keep=keep)


def sum_cell(seen):
    """A cell that shrinks both inputs where it must, and adds them; it notes what it was asked for."""
    from bostruct.nas import ops

    def build(filters, stride, rate, chosen):
        seen.append((filters, stride, round(rate, 12), chosen))
        parts = [ops.conv2d(filters, 1, stride), ops.conv2d(filters, 1, stride)]
        return {f"in{i}": part[0]["in"] for i, part in enumerate(parts)}, combine_outputs(
            [part[1] for part in parts], ops.add
        )

    return build


def test_reductions_halve_the_image_and_double_the_filters():
    seen = []
    macro = Macro(cells=5, reductions=(1, 3), filters=4, stem=6, classes=7, keep=0.5, auxiliary=2)
    space = SearchSpace(lambda: two_input_network(macro, {"n": 1}, {"r": 2}, sum_cell(seen)))
    normal, reduction = {"n": 1}, {"r": 2}
    before = [(4, 1, 0.1, normal), (8, 2, 0.2, reduction), (8, 1, 0.3, normal)]
    assert sorted(seen) == sorted([*before, (16, 2, 0.4, reduction), (16, 1, 0.5, normal)])
    answer = space.program().to_torch((2, 3, 16, 16))(torch.randn(2, 3, 16, 16))
    assert {name: tuple(output.shape) for name, output in answer.items()} == {"out": (2, 7), "aux": (2, 7)}


def test_a_cell_reads_the_two_cells_before_it_and_the_first_the_stem_twice():
    seen = []
    macro = Macro(cells=3, reductions=(), filters=4, stem=6, classes=7)
    program = SearchSpace(lambda: two_input_network(macro, {}, {}, sum_cell(seen))).program()
    assert set(program.outputs) == {"out"}

    def origin(node):
        """The cell, or the stem, that a node's image comes from, past the convolutions that fit its channels."""
        while not node.path.startswith("NormalCell") and node.kind in ("Conv2D", "ReLU", "BatchNorm"):
            above = read_by(program, node)
            if node.path == "BatchNorm-0":
                return "stem"
            (node,) = above
        return node.path.partition("/")[0]

    for position in range(3):
        inside = [n for n in program.nodes if n.path.startswith(f"NormalCell-{position}/Conv2D")]
        came = [origin(read_by(program, node)[0]) for node in inside]
        names = ["stem", "stem", *(f"NormalCell-{i}" for i in range(3))]
        assert came == names[position : position + 2]


@pytest.mark.parametrize("keep", [1e-9, 0.5, 1, 1.0])
def test_a_chance_is_returned_as_a_float(keep):
    assert check_keep(keep) == keep
    assert isinstance(check_keep(keep), float)
    with pytest.raises(TypeError, match="keep"):
        check_keep(str(keep))
