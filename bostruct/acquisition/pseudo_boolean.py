"""Minimizers of a polynomial in indicators of choices: annealing, and the semidefinite relaxation of order two.

Both return candidate points, best first, so that a caller can take the best unevaluated point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_integer, check_number
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.space import Space
from bostruct.surrogates.horseshoe import Polynomial


@dataclass(frozen=True)
class SimulatedAnnealing:
    """Simulated annealing of a polynomial: chains in lockstep, Metropolis acceptance, geometric cooling.

    Chains start at random points and propose a change of one variable in each step.

    chains: number of chains, at least 1; five, as published.
    steps: number of steps of each chain for each variable, at least 1.
    hottest, coldest: temperatures, above 0, in standard deviations of the values (published: 1, times 0.8 per step).

    Raises TypeError, ValueError.
    """

    chains: int = 5
    steps: int = 20
    hottest: float = 1.0
    coldest: float = 1e-3

    def __post_init__(self) -> None:
        check_integer("chains", self.chains, 1)
        check_integer("steps", self.steps, 1)
        check_number("hottest", self.hottest, above=0.0)
        check_number("coldest", self.coldest, high=self.hottest, above=0.0)

    def __call__(self, objective: Polynomial, space: Space, rng: np.random.Generator) -> IntArray:
        """Return candidates for the minimum, best first."""
        xs = space.sample(self.chains, rng)
        energy = objective(xs)
        visited, energies = [xs], [energy]
        d, n = xs.shape[1], self.steps * xs.shape[1]
        cooling = math.log(self.coldest / self.hottest) / max(n - 1, 1)
        rows = np.arange(self.chains)
        for step in range(n):
            which = rng.integers(d, size=self.chains)
            proposals = xs.copy()
            shift = rng.integers(1, np.maximum(space.n_choices[which], 2))
            proposals[rows, which] = (xs[rows, which] + shift) % space.n_choices[which]
            proposed = objective(proposals)
            temperature = self.hottest * math.exp(cooling * step)
            accepted = rng.random(self.chains) < np.exp(np.minimum((energy - proposed) / temperature, 0.0))
            accepted[accepted] = feasible_mask(space, proposals[accepted])  # predicates may be slow
            if accepted.any():
                xs, energy = np.where(accepted[:, None], proposals, xs), np.where(accepted, proposed, energy)
                visited.append(proposals[accepted])
                energies.append(proposed[accepted])
        return rank_distinct(np.concatenate(visited), np.concatenate(energies))


@dataclass(frozen=True)
class SemidefiniteRelaxation:
    """The semidefinite relaxation: unit vectors for signs, cut by random planes (Goemans and Williamson 1995).

    The relaxation is solved over vectors whose dimension is above the square root of twice their number, one vector at
    a time, which reaches the optimum (Burer and Monteiro 2003; Wang, Chang and Kolter 2017). A variable with more than
    two choices has a vector for each choice, and a penalty unless exactly one is chosen. It takes the choice whose
    vector extends furthest along the normal of the plane.

    roundings: number of planes, at least 1; 100 as published.
    sweeps: maximum number of sweeps over the vectors, at least 1.

    Raises TypeError, ValueError.
    """

    roundings: int = 100
    sweeps: int = 200

    def __post_init__(self) -> None:
        check_integer("roundings", self.roundings, 1)
        check_integer("sweeps", self.sweeps, 1)

    def __call__(self, objective: Polynomial, space: Space, rng: np.random.Generator) -> IntArray:
        """Return candidates for the minimum, best first; none if no candidate satisfies the constraints."""
        vectors, _ = solve_relaxation(*penalize(objective), self.sweeps, rng)
        along = vectors @ rng.standard_normal((vectors.shape[1], self.roundings))
        signed = along[1:] * np.sign(along[0])
        xs = np.stack(
            [
                np.argmax(signed[c.start : c.stop], axis=0) if len(c) > 1 else signed[c].sum(axis=0) > 0.0
                for c in objective.columns  # a variable with one choice has no column
            ],
            axis=1,
        ).astype(np.int64)
        xs = xs[feasible_mask(space, xs)]
        return rank_distinct(xs, objective(xs)) if len(xs) else xs


def penalize(objective: Polynomial) -> tuple[Array, Array]:
    """Return the quadratic form with a penalty unless exactly one choice is made, larger than any possible gain.

    Returns the linear coefficients (D,), and the symmetric coefficients of pairs (D, D).
    """
    linear, pairs = objective.quadratic()
    linear, pairs = linear.copy(), pairs.copy()
    for columns in objective.columns:
        if len(columns) > 1:
            own = slice(columns.start, columns.stop)
            weight = float(np.max(np.abs(linear[own]) + 2.0 * np.abs(pairs[own]).sum(axis=1)))
            linear[own] -= weight
            pairs[own, own] += weight * (1.0 - np.eye(len(columns)))
    return linear, pairs


def solve_relaxation(linear: Array, pairs: Array, sweeps: int, rng: np.random.Generator) -> tuple[Array, float]:
    """Solve the relaxation of the minimum of linear . z + z' pairs z over z in {0, 1}^D, with z = (1 + s) / 2.

    sweeps: maximum number of sweeps over the vectors.

    Returns unit vectors (D + 1, k), the first for the constant sign, and the relaxation's value, a lower bound.
    """
    n = len(linear) + 1
    form = np.zeros((n, n))
    form[1:, 1:] = pairs / 4.0
    form[0, 1:] = form[1:, 0] = (linear / 2.0 + pairs.sum(axis=1) / 2.0) / 2.0
    constant = 0.5 * float(linear.sum()) + 0.25 * float(pairs.sum())
    vectors = rng.standard_normal((n, math.ceil(math.sqrt(2.0 * n)) + 1))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    value = math.inf
    for _ in range(sweeps):
        for i in range(n):
            pull = form[i] @ vectors
            if (length := math.sqrt(float(pull @ pull))) > 0.0:
                vectors[i] = -pull / length
        before, value = value, float(np.sum((form @ vectors) * vectors))
        if before - value <= 1e-7 * max(abs(value), 1e-300):
            break
    return vectors, constant + value


def feasible_mask(space: Space, xs: IntArray) -> npt.NDArray[np.bool_]:
    """Return a mask of the points that satisfy all constraints (m,)."""
    if not space.constraints:
        return np.ones(len(xs), dtype=bool)
    return space.count_satisfied_constraints(xs) == len(space.constraints)


def rank_distinct(xs: IntArray, energies: Array) -> IntArray:
    """Return the distinct points, lowest energy first.

    energies: energies of the points (m,).
    """
    _, first = np.unique(xs, axis=0, return_index=True)
    return xs[first[np.argsort(energies[first], kind="stable")]]
