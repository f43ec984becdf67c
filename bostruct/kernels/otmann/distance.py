"""OTMANN distances between architectures, one pair or all pairs of two batches, and the profiles that they compare.

A profile has the masses and path lengths of an architecture's layers (Kandasamy et al. 2018, section 3).
`plot_transport` draws the matched layers.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from operator import add
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bostruct.checks import check_integer, short_repr
from bostruct.contracts import Array, IntArray
from bostruct.display import new_axes
from bostruct.domains.architecture.drawing import draw_layers, layer_positions
from bostruct.domains.architecture.layers import Family
from bostruct.domains.architecture.validity import MAX_MASS, AdjacencyLists
from bostruct.domains.architecture.value import Architecture, all_masses
from bostruct.kernels.loops import load_loops
from bostruct.kernels.otmann.settings import REFERENCE, Otmann, cost_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOOPS = "bostruct.kernels.otmann.compiled"
PATH_KINDS = ("shortest", "longest", "random walk")
WIDEST = 8.0  # line width, in points, of the heaviest match
MOST_REUSED = 256  # layers, from which on a pair takes so long that memory is allocated for each call, and returned
GAP = 2.5  # between the two drawings, in columns of layers


class Distances(NamedTuple):
    """Distances of all pairs of two batches, at each structural weight.

    distance: distances in units of mass (n, m, weights).
    normalized: distances over the total mass of both architectures, in [0, 1] (n, m, weights).
    """

    distance: Array
    normalized: Array


class Match(NamedTuple):
    """The comparison of two architectures at each structural weight (w,).

    distance: distances in units of mass (w,).
    normalized: distances over the total mass of both architectures, in [0, 1] (w,).
    plan: the mass matched between each layer of the first and each layer of the second architecture (w, l, l2).
    masses: the masses of their layers, (l,) and (l2,); mass that is not in the plan is unmatched.
    """

    weights: Array
    distance: Array
    normalized: Array
    plan: Array
    masses: tuple[Array, Array]


def otmann(a: Architecture, b: Architecture, settings: Otmann = REFERENCE) -> Match:
    """Return the exact OTMANN distance between two architectures of one family (Kandasamy et al. 2018).

    A distance of 0 does not imply that the architectures are equal.

    Parameters
    ----------
    a, b : Architecture
        The architectures.
    settings : Otmann, default REFERENCE
        `REFERENCE`, the constants of the released code at four structural weights; `PAPER`, the constants of the
        paper's Figure 1; or your own `Otmann`.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    measured = otmann_distances([a], [b], settings)
    first, second = profile(a, settings), profile(b, settings)
    ordered, loops = np.zeros((len(settings.weights), len(a), len(b))), load_loops(LOOPS)
    memory = _provide_memory(max(len(a), len(b)))
    loops.plans(_stack_profiles([first]), _stack_profiles([second]), _cost_arrays(a.family, settings), memory, ordered)
    plan = np.zeros_like(ordered)
    plan[:, first.layers[:, None], second.layers] = ordered
    masses = (layer_masses(a, settings), layer_masses(b, settings))
    return Match(np.array(settings.weights), measured.distance[0, 0], measured.normalized[0, 0], plan, masses)


def otmann_distances(
    xs: Sequence[Architecture], ys: Sequence[Architecture] | None = None, settings: Otmann = REFERENCE
) -> Distances:
    """Return the OTMANN distances of all pairs of two batches of one family.

    ys: m architectures; None for xs with themselves.

    Raises ValueError, TypeError.
    """
    if not isinstance(settings, Otmann):
        raise TypeError(f"settings: expected REFERENCE, PAPER or an Otmann, got {short_repr(settings)}")
    others, both = (xs, xs) if ys is None else (ys, [*xs, *ys])
    out = np.zeros((2, len(xs), len(others), len(settings.weights)))
    family = _common_family(both)
    if family is not None and out.size:
        first = _stack_profiles([cached_profile(x, settings) for x in xs])
        second = first if ys is None else _stack_profiles([cached_profile(y, settings) for y in others])
        memory = _provide_memory(max(map(len, both)))
        load_loops(LOOPS).distances(first, second, _cost_arrays(family, settings), memory, ys is None, out)
    return Distances(out[0], out[1])


