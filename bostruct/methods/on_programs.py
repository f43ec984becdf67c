"""Models of programs, and tree search over their decisions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import LogExpectedImprovement
from bostruct.contracts import DomainError, Searcher
from bostruct.domains.language.space import SearchSpace
from bostruct.kernels.traces import TraceKernel
from bostruct.methods.refusals import kind_of, refuse_real
from bostruct.searchers.bayesian import BayesianSearch, best_predicted
from bostruct.searchers.mcts import MCTS
from bostruct.searchers.smbo import SMBO
from bostruct.searchers.surroundings import mutants
from bostruct.surrogates.hashed import HashedRidge
from bostruct.surrogates.mode import ModeGP
from bostruct.surrogates.nasbot_priors import around
from bostruct.surrogates.priors import Normal
from bostruct.surrogates.tempered import Tempered

DRAWN_TO_SCALE = 32  # points whose distances say what is far in a domain


def for_programs(domain: SearchSpace) -> BayesianSearch:
    """A GP at its mode with a kernel on choices, log EI, evolution from the best evaluated programs."""
    surrogate = ModeGP(trace_kernel(domain), domain.join, Normal(-5.0, 1.0), -5.0)
    return BayesianSearch(
        domain,
        Tempered(surrogate),
        LogExpectedImprovement(),
        Evolution(),
        n_initial=10,
        n_starts=None,
        incumbent=best_predicted,
        feasibility=surrogate,
        surroundings=mutants,
    )


def trace_kernel(domain: SearchSpace) -> TraceKernel:
    """A rate for each kind of choice that is met in 32 drawn programs; all together are about 1 at the median."""
    xs = domain.sample(DRAWN_TO_SCALE, np.random.default_rng(0))
    kinds = tuple(sorted({one.kind for x in xs for one in domain.coordinates(x)}))
    flat = TraceKernel(domain.coordinates, kinds, Normal(0.0, 1.0), 0.0)
    distances = flat.prepare(xs, xs).sum(axis=0)
    typical = float(np.median(distances[np.triu_indices(len(xs), 1)])) or 1.0
    return replace(flat, prior=around(-math.log(typical), 1.0), initial=-math.log(typical))


def smbo(domain: Any) -> Searcher:
    """The best of 512 random points by a linear model of hashed features (Negrinho et al. 2019)."""
    if not callable(getattr(domain, "tokens", None)):
        raise DomainError(f"method: smbo needs a domain whose points have features, got {kind_of(domain)}")
    refuse_real("smbo", domain)
    return SMBO(domain, HashedRidge(domain.tokens))


def mcts(domain: Any) -> Searcher:
    """Monte Carlo tree search over decisions, UCT with exploration 0.33 (Negrinho et al. 2019)."""
    if not callable(getattr(domain, "options", None)):
        raise DomainError(f"method: mcts needs a domain of decisions one after another, got {kind_of(domain)}")
    refuse_real("mcts", domain)
    return MCTS(domain)
