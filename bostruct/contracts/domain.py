"""Domains: sets of points, and their optional abilities."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bostruct.contracts.errors import DomainError, PointError, SpaceExhausted
from bostruct.contracts.types import INFINITE, Array, Batch, Count, Exact, IntArray, Json, ParsedJson, Point, Presented

DRAWS_UNSEEN = 1024
DRAW_BLOCKS = (1, 15, 112, 896)  # small blocks first, because most first draws are unseen
MOST_LISTED = 10_000  # maximum number of points listed to look up a point
MUTATION_DRAWS = 100  # maximum number of draws to find another point, in a domain without its own changes


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of a point.

    Parameters
    ----------
    path : str
        The name of the choice, or its place in a program.
    kind : str
        The group of a program's choices that it belongs to, such as ``Conv2D.filters``; for a variable its name.
    value : float
        The position of its value among the `count` values; for a continuous choice, a share of its range.
    count : float
        The number of possible values; ``math.inf`` for a continuous choice.
    ordered : bool
        True if neighboring values are similar.
    order : tuple of int, optional
        The items in their order, first place first; empty for a later step of an order that an earlier choice of the
        point contains; None if the choice does not describe an order.
    """

    path: str
    kind: str
    value: float
    count: float
    ordered: bool
    order: tuple[int, ...] | None = None


class Polytope(NamedTuple):
    """Linear limits on the continuous coordinates u of a point: low <= u <= high, equal u = total, upper u <= limit.

    Coordinates that the point lacks are ignored.

    Attributes
    ----------
    low, high : array of shape (c,)
        Bounds.
    equal : array of shape (e, c)
        Coefficients of the equations.
    total : array of shape (e,)
        Right-hand sides of the equations.
    upper : array of shape (k, c)
        Coefficients of the inequalities.
    limit : array of shape (k,)
        Right-hand sides of the inequalities.
    """

    low: Array
    high: Array
    equal: Array
    total: Array
    upper: Array
    limit: Array

    def join(self, other: Polytope) -> Polytope:
        """Return the intersection of two polytopes.

        Parameters
        ----------
        other : Polytope
            Limits on the same coordinates.
        """
        return Polytope(
            np.maximum(self.low, other.low),
            np.minimum(self.high, other.high),
            np.concatenate([self.equal, other.equal]),
            np.concatenate([self.total, other.total]),
            np.concatenate([self.upper, other.upper]),
            np.concatenate([self.limit, other.limit]),
        )


