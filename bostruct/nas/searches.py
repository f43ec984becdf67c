"""The searches of `bostruct nas`: two that need no download, and one on CIFAR-10, over spaces of papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from bostruct.checks import check_choice, check_number
from bostruct.contracts import Domain, DomainError, Presented
from bostruct.domains.architecture.domain import Bounds, cnn_domain, cnn_pool, mlp_domain
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.language.program import Program
from bostruct.domains.language.space import SearchSpace
from bostruct.nas.cifar import CLASSES, PROTOCOLS, cifar10, read_cifar10, synthetic_cifar10
from bostruct.nas.data import Dataset, diabetes, digits
from bostruct.nas.objectives import NetworkObjective
from bostruct.nas.outcomes import Trained
from bostruct.nas.own_layers import LayerBuilders, read_layers
from bostruct.nas.recipes import FAST, Recipe
from bostruct.nas.spaces.combo_cell import INITIAL_CELLS, ComboObjective, bits_space, program_of
from bostruct.nas.spaces.genetic import genetic_cnn
from bostruct.nas.spaces.hierarchical import flat, hierarchical
from bostruct.nas.spaces.nasbench101 import nasbench101
from bostruct.nas.spaces.nasnet import nasnet
from bostruct.nas.spaces.wrs_cnn import wrs_cnn

NARROWEST = 4  # smallest number of filters or units of a layer of a reduced space
MAX_SECONDS = 60.0  # seconds per training: slower networks are unsuitable for this data
FIFTHS = 5
CHAINS = "chains"  # bostruct's own space for CIFAR-10
SYNTHETIC = "synthetic"  # instead of a folder of images


def scale_widths(widths: Sequence[int], scale: float) -> tuple[int, ...]:
    """Return numbers of filters or units times a scale, each at least 4.

    widths: numbers from 1.
    scale: in (0, 1].
    """
    return tuple(one if scale == 1.0 else max(round(one * scale), NARROWEST) for one in widths)


@dataclass(frozen=True)
class PaperSpace:
    """A space that a paper searched for CIFAR-10.

    paper: authors and year of the paper, and the experiment.
    protocol: how networks are trained, one of `bostruct.nas.cifar.PROTOCOLS`.
    method: the paper's method, or its first method.
    trials: evaluations of a search, as published.
    build: function from a scale in (0, 1] to the domain; the scale multiplies filters and units.
    initial: initial points of every published search.
    measure: description of the minimized quantity.
    """

    paper: str
    protocol: str
    method: str
    trials: int
    build: Callable[[float], Domain]
    initial: tuple[Presented, ...] = ()
    measure: str = "share of images that are taken for another class"

    def network(self, point: Presented, scale: float) -> Architecture | Program:
        """Return the network of a point of the domain."""
        return point

    def objective(self, error: Callable[[Presented], float], scale: float) -> Callable[[Presented], float]:
        """Return the objective of the paper, a function of a point of the domain.

        error: error of a network.
        """
        return error


class CellsByBits(PaperSpace):
    """COMBO's cells as 31 bits; it minimizes the error plus a penalty on FLOPs, 0.92 for cells without a path."""

    def network(self, point: Presented, scale: float) -> Program:
        return program_of([int(point[f"bit_{i}"]) for i in range(31)], scale_widths((16, 32, 64), scale))

    def objective(self, error: Callable[[Presented], float], scale: float) -> Callable[[Presented], float]:
        return ComboObjective(error, scale_widths((16, 32, 64), scale))


def _nasbot_domain(scale: float) -> Domain:
    """Return NASBOT's domain, 5 to 60 layers of 8 to 1,024 units, with its pool of 12; widths times a scale."""
    if scale == 1.0:
        return cnn_domain()
    least, most = scale_widths((8, 1024), scale)
    pool = [_narrowed(one, scale) for one in cnn_pool()]
    return cnn_domain(Bounds(min_units=least, max_units=max(most, 2 * least)), pool)


def _narrowed(architecture: Architecture, scale: float) -> Architecture:
    widths = [None if one.units is None else scale_widths((one.units,), scale)[0] for one in architecture.layers]
    layers = [one._replace(units=units) for one, units in zip(architecture.layers, widths, strict=True)]
    return Architecture(layers, architecture.edges, architecture.family)


