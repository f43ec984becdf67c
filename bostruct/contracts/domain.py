"""Domains: sets of points, and all that may be known of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from bostruct.contracts.types import (
    AnyArchitecture,
    AnyVariable,
    Array,
    Batch,
    IntArray,
    Json,
    ParsedJson,
    Point,
    Presented,
)


class Domain(Protocol):
    """A set of points. `size` is their number, or an upper bound where constraints leave fewer; ``math.inf`` where it
    is infinite. Domains of equal descriptions (`to_json`) are equal by ``==``, and a domain equals nothing else.
    """

    @property
    def size(self) -> float: ...

    def sample(self, m: int, rng: np.random.Generator) -> Batch:
        """Draw m valid points, evenly and independently; where constraints are tight, as near to that as is cheap.

        m: number of points, at least 0.
        rng: the only source of chance.

        Evenly is by equal chances, but on a scale where there is one: a space draws each variable given those that it
        depends on, numbers on their scale, and all lengths of a sequence, or sizes of a subset, alike.
        Raises DomainError where the domain has no valid point, such as a space whose constraints leave none.
        """
        ...

    def sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Point:
        """Draw a valid point whose key is not in `seen`; raise `SpaceExhausted` when none is left, or none was found.

        seen: keys, as of `keys`.
        rng: the only source of chance.
        """
        ...

    def check(self, x: Point) -> None:
        """Raise `PointError`, naming the part that is wrong, unless x is valid.

        x: one point, as the domain holds it, or anything else, which is no point.
        """
        ...

    def parse(self, point: Presented) -> Point:
        """Turn what a user writes into a valid point; raise `PointError` where it is none, whatever its type.

        point: in the form of `present`, or anything else.
        """
        ...

    def present(self, x: Point) -> Presented:
        """Return what an objective receives for a point: the inverse of `parse`.

        x: one point, as the domain holds it.
        """
        ...

    def encode(self, x: Point) -> Json: ...

    def decode(self, data: ParsedJson) -> Point:
        """Rebuild a point from its JSON: the inverse of `encode`, exactly.

        data: what `encode` returned. Of other JSON comes an error of Python's or bostruct's (LookupError, TypeError,
            ValueError, AttributeError, ArithmeticError), or what `check` refuses.
        """
        ...

    def key(self, x: Point) -> Hashable:
        """Return the key of one point, as `keys` does for many.

        x: one point.
        """
        ...

    def keys(self, batch: Batch) -> list[Hashable]:
        """Return one hashable for each point, equal exactly where the points are equal.

        batch: of m points. Returns m keys.
        """
        ...

    def take(self, batch: Batch, positions: Sequence[int] | IntArray) -> Batch:
        """Return the points at some positions of a batch, as a batch.

        batch: of m points.
        positions: in 0..m - 1, in the order wanted, repeats allowed; none give the empty batch.
        """
        ...

    def join(self, *batches: Batch) -> Batch:
        """Concatenate batches into one, in their order.

        batches: any number of them; none give the empty batch.
        """
        ...

    def to_json(self) -> Json:
        """Return a description from which `bostruct.domains.registry.domain_from_json` rebuilds an equal domain.

        Where that takes code that no file holds, such as constraints, rebuilding raises DomainError.
        """
        ...


@runtime_checkable
class HasNeighbors(Domain, Protocol):
    """A domain whose neighbors can be listed: points one change away, a symmetric relation."""

    def neighbors(self, x: Point) -> Batch:
        """List all valid points one change away, in a fixed order, without repeats.

        A space whose variable has very many neighbors, such as a subset of half of hundreds of items, may list some.

        x: one point.
        """
        ...

    def sample_neighbors(self, x: Point, m: int, rng: np.random.Generator) -> Batch:
        """Return all neighbors where they are at most m; else m of them, uniformly, in the order of `neighbors`.

        Where `neighbors` lists some alone, these are drawn among all, in any order.

        x: one point.
        m: the most neighbors returned.
        rng: the only source of chance.
        """
        ...


@runtime_checkable
class HasNeighborhoods(HasNeighbors, Protocol):
    """A domain whose neighbors can be listed for many points at once."""

    def sample_neighborhoods(
        self, xs: Batch, m: int, rng: np.random.Generator, leaps: bool = False
    ) -> tuple[Batch, npt.NDArray[np.int64]]:
        """Return `sample_neighbors` of each point as one batch, and the point that each neighbor belongs to.

        xs: batch of points.
        m: the most neighbors of each.
        rng: the only source of chance.
        leaps: also points that are several such steps in one direction away, where the domain has directions.

        Returns the neighbors, and for each the position in xs of its point, ascending.
        """
        ...


@runtime_checkable
class HasQuickChanges(HasNeighborhoods, Protocol):
    """A domain that draws neighbors of many points quickly, where a search does not mind that some repeat."""

    def change_each(self, xs: Batch, m: int, rng: np.random.Generator) -> tuple[Batch, npt.NDArray[np.int64]]:
        """Return up to m neighbors of each point as one batch, some perhaps more than once, as `sample_neighborhoods`.

        xs: batch of points.
        m: the most neighbors of each.
        rng: the only source of chance.

        Returns the neighbors, and for each the position in xs of its point, ascending.
        """
        ...


@runtime_checkable
class HasCombinations(HasNeighborhoods, Protocol):
    """A domain whose points can take the changes that lead to several neighbors together."""

    def combine(self, x: Point, neighbors: Batch, counts: Sequence[int]) -> Batch:
        """Return the valid points to which changes lead together, in the order of `counts`.

        x: one point.
        neighbors: m neighbors of x, as `sample_neighborhoods` returned them, in any order. Of changes that exclude each
            other the first counts.
        counts: how many of the changes to make, the first ones, each at least 1; all where there are fewer.
        """
        ...


@runtime_checkable
class HasCandidates(Domain, Protocol):
    """A domain that finds points to choose among more cheaply from points that are known."""

    def sample_candidates(self, m: int, starts: Batch, rng: np.random.Generator) -> Batch:
        """Draw valid points, as `sample` does, or fewer where it would repeat them; at least one where m is.

        m: the most points drawn.
        starts: known points, may be none.
        rng: the only source of chance.
        """
        ...


@runtime_checkable
class HasSpellings(Domain, Protocol):
    """A domain that may hold one point in several forms, such as programs by the choices that lead to them.

    Changes lead from form to form, so that the neighbors of a point are distinct forms, of which some may be equal
    points, or the point itself in another form.
    """

    def spellings(self, batch: Batch) -> list[Hashable]:
        """Return one hashable for each point, equal where the forms are equal, at less cost than `keys`.

        batch: of m points. Returns m hashables.
        """
        ...


@runtime_checkable
class HasListing(Domain, Protocol):
    """A domain that can list its points where they are few."""

    @property
    def n_points(self) -> int:
        """An upper bound of their number, for which none is listed."""
        ...

    def list_few(self, most: int) -> Batch | None:
        """List all points, each once, in a fixed order; None where there may be more than `most`, or too many to list.

        most: number of points, at least 1.
        """
        ...


@runtime_checkable
class HasMutation(Domain, Protocol):
    """A domain whose points can be changed at random."""

    def mutate(self, x: Point, rng: np.random.Generator) -> Point:
        """Return a valid point other than x, one random change away; raise DomainError where there seems to be none.

        x: one point.
        rng: the only source of chance.
        """
        ...


@runtime_checkable
class HasTokens(Domain, Protocol):
    """A domain whose points have tokens: bags of hashes that tell them apart."""

    def tokens(self, xs: Batch) -> list[npt.NDArray[np.int64]]:
        """Return the tokens of each point: a hash of each of its features, as often as the feature occurs.

        xs: batch of m points. Returns a list of m arrays of hashes of 63 bits, the same in every process.
        """
        ...


@runtime_checkable
class HasCostlyTokens(HasTokens, Protocol):
    """A domain whose tokens may take milliseconds a point, such as programs of a thousand modules."""

    @property
    def most_described(self) -> int:
        """The most points whose tokens one suggestion should need, at least 1; a function of the domain alone."""
        ...


class Choice(Protocol):
    """One choice of a point: a position among `count` values; of a continuous one, whose count is infinite, a share of
    its range. kind: what different points may have several choices of.

    A choice that tells an order of things has it as `order` too, a tuple of int, first place first. Where several
    choices tell it together, the first one has it, and that of the others is empty. Other choices have None, or no
    `order` at all.
    """

    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def count(self) -> float: ...
    @property
    def ordered(self) -> bool: ...


@runtime_checkable
class HasChoices(Domain, Protocol):
    """A domain of named choices: they make up its points."""

    def coordinates(self, x: Point) -> Sequence[Choice]:
        """List all choices of a point, in a fixed order.

        x: one point.
        """
        ...

    def names(self, x: Point) -> Sequence[str]:
        """List the paths of a point's choices, the same sequence for points that have the same choices.

        x: one point.
        """
        ...

    def resample(self, x: Point, names: Sequence[str], rng: np.random.Generator) -> Point:
        """Draw some choices of a point anew, and those that they open; keep all others. Return a valid point.

        x: one point.
        names: paths of the choices to draw.
        rng: the only source of chance.
        """
        ...


@runtime_checkable
class HasDecisions(Domain, Protocol):
    """A domain of decisions one after another: its points are the leaves of a tree, each choice among finitely many."""

    def decisions(self, x: Point) -> tuple[int, ...]:
        """Return the way to a point: at each decision the position of what was chosen.

        x: one point.
        """
        ...

    def options(self, made: Sequence[int]) -> int:
        """Count the choices that the next decision has; 0 where no decision is left. Raises Infeasible.

        made: positions chosen so far, from the first decision on.
        """
        ...

    def roll_out(self, made: Sequence[int], rng: np.random.Generator) -> Point:
        """Return the point that these decisions and random further ones lead to; raises Infeasible.

        made: positions chosen so far, from the first decision on.
        rng: decides the rest.
        """
        ...


@runtime_checkable
class HasNamedDecisions(HasChoices, HasDecisions, Protocol):
    """A domain of named choices, decided one after another."""

    def choice_after(self, made: Sequence[int]) -> Choice | None:
        """Return the choice that is decided next, whatever its value; None after the last. Raises Infeasible.

        made: positions chosen so far, from the first decision on.
        """
        ...

    def decide(self, name: str, value: float) -> int:
        """Return the decision that the value of a choice stands for.

        name: the choice's path.
        value: as `Choice.value`.
        """
        ...


@runtime_checkable
class HasCrossover(Domain, Protocol):
    """A domain whose points can be crossed."""

    def crossover(self, x: Point, y: Point, rng: np.random.Generator) -> Point:
        """Return a valid point whose parts are of one or of the other of two; x where no such point is found.

        x, y: points; of x and x comes x.
        rng: the only source of chance.
        """
        ...


@runtime_checkable
class HasPool(Domain, Protocol):
    """A domain with a pool: points to begin a search with.

    pool: valid points; none where there are none to begin with.
    """

    @property
    def pool(self) -> Batch: ...


@runtime_checkable
class HasMigration(Domain, Protocol):
    """A domain that may change in the course of a study: it reads the points of its earlier forms."""

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> Point:
        """Rebuild a point that another form of the domain encoded; raise PointError where this one has it not.

        data: what `encode` of the other form returned, read back.
        description: what `to_json` of the other form returned, read back.

        The point need not be valid: `check` tells. Of JSON in another form comes what `decode` raises.
        """
        ...


@runtime_checkable
class HasReadableKeys(Domain, Protocol):
    """A domain whose keys hold all of a point, in few bytes: a long study keeps the keys in place of the points."""

    def from_keys(self, keys: Collection[Hashable]) -> Batch:
        """Return the points that have some keys, as a batch: `keys` of it returns the keys again.

        keys: m keys, in any order.
        """
        ...


@runtime_checkable
class HasDistances(Domain, Protocol):
    """A domain with distances between its points."""

    def distances(self, xs: Batch, ys: Batch) -> Array:
        """Return the distance of each of n points to each of m (n, m): at least 0, symmetric, 0 from x to x.

        No triangle inequality is asked for, nor that exp(-distance) be positive semi-definite.

        xs: n points.
        ys: m points.
        """
        ...


@runtime_checkable
class HasFeatures(Domain, Protocol):
    """A domain with features: numbers by which its points are described."""

    def features(self, xs: Batch) -> Array:
        """Return the features of m points (m, k), finite, in any units.

        xs: m points.
        """
        ...


@runtime_checkable
class HasContinuous(Domain, Protocol):
    """A domain with continuous coordinates: numbers, which a search may move by as little as it likes.

    Each is given as a share of its range, from 0 to 1, on the scale on which the domain is even. A point may lack some
    of them, as under conditions: such a share is NaN, is ignored where it is given, and no score depends on it.
    """

    @property
    def n_continuous(self) -> int:
        """The number of continuous coordinates of each point, c; 0 where there are none."""
        ...

    def shares(self, xs: Batch) -> Array:
        """Return the continuous coordinates of m points (m, c), in [0, 1]; NaN where a point lacks one.

        xs: m points.
        """
        ...

    def with_shares(self, xs: Batch, shares: Array) -> Batch:
        """Return points with other continuous coordinates, moved to the nearest that the domain has, else unchanged.

        Constraints and conditions are not looked at: a point keeps the coordinates that it has, and gains none.

        xs: m points.
        shares: (m, c), in [0, 1]; ignored where a point lacks the coordinate.
        """
        ...

    def sample_discrete_neighborhoods(
        self, xs: Batch, m: int, rng: np.random.Generator
    ) -> tuple[Batch, npt.NDArray[np.int64]]:
        """Return valid neighbors that a search in the continuous coordinates does not reach, of many points at once.

        Coordinates of few steps, such as integers, may be among those that change.

        xs: batch of points.
        m: the most neighbors of each.
        rng: the only source of chance.

        Returns the neighbors, and for each the position in xs of its point, ascending.
        """
        ...


@runtime_checkable
class HasVariables(Domain, Protocol[AnyVariable]):
    """A domain of variables: a point is an integer row, and each variable owns some columns of it.

    The columns lie side by side in the order of the variables. For NumPy a batch is an integer array (m, n_columns).
    Variables say how wide they are, and what their columns hold. Numbers too many to list are the continuous
    coordinates of the domain, in the order of the variables.

    variables: the variables by name, in order.
    n_columns: the number of columns of a row.
    """

    @property
    def variables(self) -> Mapping[str, AnyVariable]: ...

    @property
    def n_columns(self) -> int: ...


@runtime_checkable
class HasParts(Domain, Protocol):
    """A domain of parts: a point has one point of each of several domains.

    parts: the domains by name, in order.
    """

    @property
    def parts(self) -> Mapping[str, Domain]: ...

    def part(self, name: str, xs: Batch) -> Batch:
        """Return the parts of that name of m points, as a batch of their own domain.

        name: of the part, one of `parts`.
        xs: m points.
        """
        ...


@runtime_checkable
class HasArchitectures(Domain, Protocol[AnyArchitecture]):
    """A domain of architectures: its points are, or stand for, neural network architectures."""

    def architectures(self, xs: Batch) -> Sequence[AnyArchitecture]:
        """Return the architecture of each of m points; raise DomainError where a point stands for none.

        xs: m points.
        """
        ...
