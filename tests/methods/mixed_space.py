"""A space with every kind of choice, and an objective on it of which each variable explains a part."""

from __future__ import annotations

import numpy as np

import bostruct as bo
from bostruct.language import D, SearchSpace, siso_module, siso_optional

SPACE = bo.Space({"a": ["x", "y", "z"], "b": range(6), "c": bool, "r": bo.Real(0.1, 10.0, log=True)})


def objective(point):
    return (point["a"] != "y") + abs(point["b"] - 4) + abs(np.log10(point["r"])) + 0.1 * point["c"]


def _has_flag(part):
    return part["flag"]


NESTED = bo.Space(
    {
        "rate": bo.Real(1e-5, 1e-1, log=True),
        "optimizer": ["sgd", "adam"],
        "momentum": bo.Real(0.0, 0.99, when={"optimizer": "sgd"}),
        "inner": {"depth": range(6), "flag": bool},
        "decay": bo.Real(0.0, 1.0, when={"inner": _has_flag}),
        "program": SearchSpace(lambda: siso_optional(lambda: siso_module("Wide", {"units": D([1, 2, 4])}), D([0, 1]))),
    },
    [lambda point: point["rate"] < 0.05],
)
"""Numbers, conditions, a constraint, and two other domains, on one of which a number depends."""


def nested_objective(point):
    slips = abs(np.log10(point["rate"]) + 3.0) + 0.5 * abs(point["inner"]["depth"] - 4)
    slips += len(point["program"].nodes) < 2
    return slips + abs(point.get("momentum", 0.1) - 0.7) + abs(point.get("decay", 1.0) - 0.3)
