"""Expected hypervolume improvement against numerical integrals, and by its laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from bostruct.acquisition.functions import LogExpectedImprovement
from bostruct.contracts import Prediction
from bostruct.goals.hypervolume import LogHypervolumeImprovement, divide_nondominated
from bostruct.goals.pareto import hypervolume

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def acquisition(front, reference):
    return LogHypervolumeImprovement(divide_nondominated(np.asarray(front, float), np.asarray(reference, float)))


def predict(mean, sd):
    """Predictions of k objectives at one point, (1, 1) each."""
    return [Prediction(np.array([[m]]), np.array([[s * s]])) for m, s in zip(mean, sd, strict=True)]


def volume_unit(front, reference):
    """The volume between ideal point and reference, which the acquisition is divided by."""
    return float(np.prod(np.asarray(reference) - np.min(front, axis=0)))


def integrate(front, reference, mean, sd):
    """The chance that a point dominates z, integrated over the z that the front does not: Gauss-Legendre in cells."""
    front = np.asarray(front, float)
    at, chances = [], []
    for j, (m, s) in enumerate(zip(mean, sd, strict=True)):
        knots = np.unique(np.concatenate([m + s * np.linspace(-9.0, 9.0, 7), front[:, j]]))
        knots = np.append(knots[(knots >= m - 9.0 * s) & (knots < reference[j])], reference[j])
        half, middle = 0.5 * np.diff(knots)[:, None], 0.5 * (knots[1:] + knots[:-1])[:, None]
        at.append((middle + half * NODES).ravel())
        chances.append((half * WEIGHTS).ravel() * ndtr((at[-1] - m) / s))
    grid = np.stack(np.meshgrid(*at, indexing="ij"), axis=-1)
    free = ~np.any([np.all(point <= grid, axis=-1) for point in front], axis=0)
    for chance in chances:
        free = np.tensordot(chance, free, axes=(0, 0))
    return float(free)


@pytest.mark.parametrize(
    ("mean", "sd"), [((0.5, 0.5), (0.3, 0.4)), ((2.5, 2.5), (0.5, 0.3)), ((-1.0, 3.9), (0.2, 0.2))]
)
def test_two_objectives_agree_with_quadrature(mean, sd):
    front, reference = [[0.0, 3.0], [1.0, 1.0], [3.0, 0.5]], [4.0, 4.0]
    found = math.exp(acquisition(front, reference)(predict(mean, sd))[0]) * volume_unit(front, reference)
    assert found == pytest.approx(integrate(front, reference, mean, sd), rel=1e-8)


def test_three_objectives_agree_with_quadrature():
    front, reference = np.random.default_rng(0).uniform(size=(4, 3)), np.ones(3)
    mean, sd = np.full(3, 0.4), np.array([0.3, 0.2, 0.4])
    found = math.exp(acquisition(front, reference)(predict(mean, sd))[0]) * volume_unit(front, reference)
    assert found == pytest.approx(integrate(front, reference, mean, sd), rel=1e-8)


def test_two_objectives_agree_with_the_improvement_of_draws():
    """The integral above and the score share an idea; hypervolumes of draws do not."""
    front, reference = np.array([[0.0, 3.0], [1.0, 1.0], [3.0, 0.5]]), np.full(2, 4.0)
    drawn = np.random.default_rng(0).normal([1.0, 1.0], [0.7, 0.4], size=(2000, 2))
    gains = [hypervolume(np.vstack([front, z]), reference) for z in drawn] - np.float64(hypervolume(front, reference))
    found = math.exp(acquisition(front, reference)(predict((1.0, 1.0), (0.7, 0.4)))[0]) * volume_unit(front, reference)
    assert found == pytest.approx(np.mean(gains), abs=4.0 * np.std(gains) / math.sqrt(len(gains)))


def test_one_objective_is_log_expected_improvement():
    """In units of the distance between the best value and the reference; 40 sd away nothing underflows."""
    mean, sd = np.array([[0.0, 2.0, 40.0]]), np.array([[1.0, 0.5, 1.0]])
    prediction = Prediction(mean, sd**2)
    found = acquisition([[0.0], [1.0]], [3.0])([prediction])
    np.testing.assert_allclose(found + math.log(3.0), LogExpectedImprovement()(prediction, 0.0)[0], rtol=1e-12)


def test_nothing_underflows_far_behind_the_front():
    score = acquisition([[0.0, 1.0], [1.0, 0.0]], [2.0, 2.0])
    far = [score(predict((1.0 + z, 1.0 + z), (1.0, 1.0)))[0] for z in (10.0, 50.0, 1e3)]
    assert -np.inf < far[2] < far[1] < far[0] < -40.0


@settings(max_examples=40)
@given(st.integers(1, 3), st.integers(0, 2**31))
def test_laws_of_a_worth(k, seed):
    """Order of the front, units and places of the objectives change nothing; bounds bound; gradients are gradients."""
    generator = np.random.default_rng(seed)
    front, reference = generator.normal(size=(generator.integers(1, 7), k)), generator.normal(1.0, 1.0, size=k)
    predictions = [
        Prediction(generator.normal(size=(2, 5)), generator.uniform(0.01, 1.0, size=(2, 5))) for _ in range(k)
    ]
    score = acquisition(front, reference)
    worth, slopes = score.value_and_gradient(predictions)
    np.testing.assert_allclose(worth, score(predictions), rtol=1e-10)
    scale, shift = 4.0 ** generator.integers(-3, 4, size=k), generator.normal(size=k)
    moved = [Prediction(a * p.mean + b, a * a * p.variance) for p, a, b in zip(predictions, scale, shift, strict=True)]
    other = acquisition(generator.permutation(front) * scale + shift, reference * scale + shift)
    same_unit = np.any(np.all(front < reference, axis=1))  # without a front the score is a volume
    expected = worth + (0.0 if same_unit else np.log(scale).sum())
    np.testing.assert_allclose(other(moved), expected, rtol=1e-6, atol=1e-6)
    wider = [Prediction(p.mean - 0.3 * generator.random(p.mean.shape), 1.5 * p.variance) for p in predictions]
    assert np.all(score.upper_bounds(wider) >= worth)
    assert np.all(score.upper_bounds(predictions) >= score(predictions))
    for j, part in ((j, part) for j in range(k) for part in (0, 1)):
        near = []
        for step in (1e-5, -1e-5):
            changed = [list(p) for p in predictions]
            changed[j][part] = changed[j][part] + step * np.array([[1.0], [0.0]])
            near.append(score([Prediction(*p) for p in changed]))
        np.testing.assert_allclose((near[0] - near[1]) / 2e-5, slopes[j][part][0], rtol=1e-4, atol=1e-5)


def test_edges_closer_than_digits_can_tell_apart():
    """A side of 1e-12 sd is worth its length times the chance to be below it."""
    step = 1e-12
    score = acquisition([[0.0, 1.0], [step, 0.0]], [1.0, 2.0])
    apart = acquisition([[0.0, 1.0]], [1.0, 2.0])
    both, one = predict((0.5, 0.5), (1.0, 1.0)), predict((0.5, 0.5), (1.0, 1.0))
    assert score(both)[0] < apart(one)[0]
    assert np.isfinite(score.value_and_gradient(both)[1][0].mean).all()


def test_many_points_are_scored_as_one_by_one():
    generator = np.random.default_rng(1)
    score = acquisition(generator.normal(size=(20, 3)), np.full(3, 3.0))
    predictions = [Prediction(generator.normal(size=(1, 9000)), np.full((1, 9000), 0.3)) for _ in range(3)]
    alone = [
        score([Prediction(p.mean[:, i : i + 1], p.variance[:, i : i + 1]) for p in predictions]) for i in (0, 8999)
    ]
    np.testing.assert_allclose(score(predictions)[[0, 8999]], np.concatenate(alone), rtol=1e-12)


def test_slopes_are_finite_however_far_the_front_is():
    found = acquisition([[0.0, 1.0], [1.0, 0.0]], [2.0, 2.0])
    for far in (1e6, 1e9, 1e15):
        worth, slopes = found.value_and_gradient(predict((far, far), (1.0, 1e-3)))
        assert np.all(np.isfinite(worth))
        assert all(np.all(np.isfinite(part)) for one in slopes for part in one)
