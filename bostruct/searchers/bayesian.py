"""Bayesian optimization: from a history to the next point, by a surrogate, a score and a maximizer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy

from bostruct.checks import check_bool, check_integer, check_part, first_occurrences, has_spread
from bostruct.contracts import (
    ADDED_LATER,
    Array,
    Batch,
    BostructError,
    Domain,
    HistoryView,
    HyperparameterSamples,
    Info,
    IntArray,
    LeaveOneOut,
    Maximizer,
    NumericalError,
    Point,
    Posterior,
    Predicted,
    Prediction,
    Score,
    ScoreBuilder,
    Searcher,
    SpaceExhausted,
    State,
    Suggestion,
    Surrogate,
    TrainingPrediction,
    stored_as,
)
from bostruct.goals.pareto import is_feasible
from bostruct.searchers.limits import find_kept
from bostruct.searchers.proposals import Design, draw_blindly, fall_back, neighbors_of, random_design
from bostruct.searchers.regret import ObservedFeasibility, bound_regret_probability
from bostruct.searchers.views import keep

CERTAIN_SHARE = 0.01  # of the standard deviation of the values: a predicted one that leaves nothing to learn
UNUSED_DRAWS = 16  # of the variables that a model hardly uses
LARGEST_LOSS = math.log(2.0)  # of a log improvement, for values that are random
MAX_FALLBACK_DRAWS = 1_000  # random points, where all maxima and their neighbors were seen
KEPT_MEMORY = 8 * 2**20  # bytes: a matrix of 1,000 points; glibc then keeps twice as many that are free
MOST_JOINT = 8  # points of one search; a choice, as are the next two
MOST_AROUND = 200  # points around one that are looked at in a step
MOST_STEPS = 5  # of a climb
LEAST_GAIN = 1e-3  # of a value that is asked again, in units of the spread of the posterior means told
MOST = 16  # of the told points, those of the best means
ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
Neighborhood = Callable[[Any, Point, np.random.Generator], Batch]


class ExplorationStep(NamedTuple):
    """The answer of a rule of exploration.

    point: unseen, to suggest in place of the model's; None if the model is to suggest one.
    state: for its next call; plain JSON.
    origin: how the point was chosen, for the record: ``random``, or ``mutation`` of a point that was told.
    """

    point: Point | None
    state: State
    why: str = ""
    origin: str = "random"


class Exploration(ABC):
    """A rule of exploration, the field `exploration` of a `BayesianSearch`."""

    @abstractmethod
    def __call__(self, domain: Any, history: HistoryView, state: State, rng: np.random.Generator) -> ExplorationStep:
        """Return another point than the model's to suggest, if it is the rule's turn.

        domain: the points to search, a `Domain`.
        history: all that was observed so far, at least one value.
        state: what the last call returned; None for the first.
        rng: random number generator.
        """


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Have the C library keep freed memory for the next arrays of the same size, in this process from now on.

    A fit makes and frees hundreds of matrices. glibc gives freed matrices back to the system, which has to clear the
    pages of the next ones: half the time of a fit to 300 points. It keeps blocks up to the size of the largest that was
    ever freed (mallopt(3), `M_MMAP_THRESHOLD`), so one block is freed here that nothing was written to. Other C
    libraries do not care.
    """
    np.empty(KEPT_MEMORY, dtype=np.uint8)


