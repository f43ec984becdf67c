"""Bayesian optimization: suggest the next point with a surrogate, an acquisition score and a maximizer."""

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
from bostruct.searchers.outputs import find_kept, keep
from bostruct.searchers.proposals import Design, draw_blindly, fall_back, neighbors_of, random_design
from bostruct.searchers.regret import ObservedFeasibility, bound_regret_probability

CERTAIN_SHARE = 0.01  # of the standard deviation of the values; a point with less predicted deviation is certain
UNUSED_DRAWS = 16  # random values of the variables that the model barely uses
LARGEST_LOSS = math.log(2.0)  # of a log improvement, for randomized variables
MAX_FALLBACK_DRAWS = 1_000  # random points, if all maxima and their neighbors were seen
KEPT_MEMORY = 8 * 2**20  # bytes: a matrix of 1,000 points; glibc then keeps up to twice as many bytes
MOST_JOINT = 8  # points per search; an arbitrary choice, like the next two
MOST_AROUND = 200  # points examined around one per step
MOST_STEPS = 5  # steps per climb
LEAST_GAIN = 1e-3  # minimum gain of a repetition, in standard deviations of the posterior means at the observed points
MOST = 16  # number of observed points considered, with the best means
ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
Neighborhood = Callable[[Any, Point, np.random.Generator], Batch]


class ExplorationStep(NamedTuple):
    """The result of an exploration rule.

    point: unseen point to suggest instead of the model's; None if the model is to suggest one.
    state: state for the next call, plain JSON.
    origin: how the point was chosen, to record: ``random``, or ``mutation`` of an observed point.
    """

    point: Point | None
    state: State
    why: str = ""
    origin: str = "random"


