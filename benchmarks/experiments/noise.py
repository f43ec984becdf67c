"""Problems with new noise at each evaluation, and two without noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

import bostruct as bo
from benchmarks.experiments.instances import Instance, Measured
from benchmarks.noise_prior import make_noisy
from benchmarks.peers.tasks import Point, Value
from bostruct import problems
from bostruct.problems.contamination import Contamination, contamination
from bostruct.problems.pest import mean_value

SUPPLY_CASES = (758, 1203, 2539, 6031, 7596)  # the published instances
SIMULATIONS = 100  # simulations of a noisy value of contamination control
TRUE_SIMULATIONS = 2_000  # simulations of a value that counts as noise-free
SPREAD_POINTS = 200  # points from which the spread of the values is estimated
Draw = Callable[[int], Value]  # takes how often the point was evaluated before, returns the noisy values


def noisy_linear(seed: int, data: Path | None = None) -> Instance:
    """Make a linear function of 16 bits; half the variance of the values is noise.

    seed: seed of the weights and of the noise.
    data: unused.
    """
    del data
    task = make_noisy(16, 0, seed)
    return _with_noise(task.space, lambda occasion: make_noisy(16, 0, seed, occasion).value, task.truth)


def noisy_contamination(seed: int, data: Path | None = None) -> Instance:
    """Make contamination control with 100 new simulations at each evaluation.

    seed: selects one of the published instances of the initial points, and seeds the simulations.
    data: unused.
    """
    del data
    space = contamination(SUPPLY_CASES[seed % len(SUPPLY_CASES)]).space

    def value(rng: np.random.Generator, n: int, point: Point) -> float:
        return float(_simulate_supply(space.d, n, rng)(space.parse(point)[None])[0])

    true = _simulate_supply(space.d, TRUE_SIMULATIONS, np.random.default_rng([seed, 51]))

    def draw(occasion: int) -> Value:
        return lambda point: value(_seed_of(space, point, seed, occasion), SIMULATIONS, point)

    return _with_noise(space, draw, lambda point: float(true(space.parse(point)[None])[0]))


def _simulate_supply(stages: int, n: int, rng: np.random.Generator) -> Contamination:
    """Draw the rates of n simulations from the distributions of the published problem."""
    initial = rng.beta(1, 30, n)
    return Contamination(initial, rng.beta(1, 17 / 3, (stages, n)), rng.beta(1, 3 / 7, (stages, n)), 0.0)


def noisy_pest(seed: int, data: Path | None = None) -> Instance:
    """Make pest control with its own noise.

    seed: seed of the noise.
    data: unused.
    """
    del data
    space = problems.load("pest").space
    assert isinstance(space, bo.Space)

    def truth(point: Point) -> float:
        return float(mean_value(space.parse(point)[None], TRUE_SIMULATIONS)[0])

    return _with_noise(space, lambda occasion: problems.load(f"pest:noise_seed={seed + 1000 * occasion}"), truth)


def max3sat(sd: float, seed: int, data: Path | None = None) -> Instance:
    """Make Max-3-SAT of 28 variables and 140 clauses with normal noise.

    sd: standard deviation of the noise, as a share of that of the values of random points; 0 for no noise.
    seed: seed of the instance and of the noise.
    data: unused.
    """
    del data
    problem = problems.load(f"max3sat:variables=28,clauses=140,seed={seed},relabel={seed}")
    space = problem.space
    assert isinstance(space, bo.Space)
    xs = space.sample(SPREAD_POINTS, np.random.default_rng([seed, 52]))
    scale = sd * float(np.std([problem(space.present(x)) for x in xs]))

    def draw(occasion: int) -> Value:
        return lambda point: problem(point) + scale * float(_seed_of(space, point, seed, occasion).normal())

    return _with_noise(space, draw, problem)


def quiet_contamination(seed: int, data: Path | None = None) -> Instance:
    """Make contamination control as published, without noise.

    seed: selects one of the published instances.
    data: unused.
    """
    del data
    problem = contamination(SUPPLY_CASES[seed % len(SUPPLY_CASES)], 1e-4)
    return _with_noise(problem.space, lambda _: problem, problem)


def _with_noise(space: bo.Space, draw: Draw, truth: Value) -> Instance:
    """Make an instance in which the k-th evaluation of a point has the same noise in all searches, and each k its own.

    space: space of the points.
    draw: takes k, from 0, and returns the function that evaluates points for the k-th time.
    truth: returns the noise-free value of a point.
    """
    evaluated, values = Counter[object](), lru_cache(draw)

    def measure(point: Point) -> Measured:
        key = space.key(space.parse(point))
        evaluated[key] += 1
        return Measured((values(evaluated[key] - 1)(point),))

    return Instance(space, measure, truth=truth)


def _seed_of(space: bo.Space, point: Point, seed: int, occasion: int) -> np.random.Generator:
    return np.random.default_rng([seed, 53, occasion, *map(int, space.parse(point))])


NOISY = {
    "linear 16 noisy": noisy_linear,
    "contamination noisy": noisy_contamination,
    "pest noisy": noisy_pest,
    "max-3-sat 28 noisy": partial(max3sat, 0.5),
}
QUIET = {"max-3-sat 28 quiet": partial(max3sat, 0.0), "contamination quiet": quiet_contamination}
NOISE = NOISY | QUIET
TEXT = """\
A linear function of 16 bits; noise is half the variance of the values; contamination and pest control, whose
noise is that of their 100 simulations; Max-3-SAT of 28 variables with noise of half the spread of random points; and
two problems without noise. A point that is evaluated again gets new noise. **Recommended** is the noise-free value of
the point that a method recommends after the last trial: for `auto` and BoTorch the point with the best posterior mean,
for the others the best observed point, which **best observed** is for all."""
