"""The contracts between the parts of a Bayesian optimizer over structures.

A domain says what a point is, a kernel how alike two points are, a surrogate what the data say, an acquisition
function what a point is worth, a maximizer where the best one is, a searcher strings them together, and a study
(`bostruct.study.study`) has points evaluated and loses nothing.

Letters used everywhere: ``n`` training points, ``m`` candidates, ``d`` variables, ``p`` kernel parameters, ``s``
posterior samples of them. Numbers are float64. Points travel in batches: on a `Space` an integer array of shape
(m, d), elsewhere a sequence of immutable, hashable values. ``x`` is one point of a batch, as the domain holds it; what
the user sees of it is made by `Domain.present`. Values are minimized everywhere below the study.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
Json: TypeAlias = Any  # None, bool, int, float, str, or a list or dict of them
Point: TypeAlias = Any  # one point, as its domain holds it
Batch: TypeAlias = Any  # several of them: supports len() and indexing; joined by `Domain.join`
Prepared: TypeAlias = Any  # what a kernel needs to know of two batches, whatever its parameters
State: TypeAlias = Json  # what the next step needs: plain JSON, so that it survives on disk exactly
Info: TypeAlias = dict[str, Any]  # what a person wants to see, as JSON


class Domain(Protocol):
    """A set of points. `size` is their number, ``math.inf`` where there is no end."""

    @property
    def size(self) -> float: ...

    def sample(self, m: int, rng: np.random.Generator) -> Batch:
        """Draw m valid points, uniformly and independently."""
        ...

    def sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Point:
        """Draw a valid point whose key is not in `seen`; raise `SpaceExhausted` when there is none."""
        ...

    def check(self, x: Point) -> None:
        """Raise `PointError`, naming the part that is wrong, unless x is valid."""
        ...

    def parse(self, point: Any) -> Point:
        """Turn what a user writes into a point; raise `PointError` where it is none."""
        ...

    def present(self, x: Point) -> Any:
        """What an objective receives: the inverse of `parse`."""
        ...

    def encode(self, x: Point) -> Json: ...

    def decode(self, data: Json) -> Point:
        """Inverse of `encode`, exactly."""
        ...

    def keys(self, batch: Batch) -> list[Hashable]:
        """One hashable a point: equal exactly where the points are equal."""
        ...

    def join(self, *batches: Batch) -> Batch:
        """Concatenate batches; with none, the empty batch."""
        ...

    def to_json(self) -> Json:
        """A description from which `bostruct.domains.registry.domain_from_json` rebuilds an equal domain."""
        ...


class HasNeighbors(Domain, Protocol):
    """A domain with a symmetric relation of one change."""

    def neighbors(self, x: Point) -> Batch:
        """All valid points one change away, in a fixed order, without repeats."""
        ...

    def sample_neighbors(self, x: Point, m: int, rng: np.random.Generator) -> Batch:
        """All of `neighbors` where they are at most m; else m of them, uniformly, in their order."""
        ...


class HasNeighborhoods(HasNeighbors, Protocol):
    """A domain that can list the neighbors of many points at once."""

    def sample_neighborhoods(
        self, xs: Batch, m: int, rng: np.random.Generator, leaps: bool = False
    ) -> tuple[Batch, npt.NDArray[np.int64]]:
        """`some_neighbors` of each point as one batch, and which of the points each belongs to, ascending.

        leaps: also points that are several such steps in one direction away, where the domain has directions.
        """
        ...


class HasMutation(Domain, Protocol):
    def mutate(self, x: Point, rng: np.random.Generator) -> Point:
        """A valid point other than x, one random change away."""
        ...


class HasTokens(Domain, Protocol):
    """A domain whose points can be told apart by bags of features."""

    def tokens(self, xs: Batch) -> list[npt.NDArray[np.int64]]:
        """Of each point the hashes of its features, 63 bits, the same in every process, as often as they occur."""
        ...


class Choice(Protocol):
    """One choice of a point: a position among `count` values; of a continuous one, whose count is infinite, a share of
    its range. kind: what different points may have several choices of.
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


