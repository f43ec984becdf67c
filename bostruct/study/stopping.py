"""Rules that stop a trial early by its reports, and callbacks that stop a run early."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import check_integer, check_number, short_repr
from bostruct.contracts import Array, BostructError, Info, IntArray
from bostruct.display import pluralize
from bostruct.execution.evaluation import MAX_REPORTS, Judge, Reporter, TrialStopped
from bostruct.study.history import Trial


class Curve(NamedTuple):
    """The reports of one completed trial.

    steps: ascending (r,), at least one.
    values: reported values, minimized (r,).
    """

    steps: IntArray
    values: Array


class StoppingCallback(ABC):
    """A callback that may end a run, even before the first trial."""

    @abstractmethod
    def check_study(self, study: Any) -> None:
        """End the run by `Study.stop`, or raise an error if the study is not supported.

        Parameters
        ----------
        study : Study
            The study of the run.
        """

    def __call__(self, study: Any, trial: Trial) -> None:
        self.check_study(study)


@dataclass(frozen=True)
class Patience(StoppingCallback):
    """A callback that ends a run after several completed trials in a row without a better one.

    With several objectives, a trial is better if it enters the Pareto front. With constraints, a smaller violation is
    better until a trial is feasible. Failed and infeasible trials do not count, but the run also ends if the last
    `trials` trials have all failed. Added trials do not count.

    Parameters
    ----------
    trials : int
        Number of completed trials in a row, at least 1.
    skip : int, default 0
        Number of finished trials at the start of the study that do not count, at least 0.
    """

    trials: int
    skip: int = 0

    def __post_init__(self) -> None:
        check_integer("trials", self.trials, 1)
        check_integer("skip", self.skip, 0)

    def check_study(self, study: Any) -> None:
        """End the run if the last trials have brought no better value, or have all failed."""
        result = study.result
        finished = [result.trials[number] for number in result.order[self.skip :]]
        recent = [trial for trial in finished if not trial.is_extra and not trial.is_no_data]
        last = {trial.status for trial in recent[-self.trials :]}
        if len(recent) >= self.trials and "completed" not in last:
            how = "failed" if last == {"failed"} else "failed or been infeasible"
            study.stop(f"the last {pluralize(self.trials, 'trial')} {'has' if self.trials == 1 else 'have all'} {how}")
            return
        best = _find_latest_best(study)
        since = 0 if best is None else max(0, result.order.index(best.number) + 1 - self.skip)
        fresh = {trial.number for trial in finished[since:]}
        waited = sum(trial.status == "completed" and trial.number in fresh for trial in recent)
        if waited >= self.trials:
            study.stop(f"no better value in {pluralize(waited, 'trial')}")


def _find_latest_best(study: Any) -> Trial | None:
    """Return the last trial that was better than all earlier trials; None if no trial has completed."""
    result = study.result
    if not result.has_feasible:
        return min(result.list_completed(), key=result.measure_violation, default=None)
    if study.goals.n_objectives == 1:
        return study.incumbent
    return max(result.pareto_front, key=lambda trial: result.order.index(trial.number))


class StoppingRule(ABC):
    """A rule that stops trials early, for ``stopping_rule=`` of `Study.optimize`."""

    @abstractmethod
    def judge(self, curves: Sequence[Curve]) -> Judge:
        """Return a function that judges one trial.

        It is called with the step and the minimized value of each report in turn, and returns whether to stop the
        trial. It must be picklable.

        Parameters
        ----------
        curves : sequence of Curve
            The reports of the trials that completed before this one started, by number, including stopped trials.
        """


@dataclass(frozen=True)
class MedianRule(StoppingRule):
    """The median stopping rule (Golovin et al. 2017, "Google Vizier", section 3.2).

    A trial stops at step s if its best value by s is worse than the median, over the completed trials that reached s,
    of the averages of their values up to s. Stopped trials are included. If a trial has 500 reports or more, some may
    be missing; a value then counts until the next one.

    Parameters
    ----------
    startup_trials : int, default 5
        Number of trials that must have reached a step before any trial is stopped there, at least 1.
    warmup_steps : int, default 0
        The first step at which a trial may be stopped, at least 0.
    """

    startup_trials: int = 5
    warmup_steps: int = 0

    def __post_init__(self) -> None:
        check_integer("startup_trials", self.startup_trials, 1)
        check_integer("warmup_steps", self.warmup_steps, 0)

    def judge(self, curves: Sequence[Curve]) -> Judge:
        return _MedianJudge(self, tuple(c.steps for c in curves), tuple(_average_reports(c) for c in curves))


def _average_reports(curve: Curve) -> Array:
    """Return the average of the values reported up to each step (r,)."""
    weights = np.ones(len(curve.steps))
    if len(weights) >= MAX_REPORTS // 2:  # a thinned trial has at least that many
        gaps = np.diff(curve.steps)
        weights[:-1] = gaps / gaps.min()
    return np.cumsum(weights * curve.values) / np.cumsum(weights)


@dataclass
class _MedianJudge:
    """The median rule for one trial. steps, averages: reports of each completed trial, (r,) each."""

    rule: MedianRule
    steps: tuple[IntArray, ...]
    averages: tuple[Array, ...]
    best: float = math.inf

    def __call__(self, step: int, value: float) -> bool:
        self.best = min(self.best, value)
        if step < self.rule.warmup_steps:
            return False
        reached = [
            float(averages[np.searchsorted(steps, step, side="right") - 1])
            for steps, averages in zip(self.steps, self.averages, strict=True)
            if steps[0] <= step <= steps[-1]
        ]
        return len(reached) >= self.rule.startup_trials and self.best > float(np.median(reached))


@dataclass(frozen=True)
class SuccessiveHalvingRule(StoppingRule):
    """Asynchronous successive halving (Li et al. 2020, algorithm 2) that stops trials instead of pausing them.

    The rungs are the steps first_rung * reduction^k, k = 0, 1, ... A trial that reaches a rung, by its first report at
    this step or later, continues only if its value is among the best max(1, floor(n / reduction)) of the n trials that
    have reached the rung. A trial without a report between this rung and the next is not counted or judged there. In
    the paper a trial waits at its rung and may continue later; here it ends, as in the stopping variant of Klein et al.
    2020, section 3.2.

    Parameters
    ----------
    first_rung : int, default 1
        The first step at which trials are stopped, at least 1 (r * eta^s in the paper).
    reduction : int, default 4
        Factor between rungs, at least 2 (eta in the paper).
    """

    first_rung: int = 1
    reduction: int = 4

    def __post_init__(self) -> None:
        check_integer("first_rung", self.first_rung, 1)
        check_integer("reduction", self.reduction, 2)

    def judge(self, curves: Sequence[Curve]) -> Judge:
        last = max((int(curve.steps[-1]) for curve in curves), default=0)
        bars: list[tuple[range, float]] = []
        rung = self.first_rung
        while rung <= last:
            following = rung * self.reduction
            firsts = [(c, int(np.searchsorted(c.steps, rung))) for c in curves if c.steps[-1] >= rung]
            reached = sorted(float(c.values[first]) for c, first in firsts if c.steps[first] < following)
            n_kept = max(1, (len(reached) + 1) // self.reduction)
            bars += [(range(rung, following), value) for value in reached[n_kept - 1 : n_kept]]
            rung = following
        return _HalvingJudge(bars)


@dataclass
class _HalvingJudge:
    """Successive halving for one trial."""

    bars: list[tuple[range, float]]

    def __call__(self, step: int, value: float) -> bool:
        n_passed = bisect_left(self.bars, step + 1, key=lambda bar: bar[0].start)
        passed, self.bars = self.bars[:n_passed], self.bars[n_passed:]
        return any(step in steps and value > bar for steps, bar in passed)


class Curves:
    """The reports of the trials of a study, each of which is read once.

    sign: 1.0 if the values of the study are minimized, -1.0 if they are maximized.
    """

    def __init__(self, sign: float) -> None:
        self._sign = sign
        self._known: dict[int, Curve | None] = {}

    def read(self, trials: Iterable[Trial]) -> list[Curve]:
        """Return the reports of the completed trials with reports."""
        for trial in trials:
            if trial.status != "completed" or trial.number in self._known:
                continue
            curve = None
            if trial.unread is None and (reports := trial.info.get("reports")):
                steps, values = zip(*reports, strict=True)
                curve = Curve(np.array(steps, dtype=np.int64), self._sign * np.array(values, dtype=np.float64))
            self._known[trial.number] = curve
        return [curve for _, curve in sorted(self._known.items()) if curve is not None]


def describe_reports(reports: Iterable[tuple[int, float]]) -> Info:
    """Return reports as trial info, thinned as by `report`; empty if there are none.

    reports: pairs of step and value, ascending by step.

    Raises TypeError, ValueError.
    """
    if not isinstance(reports, Iterable):
        raise TypeError(f"reports: expected pairs of step and value, got {short_repr(reports)}")
    reporter = Reporter()
    for pair in reports:
        try:
            step, value = pair
        except (TypeError, ValueError):
            raise TypeError(f"reports: expected pairs of step and value, got {short_repr(pair)}") from None
        try:
            reporter.take(step, value)
        except TrialStopped as stopped:
            raise ValueError(f"reports: expected finite values, got {short_repr(pair)}") from stopped
        except (TypeError, ValueError) as error:
            raise type(error)(f"reports: {error}") from None
    found = reporter.reports
    return {"reports": [[step, value] for step, value in found]} if found else {}


@dataclass(frozen=True)
class TargetValue(StoppingCallback):
    """A callback that ends a run once the best feasible value has reached a target.

    Earlier and added trials count. BostructError is raised for a study with several objectives.

    Parameters
    ----------
    value : float
        The target.
    reason : str, optional
        The text of `Result.stopped_because`. By default the value and the trial.
    """

    value: float
    reason: str = ""

    def __post_init__(self) -> None:
        check_number("value", self.value)

    def check_study(self, study: Any) -> None:
        """End the run if the best value has reached the target; raise an error for several objectives."""
        if (count := study.goals.n_objectives) > 1:
            raise BostructError(f"TargetValue: expected a study of one objective, got {count}; Patience takes any")
        best = study.incumbent
        if best is None or best.value is None:
            return
        reached = best.value >= self.value if study.direction == "maximize" else best.value <= self.value
        if reached:
            study.stop(self.reason or f"target value {self.value:g} reached by trial {best.number}")


LEAST_PROBABILITY = 0.0015  # 95% bound of a probability after 2,000 draws without a success: 1 - 0.05^(1/2000)


@dataclass(frozen=True)
class StopWhen(StoppingCallback):
    """A callback that ends a run once the model predicts that no point is much better than the best one.

    The run ends if the probability that the regret of the best point exceeds `regret` is at most `regret_probability`
    (Wilson 2024, "Stopping Bayesian optimization with probabilistic regret bounds"). The bound is as good as the model,
    and holds with 95% confidence at each check, without a correction for the number of checks: a long run is more
    likely to end too early. Checks start once there are more values than initial points of the method, and not all are
    equal. Each takes about 0.1 s of CPU time. BostructError is raised for a method without a Gaussian process, several
    objectives, and constraints.

    Parameters
    ----------
    regret : float
        A negligible difference of values, above 0.
    regret_probability : float, default 0.05
        The probability, at least 0.0015 and below 1. It is estimated from 2,000 draws.
    """

    regret: float
    regret_probability: float = 0.05

    def __post_init__(self) -> None:
        check_number("regret", self.regret, above=0.0)
        check_number("regret_probability", self.regret_probability, LEAST_PROBABILITY, below=1.0)

    def check_study(self, study: Any) -> None:
        """End the run if the best point is good enough; raise an error if the method is not supported."""
        bound = study.bound_regret_probability(self.regret)
        if bound <= self.regret_probability:
            claim = f"with probability {1.0 - bound:.3g} no point is better by more than {self.regret:g}"
            study.stop(f"{claim}, according to the model at this check")
