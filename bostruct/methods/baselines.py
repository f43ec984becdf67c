"""Methods without a model: evolution, local search, annealing, random search."""

from __future__ import annotations

from bostruct.acquisition.evolution import Aging, ByRank, uniform
from bostruct.checks import require
from bostruct.contracts import Domain, LocalDomain, Searcher
from bostruct.searchers.baselines import Annealing, EvolutionSearch, HillClimbing, RandomSearch
from bostruct.searchers.proposals import initial_design


def evolution(domain: Domain) -> Searcher:
    """Build evolution: suggestions mutate evaluated points, which are drawn by the rank of their values.

    Parameters
    ----------
    domain : Domain
        Any with mutations. The search begins with its pool, or with 12 random points where it has none.

    Raises
    ------
    DomainError
        For a domain without mutations.
    """
    design, n_initial = initial_design(domain)
    return EvolutionSearch(domain, ByRank(), n_initial, design)


def regularized_evolution(
    domain: Domain,
    population: int = 100,
    tournament: int = 25,
    n_initial: int | None = None,
    replacement: bool = True,
) -> Searcher:
    """Build regularized evolution: mutate the best of a tournament among the youngest points (Real et al. 2019).

    Parameters
    ----------
    domain : Domain
        Any with mutations.
    population : int, default 100
        How many of the youngest points live, at least 1.
    tournament : int, default 25
        Draws from them, at least 1.
    n_initial : int, optional
        Points before the first mutation, published as `population`; None: as many as the domain's pool has, or 12
        without a pool, because fewer than a few hundred trials are too few to begin with 100 random ones.
    replacement : bool, default True
        Whether a tournament may draw a point twice (Real et al. 2019); False: distinct points, as the code of Negrinho
        et al. 2019 draws them.

    Raises
    ------
    DomainError
        For a domain without mutations.
    TypeError, ValueError
        If an argument is invalid.
    """
    design, n_pool = initial_design(domain)
    return EvolutionSearch(domain, Aging(population, tournament, replacement), n_initial or n_pool, design)


def random(domain: Domain) -> Searcher:
    """Build random search without replacement; with a pool and mutations, the published walk from the pool.

    The walk mutates any evaluated point, all with the same chance. Of several parts each is drawn independently.

    Parameters
    ----------
    domain : Domain
        Any.
    """
    if domain.parts or not domain.traits.mutable or not len(domain.pool):
        return RandomSearch(domain)
    design, n_initial = initial_design(domain)
    return EvolutionSearch(domain, uniform, n_initial, design, origin="random")


def annealing(domain: Domain) -> Searcher:
    """Build simulated annealing on the objective itself.

    Parameters
    ----------
    domain : Domain
        Any with mutations.

    Raises
    ------
    DomainError
        For a domain without mutations.
    """
    return Annealing(domain)


def hill_climbing(domain: Domain, best_improvement: bool = False) -> Searcher:
    """Build hill climbing: one-exchange local search with random restarts.

    Parameters
    ----------
    domain : Domain
        Any with mutations, or whose neighbors can be listed.
    best_improvement : bool, default False
        Visit all neighbors before moving to the best of them, which asks for neighbors; else move at the first
        improvement.

    Raises
    ------
    DomainError
        For a domain without either.
    TypeError
        If an argument is invalid.
    """
    if best_improvement:
        require(domain.traits.local, domain, LocalDomain, "hill-climbing with best_improvement")
    return HillClimbing(domain, best_improvement=best_improvement)
