"""Search for maxima of a score on mixed points: gradients for continuous coordinates, local search for the others."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from bostruct.acquisition.bounded_search import best
from bostruct.acquisition.local_search import MAX_NEIGHBORS, ascend, draw_with_neighbors
from bostruct.checks import check_integer, check_part, first_occurrences
from bostruct.contracts import (
    ADDED_LATER,
    Array,
    Batch,
    Info,
    LocalDomain,
    Maximizer,
    PointError,
    Polytope,
    Score,
    VariedValues,
    stored_as,
)

RETREATS = (0.5, 0.25, 0.125, 0.03, 0.0)  # shares of the way to an end that violates constraints
POLYTOPE_TOLERANCE = 1e-7  # change of the score at which a climb in a polytope ends


class Climbers(NamedTuple):
    """The points that climb, and their scores (m,)."""

    points: Batch
    scores: Array


@dataclass(frozen=True)
class MixedSearch(Maximizer):
    """Search for the maxima of a score that has gradients in the continuous coordinates of points.

    The best of many candidates and the best observed points climb in turns. A turn runs L-BFGS in the continuous
    coordinates, rounds its ends to the nearest points of the domain, and then steps from neighbor to neighbor in the
    other coordinates. The turns end if neighbors improve nothing. Another search may find the points that climb. If
    the score has no gradients, points climb from neighbor to neighbor in all coordinates.

    raw_samples: number of candidates sampled from the domain, at least 1.
    num_spray_points: number of candidates sampled from the neighbors of each given start, at least 0.
    num_restarts: number of the best candidates that climb, at least 1.
    incumbents: number of the given starts that also climb, at least 0.
    turns: maximum number of turns, at least 1.
    most_steps: maximum number of steps of L-BFGS in each turn, for all points together, at least 1.
    most: maximum number of neighbors scored in one turn, at least 1.
    neighbors: maximum number of neighbors of one point in a step, at least 1.
    begin: another search, whose best points climb instead of the best candidates; None for candidates.

    Raises TypeError, ValueError.
    """

    raw_samples: int = field(default=1_000, metadata=stored_as("random"))
    num_spray_points: int = field(default=200, metadata=stored_as("spray"))
    num_restarts: int = field(default=4, metadata=stored_as("ascents"))
    incumbents: int = 1
    turns: int = 3
    most_steps: int = 50
    most: int = 20_000
    neighbors: int = field(default=MAX_NEIGHBORS, metadata=ADDED_LATER)
    begin: Maximizer | None = field(default=None, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        for name in ("raw_samples", "num_restarts", "turns", "most_steps", "most", "neighbors"):
            check_integer(name, getattr(self, name), 1)
        for name in ("num_spray_points", "incumbents"):
            check_integer(name, getattr(self, name), 0)
        if self.begin is not None:
            check_part("begin", self.begin, Maximizer)

    def __call__(
        self, score: Score, domain: LocalDomain, starts: Batch, rng: np.random.Generator
    ) -> tuple[Batch, Info]:
        """Return the ends of the climbs, best first, each once, and the info to record."""
        found, begun = self._begin(score, domain, starts, rng)
        incumbents = domain.join(domain.take(starts, range(min(self.incumbents, len(starts)))))
        points = domain.join(found.points, incumbents)
        climbers = Climbers(points, np.concatenate([found.scores, score(incumbents)]))
        climbers, info = self._climb(score, domain, climbers, rng)
        order = np.argsort(-climbers.scores, kind="stable")
        ends = domain.take(climbers.points, order)
        best_score = float(climbers.scores[order[0]])
        return domain.take(ends, first_occurrences(domain, ends)), {**begun, **info, "best_score": best_score}

    def _begin(
        self, score: Score, domain: LocalDomain, starts: Batch, rng: np.random.Generator
    ) -> tuple[Climbers, Info]:
        """Return the points that climb in addition to the incumbents, and the info to record."""
        if self.begin is None:
            candidates = draw_with_neighbors(domain, self.raw_samples, self.num_spray_points, starts, rng)
            chosen, scores = best(score, domain, candidates, self.num_restarts)
            return Climbers(domain.take(candidates, chosen), scores), {"candidates": len(candidates)}
        ends, info = self.begin(score, domain, starts, rng)
        points = domain.join(domain.take(ends, range(min(self.num_restarts, len(ends)))))
        return Climbers(points, score(points)), info

    def _climb(
        self, score: Score, domain: LocalDomain, climbers: Climbers, rng: np.random.Generator
    ) -> tuple[Climbers, Info]:
        """Let points climb in turns; return their ends, and the info to record."""
        varied = score.input_vjp(climbers.points) if domain.n_continuous else None
        if varied is None:
            points, scores, steps = ascend(
                score, domain, *climbers, rng, large_steps=True, most=self.most, neighbors=self.neighbors
            )
            return Climbers(points, scores), {"steps": steps}
        turns = gradients = 0
        while varied is not None:
            climbers, calls = self._climb_by_gradient(score, varied, domain, climbers)
            points, scores, steps = ascend(
                score, domain, *climbers, rng, most=self.most, neighbors=self.neighbors, discrete=True
            )
            climbers, gradients, turns = Climbers(points, scores), gradients + calls, turns + 1
            continues = turns < self.turns and steps > 1  # a single step has improved nothing
            varied = score.input_vjp(points) if continues else None
        return climbers, {"turns": turns, "gradients": gradients}

    def _climb_by_gradient(
        self, score: Score, varied: VariedValues, domain: LocalDomain, climbers: Climbers
    ) -> tuple[Climbers, int]:
        """Move every point to the end of L-BFGS if that is better; return the points and the number of gradients."""
        begin = domain.shares(climbers.points)
        has = ~np.isnan(begin)  # coordinates that a point lacks do not climb
        if not has.any():
            return climbers, 0
        polytopes = domain.polytopes(climbers.points)
        if polytopes is not None:
            ends = [self._climb_in_polytope(score, domain, climbers, i, one) for i, one in enumerate(polytopes)]
            points = _move_coordinate(domain, climbers.points, begin, np.array([end for end, _ in ends]))
            return _keep_better(domain, climbers, points, score(points)), sum(calls for _, calls in ends)
        evaluations = 0

        def loss(flat: Array) -> tuple[float, Array]:
            nonlocal evaluations
            evaluations += 1
            values, gradient = varied(_replace(begin, has, flat))
            return -float(values.sum()), -gradient[has]

        start = begin[has]
        bounds = np.tile([0.0, 1.0], (start.size, 1))
        options = {"maxiter": self.most_steps, "maxfun": 2 * self.most_steps}
        found = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        points = _move_coordinate(domain, climbers.points, begin, _replace(begin, has, np.clip(found.x, 0.0, 1.0)))
        return _keep_better(domain, climbers, points, score(points)), evaluations

    def _climb_in_polytope(
        self, score: Score, domain: LocalDomain, climbers: Climbers, i: int, limits: Polytope
    ) -> tuple[Array, int]:
        """Return the shares at the end of sequential quadratic programming (c,), and the number of gradients.

        i: position of the point.
        limits: limits of the point's shares.
        """
        point = domain.take(climbers.points, [i])
        begin, varied = domain.shares(point), score.input_vjp(point)
        free = np.flatnonzero(~np.isnan(begin[0]) & (limits.high > limits.low))
        if varied is None or not len(free):
            return begin[0], 0
        rest = np.nan_to_num(begin[0])
        rest[free] = 0.0

        def loss(values: Array) -> tuple[float, Array]:
            shares = begin.copy()
            shares[0, free] = values
            found, gradient = varied(shares)
            return -float(found[0]), -gradient[0, free]

        constraints = []
        for kind, matrix, bound, sign in (
            ("eq", limits.equal, limits.total, 1.0),
            ("ineq", limits.upper, limits.limit, -1.0),
        ):
            if len(matrix):
                left, own = sign * (bound - matrix @ rest), sign * matrix[:, free]
                constraints.append({"type": kind, "fun": partial(_residual, own, left), "jac": partial(_jacobian, own)})
        bounds = np.column_stack([limits.low[free], limits.high[free]])
        options = {"maxiter": self.most_steps, "ftol": POLYTOPE_TOLERANCE}
        found = scipy.optimize.minimize(
            loss, begin[0, free], jac=True, method="SLSQP", bounds=bounds, constraints=constraints, options=options
        )
        end = begin[0].copy()
        if np.isfinite(found.x).all():
            end[free] = np.clip(found.x, limits.low[free], limits.high[free])
        return end, int(found.nfev)


def _residual(matrix: Array, bound: Array, values: Array) -> Array:
    return matrix @ values - bound


def _jacobian(matrix: Array, values: Array) -> Array:
    del values
    return matrix


def _keep_better(domain: LocalDomain, climbers: Climbers, points: Batch, scores: Array) -> Climbers:
    """Return each point after the climb if it is better, otherwise the point before."""
    better = np.flatnonzero(scores > climbers.scores)
    taken = np.arange(len(scores))
    taken[better] += len(scores)
    both = domain.join(climbers.points, points)
    return Climbers(domain.take(both, taken), np.maximum(scores, climbers.scores))


def _replace(shares: Array, has: npt.NDArray[np.bool_], values: Array) -> Array:
    """Return shares (m, c) with new values in the coordinates that points have."""
    replaced = shares.copy()
    replaced[has] = values
    return replaced


def _move_coordinate(domain: LocalDomain, points: Batch, begin: Array, end: Array) -> Batch:
    """Return each point with other shares if that is valid, else part of the way to them, or unchanged."""
    moved = domain.with_shares(points, end)
    for i in range(len(begin)):
        for part in RETREATS:
            with suppress(PointError):
                domain.check(moved[i])
                break
            ends = begin.copy()
            ends[i] += part * (end[i] - begin[i])
            one = domain.take(domain.with_shares(points, ends), [i])
            moved = domain.join(domain.take(moved, range(i)), one, domain.take(moved, range(i + 1, len(begin))))
    return moved
