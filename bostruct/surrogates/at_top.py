"""A surrogate of values at several fidelities, asked what points would be worth at the highest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Array, Batch, Info, Posterior, Prediction, State, Surrogate


@dataclass(frozen=True)
class AtTop:
    """Learns from points as they were evaluated, by a kernel that has a factor for the fidelity, and predicts them at
    the top, whatever their own fidelity is. raised: the same points there.
    """

    surrogate: Surrogate
    raised: Callable[[Batch], Batch]

    def initial_state(self) -> State:
        return self.surrogate.initial_state()

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """On n points and their values (n,)."""
        posterior, state, info = self.surrogate.condition(xs, values, state, rng)
        return TopPosterior(posterior, self.raised), state, info


@dataclass(frozen=True, eq=False)
class TopPosterior:
    """A posterior seen from the top."""

    posterior: Posterior
    raised: Callable[[Batch], Batch]

    def predict(self, xs: Batch) -> Prediction:
        return self.posterior.predict(self.raised(xs))

    def screen(self, xs: Batch) -> Prediction:
        return self.posterior.screen(self.raised(xs))

    def believe(self, xs: Batch) -> TopPosterior:
        """Running trials are believed where they run."""
        return TopPosterior(self.posterior.believe(xs), self.raised)
