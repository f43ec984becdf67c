"""The kernels of mixtures: their laws, what they find alike, and that the data weigh shares against ratios."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.domains.space.mixture import Allocation, Mixture
from bostruct.kernels.space.mixture import MixtureEffect, MixtureFactor, MixtureFeatures
from bostruct.kernels.space.registry import main_effects
from bostruct.methods.defaults import space_kernel
from bostruct.surrogates.hyperparameters import Normal
from bostruct.surrogates.map_gp import MAPGP
from bostruct.testing import check_factor, check_kernel

VARIABLES = [Mixture(list("abc")), Mixture(list("abcde"), max_parts=2, min_share=0.1), Allocation(list("abc"), 7)]


@pytest.mark.parametrize("variable", VARIABLES, ids=repr)
def test_the_factor_obeys_its_law(variable):
    rng = np.random.default_rng(0)
    xs = np.hstack([variable.sample(8, rng), variable.sample(8, rng)])
    check_factor(MixtureFactor(MixtureFeatures.of(variable), 2), xs, rng)


@pytest.mark.parametrize("variable", VARIABLES, ids=repr)
def test_the_kernels_of_a_space_obey_their_law(variable):
    space = bo.Space({"m": variable, "k": ["x", "y", "z"], "r": bo.Real(0, 1), "n": variable})
    check_kernel(space_kernel(space), space, np.random.default_rng(0))
    check_kernel(main_effects(space), space, np.random.default_rng(0))


def test_gradients_are_those_of_two_mixtures_beside_a_number():
    """The pullback of a product with two mixtures, against differences along one share."""
    space = bo.Space({"m": VARIABLES[0], "r": bo.Real(0, 1), "n": VARIABLES[0]})
    xs, kernel = space.sample(5, np.random.default_rng(0)), space_kernel(space)
    theta = np.full(sum(one.size for one in kernel.parameters), -0.3)
    varied, shares = kernel.input_vjp(theta, xs, xs), space.shares(xs)
    gram, pull = varied(shares)
    assert_allclose(gram, kernel.gram(theta, kernel.prepare(xs)), atol=1e-12)
    for k in range(shares.shape[1]):
        step = np.zeros_like(shares)
        step[:, k] = 1e-6
        numeric = (varied(shares + step)[0] - varied(shares - step)[0]).sum(axis=1) / 2e-6
        assert_allclose(pull(np.ones_like(gram))[:, k], numeric, rtol=1e-5, atol=1e-6)


def test_equal_shares_are_alike_and_a_part_of_nothing_is_far_by_its_ratio():
    features = MixtureFeatures.of(VARIABLES[0])
    near, none, some = np.array([[499, 499, 2], [500, 500, 0], [480, 480, 40]]) * 10**6
    effect = MixtureEffect(features)
    assert effect.gram(near[None], near[None])[0, 0] == pytest.approx(1.0)
    shares, logs = np.split(np.abs(features.encode(near[None]) - features.encode(none[None]))[0], 2)
    assert shares[2] < 0.01
    assert logs[2] > 20 * shares[2]
    assert np.abs(features.encode(some[None]) - features.encode(near[None]))[0, 2] > shares[2]


@pytest.mark.parametrize(("response", "place"), [("shares", 0), ("ratios", 4)])
def test_the_data_say_whether_shares_or_ratios_count(response, place):
    """The fitted lengthscale of the feature that matters is the shorter one."""
    space, rng = bo.Space({"m": Mixture(list("abcd"))}), np.random.default_rng(0)
    xs = space.sample(60, rng)
    first = space.shares(xs)[:, 0]
    ys = np.sin(8.0 * first) if response == "shares" else np.sin(1.5 * np.log(first + 0.0025))
    model = MAPGP(space_kernel(space), space.join, Normal(-5.0, 1.0), -5.0)
    _, packed, _ = model.condition(xs, (ys - ys.mean()) / ys.std(), None, rng)
    fitted = np.array(packed)[-8:]
    assert fitted[place] < fitted[4 - place] - 0.5
