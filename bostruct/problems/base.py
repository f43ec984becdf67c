"""The kinds of benchmark problems: over a space, over architectures, with constraints or several objectives.

A problem has a domain, an objective, its known optimum, and initial points. The objective of a problem over a space is
a function from vertices (m, d) to values (m,).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Array, Domain, DomainError, IntArray, Point, Presented, SpaceExhausted
from bostruct.domains.space.space import Space
from bostruct.goals.declared import Goals

VertexObjective = Callable[[IntArray], Array]  # (m, d) -> (m,)
DEFAULT_N_INITIAL = 20
N_CONFIGS = 25
GENERATED_SEEDS = {config: 1000 + config for config in range(1, N_CONFIGS + 1)}  # for problems without published seeds
N_INITIAL = 10  # number of points of a set of initial points
ONE = Goals()  # one objective, minimized
ObjectivePoint = Mapping[str, Any]
AnyDomain = TypeVar("AnyDomain", bound=Domain)
PointFunction = Callable[[Presented], float]


@dataclass(frozen=True)
class SpaceProblem:
    """A benchmark to minimize.

    vertex_objective: function from vertices (m, d) to values (m,).
    initial: function from the number of a set of initial points to their vertices (n, d).
    optimum: the minimum, None if it is not proved.
    optimal_vertices: a minimizer, None if none is known.
    mean: for a noisy objective, its mean over the noise, estimated from a number of simulations.
    """

    name: str
    space: Space
    vertex_objective: VertexObjective
    initial: Callable[[int], IntArray]
    source: str
    configs: tuple[int, ...]
    optimum: float | None = None
    optimum_source: str = "not known"
    best_known: float | None = None
    optimal_vertices: tuple[int, ...] | None = None
    mean: Callable[[IntArray, int], Array] | None = None
    goals: ClassVar[Goals] = Goals()
    reference: ClassVar[None] = None

    @property
    def noisy(self) -> bool:
        """True if `noise_free` differs from the objective."""
        return self.mean is not None

    @property
    def objective(self) -> SpaceProblem:
        """The function from a point to its value, for `bostruct.minimize`: the problem itself."""
        return self

    @property
    def optimal_point(self) -> dict[str, Presented] | None:
        """A minimizer, None if none is known."""
        return None if self.optimal_vertices is None else self.space.present(np.array(self.optimal_vertices))

    def __call__(self, point: Mapping[str, object]) -> float:
        """Return the value of one point; raise PointError, naming the invalid variable."""
        return float(self.vertex_objective(self.space.parse(point)[None])[0])

    def evaluate(self, vertices: IntArray) -> Array:
        """Return the values (m,) of points.

        vertices: points as rows of integers (m, d), each in 0..k - 1, k the variable's number of choices.

        Raises ValueError for another shape or range.
        """
        rows = np.asarray(vertices)
        if rows.ndim != 2 or rows.shape[1] != self.space.d or not np.issubdtype(rows.dtype, np.integer):
            raise ValueError(
                f"vertices: expected integers of shape (m, {self.space.d}), got {rows.dtype} of shape {rows.shape}"
            )
        if rows.size and (rows.min() < 0 or (rows >= self.space.n_choices).any()):
            raise ValueError("vertices: expected each in 0..k - 1, k the variable's number of choices")
        return self.vertex_objective(rows)

    def noise_free(self, point: Mapping[str, object], n_simulations: int = 20_000) -> float:
        """Return the value of a point without noise; for a noisy problem, an estimate that is always the same.

        n_simulations: number of simulations of the estimate, from 1.

        Raises PointError, and ValueError for fewer than one simulation.
        """
        check_integer("n_simulations", n_simulations, 1)
        if self.mean is None:
            return self(point)
        return float(self.mean(self.space.parse(point)[None], n_simulations)[0])

    def initial_points(self, config: int) -> list[dict[str, Presented]]:
        """Return the published initial points of a configuration.

        Raises ValueError for an unknown configuration.
        """
        return [self.space.present(row) for row in self.initial(config)]


@dataclass(frozen=True)
class ArchitectureProblem(Generic[AnyDomain]):
    """A benchmark over architectures to minimize.

    `objective`, `mean` and `report` are functions of a point of the domain.

    n_initial: number of points of a set of initial points.
    optimum: the minimum without noise, None if unknown.
    optimal: a minimizer, None if none is known.
    """

    name: str
    space: AnyDomain
    objective: PointFunction
    source: str
    n_initial: int
    optimum: float | None = None
    optimum_source: str = "not known"
    best_known: ClassVar[float | None] = None
    optimal: Point | None = None
    mean: PointFunction | None = None
    report: PointFunction | None = None
    report_optimum: float | None = None
    goals: ClassVar[Goals] = Goals()
    reference: ClassVar[None] = None
    configs: ClassVar[tuple[int, ...]] = tuple(GENERATED_SEEDS)

    @property
    def noisy(self) -> bool:
        """True if `noise_free` differs from the objective."""
        return self.mean is not None

    @property
    def optimal_point(self) -> Presented:
        """A minimizer, None if none is known."""
        return None if self.optimal is None else self.space.present(self.optimal)

    def __call__(self, point: object) -> float:
        """Return the value of one point; raise PointError outside the space."""
        return self.objective(self.space.parse(point))

    def evaluate(self, points: Iterable[object]) -> Array:
        """Return the values (m,) of points.

        Raises PointError.
        """
        return np.array([self(point) for point in points], dtype=np.float64)

    def noise_free(self, point: object, n_simulations: int = 1) -> float:
        """Return the value without noise.

        Raises PointError.
        """
        check_integer("n_simulations", n_simulations, 1)
        value = self.objective if self.mean is None else self.mean
        return value(self.space.parse(point))

    def reported(self, point: object) -> float:
        """Return the value by which a run that recommends this point is judged; raise PointError outside the space."""
        return self.noise_free(point) if self.report is None else self.report(self.space.parse(point))

    def initial_points(self, config: int) -> list[Presented]:
        """Return distinct random points, with a different seed for each configuration.

        Raises ValueError for an unknown configuration.
        """
        return generated_points(self.space, self.n_initial, config)


@dataclass(frozen=True)
class StructuredProblem:
    """A generated benchmark to minimize, without noise.

    optimum: the feasible minimum, None if it is not proved, and for several objectives.
    optimal_point: a minimizer, None if none is known.
    """

    name: str
    space: Space
    objective: Callable[[ObjectivePoint], object]
    source: str
    goals: Goals = ONE
    optimum: float | None = None
    optimum_source: str = "not known"
    optimal_point: ObjectivePoint | None = None
    reference: tuple[float, ...] | None = None
    best_known: ClassVar[None] = None
    noisy: ClassVar[bool] = False
    noise_free: ClassVar[None] = None
    configs: ClassVar[tuple[int, ...]] = tuple(GENERATED_SEEDS)

    def __call__(self, point: ObjectivePoint) -> object:
        """Return the value of one point for `Study.tell`; raise PointError, naming the invalid variable."""
        return self.objective(self.space.present(self.space.parse(point)))

    def initial_points(self, config: int) -> list[dict[str, Any]]:
        """Return ten distinct random points, with a different seed for each configuration.

        Raises ValueError for an unknown configuration.
        """
        return generated_points(self.space, N_INITIAL, config)


@dataclass(frozen=True)
class InitialPoints:
    """The initial points of the COMBO paper's code, one set per seed, without torch.

    Torch's CPU generator returns the 32-bit words of the Mersenne Twister; a vertex is a word modulo the number of
    choices, with points in the outer and variables in the inner loop.
    """

    seeds: Mapping[int, int]
    n_choices: tuple[int, ...]
    fixed: tuple[tuple[int, ...], ...] = ()
    count: int = DEFAULT_N_INITIAL

    def __call__(self, config: int) -> IntArray:
        """Return the points of a configuration (count, d); raise ValueError for an unknown configuration."""
        if check_integer("config", config, 0) not in self.seeds:
            raise ValueError(f"config: expected one of {', '.join(map(str, self.seeds))}; got {config}")
        n_drawn, d = self.count - len(self.fixed), len(self.n_choices)
        drawn = mersenne_words(self.seeds[config], n_drawn * d).reshape(n_drawn, d) % np.array(self.n_choices)
        return np.concatenate([np.array(self.fixed, dtype=np.int64).reshape(-1, d), drawn])


def draw_points(domain: Domain, n: int, seed: int) -> list[Presented]:
    """Draw distinct points at random, in the form that an objective receives.

    n: number of points; if the domain has fewer, all its points are returned.
    seed: seed of the generator, from 0.
    """
    rng = np.random.default_rng(seed)
    drawn: dict[Hashable, Point] = {}
    for _ in range(n):
        try:
            x = domain.sample_unseen(frozenset(drawn), rng)
        except SpaceExhausted:
            break
        drawn[domain.key(x)] = x
    return [domain.present(x) for x in drawn.values()]


def mersenne_words(seed: int, count: int) -> IntArray:
    """Return the first 32-bit words of the Mersenne Twister, which both NumPy's legacy generator and torch use.

    seed: seed of the generator, 0 to 2^32 - 1.
    count: number of words.
    """
    state = np.random.RandomState(seed)
    return state.randint(0, 2**32, size=count, dtype=np.uint32).astype(np.int64)


def bits(text: str) -> tuple[int, ...]:
    """Return the vertices of binary variables in a string of 0 and 1."""
    return tuple(int(character) for character in text)


def all_bits(n: int) -> IntArray:
    """Return all rows of n bits, (2^n, n), highest bit first.

    n: number of bits.
    """
    return (np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1)) & 1


def published_seeds(tag: str) -> dict[int, tuple[int, int]]:
    """Return for each configuration 1..25 its instance seed and the seed of its initial points.

    There are five sets of initial points for each of five instances, drawn like in the COMBO code: five seeds of
    initial points, then their instance. Both are sorted.
    """
    state = np.random.RandomState(sum(map(ord, tag)))
    drawn = sorted((int(case), sorted(map(int, seeds))) for *seeds, case in state.randint(0, 10_000, (5, 6)))
    return dict(enumerate(((case, seed) for case, seeds in drawn for seed in seeds), start=1))


def published_initial_seeds(tag: str) -> dict[int, int]:
    """Return for each configuration 1..25 the seed of its initial points, for problems with a single instance."""
    state = np.random.RandomState(sum(map(ord, tag)))
    return dict(enumerate(sorted(map(int, state.randint(0, 10_000, N_CONFIGS))), start=1))


def seeds_of_case(tag: str, case: int) -> dict[int, int]:
    """Return the seeds of initial points of an instance, by configuration.

    case: seed of the instance; an unpublished instance gets all 25 sets of initial points.
    """
    published = published_seeds(tag)
    own = {config: seed for config, (instance, seed) in published.items() if instance == case}
    return own or {config: seed for config, (_, seed) in published.items()}


def evaluate_in_chunks(objective: VertexObjective, vertices: IntArray, rows: int) -> Array:
    """Evaluate an objective in chunks of rows, to bound its memory -> (m,).

    objective: function from vertices (m, d) to values (m,).
    vertices: points (m, d).
    rows: number of points at a time.
    """
    if len(vertices) <= rows:
        return objective(vertices)
    return np.concatenate([objective(vertices[i : i + rows]) for i in range(0, len(vertices), rows)])


def prove_by_enumeration(problem: SpaceProblem) -> SpaceProblem:
    """Return the problem with its proved optimum.

    problem: problem without noise, of at most 100,000 points.

    Raises DomainError for any other problem.
    """
    if problem.noisy:
        raise DomainError(f"{problem.name}: the optimum of a noisy objective cannot be enumerated")
    points = problem.space.enumerate()
    values = problem.vertex_objective(points)
    best = int(np.argmin(values))
    return replace(
        problem,
        optimum=float(values[best]),
        optimum_source="proved by enumeration",
        optimal_vertices=tuple(map(int, points[best])),
    )


@dataclass(frozen=True)
class Relabeling:
    """A mapping from the vertices that an optimizer sees to the vertices of the problem."""

    tables: tuple[tuple[int, ...], ...]

    def undo(self, seen: IntArray) -> IntArray:
        """Return vertices of the problem (m, d).

        seen: vertices that an optimizer sees, (m, d).
        """
        return np.stack([np.array(t)[seen[:, i]] for i, t in enumerate(self.tables)], axis=1)

    def apply(self, own: IntArray) -> IntArray:
        """Return the vertices that an optimizer sees, (m, d), the inverse of `undo`.

        own: vertices of the problem (m, d).
        """
        return np.stack([np.argsort(t)[own[:, i]] for i, t in enumerate(self.tables)], axis=1)


def relabel(problem: SpaceProblem, seed: int) -> SpaceProblem:
    """Return a problem with all choices permuted, so that no method profits from an optimum with a pattern.

    seed: seed of the permutations, from 0.

    Unordered and binary choices are permuted at random; ordered choices (a path) are reversed with probability 1/2,
    because no other permutation keeps the path; choices of other graphs stay. Optimum and the values of the initial
    points are unchanged. Raises TypeError or ValueError for a seed that is not a non-negative integer.
    """
    rng = np.random.default_rng([check_integer("relabel", seed, 0), 1])
    tables = []
    for variable in problem.space.variables.values():
        vertices = np.arange(len(variable))
        if (graph := variable.graph) is not None and graph.is_complete:
            vertices = rng.permutation(vertices)
        elif graph is not None and graph.is_path and rng.random() < 0.5:
            vertices = vertices[::-1]
        tables.append(tuple(map(int, vertices)))
    labels = Relabeling(tuple(tables))
    optimal = problem.optimal_vertices
    return replace(
        problem,
        name=f"{problem.name}{',' if ':' in problem.name else ':'}relabel={seed}",
        vertex_objective=partial(_relabeled_objective, problem.vertex_objective, labels),
        initial=partial(_relabeled_initial, problem.initial, labels),
        optimal_vertices=None if optimal is None else tuple(map(int, labels.apply(np.array([optimal]))[0])),
        mean=None if problem.mean is None else partial(_relabeled_mean, problem.mean, labels),
    )


def _relabeled_objective(objective: VertexObjective, labels: Relabeling, seen: IntArray) -> Array:
    return objective(labels.undo(seen))


def _relabeled_initial(initial: Callable[[int], IntArray], labels: Relabeling, config: int) -> IntArray:
    return labels.apply(initial(config))


def _relabeled_mean(
    mean: Callable[[IntArray, int], Array], labels: Relabeling, seen: IntArray, n_simulations: int
) -> Array:
    return mean(labels.undo(seen), n_simulations)


def attach_optimum(problem: StructuredProblem, point: ObjectivePoint, proof: str) -> StructuredProblem:
    """Return a problem of one objective with its optimum."""
    return replace(problem, optimum=problem(point), optimum_source=f"proved by {proof}", optimal_point=point)


def generated_points(domain: Domain, n: int, config: int) -> list[Presented]:
    """Return the initial points of a problem without published points, with a different seed for each configuration.

    n: number of points.
    config: 1 to 25.

    Raises ValueError for another configuration.
    """
    if check_integer("config", config, 0) not in GENERATED_SEEDS:
        raise ValueError(f"config: expected one of {', '.join(map(str, GENERATED_SEEDS))}; got {config}")
    return draw_points(domain, n, GENERATED_SEEDS[config])


def read_variable(name: str, value: Callable[[Any], float]) -> Callable[[ObjectivePoint], float]:
    """Return an objective that is a function of one variable's value."""
    return partial(_value_of, name, value)


def _value_of(name: str, value: Callable[[Any], float], point: ObjectivePoint) -> float:
    return value(point[name])
