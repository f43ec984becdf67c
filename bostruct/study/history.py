"""Trials, and the history that a searcher receives: points and measurements, extended by one trial at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from bostruct.contracts import BRANCH_REASON, Array, Batch, Domain, HistoryView, Info, Point, Presented
from bostruct.display import html_table
from bostruct.execution.interrupts import defer_signals, make_lock
from bostruct.goals.declared import Goals
from bostruct.goals.pareto import LARGEST, constrained_rank
from bostruct.outcome import Outcome

TrialStatus = Literal["running", "completed", "failed", "infeasible"]
CANCELED = "canceled"  # in the info of a canceled trial
MACHINE = "machine_failure"  # of a trial requeued after a machine failure: cause, and number of completed trials
NO_DATA = "no_data"  # of a trial that failed again because of the machine: the cause
ATTRIBUTES = "attributes"  # in the info of a trial: the user's data
CHUNK_SIZE = 1_000  # maximum points of trials that are decoded or joined together
DOUBLE = "double"  # origin of a second outcome of a requeued trial


@dataclass(frozen=True)
class Trial:
    """One evaluation of a study: a point, its status and its outcome.

    Attributes
    ----------
    number : int
        The position in the study, from 0.
    point : Presented
        The point, as the objective receives it.
    status : {"running", "completed", "failed", "infeasible"}
        The status.
    value : float or None
        The value that the objective returned. None unless completed, and for several objectives.
    reason : str or None
        Why the trial failed or is infeasible.
    info : dict
        How the point was chosen (`origin`), and the cost of its suggestion.
    started, finished : float or None
        Seconds since the epoch.
    unread : str or None
        Why the point is invalid in the study's changed space. The point is then shown in its stored form.
    values : tuple of float
        One value for each objective. Empty unless completed.
    constraints : mapping of str to float
        The measured quantities of the constraints, by name.
    broken : tuple of str
        The names of the violated constraints.
    sd : float or None
        Known standard deviation of the noise in the value.
    repeats : tuple of float
        Repeated measurements whose mean is the value.
    """

    number: int
    point: Presented
    status: TrialStatus
    value: float | None = None
    reason: str | None = None
    info: Info = field(default_factory=dict)
    started: float = 0.0
    finished: float | None = None
    unread: str | None = None
    values: tuple[float, ...] = ()
    constraints: Mapping[str, float] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    sd: float | None = None
    repeats: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.value is not None and not self.values:
            object.__setattr__(self, "values", (self.value,))

    @classmethod
    def shown_later(cls, show: Callable[[Any, Info], Presented], kept: object, **fields: object) -> Trial:
        """Create a trial whose point is created on first access, because most points of a large study are never read.

        Parameters
        ----------
        show : callable
            Function of `kept` and the trial's info that returns the point; trials share it to save memory.
        kept : object
            The point in a smaller form.
        fields : object
            The other fields; empty fields keep their defaults.
        """
        trial, put = cls.__new__(cls), object.__setattr__
        put(trial, "_show", show)
        put(trial, "_kept", kept)
        for name, part in fields.items():  # one by one, these take the least memory
            if part or part == 0:
                put(trial, name, part)
        trial.__post_init__()
        return trial

    def __getattr__(self, name: str) -> Presented:
        """Create the point, or an empty `info` or `constraints`, on first access."""
        fields = self.__dict__
        if name in ("info", "constraints"):
            return fields.setdefault(name, {})
        if name == "point" and (show := fields.get("_show")) is not None:
            fields.setdefault("point", show(self._kept, self.info))  # another thread may have created it
            fields.pop("_show", None)  # not earlier, because `show` may be interrupted
        if name not in fields:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return fields[name]

    def __getstate__(self) -> dict[str, object]:
        return {"point": self.point} | {name: part for name, part in self.__dict__.copy().items() if name[0] != "_"}

    @property
    def is_feasible(self) -> bool:
        """True if the trial has completed and satisfies all constraints."""
        return self.status == "completed" and not self.broken

    @property
    def origin(self) -> str:
        """How the point was chosen.

        ``given``: an initial point of the user, or a row of `Study.add_frame` without an outcome. ``initial``: an
        initial point of the method (files of version 0.1.0: also of the user). ``model``, ``random``, ``fallback`` (a
        random point because the model had none), ``repeat`` (an observed point again): later points of the method.
        ``added``: added with its value. ``double``: the second outcome of trial ``info["double_of"]``.
        """
        return read_origin(self.info)

    @property
    def choice(self) -> str:
        """A description of the origin, such as ``exploring a branch`` for a random point of a rare branch."""
        is_exploring = self.origin == "random" and str(self.info.get("why", "")).endswith(BRANCH_REASON)
        return "exploring a branch" if is_exploring else self.origin

    @property
    def is_extra(self) -> bool:
        """True if `n_trials` does not count the trial, because it was added or is a duplicate."""
        return is_extra(self.info)

    @property
    def is_canceled(self) -> bool:
        """True if `Study.cancel` canceled the trial: its status is failed, and the method ignores it."""
        return CANCELED in self.info

    @property
    def seconds(self) -> float | None:
        """The seconds from `started` to `finished`, at least 0; None while the trial runs."""
        return None if self.finished is None else max(self.finished - self.started, 0.0)

    @property
    def is_no_data(self) -> bool:
        """True if the failure is unrelated to the point, because the trial was canceled or its machine failed."""
        return self.is_canceled or NO_DATA in self.info

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The user's data of the trial, JSON by name, set by `bostruct.set_attribute` or `Study.tell`."""
        return self.info.get(ATTRIBUTES, {})

    @property
    def stopped_at(self) -> int | None:
        """The step at which a stopping rule ended the trial; None if none did."""
        return self.info.get("stopped_at")

    def _repr_html_(self) -> str:
        seconds = None if self.seconds is None else f"{self.seconds:.2f}"
        values = None if self.value is not None or not self.values else self.values
        rows = {"status": self.status, "value": self.value, "values": values, "reason": self.reason}
        rows |= {"point": self.point, "constraints": dict(self.constraints) or None}
        rows |= {"breaks": ", ".join(self.broken) or None, "sd": self.sd, "repeats": self.repeats or None}
        rows |= {"attributes": dict(self.attributes) or None, "stopped at step": self.stopped_at}
        rows |= {"ignored because": self.unread, "chosen by": self.origin, "seconds": seconds}
        return html_table([(k, v) for k, v in rows.items() if v is not None], caption=f"Trial {self.number}")


