"""The default method."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import LogExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.domains.language.space import SearchSpace
from bostruct.domains.space.space import Space
from bostruct.kernels.blend import WeightedSum
from bostruct.kernels.space.main_effects import MainEffects
from bostruct.methods.default_kernels import program_kernel, space_kernel, variable_graphs
from bostruct.methods.nasbot import nasbot
from bostruct.methods.refusals import refuse_without_kernel
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.proposals import mutations_of
from bostruct.searchers.scores import Feasible, Improvement, best_predicted
from bostruct.surrogates.map_gp import MAPGP
from bostruct.surrogates.noise_selection import NoiseSelection
from bostruct.surrogates.output_warping import OutputWarping
from bostruct.surrogates.priors import Normal


def auto(domain: Any) -> BayesianSearch:
    """Build the default method: `for_space`, `for_programs`, or `nasbot` on architectures and joint domains.

    domain: a `Space`, a `SearchSpace`, a domain of architectures, or a joint domain of these.

    Raises DomainError for points that no kernel is known for.
    """
    if isinstance(domain, SearchSpace):
        return for_programs(domain)
    if isinstance(domain, Space):
        return for_space(domain)
    refuse_without_kernel(domain)
    return nasbot(domain)


def for_space(domain: Space) -> BayesianSearch:
    """Build Bayesian optimization of a space: a GP at its mode, log EI, local search around the best points.

    The kernel blends main effects with diffusion. Most objectives have main effects, and few data suffice for them. The
    prior of the diffusion is scaled by the number of variables. Values far worse than the median are compressed.

    Two models are fitted. One expects next to no noise, the other expects a third of the variance to be noise and has
    four times the prior probability. Among points that do not repeat, little but the prior tells noise from a rough
    function; some 20 values of a function without noise overcome it. Labels of success and failure are taken for quiet.

    domain: a `Space` without `Real` variables.

    Raises DomainError.
    """
    kernel = WeightedSum(MainEffects(variable_graphs(domain)), space_kernel(domain), Normal(0.4, 1.0), initial=0.4)
    quiet = MAPGP(kernel, domain.join, Normal(-5.0, 1.0), -5.0)  # log variances of standardized values
    noisy = replace(quiet, noise_prior=Normal(-1.0, 1.0), initial_log_noise=-1.0)
    return BayesianSearch(
        domain,
        OutputWarping(NoiseSelection(quiet, noisy, log_odds=math.log(4.0))),
        Feasible(Improvement(LogExpectedImprovement(), best_predicted), quiet, domain.join),
        LocalSearch(random=2_000, spray=1_000, ascents=10, leaps=True, most=400_000),
        n_initial=10,
        n_starts=5,
    )


def for_programs(domain: SearchSpace) -> BayesianSearch:
    """Build Bayesian optimization of programs: a GP on their choices at its mode, log EI, evolution from the best.

    Values far worse than the median are compressed.

    domain: a `SearchSpace` of the search-space language.
    """
    surrogate = MAPGP(program_kernel(domain), domain.join, Normal(-5.0, 1.0), -5.0)
    return BayesianSearch(
        domain,
        OutputWarping(surrogate),
        Feasible(Improvement(LogExpectedImprovement(), best_predicted), surrogate, domain.join),
        Evolution(),
        n_initial=10,
        n_starts=None,
        surroundings=mutations_of,
    )
