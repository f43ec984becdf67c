"""COMBO on the problem that was published with two initial points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import bostruct as bo
from bostruct import problems
from bostruct.methods import combo


def origins(n_initial: int, given: int, added: int = 0) -> list[str]:
    """How the trials of a quick study of Branin were chosen."""
    problem = problems.load("branin")
    search = combo(problem.space, n_initial)
    surrogate = replace(search.surrogate, burn_in=1, samples=2)
    points = problem.initial_points(1)[:given]
    with bo.Study(problem.space, method=replace(search, surrogate=surrogate), seed=0, initial_points=points) as study:
        for i in range(added):
            study.add({"x1": -5.0, "x2": 0.3 * i}, 100.0 + i)
        study.optimize(problem, 4, progress=False)
        asked = [trial for trial in study.trials if trial.origin != "added"]
        if given:
            assert [trial.point for trial in asked[:given]] == points
        return [trial.origin for trial in asked]


def test_branin_begins_with_its_two_published_points():
    center, other = problems.load("branin").initial_points(1)
    assert center == {"x1": 2.5, "x2": 7.5}
    assert other != center
    assert origins(n_initial=2, given=2) == ["given", "given", "model", "model"]


@pytest.mark.parametrize(
    ("given", "added", "expected"),
    [
        (0, 0, ["initial", "initial", "initial", "model"]),
        (2, 0, ["given", "given", "initial", "model"]),
        (0, 2, ["initial", "model", "model", "model"]),
        (1, 2, ["given", "model", "model", "model"]),
    ],
)
def test_points_given_and_added_count_among_the_initial_ones(given, added, expected):
    assert origins(3, given, added) == expected


def test_the_number_of_initial_points_is_checked():
    with pytest.raises(ValueError, match="n_initial: expected at least 1, got 0"):
        combo(problems.load("branin").space, 0)


def test_the_center_of_the_prior_of_the_mean():
    """The middle of the range by default, which no stored setting names; the sample mean as in the paper."""
    space, values = problems.load("branin").space, np.array([0.0, 1.0, 8.0])
    code, paper = combo(space), combo(space, center="mean")
    assert [one.surrogate.priors(values).mean.mean for one in (code, paper)] == [4.0, 3.0]
    priors = [one.settings()["surrogate"]["priors"] for one in (code, paper)]
    assert ["center" in one for one in priors] == [False, True]
    with pytest.raises(ValueError, match="center: expected one of middle, mean; got 'median'"):
        combo(space, center="median")
