"""Contamination control in a food supply chain: at each stage, prevent or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_integer, check_number
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.discrete import Binary
from bostruct.domains.space.space import Space
from bostruct.problems.base import (
    InitialPoints,
    SpaceProblem,
    bits,
    evaluate_in_chunks,
    prove_by_enumeration,
    seeds_of_case,
)

TAG = "2019ICML_CONTAMINATION"
SOURCE = "Hu et al. 2010; Baptista and Poloczek, ICML 2018; instances of Oh et al., NeurIPS 2019 (COMBO)"
SUPPLY_STAGES = 25
CONTAMINATION_SIMULATIONS = 100
CONTAMINATION_LIMIT = 0.1  # U: largest acceptable contaminated fraction
RISK = 0.05  # epsilon: acceptable frequency of exceeding it
PREVENTION_COST = 1.0  # cost of prevention at one stage
ENUMERATED_STAGES = 12
CONTAMINATION_CHUNK = 4096

# Minimizer and minima for the published lambdas, by enumeration of all 2^25 points.
OPTIMA = {
    758: ("1101101101101101110111010", {0.0: 21.35, 1e-4: 21.3517, 1e-2: 21.52}),
    1203: ("1101011011101101011010100", {0.0: 21.18, 1e-4: 21.1815, 1e-2: 21.33}),
    2539: ("0110110111011011010101100", {0.0: 21.19, 1e-4: 21.1915, 1e-2: 21.34}),
    6031: ("0101011011110110110110100", {0.0: 21.44, 1e-4: 21.4415, 1e-2: 21.59}),
    7596: ("0110110111011101011011100", {0.0: 21.02, 1e-4: 21.0216, 1e-2: 21.18}),
}


@dataclass(frozen=True, eq=False)
class Contamination:
    """Cost of prevention plus the excess frequency of exceeding the limit, summed over the stages.

    initial: contaminated fraction before the first stage in s simulations (s,).
    spread: rates of contamination without prevention (stages, s).
    cure: rates of restoration with prevention (stages, s).
    """

    initial: Array
    spread: Array
    cure: Array
    strength: float

    def __call__(self, vertices: IntArray) -> Array:
        return evaluate_in_chunks(self._values, vertices, CONTAMINATION_CHUNK)

    def _values(self, vertices: IntArray) -> Array:
        fraction = np.broadcast_to(self.initial, (len(vertices), len(self.initial)))
        acceptable = np.zeros(len(vertices), dtype=np.int64)  # counted, so that equal values are equal to the last bit
        for x, spread, cure in zip(vertices.T[:, :, None], self.spread, self.cure, strict=True):
            # Z_i = Lambda_i (1 - x_i)(1 - Z_{i-1}) + (1 - Gamma_i x_i) Z_{i-1}
            fraction = spread * (1 - x) * (1 - fraction) + (1 - cure * x) * fraction
            acceptable += np.count_nonzero(fraction < CONTAMINATION_LIMIT, axis=1)
        stages, simulations = self.spread.shape
        prevented = vertices.sum(axis=1)
        excess = (PREVENTION_COST * simulations * prevented - acceptable) / simulations
        return excess + (1 - RISK) * stages + self.strength * prevented


def contamination(case: int = 758, strength: float = 0.0, stages: int = SUPPLY_STAGES) -> SpaceProblem:
    """Return the problem of choosing which stages of a supply chain to protect, `stages` binary variables.

    case: seed of the instance, 0 to 2^32 - 1; published are 758, 1203, 2539, 6031 and 7596.
    strength: lambda, the penalty of each protected stage on top of its cost, from 0; published are 0, 1e-4 and 1e-2.
    stages: number of stages, 1 to 1000.

    Raises TypeError or ValueError.
    """
    case = check_integer("case", case, 0, 2**32 - 1)
    strength = check_number("lambda", strength, 0.0)
    stages = check_integer("stages", stages, 1, 1000)
    objective = Contamination(*_draw_rates(case, stages), strength)
    seeds = seeds_of_case(TAG, case)
    suffix = "" if stages == SUPPLY_STAGES else f",stages={stages}"
    optimal, values = OPTIMA.get(case, ("", {}))
    known = values.get(strength) if stages == SUPPLY_STAGES else None
    problem = SpaceProblem(
        name=f"contamination:case={case},lambda={strength:g}{suffix}",
        space=Space({f"stage {i + 1}": Binary() for i in range(stages)}),
        vertex_objective=objective,
        initial=InitialPoints(seeds, (2,) * stages),
        source=SOURCE,
        configs=tuple(seeds),
        optimum=known,
        optimum_source="not known" if known is None else "proved by enumeration of all 2^25 points",
        optimal_vertices=None if known is None else bits(optimal),
    )
    return prove_by_enumeration(problem) if stages <= ENUMERATED_STAGES else problem


def _draw_rates(case: int, stages: int) -> tuple[Array, Array, Array]:
    """Draw Z_0, Lambda and Gamma, each with a restarted generator, so that they share its stream, as published."""
    shapes = (
        (1, 30, (CONTAMINATION_SIMULATIONS,)),
        (1, 17 / 3, (stages, CONTAMINATION_SIMULATIONS)),
        (1, 3 / 7, (stages, CONTAMINATION_SIMULATIONS)),
    )
    initial, spread, cure = (np.random.RandomState(case).beta(a, b, size) for a, b, size in shapes)
    return initial, spread, cure
