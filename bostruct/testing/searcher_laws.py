"""The laws of a searcher.

`check_searcher` runs short studies: sequentially, with a reload at every step, and with several points in flight, some
of which fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import (
    BostructError,
    Domain,
    HistoryView,
    LeaveOneOut,
    NumericalError,
    Predicted,
    Prediction,
    Presented,
    Searcher,
    SpaceExhausted,
    State,
    Suggestion,
    TrainingPrediction,
)
from bostruct.study.history import History
from bostruct.testing.capability_laws import check_valid
from bostruct.testing.common import (
    assert_close,
    check_array,
    copy_batch,
    every_point,
    is_raised,
    naming,
    no_global_randomness,
    read_back,
)

MakeSearcher = Callable[[Domain], Searcher]
Objective = Callable[[Presented], float]

FULL = 500  # maximum size of a domain whose points are all marked as seen
N_OBSERVED = 12  # number of these points with a value
MOST_JOINT = 12  # examined suggestions of one fit
ORIGINS = ("initial", "model", "mutation", "random", "fallback")


class Step(NamedTuple):
    """One suggestion.

    state: JSON text, after the suggestion.
    """

    key: Hashable
    state: str
    origin: str


class Schedule(NamedTuple):
    """How a study runs.

    fail_every: period of failing trials; 0 for none.
    reload: at every step, make a new searcher and read history and state from JSON.
    """

    n_trials: int
    seed: int
    parallel: int = 1
    fail_every: int = 0
    reload: bool = False
    asks_all: bool = False


def check_searcher(
    make_searcher: MakeSearcher, domain: Domain, objective: Objective, rng: np.random.Generator, n_trials: int = 30
) -> None:
    """Check every law of a searcher in short studies.

    Parameters
    ----------
    make_searcher : MakeSearcher
        Function of a domain that returns a new searcher, equal each time.
    domain : Domain
        A domain with more than `n_trials` points.
    objective : Objective
        Function of a presented point.
    rng : Generator
        Generator of seeds.
    n_trials : int, default 30
        Number of trials in each of five studies.

    Raises
    ------
    AssertionError
        If a law is violated; the message states the law.
    """
    with naming(make_searcher(domain)):
        seed = int(rng.integers(2**31))
        check_settings(make_searcher, domain)
        run = partial(play, make_searcher, domain, objective)
        first, again = run(Schedule(n_trials, seed, asks_all=True)), run(Schedule(n_trials, seed, reload=True))
        assert again == first, "a run read back from JSON at every step differs from the uninterrupted run"
        other = run(Schedule(n_trials, seed + 1))
        assert [step.key for step in other] != [step.key for step in first], "the seed makes no difference"
        parallel = Schedule(n_trials, seed, parallel=4, fail_every=5)
        first, again = run(parallel._replace(asks_all=True)), run(parallel._replace(reload=True))
        law = "with running and failed points, a run read back from JSON differs from the uninterrupted run"
        assert again == first, law
        check_full(make_searcher, domain, objective, rng)


def check_full(make_searcher: MakeSearcher, domain: Domain, objective: Objective, rng: np.random.Generator) -> None:
    """Check that a searcher raises SpaceExhausted once all points of a domain of at most 500 have been seen."""
    every = every_point(domain, FULL, rng)
    if every is None:
        return
    searcher, completed = make_searcher(domain), every[:N_OBSERVED]
    values = [float(objective(domain.present(x))) for x in completed]
    history = replace(History.of(domain, completed, values), seen=frozenset(domain.keys(every)))
    law = "suggest raises SpaceExhausted once every point has been seen"
    try:
        found = searcher.suggest(history, searcher.initial_state(), np.random.default_rng(int(rng.integers(2**31))))
    except SpaceExhausted:
        return
    raise AssertionError(f"{law}: got {short_repr(found)}")


def check_settings(make_searcher: MakeSearcher, domain: Domain) -> None:
    """Check that settings and the first state are plain JSON, and equal for equal searchers."""
    searcher = make_searcher(domain)
    assert isinstance(searcher, Searcher), "a searcher is a bostruct.contracts.Searcher: subclass it"
    assert searcher.domain is domain, "a searcher has the domain for which it was made"
    counts = isinstance(searcher.n_initial, int)
    assert counts, f"n_initial is a number of points: got {short_repr(searcher.n_initial)}"
    settings = dict(searcher.settings())
    assert read_back(settings) == settings, "the settings survive JSON"
    assert dict(make_searcher(domain).settings()) == settings, "a searcher made again has the same settings"
    state = searcher.initial_state()
    assert read_back(state) == state, "the first state survives JSON"


def play(make_searcher: MakeSearcher, domain: Domain, objective: Objective, schedule: Schedule) -> list[Step]:
    """Run a study in memory and return its steps; check the laws of one suggestion at every step."""
    searcher = make_searcher(domain)
    state = searcher.initial_state()
    order = np.random.default_rng([schedule.seed, 1, 1])
    completed, values, running, failed = [], [], [], []
    steps: list[Step] = []
    for number in range(schedule.n_trials):
        if schedule.reload:
            searcher, state = make_searcher(domain), read_back(state)
            completed, running, failed = (list(copy_batch(domain, xs)) for xs in (completed, running, failed))
        history = _make_read_only(History.of(domain, completed, values, running, failed))
        x, state, origin = _check_one_suggestion(searcher, history, state, [schedule.seed, 1, 0, number + 1])
        steps.append(Step(domain.key(x), json.dumps(state), origin))
        running.append(x)
        while len(running) >= schedule.parallel:
            finished = running.pop(int(order.integers(len(running))))
            if schedule.fail_every and number % schedule.fail_every == schedule.fail_every - 1:
                failed.append(finished)
            else:
                completed.append(finished)
                values.append(float(objective(domain.present(finished))))
    if len(values) and schedule.asks_all:
        history = _make_read_only(History.of(domain, completed, values, running, failed))
        for law in MEMBER_LAWS.values():
            law(searcher, history, state, schedule.seed)
    return steps


def _check_one_suggestion(searcher: Searcher, history: History, state: Any, seed: list[int]) -> tuple[Any, Any, str]:
    """Return one suggestion after checks: valid, unseen, reproducible, and without changes of arguments."""
    before = json.dumps(state, allow_nan=False)
    with no_global_randomness():
        found = searcher.suggest(history, state, np.random.default_rng(seed))
    kind = type(found).__name__
    assert isinstance(found, Suggestion), f"suggest returns a Suggestion: got {kind} {short_repr(found)}"
    x, new_state, info = found
    assert json.dumps(state) == before, "suggest changed its argument state"
    domain = searcher.domain
    check_valid(domain, [x], "suggest")
    assert domain.key(x) not in history.seen, f"suggest returns an unseen point: {short_repr(x)} was seen"
    assert read_back(new_state) == new_state, f"the state survives JSON: {short_repr(new_state)} does not"
    assert read_back(info) == info, f"the info survives JSON: {short_repr(info)} does not"
    assert info.get("origin") in ORIGINS, f"origin is one of {', '.join(ORIGINS)}, not {info.get('origin')!r}"
    assert info["origin"] != "fallback" or info.get("why"), "a fallback must have a reason, why"
    return x, new_state, info["origin"]


def check_joint(searcher: Searcher, history: HistoryView, state: State, seed: int) -> None:
    """Check that joint suggestions start with the suggestion of `suggest`, and continue with new points.

    history: history with at least one completed point, and at least one unseen point left.
    """
    domain = searcher.domain
    first = next(Searcher.suggest_jointly(searcher, history, state, np.random.default_rng(seed)))
    found = list(islice(searcher.suggest_jointly(history, state, np.random.default_rng(seed)), MOST_JOINT))
    keys = domain.keys(domain.join([one.point for one in found]))
    same = domain.key(first.point), first.state, first.info
    assert (keys[0], found[0].state, found[0].info) == same, "the first joint suggestion is the suggestion of suggest"
    assert len(set(keys)) == len(keys), "joint suggestions differ from each other"
    assert not any(key in history.seen for key in keys), "joint suggestions were not seen before"
    check_valid(domain, [one.point for one in found], "suggest_jointly")
    plain = all(read_back(one.state) == one.state and read_back(one.info) == one.info for one in found)
    assert plain, "states and info of joint suggestions survive JSON"


def check_appraisal(searcher: Searcher, history: HistoryView, state: State, seed: int) -> None:
    """Check that `appraise` covers each completed point, and returns the same for the same seed.

    history: history with at least one completed point.
    """
    pair = _ask_twice(partial(searcher.appraise, history, state), seed)
    if pair is None:
        return
    first, again = pair
    assert isinstance(first, TrainingPrediction), f"appraise returns a TrainingPrediction: got {short_repr(first)}"
    n = len(history.values)
    eligible = check_array(first.eligible, 1, "eligible is one bool per completed point (n,)")
    is_right = eligible.dtype == np.bool_ and eligible.shape == (n,)
    assert is_right, f"eligible is one bool per completed point: expected {n}, got {eligible.shape} of {eligible.dtype}"
    assert eligible.any(), "at least one completed point is eligible"
    assert np.array_equal(again.eligible, eligible), "appraise with the same generator finds the same points eligible"
    if first.prediction is not None:
        _check_prediction(first.prediction, n, "that appraise returns")
        assert again.prediction is not None, "appraise with the same generator predicts each time"
        law = "appraise with the same generator predicts the same"
        assert_close(again.prediction.mean, first.prediction.mean, 0.0, law)


def check_predicted(searcher: Searcher, history: HistoryView, state: State, seed: int) -> None:
    """Check that a searcher with a model predicts each point, reproducibly; any other searcher raises an error."""
    xs = searcher.domain.sample(3, np.random.default_rng(seed))
    if not searcher.has_model:
        law = "a searcher that predicts has has_model = True; any other searcher raises BostructError"
        ask = partial(searcher.predict, history, state, xs, np.random.default_rng(seed))
        assert is_raised(BostructError, ask), law
        return
    pair = _ask_twice(partial(searcher.predict, history, state, xs), seed)
    if pair is None:
        return
    first, again = pair
    assert isinstance(first, Predicted), f"predict returns a Predicted: got {short_repr(first)}"
    for array, other, name in zip(first, again, Predicted._fields, strict=True):
        shape = "(m,)" if name == "log_probability" else "(k, s, m)"
        array = check_array(array, 1 if name == "log_probability" else 3, f"the {name} predicted is {shape}")
        assert array.shape[-1] == 3, f"the {name} predicted is {shape}: expected m = 3, got {array.shape}"
        assert np.array_equal(array, other), f"predict with the same generator finds the same {name}"
    assert np.all(np.isfinite(first.mean)), "the mean predicted is finite"
    assert np.all(np.isfinite(first.variance) & (first.variance >= 0.0)), "the variance predicted is at least 0"
    assert np.all(first.log_probability <= 0.0), "the log probability predicted is at most 0"


def check_regret_bound(searcher: Searcher, history: HistoryView, state: State, seed: int) -> None:
    """Check that the bound of a regret is a probability, at most the default bound, and decreasing in the regret.

    history: history with at least one completed point.
    """
    asked = [(history, state, regret) for regret in (0.0, float(np.ptp(history.values)))]
    if not searcher.bounds_regret:
        return
    try:
        found = [searcher.bound_regret_probability(*one, np.random.default_rng(seed)) for one in asked]
    except NumericalError:  # allowed if the model cannot be fitted
        return
    most = [Searcher.bound_regret_probability(searcher, *one, np.random.default_rng(seed)) for one in asked]
    for bound, default in zip(found, most, strict=True):
        assert 0.0 <= bound <= default, f"the bound of the regret is a probability: got {bound}, of at most {default}"
    assert found[1] <= found[0], f"a larger regret is no more probable: expected at most {found[0]}, got {found[1]}"


def check_cross_validation(searcher: Searcher, history: HistoryView, state: State, seed: int) -> None:
    """Check that cross-validation predicts some of the observed values, each once, or raises an error.

    history: history with at least one completed point.
    """
    try:
        found = searcher.cross_validate(history, state, 0, np.random.default_rng(seed))
    except BostructError:  # allowed for a model without cross-validation
        return
    law = "a searcher that predicts left-out values has cross_validates = True; any other searcher raises BostructError"
    assert searcher.cross_validates, law
    assert isinstance(found, LeaveOneOut), f"cross_validate returns a LeaveOneOut: got {short_repr(found)}"
    positions = check_array(found.positions, 1, "positions are positions of completed points (n,)")
    is_right = np.all(np.diff(positions) > 0) and np.isin(positions, np.arange(len(history.values))).all()
    assert is_right, f"positions are positions of completed points, ascending: got {short_repr(positions)}"
    _check_prediction(found.prediction, len(positions), "of left-out values")


def check_changed(searcher: Searcher, history: HistoryView, state: State, seed: int) -> None:
    """Check that modified searchers are searchers of the same domain, and that only a note is stored."""
    del history, state, seed
    same = searcher.change_model(lambda model: model, lambda other: other)
    repeating = searcher.with_repeats()
    for name, changed in (("change_model", same), ("with_repeats", searcher if repeating is None else repeating)):
        assert isinstance(changed, Searcher), f"{name} returns a searcher: got {short_repr(changed)}"
        assert changed.domain == searcher.domain, f"{name} does not change the domain"
    assert repeating is None or repeating.repeats, "with_repeats returns a searcher that repeats, or None"
    found = searcher.with_note(Suggestion(None, None, {"origin": "model"}))
    noted = {} if searcher.note is None else {"auto": searcher.note}
    assert found.info == {"origin": "model", **noted}, "with_note stores only the note"


def check_hyperparameters(searcher: Searcher, history: HistoryView, state: State, seed: int) -> None:
    """Check that hyperparameters are equal for equal generators, each with one value per sample."""
    if not len(history.values):
        return
    found = _ask_twice(lambda rng: searcher.sample_hyperparameters(history, state, rng), seed)
    if found is None:
        return
    for one, again in zip(*([row for output in rows for row in output] for rows in found), strict=True):
        values = check_array(one.values, 1, f"sample_hyperparameters: {one.name}: values are (s,)")
        assert np.array_equal(values, again.values), f"sample_hyperparameters: the same seed draws the same {one.name}"


MEMBER_LAWS: dict[str, Callable[[Searcher, HistoryView, State, int], None]] = {
    "suggest_jointly": check_joint,
    "appraise": check_appraisal,
    "predict": check_predicted,
    "bound_regret_probability": check_regret_bound,
    "cross_validate": check_cross_validation,
    "change_model": check_changed,
    "with_repeats": check_changed,
    "with_note": check_changed,
    "sample_hyperparameters": check_hyperparameters,
}
"""The members of `Searcher` that have a default, and their laws."""


def _ask_twice(ask: Callable[[np.random.Generator], Any], seed: int) -> tuple[Any, Any] | None:
    """Return the answers for two equal generators; None if the model cannot be fitted."""
    try:
        with no_global_randomness():
            return ask(np.random.default_rng(seed)), ask(np.random.default_rng(seed))
    except NumericalError:
        return None


def _check_prediction(prediction: Prediction, n: int, of_what: str) -> None:
    for array, name in zip(prediction, Prediction._fields, strict=True):
        array = check_array(array, 2, f"the {name} {of_what} is (s, n)")
        assert array.shape[1] == n, f"the {name} {of_what} is (s, n): expected n = {n}, got {array.shape}"
        assert np.all(np.isfinite(array)), f"the {name} {of_what} is finite"
    assert np.all(prediction.variance >= 0.0), f"the variance {of_what} is at least 0"


def _make_read_only(history: History) -> History:
    for part in (history.completed, history.values, history.running, history.failed):
        if isinstance(part, np.ndarray):
            part.flags.writeable = False
    return history
