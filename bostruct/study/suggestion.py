"""The next point of a study: an initial point of the user, or a validated suggestion of the searcher."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from itertools import islice
from time import perf_counter

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import (
    PARENT_POSITION,
    BostructError,
    Domain,
    HistoryView,
    Info,
    PointError,
    Searcher,
    SpaceExhausted,
    Suggestion,
)
from bostruct.domains.space.call_limit import limit_calls
from bostruct.methods.time_limit import limit_halvings, suggest_within
from bostruct.storage.json_text import MALFORMED, dump, parse
from bostruct.storage.protocol import StorageError
from bostruct.study.history import Trial
from bostruct.study.ledger import Ledger, NextPoint

log = logging.getLogger(__name__)
MANY_FALLBACKS = 10  # minimum number of fallbacks, if they are more than half of the model's suggestions
PATIENCE = 20  # latest suggestions from as many values; if all of them are in time, more values are tried
TOO_LATE = 2  # late suggestions among these; a single one may be late for another reason, such as a compilation


def next_points(
    searcher: Searcher, ledger: Ledger, seed: int, who: str, lock: AbstractContextManager[object]
) -> Iterator[NextPoint]:
    """Yield the next points to ask; they share the fit of the first point, and no other trial may start in between.

    Raises SpaceExhausted if no first point is left, and BostructError if a part violates its contract.
    """
    began = perf_counter()
    with lock:
        unasked = ledger.next_initial()
        history, state, number = ledger.history(), ledger.state, len(ledger)
        n_halvings = choose_halvings(ledger.iterate_back(), ledger.goals.suggest_seconds, len(history.values))
    if unasked is not None:
        yield NextPoint(unasked, {"origin": "given", "suggest_seconds": perf_counter() - began}, state)
        return
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    suggestions: Iterator[Suggestion] | None = None
    while True:
        try:
            with limit_calls():
                suggestions = suggestions or suggest_within(searcher, history, parse(state), rng, n_halvings)
                suggestion = next(suggestions)
        except StopIteration:
            return
        except BostructError:
            raise
        except MALFORMED as error:
            if not ledger.is_resumed:
                raise
            raise StorageError(
                f"{ledger.label}: study {ledger.name!r}: {who} cannot continue from the stored state: {error!r}"
            ) from error
        may_repeat = _validate_suggestion(suggestion, searcher, history, who)
        info = {**suggestion.info, "suggest_seconds": perf_counter() - began}
        if (position := info.pop(PARENT_POSITION, None)) is not None:
            with lock:
                info["parent"] = ledger.completed_number(position)
        if info.get("origin") == "fallback":
            log.warning("trial %d: %s fell back to a random point: %s", number, who, info.get("why"))
        else:
            log.info("trial %d: %s, %s, in %.3f s", number, who, info.get("origin"), info["suggest_seconds"])
        yield _through_json(suggestion, info, may_repeat, who)
        began = perf_counter()
        number += 1


class JointPoints:
    """The next points of a study, from one fit until another process starts a trial, then from a new fit."""

    def __init__(
        self, searcher: Searcher, ledger: Ledger, seed: int, who: str, lock: AbstractContextManager[object]
    ) -> None:
        self._ledger = ledger
        self._arguments = searcher, ledger, seed, who, lock
        self._points: Iterator[NextPoint] = iter(())
        self._n_trials = 0  # after the last point is recorded

    def find_next(self) -> NextPoint:
        """Return the next point, for which the caller starts a trial; raises the errors of `next_points`."""
        is_alone = len(self._ledger) == self._n_trials
        found = next(self._points, None) if is_alone else None
        if found is None:
            self._points = next_points(*self._arguments)
            found = next(self._points)
        self._n_trials = len(self._ledger) + 1
        return found


def choose_halvings(newest_first: Iterable[Trial], seconds: float | None, n_values: int) -> int:
    """Return how often to halve the values for the next suggestion; see `methods.time_limit.suggest_within`.

    It increases by one if two of the last 20 suggestions with this number took too long, and decreases by one after 20
    in a row that did not.

    seconds: time limit of a suggestion; None for no limit.
    """
    if seconds is None:
        return 0
    last = list(islice(_read_last(newest_first), PATIENCE))
    n_halvings = last[0][0] if last else 0
    late = sum(taken > seconds for _, taken in last)
    if late >= TOO_LATE:
        n_halvings += 1
    elif late == 0 and len(last) == PATIENCE:
        n_halvings -= 1
    return limit_halvings(max(n_halvings, 0), n_values)


def _read_last(newest_first: Iterable[Trial]) -> Iterator[tuple[int, float]]:
    """Yield halvings and seconds of a searcher's latest suggestions, latest first, until the halvings differ."""
    n_halvings = None
    for trial in newest_first:
        taken = trial.info.get("suggest_seconds")
        if taken is None or trial.origin in ("given", "initial") or "joint" in trial.info:
            continue
        known = int(trial.info.get("haste", 0))
        if n_halvings is not None and known != n_halvings:
            return
        n_halvings = known
        yield known, taken