def read_origin(info: Info) -> str:
    """Return how the point of a trial was chosen, as in `Trial.origin`."""
    return DOUBLE if "double_of" in info else info.get("origin", "unknown")


def is_extra(info: Info) -> bool:
    """Return whether `n_trials` does not count a trial, because it was added or is a duplicate."""
    return read_origin(info) in ("added", DOUBLE)


def show_points(trials: Sequence[Trial]) -> Iterator[Presented]:
    """Yield the points of trials without caching them, since many points need much memory."""
    for start in range(0, len(trials), CHUNK_SIZE):
        some = trials[start : start + CHUNK_SIZE]
        shows = [getattr(trial, "_show", None) for trial in some]
        if len(set(shows)) == 1 and (show_all := getattr(shows[0], "show_all", None)) is not None:
            yield from show_all([trial._kept for trial in some], [trial.info for trial in some])
        else:
            yield from (t.point if show is None else show(t._kept, t.info) for t, show in zip(some, shows, strict=True))


def tell_stop(trial: Trial) -> str:
    """Describe at which step a stopping rule ended the trial; "" if none did."""
    return "" if trial.stopped_at is None else f", which was stopped at step {trial.stopped_at}"


def count_reasons(trials: Sequence[Trial]) -> Counter[str]:
    """Count the reasons why trials have no value, each by its first line."""
    return Counter(first_line(trial.reason) for trial in trials if trial.reason)


def first_line(text: str) -> str:
    """Return the first nonempty line of a text; an empty text if all lines are empty."""
    return (text.strip().splitlines() or [""])[0]


