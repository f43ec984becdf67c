"""Methods without a model: evolution, local search, annealing, random search."""

from __future__ import annotations

from bostruct.acquisition.selection import Aging, ByRank, uniform
from bostruct.checks import has_capability, require
from bostruct.contracts import Domain, HasMutation, HasNeighbors, HasParts, Searcher
from bostruct.methods.initial_designs import initial_design, pool_of
from bostruct.searchers.annealing import Annealing
from bostruct.searchers.evolution import EvolutionSearch
from bostruct.searchers.hill_climbing import HillClimbing
from bostruct.searchers.random import RandomSearch


def evolution(domain: Domain) -> Searcher:
    """Build evolution: suggestions mutate evaluated points, which are drawn by the rank of their values.

    domain: any with mutations. The search begins with its pool, or with 12 random points where it has none.

    Raises DomainError for a domain without mutations.
    """
    domain = require(domain, HasMutation, "evolution")
    design, n_initial = initial_design(domain)
    return EvolutionSearch(domain, ByRank(), n_initial, design)


def regularized_evolution(
    domain: Domain, population: int = 100, tournament: int = 25, n_initial: int | None = None
) -> Searcher:
    """Build regularized evolution: mutate the best of a tournament among the youngest points (Real et al. 2019).

    domain: any with mutations.
    population: how many of the youngest points live, at least 1.
    tournament: draws from them, with replacement, at least 1.
    n_initial: points before the first mutation, published as `population`; None: as many as the domain's pool has, or
        12 without a pool, because fewer than a few hundred trials are too few to begin with 100 random ones.

    Raises DomainError for a domain without mutations, TypeError, ValueError.
    """
    domain = require(domain, HasMutation, "regularized-evolution")
    design, n_pool = initial_design(domain)
    return EvolutionSearch(domain, Aging(population, tournament), n_initial or n_pool, design)


def random(domain: Domain) -> Searcher:
    """Build random search without replacement; with a pool and mutations, the published walk from the pool.

    The walk mutates any evaluated point, all with the same chance. Of several parts each is drawn independently.

    domain: any.
    """
    if has_capability(domain, HasParts) or not has_capability(domain, HasMutation) or not len(pool_of(domain)):
        return RandomSearch(domain)
    design, n_initial = initial_design(domain)
    return EvolutionSearch(domain, uniform, n_initial, design, origin="random")


def annealing(domain: Domain) -> Searcher:
    """Build simulated annealing on the objective itself.

    domain: any with mutations.

    Raises DomainError for a domain without mutations.
    """
    return Annealing(require(domain, HasMutation, "annealing"))


def hill_climbing(domain: Domain, best_improvement: bool = False) -> Searcher:
    """Build hill climbing: one-exchange local search with random restarts.

    domain: any with mutations, or whose neighbors can be listed.
    best_improvement: visit all neighbors before moving to the best of them, which asks for neighbors; else move at the
        first improvement.

    Raises DomainError for a domain without either, TypeError.
    """
    if not best_improvement and not has_capability(domain, HasNeighbors):
        return HillClimbing(require(domain, HasMutation, "hill-climbing"))
    return HillClimbing(require(domain, HasNeighbors, "hill-climbing"), best_improvement=best_improvement)
