"""The plan of a comparison: a problem, labeled methods, seeds and trials, and the folder that keeps its runs.

The folder's comparison.json says what it was made for; a call that asks for something else is refused.
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
ENDS = ("timeout", "patience")  # arguments that may end a run before it has all trials
Method = str | Searcher | Callable[[Domain], Searcher]


class RunKey(NamedTuple):
    """A method and a seed, which name a run.

    seed: an integer from 0.
    """

    method: str
    seed: int


@dataclass(frozen=True)
class Plan:
    """A comparison of methods on one problem; the runs of each have the seeds 0, 1, ...

    seeds: runs of each method, at least 1.
    trials: finished trials of each run, at least 1.
    of_run: arguments of `Study.optimize` that all runs share, such as `timeout`; they are not part of what is stored.
    """

    given: str | AnyProblem
    methods: Mapping[str, Method]
    seeds: int
    trials: int
    folder: Path
    of_run: Mapping[str, Any] = field(default_factory=dict)

    @property
    def may_end_early(self) -> bool:
        """True if a run may be done before it has all trials."""
        return any(self.of_run.get(name) is not None for name in ENDS)

    @property
    def problem(self) -> str:
        """The name of the problem, as tables and files say it."""
        return self.given if isinstance(self.given, str) else self.given.name

    @property
    def cells(self) -> list[RunKey]:
        """The runs that are asked for, all methods of a seed before the next seed."""
        return [RunKey(method, seed) for seed in range(self.seeds) for method in self.methods]

    def file(self, cell: RunKey) -> Path:
        """Return the path of the file that holds a run."""
        return self.folder / "runs" / f"{quote(cell.method, safe=' +,()[]', errors='surrogatepass')}-{cell.seed}.db"

    def find_files(self) -> list[RunKey]:
        """List the runs that have a file, also those that earlier calls asked for; other files are passed over."""
        named = {path: _parse_run_key(path) for path in (self.folder / "runs").glob("*-*.db")}
        return sorted(cell for path, cell in named.items() if cell is not None and self.file(cell) == path)

    def load_problem(self) -> AnyProblem:
        """Return the problem, which is loaded once in a process."""
        return self._problem

    @cached_property
    def _problem(self) -> AnyProblem:
        return registry.load(self.given) if isinstance(self.given, str) else self.given

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_problem"}

    def build_method(self, label: str, domain: Domain) -> str | Searcher:
        """Return a method as `Study` takes it: its name, or a searcher.

        Raises what the method raises for the domain, and TypeError if a function builds something else.
        """
        given = self.methods.get(label, label)
        if isinstance(given, str | Searcher):
            return given
        built = given(domain)  # type: ignore[operator]  # `read_methods` has seen to it
        return check_part(f"methods[{label!r}]: what it builds", built, Searcher)

    @cached_property
    def described(self) -> dict[str, StudyRow]:
        """A row for each label, that of the study of its runs but for seed and initial points."""
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
        """Raise DomainError if a method of the plan cannot search the problem, ValueError if there is none."""
        _ = self.described

    def find_difference(self, cell: RunKey, stored: StudyRow) -> str | None:
        """Return in words what sets a stored run apart from that of this plan; None if nothing does."""
        given = next(iter(self.described.values()))._replace(seed=cell.seed)
        if cell not in self.cells:
            return find_run_difference(stored, given._replace(method=stored.method, initial=stored.initial))
        problem = self.load_problem()
        points = dump(encode_points(problem.space, initial_points(problem, cell.seed)))
        return find_run_difference(stored, given._replace(method=self.described[cell.method].method, initial=points))

    def claim_folder(self, *, overwrite: bool = False) -> None:
        """Make the folder, or find it made for the same problem and methods.

        overwrite: True if tables may replace files that bostruct did not write.

        Raises StorageError for the folder of another comparison, OutputRefused for a file in the place of a table.
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
    """Return the points that all runs of a seed begin with.

    problem: one with published sets gives its first set to seed 0, its second to seed 1, and so on, in a circle.
    seed: from 0.
    """
    return problem.initial_points(problem.configs[seed % len(problem.configs)] if problem.configs else seed)


def describe_run(name: str, domain: Domain, goals: Goals, method: str | Searcher, searcher: Searcher) -> StudyRow:
    """Return the row of a study as a comparison asks for it, with seed 0 and without initial points."""
    described = dump(describe_method(method, searcher))
    return StudyRow(
        name, dump(domain.to_json()), described, 0, dump(goals.to_json()), "[]", "null", version=__version__
    )


def find_run_difference(stored: StudyRow, given: StudyRow) -> str | None:
    """Return in words what sets a run apart from the one that is asked for; None if nothing does."""
    same = can_continue_method(stored, given)
    return find_difference(stored, given._replace(method=stored.method) if same else given)


def read_record(path: Path) -> dict[str, ParsedJson]:
    """Return what comparison.json holds, nothing if there is none; raise StorageError if it makes no sense."""
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
    """Return in words what sets a recorded comparison apart from the one that is asked for; None if nothing does.

    Raises KeyError, TypeError, ValueError or the like for a record that makes no sense.
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
    """Write comparison.json for a call, once it is found to agree with the one there, whose other methods it keeps.

    given: a row for each label of a method, at least one.

    Raises StorageError if the file is of another comparison, OutputRefused if it is none of bostruct, and leaves
    it then.
    """
    earlier = read_record(path)
    if earlier and earlier["problem"] != settings["problem"]:
        raise StorageError(f"{path.parent}: holds a comparison on {earlier['problem']}, not on {settings['problem']}")
    try:
        difference = find_record_difference(earlier, given)
        known = dict(earlier.get("described", {}))
    except MALFORMED as error:
        raise StorageError(f"{path}: is not the record of a comparison: {short_repr(error)}") from error
    if difference:
        raise StorageError(
            f"{path.parent}: holds a comparison of {difference}; give another folder, or call with what it was made "
            "with"
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