class Domain(ABC):
    """A set of points. Only `sample` must be written.

    By default a point is what the objective receives: a number, a string, or a tuple or dict of them. Override
    `present` and `parse` if the objective receives another form, and `encode` and `decode` for any other kind of point.

    Two domains are equal by ``==`` if their descriptions (`to_json`) are equal.

    Attributes
    ----------
    size
        The number of points, or an upper bound if constraints leave fewer; ``math.inf`` for an infinite domain.
    variables : mapping of str to Any, default {}
        The variables by name, in order, if a point is a row of integers and each variable owns adjacent columns of it;
        else empty. A variable defines its width and the meaning of its columns.
    parts
        The domains by name, in order, if a point has one point of each of several domains; else empty.
    constraints : tuple of Any, default ()
        Predicates of a point that are not part of the domain's description; may be empty.
    pool : Batch, default ()
        Valid points to start a search from; may be empty.
    when : mapping of str to Any, default {}
        The conditions under which a larger point contains a point of this domain; empty if it always does.
    n_continuous
        The number of continuous coordinates of each point, c. A search may change them by any amount. Each is a share
        of its range, from 0 to 1, on the scale on which the domain is uniform. The share is NaN if a point lacks the
        coordinate, for example under a condition; no score depends on it then.
    lists_many : bool, default False
        True if the domain has neighbors, and lists the neighbors of many points together at a low cost.
    reads_earlier_forms : bool, default False
        True if `decode_from` reads points of another description of the domain, so that a study may change the domain.
    is_whole : bool, default True
        False if only the description of the domain is known, but none of its points.
    """

    variables: Mapping[str, Any] = {}
    constraints: tuple[Any, ...] = ()
    pool: Batch = ()
    when: Mapping[str, Any] = {}
    lists_many: bool = False
    reads_earlier_forms: bool = False
    is_whole: bool = True

    @property
    def size(self) -> float:
        return math.inf

    @property
    def parts(self) -> Mapping[str, Domain]:
        return {}

    @property
    def named_values(self) -> Mapping[str, Any]:
        """The variables and domains whose values a point's dict holds, by name, in the order of the dict."""
        return {**self.variables, **self.parts}

    @property
    def n_continuous(self) -> int:
        return 0

    @property
    def label_in_messages(self) -> str:
        """The name of the domain in messages; by default the name of its class."""
        return type(self).__name__

    @property
    def traits(self) -> DomainTraits:
        """The traits of the domain, from the bases of its class."""
        return DomainTraits.of(self)

    @abstractmethod
    def sample(self, m: int, rng: np.random.Generator) -> Batch:
        """Draw m valid points uniformly and independently; under tight constraints, as close to that as is cheap.

        The distribution is uniform on the scale of the domain, if it has one: a space draws each variable given those
        that it depends on, numbers on their scale, and all lengths of a sequence, or sizes of a subset, with equal
        probability.

        Parameters
        ----------
        m : int
            Number of points, at least 0.
        rng : Generator
            Random number generator.

        Raises
        ------
        DomainError
            If the domain has no valid point, such as a space with constraints that no point satisfies.
        """

    def sample_candidates(self, m: int, starts: Batch, rng: np.random.Generator) -> Batch:
        """Draw valid points to choose from, as `sample` does, or fewer without repeats; at least one if m is.

        Parameters
        ----------
        m : int
            Maximum number of points.
        starts : Batch
            Known points, from which others may be cheaper to find; may be empty.
        rng : Generator
            Random number generator.
        """
        return self.sample(m, rng)

    def sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Point:
        """Draw a valid point whose key is not in `seen`; raise `SpaceExhausted` if none is left or found.

        Parameters
        ----------
        seen : AbstractSet
            Keys of points, as `keys` returns them.
        rng : Generator
            Random number generator.
        """
        if (x := draw_unseen(self.sample, self.keys, seen, rng)) is not None:
            return x
        listed = self.list_few(max(DRAWS_UNSEEN, 2 * len(seen)))
        left = [] if listed is None else [x for x in listed if self.key(x) not in seen]
        if left:
            return left[int(rng.integers(len(left)))]
        more = "; more may exist" if listed is None and len(seen) < self.size else ""
        raise SpaceExhausted(f"no unseen point of {type(self).__name__} was found; {len(seen)} were seen{more}")

    def list_few(self, most: int) -> Batch | None:
        """List all points once, in a fixed order; None if there may be more than `most`, or too many to list.

        Parameters
        ----------
        most : int
            Maximum number of points, at least 1.
        """
        return None

    def count(self) -> Count:
        """Count the points: `Exact`, `AtLeast` if not all could be counted, or `INFINITE`."""
        return INFINITE if self.size == math.inf else Exact(int(self.size))

    def count_at_most(self) -> float:
        """Return an upper bound of the number of points, without listing any."""
        return self.size

    def check(self, x: Point) -> None:
        """Raise a `PointError` that names the invalid part, unless x is a valid point.

        By default a point is valid if it has a key and, in a domain small enough to list, is in the list.

        Parameters
        ----------
        x : Point
            A point in the domain's own form, or any other object, which is invalid.
        """
        refusal = f"point: expected one of {type(self).__name__}, got {x!r:.200}"
        try:
            key = self.key(x)
            hash(key)
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            raise PointError(refusal) from error
        if (known := self._listed_keys) is not None and key not in known:
            raise PointError(refusal)

    @cached_property
    def _listed_keys(self) -> frozenset[Hashable] | None:
        """The keys of all points, if they are few enough to list."""
        listed = self.list_few(MOST_LISTED)
        return None if listed is None else frozenset(self.keys(listed))

    def parse(self, point: Presented) -> Point:
        """Convert user input to a valid point; raise `PointError` for input of any type that is invalid.

        Parameters
        ----------
        point : Presented
            A point in the form of `present`, or any other object.
        """
        x = Domain.decode(self, point)  # a user may write lists instead of tuples
        self.check(x)
        return x

    def present(self, x: Point) -> Presented:
        """Return what an objective receives for a point: the inverse of `parse`.

        Parameters
        ----------
        x : Point
            A point in the domain's own form.
        """
        return x

    def present_all(self, xs: Batch) -> list[Presented]:
        """Return what `present` makes of each of some points.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return [self.present(x) for x in xs]

    def encode(self, x: Point) -> Json:
        """Return a point as JSON.

        Parameters
        ----------
        x : Point
            One point.
        """
        return x

    def decode(self, data: ParsedJson) -> Point:
        """Rebuild a point from its JSON: the exact inverse of `encode`.

        Parameters
        ----------
        data : ParsedJson
            The output of `encode`; by default its lists become tuples. Other JSON raises an error of Python or bostruct
            (LookupError, TypeError, ValueError, AttributeError, ArithmeticError), or gives a point that `check`
            rejects.
        """
        if isinstance(data, Mapping):
            return {name: Domain.decode(self, one) for name, one in data.items()}
        return tuple(Domain.decode(self, one) for one in data) if isinstance(data, list | tuple) else data

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> Point:
        """Rebuild a point that another form of the domain encoded.

        The point may be invalid: call `check`. JSON in any other form raises what `decode` raises.

        Parameters
        ----------
        data : ParsedJson
            The output of `encode` of the other form.
        description : ParsedJson
            The output of `to_json` of the other form.

        Raises
        ------
        PointError
            If this form lacks the point.
        """
        if description != self.to_json():
            raise PointError(f"{type(self).__name__} does not read points of its earlier forms")
        return self.decode(data)

    def key(self, x: Point) -> Hashable:
        """Return the key of one point, as `keys` does for a batch.

        Parameters
        ----------
        x : Point
            One point.
        """
        return _freeze_json(self.encode(x))

    def keys(self, batch: Batch) -> list[Hashable]:
        """Return a list of m hashable keys, equal exactly if the points are equal.

        Parameters
        ----------
        batch : Batch
            m points.
        """
        return [self.key(x) for x in batch]

    def from_keys(self, keys: Collection[Hashable]) -> Batch | None:
        """Return the points with the given keys, the inverse of `keys`; None if keys do not determine points.

        Parameters
        ----------
        keys : collection of Hashable
            m keys, in any order. A long study stores keys instead of points if they determine the points.
        """
        return None

    def encodings(self, batch: Batch) -> list[Hashable]:
        """Return a hashable for each of m points, equal if their forms are equal, at no more cost than `keys`.

        A domain may represent a point in several forms, such as a program by the choices that lead to it. A change
        turns a form into another form, so some neighbors of a point may equal each other, or the point itself.

        Parameters
        ----------
        batch : Batch
            m points.
        """
        return self.keys(batch)

    def take(self, batch: Batch, positions: Sequence[int] | IntArray) -> Batch:
        """Return the points at the given positions of a batch, as a batch.

        Parameters
        ----------
        batch : Batch
            m points.
        positions : sequence of int or IntArray
            Positions in 0..m - 1, in any order, with repeats; if empty, the result is the empty batch.
        """
        return [batch[i] for i in positions]

    def join(self, *batches: Batch) -> Batch:
        """Concatenate batches in their order.

        Parameters
        ----------
        batches : Batch
            Any number of batches; none give the empty batch.
        """
        return [x for batch in batches for x in batch]

    def mutate(self, x: Point, rng: np.random.Generator) -> Point:
        """Return a valid point other than x, one random change away.

        By default it draws any other point.

        Parameters
        ----------
        x : Point
            One point.
        rng : Generator
            Random number generator.

        Raises
        ------
        DomainError
            If no other point was found.
        """
        key = self.key(x)
        for _ in range(MUTATION_DRAWS):
            (drawn,) = self.sample(1, rng)
            if self.key(drawn) != key:
                return drawn
        listed = self.list_few(MOST_LISTED)
        if others := [] if listed is None else [y for y in listed if self.key(y) != key]:
            return others[int(rng.integers(len(others)))]
        raise DomainError(f"no other point was found in {MUTATION_DRAWS} draws")

    def crossover(self, x: Point, y: Point, rng: np.random.Generator) -> Point | None:
        """Return a valid point that takes each part from x or y; x if no such point is found.

        Parameters
        ----------
        x, y : Point
            The parents; if both are x, the result is x.
        rng : Generator
            Random number generator.

        Returns
        -------
        Point or None
            None if the domain cannot cross points.
        """
        return None

    def tokens(self, xs: Batch) -> list[IntArray]:
        """Return the tokens of each point: the hash of each of its features, as often as the feature occurs.

        By default the features are the numbers and strings in the JSON of a point, with their places.

        Parameters
        ----------
        xs : Batch
            m points.

        Returns
        -------
        list of array
            For each point the 63-bit hashes, the same in every process.
        """
        encoded = map(self.encode, xs)
        return [np.array([token(one) for one in _list_entries(data, "")], dtype=np.int64) for data in encoded]

    @property
    def most_described(self) -> float:
        """Maximum number of points whose tokens one suggestion should need, at least 1; depends on the domain alone."""
        return math.inf

    def shares(self, xs: Batch) -> Array:
        """Return the continuous coordinates of m points (m, c), in [0, 1]; NaN if a point lacks one.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return np.zeros((len(xs), 0))

    def polytopes(self, xs: Batch) -> Sequence[Polytope] | None:
        """Return the limits on the continuous coordinates of each of m points; None, the default, means [0, 1] for all.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        del xs
        return None

    def with_shares(self, xs: Batch, shares: Array) -> Batch:
        """Return points with other continuous coordinates, rounded to the nearest that the domain has.

        Constraints and conditions are not checked: a point keeps the coordinates that it has, and gains none.

        Parameters
        ----------
        xs : Batch
            m points.
        shares : array of shape (m, c)
            Coordinates in [0, 1]; ignored if a point lacks the coordinate.
        """
        return xs

    def part(self, name: str, xs: Batch) -> Batch:
        """Return the named part of m points, as a batch of the part's own domain.

        Parameters
        ----------
        name : str
            A key of `parts`; any other name raises KeyError.
        xs : Batch
            m points.
        """
        raise KeyError(name)

    def with_part(self, name: str, xs: Batch, parts: Batch) -> Batch:
        """Return m points with the named part replaced; constraints are not checked.

        Parameters
        ----------
        name : str
            A key of `parts`; any other name raises KeyError.
        xs : Batch
            m points.
        parts : Batch
            m points of the part's domain.
        """
        raise KeyError(name)

    def architectures(self, xs: Batch) -> Sequence[Any]:
        """Return the `Architecture` of each of m points.

        Parameters
        ----------
        xs : Batch
            m points.

        Raises
        ------
        DomainError
            If a point neither is nor represents an architecture.
        """
        raise DomainError(f"points of {type(self).__name__} do not represent architectures")

    def to_json(self) -> Json:
        """Return a description from which `bostruct.domains.registry.domain_from_json` rebuilds an equal domain.

        By default it is the class with its fields, or with the public attributes of the object; override it if these
        are not JSON. It raises DomainError if rebuilding needs code that a file cannot store, such as constraints.
        """
        names = [one.name for one in fields(self)] if is_dataclass(self) else [n for n in vars(self) if n[0] != "_"]
        settings = {name: getattr(self, name) for name in names}
        return {"domain": f"{type(self).__module__}:{type(self).__qualname__}", "settings": settings}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Domain) and other.to_json() == self.to_json()

    def __hash__(self) -> int:
        return hash(_freeze_json(self.to_json()))


class LocalDomain(Domain):
    """A domain whose neighbors can be listed: points one change away, a symmetric relation."""

    @abstractmethod
    def neighbors(self, x: Point) -> Batch:
        """List all valid points one change away, in a fixed order, without repeats.

        A space whose variable has very many neighbors, such as a subset of half of hundreds of items, may list only
        some.

        Parameters
        ----------
        x : Point
            One point.
        """

    def sample_neighbors(self, x: Point, m: int, rng: np.random.Generator) -> Batch:
        """Return all neighbors if there are at most m; else m of them, drawn uniformly, in the order of `neighbors`.

        If `neighbors` lists only some, the points are drawn from all neighbors, in any order.

        Parameters
        ----------
        x : Point
            One point.
        m : int
            Maximum number of neighbors.
        rng : Generator
            Random number generator.
        """
        near = self.neighbors(x)
        return near if len(near) <= m else self.take(near, np.sort(rng.choice(len(near), size=m, replace=False)))

    def sample_neighborhoods(
        self, xs: Batch, m: int, rng: np.random.Generator, large_steps: bool = False
    ) -> tuple[Batch, IntArray]:
        """Return `sample_neighbors` of each point as one batch, and the point that each neighbor belongs to.

        Parameters
        ----------
        xs : Batch
            The points.
        m : int
            Maximum number of neighbors for each point.
        rng : Generator
            Random number generator.
        large_steps : bool, default False
            If True, also return points several steps away in one direction, if the domain has directions.

        Returns
        -------
        tuple of (Batch, IntArray)
            The neighbors, and for each the position of its point in xs, ascending.
        """
        found = [self.sample_neighbors(x, m, rng) for x in xs]
        counts = np.array([len(near) for near in found], dtype=np.int64)
        return self.join(*found), np.repeat(np.arange(len(found)), counts)

    def sample_discrete_neighborhoods(self, xs: Batch, m: int, rng: np.random.Generator) -> tuple[Batch, IntArray]:
        """Return valid neighbors of many points that a search in the continuous coordinates does not reach.

        They may change coordinates with few steps, such as integers.

        Parameters
        ----------
        xs : Batch
            The points.
        m : int
            Maximum number of neighbors for each point.
        rng : Generator
            Random number generator.

        Returns
        -------
        tuple of (Batch, IntArray)
            The neighbors, and for each the position of its point in xs, ascending.
        """
        return self.sample_neighborhoods(xs, m, rng)

    def change_each(self, xs: Batch, m: int, rng: np.random.Generator) -> tuple[Batch, IntArray]:
        """Return up to m neighbors of each point as `sample_neighborhoods` does, possibly with repeats.

        Parameters
        ----------
        xs : Batch
            The points.
        m : int
            Maximum number of neighbors for each point.
        rng : Generator
            Random number generator.

        Returns
        -------
        tuple of (Batch, IntArray)
            The neighbors, and for each the position of its point in xs, ascending.
        """
        return self.sample_neighborhoods(xs, m, rng)

    def combine(self, x: Point, neighbors: Batch, counts: Sequence[int]) -> Batch:
        """Return the valid points to which changes lead together, in the order of `counts`.

        By default no two changes can be combined: each count gives the first neighbor.

        Parameters
        ----------
        x : Point
            One point.
        neighbors : Batch
            m neighbors of x, as `sample_neighborhoods` returned them, in any order. If changes exclude each other, only
            the first is made.
        counts : sequence of int
            Numbers of changes to make, always the first ones, each at least 1; all changes if there are fewer.
        """
        return self.take(neighbors, [0] * len(counts))

    def mutate(self, x: Point, rng: np.random.Generator) -> Point:
        near = self.sample_neighbors(x, 1, rng)
        if not len(near):
            raise DomainError(f"{type(self).__name__}: a point has no neighbor")
        return near[0]


class ChoiceDomain(Domain):
    """A domain of named choices: they make up its points."""

    @abstractmethod
    def coordinates(self, x: Point) -> Sequence[Choice]:
        """List all choices of a point, in a fixed order.

        Parameters
        ----------
        x : Point
            One point.
        """

    def names(self, x: Point) -> Sequence[str]:
        """List the paths of a point's choices, the same sequence for points that have the same choices.

        Parameters
        ----------
        x : Point
            One point.
        """
        return tuple(one.path for one in self.coordinates(x))

    def coordinate_values(self, xs: Batch) -> Array:
        """Return the values of the choices of points that have the same choices (m, choices).

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return np.array([[one.value for one in self.coordinates(x)] for x in xs], dtype=np.float64)

    @abstractmethod
    def resample(self, x: Point, names: Sequence[str], rng: np.random.Generator) -> Point:
        """Draw some choices of a point again, and those that they open; keep all others. Return a valid point.

        Parameters
        ----------
        x : Point
            One point.
        names : sequence of str
            Paths of the choices to draw.
        rng : Generator
            Random number generator.
        """


