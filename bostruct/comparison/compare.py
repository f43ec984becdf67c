"""The function `compare` for a whole comparison, and the parsing of its problems and methods."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from bostruct.checks import add_note, check_integer, short_repr
from bostruct.comparison.plan import ENDS, Method, Plan, RunKey
from bostruct.comparison.runs import execute, read_cpu_seconds, read_runs
from bostruct.comparison.value import Comparison, ProblemComparison
from bostruct.contracts import Searcher
from bostruct.problems import registry
from bostruct.problems.own import AnyProblem, Problem, as_problem
from bostruct.study.run_settings import FailureLimit, RunSettings


def compare(
    problems: Any,
    methods: Any,
    *,
    n_trials: int,
    seeds: int = 10,
    workers: int = 1,
    storage: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    overwrite: bool = False,
    max_initial_failures: FailureLimit = "auto",
    timeout: float | None = None,
    patience: int | None = None,
) -> Comparison:
    """Compare methods on problems over several seeds, with paired differences.

    All methods of a seed start with the same initial points, so that differences are paired. Seeds are 0, 1, ... A
    failed run is reported and does not affect others. KeyboardInterrupt ends the call. If the runs on a problem cannot
    be evaluated, for example because `noise_free` fails, the error is raised after the other problems. Both errors have
    a note with the folder of the finished trials, and ``error.result`` compares the completed runs.

    Parameters
    ----------
    problems : problem, list, or dict
        One or several problems, or a dict from names to problems: a `bostruct.Problem`, a pair (objective, space), an
        object with `objective` and `space`, or a name as on the command line, such as ``"contamination:lambda=0.01"``
        or ``"my_module:problem"``.
    methods : method, list, or dict
        One or several methods, or a dict from labels to methods: a name, a searcher, or a function from a domain to a
        searcher. The others are compared with the first.
    n_trials : int
        Number of finished trials of each run, initial points included, at least 1.
    seeds : int, default 10
        Number of runs of each method, at least 1.
    workers : int, default 1
        Number of runs in parallel, each in a process with one thread, at least 1.
    storage : str or path-like, optional
        A folder for studies and tables, with one folder for each of several problems. The same call resumes, and the
        report covers all runs in the folder with as many trials. If None, nothing is kept.
    progress : bool, optional
        Whether to show a progress bar on stderr. By default it is shown in a terminal and in a notebook.
    max_initial_failures : int, "auto", or None, default "auto"
        Number of failed trials without a completed one that ends a run, as in `Study.optimize`.
    timeout : float, optional
        Wall-clock seconds of each run, at least 0, after which no trial starts. A resumed call gives each unfinished
        run the full time again.
    patience : int, optional
        Number of completed trials in a row without a better one that ends a run, as in `Study.optimize`.
    overwrite : bool, default False
        If True, tables replace files that bostruct did not write, but never a database.

    Returns
    -------
    Comparison or dict of Comparison
        The comparison, or one for each of several problems.

    Raises
    ------
    DomainError
        If a method cannot search a problem.
    StorageError
        If the folder contains another comparison; the message names the difference.
    OutputRefused
        A FileExistsError, if a table must not replace a file.
    TypeError, ValueError
        If an argument is invalid.
    """
    labeled, named = read_methods(methods), read_problems(problems)
    check_integer("n_trials", n_trials, 1)
    check_integer("seeds", seeds, 1)
    check_integer("workers", workers, 1)
    of_run = {"max_initial_failures": max_initial_failures, "timeout": timeout, "patience": patience}
    RunSettings(len, n_trials, **of_run)  # type: ignore[arg-type]  # checks them
    if storage is not None and not isinstance(storage, str | os.PathLike):
        raise TypeError(f"storage: expected the path of a folder, got {short_repr(storage)}")
    folder = Path(tempfile.mkdtemp(prefix="bostruct-compare-") if storage is None else os.path.expanduser(storage))
    places = [folder] if len(named) == 1 else [folder / quote(name, safe=" +,()[]=:") for name in named]
    plans = [
        Plan(given, labeled, seeds, n_trials, place, of_run)
        for given, place in zip(named.values(), places, strict=True)
    ]
    try:
        for plan in plans:
            plan.check_methods()
        for plan in plans:  # after the check of all methods, so that no folder is written in vain
            plan.claim_folder(overwrite=overwrite)
    except BaseException:
        _remove(folder, storage)
        raise
    try:
        found = _compare_on_each(plans, lambda plan: execute(plan, workers, progress), overwrite)
    except BaseException as error:
        note = f"The finished trials are in {folder}: the same call with storage={str(folder)!r} resumes"
        compared = _compare_so_far(plans)
        add_note(error, f"{note}; error.result compares the runs that are done." if compared else f"{note}.", compared)
        raise
    _remove(folder, storage)
    for one in (one for one in found if one.wrong_optimum):
        warnings.warn(f"{one.name}: {one.wrong_optimum}", stacklevel=2)
    return Comparison(found)


def _compare_on_each(
    plans: Sequence[Plan], execute_plan: Callable[[Plan], dict[RunKey, str]], overwrite: bool
) -> tuple[ProblemComparison, ...]:
    """Compare on each problem; raise the first error, with notes on others, once all are done."""
    found: list[ProblemComparison] = []
    errors: list[Exception] = []
    for plan in plans:
        try:
            failed = execute_plan(plan)
            compared = _read_runs(plan, failed)
            if compared.results:
                compared.write_tables(plan.folder, overwrite=overwrite)
            found.append(compared)
        except Exception as error:
            add_note(error, f"The error is from the comparison on {plan.problem}.")
            errors.append(error)
    if not errors:
        return tuple(found)
    for other in errors[1:]:
        add_note(errors[0], f"Another error: {other!r}. {' '.join(getattr(other, '__notes__', ()))}")
    if found:
        names = ", ".join(one.name for one in found)
        add_note(errors[0], f"Compared: {names}; comparison.txt of each has its table.")
    raise errors[0]


def _read_runs(plan: Plan, failed: dict[RunKey, str]) -> ProblemComparison:
    results, left_out = read_runs(plan)
    timed = {cell: found for cell in results if (found := read_cpu_seconds(plan.file(cell))) is not None}
    ends = " or ".join(f"{name}={plan.of_run[name]:g}" for name in ENDS if plan.of_run.get(name) is not None)
    return ProblemComparison(plan.problem, plan.load_problem(), plan.trials, results, failed, left_out, timed, ends)


def _compare_so_far(plans: Sequence[Plan]) -> Comparison | None:
    """Compare on each problem with completed runs that can be evaluated; return None without such a problem."""
    found: list[ProblemComparison] = []
    for plan in plans:
        with suppress(Exception):  # any error: it must not replace the original error
            compared = _read_runs(plan, {})
            if compared.results and compared.rows:
                found.append(compared)
    return Comparison(tuple(found)) if found else None


def _remove(folder: Path, storage: object) -> None:
    if storage is None:
        shutil.rmtree(folder, ignore_errors=True)


def read_problems(given: Any) -> dict[str, str | AnyProblem]:
    """Return problems by their names; a specification is kept as a string, after a check that it can be loaded.

    Raises TypeError, ValueError.
    """
    if isinstance(given, Mapping):
        return {str(name): _read_problem(f"problems[{name!r}]", one, str(name)) for name, one in given.items()}
    if (
        not isinstance(given, Iterable)
        or isinstance(given, str)
        or (isinstance(given, tuple) and len(given) == 2 and callable(given[0]) and not isinstance(given[0], Problem))
    ):
        given = [given]
    found: dict[str, str | AnyProblem] = {}
    for one in given:
        problem = _read_problem("problems", one, None)
        name = problem if isinstance(problem, str) else problem.name
        if name in found:
            raise ValueError(f"problems: two problems are named {name!r}; give a dict from names to problems")
        found[name] = problem
    if not found:
        raise ValueError("problems: expected at least one problem, got none")
    return found


def _read_problem(argument: str, given: object, name: str | None) -> str | AnyProblem:
    if not isinstance(given, str):
        return as_problem(argument, given, name)
    problem = registry.load(given)
    if name is None or name == given:
        return given
    if not isinstance(problem, Problem):
        raise ValueError(f"{argument}: a benchmark problem cannot be renamed; give {given!r} in a list")
    return as_problem(argument, problem, name)


def read_methods(given: Any) -> dict[str, Method]:
    """Return methods by label, in the order given.

    Raises TypeError, ValueError.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    named: Iterable[tuple[Any, Any]] = (
        given.items() if isinstance(given, Mapping) else ((_label(one), one) for one in given)
    )
    found: dict[str, Method] = {}
    for label, one in named:
        if not isinstance(label, str) or not label:
            raise TypeError(f"methods: expected labels, non-empty strings, got {short_repr(label)}")
        if isinstance(one, Problem) or not (isinstance(one, str | Searcher) or callable(one)):
            raise TypeError(
                f"methods[{label!r}]: expected a name, a searcher or a function from a domain to a searcher, "
                f"got {short_repr(one)}"
            )
        if label in found and found[label] is not one and found[label] != one:
            raise ValueError(f"methods: two methods are labeled {label!r}; give a dict from labels to methods")
        found[label] = cast(Method, one)
    if not found:
        raise ValueError("methods: expected at least one method, got none")
    return found


def _label(method: object) -> str:
    return method if isinstance(method, str) else str(getattr(method, "__name__", type(method).__name__))
