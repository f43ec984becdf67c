"""Predictions of a study's model, the trial that it recommends, and a bound of the regret.

The recommended trial is the best by the model, which noise flatters less than an observed value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from bostruct.checks import check_integer, check_number, load_by_name
from bostruct.contracts import (
    Array,
    BostructError,
    Domain,
    HistoryView,
    IntArray,
    Json,
    NumericalError,
    Searcher,
)
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
FEWEST_VALIDATED = 3  # completed trials: of two, each is predicted by one value
STREAM = 2**32 - 1  # keeps the generator apart from those that suggestions are drawn from
PREDICTION_STREAM = 2**32 - 2  # keeps the generator apart from those of suggestions and recommendations
REGRET_STREAM = 2**32 - 3  # keeps the generator apart from those of suggestions, recommendations and predictions
NO_SINGLE = "not: of several objectives none is the best, see pareto_front"
NO_MEAN = "by its observed value: the method gives no posterior mean"


class Predictions(NamedTuple):
    """The prediction of a method at m points.

    mean: of the objective, noise aside (m,), in the user's units; (m, k) of k objectives.
    sd: its standard deviations, of the same shape.
    chance: that the point has a value and keeps all limits (m,), in [0, 1].
    """

    mean: Array
    sd: Array
    chance: Array


class LeftOutTrials(NamedTuple):
    """Predictions of the values of n trials, each made by a model that was not told the value.

    numbers: of the trials (n,).
    told: their values (n,), in the user's units.
    mean: predicted of each (n,).
    sd: standard deviations of what would be told, noise included (n,).
    """

    numbers: IntArray
    told: Array
    mean: Array
    sd: Array

    @property
    def residuals(self) -> Array:
        """The differences of told and predicted values, in standard deviations (n,)."""
        return (self.told - self.mean) / self.sd

    def coverage(self, level: float = 0.95) -> float:
        """Return the share of the values told that lie in the central intervals of their predictions, in [0, 1].

        level: probability of an interval, in (0, 1).
        """
        check_number("level", level, 0.0, 1.0)
        return float(np.mean(np.abs(self.residuals) <= NormalDist().inv_cdf(0.5 + 0.5 * level)))


class Recommendation(NamedTuple):
    """The completed trial with the best posterior mean or, without a model, the one with the best value told.

    mean: what the model expects of the objective there, noise aside, in the user's units; None without a model.
    low, high: the ends of the 95% interval around the mean, which is as good as the model; None without one.
    """

    trial: Trial
    mean: float | None
    low: float | None
    high: float | None
    why: str

    def to_json(self) -> dict[str, Json]:
        """Return plain values, the trial by its number and point."""
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
    """Mean and standard deviation of the objective at a trial, noise aside.

    mean, sd: in the user's units.
    """

    mean: float
    sd: float


class Beliefs(NamedTuple):
    """The beliefs of a method about the completed trials of a study, by number.

    expected: the belief about each completed trial, None without a model.
    """

    eligible: frozenset[int]
    expected: dict[int, Expected] | None
    why: str


class Lazy:
    """Beliefs that are found when first asked for.

    A pickle holds what was found, and nothing of the model.
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
    """The model of a study as it is now, fitted if it is called: what it recommends, predicts and leaves out.

    searcher: gives the method and its state, JSON text; raises BostructError if the study cannot have them.
    outcomes: of all of them, by number; None while they run.
    """

    searcher: Callable[[], tuple[Searcher, str]]
    trials: tuple[Trial, ...]
    outcomes: tuple[Outcome | None, ...]
    order: tuple[int, ...]
    points: PointStore
    goals: Goals
    seed: int
    limit: ThreadLimit
    who: str

    def __call__(self) -> Beliefs:
        """Find the beliefs, the same for the same study; a model that cannot be fitted is a reason, and no error.

        Of several objectives nothing is believed, and no model is fitted.
        """
        completed = self._completed
        told = frozenset(completed)
        if self.goals.n_objectives > 1:
            return Beliefs(told, None, NO_SINGLE)
        try:
            searcher, state = self.searcher()
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(len(self.order), STREAM)))
            with self.limit():
                found = searcher.appraise(self._history(searcher.domain, completed), parse(state), rng)
        except NumericalError as error:
            return Beliefs(told, None, f"by its observed value: the model cannot be fitted, {error}")
        except BostructError as error:
            return Beliefs(told, None, f"by its observed value: there is no model, {error}")
        except MALFORMED as error:  # a state that no searcher wrote
            return Beliefs(told, None, f"by its observed value: the model cannot use its state, {error!r}")
        eligible = frozenset(number for number, fit in zip(completed, found.eligible, strict=True) if fit)
        if found.prediction is None:
            return Beliefs(eligible, None, f"{NO_MEAN}, and {found.why}" if found.why else NO_MEAN)
        mean, variance = found.prediction
        expected = map(Expected, (self.sign * mean.mean(axis=0)).tolist(), mix_sds(mean, variance).tolist())
        return Beliefs(eligible, dict(zip(completed, expected, strict=True)), "by the model's mean")

    def predict(self, points: Iterable[object]) -> Predictions:
        """Predict the objective at m points, the same for the same study: `Study.predict`."""
        searcher, state = self.searcher()
        xs, goals = searcher.domain.join(parse_points(searcher.domain, points, "points")), self.goals
        if not searcher.has_model:
            raise BostructError(
                f"predict: {self.who} has no model{_of_each(goals) or ' of the objective'}; auto has one"
            )
        history = self._history(searcher.domain, self._completed)
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
        """Predict each observed value from all others, the same for the same study: `Result.cross_validate`.

        objective: its position, from 0.
        """
        check_integer("objective", objective, 0, self.goals.n_objectives - 1)
        searcher, state = self.searcher()
        if not searcher.cross_validates:
            raise BostructError(
                f"cross_validate: {self.who} has no Gaussian process{_of_each(self.goals)}, which predicts what it was "
                "told without having been told; auto has one"
            )
        numbers = self._completed
        if len(numbers) < FEWEST_VALIDATED:
            raise BostructError(
                f"cross_validate: expected at least {FEWEST_VALIDATED} completed trials, got {len(numbers)}"
            )
        history = self._history(searcher.domain, numbers)
        rng = _make_generator(self.seed, history)
        with self.limit(), explain_bad_state("cross_validate"):
            positions, found = searcher.cross_validate(history, parse(state), objective, rng)
        sign = sign_of(self.goals.directions[objective])
        told, mean = (sign * one for one in (history.objectives[positions, objective], found.mean.mean(axis=0)))
        return LeftOutTrials(np.array(numbers)[positions], told, mean, mix_sds(found.mean, found.variance))

    @property
    def hyperparameters(self) -> HyperparameterTable:
        """The posterior of the model's hyperparameters, the same for the same study.

        Several samples are those of a method that marginalizes them, such as `combo`; one is their mode. Raises
        BostructError for a method without hyperparameters and before a trial has completed; NumericalError.
        """
        searcher, state = self.searcher()
        completed = self._completed
        if not completed:
            raise BostructError("hyperparameters: expected at least one completed trial, got none")
        with self.limit(), explain_bad_state("hyperparameters"):
            history = self._history(searcher.domain, completed)
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

    def _history(self, domain: Domain, completed: list[int]) -> History:
        outcomes = [outcome for number in completed if (outcome := self.outcomes[number]) is not None]
        measured = measure(self.goals, outcomes)
        others = [number for number in self.order if self.trials[number].status != "completed"]
        failed = self.points.take([number for number in others if not self.trials[number].is_no_data])
        out = [trial for trial in self.trials if trial.status == "running" and trial.unread is None]
        running = self.points.take([trial.number for trial in out])
        points = self.points.take(completed)
        return History.of(domain, points, measured.values, running, failed, measured)


