"""The searches of `bostruct nas`, as values: two that need no download, and one on CIFAR-10."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bostruct.checks import check_choice
from bostruct.contracts import DomainError
from bostruct.domains.architecture.domain import ArchitectureDomain, Bounds, cnn_domain, mlp_domain
from bostruct.domains.architecture.value import Architecture
from bostruct.nas.cifar import PROTOCOLS, cifar10, read_cifar10
from bostruct.nas.data import Dataset, diabetes, digits
from bostruct.nas.objectives import NetworkObjective
from bostruct.nas.outcomes import Trained
from bostruct.nas.own_layers import LayerBuilders, read_layers
from bostruct.nas.recipes import FAST, Recipe

MAX_SECONDS = 60.0  # seconds a training: one that takes longer is no network for this data
FIFTHS = 5


@dataclass(frozen=True)
class Search:
    """A search of `bostruct nas`.

    domain: gives the domain of architectures; takes ``pool`` and ``family`` as `cnn_domain` does.
    longest: seconds a training, None for no limit.
    """

    dataset: str
    load: Callable[[], Dataset]
    domain: Callable[..., ArchitectureDomain]
    by_hand: str
    recipe: Recipe
    trials: int
    measure: str
    repeats: int = 1
    longest: float | None = MAX_SECONDS
    device: str = "cpu"
    title: str = ""
    call: str = ""
    builders: LayerBuilders | None = None

    def objective(self, seed: int = 0, repeats: int | None = None) -> NetworkObjective:
        """Return the objective of the search.

        seed: of the first training, from 0.
        repeats: trainings a trial, None for those of the search.
        """
        times = self.repeats if repeats is None else repeats
        seconds = None if self.longest is None else self.longest * times
        return NetworkObjective(
            self.load(),
            self.recipe,
            repeats=times,
            seed=seed,
            device=self.device,
            seconds=seconds,
            builders=self.builders,
        )

    def network_by_hand(self) -> Architecture:
        """Return the network that somebody would try first."""
        return Architecture.chain(self.by_hand)


def search_of(
    dataset: str,
    *,
    data: str | Path | None = None,
    protocol: str = "fast",
    epochs: int | None = None,
    device: str = "cpu",
    layers: str | Path | None = None,
) -> Search:
    """Return the search of `bostruct nas` for a data set.

    data: of CIFAR-10, its path, as of `CIFAR10Objective`; None for the others.
    protocol: of CIFAR-10, as of `CIFAR10Objective`.
    epochs: other than the recipe's, None for those.
    device: ``cpu``, ``cuda`` or ``cuda:<number>``.
    layers: a file of layers of your own, as of `bostruct.nas.own_layers.read_layers`; None for none.

    Raises ValueError, and what `bostruct.nas.cifar.read_cifar10` and `read_layers` raise.
    """
    check_choice("dataset", dataset, (*SEARCHES, "cifar10"))
    if (data is None) == (dataset == "cifar10"):
        raise ValueError(f"data: expected a folder for cifar10, and None for others, got {data!r} for {dataset}")
    folder = None if data is None else Path(data).expanduser().absolute()
    made = SEARCHES[dataset] if folder is None else _cifar10(folder, protocol)
    file = None if layers is None else str(Path(layers).expanduser().absolute())
    made = made if file is None else _with_layers(made, file)
    changed = {"protocol": folder and protocol, "epochs": epochs, "layers": file}
    told = {name: value for name, value in changed.items() if value is not None}
    places = {} if folder is None else {"data": str(folder)}
    arguments = {**places, **told, "device": device}
    return replace(
        made,
        recipe=made.recipe if epochs is None else replace(made.recipe, epochs=epochs),
        device=device,
        title=" ".join([dataset, *(f"{name}={value}" for name, value in told.items())]),
        call=", ".join([repr(dataset), *(f"{name}={value!r}" for name, value in arguments.items())]),
    )


def _with_layers(search: Search, file: str) -> Search:
    """Return a search with the layers of a file; begins at the file's pool, or at its own where there is none."""
    own = read_layers(file)
    if own.family.image != search.domain().family.image:
        needed = "images" if search.domain().family.image else "features"
        raise DomainError(f"layers: FAMILY in {file}: expected a family of {needed}, got {own.family.name}")
    pool = {} if own.pool is None else {"pool": own.pool}
    return replace(search, domain=partial(search.domain, family=own.family, **pool), builders=own.builders)


