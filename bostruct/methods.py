"""Methods by name: the only file that assembles parts from several layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bostruct.acquisition.functions import ExpectedImprovement, LogExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.checks import check_choice
from bostruct.contracts import DomainError, Searcher
from bostruct.domains.graphs import VariableGraph
from bostruct.domains.space import Space
from bostruct.kernels.blend import Blend
from bostruct.kernels.diffusion import DiffusionKernel
from bostruct.kernels.links import LogEdgeWeight, LogLengthscale
from bostruct.kernels.main_effects import MainEffects
from bostruct.searchers.annealing import Annealing
from bostruct.searchers.bayesian import BayesianSearch, best_observed, best_predicted
from bostruct.searchers.hill_climbing import HillClimbing
from bostruct.searchers.random import RandomSearch
from bostruct.surrogates.combo_priors import EDGE_WEIGHT_PRIOR, ComboPriors
from bostruct.surrogates.marginalized import MarginalizedGP
from bostruct.surrogates.mode import ModeGP
from bostruct.surrogates.priors import Normal


def auto(domain: Space) -> BayesianSearch:
    """The best that we know how to build: a GP at its mode, log EI, local search around the best points.

    Its kernel blends main effects, which most objectives have and few data suffice for, with diffusion under a prior
    that is scaled by the number of variables.
    """
    kernel = Blend(MainEffects(graphs(domain)), lengthscale_kernel(domain), Normal(-0.5, 1.0), initial=-0.5)
    noise = Normal(-4.0 - 1.0, 1.0)  # the same for a noise variance that is log-normal with location -4, scale 1
    surrogate = ModeGP(kernel, domain.join, noise, noise.mean)
    return BayesianSearch(
        domain,
        surrogate,
        LogExpectedImprovement(),
        LocalSearch(random=2_000, spray=1_000, ascents=10),
        n_initial=10,
        n_starts=5,
        incumbent=best_predicted,
        feasibility=surrogate,
    )


def combo(domain: Space) -> BayesianSearch:
    """COMBO as published (Oh et al. 2019): ARD diffusion kernel, horseshoe priors, slice sampling, EI, local search."""
    kernel = DiffusionKernel(graphs(domain), EDGE_WEIGHT_PRIOR, LogEdgeWeight())
    priors = ComboPriors(*kernel.extreme_eigenvalues(np.zeros(domain.d)))
    surrogate = MarginalizedGP(kernel, domain.join, priors)
    return BayesianSearch(domain, surrogate, ExpectedImprovement(), LocalSearch(), incumbent=best_observed)


def lengthscale_kernel(domain: Space) -> DiffusionKernel:
    """Diffusion with lengthscales that are log-normal, with a location that grows as the root of the number of
    variables (Hvarfner et al. 2024), stated on the lengthscale that is equivalent to each edge weight.
    """
    location, scale = math.sqrt(2.0) + 0.5 * math.log(domain.d), math.sqrt(3.0)
    prior = Normal(location - scale**2, scale)
    return DiffusionKernel(graphs(domain), prior, LogLengthscale(), initial=prior.mean, unit_diagonal=True)


def graphs(domain: Space) -> tuple[VariableGraph, ...]:
    """One a variable; raises DomainError for a domain that is no `Space`."""
    if not isinstance(domain, Space):
        raise DomainError(f"method: combo and auto need a Space, got {type(domain).__name__}")
    return tuple(variable.graph for variable in domain.variables.values())


def random(domain: Any) -> Searcher:
    """Random search without replacement."""
    return RandomSearch(domain)


def annealing(domain: Any) -> Searcher:
    """Simulated annealing on the objective itself."""
    return Annealing(domain)


def hill_climbing(domain: Any) -> Searcher:
    """One-exchange hill climbing with random restarts."""
    return HillClimbing(domain)


METHODS: dict[str, Callable[[Any], Searcher]] = {
    "auto": auto,
    "combo": combo,
    "annealing": annealing,
    "hill-climbing": hill_climbing,
    "random": random,
}


def searcher(method: str | Searcher, domain: Any) -> Searcher:
    """A searcher from its name, or as it is; raises ValueError for an unknown name."""
    if isinstance(method, str):
        return METHODS[check_choice("method", method, METHODS)](domain)
    return method
