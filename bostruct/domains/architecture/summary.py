"""Summaries of architectures: a few numbers by which a model of tables tells them apart."""

from __future__ import annotations

import math
from collections import Counter

from bostruct.domains.architecture.value import Architecture


def summarize(x: Architecture) -> dict[str, float]:
    """Return numbers that describe an architecture, by name: its size, depth, units, masses, and layers of each label.

    x: an architecture.

    Units and masses, which range over orders of magnitude, are logarithms.
    """
    units = [layer.units for layer in x.layers if layer.units is not None]
    labels = Counter(layer.label for layer in x.layers)
    return {
        "layers": float(len(x)),
        "edges": float(len(x.edges)),
        "hops": float(max(x.hops_from_input)),
        "strides": float(sum(layer.stride > 1 for layer in x.layers)),
        "mass": math.log1p(sum(x.masses)),
        "largest mass": math.log1p(max(x.masses)),
        "units": math.log1p(sum(units)),
        "least units": math.log1p(min(units, default=0)),
        "most units": math.log1p(max(units, default=0)),
        **{f"layers of {label.name}": float(labels[label.name]) for label in x.family.labels},
    }
