"""Draw the label that a layer takes when it changes or is new.

The released NASBOT code's tables, and for labels that nobody published: each is as likely as a published one on
average. Families without any draw as published, to the last random number.
"""

from __future__ import annotations

import numpy as np

from bostruct.contracts import PointError
from bostruct.domains.architecture.labels import RECTIFIERS, SIGMOIDS, UNMATCHED, Family, Label
from bostruct.domains.architecture.layers import Layer
from bostruct.domains.architecture.value import Architecture

LabelChances = dict[str, dict[str, float]]

WEDGE_POOL = 0.05
WEDGE_STRIDE = 0.05

SWAPS: LabelChances = {
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


def draw_label(family: Family, label: str, rng: np.random.Generator) -> str:
    """Draw another label for a layer: from `SWAPS`, or any that is not there and may be matched with it.

    family: `Family`.
    label: str, the label to replace; for one that is not in `SWAPS`, any that may be matched.
    rng: `numpy.random.Generator`.

    Raises PointError where there is none.
    """
    costs = family.mismatch[family.index[label]]
    matched = [x.name for x in family.labels if x.name != label and costs[family.index[x.name]] < UNMATCHED]
    if label in SWAPS:
        published = {other: chance for other, chance in SWAPS[label].items() if other in family.index}
        own = [other for other in matched if other not in SWAPS]
        if published and (own or len(published) < len(SWAPS[label])):
            return _draw_with_own(published, own, rng)
        if published:
            return str(rng.choice(list(published), p=list(published.values())))
        matched = own
    if not matched:
        raise PointError(f"no label can take the place of {label}")
    return matched[int(rng.integers(len(matched)))]


def draw_layer(x: Architecture, parent: int, units: int, rng: np.random.Generator) -> Layer:
    """Draw a layer to follow `parent`.

    x: `Architecture`.
    parent: int, position of a layer of x.
    units: int, the new layer's units where its label has any.
    rng: `numpy.random.Generator`.

    Fully connected after one that is; else, on images, a pool now and then (never after the input) or any convolution
    or residual block, strided now and then, or (never after the input) any other label that keeps the image as it is;
    on features any activation.
    """
    family = x.family
    if not family.image:
        activations = [label for label in family.labels if label.role == "processing"]
        return _layer_of_label(activations[int(rng.integers(len(activations)))], units)
    after = family.by_name[x.layers[parent].label]
    if after.dense:
        return Layer(after.name, x.layers[parent].units)
    pools = [label.name for label in family.labels if label.image == "halves"]
    if after.role != "input" and pools and rng.random() < WEDGE_POOL:
        return Layer(pools[int(rng.integers(len(pools)))])
    allowed = ("strides",) if after.role == "input" else ("strides", "keeps")
    sized = [label for label in family.labels if label.role == "processing" and label.image in allowed]
    stride = 2 if rng.random() < WEDGE_STRIDE else 1
    return _layer_of_label(sized[int(rng.integers(len(sized)))], units, stride)


def _layer_of_label(label: Label, units: int, stride: int = 1) -> Layer:
    """Make a layer of a label, with the units and the stride only where the label has them."""
    return Layer(label.name, units if label.units else None, stride if label.image == "strides" else 1)


def _draw_with_own(published: dict[str, float], own: list[str], rng: np.random.Generator) -> str:
    total, n_all = sum(published.values()), len(published) + len(own)
    chances = [chance / total * len(published) / n_all for chance in published.values()]
    return str(rng.choice([*published, *own], p=[*chances, *[1 / n_all] * len(own)]))
