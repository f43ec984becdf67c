"""The laws of a searcher.

`check_searcher` plays short studies against a searcher: alone, interrupted at every step, and with several points
running at once of which some fail. `check_exhausts` plays one to the end of a small domain.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import has_capability, short_repr
from bostruct.contracts import (
    Domain,
    HasAppraisal,
    HasPrediction,
    Presented,
    Searcher,
    SpaceExhausted,
    Suggestion,
    SuggestsJointly,
)
from bostruct.study.history import History
from bostruct.testing.appraisal_laws import check_appraisal, check_predicted
from bostruct.testing.capability_laws import check_valid
from bostruct.testing.common import copy_batch, every_point, is_raised, naming, no_global_randomness, read_back

MakeSearcher = Callable[[Domain], Searcher]
Objective = Callable[[Presented], float]

FULL = 500  # points of a domain, up to which all of them are counted as seen
TOLD = 12  # of them with a value
ORIGINS = ("initial", "model", "mutation", "random", "fallback")


class Step(NamedTuple):
    """One suggestion.

    key: of the point.
    state: JSON text, after the suggestion.
    origin: how the point was chosen.
    """

    key: Hashable
    state: str
    origin: str


class Schedule(NamedTuple):
    """The way a study runs.

    n_trials: points asked for.
    seed: of all chance.
    parallel: points running at once, told in random order.
    fail_every: each such trial fails; 0 for none.
    reload: at every step make a new searcher, and read history and state back from JSON.
    """

    n_trials: int
    seed: int
    parallel: int = 1
    fail_every: int = 0
    reload: bool = False


def check_searcher(
    make_searcher: MakeSearcher, domain: Domain, objective: Objective, rng: np.random.Generator, n_trials: int = 30
) -> None:
    """Check every law that a short study can show; raise AssertionError, which names the law.

    make_searcher: domain -> a new searcher, the same each time.
    domain: of more than n_trials points.
    objective: of a point as the user sees it.
    rng: draws the seeds.
    n_trials: of each of five studies.
    """
    with naming(make_searcher(domain)):
        _check_studies(make_searcher, domain, objective, rng, n_trials)


def _check_studies(
    make_searcher: MakeSearcher, domain: Domain, objective: Objective, rng: np.random.Generator, n_trials: int
) -> None:
    seed = int(rng.integers(2**31))
    check_settings(make_searcher, domain)
    alone = play(make_searcher, domain, objective, Schedule(n_trials, seed))
    again = play(make_searcher, domain, objective, Schedule(n_trials, seed, reload=True))
    assert again == alone, "a run read back from JSON at every step differs from the uninterrupted one"
    other = play(make_searcher, domain, objective, Schedule(n_trials, seed + 1))
    assert [step.key for step in other] != [step.key for step in alone], "the seed makes no difference"
    crowd = Schedule(n_trials, seed, parallel=4, fail_every=5)
    crowded = play(make_searcher, domain, objective, crowd)
    assert play(make_searcher, domain, objective, crowd._replace(reload=True)) == crowded, (
        "with running and failed points, a run read back from JSON differs from the uninterrupted one"
    )
    check_joint(make_searcher, domain, objective, rng)
    check_full(make_searcher, domain, objective, rng)


def check_joint(make_searcher: MakeSearcher, domain: Domain, objective: Objective, rng: np.random.Generator) -> None:
    """Check that points of one fit are the one of `suggest` first, and then new ones: `SuggestsJointly`.

    make_searcher: as of `check_searcher`; nothing is checked of one without the capability.
    domain: any.
    objective: of a point as the user sees it.
    rng: draws the points told, and a seed.
    """
    searcher = make_searcher(domain)
    if not has_capability(searcher, SuggestsJointly):
        return
    told, seed = domain.sample(TOLD, rng), int(rng.integers(2**31))
    history = _freeze(History.of(domain, told, [float(objective(domain.present(x))) for x in told]))
    alone = searcher.suggest(history, searcher.initial_state(), np.random.default_rng(seed))
    together = searcher.suggest_jointly(history, searcher.initial_state(), np.random.default_rng(seed))
    found = list(islice(together, TOLD))
    keys = domain.keys(domain.join([one.point for one in found]))
    same = domain.key(alone.point), alone.state, alone.info
    assert (keys[0], found[0].state, found[0].info) == same, "the first joint suggestion is that of suggest"
    assert len(set(keys)) == len(keys), "joint suggestions differ from each other"
    assert not any(key in history.seen for key in keys), "joint suggestions were not seen before"
    check_valid(domain, [one.point for one in found], "suggest_jointly")
    plain = all(read_back(one.state) == one.state and read_back(one.info) == one.info for one in found)
    assert plain, "states and info of joint suggestions survive JSON"


def check_full(make_searcher: MakeSearcher, domain: Domain, objective: Objective, rng: np.random.Generator) -> None:
    """Check that a searcher says SpaceExhausted once all points of a domain of at most 500 have been seen.

    make_searcher: as of `check_searcher`.
    domain: any; nothing is checked of a larger one.
    objective: of a point as the user sees it.
    rng: draws the points told, and a seed.
    """
    every = every_point(domain, FULL, rng)
    if every is None:
        return
    searcher, told = make_searcher(domain), every[:TOLD]
    values = [float(objective(domain.present(x))) for x in told]
    history = replace(History.of(domain, told, values), seen=frozenset(domain.keys(every)))
    law = "suggest raises SpaceExhausted once every point has been seen"
    try:
        found = searcher.suggest(history, searcher.initial_state(), np.random.default_rng(int(rng.integers(2**31))))
    except SpaceExhausted:
        return
    raise AssertionError(f"{law}: got {short_repr(found)}")


def check_settings(make_searcher: MakeSearcher, domain: Domain) -> None:
    """Check that settings and the first state are plain JSON, the same for the same searcher.

    make_searcher: as of `check_searcher`.
    domain: any.
    """
    searcher = make_searcher(domain)
    assert searcher.domain is domain, "a searcher has the domain that it was made for"
    settings = dict(searcher.settings())
    assert read_back(settings) == settings, "the settings survive JSON"
    assert dict(make_searcher(domain).settings()) == settings, "a searcher made again has the same settings"
    state = searcher.initial_state()
    assert read_back(state) == state, "the first state survives JSON"


def check_exhausts(make_searcher: MakeSearcher, domain: Domain, objective: Objective, rng: np.random.Generator) -> None:
    """Check that a study of a small domain visits each point once, then says that there is none left.

    The points are told one at a time; then all run at once, and none is ever told.

    make_searcher: as of `check_searcher`.
    domain: small.
    objective: of a point as the user sees it.
    rng: draws the seed.
    """
    size = int(domain.size)
    seed = int(rng.integers(2**31))
    for parallel in (1, size + 1):
        longer = Schedule(size + 1, seed, parallel)
        exhausted = is_raised(SpaceExhausted, lambda one=longer: play(make_searcher, domain, objective, one))
        assert exhausted, "suggest raises SpaceExhausted once every point has been seen"
        steps = play(make_searcher, domain, objective, Schedule(size, seed, parallel))
        assert len({step.key for step in steps}) == size, "a study visits each point of a small domain once"


def play(make_searcher: MakeSearcher, domain: Domain, objective: Objective, schedule: Schedule) -> list[Step]:
    """Run a study in memory, and check the laws of one suggestion at every step; return the steps.

    make_searcher: as of `check_searcher`.
    domain: any.
    objective: of a point as the user sees it.
    schedule: of the study.
    """
    searcher = make_searcher(domain)
    state = searcher.initial_state()
    order = np.random.default_rng([schedule.seed, 1, 1])
    completed, values, running, failed = [], [], [], []
    steps: list[Step] = []
    for number in range(schedule.n_trials):
        if schedule.reload:
            searcher, state = make_searcher(domain), read_back(state)
            completed, running, failed = (list(copy_batch(domain, xs)) for xs in (completed, running, failed))
        history = _freeze(History.of(domain, completed, values, running, failed))
        x, state, origin = _suggest(searcher, history, state, [schedule.seed, 1, 0, number + 1])
        steps.append(Step(domain.key(x), json.dumps(state), origin))
        running.append(x)
        while len(running) >= schedule.parallel:
            told = running.pop(int(order.integers(len(running))))
            if schedule.fail_every and number % schedule.fail_every == schedule.fail_every - 1:
                failed.append(told)
            else:
                completed.append(told)
                values.append(float(objective(domain.present(told))))
    if len(values):
        history = _freeze(History.of(domain, completed, values, running, failed))
        if has_capability(searcher, HasAppraisal):
            check_appraisal(searcher, history, state, schedule.seed)
        if has_capability(searcher, HasPrediction):
            check_predicted(searcher, history, state, schedule.seed)
    return steps


def _suggest(searcher: Searcher, history: History, state: Any, seed: list[int]) -> tuple[Any, Any, str]:
    """Return one suggestion, after checks: valid, unseen, by the generator given alone, and no argument is changed."""
    before = json.dumps(state, allow_nan=False)
    with no_global_randomness():
        found = searcher.suggest(history, state, np.random.default_rng(seed))
    kind = type(found).__name__
    assert isinstance(found, Suggestion), f"suggest returns a Suggestion: got {kind} {short_repr(found)}"
    x, new_state, info = found
    assert json.dumps(state) == before, "suggest changed the state that it was given"
    domain = searcher.domain
    check_valid(domain, [x], "suggest")
    assert domain.key(x) not in history.seen, f"suggest returns an unseen point: {short_repr(x)} was seen"
    assert read_back(new_state) == new_state, f"the state survives JSON: {short_repr(new_state)} does not"
    assert read_back(info) == info, f"the info survives JSON: {short_repr(info)} does not"
    assert info.get("origin") in ORIGINS, f"origin is one of {', '.join(ORIGINS)}, not {info.get('origin')!r}"
    assert info["origin"] != "fallback" or info.get("why"), "a fallback must say why"
    return x, new_state, info["origin"]


def _freeze(history: History) -> History:
    for part in (history.completed, history.values, history.running, history.failed):
        if isinstance(part, np.ndarray):
            part.flags.writeable = False
    return history
