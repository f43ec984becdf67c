"""Failures by single causes: what a noisy-OR learns of them, and when it counts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

import bostruct as bo
from bostruct.domains.space.steps import find_steps
from bostruct.methods.auto import for_space
from bostruct.surrogates.noisy_or import NoisyOr, fit_causes, score_left_out

LETTERS = "ABCDEF"
BANNED = {"AC", "CE", "FB", "DD"}


def breaks_a_rule(text):
    return any(text[i : i + 2] in BANNED for i in range(len(text)))


def draw(n, fails, length=10):
    space = bo.Space({"s": bo.Sequence(LETTERS, length)})
    xs = space.sample(n, np.random.default_rng(0))
    return space, xs, np.array([float(not fails(space.present(x)["s"])) for x in xs])


def test_banned_steps_are_told_from_others():
    space, xs, labels = draw(120, breaks_a_rule)
    steps = find_steps(space.variables)
    fitted = fit_causes(steps(xs), labels < 0.5, steps.n_kinds)
    numbers = [LETTERS.index(a) * len(LETTERS) + LETTERS.index(b) for a, b in BANNED]
    harm = -np.expm1(fitted.log_safe)
    assert harm[numbers].min() > 0.8
    assert np.delete(harm, numbers).max() < 0.3
    assert np.exp(fitted.leak) > 0.98


def test_what_succeeded_does_no_harm_and_the_rest_is_a_leak():
    causes, failed = np.array([[0, 1], [0, 1], [0, -1], [2, -1]]), np.array([False, True, True, True])
    fitted = fit_causes(causes, failed, 4)
    assert fitted.log_safe[[0, 1, -1]].tolist() == [0.0, 0.0, 0.0]
    assert fitted.log_safe[2] < fitted.log_safe[3] < 0.0
    assert 0.2 < np.exp(fitted.leak) < 0.6


def condition(space, xs, labels):
    steps, smooth = find_steps(space.variables), for_space(bo.Space({"s": bo.Sequence(LETTERS, 10)})).score.surrogate
    return NoisyOr(smooth.surrogate, steps, steps.n_kinds).condition(xs, labels, None, np.random.default_rng(0))


def test_it_counts_where_steps_make_points_fail():
    space, xs, labels = draw(150, breaks_a_rule)
    posterior, _, info = condition(space, xs[:100], labels[:100])
    assert info["noisy_or"] > 0.99
    right = (posterior.predict(xs[100:]).mean[0] > 0.5) == (labels[100:] > 0.5)
    assert right.mean() >= 0.95
    assert_allclose(posterior.believe(xs[:2]).predict(xs).mean, posterior.predict(xs).mean, atol=0.05)


def test_it_does_not_count_where_something_else_does():
    space, xs, labels = draw(100, lambda text: text[4] in "ABC")
    posterior, _, info = condition(space, xs, labels)
    assert info["noisy_or"] < 0.05
    alone = posterior.labels.predict(xs)
    assert_allclose(posterior.predict(xs).mean > 0.5, alone.mean > 0.5)


def test_labels_left_out_are_scored_as_by_fits_without_them():
    """The hyperparameters stay, so that the mean of the process does, too."""
    space, xs, labels = draw(12, breaks_a_rule, 4)
    smooth = for_space(space).score.surrogate.surrogate
    posterior, _, _ = smooth.condition(xs, labels, None, np.random.default_rng(0))
    (one,) = posterior.members
    gram = np.linalg.inv(one.whitener.T @ one.whitener)
    standard, expected = (labels - posterior.shift) / posterior.scale - one.hyper.mean, []
    for i in range(len(xs)):
        rest = np.delete(np.arange(len(xs)), i)
        gain = np.linalg.solve(gram[np.ix_(rest, rest)], gram[rest, i])
        mean = posterior.shift + posterior.scale * (one.hyper.mean + gain @ standard[rest])
        variance = posterior.scale**2 * (gram[i, i] - gain @ gram[rest, i] - np.exp(one.hyper.log_noise))
        chance = np.clip(norm.cdf((mean - 0.5) / np.sqrt(variance)), 0.01, 0.99)
        expected.append(np.log(chance if labels[i] else 1.0 - chance))
    assert score_left_out(posterior) == pytest.approx(np.mean(expected), abs=1e-6)
