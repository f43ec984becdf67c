"""Labels beside points: clear of other points, of lines, of the border and of each other."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text

from bostruct.analysis.axes import label_points


def write(dots: list[tuple[float, float]], line: list[tuple[float, float]], count: int = 1):
    """Label the first points of a square of a thousand pixels, and return its axes and what the labels cover."""
    axes = Figure(figsize=(10, 10), dpi=100).add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0.0, 1000.0), ylim=(0.0, 1000.0))
    label_points(axes, [(f"trial {i}", *dots[i]) for i in range(count)], np.array(dots), np.array(line))
    axes.figure.draw_without_rendering()
    return axes, [Text.get_window_extent(text) for text in axes.texts]


def test_a_label_alone_is_above_its_point_on_the_right():
    axes, (box,) = write([(500.0, 500.0)], [])
    assert box.x0 > 500.0
    assert box.y0 > 500.0
    assert axes.texts[0].get_path_effects()


def test_a_label_goes_where_no_other_dot_is():
    _, (box,) = write([(500.0, 500.0), (520.0, 515.0), (480.0, 515.0), (520.0, 485.0)], [])
    assert box.x1 < 500.0
    assert box.y1 < 500.0


def test_a_label_does_not_cross_a_line_and_stays_inside():
    _, (box,) = write([(990.0, 500.0)], [(990.0, 500.0), (990.0, 510.0), (0.0, 510.0)])
    assert box.x1 < 990.0
    assert box.y1 < 510.0


def test_labels_of_near_points_do_not_meet():
    _, (one, other) = write([(500.0, 500.0), (504.0, 500.0)], [], 2)
    assert not one.overlaps(other)


def test_a_label_that_has_to_go_far_has_a_line_to_its_point():
    ring = [(500.0 + 25.0 * np.cos(t), 500.0 + 14.0 * np.sin(t)) for t in np.linspace(0.0, 2.0 * np.pi, 24)]
    axes, _ = write([(500.0, 500.0), *ring], [])
    assert axes.texts[0].arrow_patch is not None
