"""The published benchmarks: how each is loaded, its number of trials, and its published results (Oh et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bostruct import problems
from bostruct.problems import contamination, ising
from bostruct.problems.base import N_CONFIGS, SpaceProblem, published_seeds

RELABELED = " relabeled"  # ends the name of a problem whose choices are permuted
CONFIGS = tuple(sorted(range(1, N_CONFIGS + 1), key=lambda config: ((config - 1) % 5, config)))  # instances in turn
N_RELABELED = 5  # configurations on which slow searches are run with relabeled choices
SEARCHES = ("combo", "auto", "bocs", "annealing", "random")
MORE = ("smac", "tpe", "bocs-sa3", "combo-annealed-acquisition", "combo-non-sparse")  # run if they are named
ABLATED = {"combo-annealed-acquisition": "contamination 0.01", "combo-non-sparse": "maxsat 60"}  # the problem of each
SLOW = ("combo", "bocs", "bocs-sa3", *ABLATED)
REFERENCE = "COMBO"
BASELINES = ("SMAC", "TPE", "annealing", "BOCS-SDP")


@dataclass(frozen=True)
class Case:
    """A published benchmark.

    spec: for `bostruct.problems.load`; ``{case}`` is replaced by the instance, ``{config}`` by the configuration.
    trials: evaluations in all, the initial points included.
    published: mean and standard error of the best value over 25 runs, by method.
    tag: of the seeds of the instances; empty if there is only one instance.
    file: name of the MaxSAT file in the folder ``maxsat`` of the data; empty for other problems.
    """

    spec: str
    trials: int
    published: Mapping[str, tuple[float, float]]
    tag: str = ""
    file: str = ""

    @property
    def has_bocs(self) -> bool:
        """True if variables have two choices: the published code of BOCS supports no others."""
        return bool(self.tag or self.file)

    def load(self, config: int, data: Path | None, is_relabeled: bool = False) -> SpaceProblem:
        """Load the instance of a configuration.

        config: 1 to 25.
        data: the folder of the files; None for none.
        is_relabeled: True permutes the choices at random, with the configuration as the seed.

        Raises FileNotFoundError if the problem is a file that is missing.
        """
        spec = self.spec.format(case=published_seeds(self.tag)[config][0] if self.tag else "", config=config)
        if self.file:
            spec = f"{spec}{self.find_file(data)}"
        if is_relabeled:
            spec = f"{spec}{',' if ':' in spec else ':'}relabel={config}"
        problem = problems.load(spec)
        assert isinstance(problem, SpaceProblem)
        return problem

    def find_file(self, data: Path | None) -> Path:
        """Return the path of the file of the problem.

        data: the folder of the files; None for none.

        Raises FileNotFoundError if the file is missing.
        """
        file = None if data is None else data / "maxsat" / self.file
        if file is None or not file.exists():
            raise FileNotFoundError(f"expected maxsat/{self.file} in the folder of --data, got {data}")
        return file


def _rows(
    *rows: tuple[float, float], names: tuple[str, ...] = (*BASELINES, REFERENCE)
) -> dict[str, tuple[float, float]]:
    return dict(zip(names, rows, strict=True))


WITHOUT_BOCS = ("SMAC", "TPE", "annealing", REFERENCE)
WITH_THIRD_ORDER = (*BASELINES, "BOCS-SA3", REFERENCE)
PEST = _rows((14.2614, 0.0753), (14.9776, 0.0446), (12.7154, 0.0918), (12.0012, 0.0033), names=WITHOUT_BOCS)
CONTAMINATION = {
    "0": _rows((21.4644, 0.0312), (21.6408, 0.0437), (21.4704, 0.0366), (21.3748, 0.0246), (21.2752, 0.0292)),
    "0.0001": _rows((21.5011, 0.0329), (21.6868, 0.0406), (21.4871, 0.0372), (21.3792, 0.0296), (21.2784, 0.0314)),
    "0.01": _rows((21.6512, 0.0403), (21.8440, 0.0422), (21.6120, 0.0385), (21.5232, 0.0269), (21.4436, 0.0293)),
}
ISING = {
    "0": _rows((0.1516, 0.0404), (0.4039, 0.1087), (0.0953, 0.0331), (0.1049, 0.0308), (0.1030, 0.0351)),
    "0.0001": _rows((0.2192, 0.0522), (0.4437, 0.0952), (0.1166, 0.0353), (0.0586, 0.0125), (0.0812, 0.0279)),
    "0.01": _rows((0.3501, 0.0447), (0.6091, 0.1071), (0.3342, 0.0636), (0.3001, 0.0389), (0.3166, 0.0420)),
}
MAXSAT = {
    "maxsat 28": (
        "maxcut-johnson8-2-4.clq.wcnf",
        ((-20.0530, 0.6735), (-25.2010, 0.8750), (-31.8060, 1.1929), (-29.4865, 0.5348)),
        ((-34.7915, 0.7814), (-37.7960, 0.2662)),
    ),
    "maxsat 43": (
        "maxcut-hamming8-2.clq.wcnf",
        ((-57.4217, 1.7614), (-52.3856, 1.9898), (-75.7582, 2.3048), (-51.1265, 1.6903)),
        ((-61.0186, 2.2812), (-85.0155, 2.1390)),
    ),
    "maxsat 60": (
        "frb-frb10-6-4.wcnf",
        ((-148.6020, 1.0135), (-137.2104, 2.8296), (-187.5506, 1.4962), (-153.6722, 2.0096)),
        ((-152.0745, 8.5167), (-195.6527, 0.0)),
    ),
}
CASES: dict[str, Case] = {
    **{
        f"contamination {strength}": Case(
            f"contamination:case={{case}},lambda={strength}", 270, rows, contamination.TAG
        )
        for strength, rows in CONTAMINATION.items()
    },
    **{
        f"ising {strength}": Case(f"ising:case={{case}},lambda={strength}", 170, rows, ising.TAG)
        for strength, rows in ISING.items()
    },
    "branin": Case(
        "branin",
        100,
        _rows((0.6962, 0.0705), (0.7578, 0.0844), (0.4659, 0.0211), (0.4113, 0.0012), names=WITHOUT_BOCS),
    ),
    **{f"pest {graph}": Case(f"pest:graph={graph},noise_seed={{config}}", 320, PEST) for graph in ("complete", "path")},
    **{
        name: Case("maxsat:weights=standardized,file=", 270, _rows(*first, *last, names=WITH_THIRD_ORDER), file=file)
        for name, (file, first, last) in MAXSAT.items()
    },
}
PROBLEMS = (*CASES, *(f"{name}{RELABELED}" for name in CASES))


def list_searches(problem: str) -> list[str]:
    """Return the searches that are run on a problem.

    problem: one of `PROBLEMS`.
    """
    name = problem.removesuffix(RELABELED)
    fits = [one for one in (*SEARCHES, *MORE) if not one.startswith("bocs") or CASES[name].has_bocs]
    return [one for one in fits if ABLATED.get(one, name) == name and (one in SEARCHES or name == problem)]


def list_configs(problem: str, search: str) -> tuple[int, ...]:
    """Return the configurations on which a search is run, in the order in which they are taken.

    problem: one of `PROBLEMS`.
    search: one of `SEARCHES` or `MORE`.
    """
    return CONFIGS[:N_RELABELED] if problem.endswith(RELABELED) and search in SLOW else CONFIGS


def title(problem: str) -> str:
    """Return the name of a problem for readers.

    problem: one of `PROBLEMS`.
    """
    name, _, rest = problem.removesuffix(RELABELED).partition(" ")
    written = {"ising": "Ising", "branin": "Branin", "maxsat": "MaxSAT"}.get(name, name)
    suffix = {"contamination": f", lambda {rest}", "ising": f", lambda {rest}", "branin": ""}.get(name, f" {rest}")
    return f"{written}{suffix}{', relabeled' if problem.endswith(RELABELED) else ''}"
