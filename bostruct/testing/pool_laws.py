"""The laws of a pool, which evaluates objectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bostruct.checks import check_part
from bostruct.contracts import Infeasible
from bostruct.execution.pools import Pool
from bostruct.outcome import Outcome

MakePool = Callable[[Callable[[Any], Any]], Pool]

EXPECTED: dict[int, Outcome] = {
    3: Outcome(failed="ValueError: three"),
    5: Outcome(infeasible="five"),
    8: Outcome(failed="objective returned nan"),
}


def objective(point: dict[str, int]) -> float:
    """Return twice the number of a point; fail at 3, be infeasible at 5, return NaN at 8, and modify the point."""
    x = point.pop("x")
    if x == 3:
        raise ValueError("three")
    if x == 5:
        raise Infeasible("five")
    return float("nan") if x == 8 else 2.0 * x


def check_slots(pool: Pool, n_trials: int) -> None:
    """Check that a new pool has a free slot, and returns no trial that was not submitted."""
    del n_trials
    assert pool.slots >= 1, "a new pool has a free slot"
    assert list(pool.poll()) == [], "poll returns no trial that was not submitted"


def check_cancel(pool: Pool, n_trials: int) -> None:
    """Check that a canceled trial is not returned and frees its slot."""
    numbers = list(range(1000, 1000 + min(pool.slots, n_trials)))
    for number in numbers:
        pool.submit(number, {"x": 1})
    pool.cancel(numbers[0])
    pool.submit(2000, {"x": 1})  # in its slot
    expected, found = [*numbers[1:], 2000], list[int]()
    while len(found) < len(expected):
        found += [number for number, _ in pool.wait()]
    assert sorted(found) == expected, "a canceled trial is not returned, all others are"


def check_each_once(pool: Pool, n_trials: int) -> None:
    """Check that each trial is returned once, by number, with the outcome of its own point.

    n_trials: number of trials, at least 9.
    """
    waiting, running, found = list(range(n_trials)), set[int](), dict[int, Outcome]()
    while waiting or running:
        while waiting and len(running) < pool.slots:
            number = waiting.pop(0)
            pool.submit(100 + number, {"x": number})
            running.add(100 + number)
        finished = pool.poll()
        if not finished:
            finished = pool.wait()
            assert finished, "wait returns once a trial has finished, and not before"
        numbers = [number for number, _ in finished]
        assert numbers == sorted(set(numbers)), "trials are returned by number, each once"
        assert running.issuperset(numbers), "a trial is returned once, and only if it was submitted"
        running.difference_update(numbers)
        found |= {number - 100: evaluation.outcome for number, evaluation in finished}
        for number, evaluation in finished:
            is_error = number - 100 == 3
            assert (evaluation.error is not None) == is_error, "a trial has the exception of its objective"
    expected = {number: EXPECTED.get(number, Outcome((2.0 * number,))) for number in range(n_trials)}
    assert found == expected, "each trial has the outcome of its own point"


def check_close(pool: Pool, n_trials: int) -> None:
    """Check that a pool can be closed with a trial in flight, and closed again."""
    del n_trials
    pool.submit(3000, {"x": 1})
    pool.close()
    pool.close()


LAWS: tuple[tuple[str, Callable[[Pool, int], None]], ...] = (
    ("slots poll", check_slots),
    ("submit poll wait", check_each_once),
    ("submit cancel wait", check_cancel),
    ("submit close", check_close),
)  # the members that a law tests, and the law


def check_pool(make: MakePool, n_trials: int = 12) -> None:
    """Check every law of a pool.

    Parameters
    ----------
    make : MakePool
        Function of an objective that returns a new pool.
    n_trials : int, default 12
        Number of trials, at least 9.

    Raises
    ------
    AssertionError
        If a law is violated; the message states the law.
    """
    pool = check_part("pool", make(objective), Pool)
    try:
        for _, law in LAWS:
            law(pool, n_trials)
    finally:
        pool.close()