def _provide_memory(n: int) -> Any:
    """Return memory for networks of up to n layers, which no other thread uses."""
    return _reused_memory(n // 64, get_ident()) if n < MOST_REUSED else load_loops(LOOPS).allocate_memory(n)


@lru_cache(maxsize=16)
def _reused_memory(n_64: int, thread: int) -> Any:
    """Return memory for fewer than 64 * (n_64 + 1) layers, for one thread only; new memory delays a call by 10 us."""
    del thread  # a part of the key
    return load_loops(LOOPS).allocate_memory(64 * n_64 + 63)


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


class Profile(NamedTuple):
    """An architecture of l layers, sorted by blocks of labels (`MatchingCosts.block`).

    layers: the architecture's number of each layer (l,); isomorphic architectures agree in all other fields exactly.
    labels, masses: (l,).
    paths: path lengths in units of 1/k hops, so that a sum of absolute differences is their mean (k, l).
    codes: one number for each value of each attribute with a cost (l, q).
    starts: first layer of each block, and the end (blocks + 1,).
    """

    layers: IntArray
    labels: IntArray
    masses: Array
    paths: Array
    codes: IntArray
    starts: IntArray


def profile(architecture: Architecture, settings: Otmann) -> Profile:
    """Compute the profile of an architecture, on which its distances depend."""
    family = architecture.family
    table = cost_table(family, settings)
    labels = np.array([family.index[layer.label] for layer in architecture.layers], dtype=np.int64)
    block = table.block[labels]
    masses, codes = layer_masses(architecture, settings), _attribute_codes(architecture, settings)
    paths = path_lengths(architecture)[..., : None if settings.group_paths else 1].reshape(len(labels), -1)
    rows = list(zip(*(column.tolist() for column in (block, labels, masses, paths, codes)), strict=True))
    order = np.array(sorted(range(len(rows)), key=rows.__getitem__), dtype=np.int64)  # ties are interchangeable
    starts = np.searchsorted(block[order], np.arange(table.n_blocks + 1))
    paths = np.ascontiguousarray(paths[order].T) / paths.shape[1]
    return Profile(order, labels[order], masses[order], paths, codes[order], starts)


@lru_cache(maxsize=4096)
def cached_profile(architecture: Architecture, settings: Otmann) -> Profile:
    """Return a cached `profile`, only for distances: isomorphic architectures share one profile, including `layers`."""
    return profile(architecture, settings)


def layer_masses(architecture: Architecture, settings: Otmann) -> Array:
    """Return the mass of each layer: `Architecture.masses`, with group ``fc`` scaled by `dense_factor` (l,).

    `Otmann.end_share` and `end_floor` set the masses of the input, the output, and all decision layers together.

    Raises ValueError if the total is above 1e150, PointError if the architecture's own masses are.
    """
    factors = {"end_share": settings.end_share, "end_floor": settings.end_floor, "dense_factor": settings.dense_factor}
    masses = np.array(all_masses(architecture, **factors))
    total = float(masses.sum())
    if not total <= MAX_MASS:
        given = ", ".join(f"{name}={value:g}" for name, value in factors.items())
        raise ValueError(f"settings: expected masses of at most {MAX_MASS:g} together, got {total:g} by {given}")
    return masses


def path_lengths(architecture: Architecture) -> Array:
    """Return the hops of each layer to the output and from the input (l, 2, 3, 1 + groups).

    Axis 2: `PATH_KINDS`, the smallest and the largest number of hops, and the mean over uniform random walks (along the
    edges to the output, against the edges to the input). Axis 3: all layers count, then only the layers of each group
    of the family.
    """
    steps = _hop_lengths(architecture.family)
    hops = [steps[layer.label] for layer in architecture.layers]
    down = _accumulate(hops, architecture.children, range(len(hops) - 1, -1, -1))
    up = _accumulate(hops, architecture.parents, range(len(hops)))
    both = chain.from_iterable(chain.from_iterable(zip(down, up, strict=True)))
    return np.fromiter(both, np.float64).reshape(len(hops), 2, len(PATH_KINDS), -1)  # faster than an array of lists


@lru_cache(maxsize=64)
def _hop_lengths(family: Family) -> dict[str, list[float]]:
    """Return the length of a hop from a layer by its label, for each kind of path and group."""
    n = len(PATH_KINDS)
    return {one.name: [1.0, *(float(one.group == group) for group in family.groups)] * n for one in family.labels}


def _accumulate(hops: Sequence[list[float]], nearer: AdjacencyLists, order: Sequence[int]) -> list[list[float]]:
    """Add each layer's hop to the lengths of the layers one hop nearer to the end, where the length is 0."""
    lengths: list[list[float]] = [[]] * len(hops)
    third = len(hops[0]) // len(PATH_KINDS)
    for u in order:
        ahead = nearer[u]
        if len(ahead) == 1:
            lengths[u] = list(map(add, hops[u], lengths[ahead[0]]))
        elif ahead:
            columns = list(zip(*[lengths[v] for v in ahead], strict=True))
            gathered = [*map(min, columns[:third]), *map(max, columns[third : 2 * third])]
            gathered += [total / len(ahead) for total in map(math.fsum, columns[2 * third :])]  # in any order the same
            lengths[u] = list(map(add, hops[u], gathered))
        else:
            lengths[u] = [0.0] * len(hops[u])
    return lengths


def _attribute_codes(architecture: Architecture, settings: Otmann) -> IntArray:
    names = [name for name, _ in settings.attribute_costs]
    codes = np.zeros((len(architecture), len(names)), dtype=np.int64)
    for u, layer in enumerate(architecture.layers if names else ()):
        values = {"stride": layer.stride, **dict(layer.attributes)}
        for column, name in enumerate(names):
            digest = hashlib.blake2b(repr(values.get(name)).encode(), digest_size=8).digest()
            codes[u, column] = int.from_bytes(digest, "little", signed=True)
    return codes


def plot_transport(
    a: Architecture, b: Architecture, settings: Otmann = REFERENCE, weight: int = 0, axes: Axes | None = None
) -> Axes:
    """Plot two architectures, the inputs at the top, with lines as wide as the mass that OTMANN matches.

    A layer without matched mass has a dashed frame. Edges that skip layers are curved.

    Parameters
    ----------
    a, b : Architecture
        The architectures, of one family.
    settings : Otmann, default REFERENCE
        Settings of the distance.
    weight : int, default 0
        Position of the structural weight in `settings.weights`.
    axes : Axes, optional
        Matplotlib axes to draw on; None for new ones.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    MissingExtra
        If the extra ``plot`` is not installed.
    TypeError, ValueError
        If an argument is invalid.
    """
    if axes is not None and not callable(getattr(axes, "annotate", None)):
        raise TypeError(f"axes: expected axes of matplotlib, got {short_repr(axes)}")
    check_integer("weight", weight, 0, len(settings.weights) - 1)
    match = otmann(a, b, settings)
    plan = match.plan[weight]
    left, right = layer_positions(a), layer_positions(b)
    shift = 1.0 + GAP + max(x for x, _ in left) - min(x for x, _ in right)
    right = [(x + shift, y) for x, y in right]
    rows = max(len({y for _, y in places}) for places in (left, right))
    across = 4.0 + 1.6 * (right[-1][0] - left[0][0])
    canvas: Axes = new_axes(across, 1.0 + 0.6 * rows) if axes is None else axes
    for u, v in zip(*(places.tolist() for places in plan.nonzero()), strict=True):
        (x, y), (x2, y2) = left[u], right[v]
        width = WIDEST * float(plan[u, v]) / plan.max()
        canvas.plot([x, x2], [y, y2], color="#5b8db8", alpha=0.45, linewidth=max(width, 0.5), zorder=1)
    draw_layers(canvas, a, left, _layers_without_match(plan.sum(axis=1)))
    draw_layers(canvas, b, right, _layers_without_match(plan.sum(axis=0)))
    xs, ys = zip(*left, *right, strict=True)
    canvas.set_xlim(min(xs) - 1.0, max(xs) + 1.0)
    canvas.set_ylim(min(ys) - 0.7, max(ys) + 0.7)
    canvas.set_title(
        f"OTMANN {match.distance[weight]:.6g}, normalized {match.normalized[weight]:.4f}\n"
        f"structural weight {settings.weights[weight]:g}",
        fontsize=10,
    )
    canvas.set_axis_off()
    return canvas


def _layers_without_match(matched: Array) -> set[int]:
    return {u for u, mass in enumerate(matched.tolist()) if mass <= 1e-9 * (1.0 + matched.sum())}
