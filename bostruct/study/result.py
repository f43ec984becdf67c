"""The result of a study, independent of the study and its storage."""

from __future__ import annotations

import math
import os
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bostruct.checks import load_by_name, optional_import, short_repr
from bostruct.contracts import Array, BostructError, Domain, Presented
from bostruct.display import html_table, in_full, pluralize, printable
from bostruct.domains.space.variable import PartNumbers
from bostruct.goals.declared import Direction, Goals, read_reference
from bostruct.goals.pareto import default_reference, exclusive_volume, extend_front, find_nondominated, hypervolume
from bostruct.output_files import format_csv, write_output
from bostruct.storage.reading import pause_collector
from bostruct.study.frames import ATTRIBUTE, LIMIT, find_inexact, list_value_names, write_attribute, write_noise
from bostruct.study.history import CANCELED, NO_DATA, Trial, describe_failures, show_points, tell_stop
from bostruct.study.predictions import (
    Fit,
    Lazy,
    LeftOutTrials,
    Predictions,
    Recommendation,
    recommend,
    sign_of,
    value,
    without_model,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


def find_front(objectives: Array) -> list[int]:
    """Return the positions of nondominated points, only the first of equal points.

    objectives: objectives of n points (n, k), minimized.
    """
    _, firsts = np.unique(objectives, axis=0, return_index=True)  # sorted by the first objective, then the next
    return [int(position) for position in firsts[find_nondominated(objectives[firsts])]]


def measure_hypervolumes(
    finished: Sequence[Trial], goals: Goals, reference: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Return the dominated hypervolume after each finished trial.

    Raises TypeError, ValueError.
    """
    feasible = _orient_feasible(finished, goals)
    if not len(feasible):
        return (0.0,) * len(finished)
    corner = _read_corner(feasible, goals, reference)
    grown, volumes, volume = 0, list[float](), 0.0
    front = feasible[:0]
    for trial in finished:
        if trial.is_feasible:
            x, grown = feasible[grown], grown + 1
            volume += exclusive_volume(x, front, corner)
            front = extend_front(front, x)
        volumes.append(volume)
    return tuple(volumes)


def measure_hypervolume(finished: Sequence[Trial], goals: Goals, reference: Sequence[float] | None = None) -> float:
    """Return the dominated hypervolume of all finished trials; 0 if none is feasible.

    Raises TypeError, ValueError.
    """
    feasible = _orient_feasible(finished, goals)
    return hypervolume(feasible, _read_corner(feasible, goals, reference)) if len(feasible) else 0.0


def _orient_feasible(finished: Sequence[Trial], goals: Goals) -> Array:
    """Return the objectives of the feasible trials, minimized (n, k)."""
    return np.array([goals.orient(trial.values) for trial in finished if trial.is_feasible])


def _read_corner(feasible: Array, goals: Goals, reference: Sequence[float] | None) -> Array:
    return default_reference(feasible) if reference is None else np.array(read_reference(reference, goals))


KEY = re.compile(r"(?<=[{ ])(['\"])((?:(?!\1).)*)\1: ")  # a key of a dict, in its repr
MOST_SHOWN = 5  # trials of a Pareto front, in a summary


class Timing(NamedTuple):
    """Seconds spent, summed over trials."""

    suggest: float
    objective: float


class Incumbent(NamedTuple):
    """The best trial after a finished trial.

    finished: the finished trial.
    trial: the best completed trial so far, the first observed of equals; None if none has completed.
    """

    finished: Trial
    trial: Trial | None

    @property
    def best_value(self) -> float | None:
        """The value of `trial`, in the user's units; None if no trial has completed."""
        return None if self.trial is None else self.trial.value


@dataclass(frozen=True)
class TrialTable:
    """Trials as rows, with one column for each part of a point, `point.NAME`, or one column `point`.

    Each row has a column for each objective and each constraint, even if the trial has no values.
    """

    trials: tuple[Trial, ...]
    goals: Goals

    def rows(self) -> list[dict[str, object]]:
        """Return one dict per trial, from column to value."""
        return [dict(zip(*row, strict=True)) for row in self._write_rows(as_text=False)]

    def _write_rows(self, as_text: bool) -> list[tuple[tuple[str, ...], list[object]]]:
        """Return the columns and the cells of each trial; `as_text` writes attributes as JSON."""
        fixed, points = _list_fixed_columns(self.goals), show_points(self.trials)
        settings = self.goals, fixed, as_text, find_inexact(self.trials) if as_text else frozenset()
        with pause_collector():
            return [_write_cells(*one, *settings) for one in zip(self.trials, points, strict=True)]

    def _lay_out(self, as_text: bool, missing: object) -> tuple[tuple[str, ...], list[list[object]]]:
        """Return all columns, and the cells of each trial in their order; absent cells become `missing`."""
        rows = self._write_rows(as_text)
        kinds = dict.fromkeys(names for names, _ in rows)
        columns = tuple(dict.fromkeys([*_list_fixed_columns(self.goals), *chain.from_iterable(kinds)]))
        for i, (names, cells) in enumerate(rows):
            if names != columns:
                own = dict(zip(names, cells, strict=True))
                rows[i] = columns, [own.get(name, missing) for name in columns]
        return columns, [cells for _, cells in rows]

    def to_dataframe(self) -> DataFrame:
        """Return the rows as a pandas DataFrame; raise MissingExtra if pandas is not installed.

        `started` and `finished` are times in UTC, a datetime64 with its time zone; `finished` is NaT while a trial is
        running.
        """
        pandas = optional_import("pandas", "pandas")
        columns, cells = self._lay_out(as_text=False, missing=math.nan)
        frame = pandas.DataFrame(cells, columns=columns)
        for name in [f"{ATTRIBUTE}{one}" for one in find_inexact(self.trials)]:
            at = columns.index(name)
            frame[name] = pandas.Series([row[at] for row in cells], dtype=object)
        finished = pandas.Series([trial.finished for trial in self.trials], dtype="float64")
        as_moments = partial(pandas.to_datetime, unit="s", utc=True, errors="coerce")  # NaT beyond the calendar
        frame["started"] = as_moments(frame["started"].astype("float64"))
        frame.insert(frame.columns.get_loc("started") + 1, "finished", as_moments(finished))
        return frame

    def to_csv(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the rows with a header; pandas is not needed.

        overwrite: True also replaces a file that bostruct did not write, but never a database.

        A string that starts like a spreadsheet formula, or that UTF-8 cannot encode, is written as a Python literal,
        which `Study.add_frame` parses. Raises OutputRefused, a FileExistsError, for a file that must not be replaced;
        OSError.
        """
        columns, cells = self._lay_out(as_text=True, missing=None)
        write_output(path, format_csv(columns, cells), "table of trials", overwrite=overwrite)


@dataclass(frozen=True)
class Result:
    """The trials of a study, the best of them, and the model.

    Attributes
    ----------
    trials : tuple of Trial
        All trials, by number.
    order : tuple of int
        The numbers of the finished trials, in the order observed.
    goals : Goals
        The directions of the objectives and the constraints.
    seed : int
        The random seed of the study.
    method : str
        The name of the method.
    stopped_because : str or None
        The reason why the run ended. None for a loaded study and for a custom loop.
    beliefs : Lazy or None
        The predictions of the model at the completed trials, computed when first needed. None without a model.
    domain : Domain or None
        The search space. None in a pickled result, because constraints may be functions.
    name : str
        The name of the study.
    model : Fit or None
        The method's model, fitted when first needed. None in a pickled result.
    """

    trials: tuple[Trial, ...]
    order: tuple[int, ...]
    goals: Goals
    seed: int
    method: str
    stopped_because: str | None
    beliefs: Lazy | None = field(default=None, compare=False, repr=False)
    domain: Domain | None = field(default=None, repr=False, compare=False)
    name: str = field(default="", repr=False, compare=False)
    model: Fit | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"domain": None, "model": None}

    def where(self, keep: Callable[[Presented], bool]) -> Result:
        """Return the result of some of the trials, such as those at the largest fidelity.

        Parameters
        ----------
        keep : callable
            Called with a point; returns whether to keep its trial.

        Returns
        -------
        Result
            The result of the kept trials.

        Raises
        ------
        TypeError
            If `keep` is not callable.
        """
        if not callable(keep):
            raise TypeError(f"keep: expected a function of a point, got {short_repr(keep)}")
        kept = tuple(number for number in self.order if keep(self.trials[number].point))
        return replace(self, order=kept)

    @property
    def direction(self) -> Direction:
        """``minimize`` or ``maximize``.

        Raises
        ------
        BostructError
            If there are several objectives.
        """
        return self.goals.direction

    @cached_property
    def best_trial(self) -> Trial:
        """The feasible trial with the best value, the first observed of equals.

        Raises BostructError if no trial is feasible, or there are several objectives.
        """
        self._require_single("best_trial")
        return min(self._require_feasible_trials(), key=lambda trial: self.goals.orient(trial.values))

    @property
    def has_feasible(self) -> bool:
        """True if a trial has completed and satisfies all constraints."""
        return any(self.trials[number].is_feasible for number in self.order)

    @cached_property
    def pareto_front(self) -> tuple[Trial, ...]:
        """The feasible trials that no other trial dominates, sorted by the first objective.

        A trial dominates another if it is no worse in each objective, and better in one. Of equal trials, the first
        observed is included. With one objective, it is the best trial. Over a `Fidelity`, trials at all fidelities
        count; `where` selects one fidelity. Raises BostructError if none is feasible.
        """
        feasible = self._require_feasible_trials()
        minimized = np.array([self.goals.orient(trial.values) for trial in feasible]).reshape(len(feasible), -1)
        return tuple(feasible[i] for i in find_front(minimized))

    def hypervolume(self, reference: Sequence[float] | None = None) -> float:
        """Return the dominated hypervolume, larger is better; 0 if no trial is feasible.

        Parameters
        ----------
        reference : sequence of float, optional
            The reference point, one number for each objective, as in `hypervolumes`.

        Returns
        -------
        float
            The hypervolume.
        """
        return measure_hypervolume(self._list_finished(), self.goals, reference)

    def hypervolumes(self, reference: Sequence[float] | None = None) -> tuple[float, ...]:
        """Return the dominated hypervolume after each finished trial, in the order observed.

        Parameters
        ----------
        reference : sequence of float, optional
            The reference point, one number for each objective, in its units. By default, the worst values of the
            current Pareto front, moved outward by a tenth of their range. Pass it to compare results.

        Returns
        -------
        tuple of float
            The n hypervolumes.

        Raises
        ------
        TypeError, ValueError
            If an argument is invalid.
        """
        return measure_hypervolumes(self._list_finished(), self.goals, reference)

    def _list_finished(self) -> list[Trial]:
        """Return the finished trials that were kept, in the order observed."""
        return [self.trials[number] for number in self.order]

    def _require_single(self, name: str) -> None:
        if self.goals.n_objectives > 1:
            raise BostructError(f"{name}: the study has {self.goals.n_objectives} objectives, see pareto_front")

    @cached_property
    def recommended(self) -> Recommendation:
        """The completed trial with the best posterior mean, with its 95% credible interval.

        For an objective without noise, it is `best_trial` or close to it. The model is fitted to all trials of the
        study, even if this result keeps only some of them. In studies over a `Fidelity` by hyperband and its variants,
        only trials at the largest evaluated fidelity are recommended. If there is no model, or it cannot be fitted, the
        best observed value is recommended, and `why` gives the reason. Raises BostructError if no trial completed.
        """
        self._require_single("recommended")
        completed = self._require_feasible_trials()
        beliefs = without_model(completed) if self.beliefs is None else self.beliefs()
        return recommend(beliefs, completed, self.direction)

    def predict(self, points: Iterable[object]) -> Predictions:
        """Predict the objective without noise, and the probability of feasibility, at any points.

        The model is fitted to all trials of the study, even if this result keeps only some of them.

        Parameters
        ----------
        points : iterable
            m points, as the objective receives them.

        Returns
        -------
        Predictions
            `mean` and `sd`, of shape (m,) or (m, k) for k objectives, in the units of the values, and `chance` (m,).

        Raises
        ------
        PointError
            If a point is outside the space.
        BostructError
            If the method has no model, or no trial has completed.
        """
        return self._require_model("predict").predict(points)

    def cross_validate(self, objective: int = 0) -> LeftOutTrials:
        """Predict each observed value from all others (leave-one-out), to check the model.

        The predictions are in closed form, with the hyperparameters fitted to all values.

        Parameters
        ----------
        objective : int, default 0
            The position of the objective, from 0.

        Returns
        -------
        LeftOutTrials
            The numbers of the n trials, the values `observed`, and the predictive `mean` and `sd` of shape (n,),
            including noise, in the units of the values.

        Raises
        ------
        BostructError
            If the method has no Gaussian process, or fewer than 3 trials have completed.
        TypeError, ValueError
            If an argument is invalid.
        """
        return self._require_model("cross_validate").cross_validate(objective)

    def _require_model(self, name: str) -> Fit:
        if self.model is None:
            raise BostructError(f"{name}: the result has no model: it was pickled or made manually; use the study")
        return self.model

    def _require_feasible_trials(self) -> list[Trial]:
        """Return the feasible trials that were kept, in the order observed; raises BostructError if there are none."""
        completed = self.list_completed()
        if not completed and self.n_unread and not self.order:
            raise BostructError(f"no completed trial can be read in the study's space: {self._why_unread()}")
        if not completed and self.n_completed:
            raise BostructError(
                f"no completed trial was kept: where's condition is false for all {self.n_completed} that completed"
            )
        if not completed:
            raise BostructError(f"no trial has completed: {self._tally()}")
        feasible = [trial for trial in completed if trial.is_feasible]
        if not feasible:
            raise BostructError(f"no trial satisfies all constraints: {self._describe_nearest(completed)}")
        return feasible

    def _describe_nearest(self, completed: Sequence[Trial]) -> str:
        """Describe the completed trial with the fewest and, among equals, the smallest violations."""
        nearest = min(completed, key=self.measure_violation)
        violated = ", ".join(f"{name} is {nearest.constraints[name]:g}" for name in nearest.broken)
        limits = ", ".join(map(str, self.goals.limits))
        count = pluralize(len(completed), "completed trial")
        return f"{limits}; the nearest of {count} is trial {nearest.number}, whose {violated}"

    def measure_violation(self, trial: Trial) -> tuple[int, float]:
        """Return the number of violated constraints of a completed trial, and the sum of the violations.

        Parameters
        ----------
        trial : Trial
            The trial.
        """
        limited = {limit.name: limit for limit in self.goals.limits}
        return len(trial.broken), sum(limited[name].violation(trial.constraints[name]) for name in trial.broken)

    def _tally(self) -> str:
        """Return the numbers of trials as text, with the last reason of a failure."""
        reasons = [trial.reason for trial in self.trials if trial.reason is not None]
        last = f"; the last reason: {reasons[-1]}" if reasons else ""
        return f"{pluralize(len(self.trials), 'trial')}, {self.n_failed} failed, {self.n_infeasible} infeasible{last}"

    def list_completed(self) -> list[Trial]:
        """Return the completed trials in the order observed."""
        return list(self._completed)

    @cached_property
    def _completed(self) -> tuple[Trial, ...]:
        return tuple(t for t in (self.trials[number] for number in self.order) if t.status == "completed")

    @property
    def best_value(self) -> float:
        """The value of the best trial, as the objective returned it."""
        self._require_single("best_value")
        return value(self.best_trial)

    @property
    def best_point(self) -> Presented:
        """The point of the best trial, as the objective received it."""
        self._require_single("best_point")
        return self.best_trial.point

    @property
    def n_failed(self) -> int:
        """The number of failed trials."""
        return sum(t.status == "failed" for t in self.trials)

    @property
    def n_infeasible(self) -> int:
        """The number of infeasible trials."""
        return sum(t.status == "infeasible" for t in self.trials)

    @property
    def n_completed(self) -> int:
        """The number of trials with a value."""
        return sum(t.status == "completed" for t in self.trials)

    @property
    def n_stopped(self) -> int:
        """The number of trials that a stopping rule ended; their value is the last reported value."""
        return sum(t.stopped_at is not None for t in self.trials)

    @property
    def n_unread(self) -> int:
        """The number of trials whose points are invalid in the study's changed space."""
        return sum(t.unread is not None for t in self.trials)

    def _why_unread(self) -> str:
        """Describe how many trials are invalid in the changed space, and why the first one is."""
        one = next(t for t in self.trials if t.unread is not None)
        return f"{self.n_unread} of {len(self.trials)} trials are not in the space: trial {one.number}: {one.unread}"

    @cached_property
    def incumbents(self) -> tuple[Incumbent, ...]:
        """The best trial so far after each finished trial, in the order observed.

        Raises
        ------
        BostructError
            If there are several objectives; see `hypervolumes`.
        """
        self._require_single("incumbents")
        sign = sign_of(self.direction)
        best: Trial | None = None
        steps = []
        for number in self.order:
            trial = self.trials[number]
            if trial.is_feasible and (best is None or sign * value(trial) < sign * value(best)):
                best = trial
            steps.append(Incumbent(trial, best))
        return tuple(steps)

    @property
    def timing(self) -> Timing:
        """The seconds spent on suggestions and on evaluations, except for added trials."""
        suggest = sum(t.info.get("suggest_seconds", 0.0) for t in self.trials)
        return Timing(suggest, sum(t.seconds or 0.0 for t in self.trials if t.origin != "added"))

    @property
    def history(self) -> TrialTable:
        """The trials as a table."""
        return TrialTable(self.trials, self.goals)

    def to_dataframe(self) -> DataFrame:
        """Return the trials as a pandas DataFrame, one per row.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        return self.history.to_dataframe()

    def to_csv(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the trials to a CSV file with a header, one per row.

        Parameters
        ----------
        path : str or path-like
            The file. An earlier table of trials is replaced.
        overwrite : bool, default False
            If True, a file that bostruct did not write is also replaced, but never a database.

        Raises
        ------
        OutputRefused
            A FileExistsError, if the file must not be replaced.
        OSError
            If the file cannot be written.
        """
        self.history.to_csv(path, overwrite=overwrite)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the values and the best so far, or the Pareto front of several objectives.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default, a new figure is created.

        Returns
        -------
        matplotlib Axes
            The axes.

        Raises
        ------
        MissingExtra
            If matplotlib is not installed.
        ValueError
            If no trial has finished.
        """
        home = "fronts:plot_front" if self.goals.n_objectives > 1 else "plots:plot_history"
        return load_by_name(f"bostruct.analysis.{home}")(self, ax=ax)

    def __repr__(self) -> str:
        return "\n".join(
            _indent_text(name, value if isinstance(value, str) else in_full(value)) for name, value in self._summary()
        )

    def _repr_html_(self) -> str:
        return html_table(self._summary())

    def _recommended_lines(self) -> list[tuple[str, object]]:
        found = self.recommended
        if found.trial.number == self.best_trial.number:
            return [("recommended", f"the same: {found}")]
        return [("recommended", str(found)), ("its point", found.trial.point)]

    def _best_lines(self) -> list[tuple[str, object]]:
        """Return the summary lines of the best trial or the Pareto front, or the reason why there is none."""
        completed = self.list_completed()
        what = "best value" if self.goals.n_objectives == 1 else "best values"
        if not completed:
            lack = "none: no completed trial was kept" if self.n_completed else f"none has completed: {self._tally()}"
            return [(what, lack)]
        if not self.has_feasible:
            return [(what, f"none satisfies all constraints: {self._describe_nearest(completed)}")]
        if self.goals.n_objectives > 1:
            return self._front_lines()
        trial = self.best_trial
        best = f"{self.best_value!r} ({self.goals}), observed in trial {trial.number}{tell_stop(trial)}"
        return [(what, best), ("best point", self.best_point), *self._recommended_lines()]

    def _front_lines(self) -> list[tuple[str, object]]:
        front = self.pareto_front
        shown = [
            (f"trial {trial.number}", f"({', '.join(f'{one:.6g}' for one in trial.values)}), {in_full(trial.point)}")
            for trial in front[:MOST_SHOWN]
        ]
        more = [("", f"and {len(front) - MOST_SHOWN} more, in pareto_front")] if len(front) > MOST_SHOWN else []
        return [
            ("best values", f"{pluralize(len(front), 'trial')} that no other trial dominates ({self.goals})"),
            *shown,
            *more,
        ]

    def _summary(self) -> list[tuple[str, object]]:
        """Return the lines of the summary, with names and values; points are not formatted."""
        lines = self._best_lines()
        finished = self.n_completed + self.n_failed + self.n_infeasible
        running = len(self.trials) - finished
        stopped = f" ({self.n_stopped} stopped early)" if self.n_stopped else ""
        counts = f"{len(self.trials)}: {self.n_completed} completed{stopped}, {self.n_failed} failed, "
        counts += f"{self.n_infeasible} infeasible, {running} running"
        broken = sum(bool(t.broken) for t in self.trials)
        counts += f"; {broken} of the completed violate a constraint" if broken else ""
        readable = finished - sum(t.unread is not None and t.status != "running" for t in self.trials)
        counts += f", {len(self.order)} kept" if len(self.order) < readable else ""
        if self.n_unread:
            lines.append(("ignored", self._why_unread()))
        seconds = f"{self.timing.suggest:.2f} s choosing points, {self.timing.objective:.2f} s evaluating them"
        method = f"{self.method}, seed {self.seed}"
        return [
            *lines,
            ("trials", counts),
            *([("failures", reasons)] if (reasons := describe_failures(self.trials)) else []),
            ("time", seconds),
            ("method", method),
            *([("stopped", self.stopped_because)] if self.stopped_because else []),
        ]


def _indent_text(name: str, text: str) -> str:
    """Format a name and its text in two columns; the text is not wrapped inside a key or before its value."""
    margin = " " * 13
    kept = KEY.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    whole = kept.replace(": ", ":\N{NO-BREAK SPACE}")
    lines = textwrap.wrap(whole, 107, break_long_words=False, break_on_hyphens=False)
    lines = [printable(line.replace("\N{NO-BREAK SPACE}", " ")) for line in lines]
    return f"{name:<12} " + f"\n{margin}".join(lines)


def _list_fixed_columns(goals: Goals) -> tuple[str, ...]:
    """Return the columns of each trial, except for its point."""
    values = list_value_names(goals)
    limited = [*(f"{LIMIT}{limit.name}" for limit in goals.limits), "feasible"] if goals.limits else []
    return "number", "status", *values, *limited, "reason", "origin", "started", "seconds", "suggest_seconds"


def _list_measured(trial: Trial, goals: Goals) -> list[object]:
    """Return the values, the constraints and the feasibility of a trial; None for unmeasured quantities."""
    measured = trial.info.get("measured", {}) if trial.status != "completed" else {}
    values: Iterable[object] = trial.values or [measured.get(name) for name in list_value_names(goals)]
    if not goals.limits:
        return [*values]
    known = trial.constraints or {name.removeprefix(LIMIT): number for name, number in measured.items()}
    limited = [known.get(limit.name) for limit in goals.limits]
    return [*values, *limited, trial.is_feasible if trial.values else None]


def _write_cells(
    trial: Trial, point: Presented, goals: Goals, fixed: tuple[str, ...], as_text: bool, inexact: Collection[str]
) -> tuple[tuple[str, ...], list[object]]:
    """Return the columns of a trial, shared by most trials of a study, and its cells.

    as_text: True for the cells of a file.
    inexact: attributes with numbers that a file stores as JSON text.
    """
    measured, times = _list_measured(trial, goals), (trial.seconds, trial.info.get("suggest_seconds"))
    cells = [trial.number, trial.status, *measured, trial.reason, trial.origin, trial.started, *times]
    row: dict[str, object] = {}
    if trial.stopped_at is not None:
        row["stopped_at"] = trial.stopped_at
    if trial.unread is not None:
        row["unread"] = trial.unread
    if trial.is_no_data:
        row["no_data"] = trial.info.get(NO_DATA, CANCELED)
    row |= write_noise(trial)
    for name, kept in trial.attributes.items():
        row[f"{ATTRIBUTE}{name}"] = write_attribute(kept, name not in inexact, as_text)
    if not isinstance(point, Mapping):
        row["point"] = point
    elif PartNumbers in map(type, point.values()):
        for name, value in point.items():
            parts = value if type(value) is PartNumbers else None
            row |= {f"point.{name}": value} if parts is None else {f"point.{name}.{p}": one for p, one in parts.items()}
    else:
        return _join_columns(fixed, tuple(row), tuple(point)), [*cells, *row.values(), *point.values()]
    return _join_columns(fixed, tuple(row), ()), [*cells, *row.values()]


@lru_cache(maxsize=64)
def _join_columns(fixed: tuple[str, ...], names: tuple[str, ...], points: tuple[str, ...]) -> tuple[str, ...]:
    return *fixed, *names, *(f"point.{name}" for name in points)
