"""The nine modifiers of NASBOT: small random changes of an architecture (Kandasamy et al. 2018, Table 2).

Steps and probabilities are those of the released code, which lists all possible changes of a parent and then draws one
of them; here, the site is drawn at once. Each modifier returns a valid architecture other than its argument, or raises
PointError, which explains why this draw is invalid.

The label of a changed or new layer is drawn by the tables of the released code. An unpublished label is as likely as a
published label on average. In families without unpublished labels, draws equal the published ones to the last number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bostruct.contracts import PointError
from bostruct.domains.architecture.layers import RECTIFIERS, SIGMOIDS, UNMATCHED, Family, Label, Layer
from bostruct.domains.architecture.value import Architecture, replace_layers, rewire

Rng = np.random.Generator
Modifier = Callable[[Architecture, Rng], Architecture]
STEP = 1 / 8  # of a layer's units
GROUPINGS = ((2, 4), (4, 8), (8, 16))  # (number of groups, least number of internal layers)
FLIP_STRIDE = 0.05
STOP_WALK = 0.2
KEEP_COPY = 0.5
WEDGE_POOL = 0.05
WEDGE_STRIDE = 0.05
LabelProbabilities = dict[str, dict[str, float]]
SWAPS: LabelProbabilities = {
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


def increase_single(x: Architecture, rng: Rng) -> Architecture:
    """Give one layer an eighth more units."""
    return _resize(x, [_draw_site(_layers_with_units(x), rng, "no layer has units")], +1)


def decrease_single(x: Architecture, rng: Rng) -> Architecture:
    """Give one layer an eighth fewer units."""
    return _resize(x, [_draw_site(_layers_with_units(x), rng, "no layer has units")], -1)


def increase_many(x: Architecture, rng: Rng) -> Architecture:
    """Give each layer of a contiguous group (a half, quarter or eighth of those with units) an eighth more units."""
    return _resize(x, _draw_layer_group(x, rng), +1)


def decrease_many(x: Architecture, rng: Rng) -> Architecture:
    """Give each layer of a contiguous group (as in `increase_many`) an eighth fewer units."""
    return _resize(x, _draw_layer_group(x, rng), -1)


def swap_label(x: Architecture, rng: Rng) -> Architecture:
    """Change the label of one layer, and sometimes flip the stride of a convolution."""
    known = x.family.by_name
    sites = [
        u
        for u, layer in enumerate(x.layers)
        if known[layer.label].role == "processing" and not (known[layer.label].image == "collapses" and x.family.image)
    ]
    u = _draw_site(sites, rng, "no layer can change its label")
    old = x.layers[u]
    label = known[draw_label(x.family, old.label, rng)]
    stride = old.stride if label.image == "strides" else 1
    if label.image == "strides" and rng.random() < FLIP_STRIDE:
        stride = 3 - stride
    units = (old.units or _entering_units(x, u)) if label.units else None
    return replace_layers(x, {u: Layer(label.name, units, stride, old.attributes)})


def wedge_layer(x: Architecture, rng: Rng) -> Architecture:
    """Insert a new layer into an edge; an edge into the output cannot be split."""
    output = len(x) - 1
    u, v = x.edges[_draw_site([e for e, edge in enumerate(x.edges) if edge[1] != output], rng, "no edge can be split")]
    units = [w for w in (x.layers[u].units, x.layers[v].units) if w]
    new = draw_layer(x, u, _rounded_mean(units) if units else _entering_units(x, u), rng)
    w = len(x)
    edges = [edge for edge in x.edges if edge != (u, v)] + [(u, w), (w, v)]
    return rewire(x, [*x.layers, new], edges)


def remove_layer(x: Architecture, rng: Rng) -> Architecture:
    """Remove one layer; layers that lose their only parent or child are connected at random."""
    w = _draw_site([u for u in range(len(x)) if _removable(x, u)], rng, "no layer can be removed")
    layers = list(x.layers)
    if x.family.by_name[layers[w].label].image == "halves" or layers[w].stride == 2:
        for shrunk in (x.children[w], x.parents[w]):
            if all(x.family.by_name[layers[u].label].image == "strides" and layers[u].stride == 1 for u in shrunk):
                for u in shrunk:
                    layers[u] = layers[u]._replace(stride=2)
                break
    ends = [int(u) for u in rng.permutation([u for u in x.parents[w] if len(x.children[u]) == 1])]
    starts = [int(v) for v in rng.permutation([v for v in x.children[w] if len(x.parents[v]) == 1])]
    joined = set(zip(ends, starts, strict=False))
    joined |= {(u, _draw_site(x.children[w], rng)) for u in ends[len(starts) :]}
    joined |= {(_draw_site(x.parents[w], rng), v) for v in starts[len(ends) :]}
    edges = {edge for edge in x.edges if w not in edge} | joined
    del layers[w]
    return rewire(x, layers, [(u - (u > w), v - (v > w)) for u, v in edges])


def duplicate_path(x: Architecture, rng: Rng) -> Architecture:
    """Copy some interior layers of a random path, and connect the copy in parallel."""
    known = x.family.by_name
    path = [_draw_start(x, rng, with_input=True)]
    output = len(x) - 1
    while path[-1] != output and not (len(path) >= 4 and rng.random() < STOP_WALK):
        path.append(_draw_site(x.children[path[-1]], rng))
    interior = path[1:-1]
    if not interior:
        raise PointError(f"the path {' > '.join(map(str, path))} has no interior to copy")
    kept: list[int] = []
    met_dense = False
    for place, u in enumerate(interior):
        label = known[x.layers[u].label]
        first_dense, met_dense = label.dense and not met_dense, met_dense or label.dense
        entry = place == 0 and path[0] == 0
        needed = entry or first_dense or label.image == "halves" or x.layers[u].stride == 2 or label.role == "decision"
        last_chance = place == len(interior) - 1 and not kept
        if needed or last_chance or rng.random() < KEEP_COPY:
            kept.append(u)
    n = len(x)
    chain = [path[0], *range(n, n + len(kept)), path[-1]]
    edges = [*x.edges, *pairwise(chain)]
    return rewire(x, [*x.layers, *(x.layers[u] for u in kept)], edges)


def skip(x: Architecture, rng: Rng) -> Architecture:
    """Add an edge from a layer to a later layer, through average pools if the image there is smaller."""
    u = _draw_start(x, rng, with_input=False)
    v = _draw_site([v for v in range(len(x)) if _skippable(x, u, v)], rng, f"no layer is far enough beyond layer {u}")
    n_pools = (x.halvings[x.parents[v][0]] or 0) - (x.halvings[u] or 0)  # None if the family has no images
    chain = [u, *range(len(x), len(x) + n_pools), v]
    return rewire(x, [*x.layers, *[Layer("avg-pool")] * n_pools], [*x.edges, *pairwise(chain)])


MODIFIERS: tuple[tuple[Modifier, float], ...] = (  # with their relative frequency
    (increase_single, 0.1),
    (decrease_single, 0.1),
    (increase_many, 0.1),
    (decrease_many, 0.1),
    (swap_label, 0.2),
    (wedge_layer, 0.1),
    (remove_layer, 0.1),
    (duplicate_path, 0.2),
    (skip, 0.2),
)


def draw_label(family: Family, label: str, rng: np.random.Generator) -> str:
    """Draw another label for a layer: from `SWAPS`, or any label outside of `SWAPS` that may be matched with it.

    Raises PointError if there is none.
    """
    costs = family.mismatch[family.index[label]]
    matched = [x.name for x in family.labels if x.name != label and costs[family.index[x.name]] < UNMATCHED]
    if label in SWAPS:
        published = {other: p for other, p in SWAPS[label].items() if other in family.index}
        own = [other for other in matched if other not in SWAPS]
        if published and (own or len(published) < len(SWAPS[label])):
            total, n_all = sum(published.values()), len(published) + len(own)
            probabilities = [p / total * len(published) / n_all for p in published.values()]
            return [*published, *own][int(rng.choice(n_all, p=[*probabilities, *[1 / n_all] * len(own)]))]
        if published:
            return list(published)[int(rng.choice(len(published), p=list(published.values())))]
        matched = own
    if not matched:
        raise PointError(f"no label can replace {label}")
    return matched[int(rng.integers(len(matched)))]


def draw_layer(x: Architecture, parent: int, units: int, rng: np.random.Generator) -> Layer:
    """Draw a layer to follow `parent`.

    units: int, the new layer's units if its label has any.

    After a fully connected layer, the layer is fully connected. On images, it is sometimes a pool (never after the
    input), and otherwise any convolution or residual block, sometimes strided, or (never after the input) any other
    label that keeps the image unchanged. On features, it is any activation.
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
    """Make a layer of a label, with units and stride only if the label has them."""
    return Layer(label.name, units if label.units else None, stride if label.image == "strides" else 1)


