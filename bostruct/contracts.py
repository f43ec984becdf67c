"""The contracts between the parts of a Bayesian optimizer over structures.

A domain says what a point is, a kernel how alike two points are, a surrogate what the data say, an acquisition
function what evaluating a point promises, a maximizer where the best one is, a searcher strings them together, and a
study (`bostruct.study.study`) has points evaluated and loses nothing.

Letters used everywhere: ``n`` training points, ``m`` candidates, ``d`` variables, ``p`` kernel parameters, ``s``
posterior samples of them. Numbers are float64. ``x`` is one point of a batch, as the domain holds it; what the user
sees of it is made by `Domain.present`. Values are minimized everywhere below the study.

Points travel in batches. A batch has a length, is indexed by an integer (a point) or a slice (a batch), and can be
iterated over; all else is done by its domain (`take`, `join`, `keys`). Nobody changes a batch or a point: a method that
needs another point makes one. What `present` and `encode` return is the receiver's own, who may change it. On a `Space`
a batch is an integer array (m, d), or, as `sample_neighborhoods` returns it, a batch of single changes
(`bostruct.domains.space.single_changes`), which turns into that array wherever NumPy asks for one. On every other
domain of this package a batch is a list or a tuple. A list of points is a batch of every domain, too.
`bostruct.testing.check_domain` checks this.

A capability (`HasTokens`, `HasLine` ...) is what some domains, kernels, posteriors and searchers can do beyond their
contract. `bostruct.checks.require` and `has_capability` ask for it, which look at the methods that it adds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
ParsedJson: TypeAlias = Any  # the same, read back: its reader knows what is in it
Point: TypeAlias = Any  # one point, as its domain holds it
Presented: TypeAlias = Any  # the same point, as an objective receives it: what `Domain.present` returns
Batch: TypeAlias = Any  # several of them: see above
Prepared: TypeAlias = Any  # what a kernel needs to know of two batches, whatever its parameters
State: TypeAlias = ParsedJson  # what the next step needs: plain JSON, so that it survives on disk exactly
Info: TypeAlias = dict[str, ParsedJson]  # what a person wants to see, as JSON
PARENT_POSITION = "parent_position"  # in `Suggestion.info`
SINGLE_FLOOR = 1e-26  # the smallest entry of a Gram matrix in single precision, short of numbers that slow products
SINGLE_ROUNDING = 2.0**-24  # relative, of one operation in single precision
ADDED_LATER = {"added later": True}  # of a field: its default says nothing, so that settings on record stay the same
AnyVariable = TypeVar("AnyVariable", covariant=True)  # `bostruct.domains.space.variable.Variable` in this package
AnyArchitecture = TypeVar("AnyArchitecture", covariant=True)  # `bostruct.domains.architecture.value.Architecture`


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


class Prior(Protocol):
    """A log density, up to a constant, of one unconstrained parameter."""

    def log_density(self, theta: float) -> float:
        """Return the log density, up to a constant; -inf outside the support.

        theta: the parameter, unconstrained.
        """
        ...


@runtime_checkable
class DifferentiablePrior(Prior, Protocol):
    """A prior under which a mode can be found by gradients."""

    def value_and_grad(self, theta: Array) -> tuple[float, Array]:
        """Return the sum of the log densities of several parameters, and its derivative in each.

        theta: (k,), unconstrained. Returns a float and an array (k,).
        """
        ...


class Parameter(NamedTuple):
    """A block of a kernel's parameters. `theta`, on the unconstrained scale, is all blocks in order.

    name: for people. size: number of parameters in the block. prior: of each of them. initial: value of each at first.
    """

    name: str
    size: int
    prior: Prior
    initial: float


class Kernel(Protocol):
    """A positive semi-definite function of two points, with parameters theta (p,)."""

    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    def prepare(self, xs: Batch, ys: Batch | None = None) -> Prepared:
        """Compute all that does not depend on theta: the costly part of structured kernels.

        xs: n points. What is prepared of single changes serves `gram` alone.
        ys: m points; None for xs with themselves, which a kernel may do at half the cost. A kernel may keep what it
            made of them for the next call with the same object, so nobody changes them.
        """
        ...

    def gram(self, theta: Array, prepared: Prepared) -> Array:
        """Return the Gram matrix (n, m), an array that the caller may overwrite.

        theta: (p,), all blocks of `parameters` in order.
        prepared: what `prepare` returned for n and m points.
        """
        ...

    def diag(self, theta: Array, xs: Batch) -> Array:
        """Return k(x, x) of each point (n,).

        theta: (p,).
        xs: n points.
        """
        ...


@runtime_checkable
class HasLine(Kernel, Protocol):
    """A kernel whose Gram matrix is cheap along one coordinate of theta: what a coordinate sampler needs."""

    def line(self, theta: Array, i: int, prepared: Prepared, gram: Array | None = None) -> Callable[[float], Array]:
        """Return the Gram matrix as a function of theta_i alone, whose arrays are the caller's to overwrite.

        theta: (p,), which fixes all other parameters.
        i: position of the parameter that varies.
        prepared: what `prepare` returned.
        gram: the Gram matrix at theta, where known: a shortcut that a kernel may take.
        """
        ...


@runtime_checkable
class DependsOnTraining(Kernel, Protocol):
    """A kernel that is another for other training points, the second batch of `prepare`."""

    def gram_and_diag(self, theta: Array, xs: Batch, prepared: Prepared) -> tuple[Array, Array]:
        """Return the Gram matrix (n, m), and k(x, x) of each x (n,).

        theta: (p,).
        xs: the first batch of `prepare`, n points.
        prepared: of xs and the m training points.
        """
        ...


class BlockGram(NamedTuple):
    """A line on which the points fall into parts: K within each stays, and K between any two of them is scaled.

    gram: K at one place of the line. parts: positions of the points, at least two parts; a part may be empty. scale: K
    between parts at theta_i = t, in units of that in `gram`. whole: the line itself.
    """

    gram: Array
    parts: tuple[npt.NDArray[np.int64], ...]
    scale: Callable[[float], float]
    whole: Callable[[float], Array]

    def __call__(self, t: float) -> Array:
        return self.whole(t)


@runtime_checkable
class HasGradient(Kernel, Protocol):
    """A kernel that can be fitted by gradients."""

    def gram_and_pullback(self, theta: Array, prepared: Prepared) -> tuple[Array, Callable[[Array], Array]]:
        """Return the Gram matrix K, and the map from a cotangent G to the gradient of sum(G * K) in theta.

        theta: (p,).
        prepared: what `prepare` returned for n and m points.

        Returns K (n, m), and a function from G (n, m) to the gradient (p,).
        """
        ...


@runtime_checkable
class HasInputGradient(Kernel, Protocol):
    """A kernel with gradients in the continuous coordinates of points, on which k(x, x) does not depend."""

    def vary_shares(
        self, theta: Array, xs: Batch, ys: Batch
    ) -> Callable[[Array], tuple[Array, Callable[[Array], Array]]]:
        """Return the Gram matrix K of xs and ys as a function of the continuous coordinates of xs.

        Coordinates in which it has no gradient stay those of xs, and their derivatives are 0. So are the derivatives in
        coordinates that a point of xs lacks, whatever share is given for them.

        theta: (p,).
        xs: m points, whose other coordinates stay.
        ys: n points.

        Returns a function from shares (m, c), as of `HasContinuous`, to K (m, n) and to the map from a cotangent G
        (m, n) to the gradient of sum(G * K) in the shares (m, c).
        """
        ...


class SingleGram(NamedTuple):
    """A Gram matrix in single precision, and the error that it may have.

    gram: (n, m), which is overwritten by the next one. Entries below `SINGLE_FLOOR` are raised to it.
    error: the most by which another entry may be wrong, as a share of it.
    """

    gram: npt.NDArray[np.float32]
    error: float


@runtime_checkable
class HasSingleGrams(Kernel, Protocol):
    """A kernel whose Gram matrices come in single precision too, in a third of the time."""

    def single_grams(self, thetas: Sequence[Array], xs: Batch) -> Callable[[Batch], Iterator[SingleGram] | None] | None:
        """Return a function from m points to the Gram matrices of n points with them, one for each parameter vector.

        thetas: (p,) each.
        xs: n points.

        The function returns None for points of which double precision is as quick. None instead of it: for any points.
        """
        ...


@runtime_checkable
class Similarity(HasLine, HasGradient, Protocol):
    """A function of two points with all methods of a kernel, whose matrices may be indefinite."""


class Prediction(NamedTuple):
    """A prediction of the latent objective at m points.

    mean: (s, m), of s posterior samples; s = 1 for a point estimate.
    variance: (s, m).
    """

    mean: Array
    variance: Array


class Posterior(Protocol):
    """The surrogate's belief once it has seen the history, in the user's units, minimized."""

    def predict(self, xs: Batch) -> Prediction: ...

    def screen(self, xs: Batch) -> Prediction:
        """Predict cheaply and optimistically: a mean never above, a variance never below, that of `predict`.

        xs: m points. Returns mean and variance, (s, m) each.
        """
        ...

    def believe(self, xs: Batch) -> Posterior:
        """Return the posterior once a value equal to the mean was told at each of xs, as noisy as any new value.

        The mean stays, the variance shrinks. This is the kriging believer, `fantasize` in BoTorch.

        xs: points that are being evaluated; none change nothing.
        """
        ...


@runtime_checkable
class HasBounds(Posterior, Protocol):
    """A posterior with bounds that are quicker than `screen`, tighter, or both, and whose mean is no estimate."""

    def bound(self, xs: Batch) -> Prediction:
        """Return a mean never above, and a variance never below, that of `predict`, (s, m) each.

        xs: m points.
        """
        ...


@runtime_checkable
class HasUpperBounds(Posterior, Protocol):
    """A posterior with quick bounds of the mean from above."""

    def bound_above(self, xs: Batch) -> Prediction:
        """Return a mean and a variance that are never below those of `predict`, (s, m) each.

        xs: m points.
        """
        ...


@runtime_checkable
class HasCovariance(Posterior, Protocol):
    """A posterior of many points together."""

    def covariance(self, xs: Batch) -> Array:
        """Return the covariances of the latent objective among m points (s, m, m), in the user's units squared.

        Each is positive semi-definite. The diagonals are the variances of `predict`.

        xs: m points.
        """
        ...


@runtime_checkable
class HasNoise(Posterior, Protocol):
    """A posterior that knows how noisy values are."""

    @property
    def noise(self) -> Array:
        """The variance of the noise of a value under each sample (s, 1), at least 0, in the user's units squared."""
        ...


