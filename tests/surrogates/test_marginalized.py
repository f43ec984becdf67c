"""COMBO's surrogate: published starting values, the whole posterior, what a sweep costs."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Array, Kernel, NumericalError, Parameter
from bostruct.kernels.space.product import SpaceKernel
from bostruct.methods import combo
from bostruct.study.threads import ThreadLimit
from bostruct.surrogates.hyperparameters import Hyperparameters, Normal, ScalePriors
from bostruct.surrogates.marginalized import ChainData, ChainTally, MarginalizedGP, sweep
from bostruct.surrogates.slice_sampling import slice_update
from tests.surrogates.test_gaussian import GOLDEN_SPACE, GOLDEN_VALUES, kernel_of

# Oh et al. (2019)'s posterior for these data, by 400 independent Metropolis chains in double precision:
# log amplitude, mean, log noise, log edge weights of complete-2, path-3, complete-5. Mean, sd, Monte Carlo error.
DATA = "000 011 022 003 014 020 101 112 123 104 110 121"
DATA_POINTS = np.array([[int(c) for c in word] for word in DATA.split()])
DATA_VALUES = np.array([0.05, 0.45, 1.1, -0.9, 0.5, 1.05, 0.95, 1.5, 1.3, 0.9, 1.55, 1.95])
POSTERIOR = np.array(
    [
        [-0.351, 0.575, 0.007],
        [0.812, 0.285, 0.001],
        [-8.664, 2.409, 0.013],
        [-7.278, 3.346, 0.024],
        [-6.736, 3.719, 0.029],
        [-4.638, 4.138, 0.035],
    ]
)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work: threads that wait for each other cost these small matrices most of the time."""
    with ThreadLimit(1)():
        yield


def surrogate_of(space: bo.Space, **settings: Any) -> MarginalizedGP:
    surrogate = combo(space).surrogate
    assert isinstance(surrogate, MarginalizedGP)
    return dataclasses.replace(surrogate, **settings)


def test_published_starting_values():
    start = surrogate_of(GOLDEN_SPACE).start(GOLDEN_VALUES)
    assert start.mean == pytest.approx(0.15, abs=1e-7)
    assert start.log_amplitude == pytest.approx(-1.1101788, abs=1e-6)
    assert start.log_noise == pytest.approx(0.00015, abs=1e-9)
    np.testing.assert_array_equal(start.theta, 0.0)


def test_published_schedule():
    surrogate = surrogate_of(GOLDEN_SPACE)
    assert (surrogate.burn_in, surrogate.samples, surrogate.nugget) == (100, 10, 1e-6)
    assert not surrogate.shared_mean


def run(space: bo.Space, xs: Array, values: Array, sweeps: int, seed: int) -> Array:
    """All states of one chain, from the published start: (sweeps, 3 + d)."""
    surrogate, rng = surrogate_of(space), np.random.default_rng(seed)
    now = surrogate.start(values)
    kernel = kernel_of(space)
    data = ChainData(kernel, kernel.prepare(xs), values, surrogate.priors(values), surrogate.nugget)
    states = []
    for _ in range(sweeps):
        now = sweep(data, now, rng, ChainTally())
        states.append([now.log_amplitude, now.mean, now.log_noise, *now.theta])
    return np.array(states)


def assert_posterior(chains: int, sweeps: int, burn_in: int) -> None:
    """Means of independent chains agree with the known posterior within four of their joint standard errors."""
    states = [run(GOLDEN_SPACE, DATA_POINTS, DATA_VALUES, sweeps, seed)[burn_in:] for seed in range(chains)]
    means = np.array([chain.mean(axis=0) for chain in states])
    error = np.hypot(means.std(axis=0, ddof=1) / math.sqrt(chains), POSTERIOR[:, 2])
    assert np.all(np.abs(means.mean(axis=0) - POSTERIOR[:, 0]) < 4 * error)
    assert np.all(error < 0.2 * POSTERIOR[:, 1]), "too noisy a test to say anything"
    spread = np.concatenate(states).std(axis=0)
    np.testing.assert_allclose(spread, POSTERIOR[:, 1], rtol=0.15 if chains * sweeps < 4_000 else 0.08)


def test_whole_posterior():
    assert_posterior(chains=10, sweeps=240, burn_in=40)


@pytest.mark.slow
def test_whole_posterior_at_length():
    assert_posterior(chains=25, sweeps=600, burn_in=50)