def _wrs_space(scale: float) -> Domain:
    filters, units = scale_widths((100, 1024), scale), scale_widths((1024, 2048), scale)
    return SearchSpace(wrs_cnn(filters=(filters[0], filters[1]), units=(units[0], units[1])))


def _spaces_of_deeparchitect() -> dict[str, PaperSpace]:
    """Return the five spaces of the paper: 128 trials of random search each, 256 of its searchers on Genetic CNN."""
    paper, wide = "Negrinho et al. 2019", (64, 128, 256)
    builders: dict[str, Callable[[float], Domain]] = {
        "flat": lambda scale: SearchSpace(flat(filters=scale_widths(wide, scale))),
        "hierarchical": lambda scale: SearchSpace(hierarchical(filters=scale_widths(wide, scale))),
        "nasbench": lambda scale: SearchSpace(nasbench101(filters=scale_widths((128,), scale)[0])),
        "nasnet": lambda scale: SearchSpace(nasnet(filters=scale_widths((36,), scale)[0])),
    }

    def genetic(scale: float) -> Domain:
        return SearchSpace(genetic_cnn(filters=scale_widths(wide, scale), units=scale_widths((1024,), scale)[0]))

    return {
        "deeparchitect-genetic": PaperSpace(f"{paper}, Table 2: searchers", "deeparchitect", "smbo", 256, genetic),
        **{
            name: PaperSpace(f"{paper}, Table 1: spaces", "deeparchitect", "random", 128, build)
            for name, build in builders.items()
        },
    }


PAPER_SPACES: dict[str, PaperSpace] = {
    "combo-cell": CellsByBits(
        "Oh et al. 2019, Figure 2: COMBO, BOCS, evolution, random search",
        "combo",
        "combo",
        260,
        lambda _: bits_space(),
        tuple({f"bit_{i}": int(bit) for i, bit in enumerate(cell)} for cell in INITIAL_CELLS),
        "share of images that are taken for another class; in validation plus 0.02 FLOPs / FLOPs of the largest cell",
    ),
    "nasbot-cnn": PaperSpace(
        "Kandasamy et al. 2018, Figure 2: NASBOT, evolution, random search", "nasbot", "nasbot", 100, _nasbot_domain
    ),
    **_spaces_of_deeparchitect(),
    "wrs-cnn": PaperSpace("Florea and Andonie 2019, Table 4: WRS", "wrs", "wrs", 300, _wrs_space),
}


@dataclass(frozen=True)
class Search:
    """A search of `bostruct nas`.

    domain: returns the domain; a domain of architectures takes ``pool`` and ``family`` like `cnn_domain`.
    longest: seconds per training, None for no limit.
    method: default method.
    protocol: protocol for CIFAR-10; empty for other data.
    space: a space of a paper, None for bostruct's chains.
    scale: scale of a reduced search, in (0, 1].
    reduced: description of what the scale has reduced; empty at 1.
    """

    dataset: str
    load: Callable[[], Dataset]
    domain: Callable[..., Any]
    by_hand: str
    recipe: Recipe
    trials: int
    measure: str
    repeats: int = 1
    longest: float | None = MAX_SECONDS
    device: str = "cpu"
    devices: Sequence[str] | Literal["all"] | None = None
    title: str = ""
    call: str = ""
    builders: LayerBuilders | None = None
    method: str = "nasbot"
    protocol: str = ""
    space: PaperSpace | None = None
    scale: float = 1.0
    reduced: str = ""

    @property
    def initial(self) -> tuple[Presented, ...]:
        """The initial points of the search, in addition to the domain's pool."""
        return () if self.space is None else self.space.initial

    def network(self, point: Presented) -> Architecture | Program:
        """Return the network of a point of the domain."""
        return point if self.space is None else self.space.network(point, self.scale)

    def minimized(self) -> Callable[[Presented], float]:
        """Return the objective of the search, a function of a point of the domain."""
        error = self.objective()
        return error if self.space is None else self.space.objective(error, self.scale)

    def to_json(self, point: Presented) -> dict[str, Any]:
        """Describe a point of the domain as JSON data; `point_of` reads it."""
        if isinstance(point, Architecture):
            found: Any = point.to_json()
            return found
        domain = self.domain()
        return {"point": domain.encode(domain.parse(point))}

    def point_of(self, data: dict[str, Any]) -> Presented:
        """Return the point that `to_json` described."""
        domain = self.domain()
        if "point" in data:
            return domain.present(domain.decode(data["point"]))
        return Architecture.from_json(data, domain.family)

    def objective(self, seed: int = 0, repeats: int | None = None) -> NetworkObjective:
        """Return the objective of the search.

        seed: seed of the first training, from 0.
        repeats: trainings per trial; None for the search's own number.
        """
        times = self.repeats if repeats is None else repeats
        seconds = None if self.longest is None else self.longest * times
        return NetworkObjective(
            self.load(),
            self.recipe,
            repeats=times,
            seed=seed,
            device=self.device,
            devices=self.devices,
            seconds=seconds,
            builders=self.builders,
        )

    def network_by_hand(self) -> Architecture:
        """Return a hand-designed baseline network."""
        return Architecture.chain(self.by_hand)


