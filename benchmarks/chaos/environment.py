"""Changes in the environment of a study, each in its own process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.chaos.crowded_places import (
    close_while_deciding,
    fill_disk_together,
    lose_file_together,
    stop_while_deciding,
)
from benchmarks.chaos.isolation import call_isolated
from benchmarks.chaos.places import LOSSES, NotHere, close_a_lost_study, fill_disk, lose_file, refuse_writing
from benchmarks.chaos.row import Row, Verdict
from benchmarks.chaos.sharing import fork_after_opening, kill_and_fork, race_processes, set_clock_back, use_threads

LIMIT = 300.0
Surroundings = Callable[[Path, Verdict], None]
CASES: dict[str, Surroundings] = {
    "disk full": fill_disk,
    **{f"{name} while open": partial(lose_file, lose=lose) for name, lose in LOSSES.items()},
    "file removed, then closed": close_a_lost_study,
    "read-only file": partial(refuse_writing, what="file", mode=0o444),
    "read-only folder": partial(refuse_writing, what="folder", mode=0o555),
    "clock set back": set_clock_back,
    **{f"8 threads, {name}": partial(use_threads, method=name) for name in ("random", "auto", "evolution", "wrs")},
    "two processes": race_processes,
    "fork after open": fork_after_opening,
    "fork, and kill of the parent": kill_and_fork,
    "disk full, 4 writers": fill_disk_together,
    "file removed, 4 writers": lose_file_together,
    "stopped while it decides": stop_while_deciding,
    "closed while another decides": close_while_deciding,
}
SHORT = (
    "disk full",
    "file removed while open",
    "read-only file",
    "clock set back",
    "8 threads, random",
    "fork after open",
    "stopped while it decides",
)


def run_case(case: str, folder: Path) -> Verdict:
    """Change the environment of a study."""
    return run_isolated(CASES[case], folder, LIMIT)


def run_isolated(surroundings: Surroundings, folder: Path, limit: float) -> Verdict:
    """Run a case in a forked process; a case that this machine does not allow is counted.

    surroundings: the case.
    folder: an empty folder.
    limit: seconds of wall time.
    """

    def call() -> Verdict:
        verdict = Verdict()
        try:
            surroundings(folder, verdict)
        except NotHere:
            verdict.count("cases that this machine does not allow")
        return verdict

    answer = call_isolated(call, limit)
    if answer.trouble is None:
        return answer.value
    verdict = Verdict()
    verdict.blame("otherwise than documented", answer.trouble)
    return verdict


ENVIRONMENT = Row(
    name="environment",
    what="disk full, file or folder gone, read-only, clock set back, 8 threads, several processes, one stopped, "
    "fork after open",
    kinds=("lost", "otherwise than documented"),
    cases=tuple(CASES),
    short=SHORT,
    run=run_case,
)
