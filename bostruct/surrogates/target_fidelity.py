"""A surrogate of values at several fidelities, asked what points would be worth at the highest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bostruct.checks import has_capability, require_gradient
from bostruct.contracts import (
    Array,
    Batch,
    BostructError,
    HasLeaveOneOut,
    HasPredictionGradient,
    Info,
    Posterior,
    Prediction,
    RestoresUnits,
    State,
    Surrogate,
)
from bostruct.surrogates.known_noise import with_variances


@dataclass(frozen=True)
class AtTargetFidelity:
    """A surrogate that learns from points as they were evaluated, and predicts them at the highest fidelity.

    surrogate: its kernel has a factor for the fidelity.
    to_target: batch of points -> the same points at the highest fidelity.
    """

    surrogate: Surrogate
    to_target: Callable[[Batch], Batch]

    def with_variances(self, variances: Array) -> AtTargetFidelity:
        """Return the surrogate that knows the noise of the values that it is conditioned on next.

        variances: of the noise of each value (n,), at least 0, in the user's units squared; NaN where it is learned.

        Raises ValueError.
        """
        return replace(self, surrogate=with_variances(self.surrogate, variances))

    @property
    def has_covariance(self) -> bool:
        """False: its posterior predicts each point on its own."""
        return False

    def initial_state(self) -> State:
        return self.surrogate.initial_state()

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Learn from n points at their own fidelities.

        xs: n points.
        values: (n,), in the user's units.
        state: of `initial_state`, or what the last call returned.
        rng: the only source of chance.

        Returns the posterior, the state for the next call, and what goes on record. Raises what `surrogate` raises.
        """
        posterior, state, info = self.surrogate.condition(xs, values, state, rng)
        return TargetFidelityPosterior(posterior, self.to_target), state, info

    def restore_units(self, prediction: Prediction, values: Array) -> Prediction:
        """Return a prediction of the posterior in the user's units: `RestoresUnits`.

        prediction: of the posterior that was conditioned on the values.
        values: (n,), in the user's units.
        """
        inner = self.surrogate
        return inner.restore_units(prediction, values) if has_capability(inner, RestoresUnits) else prediction


@dataclass(frozen=True, eq=False)
class TargetFidelityPosterior:
    """A posterior that predicts every point at the highest fidelity.

    posterior: predicts each point at its own fidelity.
    to_target: batch of points -> the same points at the highest fidelity.
    """

    posterior: Posterior
    to_target: Callable[[Batch], Batch]

    def predict(self, xs: Batch) -> Prediction:
        return self.posterior.predict(self.to_target(xs))

    def screen(self, xs: Batch) -> Prediction:
        return self.posterior.screen(self.to_target(xs))

    @property
    def xs(self) -> Batch:
        """The points that the posterior learned from, at their own fidelities."""
        return self._validated.xs

    @property
    def values(self) -> Array:
        """The values that the posterior learned from (n,), each at its own fidelity."""
        return self._validated.values

    def leave_one_out(self) -> Prediction:
        """Return mean and variance of each value at its own fidelity given all others, (s, n) each.

        Raises BostructError where the posterior cannot.
        """
        return self._validated.leave_one_out()

    @property
    def _validated(self) -> HasLeaveOneOut:
        if not has_capability(self.posterior, HasLeaveOneOut):
            raise BostructError(f"posterior: {type(self.posterior).__name__} leaves no value out in closed form")
        return self.posterior

    def vary_shares(self, xs: Batch) -> Callable[[Array], tuple[Prediction, Callable[[Prediction], Array]]]:
        """Return the prediction at the highest fidelity as a function of the points' continuous coordinates.

        xs: m points, whose other coordinates stay.

        Raises TypeError where the posterior has no gradients.
        """
        posterior = require_gradient("posterior", self.posterior, HasPredictionGradient)
        return posterior.vary_shares(self.to_target(xs))

    def believe(self, xs: Batch) -> TargetFidelityPosterior:
        """Return the posterior once running trials were told their mean at the fidelity at which they run.

        xs: m points.
        """
        return TargetFidelityPosterior(self.posterior.believe(xs), self.to_target)
