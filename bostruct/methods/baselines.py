"""Methods without a model: evolution, local search, annealing, random search."""

from __future__ import annotations

from bostruct.acquisition.evolution import Aging, ByRank, uniform
from bostruct.checks import require
from bostruct.contracts import Domain, LocalDomain, Searcher
from bostruct.searchers.baselines import Annealing, EvolutionSearch, HillClimbing, RandomSearch
from bostruct.searchers.proposals import initial_design


def evolution(domain: Domain) -> Searcher:
    """Build evolution: suggestions mutate evaluated points, drawn by rank.

    Parameters
    ----------
    domain : Domain
        Any domain with mutations. The search starts with its pool, or with 12 random points.

    Raises
    ------
    DomainError
        If the domain has no mutations.
    """
    design, n_initial = initial_design(domain)
    return EvolutionSearch(domain, ByRank(), n_initial, design)


def regularized_evolution(
    domain: Domain, population: int = 100, tournament: int = 25, n_initial: int | None = None, replacement: bool = True
) -> Searcher:
    """Build regularized evolution: mutate the best of a tournament among the youngest points (Real et al. 2019).

    Parameters
    ----------
    domain : Domain
        Any domain with mutations.
    population : int, default 100
        Number of youngest points in the population, at least 1.
    tournament : int, default 25
        Number of draws in a tournament, at least 1.
    n_initial : int, optional
        Number of points before the first mutation, `population` in the paper. By default the size of the domain's pool,
        or 12, because 100 random points are too many for a few hundred trials.
    replacement : bool, default True
        Whether a tournament may draw a point twice, as in Real et al. 2019; False in the code of Negrinho et al. 2019.

    Raises
    ------
    DomainError
        If the domain has no mutations.
    TypeError, ValueError
        If an argument is invalid.
    """
    design, n_pool = initial_design(domain)
    return EvolutionSearch(domain, Aging(population, tournament, replacement), n_initial or n_pool, design)


def random(domain: Domain) -> Searcher:
    """Build random search without replacement; with a pool and mutations, the published walk from the pool.

    The walk mutates any evaluated point, all with the same probability. Several parts are drawn independently.

    Parameters
    ----------
    domain : Domain
        Any domain.
    """
    if domain.parts or not domain.traits.mutable or not len(domain.pool):
        return RandomSearch(domain)
    design, n_initial = initial_design(domain)
    return EvolutionSearch(domain, uniform, n_initial, design, origin="random")


def annealing(domain: Domain) -> Searcher:
    """Build simulated annealing on the objective.

    Parameters
    ----------
    domain : Domain
        Any domain with mutations.

    Raises
    ------
    DomainError
        If the domain has no mutations.
    """
    return Annealing(domain)


def hill_climbing(domain: Domain, best_improvement: bool = False) -> Searcher:
    """Build hill climbing: local search with random restarts.

    Parameters
    ----------
    domain : Domain
        Any domain with mutations, or with neighbors that can be listed.
    best_improvement : bool, default False
        If True, the search evaluates all neighbors, which the domain must list, and moves to the best of them. If
        False, it moves at the first improvement.

    Raises
    ------
    DomainError
        If the domain has neither.
    TypeError
        If an argument is invalid.
    """
    if best_improvement:
        require(domain.traits.local, domain, LocalDomain, "hill-climbing with best_improvement")
    return HillClimbing(domain, best_improvement=best_improvement)
