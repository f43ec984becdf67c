"""What it means to be a searcher.

`check_searcher` plays short studies against a searcher: alone, interrupted at every step, and with several points out
at once of which some fail. `check_exhausts` plays one to the end of a small domain.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import sklearn.ensemble  # noqa: F401  SciPy's statistics, which it imports, draw examples for their own pages

from bostruct.contracts import Searcher, SpaceExhausted
from bostruct.study.history import History

MakeSearcher = Callable[[Any], Searcher]
Objective = Callable[[Any], float]

ORIGINS = ("initial", "model", "random", "fallback")
NOT_DRAWS = {"RandomState", "Generator", "BitGenerator", "SeedSequence", "default_rng", "get_state", "set_state"}


class Step(NamedTuple):
    key: Any
    state: str  # JSON, after the suggestion
    origin: str


class Schedule(NamedTuple):
    """How a study runs. parallel: points out at once, told in random order. fail_every: each such trial fails."""

    n_trials: int
    seed: int
    parallel: int = 1
    fail_every: int = 0
    reload: bool = False  # a new searcher, and history and state read back from JSON, at every step


def check_searcher(
    make_searcher: MakeSearcher, domain: Any, objective: Objective, rng: np.random.Generator, n_trials: int = 30
) -> None:
    """Every law that a short study can show.

    make_searcher: domain -> a new searcher, the same each time. objective: of a point as the user sees it. n_trials:
    of each of five studies; the domain must hold more points than that.
    """
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


def check_settings(make_searcher: MakeSearcher, domain: Any) -> None:
    """Settings and the first state are plain JSON, the same for the same searcher."""
    searcher = make_searcher(domain)
    assert searcher.domain is domain
    settings = dict(searcher.settings())
    assert json.loads(json.dumps(settings, allow_nan=False)) == settings
    assert dict(make_searcher(domain).settings()) == settings
    state = searcher.initial_state()
    assert json.loads(json.dumps(state, allow_nan=False)) == state


def check_exhausts(make_searcher: MakeSearcher, domain: Any, objective: Objective, rng: np.random.Generator) -> None:
    """A study of an enumerable domain visits each point once, then says that there is none left.

    Told one at a time; and all running at once, with nothing ever told.
    """
    size = int(domain.size)
    seed = int(rng.integers(2**31))
    for parallel in (1, size + 1):
        with pytest.raises(SpaceExhausted):
            play(make_searcher, domain, objective, Schedule(size + 1, seed, parallel))
        steps = play(make_searcher, domain, objective, Schedule(size, seed, parallel))
        assert len({step.key for step in steps}) == size


def play(make_searcher: MakeSearcher, domain: Any, objective: Objective, schedule: Schedule) -> list[Step]:
    """A study in memory; at every step the laws of one suggestion are checked."""
    searcher = make_searcher(domain)
    state = searcher.initial_state()
    order = np.random.default_rng([schedule.seed, 1, 1])
    completed, values, running, failed = [], [], [], []
    steps: list[Step] = []
    for number in range(schedule.n_trials):
        if schedule.reload:
            searcher, state = make_searcher(domain), json.loads(json.dumps(state))
            completed, running, failed = (reread(domain, xs) for xs in (completed, running, failed))
        history = read_only(History.of(domain, completed, values, running, failed))
        x, state, origin = suggest_lawfully(searcher, history, state, [schedule.seed, 1, 0, number + 1])
        steps.append(Step(domain.key(x), json.dumps(state), origin))
        running.append(x)
        while len(running) >= schedule.parallel:
            told = running.pop(int(order.integers(len(running))))
            if schedule.fail_every and number % schedule.fail_every == schedule.fail_every - 1:
                failed.append(told)
            else:
                completed.append(told)
                values.append(float(objective(domain.present(told))))
    return steps


def suggest_lawfully(searcher: Searcher, history: History, state: Any, seed: list[int]) -> tuple[Any, Any, str]:
    """One suggestion: valid, unseen, by the generator given alone; says how it was chosen; touches no argument."""
    before = json.dumps(state, allow_nan=False)
    with no_global_randomness():
        x, new_state, info = searcher.suggest(history, state, np.random.default_rng(seed))
    assert json.dumps(state) == before, "suggest changed the state that it was given"
    domain = searcher.domain
    domain.check(x)
    assert domain.key(x) not in history.seen, "suggest repeated a seen point"
    assert json.loads(json.dumps(new_state, allow_nan=False)) == new_state, "the state does not survive JSON"
    assert json.loads(json.dumps(info, allow_nan=False)) == info, "the info does not survive JSON"
    assert info.get("origin") in ORIGINS
    assert info["origin"] != "fallback" or info.get("why"), "a fallback must say why"
    return x, new_state, info["origin"]


def reread(domain: Any, points: list[Any]) -> list[Any]:
    return [domain.decode(json.loads(json.dumps(domain.encode(x)))) for x in points]


def read_only(history: History) -> History:
    for part in (history.completed, history.values, history.running, history.failed):
        if isinstance(part, np.ndarray):
            part.flags.writeable = False
    return history


@contextlib.contextmanager
def no_global_randomness() -> Iterator[None]:
    """Within, any use of the global generators of `random` and `numpy.random` fails, and of torch's is noticed."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("global random state was used; draw from the generator given")

    seeded = np.random.default_rng

    def refuse_unseeded(seed: Any = None) -> np.random.Generator:
        return refuse() if seed is None else seeded(seed)  # type: ignore[return-value]

    torch = sys.modules.get("torch")
    torch_state = torch.get_rng_state() if torch else None
    with pytest.MonkeyPatch.context() as patch:
        for name in np.random.__all__:
            if name not in NOT_DRAWS and not isinstance(getattr(np.random, name), type):
                patch.setattr(np.random, name, refuse)
        patch.setattr(np.random, "default_rng", refuse_unseeded)
        for name in random.__all__:
            if not isinstance(getattr(random, name), type):
                patch.setattr(random, name, refuse)
        yield
    if torch is not None:
        assert torch.equal(torch.get_rng_state(), torch_state), "torch's global random state was used"
