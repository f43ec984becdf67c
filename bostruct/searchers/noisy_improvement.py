"""Log noisy expected improvement: where values are noisy, nobody knows the best value that was reached.

No method begins with it, for it was level with log EI on the best predicted mean (`python -m
benchmarks.noisy_improvement`); pass it as the score of a `BayesianSearch`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_number
from bostruct.contracts import AcquisitionFunction, HistoryView, Posterior, Score, ScoreBuilder
from bostruct.searchers.scores import AcquisitionScore

LatentDraw = Callable[[Posterior, np.random.Generator], Posterior | None]


@dataclass(frozen=True)
class NoisyImprovement(ScoreBuilder):
    """A builder of scores: noisy expected improvement where values are noisy, another score where they are not.

    The objective without noise is drawn at the points told. Expected improvement on the smallest drawn value is
    averaged over draws.

    plain: builds the score where values have little noise, or the posterior cannot be drawn from.
    acquisition: an improvement, of each draw.
    draw: (posterior, rng) -> the posterior of the objective less the best latent value, given draws of these; None
        where it cannot draw.
    least_noise: share of the noise in the variance of a value from which on values are noisy, in 0..1.

    Raises TypeError or ValueError for `least_noise`. Source: Letham et al. 2019; Ament et al. 2023 for logarithms.
    """

    plain: ScoreBuilder
    acquisition: AcquisitionFunction
    draw: LatentDraw
    least_noise: float

    def __post_init__(self) -> None:
        check_number("least_noise", self.least_noise, 0.0, 1.0)

    @property
    def is_logarithm(self) -> bool:
        return self.plain.is_logarithm and self.acquisition.is_logarithm

    def without_draws(self) -> ScoreBuilder:
        return self.plain

    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> Score:
        """Return the score of a posterior; raises NumericalError.

        posterior: of the objective, with the running points believed.
        history: at least one completed point.
        rng: for the draws.
        """
        is_noisy = noise_share(posterior, history) >= self.least_noise
        drawn = self.draw(posterior, rng) if is_noisy else None
        if drawn is None:
            return self.plain(posterior, history, rng)
        return AcquisitionScore(drawn, self.acquisition, 0.0)


def noise_share(posterior: Posterior, history: HistoryView) -> float:
    """Return the share of the noise in the variance of a value, by the posterior; 0 where it knows no noise.

    posterior: of the objective.
    history: at least one completed point.
    """
    if posterior.noise is None:
        return 0.0
    noise = float(np.mean(posterior.noise))
    signal = float(np.var(posterior.screen(history.completed).mean.mean(axis=0)))
    return noise / (noise + signal) if noise > 0.0 else 0.0
