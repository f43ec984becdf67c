"""The hypervolume that points do not dominate, the measure of runs with several objectives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LOST = "hypervolume lost"  # the name of the measure


def scale_to_box(objectives: Sequence[float], corners: Sequence[tuple[float, float]]) -> np.ndarray:
    """Scale objectives so that the corners of a box become 0 and 1 (k,).

    objectives: k objectives.
    corners: lowest and highest value of each objective.
    """
    low, high = np.array(corners, dtype=float).T
    return (np.array(objectives, dtype=float) - low) / (high - low)


def find_losses(observed: Sequence[Sequence[float] | None], corners: Sequence[tuple[float, float]]) -> list[float]:
    """Return for each trial the share of the box that no point so far dominates.

    observed: objectives of the trials in order; None for failed trials.
    corners: lowest and highest value of each objective.
    """
    from bostruct.goals.pareto import exclusive_volume, extend_front  # an earlier revision may lack them

    front, losses, loss, corner = np.empty((0, len(corners))), list[float](), 1.0, np.ones(len(corners))
    for objectives in observed:
        if objectives is not None:
            row = scale_to_box(objectives, corners)
            loss -= exclusive_volume(row, front, corner)
            front = extend_front(front, row)
        losses.append(loss)
    return losses
