"""SMAC (Hutter, Hoos and Leyton-Brown 2011)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import ExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.checks import require
from bostruct.contracts import Array, Domain, HasChoices, IntArray
from bostruct.domains.space.decisions import coordinate_values
from bostruct.domains.space.space import Space
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.proposals import mutations_of, neighbors_of
from bostruct.searchers.scores import Improvement
from bostruct.surrogates.forest import RandomForest


def smac(domain: Domain) -> BayesianSearch:
    """Build a search like SMAC (Hutter, Hoos and Leyton-Brown 2011): random forest, EI, local search.

    Local search starts from the best points and at random. On programs and joint domains evolution takes its place.

    domain: any of named choices.

    Raises DomainError.
    """
    domain = require(domain, HasChoices, "smac")
    is_space = isinstance(domain, Space)
    return BayesianSearch(
        domain,
        RandomForest(domain.coordinates, values=_values_of(domain)),
        Improvement(ExpectedImprovement()),
        LocalSearch(random=500, spray=100, ascents=10) if is_space else Evolution(),
        n_initial=10,
        n_starts=10 if is_space else None,
        surroundings=neighbors_of if is_space else mutations_of,
    )


def _values_of(domain: Domain) -> Callable[[IntArray], Array] | None:
    """Return the values of all coordinates of many points at once, where every point has the same ones; else None."""
    if isinstance(domain, Space) and not domain.conditions:
        return partial(coordinate_values, domain)
    return None