def _layers_with_units(x: Architecture) -> list[int]:
    return [u for u, layer in enumerate(x.layers) if layer.units]


def _draw_site(sites: Sequence[int], rng: Rng, otherwise: str = "") -> int:
    if not sites:
        raise PointError(otherwise)
    return sites[int(rng.integers(len(sites)))]


def _draw_layer_group(x: Architecture, rng: Rng) -> list[int]:
    sized = _layers_with_units(x)
    groups = []
    for parts, least in GROUPINGS:
        if len(x) - 2 >= least:
            cuts = [round(k * len(sized) / parts) for k in range(parts + 1)]
            groups += [sized[low:high] for low, high in pairwise(cuts) if low < high]
    if not groups:
        raise PointError("too few layers to change the units of several at once")
    return groups[int(rng.integers(len(groups)))]


def _resize(x: Architecture, which: list[int], sign: int) -> Architecture:
    changed = {}
    for u in which:
        old = x.layers[u].units or 0
        new = int(np.floor((1 + sign * STEP) * old + 0.5))  # the released code rounds halves up
        new = old + sign if new == old else new
        if new < 1:
            raise PointError(f"layer {u} ({x.layers[u]}) has too few units to lose any")
        changed[u] = x.layers[u]._replace(units=new)
    return replace_layers(x, changed)


