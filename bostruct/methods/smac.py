"""SMAC (Hutter, Hoos and Leyton-Brown 2011), and the numbers and choices by which its forest tells points apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import ExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.checks import check_part, name_wide
from bostruct.contracts import Choice, Domain, DomainError, FeatureDomain, Point
from bostruct.domains.architecture.measures import summarize
from bostruct.domains.part_choices import DescribedParts
from bostruct.methods.defaults import stands_for_architectures
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.proposals import mutations_of, neighbors_of
from bostruct.searchers.scores import Improvement
from bostruct.surrogates.forest import RandomForest

LARGEST = 1e30  # of a feature; trees compare numbers in single precision


def smac(domain: Domain) -> BayesianSearch:
    """Build a search like SMAC (Hutter, Hoos and Leyton-Brown 2011): random forest, EI, local search.

    Local search starts from the best points and at random. On domains whose neighbors cannot be listed for several
    points at once, such as programs, evolution replaces it.

    Parameters
    ----------
    domain : Domain
        Named choices, features or architectures with mutations, or several such parts.

    Raises
    ------
    DomainError
        If the domain is not supported.
    """
    choices, single = describe_points(check_part("domain", domain, Domain), "smac"), domain.traits.choices
    variables = domain.variables.values()
    if not variables or any(one.when for one in variables):  # points have other choices than others
        single = None
    return BayesianSearch(
        domain,
        RandomForest(choices, values=None if single is None else single.coordinate_values),
        Improvement(ExpectedImprovement()),
        LocalSearch(500, num_spray_points=100, num_restarts=10, distinct=False) if domain.lists_many else Evolution(),
        n_initial=10,
        n_starts=10 if domain.lists_many else None,
        neighborhood=neighbors_of if domain.lists_many else mutations_of,
    )


def describe_points(domain: Domain, method: str) -> Callable[[Point], Sequence[Choice]]:
    """Return a function that lists what a forest is told of a point: its choices, features, or summary.

    Raises DomainError for any other domain, naming the part.
    """
    return _describe_domain(domain, method, "").coordinates


def _describe_domain(domain: Any, method: str, name: str) -> Any:
    """Return what lists the choices of a domain's points; name: of the part that it is, empty for none."""
    if (choices := domain.traits.choices) is not None:
        return choices
    if domain.parts:
        return DescribedParts(domain, [_describe_domain(part, method, own) for own, part in domain.parts.items()])
    if (described := domain.traits.features) is not None:
        return Description(Features(described))
    if stands_for_architectures(domain):
        return Description(Summary(domain))
    got = domain.label_in_messages + name_wide(domain) + (f" in the part {name!r}" if name else "")
    raise DomainError(f"method: {method} needs a domain of named choices, features or architectures, got {got}")


@dataclass(frozen=True)
class Description:
    """The view of a domain as one of named choices that cannot be drawn again: a number is a continuous choice."""

    numbers: Callable[[Point], Mapping[str, float]]

    def coordinates(self, x: Point) -> list[Choice]:
        """List the numbers of a point."""
        return [Choice(name, name, float(value), math.inf, True) for name, value in self.numbers(x).items()]


@dataclass(frozen=True)
class Features:
    """The features of a domain, by their positions."""

    domain: FeatureDomain

    def __call__(self, x: Point) -> dict[str, float]:
        row = np.clip(np.asarray(self.domain.features([x]), dtype=np.float64)[0], -LARGEST, LARGEST)
        return {f"feature {i}": value for i, value in enumerate(row.tolist())}


@dataclass(frozen=True)
class Summary:
    """The numbers that summarize the architecture of a point."""

    domain: Domain

    def __call__(self, x: Point) -> dict[str, float]:
        """Return the numbers by name."""
        return summarize(self.domain.architectures([x])[0])