@runtime_checkable
class HasLeaveOneOut(Posterior, Protocol):
    """A posterior that predicts each value that it learned from as if it had not."""

    @property
    def xs(self) -> Batch:
        """The n points that it learned from."""
        ...

    @property
    def values(self) -> Array:
        """The n values that it learned from (n,), up to rounding."""
        ...

    def leave_one_out(self) -> Prediction:
        """Return mean and variance of each value, its noise included, given all others, (s, n) each.

        The hyperparameters stay as they are.
        """
        ...


@runtime_checkable
class HasTrainingMeans(Posterior, Protocol):
    """A posterior that knows its mean at the points that it learned from, without predicting them."""

    def find_training_means(self, xs: Batch) -> Array | None:
        """Return the mean at those of the points that it learned from (s, k), in the order of the points.

        xs: points.

        Returns None unless xs is the very object that the surrogate was conditioned on: then `screen` is to be asked.
        """
        ...


@runtime_checkable
class HasPredictionGradient(Posterior, Protocol):
    """A posterior with gradients in the continuous coordinates of points."""

    def vary_shares(self, xs: Batch) -> Callable[[Array], tuple[Prediction, Callable[[Prediction], Array]]]:
        """Return the prediction at m points as a function of their continuous coordinates.

        xs: m points, whose other coordinates stay.

        Returns a function from shares (m, c), as of `HasContinuous`, to the prediction, (s, m) each, and to the map
        from cotangents of mean and variance, (s, m) each, to the gradient in the shares (m, c). Raises TypeError where
        a part of it has no gradient.
        """
        ...


