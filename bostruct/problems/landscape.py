"""A landscape over architectures to search without training: a documented formula instead of a test error.

The value resembles an error in percent: a floor, and terms that are 0 if one property is optimal and increase, smoothly
and mostly up to a limit, as it deviates. Terms cannot be improved independently. Depth lowers the bias but makes
training hard, unless skips shorten the path of the gradient; too many skips are penalized; width, kernels and early
resolution improve the fit but increase the arithmetic, which has its own term. `terms` returns the terms by name.

A random path leads from the input, each time to a child drawn uniformly; all sums along random paths are exact
expectations. Sums are exactly rounded, so that isomorphic architectures have the same value to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_choice, check_integer, check_number
from bostruct.contracts import PointError
from bostruct.domains.architecture.domain import ArchitectureDomain, cnn_domain, mlp_domain
from bostruct.domains.architecture.layers import SIGMOIDS
from bostruct.domains.architecture.value import Architecture
from bostruct.problems.base import ArchitectureProblem

SOURCE = "bostruct: synthetic, no training behind it"
FLOOR = 4.0
SHORTCUT = 0.5  # factor of a layer's obstacle to the gradient, if it has a residual connection
BEST_EXTRA_EDGES = 0.3  # best number of edges per processing layer, in addition to a tree
INPUT_SIDE = 32  # pixels
N_INITIAL = 10

LandscapeTerms = dict[str, float]


@dataclass(frozen=True)
class Landscape:
    """The value of an architecture under one of the formulas below, plus noise.

    Parameters
    ----------
    terms : callable
        `cnn_terms`, `mlp_terms`, or another function from an architecture to its terms, each at least 0.
    noise_sd : float, default 0.0
        Standard deviation of normal noise that is a function of only the architecture and `seed`, so that repeated
        evaluations give the same value; 0 for no noise.
    seed : int, default 0
        Seed of the noise, from 0.
    """

    terms: Callable[[Architecture], LandscapeTerms]
    noise_sd: float = 0.0
    seed: int = 0

    def __call__(self, x: Architecture) -> float:
        value = self.mean(x)
        if self.noise_sd > 0.0:
            rng = np.random.default_rng([self.seed, int(x.fingerprint, 16)])
            value += self.noise_sd * float(rng.standard_normal())
        return value

    def mean(self, x: Architecture) -> float:
        """Return the value without noise: `FLOOR` plus the sum of the terms.

        Parameters
        ----------
        x : Architecture
            The architecture.
        """
        return math.fsum([FLOOR, *self.terms(x).values()])


def landscape(kind: str = "cnn", noise_sd: float = 0.0, seed: int = 0) -> ArchitectureProblem:
    """Return the problem of the landscape over `cnn_domain()` or `mlp_domain()`, to be minimized.

    Its optimum is not known; no value is below 4. Raises TypeError or ValueError.

    Parameters
    ----------
    kind : {"cnn", "mlp"}, default "cnn"
        Convolutional networks or perceptrons.
    noise_sd : float, default 0.0
        Standard deviation of the noise, at least 0; values of good architectures differ by about 1.
    seed : int, default 0
        Seed of the noise, from 0.
    """
    terms, domain = FORMULAS[check_choice("kind", kind, FORMULAS)]
    objective = Landscape(terms, check_number("noise_sd", noise_sd, 0.0), check_integer("seed", seed, 0))
    noise_name = f",noise_sd={noise_sd:g},seed={seed}" if noise_sd > 0.0 else ""
    return ArchitectureProblem(
        name=f"landscape:kind={kind}{noise_name}",
        space=domain(),
        objective=objective,
        source=SOURCE,
        n_initial=N_INITIAL,
        optimum_source=f"not known; no value is below {FLOOR:g}",
        mean=objective.mean if noise_sd > 0.0 else None,
    )


def cnn_terms(x: Architecture) -> LandscapeTerms:
    """Return the terms of the landscape of a convolutional network by name, each at least 0.

    - bias: too few learned layers (convolution or fully connected 1, residual block 2) along a random path.
    - training: too many of them on the easiest path through a learned layer, on average; a residual block counts as
      `SHORTCUT`.
    - context: receptive field, along a random path, too small for the image.
    - resolution: image halved more or less often than 4 times before it is collapsed.
    - width: units of each convolution away from 32, twice as many after each halving.
    - dense: more or less than one fully connected layer along a random path.
    - connectivity: extra edges per processing layer, beyond a tree, away from `BEST_EXTRA_EDGES`.
    - latency: more than 28 layers. cost: more than 2^26 multiplications per image.

    Parameters
    ----------
    x : Architecture
        A convolutional network.

    Raises
    ------
    PointError
        If the architecture is of another family.
    """
    _check_family(x, image=True)
    labels = [x.family.by_name[layer.label] for layer in x.layers]
    entering = [(float(x.halvings[x.parents[u][0]] or 0) if x.parents[u] else 0.0) for u in range(len(x))]
    learned = [0.0 if label.role != "processing" or not label.units else 1.0 for label in labels]
    residual = [layer.label.startswith("res") for layer in x.layers]
    depth = _along_random_path(x, [own * (1 + res) for own, res in zip(learned, residual, strict=True)])
    obstacles = [own * (SHORTCUT if res else 1.0) for own, res in zip(learned, residual, strict=True)]
    seen = [
        (_kernel_size(layer.label) - 1) * (1 + res) * 2.0**h
        for layer, res, h in zip(x.layers, residual, entering, strict=True)
    ]
    field = 1.0 + _along_random_path(x, seen)
    collapsing = [
        entering[u]
        for u, label in enumerate(labels)
        if label.image == "collapses" and x.halvings[x.parents[u][0]] is not None
    ]
    widths = [
        math.log2(layer.units) - 5.0 - h
        for layer, label, h in zip(x.layers, labels, entering, strict=True)
        if layer.units and label.image == "strides"
    ]
    dense = _along_random_path(x, [float(label.dense) for label in labels])
    return {
        "bias": 40.0 * 2.0 ** (-depth / 5.0),
        "training": _softplus(_on_easiest_paths(x, obstacles) - 8.0),
        "context": 2.0 * _softplus(3.0 * math.log2(INPUT_SIDE / field)),
        "resolution": _mean_or_zero([_well(8.0, h - 4.0, 2.0) for h in collapsing]),
        "width": _mean_or_zero([_well(20.0, deviation, 2.0) for deviation in widths]),
        "dense": _well(4.0, dense - 1.0, 1.0),
        "connectivity": _connectivity(x),
        "latency": 0.5 * _softplus(len(x) - 28.0),
        "cost": 1.5 * _softplus(_cnn_cost(x, entering) - 26.0),
    }


def _check_family(x: Architecture, *, image: bool) -> None:
    if x.family.image != image:
        kind = "a convolutional network" if image else "a perceptron"
        raise PointError(f"expected {kind}, got a network of the family {x.family.name}")


def mlp_terms(x: Architecture) -> LandscapeTerms:
    """Return the terms of the landscape of a perceptron by name, each at least 0.

    - bias: too few activation layers along a random path.
    - training: too many of them on the easiest path through one, on average; a saturating layer counts twice.
    - width: units away from a funnel, 256 after the input narrowing to 32 before the output, by hops.
    - variety: share of saturating layers away from a quarter.
    - connectivity: extra edges per processing layer, beyond a tree, away from `BEST_EXTRA_EDGES`.
    - latency: more than 16 layers. cost: more than 2^17 weights.

    Parameters
    ----------
    x : Architecture
        A perceptron.

    Raises
    ------
    PointError
        If the architecture is of another family.
    """
    _check_family(x, image=False)
    labels = [x.family.by_name[layer.label] for layer in x.layers]
    active = [float(label.role == "processing") for label in labels]
    saturating = [float(layer.label in SIGMOIDS) for layer in x.layers]
    widths = [
        math.log2(layer.units or 1) - 8.0 + 3.0 * x.hops_from_input[u] / (x.hops_from_input[u] + x.hops_to_output[u])
        for u, layer in enumerate(x.layers)
        if active[u]
    ]
    easiest = _on_easiest_paths(x, [own + more for own, more in zip(active, saturating, strict=True)])
    share = math.fsum(saturating) / max(math.fsum(active), 1.0)
    return {
        "bias": 40.0 * 2.0 ** (-_along_random_path(x, active) / 2.5),
        "training": 1.5 * _softplus(easiest - 5.0),
        "width": _mean_or_zero([_well(20.0, deviation, 2.0) for deviation in widths]),
        "variety": _well(8.0, share - 0.25, 0.25),
        "connectivity": _connectivity(x),
        "latency": 0.5 * _softplus(len(x) - 16.0),
        "cost": 1.5 * _softplus(math.log2(1.0 + math.fsum(x.masses)) - 17.0),
    }


FORMULAS: dict[str, tuple[Callable[[Architecture], LandscapeTerms], Callable[[], ArchitectureDomain]]] = {
    "cnn": (cnn_terms, cnn_domain),
    "mlp": (mlp_terms, mlp_domain),
}


def _connectivity(x: Architecture) -> float:
    """Return the term of the deviation of extra edges per processing layer from `BEST_EXTRA_EDGES`."""
    processing = sum(x.family.by_name[layer.label].role == "processing" for layer in x.layers)
    extra = (len(x.edges) - len(x) + 1) / max(processing, 1)
    return _well(8.0, extra - BEST_EXTRA_EDGES, 0.25)


def _cnn_cost(x: Architecture, entering: Sequence[float]) -> float:
    """Return log2 of the multiplications per image: mass times kernel area, times the remaining pixels."""
    products = [
        mass * _kernel_size(layer.label) ** 2 * (1 + layer.label.startswith("res")) * _pixels(x, u, entering[u])
        for u, (layer, mass) in enumerate(zip(x.layers, x.masses, strict=True))
    ]
    return math.log2(1.0 + math.fsum(products))


def _pixels(x: Architecture, u: int, halvings: float) -> float:
    if x.family.by_name[x.layers[u].label].image == "collapses":
        return 1.0
    return (INPUT_SIDE / 2.0 ** (halvings + (x.layers[u].stride == 2))) ** 2


def _kernel_size(label: str) -> int:
    """Return the kernel size of a label: 3, 5 for ``conv3``, ``res5`` ...; 2 for a pool; 1 for all other labels."""
    return int(label[-1]) if label[-1].isdigit() else 2 if label.endswith("pool") else 1


def _along_random_path(x: Architecture, own: Sequence[float]) -> float:
    """Return the expected sum of a layer's own value along a random path from the input to the output."""
    ahead = [0.0] * len(x)
    for u in reversed(range(len(x))):
        ahead[u] = own[u] + (_mean_or_zero([ahead[v] for v in x.children[u]]) if x.children[u] else 0.0)
    return ahead[0]


def _on_easiest_paths(x: Architecture, own: Sequence[float]) -> float:
    """Return the mean, over layers with nonzero value, of the smallest sum of values along a path through the layer."""
    behind, ahead = [0.0] * len(x), [0.0] * len(x)
    for v in range(1, len(x)):
        behind[v] = min(behind[u] + own[u] for u in x.parents[v])
    for u in reversed(range(len(x) - 1)):
        ahead[u] = min(own[v] + ahead[v] for v in x.children[u])
    return _mean_or_zero([behind[u] + own[u] + ahead[u] for u in range(len(x)) if own[u]])


def _mean_or_zero(values: Sequence[float]) -> float:
    """Return the mean of some numbers; 0 if there are no numbers."""
    return math.fsum(values) / len(values) if values else 0.0


def _well(depth: float, deviation: float, width: float) -> float:
    """Return a bounded penalty: 0 without deviation, half of `depth` at `width`, at most `depth`."""
    return depth * deviation**2 / (deviation**2 + width**2)


def _softplus(t: float) -> float:
    return max(t, 0.0) + math.log1p(math.exp(-abs(t)))
