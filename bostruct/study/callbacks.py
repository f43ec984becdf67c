"""Reasons to stop early: callbacks for `Study.optimize`, which asks them before the first trial and after each one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bostruct.checks import check_integer, check_number
from bostruct.contracts import BostructError
from bostruct.display import pluralize
from bostruct.study.history import Trial
from bostruct.study.stopping import StoppingCallback

if TYPE_CHECKING:
    from bostruct.study.study import Study


@dataclass(frozen=True)
class Patience(StoppingCallback):
    """A callback that stops once finished trials in a row have brought no better value.

    While no trial keeps all limits, each finished one is counted. Trials that were added are not, as for `n_trials`.

    trials: how many, from 1; failed ones are included.
    """

    trials: int

    def __post_init__(self) -> None:
        check_integer("trials", self.trials, 1)

    def check_study(self, study: Study) -> None:
        """Stop a study whose last trials have brought no better value.

        study: that the callback is given to, also before its first trial.
        """
        result = study.result
        best = _find_latest_best(study)
        since = 0 if best is None else result.order.index(best.number) + 1
        waited = sum(not result.trials[number].is_extra for number in result.order[since:])
        if waited >= self.trials:
            study.stop(f"no better value in {pluralize(waited, 'trial')}")


def _find_latest_best(study: Study) -> Trial | None:
    """Return the best trial, of several objectives the last told of the front; None where none is feasible."""
    result = study.result
    if study.goals.n_objectives == 1 or not result.has_feasible:
        return study.incumbent
    return max(result.pareto_front, key=lambda trial: result.order.index(trial.number))


@dataclass(frozen=True)
class TargetValue(StoppingCallback):
    """A callback that stops once the best trial that keeps all limits has reached a value.

    Trials of earlier runs and added trials count. A study of several objectives is refused with BostructError.

    value: the value to reach, in the user's direction.
    reason: what the result then says; by default the value and trial.
    """

    value: float
    reason: str = ""

    def __post_init__(self) -> None:
        check_number("value", self.value)

    def check_study(self, study: Study) -> None:
        """Stop a study whose best value reaches the target, and refuse several objectives, with BostructError.

        study: that the callback is given to, also before its first trial.
        """
        if (count := study.goals.n_objectives) > 1:
            raise BostructError(f"TargetValue: expected a study of one objective, got {count}; Patience takes any")
        best = study.incumbent
        if best is None or best.value is None:
            return
        reached = best.value >= self.value if study.direction == "maximize" else best.value <= self.value
        if reached:
            study.stop(self.reason or f"target value {self.value:g} reached by trial {best.number}")


LEAST_PROBABILITY = 0.0015  # that 2,000 draws without a find bound with a confidence of 95 %: 1 - 0.05^(1/2000)


@dataclass(frozen=True)
class StopWhen(StoppingCallback):
    """A callback that stops once another point is hardly better than the best one, as the method's model believes.

    The run ends once the probability that the best point is worse than the optimum by more than `regret` is at most
    `regret_probability` (Wilson 2024, "Stopping Bayesian optimization with probabilistic regret bounds"). What it
    promises is as good as the model, and is promised at each look: there the probability is bounded with a confidence
    of 95 %. Nothing corrects for the number of looks, and a long run is likelier to end too early. It looks once more
    points have a value than the method chooses without the model, and the values are not all equal. Each look costs
    about a tenth of a second of CPU time. A method without a Gaussian process is refused with BostructError, and so is
    a study of several objectives or with limits.

    regret: a difference of values that does not matter, in their units, above 0.
    regret_probability: at least 0.0015 and below 1. The bound is of 2,000 draws, and none of them shows less.
    """

    regret: float
    regret_probability: float = 0.05

    def __post_init__(self) -> None:
        check_number("regret", self.regret, above=0.0)
        check_number("regret_probability", self.regret_probability, LEAST_PROBABILITY, below=1.0)

    def check_study(self, study: Study) -> None:
        """Stop a study whose best point is good enough, and refuse a method that cannot tell, with BostructError.

        study: that the callback is given to, also before its first trial.
        """
        bound = study.bound_regret_probability(self.regret)
        if bound <= self.regret_probability:
            held = f"with probability {1.0 - bound:.3g} no point is better by more than {self.regret:g}"
            study.stop(f"{held}, as the model believes at this look")
