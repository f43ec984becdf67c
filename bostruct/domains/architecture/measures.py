"""Numbers that describe an architecture: the mass of each layer, and a summary for models of tables.

The factors of masses are those of the released NASBOT code (Kandasamy et al. 2018, section 3).
"""

from __future__ import annotations

import math
from collections import Counter

from bostruct.domains.architecture.value import Architecture

END_SHARE = 0.1
END_FLOOR = 100.0
DENSE_FACTOR = 0.1


def all_masses(
    architecture: Architecture,
    end_share: float = END_SHARE,
    end_floor: float = END_FLOOR,
    dense_factor: float = DENSE_FACTOR,
) -> list[float]:
    """Return the mass of each layer, of the input, the output and the decision layers too.

    end_share, end_floor: the input, the output, and all decision layers together each have the mass
        max(end_share * processing mass, end_floor); both at least 0.
    dense_factor: scales the mass of layers of group ``fc``, above 0.
    """
    by_name = architecture.family.by_name
    labels = [by_name[layer.label] for layer in architecture.layers]
    masses = [
        mass * dense_factor if label.group == "fc" else mass
        for mass, label in zip(architecture.masses, labels, strict=True)
    ]
    end = max(end_share * math.fsum(masses), end_floor)
    n_decisions = sum(label.role == "decision" for label in labels)
    shares = {"input": end, "output": end, "decision": end / n_decisions}
    return [shares.get(label.role, mass) for mass, label in zip(masses, labels, strict=True)]


def summarize(x: Architecture) -> dict[str, float]:
    """Return numbers that describe an architecture, by name: its size, depth, units, masses, and layers of each label.

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
