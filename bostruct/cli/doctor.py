"""`bostruct doctor`: check the installation."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from time import perf_counter
from types import ModuleType

import click

from bostruct import __version__
from bostruct.cli.options import FAILED, json_option, plain_errors
from bostruct.cli.text import Facts, echo_json, format_pairs

PACKAGE_NAME = re.compile(r"[\w.-]+")
EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")
OPTIONAL = {  # package that a plain install includes, but the core does not need -> what is lost without it
    "torch": "no network can be built or trained (bostruct nas, bostruct.nas, Program.to_torch)",
    "gpytorch": "no kernels for GPyTorch and BoTorch (bostruct.integrations.gpytorch)",
}
EXTRAS = {  # extra -> what is lost without it
    "plot": "no plots, and no CIFAR-10 from folders of images",
    "pandas": "no data frames (to_dataframe)",
    "sat": "no proof of the optimum of a MaxSAT file by the solver RC2 (prove_optimum)",
    "botorch": "no BoTorch for the kernels of bostruct.integrations.gpytorch",
    "optuna": "no method tpe, and no bridge to Optuna (bostruct.integrations.optuna)",
    "tables": "no published tables in HDF5 files (problem fcnet)",
    "configspace": "no spaces of ConfigSpace (bostruct.integrations.configspace)",
    "rdkit": "no candidates from SMILES strings (Candidates.from_smiles)",
    "dask": "no trials on a cluster of Dask (docs/scaling.md)",
    "ray": "no trials on Ray, and no searcher for Ray Tune (bostruct.integrations.ray and ray_tune)",
    "mpi": "no trials on ranks of MPI, which also need an MPI library (docs/scaling.md)",
    "loky": "no trials on pools of loky (docs/scaling.md)",
    "submitit": "no trials as jobs of SLURM (bostruct.integrations.submitit)",
    "postgresql": 'no studies in a PostgreSQL database (storage="postgresql://...")',
}
FOR_A_CHECKOUT = ("dev", "docs")  # extras for developers of bostruct


@click.command()
@click.option("--all", "shows_all", is_flag=True, help="Explain the use of each optional package.")
@click.option("--compile", "compiles", is_flag=True, help="First compile the loops of all models, for later runs.")
@json_option
def doctor(shows_all: bool, compiles: bool, as_json: bool) -> None:
    """Check the installation: versions, threads, extras.

    It also runs a tiny study, from ask to disk. A missing package that the core needs is a PROBLEM (exit code 1); a
    missing optional one is a note.

    \b
    Example:
      bostruct doctor
    """
    with plain_errors():
        compiled: str | None = ""
        if compiles:
            click.echo("compiling the loops of all models, which takes up to a minute", err=True)
            compiled = compile_loops()
        found: Facts = examine() | {"compiled_code": compiled or None}
        if compiled is None:
            found["problems"].append("compiled code cannot be kept: set NUMBA_CACHE_DIR to a writable folder")
    if as_json:
        echo_json(found)
    else:
        click.echo(_doctor_text(found, shows_all))
    if found["problems"]:
        raise click.exceptions.Exit(FAILED)


def examine() -> Facts:
    """Collect all facts that the command prints; `problems` is empty if the installation is sound."""
    from bostruct.checks import install_command

    needed = requirements(requires("bostruct") or []) if installed_version("bostruct") else {}
    versions = {name: installed_version(name) for name in needed.pop("", [])}
    extras = {extra: all(installed_version(name) for name in names) for extra, names in needed.items()}
    absent = [name for name, found in versions.items() if found is None]
    missing = [f"{name} is not installed: {install_command()}" for name in absent if name not in OPTIONAL]
    if not versions:
        missing = [f"bostruct is not installed as a package, so what it needs is unknown: {install_command()}"]
    torch, broken = load_torch()
    test = self_test() if not missing else {"ok": False, "why": "packages are missing"}
    return {
        "bostruct": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "versions": versions,
        "threads": thread_pools(torch) if test["ok"] else [],
        "extras": extras,
        "self_test": test,
        "notes": notes(absent, [extra for extra, present in extras.items() if not present]),
        "problems": [*missing, *broken, *([] if test["ok"] else [f"the self-test failed: {test['why']}"])],
    }


def requirements(lines: Sequence[str]) -> dict[str, list[str]]:
    """Return the packages of each extra, "" for required ones.

    Extras that combine other extras are omitted, and so are extras for developers.

    lines: requirements in the metadata of a distribution, such as ``numpy>=1.26; extra == "nas"``.
    """
    needed: dict[str, list[str]] = {}
    for line in lines:
        name, extra = PACKAGE_NAME.match(line), EXTRA.search(line)
        if name is not None and name[0] != "bostruct":
            needed.setdefault(extra[1] if extra else "", []).append(name[0])
    return {extra: names for extra, names in needed.items() if extra not in FOR_A_CHECKOUT}


def installed_version(name: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def load_torch() -> tuple[ModuleType | None, list[str]]:
    """Import torch if it is installed; the list contains the reason if the import fails."""
    if installed_version("torch") is None:
        return None, []
    try:
        import torch
    except Exception as error:  # a build for another version of NumPy or CUDA may raise any exception
        return None, [f"torch is installed, but cannot be imported: {type(error).__name__}: {error}"]
    return torch, []


def notes(packages: Sequence[str], extras: Sequence[str]) -> list[str]:
    """Describe the effect of each missing optional package, extra, program or system call, and how to install it."""
    from bostruct.checks import has_posix, install_command

    lost = [f"{name} is not installed: {OPTIONAL[name]}; pip install {name}" for name in OPTIONAL if name in packages]
    for extra, cost in EXTRAS.items():
        if extra in extras:
            lost.append(f"the extra {extra} is not installed: {cost}; {install_command(extra)}")
    if shutil.which("dot") is None:
        lost.append(
            "the Graphviz program dot is not on the path: no drawings of architectures and programs as SVG (to_svg, "
            "transitions); see graphviz.org/download"
        )
    if not has_posix():
        lost.append("this system is not POSIX: no study files (storage=) and no worker processes (workers=)")
    return lost


def thread_pools(torch: ModuleType | None) -> list[Facts]:
    """Return the libraries with thread pools that are loaded, including torch if it is given, and their threads.

    torch: the module, None if it is not installed.
    """
    import numpy  # noqa: F401  (loads its BLAS)
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    pools = [
        {"library": pool["internal_api"], "version": pool.get("version"), "threads": pool["num_threads"]}
        for pool in threadpool_info()
    ]
    if torch is not None:
        pools.append({"library": "torch", "version": torch.__version__, "threads": torch.get_num_threads()})
    return pools


def self_test() -> Facts:
    """Run a study of 13 trials, three of them suggested by the model; reload it and compare.

    If the system has no study files, the study stays in memory and nothing is compared.
    """
    began = perf_counter()
    try:
        from bostruct.checks import has_posix
        from bostruct.problems import registry
        from bostruct.study.study import Study

        problem = registry.load("contamination:stages=10")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "doctor.db" if has_posix() else None
            with Study(problem.space, method="auto", seed=0, storage=path) as study:
                result = stored = study.optimize(problem, 13, progress=False)
            if path is not None:
                with Study.load(path, read_only=True) as study:
                    stored = study.result
        chosen = sum(trial.origin == "model" for trial in result.trials)
        if [t.value for t in result.trials] != [t.value for t in stored.trials] or not chosen:
            return {"ok": False, "why": f"stored trials differ, or no point came from the model ({chosen})"}
    except Exception as error:  # any error of an installation must be reported
        return {"ok": False, "why": f"{type(error).__name__}: {error}"}
    return {"ok": True, "seconds": perf_counter() - began, "trials": len(result.trials), "from_model": chosen}


def compile_loops() -> str | None:
    """Suggest one point each by models of numbers, of conditions and of architectures, to compile their loops.

    Returns the folder that keeps the code; None if the code cannot be kept. `load_loops` chooses it.
    """
    import bostruct as bo
    from bostruct.kernels.loops import find_code, load_loops
    from bostruct.kernels.otmann import distance
    from bostruct.kernels.space import matern

    numbers = {"x": bo.Real(0.0, 1.0), "y": bo.Real(0.0, 1.0), "a": bool}
    for space in (numbers, {**numbers, "z": bo.Real(0.0, 1.0, when={"a": True})}, bo.cnn_domain()):
        with bo.Study(space, seed=0) as study:
            study.optimize(lambda _, study=study: float(len(study.trials)), study.n_initial + 2, progress=False)
    return find_code(load_loops(matern.LOOPS).add_distances, load_loops(distance.LOOPS).distances)


def _doctor_text(found: Facts, shows_all: bool) -> str:
    test = found["self_test"]
    passed = f"passed: {test['trials']} trials, {test['seconds']:.1f} s" if test["ok"] else f"FAILED: {test['why']}"
    rows = [
        ("bostruct", f"{found['bostruct']} in {Path(__file__).parents[1]}"),
        ("python", f"{found['python']} ({sys.executable})"),
        ("platform", f"{found['platform']}, {found['cores']} cores"),
        ("packages", ", ".join(f"{name} {number or 'absent'}" for name, number in found["versions"].items())),
        *(("threads", f"{p['library']} {p['version'] or ''}".rstrip() + f": {p['threads']}") for p in found["threads"]),
        ("extras", ", ".join(extra for extra, present in found["extras"].items() if present) or "none"),
        *([("compiled", f"code in {found['compiled_code']}")] if found["compiled_code"] else []),
        ("self-test", passed),
        *(("note", text) for text in found["notes"] if shows_all),
        *([] if shows_all or not found["notes"] else [_name_absent(found)]),
        *(("PROBLEM", text) for text in found["problems"]),
    ]
    return format_pairs(rows)


def _name_absent(found: Facts) -> tuple[str, str]:
    """Return a row of the optional packages that are not installed."""
    absent = [name for name, number in found["versions"].items() if number is None and name in OPTIONAL]
    absent += [extra for extra, present in found["extras"].items() if not present]
    what = f"not installed: {', '.join(absent)}; " if absent else ""
    return "optional", f"{what}bostruct doctor --all explains each"
