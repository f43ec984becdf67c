"""Compare the speed of two revisions of bostruct: the same calls, alternately on one machine.

    git archive REVISION bostruct | tar x -C FOLDER
    python -m benchmarks.speed_of_revisions FOLDER [--pairs 10] [--rows NAME,...] [--check]

Each row is run by two processes of one thread, one with the package in FOLDER and one with the package of this
checkout. They alternate, and the order within a pair alternates, too. Figures are CPU seconds of the row, and the ratio
of this checkout to FOLDER: the geometric mean over the pairs with its 95% interval. --check makes the exit code 1 if
the mean over all rows is above 1.02, or if the interval of a row lies wholly above 1.05.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

HERE = Path(__file__).parents[1]
MOST_MEAN = 1.02
MOST_ROW = 1.05
QUANTILES = {10: 2.262, 12: 2.201, 15: 2.145, 20: 2.093, 30: 2.045}  # of Student's t, two-sided, 95%, by pairs
SPACES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "bits": lambda _: {f"b{i}": bool for i in range(40)},
    "categories": lambda _: {f"c{i}": list("abcde") for i in range(12)},
    "mixed": lambda bo: {"u": bo.Real(0, 1), "v": bo.Real(1e-4, 1, log=True), "n": bo.Integer(1, 90), "c": list("abc")},
    "order": lambda bo: {"p": bo.Permutation(range(12))},
    "levels": lambda bo: {f"l{i}": bo.Ordinal([k / 10 for k in range(11)]) for i in range(10)},
}


def measure(point: dict[str, Any]) -> float:
    """Return a smooth value of any point, in negligible time."""
    total = 0.0
    for i, value in enumerate(point.values()):
        parts = value if isinstance(value, tuple | list) else (value,)
        for j, part in enumerate(parts):
            total += math.sin(1.0 + i + j) * (ord(part) % 7 if isinstance(part, str) else float(part))
    return total


def suggest(space: str, method: str, observed: int, suggestions: int, storage: bool = False) -> Callable[[], float]:
    """Return a row: seconds of some asks and tells, after a number of observed points."""

    def run() -> float:
        import bostruct as bo

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "runs.db") if storage else None
            domain = bo.Space(SPACES[space](bo))
            with bo.Study(domain, method=method, seed=0, storage=file) as study:
                import numpy as np

                points = [domain.present(x) for x in domain.sample(observed, np.random.default_rng(0))]
                for point in points:
                    study.add(point, measure(point))
                began = time.process_time()
                for _ in range(suggestions):
                    trial = study.ask()
                    study.tell(trial, measure(trial.point))
                return time.process_time() - began

    return run


def reopen() -> float:
    """Return the seconds of opening a study of 3,000 trials in a file."""
    import bostruct as bo

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "runs.db")
        bo.minimize(measure, bo.Space(SPACES["levels"](bo)), 3_000, method="random", seed=0, storage=file)
        began = time.process_time()
        with bo.Study.load(file) as study:
            assert len(study.trials) == 3_000
        return time.process_time() - began


def add_frame() -> float:
    """Return the seconds of adding 2,000 rows of a data frame."""
    import numpy as np
    import pandas as pd

    import bostruct as bo

    domain = bo.Space(SPACES["levels"](bo))
    points = [domain.present(x) for x in domain.sample(2_000, np.random.default_rng(0))]
    frame = pd.DataFrame(points).assign(value=[measure(point) for point in points])
    with bo.Study(domain, seed=0) as study:
        began = time.process_time()
        study.add_frame(frame)
        return time.process_time() - began


def optimize() -> float:
    """Return the seconds of 2,000 random trials of `minimize`, in memory."""
    import bostruct as bo

    began = time.process_time()
    bo.minimize(measure, bo.Space(SPACES["levels"](bo)), 2_000, method="random", seed=0, progress=False)
    return time.process_time() - began


def import_package() -> float:
    """Return the seconds of `import bostruct` in a fresh process."""
    program = "import time; t = time.process_time(); import bostruct; print(time.process_time() - t)"
    return float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)


ROWS: dict[str, Callable[[], float]] = {
    "import": import_package,
    **{f"auto, {space}, 40 told": suggest(space, "auto", 40, 6) for space in SPACES},
    "auto, bits, 300 told": suggest("bits", "auto", 300, 3),
    "combo, categories, 30 told": suggest("categories", "combo", 30, 1),
    "evolution, mixed, memory": suggest("mixed", "evolution", 20, 500),
    "random, bits, memory": suggest("bits", "random", 0, 1_000),
    "random, mixed, file": suggest("mixed", "random", 0, 300, storage=True),
    "minimize, random, memory": optimize,
    "reopen 3,000 trials": reopen,
    "add_frame, 2,000 rows": add_frame,
}


class Worker:
    """A process that runs rows with the package of a folder."""

    def __init__(self, package: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(package), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, env=environment, cwd=package, text=True, **pipes)  # type: ignore[call-overload]

    def run(self, row: str) -> float:
        """Return the CPU seconds of a row."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(row, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()


