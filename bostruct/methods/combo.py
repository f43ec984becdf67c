"""COMBO as published (Oh et al. 2019), with its priors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from bostruct.acquisition.functions import ExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.checks import check_choice
from bostruct.contracts import ADDED_LATER, Array
from bostruct.domains.space.space import Space
from bostruct.kernels.space.diffusion import ard_diffusion, extreme_eigenvalues
from bostruct.kernels.space.spectra import LogEdgeWeight
from bostruct.methods.defaults import variable_graphs
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.scores import Improvement
from bostruct.surrogates.hyperparameters import LOG_HIGH, LOG_LOW, LogHorseshoe, ScalePriors, TruncatedNormal
from bostruct.surrogates.marginalized import MarginalizedGP

Center = Literal["middle", "mean"]
LOG_EDGE_WEIGHT_HIGH = math.log(100.0)
NOISE_SCALE = math.sqrt(0.005)  # 2 scale^2 = 0.01
SMALLEST_KERNEL_VALUE = math.log(1e-100)
NARROWEST = 1e-100  # standard deviation whose square does not underflow

EDGE_WEIGHT_PRIOR = LogHorseshoe(5.0, LOG_LOW, LOG_EDGE_WEIGHT_HIGH)
NOISE_PRIOR = LogHorseshoe(NOISE_SCALE, LOG_LOW, LOG_HIGH)


@dataclass(frozen=True)
class ComboPriors:
    """Priors of mean, amplitude and noise, as in COMBO (Oh et al. 2019).

    log_smallest, log_largest: logarithms of the kernel's extreme eigenvalues at edge weight 1, which bound the
        amplitude.
    center: center of the prior of the mean: "middle" of the range, as in the authors' code, or the sample "mean", as in
        the paper.
    """

    log_smallest: float
    log_largest: float
    center: Center = field(default="middle", metadata=ADDED_LATER)

    def __call__(self, values: Array) -> ScalePriors:
        """Return the priors for values (n,).

        The mean lies in the range of the values; the amplitude turns the kernel's range into their variance.
        """
        low, high = float(np.min(values)), float(np.max(values))
        center = 0.5 * (low + high) if self.center == "middle" else min(max(float(np.mean(values)), low), high)
        log_variance = math.log(max(float(np.var(values, ddof=1)) if len(values) > 1 else 0.0, 1e-300))
        least = log_variance - self.log_largest
        most = log_variance - max(self.log_smallest, SMALLEST_KERNEL_VALUE)
        return ScalePriors(
            TruncatedNormal(center, max(0.25 * (high - low), NARROWEST), low, high),
            TruncatedNormal(0.5 * (least + most), max(0.25 * (most - least), NARROWEST), LOG_LOW, LOG_HIGH),
            NOISE_PRIOR,
        )


def combo(domain: Space, n_initial: int = 20, center: Center = "middle") -> BayesianSearch:
    """Build COMBO as published (Oh et al. 2019).

    Its parts are an ARD diffusion kernel, horseshoe priors, slice sampling, expected improvement and local search.

    Parameters
    ----------
    domain : Space
        A space without `Real` variables and long or logarithmic `Integer` ones.
    n_initial : int, default 20
        Number of initial points, including given points, at least 1. 20 in the paper, 2 on Branin.
    center : {"middle", "mean"}, default "middle"
        The prior mean of the constant c: the middle of the range of the values, as in the authors' code, or their mean,
        as in the paper.

    Raises
    ------
    DomainError
        If the domain is not supported.
    TypeError, ValueError
        If an argument is invalid.
    """
    graphs, link = variable_graphs(domain), LogEdgeWeight()
    kernel = ard_diffusion(graphs, EDGE_WEIGHT_PRIOR, link)
    varied = [graph for graph in graphs if graph.size > 1]
    extremes = extreme_eigenvalues(varied, link, np.zeros(len(varied)))
    priors = ComboPriors(*extremes, check_choice("center", center, get_args(Center)))
    surrogate = MarginalizedGP(kernel, domain.join, priors)
    return BayesianSearch(domain, surrogate, Improvement(ExpectedImprovement()), LocalSearch(), n_initial)
