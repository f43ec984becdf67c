"""What every architecture must satisfy: each refusal by its words, and what the checks return."""

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct.contracts import PointError
from bostruct.domains.architecture import validity
from bostruct.domains.architecture.layers import CNN, MLP, Layer, as_layer
from bostruct.domains.architecture.value import Architecture

CHAIN = [(0, 1), (1, 2), (2, 3)]
REFUSED = [
    (
        ["ip", "conv3", "softmax", "op"],
        CHAIN,
        r"layer 1 \(conv3\): expected a number of units, an integer from 1 to 1000000000, got None",
    ),
    (["ip", "conv3-0", "softmax", "op"], CHAIN, r"layer 1 \(conv3\): .* from 1 to 1000000000, got 0"),
    (["ip", f"conv3-{10**9 + 1}", "softmax", "op"], CHAIN, r"layer 1 \(conv3\): .* 1000000000, got 1000000001"),
    (["ip", f"conv3-1{160 * '0'}", "softmax", "op"], CHAIN, r"layer 1 \(conv3\): .* to 1000000000, got 10{76}\.\.\."),
    (["ip", f"conv3-{5000 * '9'}", "softmax", "op"], CHAIN, "layer 1: expected shorter numbers"),
    (["ip", ("conv3", 8.5), "softmax", "op"], CHAIN, r"layer 1 \(conv3\): expected a number of units"),
    (["ip", "conv3-8", "softmax-10", "op"], CHAIN, r"layer 2 \(softmax\): a layer of this kind has no units, got 10"),
    (["ip", "conv3-8/3", "softmax", "op"], CHAIN, r"layer 1 \(conv3\): expected stride 1 or 2, got 3"),
    (["ip", "conv3-8", "softmax/2", "op"], CHAIN, r"layer 2 \(softmax\): expected stride 1, got 2"),
    (["ip", "conv3-8", "softmax"], CHAIN[:2], r"exactly one output layer \(op\), got layers \[\]"),
    (["ip", "ip", "softmax", "op"], CHAIN, r"exactly one input layer \(ip\), got layers \[0, 1\]"),
    (["ip", "conv3-8", "softmax", "op"], [*CHAIN, (1, 4)], "edge 1 > 4: expected layers between 0 and 3"),
    (["ip", "conv3-8", "softmax", "op"], [*CHAIN, (1, 1)], "edge 1 > 1: a layer cannot feed itself"),
    (["ip", "conv3-8", "softmax", "op"], [*CHAIN, (1, 2)], "edge 1 > 2 is given twice"),
    (["ip", "conv3-8", "softmax", "op"], [0, 1], "expected pairs"),
    (["ip", "relu-8", "relu-8", "linear", "op"], [*CHAIN, (3, 4), (2, 1)], "the edges have a cycle: 1 > 2 > 1"),
    (["ip", "relu-8", "linear", "op"], [(0, 1), (1, 2), (2, 3), (1, 0)], "cycle: 0 > 1 > 0"),
    (["ip", "relu-8", "relu-8", "linear", "op"], [(0, 1), (1, 3), (2, 3), (3, 4)], r"2 \(relu-8\) has no parents"),
    (["ip", "relu-8", "relu-8", "linear", "op"], [(0, 1), (0, 2), (1, 3), (3, 4)], r"2 \(relu-8\) has no children"),
    (["ip", "relu-8", "op"], [(0, 1), (1, 2)], r"expected a decision layer \(linear or softmax\) before the output"),
    (
        ["ip", "relu-8", "linear", "op"],
        [(0, 1), (1, 2), (1, 3), (2, 3)],
        r"edge 1 > 3 .* is fed by decision layers \(linear, softmax\)",
    ),
    (["ip", "linear", "op"], [(0, 1.5), (1, 2)], r"edges\[0\]: expected two layer numbers, got \(0, 1.5\)"),
    (["ip", "linear", "op"], [(0, True), (1, 2)], r"edges\[0\]: expected two layer numbers"),
    (["ip", "linear", "relu-8", "linear", "op"], [*CHAIN, (3, 4)], "edge 1 > 2 .* they feed nothing else"),
    (["relu-8", "ip", "linear", "op"], CHAIN, r"layer 1 \(ip\) is the input, but layers \[0\] feed it"),
    (["ip", "op", "linear"], [(0, 1), (1, 2)], r"layer 1 \(op\) is the output, but it feeds layers \[2\]"),
    (["ip", "max-pool", "softmax", "op"], CHAIN, r"layer 1 \(max-pool\): a child of the input must be one of conv3"),
    (["ip", "conv3-8", "fc-8", "conv3-8", "softmax", "op"], [*CHAIN, (3, 4), (4, 5)], r"layer 3 .* needs an image"),
    (
        ["ip", "conv3-8", "max-pool", "conv3-8", "softmax", "op"],
        [(0, 1), (1, 2), (2, 3), (1, 3), (3, 4), (4, 5)],
        r"layer 3 \(conv3-8\): its parents .* layer 1 \(conv3-8\) 1/1 of the input, layer 2 \(max-pool\) 1/2 of",
    ),
    (["ip", ("conv3", 8, 1.0), "softmax", "op"], CHAIN, r"layer 1 \(conv3\): expected stride 1 or 2, got 1.0"),
    (["ip", Layer("conv3", 8, True), "softmax", "op"], CHAIN, r"layer 1 \(conv3\): expected stride 1 or 2, got True"),
    (["ip", "conv3-8", ("softmax", None, True), "op"], CHAIN, r"layer 2 \(softmax\): expected stride 1, got True"),
    (["ip", Layer("conv3", True), "softmax", "op"], CHAIN, r"layer 1 .* an integer from 1 to 1000000000, got True"),
]


