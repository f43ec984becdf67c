"""Predictions of a study's model, its recommended trial, and a bound of the regret.

The recommended trial is the best by the model, whose mean is less biased by noise than the best observed value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from bostruct.checks import check_number, check_objective, load_by_name
from bostruct.contracts import Array, BostructError, HistoryView, IntArray, Json, NumericalError, Searcher
from bostruct.display import html_table
from bostruct.domains.space.call_limit import limit_calls
from bostruct.goals.declared import Goals
from bostruct.outcome import Outcome
from bostruct.storage.json_text import MALFORMED, parse
from bostruct.study.history import History, Trial, measure, tell_stop
from bostruct.study.hyperparameters import HyperparameterTable, tabulate_hyperparameters
from bostruct.study.ledger import Ledger
from bostruct.study.point_forms import PointStore
from bostruct.study.records import parse_points
from bostruct.study.threads import ThreadLimit

HALF_WIDTH = 1.959963984540054  # of a 95% interval, in standard deviations of a normal distribution
FEWEST_VALIDATED = 3  # completed trials: with two, each would be predicted from one value
STREAM = 2**32 - 1  # separates the generator from those of suggestions
PREDICTION_STREAM = 2**32 - 2  # separates the generator from those of suggestions and recommendations
REGRET_STREAM = 2**32 - 3  # separates the generator from those of suggestions, recommendations and predictions
NO_SINGLE = "none: no single trial is the best for several objectives, see pareto_front"
NO_MEAN = "by its observed value: the method gives no posterior mean"


class Predictions(NamedTuple):
    """The prediction of a method at m points.

    mean: posterior mean of the objective without noise (m,), in the user's units; (m, k) for k objectives.
    sd: posterior standard deviation, of the same shape.
    chance: probability that the point has a value and is feasible (m,), in [0, 1].
    """

    mean: Array
    sd: Array
    chance: Array


class LeftOutTrials(NamedTuple):
    """Leave-one-out predictions of the values of n trials.

    numbers: numbers of the trials (n,).
    observed: observed values (n,), in the user's units.
    mean: predictive means (n,).
    sd: predictive standard deviations, including noise (n,).
    """

    numbers: IntArray
    observed: Array
    mean: Array
    sd: Array

    @property
    def residuals(self) -> Array:
        """The differences of observed and predicted values, in standard deviations (n,)."""
        return (self.observed - self.mean) / self.sd

    def coverage(self, level: float = 0.95) -> float:
        """Return the share of the observed values in the central intervals of their predictions, in [0, 1].

        level: probability of an interval, in (0, 1).
        """
        check_number("level", level, 0.0, 1.0)
        return float(np.mean(np.abs(self.residuals) <= NormalDist().inv_cdf(0.5 + 0.5 * level)))


class Recommendation(NamedTuple):
    """The completed trial with the best posterior mean, or with the best observed value if there is no model.

    mean: posterior mean of the objective without noise, in the user's units; None without a model.
    low, high: the ends of the 95% credible interval of the mean; None without a model.
    """

    trial: Trial
    mean: float | None
    low: float | None
    high: float | None
    why: str

    def to_json(self) -> dict[str, Json]:
        """Return a dict of plain values, with the trial's number and point."""
        return self._asdict() | {"trial": self.trial.number, "point": self.trial.point}

    def _repr_html_(self) -> str:
        rows = [("recommended", str(self)), ("point", self.trial.point), ("observed value", self.trial.value)]
        return html_table(rows)

    def __str__(self) -> str:
        stopped = tell_stop(self.trial)
        if self.mean is None:
            return f"trial {self.trial.number}, {self.why}{stopped}"
        interval = f"95% interval {self.low:.6g} to {self.high:.6g}"
        return f"trial {self.trial.number}, {self.why} {self.mean:.6g} ({interval}){stopped}"


class Expected(NamedTuple):
    """Posterior mean and standard deviation of the objective without noise at a trial.

    mean, sd: in the user's units.
    """

    mean: float
    sd: float


class Beliefs(NamedTuple):
    """The predictions of a method at the completed trials of a study, by number.

    expected: the prediction at each completed trial, None without a model.
    """

    eligible: frozenset[int]
    expected: dict[int, Expected] | None
    why: str


class Lazy:
    """Predictions that are computed on first use.

    A pickle contains the computed predictions, but not the model.
    """

    def __init__(self, find: Callable[[], Beliefs]) -> None:
        self._find = find
        self._found: Beliefs | None = None

    def __call__(self) -> Beliefs:
        if self._found is None:
            self._found = self._find()
        return self._found

    def __getstate__(self) -> Beliefs:
        return self()

    def __setstate__(self, found: Beliefs) -> None:
        self.__init__(lambda: found)