class Exploration(ABC):
    """A rule for exploration, the field `exploration` of a `BayesianSearch`."""

    @abstractmethod
    def __call__(self, domain: Any, history: HistoryView, state: State, rng: np.random.Generator) -> ExplorationStep:
        """Return a point to suggest instead of the model's, if exploration is due.

        domain: the `Domain` to search.
        history: all observations, at least one value.
        state: the state that the last call returned; None for the first call.
        rng: random number generator.
        """


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Make the C library keep freed memory for arrays of the same size, from now on in this process.

    A fit allocates and frees hundreds of matrices. glibc returns freed matrices to the system, which must clear their
    pages for the next allocation: half of the time of a fit to 300 points. glibc keeps blocks up to the size of the
    largest block ever freed (mallopt(3), `M_MMAP_THRESHOLD`), so this function frees one unused block. It has no effect
    on other C libraries.
    """
    np.empty(KEPT_MEMORY, dtype=np.uint8)


@dataclass(frozen=True)
class BayesianSearch(Searcher):
    """Bayesian optimization with interchangeable parts: surrogate, acquisition score and maximizer.

    maximizer: searches the domain for the points with the largest acquisition values.
    n_initial: number of points before the surrogate is used, at least 1. Given, added and failed trials count; `design`
        chooses the others.
    n_starts: number of best completed points that the maximizer starts from, at least 0; None for all.
    design: (domain, seen, rng) -> an unseen initial point.
    neighborhood: (domain, x, rng) -> points around x, suggested if all maxima were seen before.
    exploration: rule that may replace the model's suggestion; None to never explore.
    repeats: whether to suggest an observed point again if another value there gains more than a new point, or no new
        point is left; its suggestion has the origin ``repeat``.
    note: stored with each suggestion, as ``info["auto"]``; None for no note.

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
        """Yield points to evaluate in parallel; the first is the maximum of a search.

        Each further point is the result of a climb that conditions on the points before it, and starts from the best of
        the other maxima and the points around the earlier ones. ``info["joint"]`` is its position, from 1. If the model
        did not choose the first point, there is no other. Raises SpaceExhausted.
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
            check_part("score: its result", score, Score)
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

        A surrogate with several outputs predicts the first objective, and the points of `find_kept` are eligible. Any
        other surrogate learns only from the eligible points: the feasible points, or all if none is feasible.
        """
        kept = is_feasible(history.violations)
        eligible = kept if kept.any() else np.ones(len(kept), dtype=np.bool_)
        view: HistoryView = history
        if self.surrogate.n_outputs is None and not eligible.all():
            view = keep(history, np.flatnonzero(eligible).tolist(), [], self.domain.take)
        posterior, _, _ = self._condition(view, state, rng)
        if kept.any():
            violations = posterior.outputs[history.objectives.shape[1] :]
            eligible = np.isin(np.arange(len(kept)), find_kept(violations, history, self.domain.take))
        return TrainingPrediction(eligible, posterior.outputs[0].average_models().predict(history.completed))

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
        learned = self.score.learn_feasibility(posterior, history, state.get("score"), rng)
        completed = history.completed
        known = None if learned is None else ObservedFeasibility(learned, self.domain, history.failed, completed)
        return bound_regret_probability(posterior, self.domain, completed, regret, self.neighborhood, rng, known)

    def predict(self, history: HistoryView, state: State, xs: Batch, rng: np.random.Generator) -> Predicted:
        """Predict points by the surrogate, and their probability of success by the score; raises NumericalError.

        Means and variances are in the user's units. If the surrogate compresses values, the mean of a point far above
        the median is the median of its predictive distribution.
        """
        posterior = self._learn(history, state, rng)
        values = history.values[None] if self.surrogate.n_outputs is None else history.objectives.T
        objectives = zip(posterior.outputs[: len(values)], values, strict=True)
        found = [self.surrogate.restore_units(one.average_models().predict(xs), own) for one, own in objectives]
        feasibility = self.score.learn_feasibility(posterior, history, state.get("score"), rng)
        log_probability = np.zeros(len(xs)) if feasibility is None else feasibility.log_probability(xs)
        mean, variance = (np.stack(one) for one in zip(*found, strict=True))
        return Predicted(mean, variance, log_probability)

    def sample_hyperparameters(
        self, history: HistoryView, state: State, rng: np.random.Generator
    ) -> list[list[HyperparameterSamples]]:
        return [one.list_hyperparameters() for one in self._learn(history, state, rng).outputs]

    def cross_validate(
        self, history: HistoryView, state: State, objective: int, rng: np.random.Generator
    ) -> LeaveOneOut:
        """Predict each observed value from all others, in the user's units, with the hyperparameters fitted to all.

        Repeated points are omitted if the model keeps only some of them. Raises BostructError if the model is not a
        Gaussian process, also learns from other studies, or does not model the constraints; NumericalError.
        """
        held_out = self._learn(history, state, rng).outputs[objective].average_models().leave_one_out()
        if held_out is None:
            raise BostructError(
                "cross_validate: expected a method with a Gaussian process, such as auto: it predicts each observed "
                "value from the others in closed form"
            )
        positions, kept = _find_learned(self.domain, history.completed, held_out.xs)
        found = Prediction(held_out.prediction.mean[:, kept], held_out.prediction.variance[:, kept])
        return LeaveOneOut(positions, self.surrogate.restore_units(found, history.objectives[:, objective]))

    def _learn(self, history: HistoryView, state: State, rng: np.random.Generator) -> Posterior:
        """Return the posterior of all observations; raise NumericalError, or BostructError for unmodeled constraints.

        With constraints, a surrogate with one output learns a constrained rank, which is not an objective.
        """
        if not len(history.values):
            raise NumericalError("no trial has completed")
        if history.violations.shape[1] and self.surrogate.n_outputs is None:
            raise BostructError("predict: the method does not model outcome constraints; auto does")
        return self._condition(history, state, rng)[0]

    def _condition(self, history: HistoryView, state: State, rng: np.random.Generator) -> tuple[Posterior, State, Info]:
        """Condition the surrogate on the completed points, all their outputs, and the known noise."""
        surrogate, values = self.surrogate, history.values
        variances, of_outputs = history.variances, surrogate.n_outputs is not None
        if variances is not None:
            # the constrained rank of an infeasible point is not an objective
            is_known = of_outputs | is_feasible(history.violations)
            surrogate = surrogate.with_variances(np.where(is_known, variances, np.nan))
        if of_outputs:
            values = np.hstack([history.objectives, history.violations])
        posterior, learned, info = surrogate.condition(history.completed, values, state["surrogate"], rng)
        return check_part("surrogate: its posterior", posterior, Posterior), learned, info

    def _design_initial(self, history: HistoryView, rng: np.random.Generator) -> Point | None:
        """Return an initial point; None once there are enough, or none is left and repetitions are allowed.

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
        """Return a new point, or an observed one if that gains more or no new point is left, and its origin.

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
        """Return x, or the best uncertain point among its neighbors and random points if x is certainly not better.

        A point that differs from an observed point only in unused variables is new, but its value is known.
        """
        domain, only = self.domain, self.domain.join([x])
        least, known = CERTAIN_SHARE * float(np.std(self.surrogate.warp(history.values))), posterior.predict(only)
        if known.variance.mean() >= least**2 or known.mean.mean() < np.min(history.values) - least:
            return x
        drawn = domain.sample_candidates(MAX_FALLBACK_DRAWS, only, rng)
        xs = self._unseen(domain.join(self.neighborhood(domain, x, rng), drawn), history)
        uncertain = np.flatnonzero(posterior.predict(xs).variance.mean(axis=0) >= least**2)
        return _best(domain.take(xs, uncertain), score) if len(uncertain) else x

    def _vary_unused(
        self, x: Point, posterior: Posterior, score: Score, history: HistoryView, rng: np.random.Generator
    ) -> Point:
        """Randomize the variables that the model barely uses, so that the data keep showing whether they matter.

        The unseen draw with the best score is returned if its improvement is at least half of the improvement of x.
        """
        if not posterior.unused:
            return x
        domain: Any = self.domain  # a space with variables
        drawn = [domain.resample(x, posterior.unused, rng) for _ in range(UNUSED_DRAWS)]
        fresh = self._unseen(self.domain.join(drawn), history)
        scores = score(self.domain.join([x], fresh))
        best = int(np.argmax(scores[1:])) if len(fresh) else 0
        return fresh[best] if len(fresh) and scores[1 + best] >= scores[0] - LARGEST_LOSS else x

    def _first_unseen(self, maxima: Batch, score: Score, history: HistoryView, rng: np.random.Generator) -> Point:
        """Return the best new maximum, or else the best new neighbor of a maximum, or else the best random point.

        Raises SpaceExhausted.
        """
        for x in maxima:
            if self.domain.key(x) not in history.seen:
                return x
        for x in maxima:
            fresh = self._unseen(self.neighborhood(self.domain, x, rng), history)
            if len(fresh):
                return _best(fresh, score)
        one = self.domain.sample_unseen(history.seen, rng)  # first, because it finds out quickly if no point is left
        drawn_too = self.domain.sample_candidates(MAX_FALLBACK_DRAWS, maxima, rng)
        return _best(self._unseen(self.domain.join([one], drawn_too), history), score)

    def _unseen(self, xs: Batch, history: HistoryView) -> Batch:
        return self.domain.take(xs, [i for i, key in enumerate(self.domain.keys(xs)) if key not in history.seen])


