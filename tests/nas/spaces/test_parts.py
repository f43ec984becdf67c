"""What the spaces are built of: nodes on a path, sums, and layers in a row."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bostruct.domains.language.combinators import apply_part, combine_outputs
from bostruct.language import identity
from bostruct.nas import ops
from bostruct.nas.spaces.nasbench101 import on_path_nodes
from tests.nas.spaces.programs import build_part, kinds_of


@st.composite
def graphs(draw):
    """Nodes, and for some pairs of them whether there is an edge."""
    n = draw(st.integers(2, 7))
    node = st.integers(0, n - 1)
    pairs = st.tuples(node, node).filter(lambda pair: pair[0] < pair[1])
    return n, draw(st.dictionaries(pairs, st.booleans()))


@given(graphs())
def test_nodes_on_a_path_are_those_of_all_simple_paths(graph):
    n, edges = graph
    whole = nx.DiGraph([edge for edge, present in edges.items() if present])
    whole.add_nodes_from(range(n))
    paths = nx.all_simple_paths(whole, 0, n - 1)
    assert on_path_nodes(n, edges) == sorted({node for path in paths for node in path})


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        (lambda: ops.conv_bn_relu(4, 5, 2), ["Conv2D", "BatchNorm", "ReLU"]),
        (lambda: ops.relu_conv_bn(4, 5, 2, 2), ["ReLU", "Conv2D", "BatchNorm"]),
        (lambda: ops.relu_separable_bn(4, 5, 2, 2), ["ReLU", "SeparableConv2D", "BatchNorm"]),
    ],
)
def test_a_convolution_stands_among_its_layers_without_a_bias(part, kinds):
    program = build_part(part)
    assert kinds_of(program) == kinds
    (values,) = (node.values for node in program.nodes if "Conv2D" in node.kind)
    assert (values["filters"], values["kernel"], values["stride"], values["bias"]) == (4, 5, 2, False)
    assert program.to_torch((2, 3, 9, 9))(torch.randn(2, 3, 9, 9)).shape == (2, 4, 5, 5)


def test_the_bias_of_a_convolution_is_there_where_it_is_asked_for():
    assert build_part(lambda: ops.conv_bn_relu(4, bias=True)).nodes[0].values["bias"] is True


@pytest.mark.parametrize("n", [1, 2, 5])
def test_outputs_are_combined_and_a_single_one_stays_as_it_is(n):
    def sum_of_copies():
        inputs, outputs = identity()
        return inputs, combine_outputs([outputs] * n, ops.add)

    def copies_side_by_side():
        inputs, outputs = identity()
        return inputs, combine_outputs([outputs] * n, ops.concat)

    image = torch.randn(2, 3, 4, 4)
    added, joined = build_part(sum_of_copies), build_part(copies_side_by_side)
    assert len(added) == len(joined) == (n > 1)
    torch.testing.assert_close(added.to_torch(image.shape)(image), n * image)
    torch.testing.assert_close(joined.to_torch(image.shape)(image), torch.cat([image] * n, 1))


def test_a_part_that_is_applied_reads_the_output():
    def in_a_row():
        inputs, outputs = identity()
        return inputs, apply_part(ops.relu(), apply_part(ops.tanh(), outputs))

    assert kinds_of(build_part(in_a_row)) == ["Tanh", "ReLU"]
