"""Orders of points by several objectives and limits: non-dominated and constrained ranks, crowding, and hypervolumes.

Shapes: n points, k objectives, c limits. Objectives are minimized. The violation of a limit is at most 0 if the limit
is satisfied; a point is feasible if it satisfies all limits.
"""

from __future__ import annotations

import math
from bisect import bisect_right

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray

REFERENCE_MARGIN = 0.1  # of the range of the non-dominated points, as in BoTorch's infer_reference_point
FAR = 3.0  # violation beyond which a constrained rank grows with its logarithm
SPACINGS = 4.0  # the smallest margin, in spacings of floats at the worst point
LARGEST = float(np.finfo(np.float64).max)


def is_feasible(violations: Array) -> npt.NDArray[np.bool_]:
    """Return which points satisfy all constraints (n,), bool.

    violations: (n, c).
    """
    return np.all(violations <= 0.0, axis=1)


def measure_violations(violations: Array) -> Array:
    """Return the total violation of each point (n,), 0 if the point is feasible.

    It is the sum of the positive violations, each divided by the median positive violation of its limit. So the units
    of limits do not matter, and one extreme violation does not hide the others.

    violations: (n, c), finite.
    """
    total = np.zeros(len(violations))
    for violation in violations.T:
        broken = violation > 0.0
        if broken.any():
            with np.errstate(over="ignore"):
                total[broken] += violation[broken] / min(np.median(violation[broken]), LARGEST)
    return np.minimum(total, LARGEST)


def rank_nondominated(objectives: Array, violations: Array) -> IntArray:
    """Return the rank of each point by constrained domination (n,), from 0: no point dominates points of rank 0.

    A feasible point dominates an infeasible point. Between two infeasible points, the smaller violation dominates.
    Between two feasible points, a point dominates if it is worse in no objective and better in some. The rank of a
    point is the length of the longest chain of points that dominate it, each of which dominates the next.

    objectives: (n, k), k at least 1, finite.
    violations: (n, c), finite; c may be 0.

    Source: Deb et al. 2002 (NSGA-II), definition 1 and section III-A.
    """
    feasible = is_feasible(violations)
    ranks = np.empty(len(objectives), dtype=np.int64)
    ranks[feasible] = _rank_feasible(objectives[feasible])
    beyond = int(ranks[feasible].max()) + 1 if feasible.any() else 0
    ranks[~feasible] = beyond + _positions(measure_violations(violations[~feasible]))
    return ranks


def _positions(values: Array) -> IntArray:
    """Return the position of each value among the distinct values, from 0 (n,)."""
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _rank_feasible(objectives: Array) -> IntArray:
    """Return the non-dominated rank of each point (n,); equal points have equal ranks."""
    distinct, inverse = np.unique(objectives, axis=0, return_inverse=True)  # sorted: no row dominates an earlier row
    ranks = _rank_pairs(distinct) if distinct.shape[1] == 2 else _rank_ordered(distinct)
    return ranks[inverse.reshape(-1)]


def _rank_pairs(distinct: Array) -> IntArray:
    """Return the ranks of distinct pairs in lexicographic order (n,), by patience sorting of the second numbers."""
    last: list[float] = []  # the smallest second number of each rank so far; ascending
    ranks = np.empty(len(distinct), dtype=np.int64)
    for i, second in enumerate(distinct[:, 1].tolist()):
        rank = bisect_right(last, second)
        last[rank : rank + 1] = [second]
        ranks[i] = rank
    return ranks


def _rank_ordered(distinct: Array) -> IntArray:
    """Return the ranks of distinct rows in lexicographic order (n,): one more than the largest dominating rank."""
    columns = [np.ascontiguousarray(column) for column in distinct.T[1:]]
    above = np.zeros(len(distinct), dtype=np.int64)  # the rank plus 1 of the rows so far
    for i in range(len(distinct)):
        dominates = np.ones(i, dtype=np.bool_)
        for column in columns:
            dominates &= column[:i] <= column[i]
        above[i] = 1 + int((above[:i] * dominates).max(initial=0))
    return above - 1