class TreeDomain(Domain):
    """A domain of decisions one after another: its points are the leaves of a tree, with finitely many options each."""

    @abstractmethod
    def decisions(self, x: Point) -> tuple[int, ...]:
        """Return the path to a point: the position of the option chosen at each decision.

        Parameters
        ----------
        x : Point
            One point.
        """

    @abstractmethod
    def options(self, made: Sequence[int]) -> int:
        """Count the options of the next decision; 0 if no decision is left. Raises Infeasible.

        Parameters
        ----------
        made : sequence of int
            Positions chosen so far, from the first decision on.
        """

    @abstractmethod
    def roll_out(self, made: Sequence[int], rng: np.random.Generator) -> Point:
        """Complete the decisions at random and return the resulting point. Raises Infeasible.

        Parameters
        ----------
        made : sequence of int
            Positions chosen so far, from the first decision on.
        rng : Generator
            Random number generator for the remaining decisions.
        """

    def choice_after(self, made: Sequence[int]) -> Choice | None:
        """Return the choice that is decided next, with any value; None after the last. Raises Infeasible.

        By default a decision is named by its place.

        Parameters
        ----------
        made : sequence of int
            Positions chosen so far, from the first decision on.
        """
        name = f"decision {len(made)}"
        return Choice(name, name, 0, count, False) if (count := self.options(made)) else None

    def coordinates(self, x: Point) -> Sequence[Choice]:
        """List the choices on the path to a point, in the order of the decisions.

        Parameters
        ----------
        x : Point
            One point.
        """
        way = self.decisions(x)
        following = [self.choice_after(way[:k]) for k in range(len(way))]
        return [replace(one, value=made) for one, made in zip(following, way, strict=True) if one is not None]

    def decide(self, name: str, value: float) -> int:
        """Return the decision that corresponds to the value of a choice.

        Parameters
        ----------
        name : str
            The path of the choice.
        value : float
            The value, as in `Choice.value`.
        """
        return int(value)