def describe_failures(trials: Sequence[Trial]) -> str:
    """Return the most frequent reasons of failed trials in one line, each with its count; "" if none failed."""
    counts = count_reasons([trial for trial in trials if trial.status == "failed"])
    shown = [f"{reason if len(reason) <= 100 else reason[:99] + '…'} ({n:,})" for reason, n in counts.most_common(3)]
    return "; ".join([*shown, *(["..."] if len(counts) > 3 else [])])


@dataclass(frozen=True, eq=False)
class History(HistoryView):
    """The history of a study, or one constructed manually.

    completed: may be a function that is called on first access, because some methods read no points.
    objectives: None to use the values.
    violations: None without constraints.
    """

    objectives: Array = field(default=cast(Array, None))
    violations: Array = field(default=cast(Array, None))
    variances: Array | None = None

    def __post_init__(self) -> None:
        if self.objectives is None:
            object.__setattr__(self, "objectives", np.asarray(self.values)[:, None])
        if self.violations is None:
            object.__setattr__(self, "violations", np.empty((len(self.values), 0)))
        if callable(self.completed):
            self.__dict__["_read"] = self.__dict__.pop("completed")

    @classmethod
    def of(
        cls, domain: Domain, completed: Batch, values: Sequence[float] | Array, running: Batch = (), failed: Batch = ()
    ) -> History:
        """Make a history from batches of points; all of them count as seen.

        values: values of the completed points, minimized.
        """
        batches = [domain.join(completed), domain.join(running), domain.join(failed)]
        seen = frozenset(key for batch in batches for key in domain.keys(batch))
        return cls(batches[0], np.asarray(values, dtype=np.float64), batches[1], batches[2], seen)

    def __getattr__(self, name: str) -> Batch:
        """Read the completed points on first access."""
        if name != "completed" or "_read" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.__dict__.setdefault(name, self.__dict__["_read"]())  # another thread may have read them

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def best(self) -> int:
        """The index of the smallest value, the first of equal values."""
        return int(np.argmin(self.values))


LEAST_FREEDOM = 5  # minimum degrees of freedom of estimated noise; the error of its sd is about a third
ROUNDING = 1e-24  # largest variance of equal repeats by rounding errors, relative to the squared values


class Measured(NamedTuple):
    """Measurements at n completed points; smaller is better.

    values: values of the only objective, or a constrained rank that orders the points (n,).
    objectives: (n, k).
    violations: violation of each constraint (n, c), at most 0 if it is satisfied.
    variances: variances of the noise of the values (n,), NaN if unknown; None if all are unknown.
    """

    values: Array
    objectives: Array
    violations: Array
    variances: Array | None


class Measurements:
    """The measurements of a study in the order observed, extended by one outcome at a time."""

    def __init__(self, goals: Goals, outcomes: Iterable[Outcome] = ()) -> None:
        self._goals = goals
        self._outcomes = list(outcomes)  # not yet in the arrays
        widths = (goals.n_objectives, len(goals.limits), 4)  # objectives, violations, and noise as in `_describe_noise`
        self._parts = [ArrayBuffer(np.empty((0, width))) for width in widths]
        self._has_noise = False

    def append(self, outcome: Outcome) -> None:
        """Append the outcome of a completed trial."""
        self._outcomes.append(outcome)

    @defer_signals  # an interrupt would leave values twice
    def read(self) -> Measured:
        """Return all measurements so far."""
        while fresh := self._outcomes[:CHUNK_SIZE]:  # all rows at once would start a full garbage collection
            goals = self._goals
            rows = [(goals.orient(one.values), goals.violations(one), _describe_noise(one)) for one in fresh]
            for part, column in zip(self._parts, zip(*rows, strict=True), strict=True):
                part.extend([column], len(fresh))
            self._has_noise |= any(one.sd is not None or len(one.repeats) > 1 for one in fresh)
            del self._outcomes[: len(fresh)]
        objectives, violations, noise = (part.read() for part in self._parts)
        values = objectives[:, 0] if self._goals.is_single else constrained_rank(objectives, violations)
        return Measured(values, objectives, violations, _find_variances(noise) if self._has_noise else None)


def measure(goals: Goals, outcomes: Sequence[Outcome]) -> Measured:
    """Return the measurements of outcomes."""
    return Measurements(goals, outcomes).read()


