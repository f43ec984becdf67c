"""One run: a search on an instance of a structured problem, in this process.

    python -m benchmarks.structures.run PROBLEM SEARCH SEED TRIALS SECONDS [DATA]

DATA is the folder of the files. Prints the JSON of what `take` returns, which SECONDS limits.
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

    run: its problem is one of `benchmarks.structures.cases.PROBLEMS`, its search one of `SEARCHES`.
    most_seconds: of CPU for all suggestions, after which it is cut.
    data: the folder of the files; None for none.

    Raises FileNotFoundError where the problem is a file that is not there.
    """
    task = make_task(run.problem, run.seed, data)
    search = SEARCHES[run.search](task, PROBLEMS[run.problem].draw(task, run.seed), run.seed)
    return describe(run, *time_search(search, partial(value_of, task), run.trials, most_seconds))


if __name__ == "__main__":
    problem, search, seed, trials, most_seconds, *data = sys.argv[1:]
    given = Run(problem, search, int(seed), int(trials))
    print(json.dumps(take(given, float(most_seconds), Path(data[0]) if data else None)))
