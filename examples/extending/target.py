"""An acquisition function of your own: the chance that a value meets a specification."""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

import bostruct as bo
from bostruct import methods
from bostruct.contracts import AcquisitionFunction
from bostruct.testing import check_acquisition


@dataclass(frozen=True)
class ChanceOfTarget(AcquisitionFunction):
    """The logarithm of the probability that the objective is below a target, whatever the best value told is."""

    target: float
    is_logarithm = True

    def __call__(self, prediction, incumbent):
        del incumbent  # the specification does not move
        return log_ndtr((self.target - prediction.mean) / np.sqrt(prediction.variance))

    def upper_bounds(self, prediction, incumbent):
        """A wider posterior helps above the target; below it certainty does, and the chance is at most 1."""
        worth = self(prediction, incumbent)
        return np.where(prediction.mean < self.target, 0.0, worth + 1e-13 * (1.0 + np.abs(worth)))


def beam_weight(beam):
    """The weight of a beam, which bends too far where it is thin or soft."""
    stiffness = {"steel": 3.0, "aluminum": 1.0, "oak": 0.3}[beam["material"]] * beam["height"] ** 3
    density = {"steel": 7.8, "aluminum": 2.7, "oak": 0.7}[beam["material"]]
    too_soft = max(0.0, 700.0 - stiffness) / 10.0
    return density * beam["height"] * (2.0 if beam["is_solid"] else 1.0) + too_soft


def main():
    check_acquisition(ChanceOfTarget(12.0), np.random.default_rng(0))
    materials = ["steel", "aluminum", "oak"]
    space = bo.Space({"material": materials, "height": bo.Integer(1, 20), "is_solid": bool})
    method = methods.bayesian(space, acquisition=ChanceOfTarget(12.0))
    result = bo.minimize(beam_weight, space, n_trials=30, method=method, seed=0, progress=False)
    print(f"weight {result.best_value:.1f}, target 12.0: {result.best_point}")
    assert result.best_value < 12.0


if __name__ == "__main__":
    main()