def _rounded_mean(units: list[int]) -> int:
    return int(np.floor(sum(units) / len(units) + 0.5))


def _entering_units(x: Architecture, u: int) -> int:
    """Return the rounded mean of the units of the nearest ancestors that have any; 16 if none has."""
    nearest = {u}
    while nearest:
        nearest = {p for v in nearest for p in x.parents[v]}
        if units := [w for v in sorted(nearest) if (w := x.layers[v].units)]:
            return _rounded_mean(units)
    return 16


def _removable(x: Architecture, u: int) -> bool:
    label = x.family.by_name[x.layers[u].label]
    if label.dense:
        return all(x.layers[p].label == label.name for p in x.parents[u])
    return label.role == "processing"


def _draw_start(x: Architecture, rng: Rng, with_input: bool) -> int:
    """Draw the first layer of a path; layers nearer to the input are more likely.

    Decision layers, fully connected layers and the output are never drawn.
    """
    hops = x.hops_from_input
    roles = ("processing", "input") if with_input else ("processing",)
    labels = [x.family.by_name[layer.label] for layer in x.layers]
    sites = [u for u, label in enumerate(labels) if label.role in roles and not label.dense]
    if not sites:
        raise PointError("no layer can start a new path")
    weights = np.array([1.0 / math.sqrt(1.0 + hops[u]) for u in sites])
    return sites[int(rng.choice(len(sites), p=weights / weights.sum()))]


def _skippable(x: Architecture, u: int, v: int) -> bool:
    label = x.family.by_name[x.layers[v].label]
    if label.role != "processing" or v in x.children[u]:
        return False
    if x.hops_from_input[v] < x.hops_from_input[u] + 2 or x.hops_to_output[v] > x.hops_to_output[u] - 2:
        return False
    if not x.family.image:
        return True
    leaving, arriving = x.halvings[u], x.halvings[x.parents[v][0]]
    return leaving is not None and arriving is not None and arriving >= leaving


NEARLY_ONE = 1.0 - 2.0**-53


class ScriptedGenerator:
    """A replacement of `numpy.random.Generator` that returns scripted outcomes, then the first outcome of each draw.

    It has the methods that modifiers use.

    `counts` contains the number of outcomes of each draw so far. `random` has two outcomes, because modifiers only
    compare it with probabilities.
    """

    def __init__(self, script: Sequence[int]) -> None:
        self._script = script
        self.counts: list[int] = []

    def integers(self, high: int) -> int:
        """Return the scripted integer, 0 once the script has ended.

        high: number of outcomes, at least 1.
        """
        position = len(self.counts)
        self.counts.append(high)
        return self._script[position] if position < len(self._script) else 0

    def random(self) -> float:
        return (0.0, NEARLY_ONE)[self.integers(2)]

    def choice(self, options: Any, p: Sequence[float] | None = None) -> Any:
        """Return the scripted option.

        options: a sequence, or the number of integers from 0.
        """
        del p  # each option is possible
        listed = range(options) if isinstance(options, int) else options
        return listed[self.integers(len(listed))]

    def permutation(self, items: Sequence[object]) -> list[Any]:
        """Return the items in the scripted order, drawn one by one without replacement."""
        left = list(items)
        return [left.pop(self.integers(len(left))) for _ in range(len(left))]


def enumerate_outcomes(draw: Callable[[Any], Architecture]) -> Iterator[Architecture | None]:
    """Yield the result of a function of a generator for each possible outcome of its draws.

    draw: function of a generator that returns an `Architecture`; None is yielded if it raises PointError.
    """
    script: list[int] = []
    while True:
        rng = ScriptedGenerator(script)
        try:
            yield draw(rng)
        except PointError:
            yield None
        script += [0] * (len(rng.counts) - len(script))
        while script and script[-1] + 1 == rng.counts[len(script) - 1]:
            script.pop()
        if not script:
            return
        script[-1] += 1


def enumerate_changes(x: Architecture) -> Iterator[Architecture | None]:
    """Yield the results of one modifier at x, with repeats and without bounds; None if a draw fails."""
    for modifier, _ in MODIFIERS:
        yield from enumerate_outcomes(partial(modifier, x))
