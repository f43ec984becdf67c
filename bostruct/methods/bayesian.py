"""Bayesian optimization over any domain: a Gaussian process with the user's kernel, or with the domain's distances."""

from __future__ import annotations

from typing import NamedTuple

from bostruct.acquisition.annealed_search import AnnealedSearch
from bostruct.acquisition.bounded_search import Sampling
from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import LOG_EI
from bostruct.acquisition.local_search import JointAscent, LocalSearch
from bostruct.checks import check_part, list_wide
from bostruct.contracts import AcquisitionFunction, Domain, DomainError, Kernel, Maximizer, Surrogate
from bostruct.methods.defaults import default_kernel, find_part_without_kernel, has_schedules, success_model
from bostruct.methods.nasbot import map_surrogate
from bostruct.searchers.bayesian import BayesianSearch, Neighborhood
from bostruct.searchers.proposals import initial_design, mutations_of, neighbors_of, nothing_around
from bostruct.searchers.scores import Feasible, Improvement, best_predicted
from bostruct.surrogates.hyperparameters import Normal, check_kernel_base
from bostruct.surrogates.map_gp import MAPGP
from bostruct.surrogates.warping import OutputWarping

MOST_LISTED = 10_000  # points that are all scored, if descriptors define the similarity of choices
MOST_SCORED = 100_000  # rows of one table that are all scored; from a larger table this many are drawn
MOST_BY_ONE = 100  # variables that a search changes one by one; it changes many of more variables together
NOISE = Normal(-5.0, 1.0)  # log variance of standardized values


class SearchSettings(NamedTuple):
    """The settings to search a domain.

    maximizer: finds the point with the largest score.
    """

    maximizer: Maximizer
    n_starts: int | None
    neighborhood: Neighborhood


def bayesian(
    domain: Domain,
    kernel: Kernel | None = None,
    acquisition: AcquisitionFunction = LOG_EI,
    maximizer: Maximizer | None = None,
    n_initial: int | None = None,
) -> BayesianSearch:
    """Build Bayesian optimization of any domain, from a GP at its mode and a search that suits the domain.

    Values far worse than the median are compressed. The model learns from failed points if `acquisition` is a
    logarithm. `dataclasses.replace` changes any other part.

    Parameters
    ----------
    domain : Domain
        Any domain.
    kernel : Kernel, optional
        A positive semi-definite kernel. By default the domain's kernel: diffusion on a `Space`, choices, OTMANN,
        products over the parts of a joint domain, otherwise exp(-rate * distance) of distances or features, whose
        negative eigenvalues are clipped and recorded.
    acquisition : AcquisitionFunction, default LOG_EI
        The acquisition function.
    maximizer : Maximizer, optional
        Maximizes the acquisition function. By default local search if the domain has neighbors, evolution if it has
        mutations, otherwise random points.
    n_initial : int, optional
        Number of initial points, at least 1. By default the size of the domain's pool, or 12.

    Raises
    ------
    DomainError
        If no kernel is given and none is known.
    TypeError, ValueError
        If an argument is invalid.
    """
    check_part("domain", domain, Domain)
    lacking = find_part_without_kernel(domain) if kernel is None else None
    if lacking is not None:
        raise DomainError(
            f"method: bayesian has no default kernel for {lacking}, which has no variables, choices, distances, "
            "features or architectures; pass one as kernel="
        )
    if kernel is None:
        model: Surrogate = map_surrogate(default_kernel(domain), domain, most=None)
    else:
        check_kernel_base(kernel)
        model = MAPGP(kernel, domain.join, NOISE, -5.0)
    improvement = Improvement(acquisition, best_predicted)
    feasible = Feasible(improvement, success_model(domain, model), domain.join) if acquisition.is_logarithm else None
    search = default_search(domain)
    design, n_design = initial_design(domain)
    return BayesianSearch(
        domain,
        OutputWarping(model),
        feasible or improvement,
        search.maximizer if maximizer is None else maximizer,
        n_initial=n_design if n_initial is None else n_initial,
        n_starts=search.n_starts,
        design=design,
        neighborhood=search.neighborhood,
    )


def default_search(domain: Domain) -> SearchSettings:
    """Return the settings of the search that a domain's capabilities allow."""
    wide = LocalSearch(2_000, num_spray_points=1_000, num_restarts=10, large_steps=True, most=400_000, distinct=False)
    most = MOST_SCORED if len(domain.named_values) == 1 and domain.count_at_most() > MOST_LISTED else MOST_LISTED
    if any(one.likeness is not None for one in domain.variables.values()) and (
        most == MOST_SCORED or domain.count_at_most() <= most
    ):  # neighbors along a descriptor need not be better
        listed = LocalSearch(most, num_spray_points=20, num_restarts=10, large_steps=True, most=20_000, neighbors=200)
        return SearchSettings(listed, 5, neighbors_of)
    if domain.lists_many and len(domain.variables) > MOST_BY_ONE and not domain.n_continuous:
        return SearchSettings(JointAscent(instead=wide), 1, neighbors_of)
    if has_schedules(domain):
        return SearchSettings(AnnealedSearch(), None, neighbors_of)
    if domain.lists_many and list_wide(domain):
        few = LocalSearch(
            1_000, num_spray_points=200, num_restarts=5, large_steps=True, most=50_000, neighbors=200, distinct=False
        )
        return SearchSettings(few, 5, neighbors_of)
    if domain.lists_many:
        return SearchSettings(wide, 5, neighbors_of)
    if domain.traits.local is not None:  # neighbors are listed point by point, which is costly
        return SearchSettings(
            LocalSearch(300, num_spray_points=30, num_restarts=5, most=1_000, distinct=False), 5, neighbors_of
        )
    if domain.traits.mutable:
        return SearchSettings(Evolution(domain.pool), None, mutations_of)
    return SearchSettings(Sampling(), 0, nothing_around)
