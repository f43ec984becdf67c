"""Methods: histories, suggestions, and searchers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.contracts.errors import BostructError
from bostruct.contracts.model import Feasibility, HyperparameterSamples, Posterior, Prediction, Score
from bostruct.contracts.types import ADDED_LATER, NOT_STORED, STORED_AS, Array, Batch, Info, Json, Point, State

PARENT_POSITION = "parent_position"  # a key of `Suggestion.info`
BRANCH_REASON = "trials were in this branch"  # the end of `info["why"]` of a random point that explores a branch
NO_SETTINGS = ("domain", "note")  # fields of a searcher that are not settings


@dataclass(frozen=True, eq=False)
class HistoryView:
    """The history that a searcher sees: points in the domain's form and values to minimize, in the order observed.

    Parameters
    ----------
    completed : Batch
        Points that have a value.
    values : array of shape (n,)
        One value for each completed point: the objective, or, with several objectives or constraints, a constrained
        rank that puts feasible points first (see `bostruct.goals.pareto.constrained_rank`).
    running : Batch
        Points of unfinished trials.
    failed : Batch
        Points of trials without a value, either failed or infeasible.
    seen : AbstractSet
        The keys of all points ever suggested or observed, whatever their outcome.
    objectives : array of shape (n, k)
        The objectives of each completed point, minimized.
    violations : array of shape (n, c)
        The violation of each constraint by each completed point, at most 0 if it is satisfied; (n, 0) without
        constraints.
    variances : array of shape (n,) or None
        Known noise variances of the single objective, NaN if unknown; None if none is known. They apply to `values` if
        all constraints are satisfied.
    whole : HistoryView or None
        The full history, if this one is a part of it to save time; else None.
    """

    completed: Batch
    values: Array
    running: Batch
    failed: Batch
    seen: AbstractSet[Hashable]
    objectives: Array
    violations: Array
    variances: Array | None
    whole: HistoryView | None = field(default=None, repr=False)


class ScoreBuilder(ABC):
    """A callable that builds a score from a posterior, the field `score` of a `BayesianSearch`."""

    @property
    def is_logarithm(self) -> bool:
        """True if its scores are logarithms, so that the log probability of feasibility may be added."""
        return False

    def around(self, change: Callable[[ScoreBuilder], ScoreBuilder]) -> ScoreBuilder:
        """Return the builder with its acquisition function changed; a builder around another one changes that inside.

        Parameters
        ----------
        change : callable
            Function from the acquisition function's builder to its replacement.
        """
        return change(self)

    def without_draws(self) -> ScoreBuilder:
        """Return the builder that draws nothing at observed points, since some break limits; by default itself."""
        return self

    @abstractmethod
    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> Score:
        """Return the score to maximize.

        posterior: posterior of the objective, conditioned on the running points by `believe`.
        history: all observations so far, at least one value.
        rng: random number generator.

        Raises NumericalError, after which a random point is suggested.
        """

    def build_from(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> tuple[Score, State]:
        """Return the score as a call does, and the state for the next call.

        The state is None, as by default, if the builder learns nothing of its own.

        Parameters
        ----------
        posterior : Posterior
            Posterior of the objective, conditioned on the running points by `believe`.
        history : HistoryView
            All observations so far, at least one value.
        state : State
            None, or the state that the last call returned; plain JSON.
        rng : Generator
            Random number generator.

        Raises
        ------
        NumericalError
            If a model cannot be fitted.
        """
        return self(posterior, history, rng), None

    def learn_feasibility(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> Feasibility | None:
        """Return the probability that a point has a value and satisfies all constraints, as the scores use it.

        The default, None, means that all points are assumed feasible, or that the scores use no such probability.

        Parameters
        ----------
        posterior : Posterior
            Posterior of the objective.
        history : HistoryView
            All observations so far, at least one value.
        state : State
            None, or the state from `build_from`.
        rng : Generator
            Random number generator.

        Raises
        ------
        NumericalError
            If a model cannot be fitted.
        """
        return None


class Suggestion(NamedTuple):
    """The next point to evaluate.

    Attributes
    ----------
    point : Point
        The point to evaluate; unseen, except for a ``repeat`` of a searcher that `repeats`.
    state : State
        State of the searcher after this suggestion; plain JSON.
    info : Info
        Information for the record; plain JSON. `info["origin"]` names how the point was chosen: ``initial`` (among the
        method's first points), ``model``, ``mutation`` (of the best point), ``random``, ``repeat`` (an observed point
        again) or ``fallback``, with the reason in `info["why"]`. `info[PARENT_POSITION]` is the position, among the
        completed points of the history, of the point that was changed; the study records the number of that trial as
        `info["parent"]`.
    """

    point: Point
    state: State
    info: Info


class TrainingPrediction(NamedTuple):
    """A method's predictions at the n completed points, in the order observed.

    Attributes
    ----------
    eligible : array of shape (n,)
        The points that may be recommended.
    prediction : Prediction or None
        Prediction of the latent objective (s, n); None without a model.
    why : str, default ""
        The condition that makes points eligible, for the record; empty if all are.
    """

    eligible: npt.NDArray[np.bool_]
    prediction: Prediction | None
    why: str = ""


class Predicted(NamedTuple):
    """A method's predictions at m points.

    Attributes
    ----------
    mean, variance : array of shape (k, s, m)
        Mean and variance of k latent objectives under s posterior samples, minimized, in the user's units.
    log_probability : array of shape (m,)
        Log probability that each point has a value and satisfies all constraints; zeros if nothing failed and there are
        no constraints.
    """

    mean: Array
    variance: Array
    log_probability: Array


class LeaveOneOut(NamedTuple):
    """Leave-one-out predictions of the observed values.

    Attributes
    ----------
    positions : array of shape (n,)
        Positions of the completed points that the model was trained on, in the order observed.
    prediction : Prediction
        Predictions of their values including noise, (s, n) each, minimized.
    """

    positions: npt.NDArray[np.int64]
    prediction: Prediction


class Searcher(ABC):
    """An optimization method. Its state is all that it remembers, and only `suggest` must be written.

    Attributes
    ----------
    domain : Any
        The `Domain` to search.
    n_initial : int, default 0
        Number of points that the method chooses before it learns from values.
    repeats : bool, default False
        True if observed points may be suggested again, with the origin ``repeat``. Once every point has been seen, the
        searcher may then continue with repeats instead of raising `SpaceExhausted`.
    has_model : bool, default False
        True if `predict` uses a model.
    bounds_regret : bool, default False
        False if it is known before any observation that the model cannot bound regret.
    cross_validates : bool, default False
        True if a model may answer `cross_validate`.
    reads_objectives : bool, default False
        True if the searcher handles several objectives itself, or does not need them.
    note : str, optional
        Text recorded with each suggestion, as ``info["auto"]``; None for no text. It is not a setting.
    """

    domain: Any
    n_initial: int = 0
    repeats: bool = False
    has_model: bool = False
    bounds_regret: bool = False
    cross_validates: bool = False
    reads_objectives: bool = False
    note: str | None = None

    @abstractmethod
    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        """Return the next point to evaluate; raise `SpaceExhausted` if no unseen point is left.

        Parameters
        ----------
        history : HistoryView
            All observations so far.
        state : State
            The result of `initial_state`, or the state of the last suggestion.
        rng : Generator
            Random number generator.
        """

    def suggest_jointly(self, history: HistoryView, state: State, rng: np.random.Generator) -> Iterator[Suggestion]:
        """Yield points to evaluate in parallel, each with those before it running; the first is that of `suggest`.

        It stops, after at least one point, when a new fit is needed; by default after one. Override it if one fit and
        one search suffice for several points.

        Parameters
        ----------
        history : HistoryView
            All observations so far.
        state : State
            The result of `initial_state`, or the state of the last suggestion.
        rng : Generator
            Random number generator.

        Raises
        ------
        SpaceExhausted
            If no unseen point is left for the first.
        """
        yield self.suggest(history, state, rng)

    def settings(self) -> Mapping[str, Json]:
        """Return the settings that distinguish this searcher from others of its class, as JSON.

        By default these are its fields without the domain, or its public attributes if it is not a dataclass.
        """
        return {name: describe_part(value) for name, value in _settings_of(self) if name not in NO_SETTINGS}

    def with_note(self, found: Suggestion) -> Suggestion:
        """Return a suggestion with the searcher's note recorded, if any.

        Parameters
        ----------
        found : Suggestion
            The suggestion.
        """
        return found if self.note is None else found._replace(info={**found.info, "auto": self.note})

    def change_model(self, change: Callable[[Any], Searcher | None], other: Callable[[Searcher], Searcher]) -> Searcher:
        """Return the searcher with another model; one around another searcher changes that inside.

        Parameters
        ----------
        change : callable
            Function from a `BayesianSearch` to its replacement, or to None if there is none.
        other : callable
            The same for any other searcher, and for a searcher that `change` does not replace.
        """
        return other(self)

    def with_repeats(self) -> Searcher | None:
        """Return the searcher that may suggest observed points again; None, the default, if it never does."""
        return None

    def initial_state(self) -> State:
        """Return the state before the first suggestion, as plain JSON."""
        return None

    def appraise(self, history: HistoryView, state: State, rng: np.random.Generator) -> TrainingPrediction:
        """Predict the completed points, at least one, without noise; by default by their values.

        Parameters
        ----------
        history : HistoryView
            All observations so far.
        state : State
            The state of the last suggestion.
        rng : Generator
            Random number generator.

        Raises
        ------
        NumericalError
            If the model cannot be fitted.
        """
        return TrainingPrediction(np.ones(len(history.values), dtype=np.bool_), None)

    def predict(self, history: HistoryView, state: State, xs: Batch, rng: np.random.Generator) -> Predicted:
        """Predict points, if the searcher `has_model`; an override calls `super()` when it has no model yet.

        Parameters
        ----------
        history : HistoryView
            All observations so far.
        state : State
            The result of `initial_state`, or the state of the last suggestion.
        xs : Batch
            m points.
        rng : Generator
            Random number generator.

        Raises
        ------
        NumericalError
            If the model cannot be fitted, or no trial has completed.
        BostructError
            If there is no model.
        """
        raise BostructError(f"predict: {type(self).__name__} has no model")

    def sample_hyperparameters(
        self, history: HistoryView, state: State, rng: np.random.Generator
    ) -> list[list[HyperparameterSamples]]:
        """Return samples of the hyperparameters of the model of each output; none by default.

        Parameters
        ----------
        history : HistoryView
            At least one completed point.
        state : State
            The state of the last suggestion.
        rng : Generator
            Random number generator.

        Raises
        ------
        NumericalError
            If the model cannot be fitted.
        """
        return []

    def bound_regret_probability(
        self, history: HistoryView, state: State, regret: float, rng: np.random.Generator
    ) -> float:
        """Return an upper bound of the probability that the regret of the best completed point exceeds `regret`.

        The bound is 1 without a model, until more points have a value than the method chooses without the model, and
        while the values are equal up to rounding and so do not reveal their scale. If the bound is estimated, its
        confidence is that of a single check.

        Parameters
        ----------
        history : HistoryView
            At least one completed point, with one objective and no constraints.
        state : State
            The state of the last suggestion.
        regret : float
            The difference to the optimum, at least 0, in the user's units.
        rng : Generator
            Random number generator.

        Raises
        ------
        NumericalError
            If the model cannot be fitted.
        """
        return 1.0

    def cross_validate(
        self, history: HistoryView, state: State, objective: int, rng: np.random.Generator
    ) -> LeaveOneOut:
        """Predict each observed value from all others, if the searcher `cross_validates`.

        Parameters
        ----------
        history : HistoryView
            At least one completed point.
        state : State
            The state of the last suggestion.
        objective : int
            Position of the objective, from 0.
        rng : Generator
            Random number generator.

        Raises
        ------
        BostructError
            If the model cannot cross-validate.
        """
        raise BostructError(f"cross_validate: {type(self).__name__} has no model that predicts values left out")


def describe_part(part: object) -> Json:
    """Describe a part and all its settings, including priors, as JSON.

    Parameters
    ----------
    part : object
        A dataclass, or the value of one of its fields. A value taken from the domain is described by its type. A field
        that was added later is omitted at its default, and a label always.
    """
    if is_dataclass(part) and not isinstance(part, type):
        described: dict[str, Json] = {"part": type(part).__name__}
        return described | {name: describe_part(value) for name, value in _settings_of(part)}
    if isinstance(part, float):
        return float(f"{part:.12g}")  # the last digits may differ between machines
    if part is None or isinstance(part, bool | int | str):
        return part
    return getattr(part, "__qualname__", type(part).__name__)


def _settings_of(part: Any) -> Iterator[tuple[str, object]]:
    """Yield the fields of a dataclass that describe it, with their values; of another class, its public attributes."""
    if not is_dataclass(part):
        yield from ((name, value) for name, value in vars(part).items() if not name.startswith("_"))
        return
    for one in fields(part):
        value = getattr(part, one.name)
        is_omitted = ADDED_LATER.items() <= one.metadata.items() and value == one.default
        if not is_omitted and one.metadata != NOT_STORED:
            yield one.metadata.get(STORED_AS, one.name), value
