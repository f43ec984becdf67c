"""The boxes of the non-dominated region: they fill it, and do not overlap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bostruct.goals.hypervolume import divide_nondominated
from bostruct.goals.pareto import hypervolume

FRONTS = st.tuples(st.integers(0, 6), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 4).map(float))
)


def sides(boxes, floor):
    lower = np.stack([np.maximum(one[i], floor) for one, i in zip(boxes.edges, boxes.lower.T, strict=True)], axis=1)
    return lower, np.stack([one[i] for one, i in zip(boxes.edges, boxes.upper.T, strict=True)], axis=1)


@given(FRONTS)
def test_each_point_below_the_reference_is_dominated_or_in_one_box(front):
    reference = np.full(front.shape[1], 3.5)
    lower, upper = sides(divide_nondominated(front, reference), -1.0)
    corners = np.meshgrid(*[np.arange(-0.75, 3.5, 1.0)] * front.shape[1])
    grid = np.stack([one.ravel() for one in corners], axis=1)
    inside = np.all((grid[:, None] > lower) & (grid[:, None] < upper), axis=2).sum(axis=1)
    below = front[np.all(front < reference, axis=1)]
    dominated = np.any(np.all(below <= grid[:, None], axis=2), axis=1)
    assert inside.tolist() == (~dominated).astype(int).tolist()


@given(FRONTS)
def test_boxes_and_what_is_dominated_make_up_the_volume(front):
    k = front.shape[1]
    reference = np.full(k, 3.5)
    lower, upper = sides(divide_nondominated(front, reference), -1.0)
    free = float(np.prod(upper - lower, axis=1).sum())
    assert free + hypervolume(front, reference) == pytest.approx(4.5**k)


@pytest.mark.parametrize(("k", "n", "most"), [(1, 9, 1), (2, 30, 31), (3, 30, 61)])
def test_boxes_are_few(k, n, most):
    normal = np.abs(np.random.default_rng(0).normal(size=(n, k)))
    front = 1.0 - normal / np.linalg.norm(normal, axis=1)[:, None]
    assert len(divide_nondominated(front, np.ones(k)).lower) <= most


def test_dominated_points_make_no_edges():
    boxes = divide_nondominated(np.array([[1.0, 1.0], [2.0, 1.5], [3.0, 3.0]]), np.array([4.0, 4.0]))
    assert [one.tolist() for one in boxes.edges] == [[-np.inf, 1.0, 4.0], [-np.inf, 1.0, 4.0]]
