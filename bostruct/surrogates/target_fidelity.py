"""A surrogate of values at several fidelities, asked what points would be worth at the highest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Array, Batch, Info, Posterior, Prediction, State, Surrogate


@dataclass(frozen=True)
class AtTargetFidelity:
    """Learns from points as they were evaluated, by a kernel that has a factor for the fidelity, and predicts them at
    the top, whatever their own fidelity is. raised: the same points there.
    """

    surrogate: Surrogate
    to_target: Callable[[Batch], Batch]

    def initial_state(self) -> State:
        return self.surrogate.initial_state()

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """On n points and their values (n,)."""
        posterior, state, info = self.surrogate.condition(xs, values, state, rng)
        return TargetFidelityPosterior(posterior, self.to_target), state, info


@dataclass(frozen=True, eq=False)
class TargetFidelityPosterior:
    """A posterior seen from the top."""

    posterior: Posterior
    to_target: Callable[[Batch], Batch]

    def predict(self, xs: Batch) -> Prediction:
        return self.posterior.predict(self.to_target(xs))

    def screen(self, xs: Batch) -> Prediction:
        return self.posterior.screen(self.to_target(xs))

    def believe(self, xs: Batch) -> TargetFidelityPosterior:
        """Running trials are believed where they run."""
        return TargetFidelityPosterior(self.posterior.believe(xs), self.to_target)
