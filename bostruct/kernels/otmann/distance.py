"""Distances between architectures, one pair or all pairs of two batches."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache, lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Array, IntArray
from bostruct.domains.architecture.layers import Family
from bostruct.domains.architecture.value import Architecture
from bostruct.execution.interrupts import defer_signals
from bostruct.kernels.otmann.profile import Profile, cached_profile, layer_masses, profile
from bostruct.kernels.otmann.settings import REFERENCE, Otmann, cost_table


class Distances(NamedTuple):
    """Distances of all pairs of two batches, at each structural weight.

    distance: (n, m, weights), in units of mass.
    normalized: (n, m, weights), the same over the total mass of both architectures, in [0, 1].
    """

    distance: Array
    normalized: Array


class Match(NamedTuple):
    """Two architectures compared, once for each structural weight.

    weights: (w,). distance: (w,), in units of mass. normalized: (w,), the same over the total mass of both, in [0, 1].
    plan: (w, l, l2), the mass that each layer of the first is matched with in each layer of the second. masses: (l,)
    and (l2,), of their layers; what the plan leaves of them is unmatched.
    """

    weights: Array
    distance: Array
    normalized: Array
    plan: Array
    masses: tuple[Array, Array]


def otmann(a: Architecture, b: Architecture, settings: Otmann = REFERENCE) -> Match:
    """Return the OTMANN distance between two architectures of one family (Kandasamy et al. 2018), exactly.

    A distance of 0 does not mean that the architectures are the same.

    a, b: the architectures.
    settings: `REFERENCE`, the constants of the released code at four structural weights; `PAPER`, those of the paper's
        Figure 1; or your own `Otmann`.

    Raises ValueError, TypeError.
    """
    measured = otmann_distances([a], [b], settings)
    first, second = profile(a, settings), profile(b, settings)
    ordered = np.zeros((len(settings.weights), len(a), len(b)))
    _load_numba().plans(_stack_profiles([first]), _stack_profiles([second]), _cost_arrays(a.family, settings), ordered)
    plan = np.zeros_like(ordered)
    plan[:, first.layers[:, None], second.layers] = ordered
    masses = (layer_masses(a, settings), layer_masses(b, settings))
    return Match(np.array(settings.weights), measured.distance[0, 0], measured.normalized[0, 0], plan, masses)


def otmann_distances(
    xs: Sequence[Architecture], ys: Sequence[Architecture] | None = None, settings: Otmann = REFERENCE
) -> Distances:
    """Return the OTMANN distances of all pairs of two batches of one family.

    xs: n architectures.
    ys: m architectures; None: xs again.
    settings: of the distance.

    Raises ValueError, TypeError.
    """
    if not isinstance(settings, Otmann):
        raise TypeError(f"settings: expected REFERENCE, PAPER or an Otmann, got {short_repr(settings)}")
    others = xs if ys is None else ys
    out = np.zeros((2, len(xs), len(others), len(settings.weights)))
    family = _common_family(xs if ys is None else [*xs, *ys])
    if family is not None and out.size:
        first = _stack_profiles([cached_profile(x, settings) for x in xs])
        second = first if ys is None else _stack_profiles([cached_profile(y, settings) for y in others])
        _load_numba().distances(first, second, _cost_arrays(family, settings), ys is None, out)
    return Distances(out[0], out[1])


@cache
@defer_signals  # a process whose import of Numba was interrupted can import it no more
def _load_numba() -> ModuleType:
    """Import the compiled part when first needed: Numba takes a second, the first time on a machine ten, to compile."""
    return importlib.import_module("bostruct.kernels.otmann.compiled")


@lru_cache(maxsize=64)
def _cost_arrays(family: Family, settings: Otmann) -> tuple[Array, Array, Array, IntArray]:
    weights = np.array(settings.weights, dtype=np.float64)
    extra = np.array([cost for _, cost in settings.attribute_costs], dtype=np.float64)
    return weights, cost_table(family, settings).mismatch, extra, np.argsort(-weights)


def _stack_profiles(profiles: Sequence[Profile]) -> tuple[object, ...]:
    if len(profiles) == 1:
        _, labels, masses, paths, codes, starts = profiles[0]
        return starts[None], labels, masses, paths, codes
    sizes = np.array([len(p.labels) for p in profiles])
    starts = np.stack([p.starts for p in profiles]) + (np.cumsum(sizes) - sizes)[:, None]
    labels = np.concatenate([p.labels for p in profiles])
    masses = np.concatenate([p.masses for p in profiles])
    paths = np.concatenate([p.paths for p in profiles], axis=1)
    return starts, labels, masses, paths, np.concatenate([p.codes for p in profiles])


def _common_family(architectures: Sequence[Architecture]) -> Any:
    for x in architectures:
        if not isinstance(x, Architecture):
            raise ValueError(f"expected architectures, got {short_repr(x)}")
        if x.family is not architectures[0].family and x.family != architectures[0].family:
            raise ValueError(
                f"expected architectures of one family, got {architectures[0].family.name} and {x.family.name}"
            )
    return architectures[0].family if architectures else None
