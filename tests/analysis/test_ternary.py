"""The picture of a mixture of three parts."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.analysis.coordinates import plot_ternary
from bostruct.contracts import BostructError


@pytest.fixture(scope="module")
def result():
    space = {"mix": bo.Mixture(["resin", "acid", "water"]), "hot": bool}
    return bo.minimize(lambda point: point["mix"]["acid"], space, n_trials=12, seed=0, method="random")


def test_trials_lie_in_the_triangle_with_the_best_near_its_side(result):
    assert bo.plot_ternary is plot_ternary
    axes = plot_ternary(result)
    dots = np.asarray(axes.collections[0].get_offsets())
    assert len(dots) == 12
    shares = np.array([list(trial.point["mix"].values()) for trial in result.trials])
    assert dots[:, 1] == pytest.approx(shares[:, 2] * np.sqrt(0.75))
    star = np.asarray(axes.collections[1].get_offsets())[0]
    assert star == pytest.approx(dots[shares[:, 1].argmin()])
    assert {text.get_text() for text in axes.texts} >= {"resin", "acid", "water"}


def test_a_space_without_three_parts_is_refused():
    other = bo.minimize(lambda point: point["x"], {"x": bo.Real(0, 1)}, n_trials=3, seed=0, method="random")
    with pytest.raises(BostructError, match="a variable with three parts"):
        plot_ternary(other)


def test_another_name_is_refused(result):
    with pytest.raises(ValueError, match="name"):
        plot_ternary(result, "hot")