class FallbackWarning(UserWarning):
    """Warns that most suggestions of a study are random points, because its model fails."""


class FallbackWatch:
    """A count of the model's suggestions, which warns once if the model fails for most of them.

    A fallback because all sampled points were seen, as near the end of a small space, does not count.
    """

    def __init__(self) -> None:
        self._n_asked = 0
        self._n_fallbacks = 0
        self._has_warned = False

    def note(self, who: str, info: Info) -> None:
        """Count a suggestion; issue a `FallbackWarning` if the model failed ten times or more, and in most cases."""
        self._n_asked += info.get("origin") in ("model", "fallback")
        self._n_fallbacks += info.get("model") == "failed"
        if self._has_warned or self._n_fallbacks < max(MANY_FALLBACKS, self._n_asked / 2):
            return
        self._has_warned = True
        warnings.warn(
            f"{who}: {self._n_fallbacks} of {self._n_asked} suggestions fell back to random points, the last because: "
            f"{info.get('why')}; until this is fixed, the search is random",
            FallbackWarning,
            stacklevel=3,
        )


def _through_json(suggestion: Suggestion, info: Info, may_repeat: bool, who: str) -> NextPoint:
    """Return a point whose info passed through JSON, so that resumed studies have the same data."""
    try:
        return NextPoint(suggestion.point, parse(dump(info)), dump(suggestion.state), may_repeat)
    except TypeError as error:
        raise BostructError(f"{who}: state and info must be plain JSON: {error}") from error


def _validate_suggestion(suggestion: object, searcher: Searcher, history: HistoryView, who: str) -> bool:
    """Raise BostructError unless a suggestion is valid and new; return whether it repeats a point."""
    if not isinstance(suggestion, Suggestion):
        raise BostructError(
            f"{who}: suggest returns a bostruct.contracts.Suggestion(point, state, info), got {short_repr(suggestion)}"
        )
    domain = searcher.domain
    try:
        domain.check(suggestion.point)
    except PointError as error:
        raise BostructError(f"{who} suggested an invalid point: {error}") from error
    may_repeat = searcher.repeats and suggestion.info.get("origin") == "repeat"
    if domain.key(suggestion.point) in history.seen and not may_repeat:
        point = short_repr(domain.present(suggestion.point), 200)
        cause = ""
        if _repeats_points(domain, history.seen):
            cause = f", because {type(domain).__name__}.sample_unseen returns points whose keys are in `seen`"
        raise BostructError(f"{who} suggested a point that was seen before: {point}{cause}")
    return may_repeat


def _repeats_points(domain: Domain, seen: AbstractSet[Hashable]) -> bool:
    """Return whether a domain returns seen points as unseen ones, at once or at the second draw."""
    try:
        for _ in range(2):
            key = domain.key(domain.sample_unseen(frozenset(seen), np.random.default_rng(0)))
            if key in seen:
                return True
            seen = {*seen, key}
    except SpaceExhausted:
        return False
    return False