def _find_learned(domain: Domain, completed: Batch, learned: Batch) -> tuple[IntArray, IntArray]:
    """Return the positions of the points that a model learned from, among the observed and among the learned points.

    Points that were observed several times are omitted if the model did not keep all of them, since their values do not
    identify them. Raises BostructError if the model learned from more points than were observed.
    """
    if len(learned) > len(completed):
        raise BostructError("cross_validate: the model learns from earlier studies, too, and mixes them with this one")
    if len(learned) == len(completed):
        return np.arange(len(learned)), np.arange(len(learned))
    observed, kept = (defaultdict[Hashable, list[int]](list) for _ in range(2))
    for places, batch in ((observed, completed), (kept, learned)):
        for position, key in enumerate(domain.keys(batch)):
            places[key].append(position)
    whole = [(at, own) for key, at in observed.items() if len(at) == len(own := kept[key])]
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
    """Yield up to seven points to evaluate with x, each by a climb that conditions on x and the points before it.

    A climb starts at the best of the maxima and of the points around the earlier points, and moves to the best point
    around it until none is better. A score that cannot be conditioned yields no points.

    neighborhood: a point -> points around it; if there are more than 200, each step examines the same share.
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
    scores = score(xs)
    x, best = xs[int(np.argmax(scores))], np.max(scores)
    for _ in range(MOST_STEPS):
        around = look_around(x)
        scores = score(around) if len(around) else np.array([-np.inf])
        if np.max(scores) <= best:
            break
        x, best = around[int(np.argmax(scores))], np.max(scores)
    return x


def choose_repeat(domain: Domain, posterior: Posterior, history: HistoryView, x: Point | None) -> Point | None:
    """Return the point to evaluate again by knowledge gradient, or None if a new point gains more.

    The knowledge gradient is the expected decrease of the best posterior mean, among the best observed points and the
    new point, by one more value.

    posterior: posterior of the objective, conditioned on the running points; None is returned if it has no covariances
        or no noise.
    history: at least one completed point; None is returned for several objectives or constraints.
    x: the new point, or None if none is left. The observed point with the largest gain is then returned, however small
        the gain: only repetitions show whether values are noisy.

    Source: Frazier, Powell and Dayanik 2009, section 2.
    """
    n_outputs = history.objectives.shape[1] + history.violations.shape[1]
    if n_outputs > 1 or posterior.noise is None:
        return None
    firsts = first_occurrences(domain, history.completed)
    observed = domain.take(history.completed, firsts)
    means = posterior.predict(observed).mean.mean(axis=0)
    order = np.argsort(means, kind="stable")[:MOST]
    some: Batch = domain.join([*(observed[int(i)] for i in order), *([] if x is None else [x])])
    if (covariance := posterior.covariance(some)) is None:
        return None
    gains = knowledge_gradients(posterior.predict(some).mean, covariance, posterior.noise)
    again = gains[: len(order)]
    if history.variances is not None:
        keys = domain.keys(history.completed)
        exact = {key for key, variance in zip(keys, history.variances, strict=True) if variance == 0.0}
        again = np.where([keys[firsts[i]] in exact for i in order], -np.inf, again)  # an exact value does not change
    least = -np.inf if x is None else max(gains[-1], LEAST_GAIN * float(np.std(means)))
    best = int(np.argmax(again))
    return some[best] if again[best] > least else None


def knowledge_gradients(mean: Array, covariance: Array, noise: Array) -> Array:
    """Return the expected decrease of the smallest posterior mean of m points by one more value at each (m,).

    mean: posterior means under s samples of the hyperparameters (s, m); the decrease is averaged over samples.
    covariance: covariances of the points (s, m, m).
    noise: variance of the noise of a value (s, 1).

    Source: Frazier, Powell and Dayanik 2009.
    """
    falls = [
        expected_falls(one, among / np.sqrt(among.diagonal() + of_noise))  # column j: effect of a value at j
        for one, among, of_noise in zip(mean, covariance, noise, strict=True)
    ]
    return np.mean(falls, axis=0)


def expected_falls(starts: Array, slopes: Array) -> Array:
    """Return min(a) - E[min(a + b Z)], exactly, for standard normal Z and each column b of the slopes (k,).

    A line a + b z is the lowest on one interval of z, between its crossings with other lines. The expectation is
    therefore a sum of normal integrals, one over the interval of each line. The line that is lowest at 0 is subtracted
    from all lines. The interval of any other line is then on one side of 0, so that small gains keep their digits.

    starts: intercepts a of m lines (m,).
    slopes: slopes b of these lines in each of k cases (m, k).

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
    near, far = np.where(b < 0.0, begin, -end), np.where(b < 0.0, end, -begin)  # distances from 0, on its side
    parts = np.abs(b) * (_density(near) - _density(far)) - a * (scipy.special.ndtr(-near) - scipy.special.ndtr(-far))
    return np.where((near < far) & ~is_above, np.maximum(parts, 0.0), 0.0).sum(axis=0)


def _density(z: Array) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-0.5 * np.square(z)) / ROOT_TWO_PI
