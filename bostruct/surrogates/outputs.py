"""Several outputs: each objective and each violation of an outcome constraint has its own surrogate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bostruct.checks import check_integer, check_part
from bostruct.contracts import Array, Batch, Info, Posterior, Prediction, State, Surrogate, stored_as


@dataclass(frozen=True)
class Outputs(Surrogate):
    """Independent surrogates of several outputs: first the objectives, then the violations of outcome constraints.

    A violation is the amount by which a point violates a constraint, at most 0 if it satisfies the constraint.

    n_objectives: number of objectives, at least 1.
    n_violations: number of constraints, at least 0.

    Raises TypeError, ValueError.
    """

    objective: Surrogate
    violation: Surrogate = field(metadata=stored_as("slack"))
    n_objectives: int = 1
    n_violations: int = field(default=0, metadata=stored_as("n_slacks"))

    def __post_init__(self) -> None:
        check_part("objective", self.objective, Surrogate)
        check_part("violation", self.violation, Surrogate)
        check_integer("n_objectives", self.n_objectives, 1)
        check_integer("n_violations", self.n_violations, 0)

    @property
    def n_outputs(self) -> int:
        """The number of objectives and violations."""
        return self.n_objectives + self.n_violations

    @property
    def surrogates(self) -> tuple[Surrogate, ...]:
        """The surrogate of each output."""
        return (self.objective,) * self.n_objectives + (self.violation,) * self.n_violations

    def initial_state(self) -> State:
        return [surrogate.initial_state() for surrogate in self.surrogates]

    def with_variances(self, variances: Array) -> Outputs:
        return replace(self, objective=self.objective.with_variances(variances))

    def restore_units(self, prediction: Prediction, values: Array) -> Prediction:
        return self.objective.restore_units(prediction, values)

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[OutputsPosterior, State, Info]:
        """Learn from n points and all their outputs, each output on its own.

        Returns the posterior, the state for the next call, and the info to record: ``outputs``, the info of each
        output. Raises ValueError for another number of outputs, and the errors of the surrogates.
        """
        if values.shape[1:] != (self.n_outputs,):
            raise ValueError(f"values: expected shape (n, {self.n_outputs}), got {values.shape}")
        found = [
            surrogate.condition(xs, column, own, rng)
            for surrogate, column, own in zip(self.surrogates, values.T.copy(), state, strict=True)
        ]
        posteriors, states, infos = zip(*found, strict=True)
        return OutputsPosterior(posteriors), list(states), {"outputs": list(infos)}


@dataclass(frozen=True, eq=False)
class OutputsPosterior(Posterior):
    """A posterior of several outputs, independent of each other. It predicts the first one."""

    posteriors: tuple[Posterior, ...]

    @property
    def outputs(self) -> tuple[Posterior, ...]:
        return self.posteriors

    def predict(self, xs: Batch) -> Prediction:
        return self.posteriors[0].predict(xs)

    def screen(self, xs: Batch) -> Prediction:
        return self.posteriors[0].screen(xs)

    def believe(self, xs: Batch) -> OutputsPosterior:
        """Return the posterior conditioned on a value equal to the mean, of each output at each of xs."""
        return OutputsPosterior(tuple(one.believe(xs) for one in self.posteriors)) if len(xs) else self
