"""Architectures as values: how they are written, when they are equal, and every refusal by its words."""

import copy
import dataclasses
import json
import pickle
import shutil
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import DomainError, MissingExtra, PointError
from bostruct.domains.architecture.layers import CNN, ENDS, MLP, Family, Label, Layer, family_from_json
from bostruct.domains.architecture.modifiers import MODIFIERS
from bostruct.domains.architecture.value import Architecture, replace_layers
from tests.architectures import GOLDEN, SMALL_CNN, SMALL_MLP, architectures, batches, network, renumbered

some_examples = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
any_architecture = st.sampled_from([SMALL_CNN, SMALL_MLP]).flatmap(architectures)


def isomorphic(x: Architecture, y: Architecture) -> bool:
    """By networkx (VF2), from layers and edges alone."""
    return nx.is_isomorphic(x.to_networkx(), y.to_networkx(), node_match=lambda a, b: a == b)


@some_examples
@given(any_architecture, st.integers(0, 2**32 - 1))
def test_the_order_of_layers_is_no_part_of_the_value(x, seed):
    y = renumbered(x, np.random.default_rng(seed))
    assert (y, hash(y), y.canonical) == (x, hash(x), x.canonical)
    assert all(u < v for u, v in y.edges)


@some_examples
@given(any_architecture, st.data())
def test_replaced_layers_are_checked_as_new_ones(x, data):
    u = data.draw(st.integers(0, len(x) - 1))
    labels = st.sampled_from([label.name for label in x.family.labels])
    units = st.sampled_from([None, 0, 8, 64])
    resized = units.map(lambda n: x.layers[u]._replace(units=n))
    layer = data.draw(st.one_of(resized, st.tuples(labels, units).map(lambda both: Layer(*both))))

    def made(build):
        try:
            return vars(build())
        except PointError as error:
            return str(error)

    layers = [*x.layers[:u], layer, *x.layers[u + 1 :]]
    expected = made(lambda: Architecture(layers, x.edges, x.family))
    assert made(lambda: replace_layers(x, {u: layer})) == expected


@some_examples
@given(any_architecture, st.integers(0, 2**32 - 1))
def test_modified_architectures_are_as_if_built_anew(x, seed):
    rng = np.random.default_rng(seed)
    for modifier, _ in MODIFIERS:
        try:
            child = modifier(x, rng)
        except PointError:
            continue
        anew = Architecture(child.layers, child.edges, child.family)
        for name in Architecture.__annotations__:
            assert getattr(child, name) == getattr(anew, name), (modifier.__name__, name)


@some_examples
@given(batches(2), st.integers(0, 2**32 - 1))
def test_equal_exactly_where_isomorphic(pair, seed):
    x, y = pair
    rng = np.random.default_rng(seed)
    assert (x == y) == (x.family == y.family and isomorphic(x, y))
    nearby = [x, *(domain.mutate(x, rng) for domain in (SMALL_CNN, SMALL_MLP) if domain.family == x.family)]
    for z in nearby:
        assert (x == z) == isomorphic(x, z)


@pytest.mark.parametrize("width", [2, 5, 12])
def test_symmetric_architectures_have_one_fingerprint(width):
    """Parallel copies of one path, which no refinement of colors tells apart, and crossings that only look alike."""
    layers = ["ip", "conv3-8"] + ["conv3-8"] * width + ["conv5-8"] * width + ["softmax", "op"]
    entries = [(1, 2 + i) for i in range(width)]
    exits = [(2 + width + i, 2 + 2 * width) for i in range(width)]
    around = [(0, 1), *entries, *exits, (2 + 2 * width, 3 + 2 * width)]
    straight = [(2 + i, 2 + width + i) for i in range(width)]
    rng = np.random.default_rng(width)
    paths = Architecture(layers, around + straight)
    assert renumbered(paths, rng).fingerprint == paths.fingerprint
    ring = Architecture(layers, around + straight + [(2 + i, 2 + width + (i + 1) % width) for i in range(width)])
    assert renumbered(ring, rng).fingerprint == ring.fingerprint
    assert ring != paths


