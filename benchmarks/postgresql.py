"""The time of a study's steps in a SQLite file and in a PostgreSQL database.

    python -m benchmarks.postgresql [URL]

Without a URL, a server of the tests is started on this machine, with fsync on. Prints the median milliseconds of ask
and tell by `random` on 60 variables, with alternating back ends, and the trials per second of four processes that share
one study.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import bostruct as bo

SPACE = {f"x{number}": [0, 1] for number in range(60)}
WORK = """
import sys
import bostruct as bo
from benchmarks.postgresql import SPACE, work
work(sys.argv[1], int(sys.argv[2]))
"""


def work(place: str, n_trials: int) -> None:
    """Evaluate in this process until a study has a number of trials."""
    with bo.Study(SPACE, method="random", seed=0, storage=place, name="shared") as study:
        study.optimize(lambda point: float(sum(point.values())), n_trials, progress=False)


def time_steps(places: list[str], n_trials: int) -> dict[str, tuple[float, float]]:
    """Return the median milliseconds of ask and of tell, by place."""
    times: dict[str, tuple[list[float], list[float]]] = {place: ([], []) for place in places}
    with ExitStack() as stack:
        studies = {
            place: stack.enter_context(bo.Study(SPACE, method="random", seed=0, storage=place, name="alone"))
            for place in places
        }
        for _ in range(n_trials):
            for place, study in studies.items():
                began = time.perf_counter()
                trial = study.ask()
                asked = time.perf_counter()
                study.tell(trial, 1.0)
                times[place][0].append(1e3 * (asked - began))
                times[place][1].append(1e3 * (time.perf_counter() - asked))
    return {place: (median(asks), median(tells)) for place, (asks, tells) in times.items()}


def time_sharing(place: str, n_trials: int, n_processes: int) -> float:
    """Return the trials per second of processes that share a study, from its first trial to its last."""
    command = [sys.executable, "-c", WORK, place, str(n_trials)]
    processes = [subprocess.Popen(command) for _ in range(n_processes)]
    if any(process.wait() for process in processes):
        raise RuntimeError("a process failed")
    with bo.Study.load(place, "shared", read_only=True) as study:
        ends = sorted(trial.finished or 0.0 for trial in study.trials)
        return (len(ends) - 1) / (ends[-1] - ends[0])


def main() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if len(sys.argv) > 1:
            url = sys.argv[1]
        else:
            from tests.storage.postgresql.server import Server

            server = Server({"fsync": "on"})
            stack.callback(server.remove)
            server.query("CREATE DATABASE speed")
            url = server.socket_url("speed")
        places = [str(folder / "speed.db"), url]
        for place, (ask, tell) in time_steps(places, 500).items():
            print(f"{place.partition(':')[0]:40} ask {ask:6.2f} ms   tell {tell:6.2f} ms", flush=True)
        for place in places:
            found = time_sharing(place, 400, 4)
            print(f"{place.partition(':')[0]:40} 4 processes: {found:6.1f} trials per second", flush=True)


if __name__ == "__main__":
    main()