def search_of(
    dataset: str,
    *,
    data: str | Path | None = None,
    protocol: str | None = None,
    epochs: int | None = None,
    device: str = "cpu",
    devices: Sequence[str] | Literal["all"] | None = None,
    layers: str | Path | None = None,
    space: str = CHAINS,
    scale: float = 1.0,
) -> Search:
    """Return the search of `bostruct nas` for a data set.

    data: path of CIFAR-10, see `CIFAR10Objective`, or ``synthetic`` for `synthetic_cifar10`; None for other data.
    protocol: protocol for CIFAR-10, see `CIFAR10Objective`; by default the space's own, ``fast`` for chains.
    epochs: number of epochs; None for the recipe's number.
    device: ``cpu``, ``cuda`` or ``cuda:<number>``.
    devices: devices of several workers, see `NetworkObjective`; None for `device`.
    layers: a file of custom layers, if any, see `bostruct.nas.own_layers.read_layers`.
    space: space for CIFAR-10, one of `bostruct.nas.searches.PAPER_SPACES`, or ``chains`` for bostruct's own.
    scale: scale for CIFAR-10, in (0, 1]: multiplies images, epochs, trials and, in a paper's space, filters and units;
        below 1, each network is trained once.

    Raises ValueError, and the errors of `bostruct.nas.cifar.read_cifar10` and `read_layers`.
    """
    check_choice("dataset", dataset, (*SEARCHES, "cifar10"))
    if (data is None) == (dataset == "cifar10"):
        raise ValueError(f"data: expected a folder for cifar10, and None for others, got {data!r} for {dataset}")
    check_choice("space", space, (CHAINS, *PAPER_SPACES))
    check_number("scale", scale, above=0.0, high=1.0)
    if data is None and (protocol, space, scale) != (None, CHAINS, 1.0):
        raise ValueError(f"protocol, space, scale: expected none of them for {dataset}; only cifar10 has them")
    paper = PAPER_SPACES.get(space)
    protocol = protocol or ("fast" if paper is None else paper.protocol)
    folder = data if data in (None, SYNTHETIC) else Path(data).expanduser().absolute()
    made = SEARCHES[dataset] if folder is None else _cifar10(folder, protocol, paper, float(scale), epochs)
    file = None if layers is None else str(Path(layers).expanduser().absolute())
    made = made if file is None else _with_layers(made, file)
    if file is not None and paper is not None:
        raise ValueError(f"layers: expected none with the space {space!r}, which has its own")
    changed = {"protocol": folder and protocol, "epochs": epochs, "layers": file}
    changed |= {"space": None if paper is None else space, "scale": None if scale == 1.0 else scale}
    given = {name: value for name, value in changed.items() if value is not None}
    places = {} if folder is None else {"data": str(folder)}
    arguments = {**places, **given, "device": device}
    return replace(
        made,
        recipe=made.recipe if epochs is None else replace(made.recipe, epochs=epochs),
        device=device,
        devices=devices,
        title=" ".join([dataset, *(f"{name}={value}" for name, value in given.items())]),
        call=", ".join([repr(dataset), *(f"{name}={value!r}" for name, value in arguments.items())]),
    )