@pytest.mark.parametrize(("layers", "edges", "words"), REFUSED)
def test_refused_by_their_words(layers, edges, words):
    with pytest.raises(PointError, match=words):
        Architecture(layers, edges)


@st.composite
def graphs(draw):
    """A number of nodes, and directed edges between some of them."""
    n = draw(st.integers(1, 7))
    node = st.integers(0, n - 1)
    pairs = st.tuples(node, node).filter(lambda pair: pair[0] != pair[1])
    return n, draw(st.lists(pairs, unique=True, max_size=12))


@given(graphs())
def test_edges_come_sorted_and_adjacency_holds_each_of_them_twice(graph):
    n, pairs = graph
    edges = validity.check_edges(pairs, n)
    assert edges == tuple(sorted(pairs))
    parents, children = validity.adjacency(edges, n)
    assert [(u, v) for v in range(n) for u in parents[v]] == sorted(pairs, key=lambda pair: (pair[1], pair[0]))
    assert [(u, v) for u in range(n) for v in children[u]] == sorted(pairs)


@given(graphs())
def test_the_order_is_the_first_of_all_topological_ones_or_a_cycle_is_named(graph):
    n, pairs = graph
    edges = validity.check_edges(pairs, n)
    whole = nx.DiGraph(pairs)
    whole.add_nodes_from(range(n))
    if nx.is_directed_acyclic_graph(whole):
        order = list(nx.lexicographical_topological_sort(whole))
        assert validity.topological_order(*validity.adjacency(edges, n)) == order
        return
    with pytest.raises(PointError, match="the edges have a cycle: ") as caught:
        validity.topological_order(*validity.adjacency(edges, n))
    cycle = [int(word) for word in str(caught.value).rpartition(": ")[2].split(" > ")]
    assert cycle[0] == cycle[-1]
    assert len(set(cycle)) == len(cycle) - 1
    assert set(pairwise(cycle)) <= set(pairs)


def test_a_family_takes_the_strides_and_units_of_its_labels():
    for label in CNN.labels:
        for units, stride in ((None, 1), (8, 1), (None, 2), (8, 2)):
            layer = Layer(label.name, units, stride)
            others = [Layer("ip"), Layer("softmax"), Layer("op")]
            layers = [layer if one.label == label.name else one for one in others]
            allowed = (units is not None) == label.units and (stride == 1 or label.image == "strides")
            if allowed:
                validity.check_layers(CNN, layers if layer in layers else [*layers, layer])
            else:
                with pytest.raises(PointError, match=rf"\({label.name}\)"):
                    validity.check_layers(CNN, layers if layer in layers else [*layers, layer])


def halvings(chain):
    layers = [as_layer(one, "layer") for one in chain.split()]
    parents, children = validity.adjacency(validity.check_edges(pairwise(range(len(layers))), len(layers)), len(layers))
    validity.check_graph(CNN, layers, parents, children)
    return validity.image_halvings(CNN, layers, parents, validity.topological_order(parents, children))


def test_images_are_halved_by_strides_and_pools_until_they_collapse():
    assert halvings("ip conv3-8 conv3-8/2 max-pool res3-8/2 fc-8 softmax op") == (0, 0, 1, 2, 3, None, None, None)
    assert halvings("ip conv3-8 softmax op") == (0, 0, None, None)


def test_families_without_images_have_layers_in_any_order():
    layers = [Layer("ip"), Layer("relu", 8), Layer("linear"), Layer("op")]
    parents, children = validity.adjacency(validity.check_edges(CHAIN, 4), 4)
    validity.check_layers(MLP, layers)
    validity.check_graph(MLP, layers, parents, children)
    with pytest.raises(PointError, match=r"layer 1 \(relu-8\) has no children"):
        validity.check_graph(MLP, layers, *validity.adjacency(validity.check_edges([(0, 1), (0, 2), (2, 3)], 4), 4))
