"""The plan of a comparison: a problem, labeled methods, seeds and trials, and the folder of its runs.

The folder's comparison.json contains the settings; a call with other settings is rejected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from bostruct import __version__
from bostruct.checks import check_part, short_repr
from bostruct.contracts import Domain, DomainError, ParsedJson, Presented, Searcher
from bostruct.goals.declared import Goals
from bostruct.output_files import check_output, write_output
from bostruct.problems import registry
from bostruct.problems.own import AnyProblem
from bostruct.storage.json_text import MALFORMED, dump, parse
from bostruct.storage.protocol import StorageError, StudyRow
from bostruct.study.records import can_continue_method, describe_method, encode_points, find_difference
from bostruct.study.stored_searcher import build_searcher

SETTINGS_FILE = "comparison.json"
TABLES = {"comparison.txt": "comparison", "comparison.md": "comparison", "incumbents.csv": "table of incumbents"}
ENDS = ("timeout", "patience")  # arguments that may end a run before it has all its trials
Method = str | Searcher | Callable[[Domain], Searcher]


class RunKey(NamedTuple):
    """A method and a seed, which identify a run.

    seed: random seed, from 0.
    """

    method: str
    seed: int


@dataclass(frozen=True)
class Plan:
    """A comparison of methods on one problem; the runs of each method have the seeds 0, 1, ...

    seeds: number of runs of each method, at least 1.
    trials: number of finished trials of each run, at least 1.
    of_run: arguments of `Study.optimize` that all runs share, such as `timeout`; they are not stored.
    """

    given: str | AnyProblem
    methods: Mapping[str, Method]
    seeds: int
    trials: int
    folder: Path
    of_run: Mapping[str, Any] = field(default_factory=dict)

    @property
    def may_end_early(self) -> bool:
        """True if a run may end before it has all its trials."""
        return any(self.of_run.get(name) is not None for name in ENDS)

    @property
    def problem(self) -> str:
        """The name of the problem in tables and files."""
        return self.given if isinstance(self.given, str) else self.given.name

    @property
    def cells(self) -> list[RunKey]:
        """The requested runs, all methods of a seed before the next seed."""
        return [RunKey(method, seed) for seed in range(self.seeds) for method in self.methods]

    def file(self, cell: RunKey) -> Path:
        """Return the path of the file of a run."""
        return self.folder / "runs" / f"{quote(cell.method, safe=' +,()[]', errors='surrogatepass')}-{cell.seed}.db"

    def find_files(self) -> list[RunKey]:
        """List the runs that have a file, including runs of earlier calls; other files are ignored."""
        named = {path: _parse_run_key(path) for path in (self.folder / "runs").glob("*-*.db")}
        return sorted(cell for path, cell in named.items() if cell is not None and self.file(cell) == path)

    def load_problem(self) -> AnyProblem:
        """Return the problem, which is loaded once per process."""
        return self._problem

    @cached_property
    def _problem(self) -> AnyProblem:
        return registry.load(self.given) if isinstance(self.given, str) else self.given

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_problem"}

    def build_method(self, label: str, domain: Domain) -> str | Searcher:
        """Return a method in the form that `Study` accepts: its name, or a searcher.

        Raises the errors of the method for the domain, and TypeError if a function returns something else.
        """
        given = self.methods.get(label, label)
        if isinstance(given, str | Searcher):
            return given
        built = given(domain)  # type: ignore[operator]  # `read_methods` has checked it
        return check_part(f"methods[{label!r}]: its result", built, Searcher)

    @cached_property
    def described(self) -> dict[str, StudyRow]:
        """For each label, the row of the study of its runs, without seed and initial points."""
        return {label: self._describe(label, self.load_problem()) for label in self.methods}

    def _describe(self, label: str, problem: AnyProblem) -> StudyRow:
        why = f"{self.problem} cannot be searched by {label}"
        try:
            method = self.build_method(label, problem.space)
            searcher = build_searcher(method, problem.space, problem.goals)
        except DomainError as error:
            raise DomainError(f"{why}: {error}") from error
        except (TypeError, ValueError) as error:
            if isinstance(self.methods[label], str):
                raise ValueError(str(error)) from error
            raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{why}: {error}") from error
        return describe_run(self.problem, problem.space, problem.goals, method, searcher)

    def check_methods(self) -> None:
        """Raise DomainError if a method of the plan cannot search the problem, TypeError, ValueError."""
        _ = self.described

    def find_difference(self, cell: RunKey, stored: StudyRow) -> str | None:
        """Describe the difference between a stored run and the run of this plan; None if they agree."""
        given = next(iter(self.described.values()))._replace(seed=cell.seed)
        if cell not in self.cells:
            return find_run_difference(stored, given._replace(method=stored.method, initial=stored.initial))
        problem = self.load_problem()
        points = dump(encode_points(problem.space, initial_points(problem, cell.seed)))
        return find_run_difference(stored, given._replace(method=self.described[cell.method].method, initial=points))

    def claim_folder(self, *, overwrite: bool = False) -> None:
        """Create the folder, or check that it belongs to the same problem and methods.

        overwrite: True if tables may replace files that bostruct did not write.

        Raises StorageError for the folder of another comparison, OutputRefused if a table must not replace a file.
        """
        path = self.folder / SETTINGS_FILE
        for name, kind in TABLES.items():
            check_output(self.folder / name, kind, overwrite=overwrite)
        (self.folder / "runs").mkdir(parents=True, exist_ok=True)
        settings = {"problem": self.problem, "methods": list(self.methods), "seeds": self.seeds, "trials": self.trials}
        write_record(path, settings, self.described)


def _parse_run_key(path: Path) -> RunKey | None:
    method, _, seed = path.stem.rpartition("-")
    return RunKey(unquote(method, errors="surrogatepass"), int(seed)) if seed.isdecimal() else None


def initial_points(problem: AnyProblem, seed: int) -> list[Presented]:
    """Return the initial points of all runs of a seed.

    problem: if it has published sets, seed 0 gets the first set, seed 1 the second, and so on, cyclically.
    seed: random seed, from 0.
    """
    return problem.initial_points(problem.configs[seed % len(problem.configs)] if problem.configs else seed)


def describe_run(name: str, domain: Domain, goals: Goals, method: str | Searcher, searcher: Searcher) -> StudyRow:
    """Return the row of the study of a run, with seed 0 and without initial points."""
    described = dump(describe_method(method, searcher))
    return StudyRow(
        name, dump(domain.to_json()), described, 0, dump(goals.to_json()), "[]", "null", version=__version__
    )


def find_run_difference(stored: StudyRow, given: StudyRow) -> str | None:
    """Describe the difference between a stored run and the requested run; None if they agree."""
    same = can_continue_method(stored, given)
    return find_difference(stored, given._replace(method=stored.method) if same else given)


def read_record(path: Path) -> dict[str, ParsedJson]:
    """Return the content of comparison.json, empty if it does not exist; raise StorageError if it is invalid."""
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found["problem"], str):
            raise TypeError(f"problem: expected a string, got {short_repr(found['problem'])}")
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{path}: is not the record of a comparison: {short_repr(error)}") from error
    return found


def find_record_difference(record: Mapping[str, ParsedJson], given: Mapping[str, StudyRow]) -> str | None:
    """Describe the difference between a recorded comparison and the requested comparison; None if they agree.

    Raises KeyError, TypeError, ValueError or a similar error for an invalid record.
    """
    for label, row in given.items():
        stored = row
        if "space" in record:
            stored = stored._replace(domain=dump(record["space"]), goals=dump(record["goals"]))
        if known := record.get("described", {}).get(label):
            stored = stored._replace(method=dump(known), version=known["version"])
        if difference := find_run_difference(stored, row):
            return f"{label!r} with {difference}"
    return None


def write_record(path: Path, settings: Mapping[str, ParsedJson], given: Mapping[str, StudyRow]) -> None:
    """Write comparison.json for a call, after a check that it agrees with an existing file, whose methods are kept.

    given: a row for each label of a method, at least one.

    Raises StorageError if the file belongs to another comparison, OutputRefused if bostruct did not write it; the file
    is then unchanged.
    """
    earlier = read_record(path)
    if earlier and earlier["problem"] != settings["problem"]:
        raise StorageError(f"{path.parent}: has a comparison on {earlier['problem']}, not on {settings['problem']}")
    try:
        difference = find_record_difference(earlier, given)
        known = dict(earlier.get("described", {}))
    except MALFORMED as error:
        raise StorageError(f"{path}: is not the record of a comparison: {short_repr(error)}") from error
    if difference:
        raise StorageError(
            f"{path.parent}: has a comparison of {difference}; give another folder, or repeat the earlier settings"
        )
    one = next(iter(given.values()))
    described = known | {label: parse(row.method) | {"version": row.version} for label, row in given.items()}
    record = {
        "written_by": "bostruct",
        **settings,
        "space": parse(one.domain),
        "goals": parse(one.goals),
        "described": described,
    }
    write_output(path, dump(record) + "\n", "record of a comparison", overwrite=None)
