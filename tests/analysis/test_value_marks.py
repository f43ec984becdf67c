"""Marks of values: all are drawn, those beyond the axis as triangles, and the legend shows a mark that is seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from bostruct.analysis.axes import ValueMark, mark_values

MARK = ValueMark("model", "#0072B2")


@given(st.lists(st.floats(-3.0, 3.0, allow_nan=False), max_size=8))
def test_triangles_stand_for_all_values_beyond_the_axis(values):
    """A value at the edge was half a dot and a triangle, and dots were above triangles."""
    axes = Figure().subplots()
    axes.set_ylim(-1.0, 1.0)
    mark_values(axes, np.arange(len(values)), np.array(values), MARK)
    at_border = [one for one in axes.collections if one.get_offset_transform() == axes.get_xaxis_transform()]
    heights = [height for one in at_border for _, height in one.get_offsets().tolist()]
    dots = [height for one in axes.collections if one not in at_border for _, height in one.get_offsets().tolist()]
    assert len(heights) + len(dots) == len(values)
    assert all(abs(dot) < 0.95 for dot in dots)  # below the triangles
    assert heights.count(0.985) == sum(value > 0.94 for value in values)
    assert heights.count(0.015) == sum(value < -0.94 for value in values)
    named = [one for one in axes.collections if one.get_label() == "model"]
    assert len(named) == bool(values)
    if values:
        assert (named[0] in at_border) == (not dots)


@pytest.mark.parametrize("mark", [MARK, MARK._replace(is_hollow=True), MARK._replace(marker="_")])
def test_a_mark_has_its_color(mark):
    axes = Figure().subplots()
    axes.set_ylim(-1.0, 1.0)
    mark_values(axes, np.arange(2), np.array([0.0, 2.0]), mark)
    for drawn in axes.collections:
        colors = drawn.get_edgecolor() if mark.is_hollow else drawn.get_facecolor()
        assert np.allclose(colors[:, :3], [0.0, 0x72 / 255, 0xB2 / 255])
        assert len(drawn.get_facecolor()) == (0 if mark.is_hollow else 1)
