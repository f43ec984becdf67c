"""The arguments of `Study.optimize`, checked, and the pool that they ask for."""

from __future__ import annotations

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

FailureLimit = int | Literal["auto"] | None  # of failed trials, before a run ends in which nothing completes


@dataclass(frozen=True)
class RunSettings:
    """The arguments of `Study.optimize`; raises TypeError or ValueError, naming the one that is wrong.

    n_trials: of the study in all, at least 0.
    workers: trials at once, at least 1.
    executor: a `concurrent.futures.Executor` to evaluate on; None for this process, or worker processes of our own.
    trial_timeout: seconds, at least 0.001; None for no limit, and with an executor.
    load_timeout: seconds that a worker process may take to load the objective.
    callbacks: functions of (study, trial), called after each trial.
    progress: True for a bar, False for none, None for a bar on a terminal and in a notebook.
    stopping_rule: says which trials stop early, by what they report; None for none.
    retries: how often a trial that failed is evaluated again, at least 0.
    max_initial_failures: failed trials without a completed one that end the run, from 1; ``auto`` for as many as the
        method has initial points, 10 or twice the workers; None for no end.
    """

    objective: Callable[[Any], Any]
    n_trials: int
    workers: int
    executor: Executor | None
    trial_timeout: float | None
    load_timeout: float
    callbacks: tuple[Callable[[Any, Trial], None], ...]
    progress: bool | None
    reraise: tuple[type[Exception], ...]
    stopping_rule: StoppingRule | None = None
    retries: int = 0
    max_initial_failures: FailureLimit = "auto"

    def __post_init__(self) -> None:
        if not callable(self.objective):
            raise TypeError(f"objective: expected a function of a point, got {short_repr(self.objective)}")
        check_integer("n_trials", self.n_trials, 0)
        check_integer("workers", self.workers, 1)
        check_integer("retries", self.retries, 0)
        check_max_initial_failures(self.max_initial_failures)
        if self.trial_timeout is not None:
            check_number("trial_timeout", self.trial_timeout, 1e-3)
        check_number("load_timeout", self.load_timeout, 1e-3)
        if self.executor is not None and self.trial_timeout is not None:
            raise ValueError("trial_timeout: expected None with an executor, whose workers cannot be killed from here")
        for callback in self.callbacks:
            if isinstance(callback, type):
                raise TypeError(
                    f"callbacks: expected functions of (study, trial), or objects, got the class {callback.__name__}; "
                    f"make one, {callback.__name__}(...)"
                )
            if not callable(callback):
                raise TypeError(f"callbacks: expected functions of (study, trial), got {short_repr(callback)}")
        for kind in self.reraise:
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                raise TypeError(f"reraise: expected exception classes, got {short_repr(kind)}")
        if self.progress not in (True, False, None):
            raise TypeError(f"progress: expected True, False or None, got {short_repr(self.progress)}")
        if self.stopping_rule is not None:
            check_part("stopping_rule", self.stopping_rule, StoppingRule, also="None, a rule such as MedianRule() or ")
        if self.executor is not None:
            hint = "; give client.get_executor()" if hasattr(self.executor, "get_executor") else ""
            if hint or isinstance(self.executor, type) or not callable(getattr(self.executor, "submit", None)):
                raise TypeError(
                    f"executor: expected a concurrent.futures.Executor, got {short_repr(self.executor)}{hint}"
                )

    @classmethod
    def from_arguments(
        cls,
        objective: Any,
        n_trials: Any,
        workers: Any,
        executor: Any,
        trial_timeout: Any,
        load_timeout: Any,
        callbacks: Any,
        progress: Any,
        reraise: Any,
        stopping_rule: Any = None,
        retries: Any = 0,
        max_initial_failures: Any = "auto",
    ) -> RunSettings:
        """Make settings of what a user wrote: one callback, or one exception, stands for a sequence of one.

        Raises TypeError and ValueError.
        """
        several = (callbacks,) if callable(callbacks) else callbacks
        if not isinstance(several, Iterable):
            raise TypeError(f"callbacks: expected functions of (study, trial), got {short_repr(callbacks)}")
        kinds = (reraise,) if isinstance(reraise, type) else reraise
        if not isinstance(kinds, Iterable) or isinstance(kinds, str):
            raise TypeError(f"reraise: expected exception classes, got {short_repr(reraise)}")
        limits = trial_timeout, load_timeout
        ends = tuple(kinds), stopping_rule, retries, max_initial_failures
        return cls(objective, n_trials, workers, executor, *limits, tuple(several), progress, *ends)

    def check_goals(self, goals: Goals) -> None:
        """Raise ValueError for a stopping rule if a value alone says too little."""
        if self.stopping_rule is not None and not goals.is_single:
            raise ValueError("stopping_rule: expected None with several objectives or limits, which no report measures")

    def pool(self) -> Pool:
        if self.executor is not None:
            return ExecutorPool(self.objective, self.executor, self.workers)
        if self.workers == 1 and self.trial_timeout is None:
            return InProcessPool(self.objective)
        return ProcessPool(self.objective, self.workers, self.trial_timeout, self.load_timeout)


def check_max_initial_failures(given: object) -> None:
    """Raise TypeError or ValueError unless the limit is ``auto``, None or an integer from 1."""
    if isinstance(given, str) and given != "auto":
        raise ValueError(f"max_initial_failures: expected 'auto', an integer from 1 or None, got {short_repr(given)}")
    if not isinstance(given, str) and given is not None:
        check_integer("max_initial_failures", given, 1)