@dataclass(frozen=True, eq=False)
class Fit:
    """The model of a study at one time, fitted when it is called, for recommendations and predictions.

    searcher: returns the method and its state, as JSON text; raises BostructError if they are not available.
    outcomes: outcomes of all trials, by number; None while they run.
    """

    searcher: Callable[[], tuple[Searcher, str]] = field(repr=False)
    trials: tuple[Trial, ...] = field(repr=False)
    outcomes: tuple[Outcome | None, ...] = field(repr=False)
    order: tuple[int, ...] = field(repr=False)
    points: PointStore = field(repr=False)
    goals: Goals
    seed: int
    limit: ThreadLimit = field(repr=False)
    who: str

    def __call__(self) -> Beliefs:
        """Compute the predictions, reproducibly; a model that cannot be fitted is a reason, not an error.

        With several objectives, no model is fitted.
        """
        completed = self._completed
        observed = frozenset(completed)
        if self.goals.n_objectives > 1:
            return Beliefs(observed, None, NO_SINGLE)
        try:
            searcher, state = self.searcher()
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(len(self.order), STREAM)))
            with self.limit():
                found = searcher.appraise(self._history(completed), parse(state), rng)
        except NumericalError as error:
            return Beliefs(observed, None, f"by its observed value: the model cannot be fitted, {error}")
        except BostructError as error:
            return Beliefs(observed, None, f"by its observed value: there is no model, {error}")
        except MALFORMED as error:  # a state that no searcher wrote
            return Beliefs(observed, None, f"by its observed value: the model cannot use its state, {error!r}")
        eligible = frozenset(number for number, fit in zip(completed, found.eligible, strict=True) if fit)
        if found.prediction is None:
            return Beliefs(eligible, None, f"{NO_MEAN}, and {found.why}" if found.why else NO_MEAN)
        mean, variance = found.prediction
        expected = map(Expected, (self.sign * mean.mean(axis=0)).tolist(), mix_sds(mean, variance).tolist())
        return Beliefs(eligible, dict(zip(completed, expected, strict=True)), "by the model's mean")

    def predict(self, points: Iterable[object]) -> Predictions:
        """Predict the objective at m points, reproducibly; see `Study.predict`."""
        searcher, state = self.searcher()
        xs, goals = searcher.domain.join(parse_points(searcher.domain, points, "points")), self.goals
        if not searcher.has_model:
            raise BostructError(
                f"predict: {self.who} has no model{_name_objectives(goals) or ' of the objective'}; auto has one"
            )
        history = self._history(self._completed)
        if not len(history.values):
            raise BostructError("predict: expected at least one completed trial, got none")
        rng = _make_generator(self.seed, history)
        with self.limit(), explain_bad_state("predict"):
            found = searcher.predict(history, parse(state), xs, rng)
        mean = np.array([goals.orient(row) for row in found.mean.mean(axis=1).T]).reshape(len(xs), goals.n_objectives)
        sd = np.array([mix_sds(*one) for one in zip(found.mean, found.variance, strict=True)]).T
        single = goals.n_objectives == 1
        return Predictions(mean[:, 0] if single else mean, sd[:, 0] if single else sd, np.exp(found.log_probability))

    def cross_validate(self, objective: int) -> LeftOutTrials:
        """Predict each observed value from all others, reproducibly; see `Result.cross_validate`.

        objective: position of the objective, from 0.
        """
        check_objective(objective, self.goals.n_objectives)
        searcher, state = self.searcher()
        if not searcher.cross_validates:
            raise BostructError(
                f"cross_validate: {self.who} has no Gaussian process{_name_objectives(self.goals)}, which could "
                "predict each observed value from the others; auto has one"
            )
        numbers = self._completed
        if len(numbers) < FEWEST_VALIDATED:
            raise BostructError(
                f"cross_validate: expected at least {FEWEST_VALIDATED} completed trials, got {len(numbers)}"
            )
        history = self._history(numbers)
        rng = _make_generator(self.seed, history)
        with self.limit(), explain_bad_state("cross_validate"):
            positions, found = searcher.cross_validate(history, parse(state), objective, rng)
        sign = sign_of(self.goals.directions[objective])
        observed, mean = (sign * one for one in (history.objectives[positions, objective], found.mean.mean(axis=0)))
        return LeftOutTrials(np.array(numbers)[positions], observed, mean, mix_sds(found.mean, found.variance))

    @property
    def hyperparameters(self) -> HyperparameterTable:
        """The posterior of the model's hyperparameters, reproducibly.

        Methods that marginalize hyperparameters, such as `combo`, give several samples; others give the mode. Raises
        BostructError for a method without hyperparameters or before a trial has completed, and NumericalError.
        """
        searcher, state = self.searcher()
        completed = self._completed
        if not completed:
            raise BostructError("hyperparameters: expected at least one completed trial, got none")
        with self.limit(), explain_bad_state("hyperparameters"):
            history = self._history(completed)
            outputs = searcher.sample_hyperparameters(history, parse(state), _make_generator(self.seed, history))
        if not any(outputs):
            able = load_by_name("bostruct.methods:list_interpretable")(searcher.domain, history)
            others = f"; {', '.join(able)} {'have' if len(able) > 1 else 'has'} one" if able else ""
            raise BostructError(f"hyperparameters: {self.who} has no model with hyperparameters{others}")
        return tabulate_hyperparameters(outputs, searcher.domain, self.goals)

    @property
    def _completed(self) -> list[int]:
        return [number for number in self.order if self.trials[number].status == "completed"]

    @property
    def sign(self) -> float:
        return sign_of(self.goals.direction)

    def _history(self, completed: list[int]) -> History:
        outcomes = [outcome for number in completed if (outcome := self.outcomes[number]) is not None]
        values, objectives, violations, variances = measure(self.goals, outcomes)
        missing = [number for number in self.order if self.trials[number].status != "completed"]
        failed = [number for number in missing if not self.trials[number].is_no_data]
        running = [trial.number for trial in self.trials if trial.status == "running" and trial.unread is None]
        seen, take = self.points.keys([*completed, *failed, *running]), self.points.take
        batches = (take(running), take(failed), seen)
        return History(partial(take, completed), values, *batches, objectives, violations, variances)


