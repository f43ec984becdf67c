"""Joint domains: points of several parts, each from its own domain."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle, groupby, islice
from typing import Any

import numpy as np

from bostruct.checks import check_draw, check_part, short_repr, try_mutation
from bostruct.contracts import (
    INFINITE,
    AtLeast,
    Batch,
    Choice,
    ChoiceDomain,
    Count,
    Domain,
    DomainError,
    DomainTraits,
    Exact,
    Infeasible,
    Json,
    LocalDomain,
    ParsedJson,
    Point,
    PointError,
    Presented,
    SpaceExhausted,
    TreeDomain,
    WrongPart,
    draw_unseen,
)
from bostruct.domains.part_choices import PartChoices, PartDecisions
from bostruct.domains.space.call_limit import call_limit
from bostruct.domains.space.points import refuse_dict
from bostruct.domains.space.space import Space

LISTED_NEIGHBORS = 200  # neighbors of one part; up to this number, all are equally likely
DRAWN_NEIGHBORS = 2_000  # neighbors of one part if constraints leave too few; a program may have infinitely many
RESAMPLING_TRIES = 100  # draws of some choices until the constraints hold


@dataclass(frozen=True)
class JointPoint:
    """A point of a joint domain."""

    parts: tuple[Point, ...] = field(compare=False)
    key: tuple[Hashable, ...] = field(repr=False)


@dataclass(frozen=True)
class Joint(LocalDomain, ChoiceDomain, TreeDomain):
    """A product of named domains, as made by `joint_domain`.

    Users write points as dicts of the parts, and objectives receive such dicts. A batch is a list. Neighbors, named
    choices and decisions exist if all parts have them.
    """

    part_names: tuple[str, ...]
    domains: tuple[Domain, ...]
    label_in_messages = "a joint domain"  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    @property
    def traits(self) -> DomainTraits:
        """Neighbors, choices and decisions if all parts have them."""
        parts = [domain.traits for domain in self.domains]
        return DomainTraits(
            self if all(one.local for one in parts) else None,
            self if all(one.choices for one in parts) else None,
            self if all(one.tree for one in parts) else None,
            None,
            None,
            mutable=True,
        )

    @property
    def parts(self) -> dict[str, Domain]:
        """The domain of each part by name."""
        return dict(zip(self.part_names, self.domains, strict=True))

    @property
    def size(self) -> float:
        """The product of the parts' sizes."""
        sizes = [domain.size for domain in self.domains]
        return math.inf if math.inf in sizes else math.prod(sizes)

    def count(self) -> Count:
        total: Count = Exact(1)
        for domain in self.domains:
            own = domain.count()
            if INFINITE in (own, total):
                return INFINITE
            is_exact = isinstance(own, Exact) and isinstance(total, Exact)
            total = (Exact if is_exact else AtLeast)(int(own.count * total.count))
        return total

    @property
    def pool(self) -> list[JointPoint]:
        """The pools of the parts, repeated to equal lengths and joined row by row; empty if no part has a pool.

        Parts without a pool are drawn with one seed, so that the pool is the same in every study.
        """
        pools = [domain.pool for domain in self.domains]
        if not (n := max(map(len, pools))):
            return []
        rng = np.random.default_rng(0)
        both = zip(self.domains, pools, strict=True)
        return self.points([list(islice(cycle(pool), n)) if len(pool) else part.sample(n, rng) for part, pool in both])

    def sample(self, m: int, rng: np.random.Generator) -> list[JointPoint]:
        """Draw m points whose parts are independent, each drawn by its domain.

        Raises TypeError, ValueError.
        """
        check_draw(m, rng)
        return self.points([domain.sample(m, rng) for domain in self.domains])

    def sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> JointPoint:
        """Draw a point whose key is not in `seen`.

        Raises SpaceExhausted if no such point exists, or if the parts find none.
        """
        if (x := draw_unseen(self.sample, self.keys, seen, rng)) is not None:
            return x
        try:
            parts = _sample_unseen_parts(self.domains, seen, rng)
        except SpaceExhausted as error:
            more = "" if len(seen) >= self.size else "; more may exist"
            raise SpaceExhausted(
                f"no unseen point of the joint domain was found; {len(seen)} were seen{more}"
            ) from error
        return self._point(parts)

    def check(self, x: object) -> None:
        """Raise PointError unless x is a point of the domain; the message names the invalid part."""
        if not isinstance(x, JointPoint) or len(x.parts) != len(self.domains):
            raise PointError(f"point: expected a JointPoint of {', '.join(self.part_names)}, got {short_repr(x)}")
        for name, domain, part in zip(self.part_names, self.domains, x.parts, strict=True):
            read_part(name, domain.check, part)

    def parse(self, point: object) -> JointPoint:
        """Read a point from a dict of values that the parts' domains can parse.

        Raises PointError, which names the invalid part.
        """
        return self._from_mapping(point, [domain.parse for domain in self.domains])

    def present(self, x: JointPoint) -> dict[str, Presented]:
        """Return the argument of an objective: a dict from names to the values that the parts' domains present."""
        parts = zip(self.part_names, self.domains, x.parts, strict=True)
        return {name: domain.present(part) for name, domain, part in parts}

    def encode(self, x: JointPoint) -> Json:
        """Return a point as JSON, a dict from names to the parts."""
        parts = zip(self.part_names, self.domains, x.parts, strict=True)
        return {name: domain.encode(part) for name, domain, part in parts}

    def decode(self, data: ParsedJson) -> JointPoint:
        """Rebuild a point from its description; raises PointError for data that `encode` never writes."""
        return self._from_mapping(data, [domain.decode for domain in self.domains])

    def key(self, x: JointPoint) -> Hashable:
        return x.key

    def part(self, name: str, xs: Iterable[JointPoint]) -> Batch:
        if name not in self.part_names:
            raise KeyError(name)
        i = self.part_names.index(name)
        return self.domains[i].join([x.parts[i] for x in xs])

    def with_part(self, name: str, xs: Iterable[JointPoint], parts: Batch) -> list[JointPoint]:
        if name not in self.part_names:
            raise KeyError(name)
        i = self.part_names.index(name)
        frozen = zip(*_freeze_batch(self.domains[i], parts), strict=True)
        return [_with_part(x, i, part, key) for x, (part, key) in zip(xs, frozen, strict=True)]

    def points(self, batches: Iterable[Batch]) -> list[JointPoint]:
        """Join batches of each part into points."""
        own = [_freeze_batch(domain, batch) for domain, batch in zip(self.domains, batches, strict=True)]
        parts, keys = zip(*(batch for batch, _ in own), strict=True), zip(*(keys for _, keys in own), strict=True)
        return [JointPoint(part, key) for part, key in zip(parts, keys, strict=True)]

    def mutate(self, x: JointPoint, rng: np.random.Generator) -> JointPoint:
        """Mutate one part, each with equal probability; raises DomainError if no part has another point."""
        for i in rng.permutation(len(self.domains)).tolist():
            changed = try_mutation(self.domains[i], x.parts[i], rng)
            if changed is not None:  # otherwise this part has no other point; the next part may have one
                return self._replace_part(x, i, [changed])[0]
        raise DomainError(f"no point other than {short_repr(self.present(x), 200)} was found by changing one part")

    @cached_property
    def _local_parts(self) -> list[LocalDomain]:
        return [local for domain in self.domains if (local := domain.traits.local)]

    def crossover(self, x: JointPoint, y: JointPoint, rng: np.random.Generator) -> JointPoint:
        """Cross over each part if its domain can; otherwise take the part of x or of y with equal probability."""
        child = []
        for domain, a, b in zip(self.domains, x.parts, y.parts, strict=True):
            whole = a if rng.random() < 0.5 else b
            crossed = domain.crossover(a, b, rng)
            child.append(whole if crossed is None else crossed)
        return self._point(child)

    def neighbors(self, x: JointPoint) -> list[JointPoint]:
        """List the valid points in which a neighbor replaces one part, by part and in the order of its neighbors.

        Raises PointError for a dict.
        """
        refuse_dict(x)
        near = [domain.neighbors(part) for domain, part in zip(self._local_parts, x.parts, strict=True)]
        return self._keep_valid(self._apply(x, self._changes(x, near)))

    def sample_neighbors(self, x: JointPoint, m: int, rng: np.random.Generator) -> list[JointPoint]:
        """Return `neighbors`, or m of them drawn without replacement if there are more.

        At most max(m, 200) neighbors of each part are used. If constraints leave fewer than m of these, all neighbors
        of a `Space` are used, and at most max(m, 2,000) of any other part. Raises PointError for a dict.
        """
        refuse_dict(x)
        most = max(m, LISTED_NEIGHBORS)
        near = self._sample_near(x, [most] * len(self.domains), rng)
        found = self._valid_changes(x, self._changes(x, near), m, rng)
        if len(found) == m or all(len(batch) < most for batch in near) or call_limit().is_reached:
            return found
        drawn = max(m, DRAWN_NEIGHBORS)
        more = [math.inf if domain.lists_many else drawn for domain in self._local_parts]
        return self._valid_changes(x, self._changes(x, self._sample_near(x, more, rng)), m, rng)

    def _sample_near(self, x: JointPoint, most: Sequence[float], rng: np.random.Generator) -> list[Batch]:
        """Return at most `most` neighbors of each part of x; all neighbors if `most` is infinite."""
        parts = zip(self._local_parts, x.parts, most, strict=True)
        return [
            domain.neighbors(part) if n == math.inf else domain.sample_neighbors(part, int(n), rng)
            for domain, part, n in parts
        ]

    def coordinates(self, x: JointPoint) -> list[Choice]:
        return self._choices.coordinates(x.parts)

    def names(self, x: JointPoint) -> tuple[str, ...]:
        return self._choices.names_of(x.parts)

    def resample(self, x: JointPoint, names: Sequence[str], rng: np.random.Generator) -> JointPoint:
        by_part = self._choices.sort_by_part(names)
        for _ in range(RESAMPLING_TRIES):
            y = x
            for i, own in by_part.items():
                part = self.domains[i].resample(y.parts[i], own, rng)  # type: ignore[attr-defined]
                y = self._replace_part(y, i, [part])[0]
            y = self._apply_conditions([y], rng)[0]
            if self._is_valid(y):
                return y
        return x

    def decisions(self, x: JointPoint) -> tuple[int, ...]:
        return self._decisions.of(x.parts)

    def options(self, made: Sequence[int]) -> int:
        return self._decisions.options(made)

    def choice_after(self, made: Sequence[int]) -> Choice | None:
        i, own = self._decisions.split(made)[-1]
        following = self.domains[i].choice_after(own)  # type: ignore[attr-defined]
        return None if following is None else self._choices.rename(i, following)

    def decide(self, name: str, value: float) -> int:
        ((i, (own,)),) = self._choices.sort_by_part([name]).items()
        return self.domains[i].decide(own, value)  # type: ignore[attr-defined]

    def roll_out(self, made: Sequence[int], rng: np.random.Generator) -> JointPoint:
        for _ in range(RESAMPLING_TRIES):
            x = self._apply_conditions([self._point(self._decisions.roll_out(made, rng))], rng)[0]
            if self._is_valid(x):
                return x
        raise Infeasible(f"no valid point with the choices {tuple(made)} was found in up to {RESAMPLING_TRIES} draws")

    def to_json(self) -> Json:
        """Describe the domain as JSON."""
        return {"domain": "joint", "parts": self._describe_parts()}

    def _describe_parts(self) -> dict[str, Json]:
        return {name: domain.to_json() for name, domain in zip(self.part_names, self.domains, strict=True)}

    def _from_mapping(self, data: object, read: Sequence[Callable[[ParsedJson], Point]]) -> JointPoint:
        if not isinstance(data, Mapping) or data.keys() != set(self.part_names):
            raise PointError(
                f"point: expected a dict with the keys {list(self.part_names)}, got {short_repr(data, 200)}"
            )
        return self._point([read_part(name, one, data[name]) for name, one in zip(self.part_names, read, strict=True)])

    @cached_property
    def _choices(self) -> PartChoices:
        return PartChoices(self.part_names, self.domains)

    @cached_property
    def _decisions(self) -> PartDecisions:
        return PartDecisions(self.domains)

    def _apply_conditions(self, xs: Sequence[JointPoint], rng: np.random.Generator | None) -> list[JointPoint]:
        """Make parts agree with each other; the parts of a joint domain always agree."""
        return list(xs)

    def _is_valid(self, x: JointPoint) -> bool:
        """Return whether valid parts form a valid point; in a joint domain they always do."""
        return True

    def _keep_valid(self, xs: Iterable[JointPoint]) -> list[JointPoint]:
        return [x for x in xs if self._is_valid(x)]

    def _changes(self, x: JointPoint, near: Sequence[Batch]) -> list[tuple[int, Point]]:
        """Return the parts that may replace a part of x, each with the position of the replaced part."""
        parts = zip(self.domains, near, strict=True)
        return [(i, part) for i, (domain, batch) in enumerate(parts) for part in domain.join(batch)]

    def _valid_changes(
        self, x: JointPoint, changes: Sequence[tuple[int, Point]], m: int, rng: np.random.Generator
    ) -> list[JointPoint]:
        """Return x after each change that gives a valid point, or m such points drawn uniformly, in order."""
        if len(changes) <= m:
            return self._keep_valid(self._apply(x, changes))
        found: dict[int, JointPoint] = {}
        order = iter(rng.permutation(len(changes)).tolist())
        while len(found) < m and (chosen := list(islice(order, m - len(found)))):  # test no more than needed
            changed = zip(chosen, self._apply(x, [changes[k] for k in chosen]), strict=True)
            found |= {k: y for k, y in changed if self._is_valid(y)}
        return [found[k] for k in sorted(found)]

    def _apply(self, x: JointPoint, changes: Sequence[tuple[int, Point]]) -> list[JointPoint]:
        """Return x after each change, with the conditions on the changed part applied."""
        by_part = groupby(changes, key=lambda change: change[0])
        changed = [y for i, own in by_part for y in self._replace_part(x, i, [part for _, part in own])]
        return self._apply_conditions(changed, None)

    def _point(self, parts: Iterable[Point]) -> JointPoint:
        return self.points([[part] for part in parts])[0]

    def _replace_part(self, x: JointPoint, i: int, batch: Batch) -> list[JointPoint]:
        """Return x with the i-th part replaced by each part of a batch."""
        return [_with_part(x, i, *own) for own in zip(*_freeze_batch(self.domains[i], batch), strict=True)]


