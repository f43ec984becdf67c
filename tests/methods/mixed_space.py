"""A space with every kind of choice, and an objective on it of which each variable explains a part."""

from __future__ import annotations

import numpy as np

import bostruct as bo

SPACE = bo.Space({"a": ["x", "y", "z"], "b": range(6), "c": bool, "r": bo.Real(0.1, 10.0, log=True)})


def objective(point):
    return (point["a"] != "y") + abs(point["b"] - 4) + abs(np.log10(point["r"])) + 0.1 * point["c"]
