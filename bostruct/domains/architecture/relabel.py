"""Which label a layer takes when it changes or is new (the released NASBOT code's tables)."""

from __future__ import annotations

import numpy as np

from bostruct.contracts import PointError
from bostruct.domains.architecture.labels import RECTIFIERS, SIGMOIDS, UNMATCHED, Family
from bostruct.domains.architecture.layers import Layer
from bostruct.domains.architecture.value import Architecture

Table = dict[str, dict[str, float]]

WEDGE_POOL = 0.05
WEDGE_STRIDE = 0.05

SWAPS: Table = {
    "conv3": {"res3": 0.25, "res5": 0.25, "conv5": 0.15, "conv7": 0.25, "max-pool": 0.05, "avg-pool": 0.05},
    "conv5": {"res3": 0.25, "res5": 0.25, "conv3": 0.2, "conv7": 0.2, "max-pool": 0.05, "avg-pool": 0.05},
    "conv7": {"res3": 0.25, "res5": 0.25, "conv3": 0.25, "conv5": 0.15, "max-pool": 0.05, "avg-pool": 0.05},
    "res3": {"conv3": 0.25, "conv5": 0.25, "res5": 0.15, "res7": 0.25, "max-pool": 0.05, "avg-pool": 0.05},
    "res5": {"conv3": 0.25, "conv5": 0.25, "res3": 0.2, "res7": 0.2, "max-pool": 0.05, "avg-pool": 0.05},
    "res7": {"conv3": 0.25, "conv5": 0.25, "res3": 0.25, "res5": 0.15, "max-pool": 0.05, "avg-pool": 0.05},
    "max-pool": {"avg-pool": 1.0},
    "avg-pool": {"max-pool": 1.0},
    **{name: dict.fromkeys(SIGMOIDS, 1 / len(SIGMOIDS)) for name in RECTIFIERS},
    **{name: dict.fromkeys(RECTIFIERS, 1 / len(RECTIFIERS)) for name in SIGMOIDS},
}


def drawn_label(family: Family, label: str, rng: np.random.Generator) -> str:
    """Another label for a layer: from `SWAPS`; for a label that is not there, any that may be matched with it."""
    table = SWAPS.get(label)
    if table is None:
        costs = family.mismatch[family.index[label]]
        others = [x.name for x in family.labels if x.name != label and costs[family.index[x.name]] < UNMATCHED]
        if not others:
            raise PointError(f"no label can take the place of {label}")
        return others[int(rng.integers(len(others)))]
    return str(rng.choice(list(table), p=list(table.values())))


def fresh_layer(x: Architecture, parent: int, units: int, rng: np.random.Generator) -> Layer:
    """A layer to follow `parent`.

    Fully connected after one that is; else, on images, a pool now and then (never after the input) or any convolution
    or residual block, strided now and then; on features any activation.
    """
    family = x.family
    if not family.image:
        activations = [label.name for label in family.labels if label.role == "processing"]
        return Layer(activations[int(rng.integers(len(activations)))], units)
    after = family.by_name[x.layers[parent].label]
    if after.dense:
        return Layer(after.name, x.layers[parent].units)
    pools = [label.name for label in family.labels if label.image == "halves"]
    if after.role != "input" and pools and rng.random() < WEDGE_POOL:
        return Layer(pools[int(rng.integers(len(pools)))])
    strided = [label.name for label in family.labels if label.image == "strides"]
    stride = 2 if rng.random() < WEDGE_STRIDE else 1
    return Layer(strided[int(rng.integers(len(strided)))], units, stride)
