"""A study for concurrent clients: a queue of suggestions, leases of trials, and idempotent requests."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from bostruct.contracts import BostructError, ParsedJson, PointError, SpaceExhausted
from bostruct.serving.messages import Facts, Refusal, point_from_json, trial_to_json
from bostruct.storage.protocol import StorageError

if TYPE_CHECKING:
    from bostruct.study.history import Trial
    from bostruct.study.study import Study

MOST_KEPT = 10_000
MOST_BYTES = 32 * 1024 * 1024
UNREAD = (StorageError, Refusal)  # reraised unchanged


class ServedStudy:
    """The requests of one study, each a method that returns the fields of its answer.

    All methods raise Refusal, and StorageError if the study's file is lost or cannot be written.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.keys = Keys()
        self._queue = SuggestionQueue()
        self._changing = threading.Lock()  # trials and their leases change together
        self._leases = Leases()
        self._finished: str | None = None

    def describe(self) -> Facts:
        """Return the space, the goals and the state of the study."""
        study = self.study
        return {
            "study": study.name,
            "space": study.domain.to_json(),
            **study.goals.to_json(),
            "seed": study.seed,
            "trials": len(study.trials),
            "finished_trials": study.n_finished,
            "leased_trials": len(self._leases),
            "finished": self._finished,
        }

    def ask(self, n: int, lease: float | None) -> Facts:
        """Suggest trials one by one; outcomes may be recorded in between.

        n: number of trials, from 1; fewer are returned if the space is exhausted.
        lease: seconds after which an unfinished trial is requeued unless it is renewed; None for never.
        """
        trials: list[Trial] = []
        try:
            while len(trials) < n:
                with self._queue.suggest():
                    trials.append(self._ask_one())
        except SpaceExhausted as error:
            if not trials:
                raise Refusal("space_exhausted", str(error), leased_trials=len(self._leases)) from error
        except BaseException as error:
            self._give_back(trials)
            if isinstance(error, UNREAD) or not isinstance(error, BostructError | ArithmeticError | ValueError):
                raise
            raise Refusal("suggestion_failed", str(error)) from error
        for trial in trials:
            self._leases.grant(trial.number, lease)
        return {"trials": [trial_to_json(self.study.domain, trial) | {"lease": lease} for trial in trials]}

    def _ask_one(self) -> Trial:
        if self._finished is not None:
            raise Refusal("study_finished", f"the study was finished: {self._finished}")
        with self._changing:
            if expired := self._leases.find_expired():
                held, trials = self.study.in_flight, self.study.trials
                self.study.give_back([replace(trials[i], started=held[i]) for i in expired if i in held])
            for number in expired:
                self._leases.end(number)  # afterward: if the file cannot be written, they are released later
        return self.study.ask()

    def release(self, answer: Facts) -> None:
        """Release the trials of an answer to `ask` that no client received."""
        trials = self.study.trials
        self._give_back([replace(trials[one["number"]], started=one["started"]) for one in answer["trials"]])

    def _give_back(self, trials: Sequence[Trial]) -> None:
        with suppress(Refusal), self._queue.hurry(), self._changing:
            held = self.study.in_flight
            ours = [trial for trial in trials if held.get(trial.number) == trial.started]  # other clients run the rest
            for trial in ours:
                self._leases.end(trial.number)
            with suppress(BostructError):  # the file is lost
                self.study.give_back(ours)

    def tell(self, trial: int, started: float | None, outcome: Mapping[str, Any]) -> Facts:
        """Record the outcome of a trial, even if its lease has expired.

        started: start time from the answer to `ask`, which identifies the attempt, so that the value is kept even if
            another client has completed the trial; None for any attempt.
        """
        with self._queue.hurry(), self._changing:
            held = trial if started is None else replace(self._find(trial), started=started)
            completed = self._change(trial, lambda: self.study.tell(held, **outcome), "running")
            self._leases.end(trial)
        return {"trial": trial_to_json(self.study.domain, completed)}

    def add(self, point: ParsedJson, outcome: Mapping[str, Any]) -> Facts:
        """Record a trial that was not suggested."""
        with self._queue.hurry(), self._changing:
            given = point_from_json(self.study.domain, point)
            try:
                added = self.study.add(given, **outcome)
            except (PointError, TypeError, ValueError) as error:
                raise Refusal("bad_value", str(error)) from error
        return {"trial": trial_to_json(self.study.domain, added)}

    def requeue(self, trial: int) -> Facts:
        """Requeue a running or failed trial."""
        with self._queue.hurry(), self._changing:
            self._change(trial, lambda: self.study.requeue(trial), "running or failed")
            self._leases.end(trial)
            return {"trial": trial_to_json(self.study.domain, self.study.trials[trial])}

    def renew(self, trial: int, started: float | None, lease: float | None) -> Facts:
        """Renew the lease of a trial.

        started: start time from the answer to `ask`; None for any attempt.
        lease: seconds from now; None for the previous duration.
        """
        try:
            if started is not None and started != self.study.in_flight.get(trial):  # another client runs it now
                raise LookupError(trial)
            return {"trial": {"number": trial, "lease": self._leases.renew(trial, lease)}}
        except LookupError:
            if (known := self._find(trial)).status != "running":
                shown = trial_to_json(self.study.domain, known)
                message = f"trial: number {trial} is {known.status} already"
                raise Refusal("trial_finished", message, trial=shown) from None
            raise Refusal(
                "lease_lost", f"trial: the lease of number {trial} has expired; you can still report its value"
            ) from None

    def find_best(self) -> Facts:
        """Return the best feasible trial, or the Pareto front of several objectives; no trial if none is feasible."""
        found: Sequence[Trial] = ()
        if self.study.goals.n_objectives == 1:
            best = self.study.incumbent
            found = () if best is None else (best,)
        else:
            with (
                self._queue.hurry(),
                self._changing,
                suppress(BostructError),
            ):  # if no trial satisfies all constraints
                found = self.study.result.pareto_front
        return {"trials": [trial_to_json(self.study.domain, one) for one in found]}

    def recommend(self) -> Facts:
        """Return the completed trial with the best posterior mean, and its 95% interval."""
        if self.study.goals.n_objectives > 1:
            raise Refusal("several_objectives", "recommended: expected one objective; `best` returns the Pareto front")
        with self._queue.suggest():
            try:
                found = self.study.result.recommended
            except BostructError as error:  # no completed trial satisfies all constraints
                raise Refusal("nothing_completed", str(error)) from error
        shown = found._asdict()
        return shown | {"trial": trial_to_json(self.study.domain, found.trial)}

    def list_trials(self, first: int, limit: int) -> Facts:
        """Return trials by number, and the number of the next trial; None at the end.

        first: number of the first trial, from 0.
        limit: maximum number of trials.
        """
        trials = self.study.trials
        page = trials[first : first + limit]
        after = first + len(page) if first + len(page) < len(trials) else None
        return {"trials": [trial_to_json(self.study.domain, one) for one in page], "next": after}

    def finish(self, reason: str) -> Facts:
        """Suggest no more trials; outcomes of running trials are still accepted."""
        self._finished = self._finished or reason
        return self.describe()

    def close(self, seconds: float) -> None:
        """Close the queue of suggestions and the study, which releases the trials in flight.

        seconds: maximum time to wait for requests in progress.
        """
        self._queue.end(seconds)
        self.study.close()

    def _find(self, number: int) -> Trial:
        trials = self.study.trials
        if number >= len(trials):
            held = f"0 to {len(trials) - 1}" if trials else "none so far"
            raise Refusal("unknown_trial", f"trial: expected one of the study's, {held}; got number {number}")
        return trials[number]

    def _change(self, number: int, change: Callable[[], Any], expected: str) -> Any:
        """Change a trial; if the study rejects that, raise Refusal, with the trial if it has finished."""
        try:
            return change()
        except (TypeError, ValueError) as error:
            if (known := self._find(number)).status not in expected:
                raise Refusal("trial_finished", str(error), trial=trial_to_json(self.study.domain, known)) from error
            raise Refusal("bad_value", str(error)) from error


