"""Methods without a model: evolution, local search, annealing, random search."""

from __future__ import annotations

from typing import Any

from bostruct.acquisition.selection import Aging, ByRank, uniform
from bostruct.contracts import DomainError, Searcher
from bostruct.methods.initial_designs import initial_design, pool_of
from bostruct.methods.refusals import domain_label
from bostruct.searchers.annealing import Annealing
from bostruct.searchers.evolution import EvolutionSearch
from bostruct.searchers.hill_climbing import HillClimbing
from bostruct.searchers.random import RandomSearch


def evolution(domain: Any) -> Searcher:
    """Mutations of evaluated points, drawn by the rank of their values."""
    design, n_initial = initial_design(domain)
    return EvolutionSearch(domain, ByRank(), n_initial, design)


def regularized_evolution(
    domain: Any, population: int = 100, tournament: int = 25, n_initial: int | None = None
) -> Searcher:
    """Mutations of the best of a tournament among the youngest points (Real et al. 2019).

    n_initial: points before the first mutation, published as `population`; None: the domain's pool, or 12, since fewer
    than a few hundred trials are too few to begin with 100 random ones.
    """
    design, n_pool = initial_design(domain)
    return EvolutionSearch(domain, Aging(population, tournament), n_initial or n_pool, design)


def random(domain: Any) -> Searcher:
    """Random search without replacement; from a pool, the published walk: mutations of any evaluated point."""
    if not pool_of(domain):
        return RandomSearch(domain)
    design, n_initial = initial_design(domain)
    return EvolutionSearch(domain, uniform, n_initial, design, origin="random")


def annealing(domain: Any) -> Searcher:
    """Simulated annealing on the objective itself."""
    return Annealing(domain)


def hill_climbing(domain: Any, best_improvement: bool = False) -> Searcher:
    """Local search with random restarts: one exchange, the first improvement, or with `best_improvement` the best."""
    if not callable(getattr(domain, "sample_neighbors", None)):
        name = domain_label(domain)
        raise DomainError(f"method: hill-climbing needs a domain whose neighbors can be listed, got {name}")
    return HillClimbing(domain, best_improvement=best_improvement)
