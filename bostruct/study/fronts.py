"""Pareto fronts of a study's trials, and the volume that they dominate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bostruct.contracts import Array
from bostruct.goals.declared import Goals, read_reference
from bostruct.goals.pareto import default_reference, exclusive_volume, extend_front, find_nondominated, hypervolume
from bostruct.study.history import Trial


def find_front(objectives: Array) -> list[int]:
    """Return the positions of points that no other one dominates, by their objectives, the first of equals alone.

    objectives: of n points (n, k), minimized.
    """
    _, firsts = np.unique(objectives, axis=0, return_index=True)  # sorted by the first objective, then the next
    return [int(position) for position in firsts[find_nondominated(objectives[firsts])]]


def measure_hypervolumes(
    told: Sequence[Trial], goals: Goals, reference: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Return the volume that the front dominates after each finished trial.

    told: finished trials, in the order told.
    goals: of their study.
    reference: as of `bostruct.Result.hypervolumes`.

    Raises TypeError, ValueError.
    """
    feasible = _orient_feasible(told, goals)
    if not len(feasible):
        return (0.0,) * len(told)
    corner = _read_corner(feasible, goals, reference)
    grown, volumes, volume = 0, list[float](), 0.0
    front = feasible[:0]
    for trial in told:
        if trial.is_feasible:
            x, grown = feasible[grown], grown + 1
            volume += exclusive_volume(x, front, corner)
            front = extend_front(front, x)
        volumes.append(volume)
    return tuple(volumes)


def measure_hypervolume(told: Sequence[Trial], goals: Goals, reference: Sequence[float] | None = None) -> float:
    """Return the volume that the front of all finished trials dominates; 0 where none is feasible.

    told: finished trials.
    goals: of their study.
    reference: as of `bostruct.Result.hypervolumes`.

    Raises TypeError, ValueError.
    """
    feasible = _orient_feasible(told, goals)
    return hypervolume(feasible, _read_corner(feasible, goals, reference)) if len(feasible) else 0.0


def _orient_feasible(told: Sequence[Trial], goals: Goals) -> Array:
    """Return the objectives of the feasible trials, minimized (n, k)."""
    return np.array([goals.orient(trial.values) for trial in told if trial.is_feasible])


def _read_corner(feasible: Array, goals: Goals, reference: Sequence[float] | None) -> Array:
    return default_reference(feasible) if reference is None else np.array(read_reference(reference, goals))
