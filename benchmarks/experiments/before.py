"""One run by the package of the revision before, as `benchmarks.experiments.run` takes it.

The folder in which that package lies is in the environment, under `FOLDER`.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import benchmarks

FOLDER = "BOSTRUCT_BEFORE"  # of the package: git archive REVISION bostruct | tar x -C FOLDER


def main() -> None:
    """Put the package of the revision before in front of this one, and take the run that the command names."""
    problems = Path(benchmarks.__file__).resolve().parents[1] / "bostruct" / "problems"
    sys.path.insert(0, os.environ[FOLDER])
    importlib.import_module("bostruct.problems").__path__.append(str(problems))  # has those that it lacks
    importlib.import_module("benchmarks.experiments.run").main()


if __name__ == "__main__":
    main()
