"""Domains of architectures: their bounds, their initial pools, and their mutations.

The initial pools are those of NASBOT (Kandasamy et al. 2018 and its released code).
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, fields
from itertools import islice
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from bostruct.checks import check_choice, check_integer, check_number, short_repr
from bostruct.contracts import (
    ADDED_LATER,
    DRAW_BLOCKS,
    DRAWS_UNSEEN,
    Domain,
    DomainError,
    Json,
    ParsedJson,
    PointError,
    Presented,
    SpaceExhausted,
    draw_unseen,
)
from bostruct.domains.architecture.layers import CNN, MLP, RECTIFIERS, SIGMOIDS, Family, family_from_json
from bostruct.domains.architecture.modifiers import MODIFIERS, enumerate_changes
from bostruct.domains.architecture.value import Architecture, all_masses, check_architecture
from bostruct.domains.space.choices import to_python

# probabilities of 1 to 5 modifiers in one mutation (the released NASBOT code)
MODIFIERS_PER_MUTATION = (0.5, 0.25, 0.125, 0.075, 0.05)
MODIFIER_TRIES = 50  # draws of a modifier and its site for one step
RESTARTS = 20
LONGEST_WALK = 8  # mutations between a member of the pool and a sampled point
BoundedMass: TypeAlias = Literal["processing", "total"]
LISTED_AFTER = 2  # blocks of draws without an unseen architecture, after which changes are listed
MAX_LISTED_CHANGES = 10_000  # maximum number of changes, which takes seconds


@dataclass(frozen=True)
class Bounds:
    """Limits on the architectures of a domain. The defaults are those of the published experiments.

    Parameters
    ----------
    min_layers, max_layers : int
        Number of layers, at least 1, input and output included.
    min_units, max_units : int
        Units of each layer that has units, at least 1.
    min_mass, max_mass : float
        Limits of the quantity that `mass` names, at least 0.
    max_in_degree : int, default 5
        Number of parents of a layer, at least 1.
    max_out_degree : int, default 55
        Number of children of a layer, at least 1.
    max_edges : int, default 200
        Number of edges, at least 1.
    max_halvings : float, default inf
        How often an image may be halved, at least 0.
    mass : {"processing", "total"}
        "processing": the mass of all processing layers (`Architecture.masses`). "total", as in the released code: the
        mass of all layers (`bostruct.domains.architecture.value.all_masses`): processing layers, a tenth of fully
        connected ones, and three times the mass of the input.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """

    min_layers: int = 5
    max_layers: int = 60
    min_units: int = 8
    max_units: int = 1024
    min_mass: float = 0.0
    max_mass: float = math.inf
    max_in_degree: int = 5
    max_out_degree: int = 55
    max_edges: int = 200
    max_halvings: float = math.inf
    mass: BoundedMass = field(default="processing", metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        for quantity in ("layers", "units"):
            low = check_integer(f"min_{quantity}", getattr(self, f"min_{quantity}"), 1)
            try:
                check_integer(f"max_{quantity}", getattr(self, f"max_{quantity}"), low)
            except ValueError as error:
                raise ValueError(f"{error}, which is min_{quantity}") from None
        for name in ("max_in_degree", "max_out_degree", "max_edges"):
            check_integer(name, getattr(self, name), 1)
        check_number("min_mass", self.min_mass, 0.0)
        check_choice("mass", self.mass, get_args(BoundedMass))
        for name, low in (("max_mass", self.min_mass), ("max_halvings", 0.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
                raise TypeError(f"{name}: expected a number, math.inf for no bound; got {short_repr(value)}")
            if not value >= low:
                raise ValueError(f"{name}: expected at least {low:g}, got {value}")

    def check(self, x: Architecture) -> None:
        """Check an architecture.

        Parameters
        ----------
        x : Architecture
            The architecture.

        Raises
        ------
        PointError
            If a layer or a quantity is out of bounds; the message names the first.
        """
        _check_within("layers", len(x), self.min_layers, self.max_layers)
        _check_within("edges", len(x.edges), 0, self.max_edges)
        columns = (
            ("units", [layer.units or self.min_units for layer in x.layers], self.min_units, self.max_units),
            ("parents", list(map(len, x.parents)), 0, self.max_in_degree),
            ("children", list(map(len, x.children)), 0, self.max_out_degree),
            ("halvings of the image", [halvings or 0 for halvings in x.halvings], 0, self.max_halvings),
        )
        if any(min(values) < low or max(values) > high for _, values, low, high in columns):
            for u, layer in enumerate(x.layers):
                for name, values, low, high in columns:
                    _check_within(f"layer {u} ({layer}): {name}", values[u], low, high)
        if self.min_mass > 0.0 or self.max_mass < math.inf:
            if self.mass == "total":
                _check_within("total mass", math.fsum(all_masses(x)), self.min_mass, self.max_mass)
            else:
                _check_within("mass of the processing layers", sum(x.masses), self.min_mass, self.max_mass)


@dataclass(frozen=True, repr=False)
class ArchitectureDomain(Domain):
    """All architectures of a family within bounds.

    pool: tuple of `Architecture`, at least one architecture to start from, each within the bounds.

    Raises DomainError.
    """

    reads_earlier_forms = True

    family: Family
    bounds: Bounds
    pool: tuple[Architecture, ...]

    def __post_init__(self) -> None:
        if not self.pool:
            raise DomainError("pool: expected at least one architecture to start from, got none")
        for position, x in enumerate(self.pool):
            try:
                self.check(x)
            except PointError as error:
                raise DomainError(f"pool[{position}]: {error}") from None

    def sample(self, m: int, rng: np.random.Generator) -> list[Architecture]:
        """Draw m valid, independent architectures.

        Each is a member of the pool after 1 to 8 mutations, all numbers equally likely; fewer if the bounds allow no
        further mutation. A uniform draw from infinitely many architectures does not exist, so draws are near the pool.
        """
        return [self._sample_walk(rng) for _ in range(m)]

    def sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Architecture:
        """Draw an architecture whose fingerprint is not in `seen`.

        If draws find none, changes of seen architectures are listed, up to a limit.

        Raises SpaceExhausted if no unseen architecture exists, or none is found.
        """
        x = draw_unseen(self.sample, self.keys, seen, rng, DRAW_BLOCKS[:LISTED_AFTER])
        x = self._find_unseen(seen, rng) if x is None else x
        x = draw_unseen(self.sample, self.keys, seen, rng, DRAW_BLOCKS[LISTED_AFTER:]) if x is None else x
        if x is None:
            raise SpaceExhausted(f"no unseen architecture in {DRAWS_UNSEEN} draws; {len(seen)} were seen")
        return x

    def check(self, x: object) -> None:
        """Raise PointError unless x is an architecture of the family within the bounds."""
        self.bounds.check(check_architecture(x, self.family))

    def parse(self, point: Presented) -> Architecture:
        """Read an architecture as a user writes it.

        Raises PointError.
        """
        x = _read_architecture(point, self.family)
        self.check(x)
        return x

    def encode(self, x: Architecture) -> Json:
        return x.to_json()

    def decode(self, data: ParsedJson) -> Architecture:
        """Rebuild an architecture from the result of `encode`; raises PointError."""
        return Architecture.from_json(data, self.family)

    def architectures(self, xs: Sequence[Architecture]) -> Sequence[Architecture]:
        return xs

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> Architecture:
        """Rebuild an architecture that a domain of other bounds encoded; raises PointError."""
        return self.decode(data)

    def key(self, x: Architecture) -> Hashable:
        return x.fingerprint

    def mutate(self, x: Architecture, rng: np.random.Generator) -> Architecture:
        """Return a valid architecture other than x after 1 to 5 modifiers; fewer are more likely.

        A later modifier that finds no site is left out, as published. Raises DomainError if the bounds allow no change.
        """
        for _ in range(RESTARTS):
            child = x
            for _ in range(1 + bisect(_CUMULATED_NUMBERS, rng.random())):
                child = self._modify(child, rng)
            if child != x:
                return child
        raise DomainError(f"no valid change of this architecture in {RESTARTS} x {MODIFIER_TRIES} draws: {x!r}")

    def to_json(self) -> Json:
        """Describe the domain as JSON."""
        bounds = {name: None if value == math.inf else to_python(value) for name, value in asdict(self.bounds).items()}
        if self.bounds.mass == "processing":
            del bounds["mass"]  # older descriptions have no mass
        pool = [x.to_json() for x in self.pool]
        return {"domain": "architecture", "family": self.family.to_json(), "bounds": bounds, "pool": pool}

    @classmethod
    def from_json(cls, data: ParsedJson) -> ArchitectureDomain:
        """Rebuild a domain from its description."""
        family = family_from_json(data["family"])
        given: dict[str, Any] = {name: math.inf if v is None else v for name, v in data["bounds"].items()}
        return cls(family, Bounds(**given), tuple(Architecture.from_json(x, family) for x in data["pool"]))

    def __repr__(self) -> str:
        changed = [f"{f.name}={v}" for f in fields(Bounds) if (v := getattr(self.bounds, f.name)) != f.default]
        return f"ArchitectureDomain({', '.join([self.family.name, *changed, f'pool of {len(self.pool)}'])})"

    def _sample_walk(self, rng: np.random.Generator) -> Architecture:
        x = self.pool[int(rng.integers(len(self.pool)))]
        for _ in range(1 + int(rng.integers(LONGEST_WALK))):
            try:
                x = self.mutate(x, rng)
            except DomainError:  # tight bounds may allow no further mutation
                break
        return x

    def _find_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Architecture | None:
        """Find an unseen architecture in the pool, or by changes that lead from the pool through seen architectures.

        Returns None if `MAX_LISTED_CHANGES` changes do not suffice; raises SpaceExhausted if all were seen.
        """
        visited: set[Hashable] = set()  # includes the order of the layers, on which the results of modifiers depend
        waiting: list[Architecture] = []
        children, left = list(self.pool), MAX_LISTED_CHANGES
        while True:
            fresh = {key: x for x in children if (key := (x.layers, x.edges)) not in visited}
            if unseen := [x for x in fresh.values() if x.fingerprint not in seen]:
                return unseen[int(rng.integers(len(unseen)))]
            if left <= 0:  # the last list may have been cut
                return None
            visited.update(fresh)
            waiting += fresh.values()
            if not waiting:
                raise SpaceExhausted(f"no change leads to an unseen architecture; {len(seen)} were seen")
            tried = list(islice(enumerate_changes(waiting.pop(int(rng.integers(len(waiting))))), left))
            children, left = [x for x in tried if x is not None and self._is_within_bounds(x)], left - len(tried)

    def _is_within_bounds(self, x: Architecture) -> bool:
        try:
            self.bounds.check(x)
        except PointError:
            return False
        return True

    def _modify(self, x: Architecture, rng: np.random.Generator) -> Architecture:
        for _ in range(MODIFIER_TRIES):
            modifier = _MODIFIERS[bisect(_CUMULATED, rng.random() * _CUMULATED[-1])]
            try:
                child = modifier(x, rng)
                self.bounds.check(child)
            except PointError:  # this draw is not valid; the next may be
                continue
            return child
        return x


def cnn_domain(
    bounds: Bounds = Bounds(), pool: Sequence[Presented] | None = None, family: Family = CNN
) -> ArchitectureDomain:
    """Return the domain of convolutional networks (Kandasamy et al. 2018).

    Parameters
    ----------
    bounds : Bounds, default Bounds()
        Limits on the architectures.
    pool : sequence, optional
        Architectures to start from, as accepted by `ArchitectureDomain.parse`. By default the 12 of the released NASBOT
        code that are within the bounds.
    family : Family, default CNN
        The family of layers.

    Raises
    ------
    DomainError
        If an architecture of `pool` is out of bounds, or no architecture of the default pool is within the bounds.
    TypeError
        If an argument is invalid.
    """
    return _domain_within(family, bounds, pool, cnn_pool())


def mlp_domain(
    bounds: Bounds = Bounds(), pool: Sequence[Presented] | None = None, family: Family = MLP, decision: str = "linear"
) -> ArchitectureDomain:
    """Return the domain of multilayer perceptrons (Kandasamy et al. 2018).

    Parameters
    ----------
    bounds : Bounds, default Bounds()
        Limits on the architectures.
    pool : sequence, optional
        Architectures to start from, as accepted by `ArchitectureDomain.parse`. By default the published ones that are
        within the bounds.
    family : Family, default MLP
        The family of layers.
    decision : {"linear", "softmax"}, default "linear"
        The decision layers of the default pool: "linear" for regression.

    Raises
    ------
    DomainError
        If an architecture of `pool` is out of bounds, or no architecture of the default pool is within the bounds.
    TypeError
        If an argument is invalid.
    """
    return _domain_within(family, bounds, pool, mlp_pool(decision))


def _domain_within(
    family: Family, bounds: Bounds, pool: Sequence[Presented] | None, default: Sequence[Architecture]
) -> ArchitectureDomain:
    if not isinstance(bounds, Bounds):
        raise TypeError(f"bounds: expected a Bounds, got {short_repr(bounds)}")
    if not isinstance(family, Family):
        raise TypeError(f"family: expected a Family, got {short_repr(family)}")
    if pool is not None:
        if isinstance(pool, Architecture | str) or not isinstance(pool, Sequence):
            raise TypeError(f"pool: expected a list of architectures or of their texts, got {short_repr(pool)}")
        return ArchitectureDomain(family, bounds, tuple(_read_pool(pool, family)))
    if not {label.name for x in default for label in x.family.labels} <= set(family.by_name):
        raise DomainError(f"pool: the default pool uses labels that the family {family.name} lacks; pass pool=")
    fitting = []
    refusal, smallest = "", min(default, key=len)
    for x in default:
        try:
            bounds.check(x)
        except PointError as error:
            refusal = str(error) if x is smallest else refusal
        else:
            fitting.append(x if family == x.family else Architecture(x.layers, x.edges, family))
    if not fitting:
        raise DomainError(
            f"no architecture of the default pool is within the bounds (the smallest: {refusal}); pass pool=[...]"
        )
    return ArchitectureDomain(family, bounds, tuple(fitting))


def _read_pool(pool: Sequence[Presented], family: Family) -> list[Architecture]:
    found = []
    for position, given in enumerate(pool):
        if not isinstance(given, Architecture | str | Mapping | list | tuple):
            raise DomainError(f"pool[{position}]: expected an Architecture or the text of one, got {short_repr(given)}")
        try:
            found.append(_read_architecture(given, family))
        except PointError as error:
            raise DomainError(f"pool[{position}]: {error}") from None
    return found


def _read_architecture(given: Presented, family: Family) -> Any:
    """Read an architecture of the family as a user writes it; return any other object unchanged."""
    if isinstance(given, str):
        return Architecture.from_text(given, family)
    if isinstance(given, Mapping):
        return Architecture.from_json(given, family)
    return Architecture.chain(given, family) if isinstance(given, list | tuple) else given


def _check_within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        allowed = f"between {low:g} and {high:g}" if high < math.inf else f"at least {low:g}"
        raise PointError(f"{name}: expected {allowed}, got {value:g}")


_MODIFIERS = [modifier for modifier, _ in MODIFIERS]
_CUMULATED = np.cumsum([mass for _, mass in MODIFIERS]).tolist()
_CUMULATED_NUMBERS = (np.cumsum(MODIFIERS_PER_MUTATION) / np.sum(MODIFIERS_PER_MUTATION)).tolist()
BLOCK_UNITS = (64, 128, 256, 512)
MLP_SHAPES = ((3, 2), (4, 2), (5, 2), (3, 4), (6, 2), (8, 2), (6, 3), (10, 2), (4, 6), (8, 3))
BRANCHED_LAYERS = (
    "ip conv7-64 conv5-128/2 conv3-64/2 conv3-64 avg-pool max-pool max-pool fc-64 conv3-128 softmax max-pool fc-64 "
    "softmax op"
)
BRANCHED_EDGES = (
    *((0, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6), (3, 6), (4, 7), (5, 8), (6, 12), (7, 9), (8, 10), (9, 11)),
    *((10, 14), (11, 12), (12, 13), (13, 14)),
)


def vgg(repeats: int) -> Architecture:
    """Return a chain like VGG (Simonyan & Zisserman 2015)."""
    layers = ["conv3-64"] * 2 + ["max-pool"] + ["conv3-128"] * 2 + ["max-pool"]
    for units in (128, 256, 512):
        layers += [f"conv3-{units}"] * repeats + ["max-pool"]
    return Architecture.chain([*layers, "fc-128", "fc-256", "fc-512", "softmax"], CNN)


def blocks(n_blocks: int, repeats: int, kind: str = "conv3") -> Architecture:
    """Return a chain of blocks after conv7; each block starts with stride 2.

    n_blocks: int, 1 to 4.
    kind: label of these layers, ``conv3`` or ``res3``.
    """
    layers = ["conv7-64", "max-pool"]
    for units in BLOCK_UNITS[:n_blocks]:
        layers += [f"{kind}-{units}/2"] + [f"{kind}-{units}"] * (repeats - 1)
    return Architecture.chain([*layers, "avg-pool", f"fc-{2 * BLOCK_UNITS[n_blocks - 1]}", "softmax"], CNN)


def branching_cnn() -> Architecture:
    """Return the only architecture of the pool that is not a chain: three branches, two decision layers."""
    return Architecture(BRANCHED_LAYERS.split(), BRANCHED_EDGES, CNN)


def cnn_pool() -> tuple[Architecture, ...]:
    """Return the 12 initial convolutional networks of the released code, of 10 to 27 layers."""
    shapes = ((3, 1), (3, 2), (3, 3), (3, 4), (3, 5), (4, 4))
    return (*map(vgg, (1, 2, 3, 4)), *(blocks(*shape) for shape in shapes), blocks(3, 2, "res3"), branching_cnn())


def mlp_pool(decision: str = "linear") -> tuple[Architecture, ...]:
    """Return the 10 initial perceptrons: alternating blocks of rectifiers and sigmoids, 64, 128, 256, 512 ... units.

    decision: ``linear`` (regression) or ``softmax``.

    All blocks from the fourth onward have 512 units. The released code gives each block the units of a later block and
    draws the activations at every call; here, blocks have the intended units, and activations take turns.
    """
    check_choice("decision", decision, ("linear", "softmax"))
    pool = []
    for n_blocks, repeats in MLP_SHAPES:
        layers = []
        for block in range(n_blocks):
            group = SIGMOIDS if block % 2 else RECTIFIERS
            units = BLOCK_UNITS[min(block, len(BLOCK_UNITS) - 1)]
            first = block // 2 * repeats
            layers += [f"{group[(first + k) % len(group)]}-{units}" for k in range(repeats)]
        pool.append(Architecture.chain([*layers, decision], MLP))
    return tuple(pool)
