"""Searches that need no download: what `bostruct nas` runs, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bostruct.domains.architecture.domain import ArchitectureDomain, Bounds, cnn_domain, mlp_domain
from bostruct.domains.architecture.value import Architecture
from bostruct.nas.data import DATASETS, Dataset
from bostruct.nas.objectives import NetworkObjective
from bostruct.nas.recipes import FAST, Recipe

LONGEST = 60.0  # seconds a training: one that takes longer is no network for this data


@dataclass(frozen=True)
class Search:
    """dataset: its name. domain: which architectures. by_hand: a network that somebody would try first. trials: in
    all, those of the domain's pool included. measure: what the error is.
    """

    dataset: str
    domain: Callable[[], ArchitectureDomain]
    by_hand: str
    recipe: Recipe
    trials: int
    measure: str

    def data(self) -> Dataset:
        return DATASETS[self.dataset]()

    def objective(self, seed: int = 0, repeats: int = 1) -> NetworkObjective:
        return NetworkObjective(self.data(), self.recipe, repeats=repeats, seed=seed, seconds=LONGEST)

    def network_by_hand(self) -> Architecture:
        return Architecture.chain(self.by_hand)


class Retrained(NamedTuple):
    """Mean test error over seeds, and its standard error."""

    mean: float
    error: float


def retrained(search: Search, architecture: Architecture, seeds: int = 5, first: int = 100) -> Retrained:
    """Train anew with seeds that the search did not use, and look at the test examples for the first time."""
    found = [one.test_error for one in search.objective(first, seeds).trained(architecture)]
    return Retrained(float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(seeds)))


def _digits_domain() -> ArchitectureDomain:
    chains = (
        "conv3-16 conv3-32/2 conv3-32 softmax",
        "conv3-16 conv3-16 max-pool conv3-32 softmax",
        "conv5-16 max-pool conv3-32 fc-64 softmax",
        "res3-16 res3-32/2 fc-32 softmax",
        "conv3-24 avg-pool conv3-48 avg-pool fc-64 softmax",
        "conv3-16 conv3-32 conv3-32/2 fc-64 softmax",
    )
    bounds = Bounds(min_layers=4, max_layers=14, max_units=96, max_edges=30, max_halvings=3, max_mass=60_000)
    return cnn_domain(bounds, [Architecture.chain(chain) for chain in chains])


def _diabetes_domain() -> ArchitectureDomain:
    chains = (
        "relu-32 linear",
        "tanh-32 linear",
        "elu-64 relu-32 linear",
        "relu-64 relu-64 linear",
        "logistic-32 relu-16 linear",
        "softplus-32 tanh-16 linear",
    )
    bounds = Bounds(min_layers=3, max_layers=12, max_units=256, max_edges=30)
    return mlp_domain(bounds, [Architecture.chain(chain) for chain in chains])


SEARCHES = {
    "digits": Search(
        "digits",
        _digits_domain,
        "conv3-16 max-pool conv3-32 max-pool fc-64 softmax",
        replace(FAST, epochs=10, batch_size=32),
        40,
        "share of digits that are taken for another",
    ),
    "diabetes": Search(
        "diabetes",
        _diabetes_domain,
        "relu-64 relu-64 linear",
        replace(FAST, epochs=40, batch_size=32),
        40,
        "mean squared error, of a target of variance 1",
    ),
}
