"""Architectures in Graphviz's language: one box a layer, one arrow an edge, nothing that means something else."""

from __future__ import annotations

import re

import pytest

from bostruct.domains.architecture.layers import BUILT_IN, CNN, Label
from bostruct.domains.architecture.value import architecture_dot, layer_color
from tests.architectures import GOLDEN


def read_dot(dot: str) -> tuple[dict[int, str], list[tuple[int, int]]]:
    """The text of each box, and the arrows."""
    boxes = {int(u): text for u, text in re.findall(r'^  (\d+) \[label="(.*)", fillcolor=', dot, re.M)}
    return boxes, [(int(u), int(v)) for u, v in re.findall(r"^  (\d+) -> (\d+);$", dot, re.M)]


@pytest.mark.parametrize("name", ["a", "c", "m3"])
def test_a_drawing_has_the_layers_and_edges_of_the_architecture(name):
    x = GOLDEN[name]
    dot = x.to_dot()
    assert read_dot(dot) == ({u: f"{u}: {layer}" for u, layer in enumerate(x.layers)}, list(x.edges))
    assert dot.startswith("digraph architecture {\n")
    assert dot.endswith("\n}\n")


def test_text_that_means_something_to_graphviz_is_escaped():
    label = CNN.by_name["conv3"]
    dot = architecture_dot(['a"b\\n'], [label], [])
    assert '0 [label="0: a\\"b\\\\n", fillcolor=' in dot
    with pytest.raises(ValueError, match="shorter"):
        architecture_dot(["a", "b"], [label], [])


def test_ends_and_decisions_have_colors_of_their_own_and_pools_and_dense_layers_are_tinted():
    colors = {label.name: layer_color(label) for label in CNN.labels}
    assert (colors["ip"], colors["max-pool"]) == (colors["op"], colors["avg-pool"])
    assert colors["conv3"] == colors["res5"] == layer_color(Label("anything")) == "#ffffff"
    assert len({colors[name] for name in ("ip", "softmax", "max-pool", "fc", "conv3")}) == 5
    for family in BUILT_IN.values():
        assert all(re.fullmatch("#[0-9a-f]{6}", layer_color(label)) for label in family.labels)