class DistanceDomain(Domain):
    """A domain with distances between its points."""

    @abstractmethod
    def distances(self, xs: Batch, ys: Batch) -> Array:
        """Return the distances between n and m points (n, m): at least 0, symmetric, 0 from x to x.

        The triangle inequality need not hold, and exp(-distance) need not be positive semi-definite.

        Parameters
        ----------
        xs : Batch
            n points.
        ys : Batch
            m points.
        """


class FeatureDomain(Domain):
    """A domain whose points are described by numerical features."""

    @abstractmethod
    def features(self, xs: Batch) -> Array:
        """Return the features of m points (m, k): finite numbers in any units.

        Parameters
        ----------
        xs : Batch
            m points.
        """


class DomainTraits(NamedTuple):
    """The optional abilities of a domain: each trait is the domain itself, or None.

    Attributes
    ----------
    local : LocalDomain or None
        The domain, if points have neighbors.
    choices : ChoiceDomain or None
        The domain, if points have named choices.
    tree : TreeDomain or None
        The domain, if points are built by successive decisions.
    distances, features
        The domain, if points have distances, or features.
    mutable : bool
        True if the domain defines its own changes, so that a mutation is near the point.
    """

    local: LocalDomain | None
    choices: ChoiceDomain | None
    tree: TreeDomain | None
    distances: DistanceDomain | None
    features: FeatureDomain | None
    mutable: bool

    @classmethod
    def of(cls, domain: Domain) -> DomainTraits:
        """Return the traits of a domain, from the bases of its class.

        Parameters
        ----------
        domain : Domain
            Any domain.
        """
        return cls(
            domain if isinstance(domain, LocalDomain) else None,
            domain if isinstance(domain, ChoiceDomain) else None,
            domain if isinstance(domain, TreeDomain) else None,
            domain if isinstance(domain, DistanceDomain) else None,
            domain if isinstance(domain, FeatureDomain) else None,
            type(domain).mutate is not Domain.mutate,
        )