def _cifar10(path: Path, protocol: str) -> Search:
    """Four fifths of the official training images to train on, as all protocols have it, also where there are fewer."""
    chosen = PROTOCOLS[check_choice("protocol", protocol, PROTOCOLS)]
    official = read_cifar10(path)
    held = len(official.train[1]) // FIFTHS
    return Search(
        "cifar10",
        partial(_identity, cifar10(official, len(official.train[1]) - held, held)),
        _CIFAR10,
        "conv3-32 conv3-64/2 conv3-64 conv3-128/2 conv3-128 softmax",
        chosen.recipe,
        40,
        "share of images that are taken for another class",
        chosen.repeats,
        longest=None,
    )


def _identity(data: Dataset) -> Dataset:
    return data


class RetrainedScore(NamedTuple):
    """The test error of an architecture that was trained with several seeds."""

    mean: float
    error: float


def retrain(search: Search, architecture: Architecture, seeds: int = 5, first: int = 100) -> RetrainedScore:
    """Train an architecture anew, and score it on the test examples, whose error the search was not told."""
    return average_test_error(retrain_networks(search, architecture, seeds, first))


def retrain_networks(search: Search, architecture: Architecture, seeds: int = 5, first: int = 100) -> list[Trained]:
    """Train an architecture anew with several seeds, and return a trained network for each.

    seeds: number of trainings.
    """
    objective, known = search.objective(first, seeds), architecture.family.by_name
    if objective.builders is not None:  # a network by hand is of a family without the search's own layers
        objective = replace(objective, builders={x: one for x, one in objective.builders.items() if x in known})
    return objective.train(architecture)


def average_test_error(trained: Sequence[Trained]) -> RetrainedScore:
    """Return the mean test error of several trainings, and its standard error.

    trained: at least two.
    """
    found = [one.test_error for one in trained]
    return RetrainedScore(float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(len(found))))


_DIGITS = partial(
    cnn_domain,
    Bounds(min_layers=4, max_layers=14, max_units=96, max_edges=30, max_halvings=3, max_mass=60_000),
    pool=(
        "conv3-16 conv3-32/2 conv3-32 softmax",
        "conv3-16 conv3-16 max-pool conv3-32 softmax",
        "conv5-16 max-pool conv3-32 fc-64 softmax",
        "res3-16 res3-32/2 fc-32 softmax",
        "conv3-24 avg-pool conv3-48 avg-pool fc-64 softmax",
        "conv3-16 conv3-32 conv3-32/2 fc-64 softmax",
    ),
)
_CIFAR10 = partial(
    cnn_domain,
    Bounds(min_layers=4, max_layers=20, max_units=256, max_edges=50, max_halvings=4, max_mass=250_000),
    pool=(
        "conv3-32 conv3-64/2 conv3-64 softmax",
        "conv3-32 max-pool conv3-64 max-pool conv3-128 softmax",
        "conv3-32 conv3-64/2 conv3-128/2 fc-128 softmax",
        "conv5-32 max-pool conv3-64 conv3-64 max-pool fc-128 softmax",
        "res3-32 res3-64/2 res3-128/2 softmax",
        "res3-32 res3-32 res3-64/2 res3-64 fc-64 softmax",
    ),
)
_DIABETES = partial(
    mlp_domain,
    Bounds(min_layers=3, max_layers=12, max_units=256, max_edges=30),
    pool=(
        "relu-32 linear",
        "tanh-32 linear",
        "elu-64 relu-32 linear",
        "relu-64 relu-64 linear",
        "logistic-32 relu-16 linear",
        "softplus-32 tanh-16 linear",
    ),
)

SEARCHES = {
    "digits": Search(
        "digits",
        digits,
        _DIGITS,
        "conv3-16 max-pool conv3-32 max-pool fc-64 softmax",
        replace(FAST, epochs=10, batch_size=32),
        40,
        "share of digits that are taken for another",
    ),
    "diabetes": Search(
        "diabetes",
        diabetes,
        _DIABETES,
        "relu-64 relu-64 linear",
        replace(FAST, epochs=40, batch_size=32),
        40,
        "mean squared error, of a target of variance 1",
    ),
}
