"""The hypervolume that points dominate, by which runs of several objectives are judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def find_hypervolume(points: np.ndarray) -> float:
    """Return the volume of the part of the unit box that points dominate, by slices along the last objective.

    points: minimized objectives (n, k), of which the box has 0 to 1; points that are not below 1 dominate nothing.
    """
    rows = np.clip(points[(points < 1.0).all(axis=1)], 0.0, None)
    if not len(rows):
        return 0.0
    if rows.shape[1] == 1:
        return 1.0 - float(rows.min())
    rows = rows[np.argsort(rows[:, -1], kind="stable")]
    heights = np.diff([*rows[:, -1], 1.0])
    return sum(float(height) * find_hypervolume(rows[: i + 1, :-1]) for i, height in enumerate(heights) if height > 0.0)


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
    front, losses, loss = np.empty((0, len(corners))), list[float](), 1.0
    for objectives in told:
        if objectives is not None:
            row = scale_to_box(objectives, corners)
            if not (front <= row).all(axis=1).any():
                front = np.vstack([front[~(row <= front).all(axis=1)], row])
                loss = 1.0 - find_hypervolume(front)
        losses.append(loss)
    return losses
