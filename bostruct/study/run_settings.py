"""The arguments of `Study.optimize`, with their validation and the pool that they select."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

from bostruct.checks import check_integer, check_number, check_part, short_repr
from bostruct.execution.pools import ExecutorPool, InProcessPool, Pool
from bostruct.execution.processes import ProcessPool
from bostruct.goals.declared import Goals
from bostruct.study.history import Trial
from bostruct.study.stopping import StoppingRule

FailureLimit = int | Literal["auto"] | None  # failed trials after which a run without completed trials ends


@dataclass(frozen=True)
class RunSettings:
    """The arguments of `Study.optimize`; raises TypeError or ValueError, with the invalid argument.

    n_trials: total number of finished trials of the study, at least 0; None for no limit.
    n_more: number of trials to finish in this run, at least 0; None for no limit.
    timeout: seconds after which no trial starts, at least 0; None for no limit.
    patience: finished trials in a row without a better value that end the run, at least 1; None for no limit.
    cancel_running: whether the timeout also requeues running trials.
    workers: number of concurrent trials, at least 1.
    executor: a `concurrent.futures.Executor`; None for this process, or for worker processes.
    trial_timeout: seconds, at least 0.001; None for no limit, and with an executor.
    load_timeout: seconds that a worker process may take to load the objective.
    callbacks: functions of (study, trial), called after each trial.
    progress: True for a bar, False for none, None for a bar in a terminal and in a notebook.
    stopping_rule: rule that stops trials early, by their reports; None for none.
    retries: number of times that a failed trial is evaluated again, at least 0.
    max_initial_failures: failed trials without a completed one that end the run, from 1; ``auto`` for the maximum of
        the method's initial points, 10 and twice the workers; None for no limit.
    """

    objective: Callable[[Any], Any]
    n_trials: int | None = None
    n_more: int | None = None
    timeout: float | None = None
    patience: int | None = None
    cancel_running: bool = False
    workers: int = 1
    executor: Executor | None = None
    trial_timeout: float | None = None
    load_timeout: float = 60.0
    callbacks: tuple[Callable[[Any, Trial], None], ...] = ()
    progress: bool | None = None
    reraise: tuple[type[Exception], ...] = ()
    stopping_rule: StoppingRule | None = None
    retries: int = 0
    max_initial_failures: FailureLimit = "auto"

    def __post_init__(self) -> None:
        if not callable(self.objective):
            raise TypeError(f"objective: expected a function of a point, got {short_repr(self.objective)}")
        for name in ("callbacks", "reraise"):  # a single item represents a sequence of one item
            given = getattr(self, name)
            several = (given,) if callable(given) else given
            if not isinstance(several, Iterable) or isinstance(several, str):
                what = "functions of (study, trial)" if name == "callbacks" else "exception classes"
                raise TypeError(f"{name}: expected {what}, got {short_repr(given)}")
            object.__setattr__(self, name, tuple(several))
        self._check_ends()
        check_integer("workers", self.workers, 1)
        check_integer("retries", self.retries, 0)
        check_max_initial_failures(self.max_initial_failures)
        if self.trial_timeout is not None:
            check_number("trial_timeout", self.trial_timeout, 1e-3)
        check_number("load_timeout", self.load_timeout, 1e-3)
        if self.executor is not None and self.trial_timeout is not None:
            raise ValueError("trial_timeout: expected None with an executor, whose workers cannot be killed")
        for callback in self.callbacks:
            wanted = "callbacks: expected functions of (study, trial), got"
            if isinstance(callback, type):
                raise TypeError(f"{wanted} the class {callback.__name__}; pass an object, {callback.__name__}(...)")
            try:
                inspect.signature(callback).bind(None, None)
            except ValueError:  # a builtin without a signature
                pass
            except TypeError as error:
                raise TypeError(f"{wanted} {short_repr(callback)}: {error}") from None
        for kind in self.reraise:
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                raise TypeError(f"reraise: expected exception classes, got {short_repr(kind)}")
        if self.progress not in (True, False, None):
            raise TypeError(f"progress: expected True, False or None, got {short_repr(self.progress)}")
        if self.stopping_rule is not None:
            check_part("stopping_rule", self.stopping_rule, StoppingRule, also="None, a rule such as MedianRule() or ")
        if self.executor is not None:
            hint = "; pass client.get_executor()" if hasattr(self.executor, "get_executor") else ""
            if hint or isinstance(self.executor, type) or not callable(getattr(self.executor, "submit", None)):
                raise TypeError(
                    f"executor: expected a concurrent.futures.Executor, got {short_repr(self.executor)}{hint}"
                )

    def _check_ends(self) -> None:
        """Check the conditions that end the run; raise TypeError if there are none."""
        for name, least in (("n_trials", 0), ("n_more", 0), ("patience", 1)):
            if (given := getattr(self, name)) is not None:
                check_integer(name, given, least)
        if self.timeout is not None:
            if isinstance(self.timeout, str):
                raise TypeError(f"timeout: expected a number of seconds, got {self.timeout!r}")
            check_number("timeout", self.timeout, 0.0)
        if self.n_trials is not None and self.n_more is not None:
            raise TypeError(f"n_more: expected None with n_trials={self.n_trials}, the total; pass only one of them")
        if self.n_trials is self.n_more is self.timeout is self.patience is None:
            raise TypeError("n_trials: expected a total number of trials, n_more=, timeout= or patience=, got none")
        if self.cancel_running not in (True, False):
            raise TypeError(f"cancel_running: expected True or False, got {short_repr(self.cancel_running)}")
        if self.cancel_running and self.timeout is None:
            raise ValueError("cancel_running: expected False without timeout=, at which it cancels")

    def check_goals(self, goals: Goals) -> None:
        """Raise ValueError for a stopping rule if a trial has more than one value."""
        if self.stopping_rule is not None and not goals.is_single:
            raise ValueError("stopping_rule: expected None with several objectives or constraints, which reports lack")

    def pool(self) -> Pool:
        if self.executor is not None:
            return ExecutorPool(self.objective, self.executor, self.workers)
        if self.workers == 1 and self.trial_timeout is None and not self.cancel_running:
            return InProcessPool(self.objective)
        return ProcessPool(self.objective, self.workers, self.trial_timeout, self.load_timeout)


def check_max_initial_failures(given: object) -> None:
    """Raise TypeError or ValueError unless the argument is ``auto``, None or an integer from 1."""
    if isinstance(given, str) and given != "auto":
        raise ValueError(f"max_initial_failures: expected 'auto', an integer from 1 or None, got {short_repr(given)}")
    if not isinstance(given, str) and given is not None:
        check_integer("max_initial_failures", given, 1)