def plain_sweep(space: bo.Space, xs: Array, values: Array, now: Hyperparameters, rng: np.random.Generator):
    """The published algorithm as straight as it is written: the whole density anew wherever it is asked for."""
    kernel, priors = kernel_of(space), surrogate_of(space).priors(values)
    prepared = kernel.prepare(xs)
    all_priors = [*priors, *[kernel.prior] * space.d]

    def log_density(packed: Array, k: int) -> float:
        prior = all_priors[k].log_density(packed[k])
        if prior == -math.inf:
            return prior
        covariance = math.exp(packed[1]) * (kernel.gram(packed[3:], prepared) + 1e-6 * np.eye(len(xs)))
        covariance += math.exp(packed[2]) * np.eye(len(xs))
        lower = np.linalg.cholesky(covariance)
        white = np.linalg.solve(lower, values - packed[0])
        evidence = -0.5 * white @ white - np.log(lower.diagonal()).sum() - 0.5 * len(xs) * math.log(2 * math.pi)
        return prior + float(evidence)

    packed = np.array([*now[:3], *now.theta])

    def update(k: int) -> None:
        def along(t: float) -> float:
            moved = packed.copy()
            moved[k] = t
            return log_density(moved, k)

        packed[k] = slice_update(along, float(packed[k]), rng).value

    for k in range(3):
        update(k)
    for i in rng.permutation(space.d):
        update(3 + int(i))
    return Hyperparameters(packed[0], packed[1], packed[2], packed[3:])


@pytest.mark.parametrize("n", [12, 100])
@pytest.mark.parametrize("kinds", [{"b": bool}, {"b": bool, "c": list("pqr"), "o": range(5)}, {"o": range(4)}])
def test_chain_is_that_of_the_plain_algorithm(n, kinds):
    """Every shortcut at once, draw by draw: quadratic in the mean, lines, Schur complements, remembered densities."""
    rng = np.random.default_rng(n)
    space = bo.Space({f"{name}{i}": kind for i in range(3) for name, kind in kinds.items()})
    xs = space.sample(n, rng)
    values = xs @ rng.normal(size=space.d) + 0.3 * rng.normal(size=n)
    surrogate, kernel = surrogate_of(space), kernel_of(space)
    data = ChainData(kernel, kernel.prepare(xs), values, surrogate.priors(values), surrogate.nugget)
    ours = plain = surrogate.start(values)
    ours_rng, plain_rng = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(4):
        ours = sweep(data, ours, ours_rng, ChainTally())
        plain = plain_sweep(space, xs, values, plain, plain_rng)
        np.testing.assert_allclose([*ours[:3], *ours.theta], [*plain[:3], *plain.theta], rtol=1e-6, atol=1e-6)
    assert ours_rng.random() == plain_rng.random()


class CountedKernel(Kernel):
    """The kernel of a space, which counts what is asked of it."""

    def __init__(self, space: bo.Space) -> None:
        self.kernel: SpaceKernel = kernel_of(space)
        self.calls: dict[str, int] = {"prepare": 0, "gram": 0, "line": 0, "along": 0}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.kernel.parameters

    def prepare(self, xs: Array, ys: Array | None = None) -> Any:
        self.calls["prepare"] += 1
        return self.kernel.prepare(xs, ys)

    def gram(self, theta: Array, prepared: Any) -> Array:
        self.calls["gram"] += 1
        return self.kernel.gram(theta, prepared)

    def diag(self, theta: Array, xs: Array) -> Array:
        return self.kernel.diag(theta, xs)

    def line(self, theta: Array, i: int, prepared: Any, gram: Array | None = None) -> Any:
        self.calls["line"] += 1
        along = self.kernel.line(theta, i, prepared, gram)

        def counted(t: float) -> Array:
            self.calls["along"] += 1
            return along(t)

        return counted


def test_a_sweep_prepares_nothing_and_asks_for_one_line_a_coordinate():
    space = bo.Space({f"x{i}": bool for i in range(9)} | {"o": range(4)})
    rng = np.random.default_rng(0)
    xs = space.sample(15, rng)
    values = rng.normal(size=15)
    kernel = CountedKernel(space)
    surrogate = surrogate_of(space, kernel=kernel, burn_in=6, samples=4)
    posterior, state, info = surrogate.condition(xs, values, None, rng)
    assert info["sweeps"] == 10
    assert kernel.calls["line"] == 10 * space.d
    assert kernel.calls["gram"] == 10 + 4  # one a sweep, one a sample kept
    assert kernel.calls["prepare"] == 1  # for the chain and the samples kept
    assert kernel.calls["along"] <= info["likelihoods"] + kernel.calls["line"]
    assert len(posterior.samples) == 4
    before = dict(kernel.calls)
    info = surrogate.condition(xs, values, json.loads(json.dumps(state)), rng)[2]
    assert info["sweeps"] == 4  # no burn-in where the chain carries over
    assert kernel.calls["line"] - before["line"] == 4 * space.d


def test_a_carried_chain_is_the_uninterrupted_chain():
    rng = np.random.default_rng(2)
    space = bo.Space({f"x{i}": bool for i in range(4)})
    xs = space.enumerate()[:9]
    values = rng.normal(size=9)
    once, twice = np.random.default_rng(5), np.random.default_rng(5)
    _, long, _ = surrogate_of(space, burn_in=3, samples=4).condition(xs, values, None, once)
    short = surrogate_of(space, burn_in=3, samples=2)
    state = short.condition(xs, values, None, twice)[1]
    assert json.loads(json.dumps(short.condition(xs, values, state, twice)[1])) == long