class _Entry(NamedTuple):
    request: str
    answer: Future[bytes]


class Keys:
    """The answers to the last requests with a key.

    most: maximum number of answers, at least 1; requests in progress are kept in addition.
    """

    def __init__(self, most: int = MOST_KEPT, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._n_bytes = 0  # of all answers

    def run_once(self, key: str, request: str, run: Callable[[], bytes]) -> bytes:
        """Return the answer to a request: run it, wait for it if it is in progress, or return the kept answer.

        Raises Refusal if another request had this key.
        """
        digest = sha256(request.encode("utf-8", "surrogatepass")).hexdigest()  # a request may be long
        with self._lock:
            mine = _Entry(digest, Future())
            known = self._entries.setdefault(key, mine)
        if known.request != digest:
            raise Refusal("key_reused", f"key: expected a new key for another request, got {key!r} again")
        if known is not mine:
            return known.answer.result()
        try:
            answer = run()
        except BaseException as error:
            with self._lock:
                del self._entries[key]
            mine.answer.set_exception(error)
            raise
        mine.answer.set_result(answer)
        with self._lock:
            self._n_bytes += len(answer)
            self._drop_oldest(key)
        return answer

    def _drop_oldest(self, kept: str) -> None:
        while len(self._entries) > self._most or self._n_bytes > self._most_bytes:
            done = (key for key, entry in self._entries.items() if entry.answer.done() and key != kept)
            if (oldest := next(done, None)) is None:
                return
            self._n_bytes -= len(self._entries.pop(oldest).answer.result())


class Leases:
    """The trials that clients run, by number, with the end of each lease.

    clock: returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[int, tuple[float | None, float]] = {}  # duration of each lease in seconds, and its end

    def __len__(self) -> int:
        """Return the number of leased trials."""
        return len(self._held)

    def grant(self, number: int, seconds: float | None) -> None:
        """Start a lease of a trial.

        seconds: duration; None for the lifetime of the server.
        """
        with self._lock:
            self._grant(number, seconds)

    def renew(self, number: int, seconds: float | None) -> float | None:
        """Restart the lease of a trial, and return its duration in seconds; None for no end.

        seconds: duration from now; None for the previous duration.

        Raises LookupError if the trial has no lease.
        """
        with self._lock:
            before, _ = self._held[number]
            seconds = before if seconds is None else seconds
            self._grant(number, seconds)
        return seconds

    def _grant(self, number: int, seconds: float | None) -> None:
        self._held[number] = seconds, self._clock() + (math.inf if seconds is None else seconds)

    def end(self, number: int) -> None:
        """End the lease of a trial that was completed or released."""
        with self._lock:
            self._held.pop(number, None)

    def find_expired(self) -> list[int]:
        """Return the numbers of the trials with expired leases, ascending."""
        with self._lock:
            now = self._clock()
            return sorted(number for number, (_, end) in self._held.items() if end <= now)


class SuggestionQueue:
    """The order of access to a study: quick requests wait for at most one suggestion.

    With only the study's own lock, the next suggestion of a batch could overtake a quick request that waits.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._is_suggesting = False
        self._n_quick = 0  # quick requests that wait for the study, or use it
        self._is_closed = False

    @contextmanager
    def hurry(self) -> Iterator[None]:
        """Start no suggestion until the block has ended; raise Refusal once the queue is closed."""
        with self._condition:
            self._check_open()
            self._n_quick += 1
        try:
            yield
        finally:
            with self._condition:
                self._n_quick -= 1
                self._condition.notify_all()

    @contextmanager
    def suggest(self) -> Iterator[None]:
        """Wait for other suggestions and quick requests, and start no other suggestion until the block has ended.

        Raises Refusal once the queue is closed.
        """
        with self._condition:
            self._condition.wait_for(lambda: self._is_closed or not (self._is_suggesting or self._n_quick))
            self._check_open()
            self._is_suggesting = True
        try:
            yield
        finally:
            with self._condition:
                self._is_suggesting = False
                self._condition.notify_all()

    def end(self, seconds: float) -> bool:
        """Close the queue, and return whether all requests in progress ended in time.

        seconds: maximum waiting time.
        """
        deadline = monotonic() + seconds
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
            return self._condition.wait_for(
                lambda: not (self._is_suggesting or self._n_quick), max(deadline - monotonic(), 0.0)
            )

    def _check_open(self) -> None:
        if self._is_closed:
            raise Refusal("stopping", "the server is stopping; running trials will be requeued")
