"""The hypervolume that points do not dominate, by which runs of several objectives are judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LOST = "hypervolume lost"  # the name of the measure


def scale_to_box(objectives: Sequence[float], corners: Sequence[tuple[float, float]]) -> np.ndarray:
    """Return objectives on the scale of a box, whose corners become 0 and 1 (k,).

    objectives: k numbers.
    corners: least and greatest value of each.
    """
    low, high = np.array(corners, dtype=float).T
    return (np.array(objectives, dtype=float) - low) / (high - low)


def find_losses(told: Sequence[Sequence[float] | None], corners: Sequence[tuple[float, float]]) -> list[float]:
    """Return the share of the box that the points until each trial do not dominate, one a trial.

    told: objectives of the trials in order; None for those that count for nothing.
    corners: least and greatest value of each objective.
    """
    from bostruct.goals.pareto import exclusive_volume, extend_front  # which the revision before may not have

    front, losses, loss, corner = np.empty((0, len(corners))), list[float](), 1.0, np.ones(len(corners))
    for objectives in told:
        if objectives is not None:
            row = scale_to_box(objectives, corners)
            loss -= exclusive_volume(row, front, corner)
            front = extend_front(front, row)
        losses.append(loss)
    return losses
