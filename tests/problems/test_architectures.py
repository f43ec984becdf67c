"""Problems over architectures: what they share, on an objective that counts layers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.problems.base import ArchitectureProblem

DOMAIN = bo.mlp_domain()
SMALL = bo.Architecture.chain("relu-8 linear", "mlp")


def count_layers(x: bo.Architecture) -> float:
    return float(len(x))


def count_edges(x: bo.Architecture) -> float:
    return float(len(x.edges))


LAYERS = ArchitectureProblem("layers", DOMAIN, count_layers, "none", n_initial=6)


def test_values_are_those_of_the_objective_for_every_spelling_of_a_point():
    points = LAYERS.initial_points(1)
    assert [LAYERS(point) for point in points] == [float(len(point)) for point in points]
    np.testing.assert_array_equal(LAYERS.evaluate(points), [LAYERS(point.to_json()) for point in points])
    assert LAYERS.evaluate([]).shape == (0,)
    with pytest.raises(PointError):
        LAYERS("no architecture")
    with pytest.raises(PointError):
        LAYERS.evaluate([points[0], 3])


def test_initial_points_are_distinct_repeatable_and_differ_between_configurations():
    first, second = LAYERS.initial_points(1), LAYERS.initial_points(2)
    assert len(first) == len(set(first)) == 6
    assert first == LAYERS.initial_points(1)
    assert first != second
    with pytest.raises(ValueError, match=r"config: expected one of 1, 2, .*; got 1000"):
        LAYERS.initial_points(1_000)
    with pytest.raises(ValueError, match="config: expected at least 0, got -1"):
        LAYERS.initial_points(-1)


def test_mean_and_report_stand_in_for_the_objective_where_there_are_any():
    point = LAYERS.initial_points(3)[0]
    assert not LAYERS.noisy
    assert LAYERS(point) == LAYERS.noise_free(point) == LAYERS.reported(point)
    noisy = dataclasses.replace(LAYERS, mean=count_edges)
    assert noisy.noisy
    edges = count_edges(point)
    assert (noisy(point), noisy.noise_free(point), noisy.reported(point)) == (count_layers(point), edges, edges)
    judged = dataclasses.replace(noisy, report=lambda x: -count_layers(x))
    assert (judged.noise_free(point), judged.reported(point)) == (count_edges(point), -count_layers(point))
    for ask in (judged, judged.noise_free, judged.reported):
        with pytest.raises(PointError):
            ask("no architecture")
    with pytest.raises(ValueError, match="n_simulations: expected at least 1, got 0"):
        judged.noise_free(point, 0)


def test_the_optimal_point_is_shown_as_users_see_points():
    assert LAYERS.optimal_point is None
    assert dataclasses.replace(LAYERS, optimal=SMALL).optimal_point == SMALL
    both = bo.joint_domain({"network": DOMAIN, "training": bo.Space({"rate": [0.1, 0.01]})})
    joint = ArchitectureProblem("both", both, lambda x: float(len(x.parts[0])), "none", n_initial=2)
    point = joint.initial_points(1)[0]
    assert joint(point) == float(len(point["network"]))
    assert dataclasses.replace(joint, optimal=both.parse(point)).optimal_point == point