class Surrogate(Protocol):
    """A model of the objective, which learns from evaluated points."""

    def initial_state(self) -> State: ...

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Learn from evaluated points.

        xs: n points.
        values: (n,), in the user's units, minimized.
        state: of `initial_state`, or what the last call returned.
        rng: the only source of chance.

        Returns the posterior, the state for the next call, and what goes on record.
        """
        ...


@runtime_checkable
class KeepsHyperparameters(Surrogate, Protocol):
    """A surrogate that can be conditioned on more points at the hyperparameters that it has learned."""

    def accepts(self, state: State) -> bool:
        """Tell whether a state holds hyperparameters of this surrogate.

        state: of `initial_state`, or what `condition` returned, here or of another version of the surrogate.
        """
        ...

    def condition_at(self, xs: Batch, values: Array, state: State) -> Posterior:
        """Return the posterior at the hyperparameters of a state, without a fit; raises NumericalError.

        xs: n points.
        values: (n,), in the user's units, minimized.
        state: one that it accepts.
        """
        ...


@runtime_checkable
class LearnsNoise(Surrogate, Protocol):
    """A surrogate that can be told how noisy values are."""

    def with_variances(self, variances: Array) -> Surrogate:
        """Return the surrogate that knows the noise of the values that it is conditioned on next.

        variances: of the noise of each value (n,), at least 0, in the user's units squared; NaN where it is to be
            learned.
        """
        ...


@runtime_checkable
class LearnsOutputs(Surrogate, Protocol):
    """A surrogate of several outputs: its `condition` takes values (n, q), and its posterior is `HasOutputs`."""

    @property
    def n_outputs(self) -> int: ...


@runtime_checkable
class HasOutputs(Posterior, Protocol):
    """A posterior of several outputs, independent of each other; by itself it is that of the first."""

    @property
    def outputs(self) -> tuple[Posterior, ...]: ...


@runtime_checkable
class RestoresUnits(Surrogate, Protocol):
    """A surrogate that learns some values on a scale of its own, on which its posterior predicts them."""

    def restore_units(self, prediction: Prediction, values: Array) -> Prediction:
        """Return a prediction of its posterior in the user's units.

        prediction: of the posterior that was conditioned on the values.
        values: (n,), in the user's units.
        """
        ...


@runtime_checkable
class DeclaresCovariance(Surrogate, Protocol):
    """A surrogate that says, before it learns anything, whether its posterior is `HasCovariance`."""

    @property
    def has_covariance(self) -> bool:
        """True where its posterior has covariances."""
        ...


class Acquisition(Protocol):
    """A function from predictions to acquisition values: what an evaluation promises to somebody who holds `incumbent`.

    Larger is better. Values are minimized: a lower mean, or a larger incumbent, never makes a point worth less, unless
    the function looks for something else than small values, such as a level.

    is_logarithm: true where acquisition values are logarithms, to which that of a chance may be added.
    """

    @property
    def is_logarithm(self) -> bool: ...

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        """Return the acquisition value of each point under each posterior sample (s, m).

        prediction: mean and variance, (s, m) each.
        incumbent: the value to improve on, in the user's units.
        """
        ...

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        """Return the most it can be if means are no smaller, and variances no larger, than predicted (s, m).

        More than that costs time alone: +inf has every point predicted in full.

        prediction: mean and variance, (s, m) each, as of `Posterior.screen`.
        incumbent: the value to improve on, in the user's units.
        """
        ...

    def average(self, scores: Array) -> Array:
        """Average the acquisition value of each point over posterior samples (m,).

        scores: (s, m), what a call returned.
        """
        ...


class WorthSlopes(NamedTuple):
    """The worth of predictions, and its derivatives, (s, m) each.

    worth: as the acquisition function returns it.
    mean: its derivative in the mean.
    variance: its derivative in the variance.
    """

    worth: Array
    mean: Array
    variance: Array


@runtime_checkable
class DependsOnNoise(Acquisition, Protocol):
    """An acquisition function that depends on how noisy values are."""

    def with_noise(self, noise: Array) -> Acquisition:
        """Return the function for values of this noise.

        noise: variance under each posterior sample (s, 1), at least 0, in the user's units squared.
        """
        ...


@runtime_checkable
class HasWorthGradient(Acquisition, Protocol):
    """An acquisition function with derivatives in mean and variance."""

    def worth_and_slopes(self, prediction: Prediction, incumbent: float) -> WorthSlopes:
        """Return the worth of each point under each posterior sample, and its derivatives, (s, m) each.

        prediction: mean and variance, (s, m) each.
        incumbent: the value to improve on, in the user's units.
        """
        ...


class Score(Protocol):
    """A function from points to acquisition values, the only thing that a maximizer knows of the model; maximized."""

    def __call__(self, xs: Batch) -> Array:
        """Return the acquisition value of each of m points (m,)."""
        ...

    def upper_bounds(self, xs: Batch) -> Array:
        """Return bounds that are never below the acquisition value of the same point, and cheaper (m,).

        xs: m points.
        """
        ...


@runtime_checkable
class CanBelieve(Score, Protocol):
    """A score that can be told which points are being evaluated."""

    def believe(self, xs: Batch) -> Score:
        """Return the score of a posterior that was told the mean at points, as `Posterior.believe` has it.

        xs: points that are being evaluated.
        """
        ...


@runtime_checkable
class HasScoreGradient(Score, Protocol):
    """A score with gradients in the continuous coordinates of points."""

    def vary_shares(self, xs: Batch) -> Callable[[Array], tuple[Array, Array]]:
        """Return the score of m points as a function of their continuous coordinates.

        xs: m points, whose other coordinates stay.

        Returns a function from shares (m, c), as of `HasContinuous`, to the scores (m,) and their gradients (m, c).
        Raises TypeError where a part of it has no gradient.
        """
        ...


class Chance(Protocol):
    """The chance that points succeed, as a model of success believes."""

    def log_chance(self, xs: Batch) -> Array:
        """Return the logarithm of the chance that each of m points has a value (m,), at most 0.

        xs: m points.
        """
        ...


@runtime_checkable
class HasChanceGradient(Chance, Protocol):
    """A chance of success with gradients in the continuous coordinates of points."""

    def vary_log_chance(self, xs: Batch) -> Callable[[Array], tuple[Array, Array]]:
        """Return the log chance of m points as a function of their continuous coordinates.

        xs: m points, whose other coordinates stay.

        Returns a function from shares (m, c), as of `HasContinuous`, to the log chances (m,) and their gradients
        (m, c). Raises TypeError where a part of it has no gradient.
        """
        ...


@runtime_checkable
class HasChanceBounds(Chance, Protocol):
    """A chance of success with bounds that are quicker."""

    def bound_log_chance(self, xs: Batch) -> Array:
        """Return bounds that are never below the log chance of the same point, at most 0 (m,).

        xs: m points.
        """
        ...


class SuccessModel(Protocol):
    """A model of success, which learns from points that have a value and points that failed."""

    def condition(
        self,
        points: Batch,
        succeeded: npt.NDArray[np.bool_],
        state: State,
        rng: np.random.Generator,
        *,
        keep: bool = False,
    ) -> tuple[Chance, State]:
        """Learn the chance that a point succeeds from all points; raises NumericalError.

        points: n points.
        succeeded: for each, whether it did (n,), bool.
        state: None, or what the last call returned, where a fit may start; plain JSON.
        rng: the only source of chance.
        keep: whether the hyperparameters of the state serve, so that nothing is fitted where that takes long.

        Returns the chance, and the state for the next call.
        """
        ...


class ScoreBuilder(Protocol):
    """A callable that makes a score of a posterior, the field `score` of a `BayesianSearch`."""

    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> Score:
        """Return the score to maximize.

        posterior: of the objective, with the running points believed.
        history: all that was told so far, at least one value.
        rng: the only source of chance.

        Raises NumericalError, for which a random point is suggested.
        """
        ...


@runtime_checkable
class KeepsState(ScoreBuilder, Protocol):
    """A builder that learns something of its own, and goes on from what it learned for the last suggestion."""

    def build_from(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> tuple[Score, State]:
        """Return the score to maximize, and the state for the next call; raises NumericalError.

        posterior: of the objective, with the running points believed.
        history: all that was told so far, at least one value.
        state: None, or what the last call returned; plain JSON.
        rng: the only source of chance.
        """
        ...


class LogScoreBuilder(ScoreBuilder, Protocol):
    """A builder that says whether its scores are logarithms of a worth, to which that of a chance may be added."""

    @property
    def is_logarithm(self) -> bool: ...


@runtime_checkable
class LearnsChance(ScoreBuilder, Protocol):
    """A builder whose scores know the chance that a point has a value and keeps all limits."""

    def learn_chance(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> Chance | None:
        """Return the chance of success; None where nothing failed and nothing is limited. Raises NumericalError.

        posterior: of the objective.
        history: all that was told so far, at least one value.
        state: None, or that of `KeepsState` where the builder keeps one.
        rng: the only source of chance.
        """
        ...


class Maximizer(Protocol):
    """A search for the points of a domain that score best."""

    def __call__(self, score: Score, domain: Any, starts: Batch, rng: np.random.Generator) -> tuple[Batch, Info]:
        """Return local maxima of the score, best first, each once, and what goes on record.

        score: the function to maximize.
        domain: has what the maximizer asks of it, neighbors or mutations.
        starts: good points to start from, best first; may be empty.
        rng: the only source of chance.
        """
        ...


class HistoryView(Protocol):
    """The part of a history that a searcher sees; `bostruct.study.history.History` is the one implementation.

    completed: points with a value, in the order told. values: of these (n,), minimized. running: points that are being
    evaluated. failed: points told without a value, whether their
    trials failed or were infeasible. seen: the keys of all points ever asked or told.

    objectives: of the completed points (n, k), minimized. slacks: by how much each breaks each limit (n, c), at most 0
    where it is kept; (n, 0) without limits. values: the objective where there is one and no limit; else a merit that
    orders the points, feasible ones first: `bostruct.goals.pareto.merit`. variances: known ones of the noise of the one
    objective (n,), NaN where unknown; None where none is known. Of `values` they are those where all limits are kept.
    """

    @property
    def completed(self) -> Batch: ...
    @property
    def values(self) -> Array: ...
    @property
    def objectives(self) -> Array: ...
    @property
    def slacks(self) -> Array: ...
    @property
    def variances(self) -> Array | None: ...
    @property
    def running(self) -> Batch: ...
    @property
    def failed(self) -> Batch: ...
    @property
    def seen(self) -> AbstractSet[Hashable]: ...


class Suggestion(NamedTuple):
    """The next point to evaluate.

    point: to evaluate, unseen before, except for a ``repeat`` of a searcher that `MayRepeat`.
    state: of the searcher after it; plain JSON.
    info: for people; plain JSON. `info["origin"]` says how the point was chosen: ``initial`` (of the method's first
        points), ``model``, ``mutation`` (of the best point), ``random``, ``repeat`` (a told point, asked again) or
        ``fallback``, where `info["why"]` says why. `info[PARENT_POSITION]` is the position, among the completed points
        of the history, of the point that this one is a change of; the study puts the number of that trial on record, as
        `info["parent"]`.
    """

    point: Point
    state: State
    info: Info


class Searcher(Protocol):
    """A method. All it may remember is its state."""

    @property
    def domain(self) -> Domain: ...

    def settings(self) -> Mapping[str, Json]:
        """Return the settings that tell this searcher from another of the same method, for the record, as JSON."""
        ...

    def initial_state(self) -> State: ...

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        """Return the next point to evaluate; raise `SpaceExhausted` when no unseen point is left.

        history: all that was told so far.
        state: of `initial_state`, or of the last suggestion.
        rng: the only source of chance.
        """
        ...


@runtime_checkable
class SuggestsJointly(Searcher, Protocol):
    """A searcher of which one fit, and one search, serve several suggestions."""

    def suggest_jointly(self, history: HistoryView, state: State, rng: np.random.Generator) -> Iterator[Suggestion]:
        """Yield points to evaluate side by side, each with those before it running; the first is that of `suggest`.

        It ends where another fit is needed, after one point or more. Raises `SpaceExhausted` where no unseen point is
        left for the first.

        history: all that was told so far.
        state: of `initial_state`, or of the last suggestion.
        rng: the only source of chance.
        """
        ...


@runtime_checkable
class MayRepeat(Searcher, Protocol):
    """A searcher that may suggest a told point again, as a suggestion of the origin ``repeat``.

    Once every point has been seen, it may go on with repeats in place of raising `SpaceExhausted`.
    """

    @property
    def repeats(self) -> bool:
        """True where it does so."""
        ...


class Appraisal(NamedTuple):
    """A method's judgement of the n completed points, in the order told.

    eligible: the points to recommend one of (n,). prediction: of the latent objective (s, n), None without a model.
    """

    eligible: npt.NDArray[np.bool_]
    prediction: Prediction | None


@runtime_checkable
class HasAppraisal(Searcher, Protocol):
    """A searcher that can say how good the points told are once noise is set aside."""

    def appraise(self, history: HistoryView, state: State, rng: np.random.Generator) -> Appraisal:
        """Appraise the completed points, at least one; raise NumericalError where the model cannot be fitted.

        history: all that was told so far.
        state: of the last suggestion.
        rng: the only source of chance.
        """
        ...


@runtime_checkable
class HasRegretBound(Searcher, Protocol):
    """A searcher whose model says how probable it is that another point is much better than the best one told."""

    @property
    def bounds_regret(self) -> bool:
        """False where the model is known, before it learns anything, to be none that tells."""
        ...

    def bound_regret_probability(
        self, history: HistoryView, state: State, regret: float, rng: np.random.Generator
    ) -> float:
        """Return a bound of the probability that the best completed point is worse than the optimum by more than that.

        It is 1 until more points have a value than the method chooses without the model, and while the values are equal
        up to rounding, so that they tell nothing of their scale. Where it is estimated, its confidence is that of one
        look. Raises NumericalError.

        history: at least one completed point, of one objective without limits.
        state: of the last suggestion.
        regret: the difference to the optimum, at least 0, in the user's units.
        rng: the only source of chance.
        """
        ...


class Predicted(NamedTuple):
    """The belief of a method about m points.

    mean, variance: of each of k latent objectives under s posterior samples (k, s, m), minimized, in the user's units.
    log_chance: logarithm of the chance that each point has a value and keeps all limits (m,); zeros where nothing
        failed and nothing is limited.
    """

    mean: Array
    variance: Array
    log_chance: Array


@runtime_checkable
class HasPrediction(Searcher, Protocol):
    """A searcher that can say what it believes of any point."""

    def predict(self, history: HistoryView, state: State, xs: Batch, rng: np.random.Generator) -> Predicted:
        """Predict points; raise NumericalError where the model cannot be fitted, or nothing has completed.

        history: all that was told so far.
        state: of `initial_state`, or of the last suggestion.
        xs: m points.
        rng: the only source of chance.
        """
        ...


class LeftOut(NamedTuple):
    """The predictions of values that were told, each made without the value itself.

    positions: of the completed points that the model learned from (n,), in the order told.
    prediction: of their values, noise included, (s, n) each, minimized.
    """

    positions: npt.NDArray[np.int64]
    prediction: Prediction


@runtime_checkable
class HasCrossValidation(Searcher, Protocol):
    """A searcher that can say how well its model predicts what it was told."""

    def cross_validate(self, history: HistoryView, state: State, objective: int, rng: np.random.Generator) -> LeftOut:
        """Predict each value told from all others; raise BostructError where the model cannot.

        history: at least one completed point.
        state: of the last suggestion.
        objective: its position, from 0.
        rng: the only source of chance.
        """
        ...


class BostructError(Exception):
    """The base of every error that this package raises on purpose."""


class PointError(BostructError, ValueError):
    """An error that says that a point does not belong to its domain."""


class DomainError(BostructError, ValueError):
    """An error that says that a domain cannot be built, or cannot be used so."""


class PredicateError(DomainError):
    """An error that says that a constraint, or a condition of a variable, itself fails at a point."""


class NotWanted(BostructError):
    """An error that says that as many trials as were wanted are finished or being evaluated; none was asked for."""


class SpaceExhausted(BostructError):
    """An error that says that no unseen point of the domain is left, or that none was found."""


class Infeasible(BostructError):
    """An error that you raise to say that a point is infeasible.

    Raise it in an objective for a point that breaks a constraint which only evaluation reveals, or in a function that
    builds a part of a search space where the choices taken lead nowhere.
    """


class Transient(BostructError):
    """An error that you raise in an objective to say that an evaluation failed for no fault of its point.

    The trial is handed out again, such as after a network that was down; at most twice, then it fails.
    """


class NumericalError(BostructError, ArithmeticError):
    """An error that says that a matrix is not positive definite, whatever jitter the ladder allows."""


class MissingExtra(BostructError, ImportError):
    """A package that only some parts need is not installed; the message says how to get it."""