def find_nondominated(objectives: Array) -> IntArray:
    """Return the positions of the non-dominated points, ascending, including all of several equal points.

    objectives: (n, k), of feasible points.
    """
    return np.flatnonzero(_rank_feasible(objectives) == 0)


def extend_front(front: Array, x: Array) -> Array:
    """Return a front extended by a point: the same array if the front contains or dominates the point.

    front: (n, k), distinct points that do not dominate each other.
    x: (k,).
    """
    if (front <= x).all(axis=1).any():
        return front
    return np.vstack([front[~(x <= front).all(axis=1)], x])


def crowding_distances(objectives: Array) -> Array:
    """Return the distance between the neighbors of each point of one front (n,), summed over objectives.

    The neighbors are the next smaller and the next larger value of an objective, in units of its range. The extremes
    of an objective have an infinite distance. Points that share a value share its neighbors.

    objectives: (n, k), finite.

    Source: Deb et al. 2002, section III-B.
    """
    total = np.zeros(len(objectives))
    for column in objectives.T:
        values, inverse = np.unique(column, return_inverse=True)
        gaps = np.full(len(values), np.inf)
        if len(values) > 2:
            half = 0.5 * values  # the range of the largest floats is not finite
            gaps[1:-1] = (half[2:] - half[:-2]) / (half[-1] - half[0])
        total += gaps[inverse.reshape(-1)]
    return total


def choose_spread(front: Array, most: int) -> Array:
    """Return a subset of the points of a front that covers it: the points with the largest crowding distances.

    front: (n, k), non-dominated points.
    most: the largest number of points, at least 1.
    """
    if len(front) <= most:
        return front
    return front[np.argsort(-crowding_distances(front), kind="stable")[:most]]


def constrained_rank(objectives: Array, violations: Array) -> Array:
    """Return one value to minimize for each point (n,), which orders the points by objectives and limits.

    With one objective (Deb 2000), feasible points have their value. Infeasible points have the largest value of a
    feasible point plus their violation, in units of the range of feasible values. Beyond 3, a violation z counts as
    3 + log(1 + z - 3), so that a huge violation does not set the scale of a model. With several objectives (Deb et al.
    2002), each point has its position in NSGA-II's order, by rank and then by crowding distance, from 0; equal points
    share the first position. A feasible point always comes before an infeasible point.

    objectives: (n, k), k at least 1, finite.
    violations: (n, c), finite.
    """
    feasible = is_feasible(violations)
    if objectives.shape[1] == 1:
        return _penalize(objectives[:, 0], measure_violations(violations), feasible)
    ranks = rank_nondominated(objectives, violations)
    crowding = np.zeros(len(ranks))
    for rank in range(int(ranks[feasible].max()) + 1 if feasible.any() else 0):
        front = np.flatnonzero(ranks == rank)
        crowding[front] = crowding_distances(objectives[front])
    _, inverse, counts = np.unique(np.stack([ranks, -crowding]), axis=1, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts)[inverse.reshape(-1)].astype(np.float64)


def _penalize(values: Array, violations: Array, feasible: npt.NDArray[np.bool_]) -> Array:
    """Return the values of feasible points, and larger values for the infeasible points (n,)."""
    violations = np.where(violations > FAR, FAR + np.log1p(np.maximum(violations - FAR, 0.0)), violations)
    if not feasible.any():
        return violations
    values = np.minimum(values, np.nextafter(LARGEST, 0.0))  # so that a larger finite float exists
    worst, best = float(values[feasible].max()), float(values[feasible].min())
    scale = worst - best if 0.0 < worst - best < np.inf else 1.0
    with np.errstate(over="ignore"):
        penalized = np.maximum(worst + scale * violations, np.nextafter(worst, np.inf))
    return np.where(feasible, values, np.minimum(penalized, LARGEST))


