"""Graphs of operations by hand: what is one layer, which labels a family gets, and limits."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.architecture.layers import CNN
from bostruct.nas.graphs import MAX_CHAIN, MAX_OPERATIONS, GraphNode, GraphReader


def chain(*nodes):
    """Operations, each of which the one before feeds; the last is linear."""
    made, before = {"x": GraphNode("x", "input", ())}, "x"
    for i, (kind, settings) in enumerate([*nodes, ("linear", {"units": 2})]):
        made[str(i)] = GraphNode(f"n{i}", kind, (before,), **settings)
        before = str(i)
    return made, before


def conv(units, size=3, **settings):
    return "conv", {"units": units, "kernel": (size, size), **settings}


def read(nodes, family=None, **settings):
    made, output = chain(*nodes)
    return GraphReader("graph", made, family).read(output, settings.pop("decision", None), **settings)


@pytest.mark.filterwarnings("ignore:graph. the layers of")
def test_normalization_before_and_behind():
    norm, relu = ("batch-norm", {}), ("relu", {})
    assert str(read([conv(4), norm, relu, conv(5), relu])) == "ip conv3-4 conv3-5 normalization=none softmax op"
    assert str(read([norm, relu, conv(4)])) == "ip conv3-4 softmax op"
    assert str(read([conv(4)], has_norms=False)) == "ip conv3-4 softmax op"


@pytest.mark.filterwarnings("ignore:graph. the layers of")
def test_dropout_belongs_to_the_layer_before_it_else_to_the_decision():
    drop = ("dropout", {"rate": 0.5})
    nodes = [conv(4), ("batch-norm", {}), drop, ("max-pool", {"kernel": (2, 2), "stride": (2, 2)}), drop]
    assert str(read(nodes)) == "ip conv3-4 dropout=0.5 max-pool softmax dropout=0.5 op"
    with pytest.warns(UserWarning, match="graph: the layers of cnn differ: dropout that follows no layer"):
        read([drop, conv(4)])


@pytest.mark.filterwarnings("ignore:graph. the layers of")
def test_a_depthwise_convolution_before_one_of_size_1_is_separable():
    wide = conv(8, 1), ("batch-norm", {})
    both = conv(8, 5, groups=8, stride=(2, 2)), ("relu", {}), conv(16, 1), ("batch-norm", {})
    assert str(read([*wide, *both])) == "ip conv1-8 conv5-16/2 separable=True softmax op"
    with pytest.raises(DomainError, match=r"graph: n2 \(conv\): expected stride 1 or 2 and one group"):
        read([*wide, both[0]])


@pytest.mark.filterwarnings("ignore:graph. the layers of")
def test_a_family_gets_the_labels_that_it_lacks_at_costs_of_its_formula():
    pool = ("avg-pool", {"kernel": (3, 3)})
    family = read([conv(4, 9), conv(4, 1), pool], has_norms=False).family
    assert (family.name, family.by_name["avg-pool3"].image) == ("cnn+avg-pool3+conv1+conv9", "keeps")
    cost = {
        (a.name, b.name): family.mismatch[i, j]
        for i, a in enumerate(family.labels)
        for j, b in enumerate(family.labels)
    }
    for size in (1, 3, 5, 7):
        expected = 0.1 * np.sqrt(2 * (9 - size))
        assert cost["conv9", f"conv{size}"] == pytest.approx(expected)
        assert size == 1 or cost["conv9", f"res{size}"] == pytest.approx(0.9 * expected + 0.1)
    assert {name: cost["conv3", name] for name in CNN.by_name} == dict(zip(CNN.by_name, CNN.mismatch[2], strict=True))


def test_an_operation_of_no_layer_between_two():
    nodes = {"x": GraphNode("x", "input", ()), "a": GraphNode("a", "conv", ("x",), 4, (3, 3))}
    nodes["b"] = GraphNode("b", "where", ("a", "x"))
    nodes["y"] = GraphNode("y", "linear", ("b",), 2)
    with pytest.raises(DomainError, match=r"graph: b \(where\): the family cnn has no such layer$"):
        GraphReader("graph", nodes, None).read("y", None)


def test_limits():
    with pytest.raises(
        DomainError, match=f"graph: expected at most {MAX_OPERATIONS} operations, got {MAX_OPERATIONS + 2}"
    ):
        read([("relu", {})] * MAX_OPERATIONS)
    with pytest.raises(DomainError, match=r"n0 \(conv\): expected a kernel of an odd size up to 31, got \(33, 33\)"):
        read([conv(4, 33)])
    made, last = chain(conv(4), *[("relu", {})] * (MAX_CHAIN + 9), conv(4))
    made = {**made, "sum": GraphNode("sum", "add", (str(int(last) - 1), "0"))}
    made["y"] = GraphNode("y", "linear", ("sum",), 2)
    with pytest.raises(DomainError, match=r"graph: sum \(add\): it closes no residual block"):
        GraphReader("graph", made, None).read("y", None)


def test_a_perceptron_of_two_decisions():
    found = read([("linear", {"units": 8}), ("tanh", {}), ("linear", {"units": 3}), ("relu", {})], decision="softmax")
    assert found == bo.Architecture.chain("tanh-8 relu-3 softmax", "mlp")
    with pytest.raises(DomainError, match=r"n0 \(linear\): expected an activation of mlp behind it, got \['gelu'\]"):
        read([("linear", {"units": 8}), ("gelu", {})])