def recommend(beliefs: Beliefs, completed: Sequence[Trial], direction: str) -> Recommendation:
    """Return the recommended trial among completed trials, the first observed of equals.

    completed: trials to choose from, at least one.
    direction: ``minimize`` or ``maximize``.
    """
    sign = sign_of(direction)
    trials = [trial for trial in completed if trial.number in beliefs.eligible] or completed
    if beliefs.expected is None:
        return Recommendation(min(trials, key=lambda one: sign * value(one)), None, None, None, beliefs.why)
    expected = beliefs.expected
    best = min(trials, key=lambda one: sign * expected[one.number].mean)
    mean, sd = expected[best.number]
    return Recommendation(best, mean, mean - HALF_WIDTH * sd, mean + HALF_WIDTH * sd, beliefs.why)


def without_model(completed: Sequence[Trial]) -> Beliefs:
    """Return the predictions of a result that was constructed manually."""
    return Beliefs(frozenset(t.number for t in completed), None, "by its observed value: the result has no model")


def bound_regret(
    searcher: Searcher, ledger: Ledger, seed: int, regret: float, who: str, state: str | None = None
) -> float:
    """Return a bound of the probability that the regret of the best completed point exceeds `regret`; 1 if unknown.

    regret: in the user's units, at least 0.
    state: of the searcher, JSON text; None for the state of the ledger.

    Raises BostructError if the method has no suitable model or cannot use the state, and for several objectives or
    constraints.
    """
    check_number("regret", regret, 0.0)
    if not ledger.goals.is_single:
        raise BostructError(f"regret: expected a study of one objective without constraints, got {ledger.goals}")
    if not searcher.bounds_regret:
        raise BostructError(
            f"regret: {who} has no model that bounds how much better a point may be, which StopWhen needs; auto has one"
        )
    history = ledger.history()
    if not len(history.values):
        return 1.0
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(ledger.order), REGRET_STREAM)))
    try:
        with limit_calls(), explain_bad_state("regret"):
            known = parse(ledger.state if state is None else state)
            return searcher.bound_regret_probability(history, known, regret, rng)
    except NumericalError:
        return 1.0


@contextmanager
def explain_bad_state(what: str) -> Iterator[None]:
    """Raise BostructError if a searcher fails because it did not write its state."""
    try:
        yield
    except BostructError:
        raise
    except MALFORMED as error:
        raise BostructError(f"{what}: the model cannot use its state: {error!r}") from error


def mix_sds(mean: Array, variance: Array) -> Array:
    """Return the standard deviations of uniform mixtures of s normal distributions (m,), by the law of total variance.

    mean, variance: moments of the distributions (s, m).
    """
    return np.sqrt(variance.mean(axis=0) + mean.var(axis=0))


def _make_generator(seed: int, history: HistoryView) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(history.values), PREDICTION_STREAM)))


def _name_objectives(goals: Goals) -> str:
    """Return the phrase that a model belongs to each of several objectives; "" for one objective."""
    return f" of each of {goals.n_objectives} objectives" if goals.n_objectives > 1 else ""


def sign_of(direction: str) -> float:
    """Return the factor that makes values minimized: 1 or -1.

    direction: ``minimize`` or ``maximize``.
    """
    return -1.0 if direction == "maximize" else 1.0


def value(trial: Trial) -> float:
    """Return the value of a completed trial."""
    assert trial.value is not None  # the trial has completed
    return trial.value
