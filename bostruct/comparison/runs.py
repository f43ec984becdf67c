"""The runs of a comparison in several processes: each is a study in its own file, and can be resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from threading import Event, Thread
from time import process_time
from typing import Any

from bostruct.comparison.plan import Plan, RunKey, initial_points
from bostruct.comparison.statistics import is_chosen
from bostruct.contracts import BostructError
from bostruct.execution.interrupts import exit_on_sigterm
from bostruct.output_files import OutputRefused, write_output
from bostruct.problems.registry import old_name
from bostruct.storage.protocol import LONGEST_NAME, StorageError, StudyMismatch
from bostruct.storage.sqlite import SqliteStorage
from bostruct.study.progress import progress_bar
from bostruct.study.result import Result
from bostruct.study.study import Study

POLL_SECONDS = 1.0


@exit_on_sigterm()
def execute(plan: Plan, workers: int, progress: bool | None) -> dict[RunKey, str]:
    """Execute all runs up to their number of trials, and return the reasons of failed runs.

    workers: number of parallel runs, each in a process, at least 1.
    progress: whether to show a progress bar on stderr; None to show it in a terminal and in a notebook.

    KeyboardInterrupt is not caught.
    """
    from bostruct.execution.processes import ProcessPool

    counts = {cell: finished_trials(plan, cell) for cell in plan.cells}
    missing = [cell for cell, count in counts.items() if count < plan.trials]
    if not missing:
        return {}
    failed: dict[RunKey, str] = {}
    pool = ProcessPool(partial(execute_run, plan), min(workers, len(missing)), None)
    try:
        with _watch_progress(plan, counts, progress):
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
def _watch_progress(plan: Plan, counts: dict[RunKey, int], progress: bool | None) -> Iterator[None]:
    """Show a progress bar that counts the trials on disk, from a separate thread."""
    most = plan.trials
    stop = Event()
    done = sum(min(count, most) for count in counts.values())
    with progress_bar(plan.problem, most * len(counts), done, progress) as bar:

        def update() -> None:
            for cell in [cell for cell, count in counts.items() if count < most]:
                now = min(finished_trials(plan, cell), most)
                bar.update(now - counts[cell])
                counts[cell] = now
            ended = sum(count == most for count in counts.values())
            bar.set_postfix_str(f"{ended} of {len(counts)} runs")

        def keep_updating() -> None:
            while not stop.wait(POLL_SECONDS):
                update()

        thread = Thread(target=keep_updating, daemon=True)
        if bar is not None:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            if bar is not None:
                thread.join()
                update()


def execute_run(plan: Plan, cell: RunKey) -> int:
    """Execute or resume one run, in this process and with one thread, and return its number of finished trials."""
    problem = plan.load_problem()
    if plan.file(cell).exists():
        _check_run(plan, cell)
    with Study(
        problem.space,
        method=plan.build_method(cell.method, problem.space),
        seed=cell.seed,
        storage=plan.file(cell),
        name=name_in_file(plan.file(cell), problem.name),
        initial_points=initial_points(problem, cell.seed),
        threads=1,
        **problem.goals.to_arguments(),
    ) as study:
        objective = _Timed(problem)
        before, began = _count_chosen(study), process_time()
        try:
            study.optimize(objective, plan.trials, progress=False, **plan.of_run)
        finally:
            spent = process_time() - began - objective.seconds
            _add_cpu_seconds(plan.file(cell), _count_chosen(study) - before, spent)
        return study.n_finished


def _check_run(plan: Plan, cell: RunKey) -> None:
    """Raise StudyMismatch if the file of a run has another space, other goals, method or initial points."""
    try:
        stored = SqliteStorage(plan.file(cell)).read(None)
    except StorageError:  # it contains no study yet; other errors are reported when it is opened
        return
    if stored.changes:
        raise StudyMismatch(f"{plan.file(cell)}: its space was changed after the start of the run")
    if difference := plan.find_difference(cell, stored.study):
        raise StudyMismatch(f"{plan.file(cell)}: was created with {difference}")


def _count_chosen(study: Study) -> int:
    return sum(map(is_chosen, study.trials))


class _Timed:
    """An objective that measures its total CPU seconds."""

    def __init__(self, objective: Callable[[Any], object]) -> None:
        self.objective = objective
        self.seconds = 0.0

    def __call__(self, point: Any) -> object:
        began = process_time()
        try:
            return self.objective(point)
        finally:
            self.seconds += process_time() - began


def name_in_file(path: str | Path | None, name: str) -> str:
    """Return the name of a study, or its name by an earlier version, if a file contains that.

    path: path of the file, if any.
    """
    made = name
    if len(name) > LONGEST_NAME:
        made = f"{name[: LONGEST_NAME - 17]} {blake2b(name.encode(errors='replace'), digest_size=8).hexdigest()}"
    earlier = [one for one in (name, old_name(name)) if one != made]
    if path is None or not earlier or not Path(path).exists():
        return made
    try:
        stored = {row.name for row in SqliteStorage(Path(path)).studies()}
    except StorageError:  # reported when the file is opened for writing
        return made
    return next((one for one in (made, *earlier) if one in stored), made)


def finished_trials(plan: Plan, cell: RunKey) -> int:
    """Count the finished trials of a run on disk; 0 if it has no file, or a file without a study."""
    path = plan.file(cell)
    if not path.exists():
        return 0
    try:
        return SqliteStorage(path).count_finished()
    except StorageError:  # it contains no study yet; other errors are reported when it is opened for writing
        return 0


def read_runs(plan: Plan) -> tuple[dict[RunKey, Result], dict[RunKey, str]]:
    """Return all runs in the folder, the requested runs first; and the reasons why some cannot be compared."""
    found = plan.find_files()
    results: dict[RunKey, Result] = {}
    left_out: dict[RunKey, str] = {}
    for cell in dict.fromkeys([*plan.cells, *found]):
        try:
            if cell in found:
                results[cell] = read_result(plan, cell)
        except BostructError as error:
            left_out[cell] = str(error)
    return results, left_out


def read_result(plan: Plan, cell: RunKey) -> Result:
    """Return the first `trials` trials of a run.

    Raises StorageError, StudyMismatch if the run has another space, other goals, method or initial points than the
    plan, and BostructError if it has fewer trials.
    """
    _check_run(plan, cell)
    space = plan.load_problem().space
    with Study.load(plan.file(cell), space=space, read_only=True) as study:
        result = study.result
        least = 1 if plan.may_end_early else min(plan.trials, space.size)
        if study.n_finished < least:
            raise BostructError(f"it has {study.n_finished} of {plan.trials} trials")
    order = result.order[: plan.trials]
    return replace(result, order=order, trials=result.trials[: max(order, default=-1) + 1])


def _cpu_file(path: Path) -> Path:
    return path.with_suffix(".cpu.json")


def _add_cpu_seconds(path: Path, suggestions: int, seconds: float) -> None:
    """Add to the record of a run, in a file next to it, the CPU seconds of its process outside the objective."""
    before = read_cpu_seconds(path) or (0, 0.0)
    record = json.dumps({"suggestions": before[0] + suggestions, "seconds": before[1] + seconds})
    with suppress(OutputRefused):  # a file that bostruct did not write stays, and the run has no record
        write_output(_cpu_file(path), f"{record}\n", "record of CPU seconds")


def read_cpu_seconds(path: Path) -> tuple[int, float] | None:
    """Return the number of timed suggestions, and the CPU seconds outside the objective; None without a record."""
    try:
        record = json.loads(_cpu_file(path).read_text(encoding="utf-8"))
        return int(record["suggestions"]), float(record["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
