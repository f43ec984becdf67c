"""All problems by group, and the searches that a group compares."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.peers import tables, tasks
from benchmarks.peers.before import BEFORE, auto_before
from benchmarks.peers.bits import BITS, LARGE
from benchmarks.peers.botorch_search import botorch, fast_botorch
from benchmarks.peers.bounce_search import bounce
from benchmarks.peers.catcma_search import catcma
from benchmarks.peers.further_searches import ax, hebo, mcbo, ngopt
from benchmarks.peers.kernel_tuner_search import kernel_tuner
from benchmarks.peers.measured import MEASURED
from benchmarks.peers.orders import ORDERS
from benchmarks.peers.priors import PRIORS
from benchmarks.peers.searches import ON_CHOICES, OWN, PEERS, Search, penalize
from benchmarks.peers.tasks import Task
from benchmarks.peers.variants import VARIANTS
from bostruct.problems.fcnet import FCNET_DATA_SETS

OURS = "auto"  # all other searches are compared with it
GENERATED: dict[str, Callable[[int], Task]] = {
    "branin": tasks.branin_task,
    "hartmann-6": partial(tasks.numbers, tasks.hartmann, 6, 0.0, 1.0),
    "levy-10": partial(tasks.numbers, tasks.levy, 10, -10.0, 10.0),
    "rosenbrock-4": partial(tasks.numbers, tasks.rosenbrock, 4, -5.0, 10.0),
    "ackley, categories": tasks.mixed_ackley,
    "branin, categories": tasks.mixed_branin,
    "network on digits": partial(tasks.training, "digits"),
    "network on breast_cancer": partial(tasks.training, "breast_cancer"),
    **{f"pipeline on {name}": partial(tasks.pipeline, name) for name in ("digits", "moons", "hastie", "clusters")},
    "max-3-sat": tasks.max3sat,
    **BITS,
    **ORDERS,
    **LARGE,
}
TableMaker = Callable[[int, Path], Task]
KERNELS = tuple(name for name in MEASURED if name.startswith("kernel"))
REACTIONS = tuple(name for name in MEASURED if name.startswith("reaction"))
WITH_PREDICATES = (*KERNELS, *REACTIONS)  # whose code cannot be passed to another package
FCNETS: dict[str, TableMaker] = {f"fc-net {name}": partial(tables.fcnet_task, name) for name in FCNET_DATA_SETS}
VALUES = dict.fromkeys(FCNETS, "log10 validation error")  # names of values on the axes of figures
TRAINED: dict[str, TableMaker] = {"hpobench mlp": tables.hpobench, **FCNETS}
TABLES: dict[str, TableMaker] = {**TRAINED, **MEASURED}
PROBLEMS = (*GENERATED, *TABLES)
GROUPS: dict[str, tuple[str, ...]] = {
    "numbers": ("branin", "hartmann-6", "levy-10", "rosenbrock-4"),
    "mixed": (
        *TRAINED,
        "network on digits",
        "network on breast_cancer",
        "ackley, categories",
        "branin, categories",
    ),
    "conditional": tuple(name for name in GENERATED if name.startswith("pipeline")),
    "transfer": (*FCNETS, "max-3-sat", "branin"),
    "bits": tuple(BITS),
    "orders": tuple(ORDERS),
    "large": tuple(LARGE),
    "measured": tuple(MEASURED),
    "variants": (
        "max-3-sat 60/300",
        "labs-50",
        "nk 30x5",
        "ackley 20x11, rough",
        "ackley 20x11, smooth",
        "bowl 30x6",
        "hartmann-6",
        "levy-10",
        "branin, categories",
        "pipeline on hastie",
        "pipeline on clusters",
    ),
}
WITH_PEERS = tuple(group for group in GROUPS if group not in ("transfer", "variants", "large"))
MIXED = ("numbers", "mixed", "conditional", "transfer")  # the groups that `python -m benchmarks.mixed` compares
CHOICES = ("bits", "orders", "measured")  # groups without numbers
ON_ALL: dict[str, Search] = {
    **OWN,
    **PEERS,
    "BoTorch": partial(penalize, botorch),
    "BoTorch fast": partial(penalize, fast_botorch),
    "Bounce": partial(penalize, bounce),
    "CatCMA": partial(penalize, catcma),
    "NGOpt": partial(penalize, ngopt),
    "HEBO": partial(penalize, hebo),
    "Ax": partial(penalize, ax),
    "Casmopolitan": partial(penalize, partial(mcbo, "Casmopolitan")),
    "BODi": partial(penalize, partial(mcbo, "BODi")),
    BEFORE: auto_before,
}
WITHOUT_CONDITIONS = ("BoTorch", "Bounce", "CatCMA", "NGOpt", "HEBO", "Ax", "Casmopolitan", "BODi")
ON_KERNELS: dict[str, Search] = {
    "Kernel Tuner GA": partial(kernel_tuner, "genetic_algorithm"),
    "Kernel Tuner VNDX": partial(kernel_tuner, "gen_hybrid_vndx"),
}
OF_PEERS = tuple(name for name in ON_ALL | ON_KERNELS if name not in OWN and name != BEFORE)
ALL_SEARCHES: dict[str, Search] = ON_ALL | ON_CHOICES | ON_KERNELS | PRIORS | VARIANTS
# Problems without numbers: the package takes minutes per run, and `BoTorch fast` has the same model and search.
WITH_BOTORCH = {"max-3-sat 60/300", "contamination", "nk 30x5"}
# Problems on bits, with at most 3,000 monomials of degree two.
WITH_BOCS = {
    "max-3-sat 60/300",
    "max-cut 28",
    "contamination",
    "ising",
    "labs-50",
    "features",
    "maxsat 43",
    "maxsat 60",
}


def make_task(problem: str, seed: int, data: Path | None) -> Task:
    """Make an instance of a problem.

    problem: one of `PROBLEMS`.
    seed: of the instance, from 0.
    data: the folder of the tables; None for none.

    Raises ValueError if a problem is a table and there is no folder, or if the file is damaged; OSError if the file is
    missing.
    """
    if problem in GENERATED:
        return GENERATED[problem](seed)
    if data is None:
        raise ValueError(f"{problem}: {tables.SKIPPED}")
    return TABLES[problem](seed, data)


def list_searches(group: str, problem: str) -> list[str]:
    """Return the names of the searches that a group compares on a problem.

    group: one of `GROUPS`.
    problem: one of its problems.
    """
    if group == "large":
        return [OURS, "evolution", "random"]
    if group == "transfer":
        absent = {"unrelated prior", "opposite prior"} if problem in FCNETS else set()
        return [OURS, *(name for name in PRIORS if name not in absent)]
    if group == "variants":
        is_conditional = problem in GROUPS["conditional"]
        absent = set() if is_conditional else {"no exploration", "explores every second"}
        absent |= set() if is_conditional or problem in ORDERS else {"order trusted"}
        absent.add("EI" if problem in BITS or problem in ORDERS else "augmented EI")  # that `auto` uses
        return [OURS, *(name for name in VARIANTS if name not in absent)]
    without: set[str] = set(WITHOUT_CONDITIONS if group == "conditional" else ())
    if problem not in WITH_BOCS:
        without.add("bocs")
    if group not in CHOICES or problem in WITH_PREDICATES:
        without.add(BEFORE)
    is_discrete = group in CHOICES or problem in TRAINED
    if not is_discrete:
        without.add("BoTorch fast")
    elif problem not in WITH_BOTORCH:
        without.add("BoTorch")
    searches = ON_ALL | ON_CHOICES if group in CHOICES else ON_ALL
    if problem in KERNELS:
        searches = searches | ON_KERNELS
    return [name for name in searches if name not in without]