class HasChoices(Domain, Protocol):
    """A domain whose points are made of named choices."""

    def coordinates(self, x: Point) -> Sequence[Choice]:
        """All choices of a point, in a fixed order."""
        ...

    def names(self, x: Point) -> Sequence[str]:
        """The paths of these choices, the same sequence for points that have the same."""
        ...

    def resample(self, x: Point, names: Sequence[str], rng: np.random.Generator) -> Point:
        """A valid point with these choices, and those that they open, drawn anew, and all others as in x."""
        ...


class HasDecisions(Domain, Protocol):
    """A domain whose points are the leaves of a tree: one decision after another, each among finitely many."""

    def decisions(self, x: Point) -> tuple[int, ...]:
        """The way to a point: at each decision the position of what was chosen."""
        ...

    def options(self, made: Sequence[int]) -> int:
        """How many choices the next decision has after these; 0 where none is left. Raises Infeasible."""
        ...

    def roll_out(self, made: Sequence[int], rng: np.random.Generator) -> Point:
        """The point that these decisions and random further ones lead to; raises Infeasible."""
        ...


class HasCrossover(Domain, Protocol):
    def crossover(self, x: Point, y: Point, rng: np.random.Generator) -> Point: ...


class Prior(Protocol):
    """A log density, up to a constant, of one unconstrained parameter."""

    def log_density(self, theta: float) -> float:
        """-inf outside the support."""
        ...


@runtime_checkable
class DifferentiablePrior(Prior, Protocol):
    """A prior under which a mode can be found by gradients."""

    def value_and_grad(self, theta: Array) -> tuple[float, Array]:
        """Sum of the log densities of several parameters, and its derivative in each."""
        ...


class Parameter(NamedTuple):
    """A block of a kernel's parameters. `theta`, on the unconstrained scale, is all blocks in order."""

    name: str
    size: int
    prior: Prior
    initial: float


class Kernel(Protocol):
    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    def prepare(self, xs: Batch, ys: Batch) -> Prepared:
        """All that does not depend on theta: the costly part of structured kernels."""
        ...

    def gram(self, theta: Array, prepared: Prepared) -> Array:
        """(p,) -> (n, m)."""
        ...

    def diag(self, theta: Array, xs: Batch) -> Array:
        """k(x, x) of each point -> (n,)."""
        ...


class HasLine(Kernel, Protocol):
    """A kernel whose Gram matrix is cheap along one coordinate of theta: what a coordinate sampler needs."""

    def line(self, theta: Array, i: int, prepared: Prepared, gram: Array | None = None) -> Callable[[float], Array]:
        """The Gram matrix as a function of theta_i alone. The array returned is the caller's to overwrite.

        gram: the Gram matrix at theta, where known: a shortcut that a kernel may take.
        """
        ...


class TwoBlockGram(NamedTuple):
    """A line on which the points fall into two parts: K within each stays, and K between them is scaled.

    gram: K at one place of the line. parts: positions of the points; a part may be empty. scale: K between the parts at
    theta_i = t, in units of that in `gram`. whole: the line itself.
    """

    gram: Array
    parts: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    scale: Callable[[float], float]
    whole: Callable[[float], Array]

    def __call__(self, t: float) -> Array:
        return self.whole(t)


class HasGradient(Kernel, Protocol):
    """A kernel that can be fitted by gradients."""

    def gram_and_pullback(self, theta: Array, prepared: Prepared) -> tuple[Array, Callable[[Array], Array]]:
        """The Gram matrix K, and the map from a cotangent G (n, m) to the gradient of sum(G * K) in theta (p,)."""
        ...


class Prediction(NamedTuple):
    """Mean and variance of the latent objective, each (s, m); s = 1 for a point estimate."""

    mean: Array
    variance: Array


