"""An acquisition function of a posterior, as the one thing that a maximiser sees."""

from __future__ import annotations

from dataclasses import dataclass

from bostruct.contracts import Acquisition, Array, Batch, Posterior


@dataclass(frozen=True, eq=False)
class AcquisitionScore:
    """`Score` of a point: what the posterior predicts there is worth to somebody who holds the incumbent."""

    posterior: Posterior
    acquisition: Acquisition
    incumbent: float

    def __call__(self, xs: Batch) -> Array:
        """(m,)"""
        return self.acquisition.average(self.acquisition(self.posterior.predict(xs), self.incumbent))

    def bound(self, xs: Batch) -> Array:
        """Never below the score, and without the O(n^2) of a variance; (m,)."""
        return self.acquisition.average(self.acquisition.bound(self.posterior.screen(xs), self.incumbent))
