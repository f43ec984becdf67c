"""The list of benchmark problems: where each is made, what it is, and its parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

CHOICES = "Choices"
ARCHITECTURES = "Architectures"
GOALS = "Limits and several objectives"
STRUCTURES = "Orders, subsets and sequences"


class ProblemParameter(NamedTuple):
    """One parameter of a problem.

    name: as a user spells it.
    argument: as the factory spells it.
    read: function of its text that returns its value.
    default: as text, "" where it must be given.
    old: the name before, which studies and comparisons on disk may hold; "" for none.
    """

    name: str
    argument: str
    read: Callable[[str], object]
    default: str
    old: str = ""


@dataclass(frozen=True)
class ProblemEntry:
    """A problem that can be loaded.

    module: dotted name of the module that makes it, imported only then.
    factory: name of the function in the module.
    summary: a line for the list of problems.
    parameters: that the user may give.
    group: title under which it is listed.
    """

    module: str
    factory: str
    summary: str
    parameters: tuple[ProblemParameter, ...]
    group: str = CHOICES


def _seed_or_none(text: str) -> int | None:
    return None if text == "none" else int(text)


def _size(name: str, default: int) -> ProblemParameter:
    return ProblemParameter(name, "n", int, str(default))


FILE = ProblemParameter("file", "file", str, "")
SEED = ProblemParameter("seed", "seed", int, "0")
NOISE_SEED = ProblemParameter(
    "noise_seed", "noise_seed", _seed_or_none, "none", "noise"
)  # a seed that draws one of several trainings
FCNET_PARAMETERS = (FILE, ProblemParameter("data", "data", str, "protein_structure"), NOISE_SEED)


ENTRIES: dict[str, ProblemEntry] = {
    "contamination": ProblemEntry(
        "bostruct.problems.contamination",
        "contamination",
        "25 binary stages of a supply chain: prevent contamination or not",
        (
            ProblemParameter("case", "case", int, "758"),
            ProblemParameter("lambda", "strength", float, "0"),
            ProblemParameter("stages", "stages", int, "25"),
        ),
    ),
    "ising": ProblemEntry(
        "bostruct.problems.ising",
        "ising",
        "24 binary couplings of a 4 x 4 spin glass: keep or leave out",
        (
            ProblemParameter("case", "case", int, "1286"),
            ProblemParameter("lambda", "strength", float, "0"),
        ),
    ),
    "branin": ProblemEntry("bostruct.problems.branin", "branin", "the Branin function on a 51 x 51 grid", ()),
    "pest": ProblemEntry(
        "bostruct.problems.pest",
        "pest",
        "25 stages, nothing or one of 4 pesticides at each; noisy",
        (
            ProblemParameter("graph", "graph", str, "complete"),
            ProblemParameter("noise_seed", "noise_seed", int, "0", "noise"),
        ),
    ),
    "maxsat": ProblemEntry(
        "bostruct.problems.maxsat",
        "maxsat",
        "weighted MaxSAT from a .wcnf file (plain, .gz, .xz)",
        (
            FILE,
            ProblemParameter("weights", "weights", str, "raw"),
        ),
    ),
    "max3sat": ProblemEntry(
        "bostruct.problems.generated",
        "max3sat",
        "random weighted Max-3-SAT, satisfiable (optimum 0)",
        (
            ProblemParameter("variables", "n_variables", int, "60"),
            ProblemParameter("clauses", "n_clauses", int, "300"),
            SEED,
        ),
    ),
    "maxcut": ProblemEntry(
        "bostruct.problems.generated",
        "maxcut",
        "weighted max-cut on the Johnson graph of the k-subsets of n",
        (
            ProblemParameter("n", "n", int, "8"),
            ProblemParameter("k", "k", int, "2"),
            SEED,
        ),
    ),
    "frb": ProblemEntry(
        "bostruct.problems.generated",
        "frb",
        "forced satisfiable model RB as weighted MaxSAT",
        (
            ProblemParameter("groups", "groups", int, "10"),
            ProblemParameter("size", "size", int, "6"),
            SEED,
        ),
    ),
    "landscape": ProblemEntry(
        "bostruct.problems.landscape",
        "landscape",
        "a formula over architectures of networks, without training",
        (
            ProblemParameter("kind", "kind", str, "cnn"),
            ProblemParameter("noise_sd", "noise_sd", float, "0", "noise"),
            SEED,
        ),
        ARCHITECTURES,
    ),
    "nasbench201": ProblemEntry(
        "bostruct.problems.nasbench201",
        "nasbench201",
        "cells of 6 operations from NAS-Bench-201, .npz or official",
        (
            FILE,
            ProblemParameter("data", "data", str, "cifar100"),
            NOISE_SEED,
        ),
        ARCHITECTURES,
    ),
    "nasbench101": ProblemEntry(
        "bostruct.problems.nas_tables",
        "nasbench101",
        "cells of up to 5 operations from an .npz file of NAS-Bench-101",
        (FILE,),
        ARCHITECTURES,
    ),
    "transnas-macro": ProblemEntry(
        "bostruct.problems.nas_tables",
        "transnas_macro",
        "chains of 4 to 6 modules from an .npz file of TransNAS-Bench-101",
        (FILE, ProblemParameter("task", "task", str, "class_scene")),
        ARCHITECTURES,
    ),
    "transnas-micro": ProblemEntry(
        "bostruct.problems.nas_tables",
        "transnas_micro",
        "cells of 6 operations from an .npz file of TransNAS-Bench-101",
        (FILE,),
        ARCHITECTURES,
    ),
    "nasbench-macro": ProblemEntry(
        "bostruct.problems.nas_tables",
        "nasbench_macro",
        "chains of 8 blocks from NAS-Bench-Macro, .npz or official",
        (FILE, NOISE_SEED),
        ARCHITECTURES,
    ),
    "fcnet": ProblemEntry(
        "bostruct.problems.fcnet",
        "fcnet",
        "widths, activations and training of perceptrons from FC-Net, .npz or official",
        FCNET_PARAMETERS,
    ),
    "fcnet-joint": ProblemEntry(
        "bostruct.problems.fcnet",
        "fcnet_joint",
        "as fcnet, a perceptron and how it is trained being parts of a point",
        FCNET_PARAMETERS,
        ARCHITECTURES,
    ),
    "knapsack": ProblemEntry(
        "bostruct.problems.knapsack",
        "knapsack",
        "items of much value, their weight measured and limited",
        (_size("items", 40), SEED),
        GOALS,
    ),
    "biknapsack": ProblemEntry(
        "bostruct.problems.biknapsack",
        "biknapsack",
        "items of much value and little weight, two objectives",
        (_size("items", 30), SEED),
        GOALS,
    ),
    "qap": ProblemEntry(
        "bostruct.problems.qap",
        "qap",
        "quadratic assignment: which facility stands in which place",
        (_size("size", 12), SEED),
        STRUCTURES,
    ),
    "tsp": ProblemEntry(
        "bostruct.problems.tsp",
        "tsp",
        "traveling salesman: the shortest round trip",
        (_size("size", 12), SEED),
        STRUCTURES,
    ),
    "ordering": ProblemEntry(
        "bostruct.problems.ordering",
        "ordering",
        "linear ordering: the ranking that agrees most with a matrix",
        (_size("size", 12), SEED),
        STRUCTURES,
    ),
    "coverage": ProblemEntry(
        "bostruct.problems.coverage",
        "max_coverage",
        "few nodes of a graph that are next to much of its weight",
        (_size("nodes", 60), ProblemParameter("chosen", "chosen", int, "5"), SEED),
        STRUCTURES,
    ),
    "motifs": ProblemEntry(
        "bostruct.problems.motifs", "motifs", "sequences that are to have two hidden words", (SEED,), STRUCTURES
    ),
}