def test_rings_of_equal_degrees_are_told_apart():
    """One ring of 6 and two of 3: the same degrees everywhere, not isomorphic."""
    layers = ["ip", "conv3-8"] + ["conv3-8"] * 6 + ["conv5-8"] * 6 + ["softmax", "op"]
    around = [(0, 1), *((1, 2 + i) for i in range(6)), *((8 + i, 14) for i in range(6)), (14, 15)]
    straight = [(2 + i, 8 + i) for i in range(6)]
    one = Architecture(layers, around + straight + [(2 + i, 8 + (i + 1) % 6) for i in range(6)])
    two = Architecture(layers, around + straight + [(2 + i, 8 + i // 3 * 3 + (i + 1) % 3) for i in range(6)])
    assert one != two
    assert not isomorphic(one, two)


@some_examples
@given(any_architecture)
def test_round_trips(x):
    for y in (
        Architecture.from_json(json.loads(json.dumps(x.to_json(), allow_nan=False))),
        Architecture.from_networkx(x.to_networkx(), x.family),
        pickle.loads(pickle.dumps(x)),
        copy.deepcopy(x),
    ):
        assert (y, y.layers, y.edges, y.family.name) == (x, x.layers, x.edges, x.family.name)


def test_ways_to_write_a_layer():
    x = Architecture.chain("conv3-16/2 max-pool softmax")
    assert x.layers == (Layer("ip"), Layer("conv3", 16, 2), Layer("max-pool"), Layer("softmax"), Layer("op"))
    assert x.edges == tuple(pairwise(range(5)))
    written = ["ip", ("conv3", 16, 2), {"label": "max-pool"}, ["softmax"], Layer("op")]
    assert Architecture(written, x.edges) == x
    assert bo.Architecture(np.array(["ip", "conv3-16/2", "max-pool", "softmax", "op"]), np.array(x.edges)) == x
    assert Architecture.chain([("conv3", np.int64(16), 2), "max-pool", "softmax"]) == x
    assert x != "conv3-16/2"


def test_numbers_of_numpy_are_the_numbers_that_they_stand_for():
    values = {"dropout": 0.5, "groups": 4, "biased": True, "norm": "batch"}
    plain = Architecture.chain([Layer("conv3", 16, 2, tuple(sorted(values.items()))), "softmax"])
    numpy = {"dropout": np.float64(0.5), "groups": np.int32(4), "biased": np.bool_(True), "norm": np.str_("batch")}
    for attributes in (numpy, tuple(sorted(numpy.items()))):
        for layer in (
            ("conv3", np.int64(16), np.int8(2), attributes),
            Layer(np.str_("conv3"), np.int64(16), np.uint8(2), attributes),  # type: ignore[arg-type]
        ):
            x = Architecture.chain([layer, Layer("softmax", None, np.int64(1))])  # type: ignore[arg-type]
            assert (x.fingerprint, x.layers) == (plain.fingerprint, plain.layers)
            assert Architecture.from_json(json.loads(json.dumps(x.to_json()))).fingerprint == x.fingerprint
    assert Architecture.chain([Layer("conv3", np.int64(16)), "softmax"]) == Architecture.chain("conv3-16 softmax")  # type: ignore[arg-type]


def test_attributes_are_part_of_the_value():
    def dropped(rate: float, name: str = "dropout") -> Architecture:
        return Architecture.chain([Layer("conv3", 16, 1, ((name, rate),)), "softmax"])

    assert dropped(0.25) != dropped(0.5) == dropped(0.5) != dropped(0.5, "noise")
    assert Architecture.from_json(dropped(0.5).to_json()) == dropped(0.5)
    both = {"label": "conv3", "units": 16, "attributes": {"norm": "batch", "dropout": 0.5}}
    swapped = ("conv3", 16, 1, [("dropout", 0.5), ("norm", "batch")])
    assert Architecture.chain([both, "softmax"]) == Architecture.chain([swapped, "softmax"])


def test_text_and_drawing():
    x = GOLDEN["b"]
    assert x.to_text().splitlines()[1] == "1 conv3-16 > 2 3"
    assert str(GOLDEN["s2"]) == "ip conv3-16 conv3-16 conv3-32 max-pool fc-16 softmax op"
    assert str(GOLDEN["s1"]).endswith("fc-16 softmax op | 0>1 1>2 1>3 2>4 3>4 4>5 5>6 6>7 7>8")
    assert repr(network("conv3-8 softmax")) == "Architecture('ip conv3-8 softmax op', chain)"
    assert '3 [label="3: conv3-16"' in x.to_dot()
    assert "3 -> 5;" in x.to_dot()
    if shutil.which("dot"):
        assert "<svg" in x.to_svg()
    else:
        with pytest.raises(MissingExtra, match="Graphviz program"):
            x.to_svg()


def test_immutable():
    with pytest.raises(AttributeError, match="immutable"):
        GOLDEN["a"].layers = ()


def test_what_is_derived():
    c = GOLDEN["c"]
    assert c.channels[:10] == (1, 16, 32, 16, 16, 32, 16, 16, 16, 16)
    assert c.halvings == (0, 0, 0, 1, 0, 1, 2, 1, None, 1, None, 2, None, None, None)
    assert c.hops_from_input == (0, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 4, 5, 6)
    assert c.hops_to_output == (6, 5, 4, 4, 6, 3, 3, 5, 2, 4, 1, 3, 2, 1, 0)
    assert sum(c.masses) == 16 + 512 + 256 + 256 + 32 + 16 + 16 + 512 + 256 + 16 + 512
    assert GOLDEN["m1"].halvings == (None,) * 8


CHAIN = [(0, 1), (1, 2), (2, 3)]
REFUSED = [
    (["ip", "conv12-8", "softmax", "op"], CHAIN, "cnn lacks conv12; mlp lacks conv12"),
    (["ip", 7, "softmax", "op"], CHAIN, "layer 1: expected a Layer, a string like 'conv3-16/2', or its fields; got 7"),
    (["ip", {"label": "conv3", "width": 8}, "softmax", "op"], CHAIN, r"layer 1: expected the fields label, units"),
    (["ip", ("conv3", 8, 1, {"a": [1]}), "softmax", "op"], CHAIN, r"layer 1: expected attributes from names to JSON"),
    (["ip", ("conv3", 8, 1, {"a": float("nan")}), "softmax", "op"], CHAIN, "a finite number for attribute a, got nan"),
    (["ip", ("conv3", 8, 1, {"a": -np.inf}), "softmax", "op"], CHAIN, "a finite number for attribute a, got -inf"),
    (["ip", ("conv3", 8, 1, [("a", 1), ("a", 2)]), "softmax", "op"], CHAIN, "layer 1: attribute a is given twice"),
    (["ip", (3, 8), "softmax", "op"], CHAIN, "layer 1: expected a label, got 3"),
    ("conv3-8", CHAIN, "layers: expected a sequence of layers, got 'conv3-8'"),
]


@pytest.mark.parametrize(("layers", "edges", "words"), REFUSED)
def test_refused_by_its_words(layers, edges, words):
    with pytest.raises(PointError, match=words):
        Architecture(layers, edges)


@pytest.mark.parametrize("name", GOLDEN)
def test_text_gives_the_architecture_again(name):
    x = GOLDEN[name]
    again = Architecture.from_text(str(x), x.family)
    assert (again, str(again)) == (x, str(x))


def test_texts_that_say_no_architecture():
    for edges, said in (("0>1 1-2 2>3", "1-2'"), (f"0>{'9' * 5_000}", "0>9")):
        with pytest.raises(PointError, match=f"edges: expected pairs of layer numbers such as 0>1, got '{said}"):
            Architecture.from_text(f"ip conv3-8 softmax op | {edges}")
    with pytest.raises(PointError, match="text: expected a string, got 3"):
        Architecture.from_text(3)  # type: ignore[arg-type]


def test_families():
    assert family_from_json("cnn") is CNN
    assert MLP.to_json() == "mlp"
    extended = MLP.with_label(Label("gelu", group="rectifier"), {"relu": 0.1}, "mlp with gelu")
    assert family_from_json(json.loads(json.dumps(extended.to_json()))) == extended
    assert pickle.loads(pickle.dumps(extended)) == extended
    assert pickle.loads(pickle.dumps(GOLDEN["VGG1"])).family is CNN
    assert Architecture.chain("gelu-8 linear", extended) != Architecture.chain("relu-8 linear", extended)
    x = Architecture.chain("gelu-8 linear", extended)
    assert Architecture.from_json(x.to_json(), extended) == x
    for name, words in (
        ("mlp", "layer 1: label 'gelu' is unknown; the family mlp has ip, op, relu"),
        ("rnn", "family: expected one of cnn, mlp, cell, mbconv, cnn-all-kernels, or a description; got 'rnn'"),
    ):
        with pytest.raises(PointError, match=words):
            Architecture.chain("gelu-8 linear", name)
    assert MLP.with_label(Label("gelu"), {"relu": 0.1}).name == "mlp+gelu"
    with pytest.raises(DomainError, match="does not end in a hyphen and digits"):
        Label("conv-3")
    with pytest.raises(DomainError, match="distinct names"):
        MLP.with_label(Label("relu"), {}, "twice")


def test_families_of_one_name_that_differ_are_told_apart():
    """As where a cell of a notebook is run again with other labels: nothing derived may be shared."""
    small = MLP.with_label(Label("gelu", group="rectifier"), {"relu": 0.1}, "mlp+")
    dearer = MLP.with_label(Label("gelu", group="rectifier"), {"relu": 0.3}, "mlp+")
    large = small.with_label(Label("silu", group="rectifier"), {"relu": 0.1}, "mlp+")
    xs = [Architecture.chain("gelu-8 relu-8 linear", family) for family in (small, dearer, large)]
    assert len(set(xs)) == len({x.fingerprint for x in xs}) == 3
    assert pickle.loads(pickle.dumps(xs[0])) == xs[0]
    again = family_from_json(json.loads(json.dumps(small.to_json())))
    assert Architecture.from_json(xs[0].to_json(), again).fingerprint == xs[0].fingerprint
    with pytest.raises(PointError, match=r"of the family mlp\+, got one of another family of that name"):
        bo.mlp_domain(pool=[xs[0]], family=small, bounds=bo.Bounds(min_layers=2)).check(xs[1])
    y = Architecture.chain("relu-8 relu-8 linear", large)
    alone = bo.otmann(xs[2], y).distance
    bo.otmann(xs[0], Architecture.chain("relu-8 relu-8 linear", small))  # remembered; must not be taken for the others
    np.testing.assert_array_equal(bo.otmann(xs[2], y).distance, alone)
    dear = bo.otmann(xs[1], Architecture.chain("relu-8 relu-8 linear", dearer)).distance
    assert (dear > bo.otmann(xs[0], Architecture.chain("relu-8 relu-8 linear", small)).distance).all()


def test_fingerprints_of_built_in_families_stay_as_they_were_stored():
    stored = {
        "conv3-16 conv3-32/2 max-pool fc-64 softmax": "a0c59453b01c8547b412ada287d2e653",
        "relu-16 tanh-32 linear": "9f4dddabc3d902acc4dc8d112ae55fd0",
        "stem-64 conv3-64 classifier": "4dd28d96d1fb26e57aad045f5811e6cf",
    }
    assert {chain: Architecture.chain(chain).fingerprint for chain in stored} == stored


A = Label("a")
REFUSED_FAMILIES = [
    ({"costs": (("a", "a", 0.5),)}, "costs: expected pairs of different labels .*; got a twice"),
    ({"costs": (("a", "b", 0.5), ("b", "a", 0.4))}, "costs: expected each pair once, got b and a twice"),
    ({"costs": (("a", "d", 0.5),)}, "costs: expected pairs of ip, op, end, a, b; got 'a', 'd'"),
    ({"groups": ["conv"]}, r"groups: expected a tuple of names, got \['conv'\]"),
    ({"groups": ("conv", "conv")}, "groups: expected distinct names"),
    ({"image": 0}, "image: expected True or False, got 0"),
    ({"joins": "multiplies"}, "joins: expected one of concatenates, adds; got 'multiplies'"),
]


@pytest.mark.parametrize(("changed", "words"), REFUSED_FAMILIES)
def test_families_refused_by_their_words(changed, words):
    labels = (*ENDS, Label("end", "decision", units=False), A, Label("b"))
    fine = {"name": "own", "labels": labels, "groups": ("conv",), "costs": (("a", "b", 0.5),), "image": False}
    assert pickle.loads(pickle.dumps(Family(**fine))) == Family(**fine)
    with pytest.raises(ValueError, match=words):
        Family(**fine | changed)


def test_a_family_of_the_package_keeps_its_name():
    for changed in ({"image": False}, {"groups": ("conv", "pool", "fc", "more")}, {"joins": "adds"}):
        with pytest.raises(DomainError, match="'cnn' is a built-in family; give a different family another name"):
            dataclasses.replace(CNN, **changed)
    assert dataclasses.replace(CNN) == CNN


def test_channels_add_up_only_where_inputs_are_concatenated():
    layers = ["ip", "relu-8", "relu-8", "relu-8", "relu-4", "linear", "op"]
    edges = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6)]
    adding = dataclasses.replace(MLP, name="residual", joins="adds")
    joined, added = Architecture(layers, edges, MLP), Architecture(layers, edges, adding)
    assert (joined.masses[4], added.masses[4]) == (4 * 16, 4 * 8)
    assert sum(joined.masses) - sum(added.masses) == 4 * 8
    assert family_from_json(json.loads(json.dumps(adding.to_json()))) == adding
    assert "joins" not in dataclasses.replace(MLP, name="plain").to_json()
