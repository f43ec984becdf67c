"""Methods x seeds on one problem, over processes: each run is a study in its own file, and goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, NamedTuple

from bostruct.cli.options import name_in_file
from bostruct.contracts import BostructError
from bostruct.execution.interrupts import exit_on_sigterm
from bostruct.storage.protocol import StorageError
from bostruct.study.progress import progress_bar

if TYPE_CHECKING:
    from bostruct.problems.registry import AnyProblem
    from bostruct.study.result import Result

SETTINGS_FILE = "comparison.json"
POLL_SECONDS = 1.0


class RunKey(NamedTuple):
    """A method and a seed, which name a run.

    method: name of the method.
    seed: an integer from 0.
    """

    method: str
    seed: int


@dataclass(frozen=True)
class Comparison:
    """A comparison of methods; the runs of each have the seeds 0, 1, ... and as many sets of initial points.

    problem: a specification.
    methods: names, the first of which the others are compared with.
    seeds: runs of each method, at least 1.
    trials: finished trials of each run, at least 1.
    folder: where runs, tables and picture are kept.
    """

    problem: str
    methods: tuple[str, ...]
    seeds: int
    trials: int
    folder: Path

    @property
    def cells(self) -> list[RunKey]:
        return [RunKey(method, seed) for seed in range(self.seeds) for method in self.methods]

    def file(self, cell: RunKey) -> Path:
        """Return the path of the file that holds a run.

        cell: names the run.
        """
        return self.folder / "runs" / f"{cell.method}-{cell.seed}.db"

    def load_problem(self) -> AnyProblem:
        from bostruct.problems import registry

        return registry.load(self.problem)

    @property
    def n_points(self) -> float:
        """The number of points of the problem: a run that has seen them all is finished."""
        return self.load_problem().space.size

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
        fresh = path.with_suffix(".tmp")
        fresh.write_text(json.dumps(asdict(replace(self, folder=Path())), default=str) + "\n", encoding="utf-8")
        fresh.replace(path)  # at once, or not at all


@exit_on_sigterm()
def execute(comparison: Comparison, processes: int, progress: bool | None) -> dict[RunKey, str]:
    """Bring every run to its number of trials, and return why runs failed, if any did.

    comparison: its folder is claimed.
    processes: runs side by side, at least 1.
    progress: a bar on stderr; None shows it on a terminal.

    KeyboardInterrupt passes.
    """
    from bostruct.execution.processes import ProcessPool

    counts = {cell: finished_trials(comparison, cell) for cell in comparison.cells}
    missing = [cell for cell, count in counts.items() if count < comparison.trials]
    if not missing:
        return {}
    failed: dict[RunKey, str] = {}
    pool = ProcessPool(partial(execute_run, comparison), min(processes, len(missing)), None)
    try:
        with _watch_progress(comparison, counts, progress):
            begun = ended = 0
            while ended < len(missing):
                while begun < len(missing) and begun - ended < pool.slots:
                    pool.submit(begun, missing[begun])
                    begun += 1
                finished = pool.wait()
                ended += len(finished)
                for number, evaluation in finished:
                    if evaluation.outcome.failed is not None:
                        failed[missing[number]] = evaluation.outcome.failed
    finally:
        pool.close()
    return failed


@contextmanager
def _watch_progress(comparison: Comparison, counts: dict[RunKey, int], progress: bool | None) -> Iterator[None]:
    """Show a bar that counts, from a thread of its own, the trials that are on disk."""
    most = comparison.trials
    stop = Event()
    done = sum(min(count, most) for count in counts.values())
    with progress_bar("trials", most * len(counts), done, progress) as bar:

        def look() -> None:
            for cell in [cell for cell, count in counts.items() if count < most]:
                now = min(finished_trials(comparison, cell), most)
                bar.update(now - counts[cell])
                counts[cell] = now
            ended = sum(count == most for count in counts.values())
            bar.set_postfix_str(f"{ended} of {len(counts)} runs")

        def keep_looking() -> None:
            while not stop.wait(POLL_SECONDS):
                look()

        thread = Thread(target=keep_looking, daemon=True)
        if bar is not None:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            if bar is not None:
                thread.join()
                look()


def execute_run(comparison: Comparison, cell: RunKey) -> int:
    """Do one run from where it stopped, in this process and with one thread, and return how many trials it then has.

    comparison: gives problem, trials and folder.
    cell: names the run.
    """
    from bostruct.study.study import Study

    problem = comparison.load_problem()
    with Study(
        problem.space,
        method=cell.method,
        seed=cell.seed,
        storage=comparison.file(cell),
        name=name_in_file(comparison.file(cell), problem.name),
        initial_points=problem.initial_points(problem.configs[cell.seed % len(problem.configs)]),
        threads=1,
    ) as study:
        study.optimize(problem, comparison.trials, progress=False)
        return study.n_finished


def finished_trials(comparison: Comparison, cell: RunKey) -> int:
    """Count the trials of a run that are on disk; 0 where it has no file, or a file without a study.

    comparison: gives the folder.
    cell: names the run.
    """
    from bostruct.storage.sqlite import SqliteStorage

    path = comparison.file(cell)
    if not path.exists():
        return 0
    try:
        return SqliteStorage(path).count_finished()
    except StorageError:  # it holds no study yet; what else is wrong shows when it is opened for writing
        return 0


def read_results(comparison: Comparison) -> tuple[dict[RunKey, Result], dict[RunKey, str]]:
    """Return all runs in the folder, those asked for first; and why some of them cannot be compared.

    comparison: gives the folder, and the runs that were asked for.
    """
    found = sorted(RunKey(*_parse_run_key(path)) for path in (comparison.folder / "runs").glob("*-*.db"))
    results: dict[RunKey, Result] = {}
    left_out: dict[RunKey, str] = {}
    for cell in dict.fromkeys([*comparison.cells, *found]):
        try:
            if cell in found:
                results[cell] = read_result(comparison, cell)
        except BostructError as error:
            left_out[cell] = str(error)
    return results, left_out


def _parse_run_key(path: Path) -> tuple[str, int]:
    method, _, seed = path.stem.rpartition("-")
    return method, int(seed)


def read_result(comparison: Comparison, cell: RunKey) -> Result:
    """Return the first `trials` trials of a run.

    comparison: gives problem, trials and folder.
    cell: names the run.

    Raises StorageError, and BostructError where there are fewer, or none of them has a value.
    """
    from bostruct.study.study import Study

    with Study.load(comparison.file(cell), read_only=True) as study:
        result = study.result
        if study.n_finished < comparison.trials and study.n_finished < comparison.n_points:
            raise BostructError(f"it has {study.n_finished} of {comparison.trials} trials")
    order = result.order[: comparison.trials]
    kept = replace(result, order=order, trials=result.trials[: max(order, default=-1) + 1])
    if not kept.n_completed:
        raise BostructError("no trial has completed")
    return kept
