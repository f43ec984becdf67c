"""Reports, data frames and CSV files of long studies: seconds, and the peak of the process.

    python -m benchmarks.speed.reports [--check]

Each is one command or call on a file of random trials of 60 bits, in a separate process, including its imports.
`best_trial` is read a thousand times after the study was opened.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import bostruct as bo
from benchmarks.speed.long_studies import Case, peak, write_study
from benchmarks.speed.report import YARDSTICK, Row, at_most, main, time_call

REPORT_SECONDS = {1_000: 3.0, 10_000: 6.0, 100_000: 15.0}
MEGABYTES = 300.0
FRAME_SECONDS = 3.0
BEST_MILLISECONDS = 1.0
READ = 1_000
REPORT = """
import json, resource, sys, time
from bostruct.cli import main
start = time.process_time()
main(["report", *sys.argv[1:]], standalone_mode=False)
print(json.dumps([time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024 / 1e6, 0.0]))
"""  # imports nothing of the benchmarks, whose modules would count in the peak


def measure(miniature: bool) -> list[Row]:
    rows, sizes = [], [30] if miniature else list(REPORT_SECONDS)
    for n in sizes:
        case, limit = Case(n, 60, "bits"), REPORT_SECONDS.get(n, 60.0)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "study.db"
            write_study(path, case)
            seconds, megabytes, _ = _run("report", path)
            rows.append(at_most(f"{n:,} trials: report, CPU", limit, seconds, " s"))
            rows.append(at_most(f"{n:,} trials: report, peak of the process", MEGABYTES, megabytes, " MB"))
            if n == sizes[-1]:
                for what in ("dataframe", "csv"):
                    seconds, _, milliseconds = _run(what, path)
                    rows.append(at_most(f"{n:,} trials: {what}, CPU, once open", FRAME_SECONDS, seconds, " s"))
                rows.append(at_most(f"{n:,} trials: best_trial, CPU", BEST_MILLISECONDS, milliseconds, " ms"))
    return rows


def _run(what: str, path: Path) -> tuple[float, float, float]:
    """Return CPU seconds, peak megabytes, and CPU milliseconds of `best_trial`, in a separate process."""
    own = ["-c", REPORT, str(path), "--out", f"{path}.html"]
    words = own if what == "report" else ["-m", "benchmarks.speed.reports", "--child", what, str(path)]
    YARDSTICK.take()
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def child(what: str, path: str) -> tuple[float, float, float]:
    """Make a data frame or a CSV file in this process, and return the figures of `_run`."""
    study = bo.Study.load(path, read_only=True)
    best = time_call(lambda: [study.best_trial for _ in range(READ)]).cpu
    work = study.result.to_dataframe if what == "dataframe" else lambda: study.result.to_csv(f"{path}.csv")
    return time_call(work).cpu, peak(), 1e3 * best / READ


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(*sys.argv[2:])))
    else:
        main("Reports and tables of long studies", measure)
