"""A surrogate of values at several fidelities that predicts points at the highest fidelity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bostruct.checks import check_part
from bostruct.contracts import Array, Batch, Info, State
from bostruct.contracts.model import HeldOut, HyperparameterSamples, Posterior, Prediction, Surrogate, VariedPrediction


@dataclass(frozen=True)
class AtTargetFidelity(Surrogate):
    """A surrogate that learns from points as they were evaluated, and predicts them at the highest fidelity."""

    surrogate: Surrogate
    to_target: Callable[[Batch], Batch]

    def __post_init__(self) -> None:
        check_part("surrogate", self.surrogate, Surrogate)

    def with_variances(self, variances: Array) -> AtTargetFidelity:
        return replace(self, surrogate=self.surrogate.with_variances(variances))

    @property
    def has_covariance(self) -> bool:
        """False: its posterior predicts each point on its own."""
        return False

    def compress_less(self) -> AtTargetFidelity:
        return replace(self, surrogate=self.surrogate.compress_less())

    def for_violation(self, warp: Callable[[Surrogate], Surrogate]) -> AtTargetFidelity:
        return replace(self, surrogate=self.surrogate.for_violation(warp))

    def initial_state(self) -> State:
        return self.surrogate.initial_state()

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        posterior, state, info = self.surrogate.condition(xs, values, state, rng)
        return TargetFidelityPosterior(posterior, self.to_target), state, info

    def restore_units(self, prediction: Prediction, values: Array) -> Prediction:
        return self.surrogate.restore_units(prediction, values)


@dataclass(frozen=True, eq=False)
class TargetFidelityPosterior(Posterior):
    """A posterior that predicts every point at the highest fidelity."""

    posterior: Posterior
    to_target: Callable[[Batch], Batch]

    def list_hyperparameters(self) -> list[HyperparameterSamples]:
        return self.posterior.list_hyperparameters()

    def predict(self, xs: Batch) -> Prediction:
        return self.posterior.predict(self.to_target(xs))

    def screen(self, xs: Batch) -> Prediction:
        return self.posterior.screen(self.to_target(xs))

    def leave_one_out(self) -> HeldOut | None:
        """Predict each value at its own fidelity, given all others."""
        return self.posterior.leave_one_out()

    def average_models(self) -> TargetFidelityPosterior:
        return TargetFidelityPosterior(self.posterior.average_models(), self.to_target)

    def input_vjp(self, xs: Batch) -> VariedPrediction | None:
        return self.posterior.input_vjp(self.to_target(xs))

    def believe(self, xs: Batch) -> TargetFidelityPosterior:
        """Return the posterior conditioned on the mean of running trials at the fidelity at which they run."""
        return TargetFidelityPosterior(self.posterior.believe(xs), self.to_target)