def recommend(beliefs: Beliefs, completed: Sequence[Trial], direction: str) -> Recommendation:
    """Choose among completed trials the one to recommend, the first told of equals.

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
    """Return the beliefs of a result that was made by hand."""
    return Beliefs(frozenset(t.number for t in completed), None, "by its observed value: the result has no model")


def bound_regret(
    searcher: Searcher, ledger: Ledger, seed: int, regret: float, who: str, state: str | None = None
) -> float:
    """Return a bound of the probability that the regret of the best completed point exceeds `regret`; 1 if unknown.

    regret: in the user's units, at least 0.
    state: of the searcher, JSON text; None for that of the ledger.

    Raises BostructError if the method has no model that tells, or a state that it cannot use, and for several
    objectives or limits.
    """
    check_number("regret", regret, 0.0)
    if not ledger.goals.is_single:
        raise BostructError(f"regret: expected a study of one objective without limits, got one to {ledger.goals}")
    if not searcher.bounds_regret:
        raise BostructError(
            f"regret: {who} has no model that says how much better another point may be, as StopWhen asks; auto has one"
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
    """Raise BostructError for what a searcher raises that is given a state that no searcher wrote."""
    try:
        yield
    except BostructError:
        raise
    except MALFORMED as error:
        raise BostructError(f"{what}: the model cannot use its state: {error!r}") from error


def mix_sds(mean: Array, variance: Array) -> Array:
    """Return the standard deviations of even mixtures of s normal distributions (m,), by the law of total variance.

    mean, variance: of the distributions (s, m).
    """
    return np.sqrt(variance.mean(axis=0) + mean.var(axis=0))


def _make_generator(seed: int, history: HistoryView) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(history.values), PREDICTION_STREAM)))


def _of_each(goals: Goals) -> str:
    """Write that a model is of each objective, if there are several."""
    return f" of each of {goals.n_objectives} objectives" if goals.n_objectives > 1 else ""


def sign_of(direction: str) -> float:
    """Return the factor that turns values into values to be minimized: 1 or -1.

    direction: ``minimize`` or ``maximize``.
    """
    return -1.0 if direction == "maximize" else 1.0


def value(trial: Trial) -> float:
    """Return the value of a completed trial."""
    assert trial.value is not None  # only completed trials come here
    return trial.value