@dataclass(frozen=True)
class BayesianSearch(Searcher):
    """Bayesian optimization with interchangeable parts: surrogate, score and maximizer.

    maximizer: searches the domain for the points of the largest acquisition value.
    n_initial: number of points seen before the surrogate is asked, at least 1. Points that were given, or added, and
        failed trials count; `design` chooses the others.
    n_starts: how many of the best completed points the maximizer is told of, at least 0; None for all.
    design: (domain, seen, rng) -> an unseen initial point.
    neighborhood: (domain, x, rng) -> points around x, suggested when all that the maximizer found was seen before.
    exploration: whether another point is suggested than the model's; None never explores.
    repeats: whether an observed point may be suggested again, if a value there is worth more than a new point, or no
        new point is left; such a suggestion has the origin ``repeat``.
    note: goes on record with each suggestion, as ``info["auto"]``; None for nothing.

    Raises TypeError, ValueError.
    """

    domain: Domain
    surrogate: Surrogate
    score: ScoreBuilder
    maximizer: Maximizer
    n_initial: int = 20
    n_starts: int | None = 1
    design: Design = random_design
    neighborhood: Neighborhood = field(default=neighbors_of, metadata=stored_as("surroundings"))
    exploration: Exploration | None = field(default=None, metadata=ADDED_LATER)
    note: str | None = field(default=None, metadata=ADDED_LATER)
    repeats: bool = field(default=False, metadata=ADDED_LATER)
    has_model = cross_validates = True

    @property
    def bounds_regret(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.surrogate.has_covariance

    def __post_init__(self) -> None:
        check_part("surrogate", self.surrogate, Surrogate)
        check_part("score", self.score, ScoreBuilder)
        check_part("maximizer", self.maximizer, Maximizer)
        check_integer("n_initial", self.n_initial, 1)
        if self.n_starts is not None:
            check_integer("n_starts", self.n_starts, 0)
        check_bool("repeats", self.repeats)
        if self.exploration is not None:
            check_part("exploration", self.exploration, Exploration, also="None or ")

    def change_model(self, change: Callable[[Any], Searcher | None], other: Callable[[Searcher], Searcher]) -> Searcher:
        return other(self) if (changed := change(self)) is None else changed

    def with_repeats(self) -> BayesianSearch | None:
        return replace(self, repeats=True) if self.surrogate.has_covariance else None

    def initial_state(self) -> State:
        return {"surrogate": self.surrogate.initial_state()}

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        return next(self.suggest_jointly(history, state, rng))

    def suggest_jointly(self, history: HistoryView, state: State, rng: np.random.Generator) -> Iterator[Suggestion]:
        """Yield points to evaluate side by side; the first is the maximum of a search.

        Each after it is climbed to, once those before it are believed, from the best of the other maxima of the search
        and of the points around those before it. ``info["joint"]`` is its place, from 1. Where the model did not choose
        the first, that is the only one. Raises SpaceExhausted.
        """
        return map(self.with_note, self._search(history, state, rng))

    def _search(self, history: HistoryView, state: State, rng: np.random.Generator) -> Iterator[Suggestion]:
        """Yield the suggestions of a search, without the note."""
        initial = self._design_initial(history, rng)
        if initial is not None:
            yield Suggestion(initial, state, {"origin": "initial"})
            return
        if not len(history.values):
            yield draw_blindly(self.domain, history, state, rng)
            return
        if self.exploration is not None:
            explored = self.exploration(self.domain, history.whole or history, state.get("exploration"), rng)
            state = state | {"exploration": explored.state}
            if explored.point is not None:
                yield Suggestion(explored.point, state, {"origin": explored.origin, "why": explored.why})
                return
        keep_freed_memory()
        fit_rng, search_rng, random_rng = rng.spawn(3)
        try:
            posterior, learned, info = self._condition(history, state, fit_rng)
            believed = posterior.believe(history.running)
            score, built = self.score.build_from(believed, history, state.get("score"), fit_rng)
            check_part("score: what it builds", score, Score)
            kept = {} if built is None else {"score": built}
        except NumericalError as error:
            yield fall_back(self.domain, history, state, random_rng, str(error), has_model_failed=True)
            return
        best = np.argsort(history.values, kind="stable")[: self.n_starts]
        starts = self.domain.take(history.completed, best)
        maxima, found = self.maximizer(score, self.domain, starts, search_rng)
        state = state | {"surrogate": learned} | kept
        x, origin = self._choose_point(maxima, score, believed, history, search_rng)
        if origin == "model" and believed.unused:
            x = self._leave_certain(x, believed, score, history, random_rng)
            x = self._vary_unused(x, believed, score, history, random_rng)
        yield Suggestion(x, state, {"origin": origin, **info, **found})
        others = select_batch(
            x, maxima, score, self.domain, history.seen, lambda y: self.neighborhood(self.domain, y, search_rng)
        )
        for place, other in enumerate(others, 1):
            varied = self._vary_unused(other, believed, score, history, random_rng)
            yield Suggestion(varied, state, {"origin": "model", "joint": place})

    def appraise(self, history: HistoryView, state: State, rng: np.random.Generator) -> TrainingPrediction:
        """Predict the completed points by the surrogate; raises NumericalError.

        A surrogate of several outputs predicts the first objective, and the points that `find_kept` finds are eligible.
        Any other one learns from the points that satisfy all limits alone, which are eligible. Where no point keeps
        all, all are.
        """
        kept = is_feasible(history.violations)
        eligible = kept if kept.any() else np.ones(len(kept), dtype=np.bool_)
        told: HistoryView = history
        if self.surrogate.n_outputs is None and not eligible.all():
            told = keep(history, np.flatnonzero(eligible).tolist(), [], self.domain.take)
        posterior, _, _ = self._condition(told, state, rng)
        if kept.any():
            violations = posterior.outputs[history.objectives.shape[1] :]
            eligible = np.isin(np.arange(len(kept)), find_kept(violations, history, self.domain.take))
        return TrainingPrediction(eligible, posterior.predict(history.completed))

    def bound_regret_probability(
        self, history: HistoryView, state: State, regret: float, rng: np.random.Generator
    ) -> float:
        """Return `bostruct.searchers.regret.bound_regret_probability` of the surrogate; raises NumericalError.

        It is 1 until more than `n_initial` points have a value, and while the values are equal up to rounding.
        """
        n_completed = len(first_occurrences(self.domain, history.completed))
        if n_completed <= self.n_initial or not has_spread(history.values):
            return 1.0
        posterior, _, _ = self._condition(history, state, rng)
        chance = self.score.learn_feasibility(posterior, history, state.get("score"), rng)
        told = None if chance is None else ObservedFeasibility(chance, self.domain, history.failed, history.completed)
        completed = history.completed
        return bound_regret_probability(posterior, self.domain, completed, regret, self.neighborhood, rng, told)

    def predict(self, history: HistoryView, state: State, xs: Batch, rng: np.random.Generator) -> Predicted:
        """Predict points by the surrogate, and the chance that they succeed by the score; raises NumericalError.

        Means and variances are in the user's units. Where the surrogate compresses values, the mean of a point far
        above the median is the median of what is expected there.
        """
        posterior = self._learn(history, state, rng)
        values = history.values[None] if self.surrogate.n_outputs is None else history.objectives.T
        objectives = zip(posterior.outputs[: len(values)], values, strict=True)
        found = [self.surrogate.restore_units(one.predict(xs), own) for one, own in objectives]
        chance = self.score.learn_feasibility(posterior, history, state.get("score"), rng)
        log_probability = np.zeros(len(xs)) if chance is None else chance.log_probability(xs)
        mean, variance = (np.stack(one) for one in zip(*found, strict=True))
        return Predicted(mean, variance, log_probability)

    def sample_hyperparameters(
        self, history: HistoryView, state: State, rng: np.random.Generator
    ) -> list[list[HyperparameterSamples]]:
        return [one.list_hyperparameters() for one in self._learn(history, state, rng).outputs]

    def cross_validate(
        self, history: HistoryView, state: State, objective: int, rng: np.random.Generator
    ) -> LeaveOneOut:
        """Predict each observed value from all others, in the user's units, at the hyperparameters learned from all.

        Points that are told several times, of which the model keeps some, are left out. Raises BostructError if the
        model is no Gaussian process, learns from other studies, too, or has no model of the limits; NumericalError.
        """
        held_out = self._learn(history, state, rng).outputs[objective].leave_one_out()
        if held_out is None:
            raise BostructError(
                "cross_validate: expected a method with a Gaussian process, which predicts in closed form what it was "
                "told; auto has one"
            )
        positions, kept = _find_learned(self.domain, history.completed, held_out.xs)
        found = Prediction(held_out.prediction.mean[:, kept], held_out.prediction.variance[:, kept])
        return LeaveOneOut(positions, self.surrogate.restore_units(found, history.objectives[:, objective]))

    def _learn(self, history: HistoryView, state: State, rng: np.random.Generator) -> Posterior:
        """Return the posterior of all that was told; raise NumericalError, or BostructError if limits have no model.

        A surrogate of one output learns a constrained rank if there are limits, which is no objective.
        """
        if not len(history.values):
            raise NumericalError("no trial has completed")
        if history.violations.shape[1] and self.surrogate.n_outputs is None:
            raise BostructError("predict: the method has no model of limits; auto has one")
        return self._condition(history, state, rng)[0]

    def _condition(self, history: HistoryView, state: State, rng: np.random.Generator) -> tuple[Posterior, State, Info]:
        """Condition the surrogate on the completed points, all their outputs, and what is known of their noise."""
        surrogate, values = self.surrogate, history.values
        variances, of_outputs = history.variances, surrogate.n_outputs is not None
        if variances is not None:
            is_known = of_outputs | is_feasible(
                history.violations
            )  # the constrained rank of what breaks a limit is no objective
            surrogate = surrogate.with_variances(np.where(is_known, variances, np.nan))
        if of_outputs:
            values = np.hstack([history.objectives, history.violations])
        posterior, learned, info = surrogate.condition(history.completed, values, state["surrogate"], rng)
        return check_part("surrogate: what it learns", posterior, Posterior), learned, info

    def _design_initial(self, history: HistoryView, rng: np.random.Generator) -> Point | None:
        """Return an initial point; None once there are enough, or none is left and observed points may be repeated.

        Raises SpaceExhausted.
        """
        if len(history.seen) >= self.n_initial:
            return None
        try:
            return self.design(self.domain, history.seen, rng)
        except SpaceExhausted:
            if not (self.repeats and len(history.values)):
                raise
            return None

    def _choose_point(
        self, maxima: Batch, score: Score, believed: Posterior, history: HistoryView, rng: np.random.Generator
    ) -> tuple[Point, str]:
        """Return a new point, or a told one if that is worth more or no new one is left, and its origin.

        Raises SpaceExhausted.
        """
        try:
            x = self._first_unseen(maxima, score, history, rng)
        except SpaceExhausted:
            again = choose_repeat(self.domain, believed, history, None) if self.repeats else None
            if again is None:
                raise
            return again, "repeat"
        again = choose_repeat(self.domain, believed, history, x) if self.repeats else None
        return (x, "model") if again is None else (again, "repeat")

    def _leave_certain(
        self, x: Point, posterior: Posterior, score: Score, history: HistoryView, rng: np.random.Generator
    ) -> Point:
        """Return the best uncertain point of its neighbors and new draws if x is certain to be no better; else x.

        A point that differs from an observed point in unused variables alone is new, but its value is known.
        """
        domain, only = self.domain, self.domain.join([x])
        least, known = CERTAIN_SHARE * float(np.std(history.values)), posterior.predict(only)
        if known.variance.mean() >= least**2 or known.mean.mean() < np.min(history.values) - least:
            return x
        drawn = domain.sample_candidates(MAX_FALLBACK_DRAWS, only, rng)
        xs = self._unseen(domain.join(self.neighborhood(domain, x, rng), drawn), history)
        uncertain = np.flatnonzero(posterior.predict(xs).variance.mean(axis=0) >= least**2)
        return _best(domain.take(xs, uncertain), score) if len(uncertain) else x

    def _vary_unused(
        self, x: Point, posterior: Posterior, score: Score, history: HistoryView, rng: np.random.Generator
    ) -> Point:
        """Draw the variables that the model hardly uses at random, so that the data go on to show whether they matter.

        Of several unseen draws the one of the largest score is returned, if its improvement is at least half that of x.
        """
        if not posterior.unused:
            return x
        domain: Any = self.domain  # a space, which has the variables
        drawn = [domain.resample(x, posterior.unused, rng) for _ in range(UNUSED_DRAWS)]
        fresh = self._unseen(self.domain.join(drawn), history)
        scores = score(self.domain.join([x], fresh))
        best = int(np.argmax(scores[1:])) if len(fresh) else 0
        return fresh[best] if len(fresh) and scores[1 + best] >= scores[0] - LARGEST_LOSS else x

    def _first_unseen(self, maxima: Batch, score: Score, history: HistoryView, rng: np.random.Generator) -> Point:
        """Return the best new maximum; else, maximum by maximum, its best new neighbor; else the best of new draws.

        Raises SpaceExhausted.
        """
        for x in maxima:
            if self.domain.key(x) not in history.seen:
                return x
        for x in maxima:
            fresh = self._unseen(self.neighborhood(self.domain, x, rng), history)
            if len(fresh):
                return _best(fresh, score)
        one = self.domain.sample_unseen(history.seen, rng)  # first: if none is left it says so before many draws do
        drawn_too = self.domain.sample_candidates(MAX_FALLBACK_DRAWS, maxima, rng)
        return _best(self._unseen(self.domain.join([one], drawn_too), history), score)

    def _unseen(self, xs: Batch, history: HistoryView) -> Batch:
        return self.domain.take(xs, [i for i, key in enumerate(self.domain.keys(xs)) if key not in history.seen])


def _find_learned(domain: Domain, completed: Batch, learned: Batch) -> tuple[IntArray, IntArray]:
    """Return if the points that a model learned from are among those told, and among those learned.

    Of observed points several times those are left out of which the model did not keep all: no value says which it
    kept. Raises BostructError if the model learned from more points than were told.
    """
    if len(learned) > len(completed):
        raise BostructError("cross_validate: the model learns from earlier studies, too, and mixes them with this one")
    if len(learned) == len(completed):
        return np.arange(len(learned)), np.arange(len(learned))
    told, kept = (defaultdict[Hashable, list[int]](list) for _ in range(2))
    for places, batch in ((told, completed), (kept, learned)):
        for position, key in enumerate(domain.keys(batch)):
            places[key].append(position)
    whole = [(at, own) for key, at in told.items() if len(at) == len(own := kept[key])]
    pairs = sorted(pair for at, own in whole for pair in zip(at, own, strict=True))
    return np.array([a for a, _ in pairs], dtype=np.int64), np.array([b for _, b in pairs], dtype=np.int64)


def _best(xs: Batch, score: Score) -> Point:
    return xs[int(np.argmax(score(xs)))]


def select_batch(
    x: Point,
    maxima: Batch,
    score: Score,
    domain: Domain,
    seen: AbstractSet[Hashable],
    neighborhood: Callable[[Point], Batch],
) -> Iterator[Point]:
    """Yield up to seven points to evaluate beside x: each by a climb once x, and those before it, are believed.

    A climb begins at the best of the maxima and of the points around those before, and steps to the best point around
    for as long as that is better. A score that cannot believe leads to none.

    neighborhood: a point -> points around it; of more than 200 the same share is looked at everywhere.
    """
    candidates, chosen = maxima, {domain.key(x)}

    def drop_known(xs: Batch) -> Batch:
        return domain.take(xs, [i for i, key in enumerate(domain.keys(xs)) if key not in seen and key not in chosen])

    def look_around(x: Point) -> Batch:
        around = neighborhood(x)
        return drop_known(domain.take(around, range(0, len(around), -(-len(around) // MOST_AROUND) or 1)))

    for _ in range(MOST_JOINT - 1):
        believing = score.believe(domain.join([x]))
        if believing is None:
            return
        score = believing
        candidates = drop_known(domain.join(candidates, look_around(x)))
        if not len(candidates):
            return
        x = _climb(candidates, score, look_around)
        chosen.add(domain.key(x))
        yield x


def _climb(xs: Batch, score: Score, look_around: Callable[[Point], Batch]) -> Point:
    worths = score(xs)
    x, worth = xs[int(np.argmax(worths))], np.max(worths)
    for _ in range(MOST_STEPS):
        around = look_around(x)
        worths = score(around) if len(around) else np.array([-np.inf])
        if np.max(worths) <= worth:
            break
        x, worth = around[int(np.argmax(worths))], np.max(worths)
    return x


def choose_repeat(domain: Domain, posterior: Posterior, history: HistoryView, x: Point | None) -> Point | None:
    """Return the observed point that is worth more to ask again than a new point is to ask; None if there is none.

    Both are judged by the knowledge gradient: by how much the best posterior mean among the observed points of the best
    means and the new point is expected to fall with one more value.

    posterior: of the objective, with the running points believed; one without covariances or noise repeats nothing.
    history: at least one completed point; with several objectives, or limits, nothing is repeated.
    x: the new point; None if none is left: then the observed point of the largest gain is returned, however small
        that is. Whether values are noisy, repeats alone can tell.

    Source: Frazier, Powell and Dayanik 2009, section 2.
    """
    n_outputs = history.objectives.shape[1] + history.violations.shape[1]
    if n_outputs > 1 or posterior.noise is None:
        return None
    firsts = first_occurrences(domain, history.completed)
    told = domain.take(history.completed, firsts)
    means = posterior.predict(told).mean.mean(axis=0)
    order = np.argsort(means, kind="stable")[:MOST]
    some: Batch = domain.join([*(told[int(i)] for i in order), *([] if x is None else [x])])
    if (covariance := posterior.covariance(some)) is None:
        return None
    gains = knowledge_gradients(posterior.predict(some).mean, covariance, posterior.noise)
    again = gains[: len(order)]
    if history.variances is not None:
        keys = domain.keys(history.completed)
        exact = {key for key, variance in zip(keys, history.variances, strict=True) if variance == 0.0}
        again = np.where([keys[firsts[i]] in exact for i in order], -np.inf, again)  # an exact value stays as it is
    least = -np.inf if x is None else max(gains[-1], LEAST_GAIN * float(np.std(means)))
    best = int(np.argmax(again))
    return some[best] if again[best] > least else None


def knowledge_gradients(mean: Array, covariance: Array, noise: Array) -> Array:
    """Return by how much the smallest posterior mean of m points is expected to fall with one more value at each (m,).

    mean: (s, m), of posterior samples, over which the fall is averaged.
    covariance: among the points (s, m, m).
    noise: variance of the noise of a value (s, 1).

    Source: Frazier, Powell and Dayanik 2009.
    """
    falls = [
        expected_falls(one, among / np.sqrt(among.diagonal() + of_noise))  # column j: the means' change by a value at j
        for one, among, of_noise in zip(mean, covariance, noise, strict=True)
    ]
    return np.mean(falls, axis=0)


def expected_falls(starts: Array, slopes: Array) -> Array:
    """Return min(a) - E[min(a + b Z)] for each column b of the slopes (k,), exactly, where Z is standard normal.

    A line a + b z is the lowest on one interval of z, between its crossings with other lines. So the expectation is a
    sum of normal integrals, one over the interval of each line. The line that is lowest at 0 is subtracted from all
    lines. The interval of any other line is then on one side of 0, and gains in the far tails keep their digits.

    starts: a, of m lines (m,).
    slopes: b, of the same lines in each of k cases (m, k).

    Source: Frazier, Powell and Dayanik 2009, whose Algorithm 1 finds the intervals one after the other.
    """
    lowest = int(np.argmin(starts))
    a, b = (starts - starts[lowest])[:, None], slopes - slopes[lowest]
    steeper, higher = b[:, None] - b[None], a[None] - a[:, None]  # line i against line l (m, m, k), (m, m, 1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossing = higher / steeper
    end = np.where(steeper > 0.0, crossing, np.inf).min(axis=1)
    begin = np.where(steeper < 0.0, crossing, -np.inf).max(axis=1)
    earlier = np.tri(len(a), k=-1, dtype=np.bool_)[:, :, None]  # of two equal lines, the first is kept
    is_above = ((steeper == 0.0) & ((higher < 0.0) | (higher == 0.0) & earlier)).any(axis=1)
    near, far = np.where(b < 0.0, begin, -end), np.where(b < 0.0, end, -begin)  # as distances from 0, on its side
    parts = np.abs(b) * (_density(near) - _density(far)) - a * (scipy.special.ndtr(-near) - scipy.special.ndtr(-far))
    return np.where((near < far) & ~is_above, np.maximum(parts, 0.0), 0.0).sum(axis=0)


def _density(z: Array) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-0.5 * np.square(z)) / ROOT_TWO_PI
