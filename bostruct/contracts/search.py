"""Methods: a history, a suggestion, and the searcher that makes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from bostruct.contracts.domain import Domain
from bostruct.contracts.model import Feasibility, Posterior, Prediction, Score
from bostruct.contracts.types import Array, Batch, Info, Json, Point, State

PARENT_POSITION = "parent_position"  # in `Suggestion.info`


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


class ScoreBuilder(ABC):
    """A callable that makes a score of a posterior, the field `score` of a `BayesianSearch`."""

    @property
    def is_logarithm(self) -> bool:
        """True where its scores are logarithms of a worth, to which that of a chance may be added."""
        return False

    @abstractmethod
    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> Score:
        """Return the score to maximize.

        posterior: of the objective, with the running points believed.
        history: all that was told so far, at least one value.
        rng: the only source of chance.

        Raises NumericalError, for which a random point is suggested.
        """

    def build_from(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> tuple[Score, State]:
        """Return the score as a call does, and the state for the next call; raises NumericalError.

        The state is None for a builder that learns nothing of its own, as by default.

        posterior: of the objective, with the running points believed.
        history: all that was told so far, at least one value.
        state: None, or what the last call returned; plain JSON.
        rng: the only source of chance.
        """
        del state
        return self(posterior, history, rng), None

    def learn_chance(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> Feasibility | None:
        """Return the chance that a point has a value and keeps all limits, as the scores know it.

        None, by default, stands for certainty, or for scores that know no such chance. Raises NumericalError.

        posterior: of the objective.
        history: all that was told so far, at least one value.
        state: None, or that of `build_from`.
        rng: the only source of chance.
        """
        del posterior, history, state, rng
        return None


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
