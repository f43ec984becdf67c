"""One run: a search on an instance of a problem, in this process.

    python -m benchmarks.experiments.run PROBLEM SEARCH SEED TRIALS SECONDS [DATA]

DATA is the folder of the files. Prints the JSON of what `take` returns, which SECONDS limits.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.experiments.cases import PROBLEMS
from benchmarks.peers.run import Run


def take(run: Run, most_seconds: float, data: Path | None) -> dict[str, Any]:
    """Run a search; return what `benchmarks.peers.run.take` returns, and measures, the numbers that are compared.

    run: its problem is one of `benchmarks.experiments.cases.PROBLEMS`, its search one of those of its group.
    most_seconds: of CPU for all suggestions, after which it is cut.
    data: the folder of the files; None for none.

    Raises FileNotFoundError where the problem is a file that is not there.
    """
    group = PROBLEMS[run.problem]
    return group.taking(group.makers[run.problem], run, most_seconds, data)


def main() -> None:
    """Take the run that the command names, and print what it found."""
    problem, search, seed, trials, most_seconds, *data = sys.argv[1:]
    given = Run(problem, search, int(seed), int(trials))
    print(json.dumps(take(given, float(most_seconds), Path(data[0]) if data else None)))


if __name__ == "__main__":
    main()
