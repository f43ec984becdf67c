"""Custom problems of users, in the form in which benchmark problems are compared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from bostruct import plugins
from bostruct.checks import check_integer, check_number, short_repr
from bostruct.contracts import Domain, Presented
from bostruct.domains.registry import as_domain
from bostruct.goals.declared import Declared, Direction, declare_goals, read_reference
from bostruct.problems.base import ArchitectureProblem, SpaceProblem, StructuredProblem, draw_points

N_INITIAL = 10  # default number of initial points of all runs of a seed
OPTIONS = ("direction", "directions", "constraints", "optimum", "initial", "reference", "noise_free")
EXPECTED = (
    "a bostruct.Problem, a pair (objective, space), an object with objective and space, or a function without "
    "arguments that returns one of these"
)
InitialPoints = int | Sequence[object] | Callable[[int], Iterable[object]]


class Problem:
    """A problem to compare methods on: an objective and its space.

    Parameters
    ----------
    objective : callable
        Called as ``objective(point)``. Returns a number, or anything else that `Study.tell` accepts as a value.
    space : Space, dict, or Domain
        The search space. A dict of variables becomes a `Space`.
    name : str, optional
        The name in tables and files. By default the objective's name.
    direction : {"minimize", "maximize"}, default "minimize"
        The direction of a single objective.
    directions : sequence of {"minimize", "maximize"}, optional
        One direction for each of several objectives. Runs are compared by hypervolume.
    constraints : dict, optional
        Bounds of measured quantities, see `Study`. Runs are compared by the best feasible value.
    optimum : float, optional
        The best possible value, without noise.
    initial : int, list, or callable, default 10
        The initial points of every run of a seed: a number of random points, at least 0; a list of points; or a
        function from a seed to a list of points.
    reference : sequence of float, optional
        The reference point of the hypervolume, one number for each objective. By default the worst values of the Pareto
        front of all runs, moved outward by a tenth of their range.
    noise_free : callable, optional
        Returns the value of a point without noise, by which runs are compared.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """

    source = "your own"
    optimum_source = "as given"
    best_known = None
    configs = ()  # each seed has its own initial points

    def __init__(
        self,
        objective: Callable[[Presented], object],
        space: Domain | Mapping[str, object],
        *,
        name: str | None = None,
        direction: Direction = "minimize",
        directions: Sequence[Direction] | None = None,
        constraints: Declared | None = None,
        optimum: float | None = None,
        initial: InitialPoints = N_INITIAL,
        reference: Sequence[float] | None = None,
        noise_free: Callable[[Presented], float] | None = None,
    ) -> None:
        if not callable(objective):
            raise TypeError(f"objective: expected a function of a point, got {short_repr(objective)}")
        if name is not None and (not isinstance(name, str) or not name):
            raise TypeError(f"name: expected a non-empty string, got {short_repr(name)}")
        self.objective = objective
        self.space = as_domain(space)
        self.name = _name_of(objective) if name is None else name
        self.goals = declare_goals(direction, directions, constraints, objective_name=objective)
        self.optimum = None if optimum is None else check_number("optimum", optimum)
        self.reference = reference
        self.noise_free = noise_free
        self.initial = initial
        if isinstance(initial, bool | str | Mapping) or not (isinstance(initial, int | Sequence) or callable(initial)):
            raise TypeError(
                f"initial: expected a number of points, a list of points or a function from a seed to a list, "
                f"got {short_repr(initial)}"
            )
        if isinstance(initial, int):
            check_integer("initial", initial, 0)
        if self.optimum is not None and self.goals.n_objectives > 1:
            raise ValueError("optimum: expected None for several objectives, which have no single best value")
        if reference is not None and self.goals.n_objectives > 1:
            read_reference(reference, self.goals)

    def __call__(self, point: Presented) -> object:
        """Evaluate a point."""
        return self.objective(point)

    @property
    def noisy(self) -> bool:
        """True if the value without noise is known."""
        return self.noise_free is not None

    def initial_points(self, seed: int) -> list[Presented]:
        """Return the initial points of the runs of a seed.

        Parameters
        ----------
        seed : int
            The seed, at least 0.
        """
        if isinstance(self.initial, int):
            return draw_points(self.space, self.initial, seed)
        return list(self.initial(seed) if callable(self.initial) else self.initial)

    def __repr__(self) -> str:
        return f"Problem({self.name!r}: {self.goals}, over {short_repr(self.space)})"


def _name_of(objective: Callable[..., object]) -> str:
    while isinstance(objective, partial):
        objective = objective.func
    return str(getattr(objective, "__name__", type(objective).__name__))


AnyProblem = SpaceProblem | ArchitectureProblem | StructuredProblem | Problem


def as_problem(argument: str, given: object, name: str | None = None) -> AnyProblem:
    """Return the problem of a user's object.

    name: name for a custom problem; None for its own name.

    Raises ValueError if the object is not a problem, or if a function fails.
    """
    if callable(given) and (isinstance(given, type) or not _is_problem(given)) and _takes_nothing(given):
        try:
            given = given()
        except Exception as error:
            raise ValueError(f"{argument}: making the problem failed: {plugins.explain(error)}") from error
    if isinstance(given, SpaceProblem | ArchitectureProblem | StructuredProblem):
        return given
    try:
        return _read_own(given, name)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument}: {error}") from error


def _read_own(given: object, name: str | None) -> Problem:
    if isinstance(given, Problem):
        if name is None:
            return given
        copy = Problem.__new__(Problem)
        copy.__dict__.update(given.__dict__, name=name)
        return copy
    if isinstance(given, tuple) and len(given) == 2 and callable(given[0]):
        return Problem(given[0], given[1], name=name)
    if _is_problem(given):
        options: dict[str, Any] = {option: getattr(given, option) for option in OPTIONS if hasattr(given, option)}
        own = getattr(given, "name", None) or getattr(given, "__name__", None)
        return Problem(given.objective, given.space, name=name or own, **options)  # type: ignore[attr-defined]
    raise ValueError(f"expected {EXPECTED}, got {short_repr(given)}")


def _is_problem(given: object) -> bool:
    return all(hasattr(given, name) for name in ("objective", "space"))


def _takes_nothing(function: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # raised for some built-in functions
        return False
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(one.default is not one.empty or one.kind in variadic for one in parameters)