def _with_layers(search: Search, file: str) -> Search:
    """Return a search with the layers of a file; it starts from the file's pool, if any, otherwise from its own."""
    own = read_layers(file)
    if own.family.image != search.domain().family.image:
        needed = "images" if search.domain().family.image else "features"
        raise DomainError(f"layers: FAMILY in {file}: expected a family of {needed}, got {own.family.name}")
    pool = {} if own.pool is None else {"pool": own.pool}
    return replace(search, domain=partial(search.domain, family=own.family, **pool), builders=own.builders)


def _cifar10(path: str | Path, protocol: str, paper: PaperSpace | None, scale: float, epochs: int | None) -> Search:
    """Return the search on CIFAR-10; as in all protocols, four fifths of the official training images train."""
    chosen = PROTOCOLS[check_choice("protocol", protocol, PROTOCOLS)]
    images = [max(round(count * scale), len(CLASSES)) for count in (50_000, 10_000)]
    official = synthetic_cifar10(*images) if path == SYNTHETIC else read_cifar10(path)
    used = max(min(len(official.train[1]), round(len(official.train[1]) * scale)), FIFTHS)
    used = len(official.train[1]) if scale == 1.0 or path == SYNTHETIC else used
    held = used // FIFTHS
    trials = 40 if paper is None else paper.trials
    made = Search(
        "cifar10",
        partial(_identity, cifar10(official, used - held, held)),
        _CIFAR10 if paper is None else partial(paper.build, scale),
        _by_hand(scale),
        chosen.recipe,
        trials,
        PaperSpace.measure if paper is None else paper.measure,
        chosen.repeats,
        longest=None,
        method="nasbot" if paper is None else paper.method,
        protocol=protocol,
        space=paper,
        scale=scale,
    )
    if scale == 1.0:
        return made
    epochs = epochs or max(round(chosen.recipe.epochs * scale), 1)
    fewer = max(round(trials * scale), len(made.initial) + 2)
    reduced = (
        f"widths times {scale:g} (at least 4), {used - held} training images, {epochs} of {chosen.recipe.epochs} epochs"
    )
    reduced += f", 1 of {chosen.repeats} trainings per trial" if chosen.repeats > 1 else ""
    return replace(made, recipe=replace(chosen.recipe, epochs=epochs), trials=fewer, repeats=1, reduced=reduced)


def _by_hand(scale: float) -> str:
    """Return a hand-designed baseline network, with widths times a scale."""
    narrow, middle, wide = scale_widths((32, 64, 128), scale)
    return f"conv3-{narrow} conv3-{middle}/2 conv3-{middle} conv3-{wide}/2 conv3-{wide} softmax"


def _identity(data: Dataset) -> Dataset:
    return data


class RetrainedScore(NamedTuple):
    """The test error of an architecture that was trained with several seeds."""

    mean: float
    error: float


def retrain(search: Search, network: Architecture | Program, seeds: int = 5, first: int = 100) -> RetrainedScore:
    """Retrain a network, and score it on the test examples, which the search does not use."""
    return average_test_error(retrain_networks(search, network, seeds, first))


def retrain_networks(
    search: Search, network: Architecture | Program, seeds: int = 5, first: int = 100
) -> list[Trained]:
    """Retrain a network with several seeds, and return a trained network for each.

    seeds: number of trainings.
    """
    objective = search.objective(first, seeds)
    if objective.builders is not None and isinstance(network, Architecture):
        known = network.family.by_name  # the family of a hand-designed network lacks the search's own layers
        objective = replace(objective, builders={x: one for x, one in objective.builders.items() if x in known})
    return objective.train(network)


def average_test_error(trained: Sequence[Trained]) -> RetrainedScore:
    """Return the mean test error of several trainings, and its standard error.

    trained: at least two.
    """
    found = [one.test_error for one in trained]
    return RetrainedScore(float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(len(found))))


def guessing_error(data: Dataset) -> float:
    """Return the test error of a constant prediction: the most frequent class, or the mean."""
    targets = data.test.targets
    if data.task == "classification":
        return 1.0 - float(targets.bincount().max()) / len(targets)
    return float(targets.var(dim=0, correction=0).mean())


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
