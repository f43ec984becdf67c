"""Methods: a history, a suggestion, and the searcher that makes it."""

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
from bostruct.contracts.types import ADDED_LATER, STORED_AS, Array, Batch, Info, Json, Point, State

PARENT_POSITION = "parent_position"  # in `Suggestion.info`
BRANCH_REASON = "trials were in this branch"  # the end of `info["why"]` of a random point that explores a branch
NO_SETTINGS = ("domain", "note")  # of a searcher's fields


@dataclass(frozen=True, eq=False)
class HistoryView:
    """The history that a searcher sees: points as its domain holds them, values to minimize, in the order observed.

    Parameters
    ----------
    completed : Batch
        Points that have a value.
    values : Array
        One for each completed point (n,): of the only objective; if there are several, or limits, a constrained rank,
        by which feasible points come before others: see `bostruct.goals.pareto.constrained_rank`.
    running : Batch
        Points that were asked and are not finished.
    failed : Batch
        Points that were told without a value, whether their trials failed or were infeasible.
    seen : AbstractSet
        The keys of all points ever suggested or observed, whatever became of them.
    objectives : Array
        Of each completed point (n, k), minimized.
    violations : Array
        By how much each completed point breaks each limit (n, c), at most 0 if it keeps it; (n, 0) without limits.
    variances : Array or None
        Known variances of the noise of the one objective (n,), NaN if unknown; None if none is known. Of `values` they
        are those if all limits are kept.
    whole : HistoryView or None
        The history that this one is a part of to save time; None if nothing was left out for that.
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
    """A callable that makes a score of a posterior, the field `score` of a `BayesianSearch`."""

    @property
    def is_logarithm(self) -> bool:
        """True if its scores are logarithms, to which that of a probability of feasibility may be added."""
        return False

    def around(self, change: Callable[[ScoreBuilder], ScoreBuilder]) -> ScoreBuilder:
        """Return the builder whose promise is changed; a builder around another one changes that inside.

        Parameters
        ----------
        change : callable
            From the builder of the promise to another one.
        """
        return change(self)

    def without_draws(self) -> ScoreBuilder:
        """Return the builder that draws nothing at observed points, since some break limits; by default itself."""
        return self

    @abstractmethod
    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> Score:
        """Return the score to maximize.

        posterior: of the objective, with the running points believed.
        history: all that was observed so far, at least one value.
        rng: random number generator.

        Raises NumericalError, for which a random point is suggested.
        """

    def build_from(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> tuple[Score, State]:
        """Return the score as a call does, and the state for the next call.

        The state is None for a builder that learns nothing of its own, as by default.

        Parameters
        ----------
        posterior : Posterior
            Of the objective, with the running points believed.
        history : HistoryView
            All that was observed so far, at least one value.
        state : State
            None, or what the last call returned; plain JSON.
        rng : Generator
            Random number generator.

        Raises
        ------
        NumericalError
        """
        return self(posterior, history, rng), None

    def learn_feasibility(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> Feasibility | None:
        """Return the chance that a point has a value and satisfies all limits, as the scores know it.

        None, by default, stands for certainty, or for scores that know no such chance.

        Parameters
        ----------
        posterior : Posterior
            Of the objective.
        history : HistoryView
            All that was observed so far, at least one value.
        state : State
            None, or that of `build_from`.
        rng : Generator
            Random number generator.

        Raises
        ------
        NumericalError
        """
        return None


class Suggestion(NamedTuple):
    """The next point to evaluate.

    Attributes
    ----------
    point : Point
        To evaluate, unseen before, except for a ``repeat`` of a searcher that `repeats`.
    state : State
        Of the searcher after it; plain JSON.
    info : Info
        For people; plain JSON. `info["origin"]` says how the point was chosen: ``initial`` (of the method's first
        points), ``model``, ``mutation`` (of the best point), ``random``, ``repeat`` (an observed point, asked again) or
        ``fallback``, where `info["why"]` says why. `info[PARENT_POSITION]` is the position, among the completed points
        of the history, of the point that this one is a change of; the study puts the number of that trial on record, as
        `info["parent"]`.
    """

    point: Point
    state: State
    info: Info


class TrainingPrediction(NamedTuple):
    """A method's judgement of the n completed points, in the order observed.

    Attributes
    ----------
    eligible : NDArray
        The points to recommend one of (n,).
    prediction : Prediction or None
        Of the latent objective (s, n), None without a model.
    why : str, default ""
        What makes points eligible, for the record; empty if all are.
    """

    eligible: npt.NDArray[np.bool_]
    prediction: Prediction | None
    why: str = ""


class Predicted(NamedTuple):
    """A method's predictions at m points.

    Attributes
    ----------
    mean, variance : Array
        Of each of k latent objectives under s posterior samples (k, s, m), minimized, in the user's units.
    log_probability : Array
        Logarithm of the chance that each point has a value and satisfies all limits (m,); zeros where nothing failed
        and nothing is limited.
    """

    mean: Array
    variance: Array
    log_probability: Array


class LeaveOneOut(NamedTuple):
    """Leave-one-out predictions of the observed values.

    Attributes
    ----------
    positions : NDArray
        Of the completed points that the model learned from (n,), in the order observed.
    prediction : Prediction
        Of their values, noise included, (s, n) each, minimized.
    """

    positions: npt.NDArray[np.int64]
    prediction: Prediction


class Searcher(ABC):
    """A method. All that it may remember is its state; `suggest` is all that it must have.

    Attributes
    ----------
    domain : Any
        The points to search, a `Domain`.
    n_initial : int, default 0
        Number of points that the method chooses before it learns from values.
    repeats : bool, default False
        True if observed points may be suggested again, as suggestions of the origin ``repeat``. Once every point has
        been seen, the searcher may go on with repeats in place of raising `SpaceExhausted`.
    has_model : bool, default False
        True if a model answers `predict`.
    bounds_regret : bool, default False
        False if the model, before it learns anything, is known to bound no regret.
    cross_validates : bool, default False
        True if a model may answer `cross_validate`.
    reads_objectives : bool, default False
        True if several objectives are served as they are, or need not be read.
    note : str, optional
        Goes on record with each suggestion, as ``info["auto"]``; None for nothing. It is no setting.
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
        """Return the next point to evaluate; raise `SpaceExhausted` when no unseen point is left.

        Parameters
        ----------
        history : HistoryView
            All that was observed so far.
        state : State
            Of `initial_state`, or of the last suggestion.
        rng : Generator
            Random number generator.
        """

    def suggest_jointly(self, history: HistoryView, state: State, rng: np.random.Generator) -> Iterator[Suggestion]:
        """Yield points to evaluate side by side, each with those before it running; the first is that of `suggest`.

        It ends where another fit is needed, after one point or more: by default after one. Override it if one fit, and
        one search, serve several.

        Parameters
        ----------
        history : HistoryView
            All that was observed so far.
        state : State
            Of `initial_state`, or of the last suggestion.
        rng : Generator
            Random number generator.

        Raises
        ------
        SpaceExhausted
            If no unseen point is left for the first.
        """
        yield self.suggest(history, state, rng)

    def settings(self) -> Mapping[str, Json]:
        """Return the settings that tell this searcher from another of the same class, for the record, as JSON.

        By default these are its fields but the domain, or the public attributes of a class that is no dataclass.
        """
        return {name: describe_part(value) for name, value in _settings_of(self) if name not in NO_SETTINGS}

    def with_note(self, found: Suggestion) -> Suggestion:
        """Return a suggestion with the searcher's note on record, if it has any.

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
            From a `BayesianSearch` to what takes its place; None if it can make nothing of it.
        other : callable
            The same for a searcher that is none, or of which `change` makes nothing.
        """
        return other(self)

    def with_repeats(self) -> Searcher | None:
        """Return the searcher that may suggest observed points again; None, by default, if it never does."""
        return None

    def initial_state(self) -> State:
        """Return the state before the first suggestion, plain JSON."""
        return None

    def appraise(self, history: HistoryView, state: State, rng: np.random.Generator) -> TrainingPrediction:
        """Rank the completed points, of which there is at least one, without noise; by default by their values.

        Parameters
        ----------
        history : HistoryView
            All that was observed so far.
        state : State
            Of the last suggestion.
        rng : Generator
            Random number generator.

        Raises
        ------
        NumericalError
            If the model cannot be fitted.
        """
        return TrainingPrediction(np.ones(len(history.values), dtype=np.bool_), None)

    def predict(self, history: HistoryView, state: State, xs: Batch, rng: np.random.Generator) -> Predicted:
        """Predict points, where the searcher `has_model`; one that has none at times calls `super()` then.

        Parameters
        ----------
        history : HistoryView
            All that was observed so far.
        state : State
            Of `initial_state`, or of the last suggestion.
        xs : Batch
            m points.
        rng : Generator
            Random number generator.

        Raises
        ------
        NumericalError
            If the model cannot be fitted, or nothing has completed.
        BostructError
            Without a model.
        """
        raise BostructError(f"predict: {type(self).__name__} has no model")

    def sample_hyperparameters(
        self, history: HistoryView, state: State, rng: np.random.Generator
    ) -> list[list[HyperparameterSamples]]:
        """Return samples of the hyperparameters of the model of each output; none, by default, without such a model.

        Parameters
        ----------
        history : HistoryView
            At least one completed point.
        state : State
            Of the last suggestion.
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

        It is 1 without a model, until more points have a value than the method chooses without the model, and while the
        values are equal up to rounding, so that they tell nothing of their scale. Where it is estimated, its confidence
        is that of one look.

        Parameters
        ----------
        history : HistoryView
            At least one completed point, of one objective without limits.
        state : State
            Of the last suggestion.
        regret : float
            The difference to the optimum, at least 0, in the user's units.
        rng : Generator
            Random number generator.

        Raises
        ------
        NumericalError
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
            Of the last suggestion.
        objective : int
            Its position, from 0.
        rng : Generator
            Random number generator.

        Raises
        ------
        BostructError
            If the model cannot.
        """
        raise BostructError(f"cross_validate: {type(self).__name__} has no model that predicts values left out")


def describe_part(part: object) -> Json:
    """Describe a part and its settings as JSON, down to the last prior.

    Parameters
    ----------
    part : object
        A dataclass, or the value of one of its fields. What comes from the domain is named by its type. A field that
        was added later is left away at its default.
    """
    if is_dataclass(part) and not isinstance(part, type):
        told: dict[str, Json] = {"part": type(part).__name__}
        return told | {name: describe_part(value) for name, value in _settings_of(part)}
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
        if not (ADDED_LATER.items() <= one.metadata.items() and value == one.default):
            yield one.metadata.get(STORED_AS, one.name), value
