"""One run: a search on an instance of a structured problem, in this process.

    python -m benchmarks.structures.run PROBLEM SEARCH SEED TRIALS SECONDS [DATA]

DATA is the folder of the data files. Prints the result of `take` as JSON; SECONDS limits the CPU time.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers.run import Run, describe, time_search, value_of
from benchmarks.structures.cases import PROBLEMS, make_task
from benchmarks.structures.searches import SEARCHES


def take(run: Run, most_seconds: float, data: Path | None) -> dict[str, Any]:
    """Run a search; return what `benchmarks.peers.run.take` returns.

    run: a run on one of `benchmarks.structures.cases.PROBLEMS` by one of `SEARCHES`.
    most_seconds: CPU seconds of all suggestions after which the run is cut.
    data: folder of the data files, if any.

    Raises FileNotFoundError if the data file of the problem does not exist.
    """
    task = make_task(run.problem, run.seed, data)
    search = SEARCHES[run.search](task, PROBLEMS[run.problem].draw(task, run.seed), run.seed)
    return describe(run, *time_search(search, partial(value_of, task), run.trials, most_seconds))


if __name__ == "__main__":
    problem, search, seed, trials, most_seconds, *data = sys.argv[1:]
    given = Run(problem, search, int(seed), int(trials))
    print(json.dumps(take(given, float(most_seconds), Path(data[0]) if data else None)))