def serve() -> None:
    """Run the rows that standard input names, and print their seconds."""
    for line in sys.stdin:
        print(ROWS[line.strip()](), flush=True)


def compare(before: Path, rows: list[str], pairs: int) -> dict[str, list[tuple[float, float]]]:
    """Return the seconds of both packages, before and now, for each pair of each row; the first pair warms up.

    before: folder that contains the folder bostruct of the earlier revision.
    rows: names of `ROWS`.
    pairs: number of pairs of each row, from 10.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    with Worker(before) as first, Worker(HERE) as second:
        for row in rows:
            taken = []
            for i in range(pairs + 1):
                seconds = {one: one.run(row) for one in ((first, second) if i % 2 else (second, first))}
                taken.append((seconds[first], seconds[second]))
            found[row] = taken[1:]
            print(describe(row, found[row]), flush=True)
    return found


def summarize(pairs: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Return the geometric mean of the ratios now / before, and the ends of its 95% interval."""
    logs = [math.log(now / before) for before, now in pairs]
    quantile = next(t for n, t in sorted(QUANTILES.items(), reverse=True) if n <= len(logs))
    half = quantile * stdev(logs) / math.sqrt(len(logs))
    return math.exp(fmean(logs)), math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)


def describe(row: str, pairs: list[tuple[float, float]]) -> str:
    """Return the line of a row in the table."""
    mean, low, high = summarize(pairs)
    before, now = (sorted(one[k] for one in pairs)[len(pairs) // 2] for k in (0, 1))
    return f"| {row} | {before:.4g} | {now:.4g} | {mean:.3f} [{low:.3f}, {high:.3f}] |"


def main() -> int:
    """Print the table; return 1 if --check finds a limit exceeded, otherwise 0."""
    if sys.argv[1:] == ["--serve"]:
        serve()
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, metavar="FOLDER")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--rows", help="parts of the names of rows, separated by semicolons")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.pairs < min(QUANTILES):
        parser.error(f"--pairs: expected at least {min(QUANTILES)}, got {given.pairs}")
    rows = [row for row in ROWS if given.rows is None or any(part in row for part in given.rows.split(";"))]
    print("| row | before, s | now, s | now / before |\n|---|---|---|---|")
    found = compare(given.before.resolve(), rows, given.pairs)
    summaries = [summarize(pairs) for pairs in found.values()]
    mean = math.exp(fmean(math.log(one[0]) for one in summaries))
    print(f"\ngeometric mean over {len(summaries)} rows: {mean:.3f}")
    is_slow = mean > MOST_MEAN or any(low > MOST_ROW for _, low, _ in summaries)
    return int(given.check and is_slow)


if __name__ == "__main__":
    raise SystemExit(main())
