"""The drawing of a transport: each match a line, each layer a box, unmatched mass marked."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot

import bostruct as bo
from bostruct.kernels.otmann.distance import plot_transport
from bostruct.kernels.otmann.settings import PAPER
from tests.architectures import GOLDEN


@pytest.mark.parametrize(("first", "second", "weight"), [("a", "c", 0), ("b", "c", 3), ("m3", "me2", 2)])
def test_what_is_drawn(first, second, weight):
    a, b = GOLDEN[first], GOLDEN[second]
    axes = plot_transport(a, b, weight=weight)
    match = bo.otmann(a, b)
    try:
        assert len(axes.lines) == np.count_nonzero(match.plan[weight])
        boxes = [text for text in axes.texts if text.get_text()]
        assert [text.get_text() for text in boxes] == [str(layer) for x in (a, b) for layer in x.layers]
        matched = np.concatenate([match.plan[weight].sum(1), match.plan[weight].sum(0)])
        dashed = [text.get_bbox_patch().get_linestyle() in ("--", "dashed") for text in boxes]
        np.testing.assert_array_equal(dashed, matched < 1e-6)
        assert f"{match.distance[weight]:.6g}" in axes.get_title()
    finally:
        pyplot.close("all")


def test_own_axes_and_refusal():
    _, axes = pyplot.subplots()
    try:
        assert plot_transport(GOLDEN["a"], GOLDEN["b"], PAPER, axes=axes) is axes
        assert "175.1" in axes.get_title()
        with pytest.raises(ValueError, match="weight: expected between 0 and 0, got 1"):
            plot_transport(GOLDEN["a"], GOLDEN["b"], PAPER, weight=1)
    finally:
        pyplot.close("all")


def test_lines_are_as_wide_as_the_mass_they_stand_for():
    a, b = GOLDEN["a"], GOLDEN["b"]
    plan = bo.otmann(a, b).plan[0]
    axes = plot_transport(a, b)
    widths = [line.get_linewidth() for line in axes.lines]
    np.testing.assert_allclose(widths, np.maximum(8.0 * plan[plan > 0] / plan.max(), 0.5))


@pytest.mark.parametrize("axes", [3, "ax", object()])
def test_what_are_no_axes_is_refused(axes):
    with pytest.raises(TypeError, match="axes: expected axes of matplotlib"):
        plot_transport(GOLDEN["a"], GOLDEN["b"], axes=axes)
