"""The spaces in which the papers searched networks for CIFAR-10, each with its protocol, its method and its trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bostruct.contracts import Domain, Presented
from bostruct.domains.architecture.domain import Bounds, cnn_domain, cnn_pool
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.language.program import Program
from bostruct.domains.language.space import SearchSpace
from bostruct.nas.spaces.combo_cell import INITIAL_CELLS, ComboObjective, bits_space, program_of
from bostruct.nas.spaces.genetic import genetic_cnn
from bostruct.nas.spaces.hierarchical import flat, hierarchical
from bostruct.nas.spaces.nasbench101 import nasbench101
from bostruct.nas.spaces.nasnet import nasnet
from bostruct.nas.spaces.wrs_cnn import wrs_cnn

NARROWEST = 4  # filters or units of a layer of a reduced space


def scale_widths(widths: Sequence[int], scale: float) -> tuple[int, ...]:
    """Return numbers of filters or units times a scale, each at least 4.

    widths: numbers from 1.
    scale: in (0, 1].
    """
    return tuple(one if scale == 1.0 else max(round(one * scale), NARROWEST) for one in widths)


@dataclass(frozen=True)
class PaperSpace:
    """A space that a paper searched for CIFAR-10.

    paper: its authors and year, and what it did there.
    protocol: how networks are trained, one of `bostruct.nas.cifar.PROTOCOLS`.
    method: the paper's method, or its first.
    trials: evaluations of a search, as published.
    build: scale in (0, 1] -> the domain; a scale multiplies filters and units.
    initial: points that every published search begins with.
    measure: what is minimized, in words.
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
        """Return what the paper minimizes, of a point of the domain.

        error: of a network.
        """
        return error


class CellsByBits(PaperSpace):
    """COMBO's cells as 31 bits; it minimizes the error plus a price of FLOPs, 0.92 for cells without a path."""

    def network(self, point: Presented, scale: float) -> Program:
        return program_of([int(point[f"bit_{i}"]) for i in range(31)], scale_widths((16, 32, 64), scale))

    def objective(self, error: Callable[[Presented], float], scale: float) -> Callable[[Presented], float]:
        return ComboObjective(error, scale_widths((16, 32, 64), scale))


def _nasbot_domain(scale: float) -> Domain:
    """Return NASBOT's domain, 5 to 60 layers of 8 to 1,024 units, with its pool of 12, narrower by a scale."""
    if scale == 1.0:
        return cnn_domain()
    least, most = scale_widths((8, 1024), scale)
    pool = [_narrowed(one, scale) for one in cnn_pool()]
    return cnn_domain(Bounds(min_units=least, max_units=max(most, 2 * least)), pool)


def _narrowed(architecture: Architecture, scale: float) -> Architecture:
    layers = [
        one if one.units is None else one._replace(units=scale_widths((one.units,), scale)[0])
        for one in architecture.layers
    ]
    return Architecture(layers, architecture.edges, architecture.family)


def _wrs_space(scale: float) -> Domain:
    filters, units = scale_widths((100, 1024), scale), scale_widths((1024, 2048), scale)
    return SearchSpace(wrs_cnn(filters=(filters[0], filters[1]), units=(units[0], units[1])))


def _spaces_of_deeparchitect() -> dict[str, PaperSpace]:
    """Return its five spaces: random search drew 128 networks of a space, its searchers 256 of the Genetic one."""
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
