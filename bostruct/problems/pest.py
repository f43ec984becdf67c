"""Pest control: at each of 25 stages nothing or one of four pesticides; noisy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from bostruct.checks import check_choice, check_integer
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.discrete import Categorical, Ordinal
from bostruct.domains.space.space import Space
from bostruct.problems.base import InitialPoints, SpaceProblem, published_initial_seeds

TAG = "2019ICML_PESTCONTROL"
SOURCE = "Oh et al., NeurIPS 2019 (COMBO)"
PEST_STAGES = 25
PEST_SIMULATIONS = 100
PEST_LIMIT = 0.1  # U: largest acceptable fraction of products with pests
PESTICIDE_PRICES = (1.0, 0.8, 0.7, 0.5)
DISCOUNT = (0.2, 0.3, 0.3, 0.0)  # largest discount, if the pesticide is used at all stages
EFFECT = (2 / 7, 3 / 7, 3 / 7, 5 / 7)  # initial second parameter of the Beta distribution: smaller is stronger
TOLERANCE = (1 / 7, 2.5 / 7, 2 / 7, 0.5 / 7)  # increase of that parameter if the pesticide is used at all stages
AnyGenerator: TypeAlias = np.random.Generator | np.random.RandomState  # the published values are from RandomState
GRAPHS = {"complete": Categorical, "path": Ordinal}


@dataclass(frozen=True)
class PestControl:
    """Price of the pesticides plus the share of simulations above the limit, summed over the stages.

    An instance is a function from actions (m, 25) to values (m,). The noise is a function of only the point and `seed`,
    so interrupted runs and runs with workers observe the same values as uninterrupted runs; evaluating a point again
    with the same seed gives the same value.

    Parameters
    ----------
    seed : int
        Seed of the noise, from 0.
    """

    seed: int

    def __call__(self, vertices: IntArray) -> Array:
        return np.array([simulate(row, np.random.default_rng([self.seed, *map(int, row)])) for row in vertices])


def simulate(row: IntArray, rng: AnyGenerator, n_simulations: int = PEST_SIMULATIONS) -> float:
    """Return one noisy value.

    Parameters
    ----------
    row : array of int, shape (25,)
        The action at each stage, from 0 (nothing) to 4.
    rng : Generator or RandomState
        Source of the noise; a `numpy.random.RandomState` gives the published values.
    n_simulations : int, default 100
        Number of simulations that the value averages.
    """
    fraction = rng.beta(1, 30, size=n_simulations)
    effect = list(EFFECT)
    used = np.bincount(row, minlength=len(PESTICIDE_PRICES) + 1)
    value = 0.0
    for action in map(int, row):
        value += float(np.mean(fraction > PEST_LIMIT))
        spread = rng.beta(1, 17 / 3, size=n_simulations)  # drawn even if it goes unused
        if action == 0:
            fraction = spread * (1 - fraction) + fraction
            continue
        pesticide = action - 1
        control = rng.beta(1, effect[pesticide], size=n_simulations)
        fraction = (1 - control) * fraction
        effect[pesticide] += TOLERANCE[pesticide] / PEST_STAGES
        value += PESTICIDE_PRICES[pesticide] * (1 - DISCOUNT[pesticide] / PEST_STAGES * float(used[action]))
    return value


def mean_value(vertices: IntArray, n_simulations: int) -> Array:
    """Estimate the mean of the objective over the noise (m,) from one fixed stream of simulations.

    Parameters
    ----------
    vertices : array of int, shape (m, 25)
        Points, as rows of actions.
    n_simulations : int
        Number of simulations for each point.
    """
    return np.array([simulate(row, np.random.default_rng(0), n_simulations) for row in vertices])


def pest(graph: str = "complete", noise_seed: int = 0) -> SpaceProblem:
    """Return the problem of choosing an action at each of 25 stages: 0 is nothing, 1 to 4 are pesticides.

    Its optimum is not known. Raises TypeError or ValueError.

    Parameters
    ----------
    graph : {"complete", "path"}, default "complete"
        Variables: `Categorical`, as in the paper, or `Ordinal`, as in the paper's code.
    noise_seed : int, default 0
        Seed of the noise, from 0.
    """
    variable = GRAPHS[check_choice("graph", graph, GRAPHS)]
    check_integer("noise_seed", noise_seed, 0)
    seeds = published_initial_seeds(TAG)
    return SpaceProblem(
        name=f"pest:graph={graph},noise_seed={noise_seed}",
        space=Space({f"stage {i + 1}": variable(range(len(PESTICIDE_PRICES) + 1)) for i in range(PEST_STAGES)}),
        vertex_objective=PestControl(noise_seed),
        initial=InitialPoints(seeds, (len(PESTICIDE_PRICES) + 1,) * PEST_STAGES),
        source=SOURCE,
        configs=tuple(seeds),
        mean=mean_value,
    )
