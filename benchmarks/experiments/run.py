"""One run: a search on an instance of a problem, in this process.

    python -m benchmarks.experiments.run PROBLEM SEARCH SEED TRIALS SECONDS [DATA]

DATA is the folder of the data files. Prints the result of `take` as JSON; SECONDS limits the CPU time.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.experiments.cases import PROBLEMS
from benchmarks.peers.run import Run


def take(run: Run, most_seconds: float, data: Path | None) -> dict[str, Any]:
    """Run a search; return what `benchmarks.peers.run.take` returns, and under "measures" the compared numbers.

    run: a run on one of `benchmarks.experiments.cases.PROBLEMS` by a search of the problem's group.
    most_seconds: CPU seconds of all suggestions after which the run is cut.
    data: folder of the data files, if any.

    Raises FileNotFoundError if the data file of the problem does not exist.
    """
    group = PROBLEMS[run.problem]
    return group.taking(group.makers[run.problem], run, most_seconds, data)


def main() -> None:
    """Perform the run that the command names, and print its result."""
    problem, search, seed, trials, most_seconds, *data = sys.argv[1:]
    given = Run(problem, search, int(seed), int(trials))
    print(json.dumps(take(given, float(most_seconds), Path(data[0]) if data else None)))


if __name__ == "__main__":
    main()