def test_each_sample_has_its_own_mean_unless_told_to_share_the_last():
    space = bo.Space({f"x{i}": bool for i in range(4)})
    xs = space.enumerate()[:9]
    values = np.random.default_rng(3).normal(size=9)
    own, shared = (
        surrogate_of(space, burn_in=5, shared_mean=choice).condition(xs, values, None, np.random.default_rng(4))
        for choice in (False, True)
    )
    means = [one.hyper.mean for one in own[0].samples]
    assert len(set(means)) > 1
    assert [one.hyper.mean for one in shared[0].samples] == [means[-1]] * 10
    assert shared[1] == own[1]
    for one in shared[0].samples:
        expected = one.whitener.T @ (one.whitener @ (values - means[-1]))
        np.testing.assert_allclose(one.weights, expected, atol=1e-12)


def test_start_lies_in_the_support_of_every_prior():
    """Even where the mean of equal values is not one of them, by rounding, or values are on an absurd scale."""
    space = bo.Space({"a": bool, "b": range(3)})
    for values in (np.full(3, 0.1), np.array([1e12, -1e12, 0.0]), np.array([1e-12, 0.0, 0.0]), np.full(3, -1e30)):
        surrogate = surrogate_of(space)
        start = surrogate.start(values)
        priors = surrogate.priors(values)
        for prior, value in zip(priors, start[:3], strict=True):
            assert math.isfinite(prior.log_density(value))


def test_values_whose_variance_is_infinite_are_refused_with_a_reason():
    space = bo.Space({"a": bool, "b": bool})
    with pytest.raises(NumericalError, match="values: expected magnitudes"):
        surrogate_of(space).condition(space.enumerate()[:2], np.array([0.0, 1e300]), None, np.random.default_rng(0))


class FailingKernel(CountedKernel):
    """The kernel of a space, whose Gram matrix is no number at some of the values of theta that a slice proposes."""

    def __init__(self, space: bo.Space, fails: Callable[[float], bool]) -> None:
        super().__init__(space)
        self.fails, self.failures = fails, 0

    def line(self, theta: Array, i: int, prepared: Any, gram: Array | None = None) -> Any:
        along = super().line(theta, i, prepared, gram)

        def broken(t: float) -> Array:
            if not self.fails(t):
                return along(t)
            self.failures += 1
            return np.full_like(along(t), np.nan)

        return broken


def test_a_proposal_whose_matrix_cannot_be_factored_has_no_density():
    """The chain goes on, and is the chain of a prior that ends where the matrices do."""
    space = bo.Space({f"x{i}": bool for i in range(4)} | {"o": range(4)})
    rng = np.random.default_rng(0)
    xs = space.sample(15, rng)
    values = xs @ rng.normal(size=space.d)
    kernel = FailingKernel(space, lambda t: t > 0.7)
    state, info = surrogate_of(space, kernel=kernel, burn_in=5).condition(xs, values, None, rng)[1:]
    assert kernel.failures > 20
    assert info["sweeps"] == 15
    assert max(state[3]) <= 0.7
    carried = surrogate_of(space, kernel=kernel).condition(xs, values, state, rng)[1]
    assert carried != state


def test_a_chain_leaves_a_place_that_new_points_spoil():
    space = bo.Space({f"x{i}": bool for i in range(4)})
    xs, rng = space.enumerate()[:9], np.random.default_rng(0)
    values = rng.normal(size=9)

    class Spoiled(CountedKernel):
        """No number at the theta that the chain begins with."""

        def gram(self, theta: Array, prepared: Any) -> Array:
            found = super().gram(theta, prepared)
            return np.full_like(found, np.nan) if np.all(theta == 0.25) else found

        def line(self, theta: Array, i: int, prepared: Any, gram: Array | None = None) -> Any:
            return self.kernel.line(theta, i, prepared, None if gram is None or np.isnan(gram).any() else gram)

    surrogate = surrogate_of(space, kernel=Spoiled(space))
    posterior, state, _ = surrogate.condition(xs, values, [0.0, 0.0, -2.0, [0.25] * 4], rng)
    assert np.all(np.isfinite(posterior.predict(xs).mean))
    assert state[3] != [0.25] * 4


@pytest.mark.parametrize("sd", [1e2, 1e6])
def test_wide_priors_overflow_nothing(sd):
    wide = ScalePriors(Normal(0.0, sd), Normal(0.0, sd), Normal(0.0, sd))
    surrogate, rng = surrogate_of(GOLDEN_SPACE, priors=lambda _: wide), np.random.default_rng(0)
    posterior = surrogate.condition(GOLDEN_SPACE.sample(10, rng), rng.normal(size=10), surrogate.initial_state(), rng)[
        0
    ]
    for one in posterior.samples:
        spread = np.logaddexp(one.hyper.log_noise, one.hyper.log_amplitude)
        assert -3.0 < spread < 3.0, "noise and amplitude together explain values of variance 1"