class Posterior(Protocol):
    """What the surrogate believes once it has seen the history; in the user's units, minimized."""

    def predict(self, xs: Batch) -> Prediction: ...

    def screen(self, xs: Batch) -> Prediction:
        """A cheap optimist: a mean never above, and a variance never below, that of `predict`."""
        ...

    def believe(self, xs: Batch) -> Posterior:
        """The posterior once xs were told exactly their mean: the mean stays, the variance shrinks."""
        ...


class Surrogate(Protocol):
    def initial_state(self) -> State: ...

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Learn from n points and their values (n,)."""
        ...


class Acquisition(Protocol):
    """What a prediction is worth to somebody who holds `incumbent`; larger is better.

    is_logarithm: whether it is the logarithm of a worth, to which that of a chance may be added.
    """

    @property
    def is_logarithm(self) -> bool: ...

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        """(s, m) -> (s, m)."""
        ...

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        """The most it can be if means are no smaller, and variances no larger, than predicted; (s, m)."""
        ...

    def average(self, scores: Array) -> Array:
        """Over posterior samples: (s, m) -> (m,)."""
        ...


class Score(Protocol):
    """The only thing that a maximizer knows of the model; maximized."""

    def __call__(self, xs: Batch) -> Array:
        """(m,)"""
        ...

    def upper_bounds(self, xs: Batch) -> Array:
        """Never below the score of the same point, and cheaper; (m,)."""
        ...


class Maximizer(Protocol):
    def __call__(self, score: Score, domain: Any, starts: Batch, rng: np.random.Generator) -> tuple[Batch, Info]:
        """Local maxima of the score, best first, each once."""
        ...


class HistoryView(Protocol):
    """What a searcher sees; `bostruct.study.history.History` is the one implementation."""

    @property
    def completed(self) -> Batch: ...
    @property
    def values(self) -> Array: ...
    @property
    def running(self) -> Batch: ...
    @property
    def failed(self) -> Batch: ...
    @property
    def seen(self) -> AbstractSet[Hashable]: ...


class Suggestion(NamedTuple):
    """The next point. `info["origin"]` says how it was chosen: initial, model, random or fallback (then `why`)."""

    point: Point
    state: State
    info: Info


class Searcher(Protocol):
    """A method. All it may remember is its state."""

    @property
    def domain(self) -> Any: ...

    def settings(self) -> Mapping[str, Json]:
        """What sets this searcher apart from another of the same method, for the record."""
        ...

    def initial_state(self) -> State: ...

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        """Raise `SpaceExhausted` when no unseen point is left."""
        ...


class Appraisal(NamedTuple):
    """What a method makes of the n completed points, in the order told.

    eligible: the points to recommend one of (n,). prediction: of the latent objective (s, n), None without a model.
    """

    eligible: npt.NDArray[np.bool_]
    prediction: Prediction | None


@runtime_checkable
class HasAppraisal(Searcher, Protocol):
    """A searcher that can say what the points told are worth once noise is set aside."""

    def appraise(self, history: HistoryView, state: State, rng: np.random.Generator) -> Appraisal:
        """Appraise at least one completed point; raise NumericalError where the model cannot be fitted."""
        ...


class BostructError(Exception):
    """Base of every error that this package raises on purpose."""


class PointError(BostructError, ValueError):
    """A point does not belong to its domain."""


class DomainError(BostructError, ValueError):
    """A domain cannot be built, or cannot be used so."""


class SpaceExhausted(BostructError):
    """Every point of the domain has been seen."""


class Infeasible(BostructError):
    """Raise it in an objective to say that a point breaks a constraint which only evaluation reveals, or in a function
    that builds a part of a search space to say that the choices taken lead nowhere.
    """


class NumericalError(BostructError, ArithmeticError):
    """A matrix that should be positive definite is not, whatever jitter the ladder allows."""


class MissingExtra(BostructError, ImportError):
    """A package that only some parts need is not installed; the message says how to get it."""