def draw_unseen(
    sample: Callable[[int, np.random.Generator], Batch],
    keys: Callable[[Batch], Iterable[Hashable]],
    seen: AbstractSet[Hashable],
    rng: np.random.Generator,
    blocks: Sequence[int] = DRAW_BLOCKS,
) -> Point | None:
    """Draw an unseen point by rejection; return None if all draws were seen before.

    Parameters
    ----------
    sample : callable
        Function that draws a number of points, as `Domain.sample` does.
    keys : callable
        Function that returns the keys of a batch of points, in order.
    seen : AbstractSet
        Keys of the points seen before.
    rng : Generator
        Random number generator.
    blocks : sequence of int, default DRAW_BLOCKS
        The number of points in each successive draw.
    """
    for block in blocks:
        drawn = sample(block, rng)
        for x, key in zip(drawn, keys(drawn), strict=True):
            if key not in seen:
                return x
    return None


def token(text: str) -> int:
    """Hash a string to 63 bits, the same in every process.

    Parameters
    ----------
    text : str
        Any string.
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


def _freeze_json(data: Any) -> Hashable:
    """Return JSON as a hashable, equal exactly if the JSON is equal."""
    if isinstance(data, Mapping):
        return frozenset((name, _freeze_json(one)) for name, one in data.items())
    return tuple(map(_freeze_json, data)) if isinstance(data, list | tuple) else data


def _list_entries(data: Any, place: str) -> Iterator[str]:
    """Yield each number and string of JSON with its place."""
    pairs = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list | tuple) else None
    if pairs is None:
        yield f"{place} = {data!r}"
    else:
        for name, one in pairs:
            yield from _list_entries(one, f"{place}.{name}")
