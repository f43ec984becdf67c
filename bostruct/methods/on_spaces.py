"""Models of points of a `Space`: our own, COMBO, BOCS, TPE."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from bostruct.acquisition.functions import ExpectedImprovement, LogExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.acquisition.pseudo_boolean import SemidefiniteRelaxation, SimulatedAnnealing
from bostruct.checks import check_choice, check_integer
from bostruct.contracts import DomainError, Searcher
from bostruct.domains.graphs import VariableGraph
from bostruct.domains.space import Space
from bostruct.kernels.blend import Blend
from bostruct.kernels.diffusion import DiffusionKernel
from bostruct.kernels.links import LogEdgeWeight, LogLengthscale
from bostruct.kernels.main_effects import MainEffects
from bostruct.methods.refusals import kind_of, refuse_real
from bostruct.searchers.bayesian import BayesianSearch, best_observed, best_predicted
from bostruct.searchers.bocs import BOCS
from bostruct.searchers.tpe import TPE
from bostruct.surrogates.combo_priors import EDGE_WEIGHT_PRIOR, ComboPriors
from bostruct.surrogates.horseshoe import HorseshoeRegression
from bostruct.surrogates.marginalized import MarginalizedGP
from bostruct.surrogates.mode import ModeGP
from bostruct.surrogates.monomials import Monomials
from bostruct.surrogates.priors import Normal
from bostruct.surrogates.tempered import Tempered


def for_space(domain: Space) -> BayesianSearch:
    """A GP at its mode, log EI, local search around the best points; values far worse than the middle are drawn in.

    Its kernel blends main effects, which most objectives have and few data suffice for, with diffusion under a prior
    that is scaled by the number of variables. The prior of the noise expects a third of the variance to be noise: among
    points none of which repeats, little but the prior tells noise from a rough function, and data without noise take it
    back. Labels of success and failure have a prior of next to none.
    """
    kernel = Blend(MainEffects(graphs(domain)), lengthscale_kernel(domain), Normal(0.4, 1.0), initial=0.4)
    noise, label_noise = Normal(-1.0, 1.0), Normal(-5.0, 1.0)  # of log variances of standardised values
    surrogate = ModeGP(kernel, domain.join, noise, noise.mean)
    return BayesianSearch(
        domain,
        Tempered(surrogate),
        LogExpectedImprovement(),
        LocalSearch(random=2_000, spray=1_000, ascents=10, leaps=True, most=400_000),
        n_initial=10,
        n_starts=5,
        incumbent=best_predicted,
        feasibility=replace(surrogate, noise_prior=label_noise, initial_log_noise=label_noise.mean),
    )


def combo(domain: Space) -> BayesianSearch:
    """COMBO as published (Oh et al. 2019): ARD diffusion kernel, horseshoe priors, slice sampling, EI, local search."""
    kernel = DiffusionKernel(graphs(domain), EDGE_WEIGHT_PRIOR, LogEdgeWeight())
    priors = ComboPriors(*kernel.extreme_eigenvalues(np.zeros(domain.d)))
    surrogate = MarginalizedGP(kernel, domain.join, priors)
    return BayesianSearch(domain, surrogate, ExpectedImprovement(), LocalSearch(), incumbent=best_observed)


def lengthscale_kernel(domain: Space) -> DiffusionKernel:
    """Diffusion with lengthscales that are log-normal, with a location that grows as the root of the number of
    variables (Hvarfner et al. 2024), stated on the lengthscale that is equivalent to each edge weight. The mode is
    theirs; the spread, of which they leave more, was chosen among a few on random weighted Max-3-SAT, where the
    differences were hardly beyond chance.
    """
    prior = Normal(math.sqrt(2.0) + 0.5 * math.log(domain.d) - 3.0, 0.7)
    return DiffusionKernel(graphs(domain), prior, LogLengthscale(), initial=prior.mean, unit_diagonal=True)


def graphs(domain: Space) -> tuple[VariableGraph, ...]:
    """One a variable; raises DomainError for a domain that is no `Space`."""
    if not isinstance(domain, Space):
        raise DomainError(f"method: combo needs a Space, got {kind_of(domain)}")
    refuse_real("a diffusion kernel (auto, combo, nasbot, model-based-hyperband)", domain)
    return tuple(variable.graph for variable in domain.variables.values())


MINIMIZERS = {"relaxation": SemidefiniteRelaxation(), "annealing": SimulatedAnnealing()}


def bocs(domain: Any, order: int = 2, minimizer: Literal["relaxation", "annealing"] | None = None) -> Searcher:
    """BOCS (Baptista and Poloczek 2018): sparse Bayesian regression on products of up to `order` choices.

    minimizer: of its samples; the semidefinite relaxation up to order 2, annealing for any; None: the first it can be.
    """
    if not isinstance(domain, Space):
        raise DomainError(f"method: bocs needs a Space, got {kind_of(domain)}")
    refuse_real("bocs", domain)
    check_integer("order", order, 1, 3)
    minimizer = minimizer or ("relaxation" if order <= 2 else "annealing")
    if check_choice("minimizer", minimizer, MINIMIZERS) == "relaxation" and order > 2:
        raise ValueError(f"minimizer: relaxation serves orders 1 and 2, got order {order}; use 'annealing'")
    regression = HorseshoeRegression(Monomials(tuple(domain.n_choices.tolist()), order))
    return BOCS(domain, regression, MINIMIZERS[minimizer])


def tpe(domain: Any) -> Searcher:
    """The tree-structured Parzen estimator of Optuna (Bergstra et al. 2011), the extra `optuna`."""
    if not isinstance(domain, Space):
        raise DomainError(f"method: tpe needs a Space, got {kind_of(domain)}")
    return TPE(domain)
