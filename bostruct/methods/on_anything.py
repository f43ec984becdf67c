"""Methods that ask a domain for what they need, whatever it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import ExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.acquisition.selection import Aging, ByRank, alike
from bostruct.contracts import DomainError, Searcher
from bostruct.domains.decisions import coordinate_values
from bostruct.domains.fidelity import Levels
from bostruct.domains.language.space import SearchSpace
from bostruct.domains.space import Space
from bostruct.methods.beginnings import beginning, pool_of
from bostruct.methods.on_architectures import nasbot
from bostruct.methods.on_programs import for_programs
from bostruct.methods.on_spaces import for_space
from bostruct.methods.refusals import kind_of, refuse_without_kernel
from bostruct.searchers.annealing import Annealing
from bostruct.searchers.bayesian import BayesianSearch, best_predicted
from bostruct.searchers.evolution import EvolutionSearch
from bostruct.searchers.hill_climbing import HillClimbing
from bostruct.searchers.hyperband import Hyperband
from bostruct.searchers.random import RandomSearch
from bostruct.searchers.surroundings import mutants, neighboring
from bostruct.searchers.wrs import WeightedRandomSearch
from bostruct.surrogates.at_top import AtTop
from bostruct.surrogates.fanova import VarianceShares
from bostruct.surrogates.forest import RandomForest


def auto(domain: Any) -> BayesianSearch:
    """The best that we know how to build: `for_space`, `for_programs`, or `nasbot` on architectures and joint domains.

    Raises DomainError for points that no kernel is known for.
    """
    if isinstance(domain, SearchSpace):
        return for_programs(domain)
    if isinstance(domain, Space):
        return for_space(domain)
    refuse_without_kernel(domain)
    return nasbot(domain)


def smac(domain: Any) -> BayesianSearch:
    """Like SMAC (Hutter, Hoos and Leyton-Brown 2011): a random forest, EI, local search from the best and at random.

    On programs and joint domains evolution takes the place of local search.
    """
    if not callable(getattr(domain, "coordinates", None)):
        raise DomainError(f"method: smac needs a domain of named choices, got {kind_of(domain)}")
    is_space = isinstance(domain, Space)
    return BayesianSearch(
        domain,
        RandomForest(domain.coordinates, values=partial(coordinate_values, domain) if is_space else None),
        ExpectedImprovement(),
        LocalSearch(random=500, spray=100, ascents=10) if is_space else Evolution(),
        n_initial=10,
        n_starts=10 if is_space else None,
        surroundings=neighboring if is_space else mutants,
    )


def wrs(
    domain: Any,
    n_random: int = 37,
    mode: Literal["shared", "independent", "single", "auto"] = "auto",
    floor: float = 0.01,
    least: Mapping[str, int] | None = None,
) -> Searcher:
    """Weighted random search (Florea and Andonie 2019), one variable changed at a time; `mode="shared"` as published.

    n_random: the first phase, published as the number of trials over e: 37 of 100. floor: the least probability that a
    variable changes. least: k_i by name, the trials until which a variable changes in every step.
    """
    if not callable(getattr(domain, "redrawn", None)):
        raise DomainError(f"method: wrs needs a domain of named choices, got {kind_of(domain)}")
    if isinstance(domain, Space) and (unknown := sorted(set(least or {}) - set(domain.variables))):
        raise ValueError(f"least: expected names of variables, {', '.join(domain.variables)}; got {unknown[0]!r}")
    return WeightedRandomSearch(domain, VarianceShares(), n_random, mode, floor, least or {})


def evolution(domain: Any) -> Searcher:
    """Mutations of evaluated points, drawn by the rank of their values."""
    design, n_initial = beginning(domain)
    return EvolutionSearch(domain, ByRank(), n_initial, design)


def regularized_evolution(
    domain: Any, population: int = 100, tournament: int = 25, n_initial: int | None = None
) -> Searcher:
    """Mutations of the best of a tournament among the youngest points (Real et al. 2019).

    n_initial: points before the first mutation, published as `population`; None: the domain's pool, or 12, since fewer
    than a few hundred trials are too few to begin with 100 random ones.
    """
    design, n_pool = beginning(domain)
    return EvolutionSearch(domain, Aging(population, tournament), n_initial or n_pool, design)


def random(domain: Any) -> Searcher:
    """Random search without replacement; from a pool, the published walk: mutations of any evaluated point."""
    if not pool_of(domain):
        return RandomSearch(domain)
    design, n_initial = beginning(domain)
    return EvolutionSearch(domain, alike, n_initial, design, origin="random")


def annealing(domain: Any) -> Searcher:
    """Simulated annealing on the objective itself."""
    return Annealing(domain)


def hill_climbing(domain: Any, best_improvement: bool = False) -> Searcher:
    """Local search with random restarts: one exchange, the first improvement, or with `best_improvement` the best."""
    if not callable(getattr(domain, "some_neighbors", None)):
        name = kind_of(domain)
        raise DomainError(f"method: hill-climbing needs a domain whose neighbours can be listed, got {name}")
    return HillClimbing(domain, best_improvement=best_improvement)


def hyperband(domain: Any) -> Searcher:
    """Hyperband, asynchronous (Li et al. 2018, 2020), over the domain's one `Fidelity`."""
    return Hyperband(domain, Levels(domain))


def successive_halving(domain: Any) -> Searcher:
    """Successive halving, asynchronous (Li et al. 2020), over the domain's one `Fidelity`."""
    return Hyperband(domain, Levels(domain), halving=True)


def model_based_hyperband(domain: Any) -> Searcher:
    """Hyperband whose new points a model proposes, which learns from all fidelities (MOBSTER: Klein et al. 2020).

    The model is that of `auto`; its kernel has a factor for the fidelity, and log EI is asked about the highest.
    """
    levels = Levels(domain)
    model = auto(domain)
    at_top = AtTop(model.surrogate, levels.raised)
    return Hyperband(domain, levels, proposals=replace(model, surrogate=at_top, incumbent=best_predicted))
