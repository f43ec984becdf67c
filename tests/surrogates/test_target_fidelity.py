"""A surrogate asked at the highest fidelity: what it learns from, and where it predicts."""

from __future__ import annotations

import numpy as np

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Surrogate
from bostruct.domains.fidelity import FidelityLevels
from bostruct.surrogates.target_fidelity import AtTargetFidelity, TargetFidelityPosterior
from tests.fakes import TablePosterior

TRAINED = bo.Space({"rate": [0.1, 0.01, 0.001], "width": range(8), "epochs": bo.Fidelity([1, 3, 9])})
LEVELS = FidelityLevels(TRAINED)


def trained(point):
    return abs(point["width"] - 5) + point["rate"] + 3.0 / point["epochs"]


def table() -> TablePosterior:
    """A mean that is the position of the point, a variance that is ten times that, and some optimism."""
    position = np.arange(float(TRAINED.size))
    return TablePosterior(TRAINED.n_choices, position, 10.0 * position + 1.0, np.full(len(position), 0.5))


def test_the_model_is_asked_about_the_top():
    rng = np.random.default_rng(0)
    xs = TRAINED.sample(20, rng)
    values = np.array([trained(TRAINED.present(x)) for x in xs])
    surrogate = AtTargetFidelity(methods.auto(TRAINED).surrogate, LEVELS.at_target_fidelity)
    posterior, *_ = surrogate.condition(xs, values, surrogate.initial_state(), rng)
    some = TRAINED.sample(12, rng)
    low, high = (np.array([LEVELS.at_level(x, level) for x in some]) for level in (0, 2))
    np.testing.assert_array_equal(posterior.predict(low).mean, posterior.predict(high).mean)
    believed = posterior.believe(low[:3])
    assert (believed.predict(low).variance <= posterior.predict(low).variance + 1e-9).all()


def test_predictions_and_screens_are_those_of_the_same_points_at_the_top():
    inner, xs = table(), TRAINED.sample(20, np.random.default_rng(1))
    top = xs.copy()
    top[:, 2] = 2
    posterior = TargetFidelityPosterior(inner, LEVELS.at_target_fidelity)
    for found, expected in ((posterior.predict(xs), inner.predict(top)), (posterior.screen(xs), inner.screen(top))):
        np.testing.assert_array_equal(found.mean, expected.mean)
        np.testing.assert_array_equal(found.variance, expected.variance)


def test_models_are_averaged_at_the_top():
    class Averaged(TablePosterior):
        def average_models(self):
            return TablePosterior(self.n_choices, self.mean + 7.0, self.variance, self.optimism)

    inner, xs = table(), TRAINED.sample(20, np.random.default_rng(1))
    averaged = Averaged(inner.n_choices, inner.mean, inner.variance, inner.optimism)
    posterior = TargetFidelityPosterior(averaged, LEVELS.at_target_fidelity)
    np.testing.assert_array_equal(posterior.average_models().predict(xs).mean, posterior.predict(xs).mean + 7.0)


def test_what_runs_is_believed_at_its_own_fidelity():
    posterior = TargetFidelityPosterior(table(), LEVELS.at_target_fidelity)
    low, top = np.array([[1, 4, 0]]), np.array([[1, 4, 2]])
    assert posterior.believe(low).predict(low).variance[0, 0] == posterior.predict(low).variance[0, 0]
    assert posterior.believe(top).predict(low).variance[0, 0] < 1e-9


class Recorded(Surrogate):
    """A surrogate that keeps what it is conditioned on, and adds one to its state."""

    def __init__(self) -> None:
        self.points: list[np.ndarray] = []

    def initial_state(self):
        return 7

    def condition(self, xs, values, state, rng):
        del values, rng
        self.points.append(xs)
        return table(), state + 1, {"fit": "table"}


def test_it_learns_from_points_as_they_were_evaluated():
    inner = Recorded()
    surrogate = AtTargetFidelity(inner, LEVELS.at_target_fidelity)
    xs = TRAINED.sample(6, np.random.default_rng(2))
    _, state, info = surrogate.condition(xs, np.zeros(6), surrogate.initial_state(), np.random.default_rng(0))
    np.testing.assert_array_equal(inner.points[0], xs)
    assert (state, info) == (8, {"fit": "table"})