def hypervolume(front: Array, reference: Array) -> float:
    """Return the volume that points dominate up to a reference point, infinity if it exceeds the largest float.

    front: (n, k); points that are dominated, or not below the reference in each objective, add nothing.
    reference: (k,).

    Source: While et al. 2012 (WFG), the sum of the exclusive volumes of the points in order of the last objective.
    """
    front = _minimal_rows(front[np.all(front < reference, axis=1)])
    if not len(front):
        return 0.0
    if front.shape[1] == 1:
        return float(reference[0] - front[0, 0])
    if front.shape[1] == 2:
        above = np.concatenate([[reference[1]], front[:-1, 1]])
        return float(np.sum((reference[0] - front[:, 0]) * (above - front[:, 1])))
    order = front[np.argsort(-front[:, -1], kind="stable")]  # later points extend at least as far in the last objective
    heights, flat, corner = reference[-1] - order[:, -1], order[:, :-1], reference[:-1]
    exclusive = [exclusive_volume(x, flat[i:], corner) for i, x in enumerate(flat, 1)]
    with np.errstate(over="ignore"):
        return float(heights @ exclusive)


def exclusive_volume(x: Array, front: Array, reference: Array) -> float:
    """Return the volume that a point dominates and no point of a front dominates, up to a reference point.

    x: (k,); it adds nothing if it is not below the reference in each objective.
    front: (n, k), any points.
    reference: (k,).

    Source: While et al. 2012, equation 3: x and a point of the front both dominate what their maximum dominates.
    """
    if not np.all(x < reference):
        return 0.0
    own = float(np.prod(reference - x))
    if math.isinf(own):
        return own
    return max(own - hypervolume(np.maximum(front, x), reference), 0.0)  # rounding may lower it


def _minimal_rows(points: Array) -> Array:
    """Return the distinct non-dominated points in lexicographic order."""
    distinct = np.unique(points, axis=0)
    if distinct.shape[1] == 2:  # a point comes after all points that dominate it
        lowest = np.minimum.accumulate(distinct[:, 1])
        return distinct[np.append(True, distinct[1:, 1] < lowest[:-1])[: len(distinct)]]
    dominates = (distinct[:, None] <= distinct[None]).all(axis=2)
    return distinct[dominates.sum(axis=0) == 1]  # only a point itself


def default_reference(objectives: Array) -> Array:
    """Return a reference point for the hypervolume (k,): the worst of the non-dominated points, and a margin.

    The margin is a tenth of the range of the non-dominated points; if their range is 0, a tenth of the range of all
    points; if that is 0, a tenth of the worst value's magnitude, or 0.1 if the worst value is 0.

    objectives: (n, k), n at least 1, of feasible points.
    """
    front = objectives[find_nondominated(objectives)]
    own, of_all = np.ptp(front, axis=0), np.ptp(objectives, axis=0)
    return _step_behind(front.max(axis=0), np.where(own > 0.0, own, of_all))


def distant_reference(objectives: Array) -> Array:
    """Return a reference point beyond all points (k,): the worst value of each objective plus a tenth of its range.

    The margin of an objective whose range is 0 is the margin of `default_reference`.

    A search needs it: with a reference close to a front of few points, points that would extend the front score 0.

    objectives: (n, k), n at least 1, of feasible points.
    """
    return _step_behind(objectives.max(axis=0), np.ptp(objectives, axis=0))


def _step_behind(worst: Array, ranges: Array) -> Array:
    """Return the worst values plus a tenth of their ranges, or plus a few spacings of floats if that is more (k,)."""
    sizes = np.where(ranges > 0.0, ranges, np.where(worst == 0.0, 1.0, np.abs(worst)))
    return worst + np.maximum(REFERENCE_MARGIN * sizes, SPACINGS * np.spacing(np.abs(worst)))
