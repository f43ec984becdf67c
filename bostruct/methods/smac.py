"""SMAC (Hutter, Hoos and Leyton-Brown 2011)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import ExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.checks import check_part
from bostruct.contracts import Array, Domain, IntArray
from bostruct.domains.space.decisions import coordinate_values
from bostruct.domains.space.space import Space
from bostruct.methods.descriptions import describe_points
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.proposals import mutations_of, neighbors_of
from bostruct.searchers.scores import Improvement
from bostruct.surrogates.forest import RandomForest


def smac(domain: Domain) -> BayesianSearch:
    """Build a search like SMAC (Hutter, Hoos and Leyton-Brown 2011): random forest, EI, local search.

    Local search starts from the best points and at random. Evolution takes its place where the neighbors of several
    points cannot be listed at once, as on programs.

    domain: with mutations, of named choices, features or architectures; or a joint domain or a `Space` of such parts.

    Raises DomainError.
    """
    choices = describe_points(check_part("domain", domain, Domain), "smac")
    return BayesianSearch(
        domain,
        RandomForest(choices, values=_values_of(domain)),
        Improvement(ExpectedImprovement()),
        LocalSearch(random=500, spray=100, ascents=10) if domain.lists_many else Evolution(),
        n_initial=10,
        n_starts=10 if domain.lists_many else None,
        surroundings=neighbors_of if domain.lists_many else mutations_of,
    )


def _values_of(domain: Domain) -> Callable[[IntArray], Array] | None:
    """Return the values of all coordinates of many points at once, where every point has the same ones; else None."""
    if isinstance(domain, Space) and not domain.conditions:
        return partial(coordinate_values, domain)
    return None