def joint_domain(parts: Mapping[str, object]) -> Joint:
    """Return a domain of several parts, such as an architecture and its training.

    Each part keeps its constraints. A point is a dict from the names to the points of the parts.

    Parameters
    ----------
    parts : dict
        At least one domain by name: a `Space`, `cnn_domain()`, another joint domain, your own, or a dict of variables.

    Raises
    ------
    DomainError
        If a part is invalid.
    """
    if not isinstance(parts, Mapping) or not parts:
        raise DomainError(f"parts: expected a mapping from at least one name to a domain, got {short_repr(parts)}")
    domains = []
    for name, part in parts.items():
        if not isinstance(name, str) or not name:
            raise DomainError(f"parts: expected names that are non-empty strings, got {short_repr(name)}")
        domains.append(as_part(name, part))
    return Joint(tuple(parts), tuple(domains))


def as_part(name: str, given: object) -> Domain:
    """Return a domain, or the `Space` of a dict of variables.

    Raises WrongPart for anything else.
    """
    if isinstance(given, Mapping):
        return Space(given)
    return check_part(f"parts: {name}", given, Domain, also="a dict of variables or ", error=WrongPart)


def _with_part(x: JointPoint, i: int, part: Point, key: Hashable) -> JointPoint:
    before, after = slice(None, i), slice(i + 1, None)
    return JointPoint((*x.parts[before], part, *x.parts[after]), (*x.key[before], key, *x.key[after]))