def _describe_noise(outcome: Outcome) -> tuple[float, float, float, float]:
    """Return the known variance or NaN, and the number, sum of squared deviations and largest square of repeats."""
    known = np.nan if outcome.sd is None else min(outcome.sd * outcome.sd, LARGEST)  # an old file may contain any sd
    if not outcome.repeats:
        return known, 1.0, 0.0, 0.0
    repeats = np.array(outcome.repeats)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(np.square(repeats - repeats.mean()).sum())
        return known, len(repeats), squares, float(np.max(np.square(repeats)))


def _find_variances(noise: Array) -> Array | None:
    """Return the variance of each value: as given, or the pooled variance over the number of repeats; None if unknown.

    A single value counts as one repeat; otherwise, a model that fits its noise would not know the scatter within points
    (docs/evidence/auto.md). Repeats that are all equal, up to rounding of their mean, may be copies of one measurement.
    They do not determine the noise, which is then fitted.

    noise: known variance, number of repeats, sum of squared deviations and largest square of each value (n, 4).
    """
    known, counts, squares, largest = noise.T
    freedom = float((counts - 1.0).sum())
    with np.errstate(over="ignore"):
        pooled = float(squares.sum()) / freedom if freedom >= LEAST_FREEDOM else np.nan
    is_estimated = np.isfinite(pooled) and pooled > ROUNDING * float(np.max(largest))  # squares may overflow
    variances = np.where(np.isnan(known), pooled / counts, known) if is_estimated else known
    return None if np.isnan(variances).all() else variances


class ArrayBuffer:
    """A growing array along its first axis; earlier views are not affected.

    rows: the first rows (n, ...), which are copied.
    """

    def __init__(self, rows: Batch) -> None:
        self._buffer = np.array(rows)
        self._n = len(self._buffer)

    def extend(self, parts: Iterable[Batch], n: int) -> None:
        """Append rows, in amortized constant time per row.

        parts: the rows in portions (m, ...), of the same form as the first rows.
        n: number of rows.
        """
        end, last = self._n, self._n + n
        if last > len(self._buffer):
            room = max(last + CHUNK_SIZE * (n > CHUNK_SIZE), 2 * len(self._buffer))
            wider = np.empty((room, *self._buffer.shape[1:]), dtype=self._buffer.dtype)
            wider[:end] = self._buffer[:end]
            self._buffer = wider
        for rows in parts:
            self._buffer[end : end + len(rows)] = rows
            end += len(rows)
        self._n = end

    def read(self) -> Batch:
        """Return the current rows (n, ...) as a read-only view."""
        rows = self._buffer[: self._n]
        rows.flags.writeable = False
        return rows


class BatchBuffer:
    """Points of a domain, appended one at a time and read as one batch.

    join: makes a batch of the appended items; None if the items are points.
    """

    def __init__(self, domain: Domain, join: Callable[[list[Point]], Batch] | None = None) -> None:
        self._domain = domain
        self._join_fresh = domain.join if join is None else join
        self._fresh: list[Point] = []  # not yet joined
        self._batch: Batch = domain.join()
        self._rows = ArrayBuffer(self._batch) if isinstance(self._batch, np.ndarray) else None
        self._lock = make_lock()

    def append(self, x: Point) -> None:
        """Append a point."""
        self._fresh.append(x)

    def read(self, n: int | None = None) -> Batch:
        """Return points as a batch of the domain, the same object until a point is appended.

        n: number of points; None for all.
        """
        with self._lock:
            join, fresh = self._join_fresh, self._fresh[:]  # others may append more meanwhile
            if fresh and self._rows is not None:
                starts = range(0, len(fresh), CHUNK_SIZE)
                self._rows.extend((join(fresh[start : start + CHUNK_SIZE]) for start in starts), len(fresh))
                self._batch = self._rows.read()
            elif fresh:
                self._batch = self._domain.join(self._batch, join(fresh))
            del self._fresh[: len(fresh)]
            batch = self._batch
        return batch if n in (None, len(batch)) else self._domain.take(batch, range(n))
