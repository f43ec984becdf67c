"""Architectures drawn with matplotlib: one box a layer, one arrow an edge, parents above children."""

import sys
from collections import Counter
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.figure import Figure

from bostruct.domains.architecture.drawing import draw_layers, draw_svg, layer_positions, plot_architecture
from bostruct.domains.architecture.value import layer_color
from tests.architectures import GOLDEN, SMALL_CNN, architectures


@settings(max_examples=30)
@given(architectures(SMALL_CNN))
def test_each_layer_lies_below_its_parents_as_deep_as_its_longest_path(x):
    places = layer_positions(x)
    assert len(set(places)) == len(places) == len(x.layers)
    for u, v in x.edges:
        assert places[u][1] > places[v][1]
    depths = nx.dag_longest_path_length(x.to_networkx())
    assert min(height for _, height in places) == -depths
    for height in {height for _, height in places}:
        columns = [column for column, own in places if own == height]
        assert sum(columns) == 0  # centered
        assert set(np.diff(sorted(columns))) <= {1.0}


@pytest.mark.parametrize("name", ["a", "c", "m3"])
def test_a_drawing_has_a_box_for_each_layer_and_an_arrow_for_each_edge(name):
    x = GOLDEN[name]
    axes = plot_architecture(x)
    boxes = [text for text in axes.texts if text.get_text()]
    assert [box.get_text() for box in boxes] == [str(layer) for layer in x.layers]
    assert [box.get_position() for box in boxes] == layer_positions(x)
    arrows = [text for text in axes.texts if not text.get_text()]
    places = layer_positions(x)
    assert Counter((arrow.xyann, arrow.xy) for arrow in arrows) == Counter((places[u], places[v]) for u, v in x.edges)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert all(left < column < right and bottom < height < top for column, height in places)


def test_edges_that_pass_layers_by_are_bent_and_the_others_straight():
    x = GOLDEN["s7"]
    axes = plot_architecture(x)
    for arrow in (text for text in axes.texts if not text.get_text()):
        bent = "rad=-0.35" in arrow.arrowprops["connectionstyle"]
        assert bent == (arrow.xyann[1] - arrow.xy[1] > 1)


def test_dashed_frames_are_those_asked_for_on_ones_own_axes():
    x, axes = GOLDEN["a"], Figure().subplots()
    draw_layers(axes, x, layer_positions(x), dashed=(1, 3))
    frames = [text.get_bbox_patch() for text in axes.texts if text.get_text()]
    assert [u for u, frame in enumerate(frames) if frame.get_linestyle() in ("--", "dashed")] == [1, 3]
    faces = ["#" + "".join(f"{round(255 * part):02x}" for part in frame.get_facecolor()[:3]) for frame in frames]
    assert faces == [layer_color(x.family.by_name[layer.label]) for layer in x.layers]
    assert plot_architecture(x, axes) is axes


@pytest.mark.parametrize(
    ("given", "words"),
    [(("conv3-8",), "architecture: expected an Architecture, got 'conv3-8'"), ((GOLDEN["a"], 3), "axes of matplotlib")],
)
def test_what_cannot_be_drawn_is_refused(given, words):
    with pytest.raises(TypeError, match=words):
        plot_architecture(*given)


def test_a_notebook_shows_the_drawing(monkeypatch):
    architecture = GOLDEN["b"]
    drawn = draw_svg(architecture)
    texts = "".join(ElementTree.fromstring(drawn).itertext())
    assert all(str(layer) in texts for layer in architecture.layers)
    assert architecture._repr_svg_() == drawn  # the same every time
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert architecture._repr_svg_() is None
