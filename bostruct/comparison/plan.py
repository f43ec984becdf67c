"""The plan of a comparison: a problem, labeled methods, seeds and trials, and the folder that keeps its runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from bostruct.checks import missing_members, short_repr
from bostruct.contracts import Domain, DomainError, Presented, Searcher
from bostruct.problems import registry
from bostruct.problems.own import AnyProblem
from bostruct.storage.protocol import StorageError
from bostruct.study.stored_searcher import build_searcher

SETTINGS_FILE = "comparison.json"
Method = str | Searcher | Callable[[Domain], Searcher]


class RunKey(NamedTuple):
    """A method and a seed, which name a run.

    method: label of the method.
    seed: an integer from 0.
    """

    method: str
    seed: int


@dataclass(frozen=True)
class Plan:
    """A comparison of methods on one problem; the runs of each have the seeds 0, 1, ...

    given: the problem, or its name, by which each process loads it for itself.
    methods: by label; the first is the one that the others are compared with.
    seeds: runs of each method, at least 1.
    trials: finished trials of each run, at least 1.
    folder: where runs, tables and picture are kept.
    """

    given: str | AnyProblem
    methods: Mapping[str, Method]
    seeds: int
    trials: int
    folder: Path

    @property
    def problem(self) -> str:
        """The name of the problem, as tables and files say it."""
        return self.given if isinstance(self.given, str) else self.given.name

    @property
    def cells(self) -> list[RunKey]:
        """The runs that are asked for, all methods of a seed before the next seed."""
        return [RunKey(method, seed) for seed in range(self.seeds) for method in self.methods]

    def file(self, cell: RunKey) -> Path:
        """Return the path of the file that holds a run.

        cell: names the run.
        """
        return self.folder / "runs" / f"{quote(cell.method, safe=' +,()[]')}-{cell.seed}.db"

    def find_files(self) -> list[RunKey]:
        """List the runs that have a file, also those that earlier calls asked for."""
        return sorted(_parse_run_key(path) for path in (self.folder / "runs").glob("*-*.db"))

    def load_problem(self) -> AnyProblem:
        """Return the problem."""
        return registry.load(self.given) if isinstance(self.given, str) else self.given

    def build_method(self, label: str, domain: Domain) -> str | Searcher:
        """Return a method as `Study` takes it: its name, or a searcher.

        label: of the method; one that is not in the plan is a name.
        domain: to search.

        Raises what the method raises for the domain, and TypeError where a function builds something else.
        """
        given = self.methods.get(label, label)
        if isinstance(given, str) or not missing_members(given, Searcher):
            return given  # type: ignore[return-value]  # it has all members
        built = given(domain)  # type: ignore[operator]  # `read_methods` has seen to it
        if missing := missing_members(built, Searcher):
            raise TypeError(
                f"methods[{label!r}]: builds {short_repr(built)}, which is no searcher: it lacks {', '.join(missing)}"
            )
        return built

    def check_methods(self, problem: AnyProblem) -> None:
        """Raise DomainError where a method of the plan cannot search the problem, ValueError where it has none.

        problem: of the plan.
        """
        for label in self.methods:
            why = f"{self.problem} cannot be searched by {label}"
            try:
                build_searcher(self.build_method(label, problem.space), problem.space, problem.goals)
            except DomainError as error:
                raise DomainError(f"{why}: {error}") from error
            except (TypeError, ValueError) as error:
                raise ValueError(str(error) if isinstance(self.methods[label], str) else f"{why}: {error}") from error

    def claim_folder(self) -> None:
        """Make the folder, or find it made for the same problem; raises StorageError otherwise."""
        path = self.folder / SETTINGS_FILE
        (self.folder / "runs").mkdir(parents=True, exist_ok=True)
        if path.exists():
            try:
                other = json.loads(path.read_text(encoding="utf-8"))["problem"]
            except (ValueError, KeyError, TypeError) as error:
                raise StorageError(f"{path}: is not the record of a comparison: {error!r}") from error
            if other != self.problem:
                raise StorageError(f"{self.folder}: holds a comparison on {other}, not on {self.problem}")
        record = {"problem": self.problem, "methods": list(self.methods), "seeds": self.seeds, "trials": self.trials}
        fresh = path.with_suffix(".tmp")
        fresh.write_text(json.dumps(record) + "\n", encoding="utf-8")
        fresh.replace(path)  # at once, or not at all


def _parse_run_key(path: Path) -> RunKey:
    method, _, seed = path.stem.rpartition("-")
    return RunKey(unquote(method), int(seed))


def initial_points(problem: AnyProblem, seed: int) -> list[Presented]:
    """Return the points that all runs of a seed begin with.

    problem: one with published sets gives its first set to seed 0, its second to seed 1, and so on, in a circle.
    seed: from 0.
    """
    return problem.initial_points(problem.configs[seed % len(problem.configs)] if problem.configs else seed)
