"""Problems by name: `contamination`, or with parameters `contamination:case=758,lambda=0.01,relabel=3`.

Also custom problems, `module:name`, and problems of installed packages.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple

from bostruct import plugins
from bostruct.checks import check_choice, did_you_mean, short_repr
from bostruct.problems.base import SpaceProblem, relabel
from bostruct.problems.own import AnyProblem, as_problem

CHOICES = "Choices"
ARCHITECTURES = "Architectures"
GOALS = "Limits and several objectives"
STRUCTURES = "Orders, subsets and sequences"
MEASURED = "Measured programs"
RELABEL = "relabel"
PARAMETER_STARTS = re.compile(r",(?=\s*\w+\s*=)")  # other commas belong to a value, such as a file's name


def names() -> tuple[str, ...]:
    """Return the names of the built-in problems and of plug-ins."""
    return (*ENTRIES, *list_installed())


def list_installed() -> dict[str, EntryPoint]:
    """Return the entry points `bostruct.problems` of installed packages by name; none is loaded."""
    return plugins.list_plugins(plugins.PROBLEMS, ENTRIES)


def load(spec: str) -> AnyProblem:
    """Return a problem by its name.

    Parameters
    ----------
    spec : str
        One of `names()`, or ``name:parameter=value,...``, as in ``contamination:case=758``; ``relabel=SEED`` permutes
        the choices of a `Space`. Or ``module:name`` of your own problem, imported from the current directory or the
        path: a `bostruct.Problem`, an object with `space` and `objective`, a pair of these, or a function that returns
        one.

    Raises
    ------
    TypeError
        If `spec` is not a string.
    ValueError
        If the problem or a parameter is unknown or invalid, or a module or plug-in cannot be loaded.
    """
    if isinstance(spec, str) and spec.partition(":")[0] not in ENTRIES:
        if is_own(spec):
            return as_problem(f"problem: {spec}", plugins.import_reference("problem", spec), spec)
        if (installed := list_installed()).get(spec) is not None:
            found = plugins.load_plugin("problem", installed[spec])
            return as_problem(f"problem: {plugins.describe_plugin(installed[spec])}", found, spec)
    name, given = parse(spec)
    entry = ENTRIES[name]
    known = {parameter.name: parameter for parameter in entry.parameters}
    arguments = {
        known[key].argument: _parse_value(name, known[key], text) for key, text in given.items() if key != RELABEL
    }
    problem = getattr(importlib.import_module(entry.module), entry.factory)(**arguments)
    if RELABEL not in given:
        return problem
    if not isinstance(problem, SpaceProblem):
        raise ValueError(
            f"{name}: relabel={given[RELABEL]}: relabel permutes choices; it supports the problems that "
            f"`bostruct problems` lists under Choices"
        )
    return relabel(problem, _parse_value(name, ProblemParameter(RELABEL, RELABEL, int, ""), given[RELABEL]))


def is_own(spec: str) -> bool:
    """Return whether a specification is ``module:name`` of a custom problem."""
    return spec.partition(":")[0] not in ENTRIES and plugins.is_reference(spec)


def parse(spec: str) -> tuple[str, dict[str, str]]:
    """Split a specification into the name and the parameters, as strings.

    Raises TypeError or ValueError.
    """
    if not isinstance(spec, str):
        raise TypeError(f"problem: expected a name such as 'contamination:case=758', got {short_repr(spec)}")
    name, _, rest = spec.partition(":")
    try:
        if name not in names():
            check_choice("problem", name, (*ENTRIES, *plugins.list_loadable(plugins.PROBLEMS, ENTRIES)))
    except ValueError as error:
        end = "" if str(error).endswith("?") else "."
        raise ValueError(f"{error}{end} A problem of your own is module:name or file.py:name") from None
    if name not in ENTRIES:
        raise ValueError(f"problem: {name}, from an installed package, takes no parameters; got {rest!r}")
    allowed = [*(parameter.name for parameter in ENTRIES[name].parameters), RELABEL]
    renamed = {parameter.old: parameter.name for parameter in ENTRIES[name].parameters if parameter.old}
    given: dict[str, str] = {}
    for part in PARAMETER_STARTS.split(rest) if rest else ():
        key, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not text:
            raise ValueError(f"{name}: expected parameter=value, got {short_repr(part)} in {short_repr(spec)}")
        key = renamed.get(key, key)
        if key not in allowed:
            hint = did_you_mean(key, allowed)
            raise ValueError(f"{name}: unknown parameter {short_repr(key)}; expected one of {', '.join(allowed)}{hint}")
        if key in given:
            raise ValueError(f"{name}: parameter {key} is given twice in {short_repr(spec)}")
        given[key] = text
    required = [p.name for p in ENTRIES[name].parameters if not p.default]
    if missing := [key for key in required if key not in given]:
        raise ValueError(f"{name}: expected {name}:{missing[0]}=..., because {missing[0]} has no default")
    return name, given


def _parse_value(name: str, parameter: ProblemParameter, text: str) -> Any:
    try:
        return parameter.read(text)
    except ValueError:
        kind = {int: "an integer", float: "a number"}.get(parameter.read, "a value")
        raise ValueError(f"{name}: {parameter.name}: expected {kind}, got {short_repr(text)}") from None


def old_name(name: str) -> str:
    """Return the name of a problem before its parameters were renamed, which old files may contain."""
    for parameter in ENTRIES.get(name.partition(":")[0], ENTRIES["branin"]).parameters:
        if parameter.old:
            name = name.replace(f"{parameter.name}=", f"{parameter.old}=")
    return name


class ProblemParameter(NamedTuple):
    """One parameter of a problem."""

    name: str
    argument: str
    read: Callable[[str], object]
    default: str
    old: str = ""


@dataclass(frozen=True)
class ProblemEntry:
    """A problem that can be loaded."""

    module: str
    factory: str
    summary: str
    parameters: tuple[ProblemParameter, ...]
    group: str = CHOICES


def _seed_or_none(text: str) -> int | None:
    return None if text == "none" else int(text)


def _file_or_none(text: str) -> str | None:
    return None if text == "none" else text


def _size(name: str, default: int) -> ProblemParameter:
    return ProblemParameter(name, "n", int, str(default))


FILE = ProblemParameter("file", "file", str, "")
OPTIONAL_FILE = ProblemParameter("file", "file", _file_or_none, "none")


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
        "weighted MaxSAT from a .wcnf or .cnf file (plain, .gz, .bz2, .xz)",
        (
            FILE,
            ProblemParameter("weights", "weights", str, "raw"),
        ),
    ),
    "opb": ProblemEntry(
        "bostruct.problems.opb",
        "opb",
        "linear costs and constraints of bits from an .opb file",
        (FILE,),
    ),
    "max3sat": ProblemEntry(
        "bostruct.problems.maxsat",
        "max3sat",
        "random weighted Max-3-SAT, satisfiable (optimum 0)",
        (
            ProblemParameter("variables", "n_variables", int, "60"),
            ProblemParameter("clauses", "n_clauses", int, "300"),
            SEED,
        ),
    ),
    "maxcut": ProblemEntry(
        "bostruct.problems.maxsat",
        "maxcut",
        "weighted max-cut on the Johnson graph of the k-subsets of n",
        (
            ProblemParameter("n", "n", int, "8"),
            ProblemParameter("k", "k", int, "2"),
            SEED,
        ),
    ),
    "frb": ProblemEntry(
        "bostruct.problems.maxsat",
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
        "bostruct.problems.nas_tables",
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
        "like fcnet, with the perceptron and its training as parts of a point",
        FCNET_PARAMETERS,
        ARCHITECTURES,
    ),
    "knapsack": ProblemEntry(
        "bostruct.problems.subsets",
        "knapsack",
        "items of much value, their weight measured and limited",
        (_size("items", 40), SEED),
        GOALS,
    ),
    "biknapsack": ProblemEntry(
        "bostruct.problems.subsets",
        "biknapsack",
        "items of much value and little weight, two objectives",
        (_size("items", 30), SEED),
        GOALS,
    ),
    "qap": ProblemEntry(
        "bostruct.problems.orders",
        "qap",
        "quadratic assignment: the location of each facility, or a file of QAPLIB",
        (_size("size", 12), SEED, OPTIONAL_FILE),
        STRUCTURES,
    ),
    "tsp": ProblemEntry(
        "bostruct.problems.orders",
        "tsp",
        "traveling salesman: the shortest round trip, or a file of TSPLIB",
        (_size("size", 12), SEED, OPTIONAL_FILE),
        STRUCTURES,
    ),
    "sop": ProblemEntry(
        "bostruct.problems.orders",
        "sop",
        "sequential ordering from a .sop file: the shortest path that satisfies precedences",
        (FILE,),
        STRUCTURES,
    ),
    "ordering": ProblemEntry(
        "bostruct.problems.orders",
        "ordering",
        "linear ordering: the ranking that agrees most with a matrix",
        (_size("size", 12), SEED),
        STRUCTURES,
    ),
    "coverage": ProblemEntry(
        "bostruct.problems.subsets",
        "max_coverage",
        "few nodes of a graph that cover much of its weight",
        (_size("nodes", 60), ProblemParameter("chosen", "chosen", int, "5"), SEED),
        STRUCTURES,
    ),
    "motifs": ProblemEntry(
        "bostruct.problems.motifs", "motifs", "sequences that should contain two hidden words", (SEED,), STRUCTURES
    ),
    "kernel-tuner": ProblemEntry(
        "bostruct.integrations.kernel_tuner",
        "read_problem",
        "settings of a GPU kernel from a cache file of Kernel Tuner (plain, .gz, .bz2, .xz)",
        (
            FILE,
            ProblemParameter("objective", "objective", str, "auto"),
            ProblemParameter("direction", "direction", str, "minimize"),
        ),
        MEASURED,
    ),
}