def _freeze_batch(domain: Domain, batch: Batch) -> tuple[Batch, list[Hashable]]:
    """Return a read-only batch for joint points, and its keys."""
    own = domain.join(batch)
    if isinstance(own, np.ndarray):
        own.flags.writeable = False
    return own, domain.keys(own)


def read_part(name: str, read: Callable[[Presented], object], given: object) -> Any:
    """Return the result of reading a part; a PointError names the part."""
    try:
        return read(given)
    except PointError as error:
        raise PointError(f"{name}: {error}" if name else str(error)) from None


def _sample_unseen_parts(domains: Sequence[Domain], seen: Iterable[Any], rng: np.random.Generator) -> list[Point]:
    """Draw parts whose keys together are not in `seen`: the first part, then other parts that were not seen with it.

    Nothing is enumerated, and the result is as exact as `sample_unseen` of the parts. Raises SpaceExhausted.
    """
    first, *others = domains
    seen_with: dict[Hashable, list[tuple[Hashable, ...]]] = {}
    for own, *rest in seen:
        seen_with.setdefault(own, []).append(tuple(rest))
    if not others:
        return [first.sample_unseen(frozenset(seen_with), rng)]
    full: set[Hashable] = set()
    while True:
        x = first.sample_unseen(frozenset(full), rng)
        key = first.key(x)
        try:
            return [x, *_sample_unseen_parts(others, seen_with.get(key, ()), rng)]
        except SpaceExhausted:
            full.add(key)
