"""Distances between architectures, one pair or all pairs of two batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import shown
from bostruct.contracts import Array
from bostruct.domains.architecture.value import Architecture
from bostruct.kernels.otmann.profile import Profile, profile
from bostruct.kernels.otmann.settings import REFERENCE, Otmann, cost_table


class Distances(NamedTuple):
    """distance: (n, m, weights), in units of mass. normalized: the same over the total mass of both, in [0, 1]."""

    distance: Array
    normalized: Array


def otmann_distances(
    xs: Sequence[Architecture], ys: Sequence[Architecture] | None = None, settings: Otmann = REFERENCE
) -> Distances:
    """All pairs of two batches of one family; without ys, of xs with itself. Raises ValueError."""
    family = _one_family([*xs, *(ys or ())])
    symmetric = ys is None
    others = xs if ys is None else ys
    out = np.zeros((len(xs), len(others), len(settings.weights)))
    if family is None or not out.size:
        return Distances(out, out.copy())
    from bostruct.kernels.otmann.compiled import distances

    first = [profile(x, settings) for x in xs]
    second = first if symmetric else [profile(y, settings) for y in others]
    stacked = _stacked(first)
    table = cost_table(family, settings)
    extra = np.array([cost for _, cost in settings.attribute_costs])
    costs = (np.array(settings.weights), table.mismatch, extra)
    distances(stacked, stacked if symmetric else _stacked(second), costs, symmetric, out)
    out = np.maximum(out, 0.0)  # rounding may leave -1e-12 where architectures are alike
    totals = np.array([p.masses.sum() for p in first])
    totals2 = np.array([p.masses.sum() for p in second])
    return Distances(out, out / (totals[:, None] + totals2)[:, :, None])


def _stacked(profiles: Sequence[Profile]) -> tuple[Any, ...]:
    if len(profiles) == 1:
        _, labels, masses, paths, codes, starts = profiles[0]
        return starts[None], labels, masses, paths, codes
    sizes = np.array([len(p.labels) for p in profiles])
    starts = np.stack([p.starts for p in profiles]) + (np.cumsum(sizes) - sizes)[:, None]
    columns = zip(*((p.labels, p.masses, p.paths, p.codes) for p in profiles), strict=True)
    return (starts, *(np.concatenate(column) for column in columns))


def _one_family(architectures: Sequence[Architecture]) -> Any:
    for x in architectures:
        if not isinstance(x, Architecture):
            raise ValueError(f"expected architectures, got {shown(x)}")
        if x.family is not architectures[0].family and x.family != architectures[0].family:
            raise ValueError(
                f"expected architectures of one family, got {architectures[0].family.name} and {x.family.name}"
            )
    return architectures[0].family if architectures else None
