"""First use in a new installation and in a new process: `Study()` and the first suggestion, including imports.

    python -m benchmarks.speed first_use [--check]

Each case runs in a separate process. Modules have bytecode, as in an installation. In a new installation the folder of
compiled code (`NUMBA_CACHE_DIR`) is empty; the later processes use the code that the first process has compiled.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile

from benchmarks.speed.report import YARDSTICK, Row, at_most, main, median

REPEATS = 5  # processes that find compiled code
CASES = {
    "nasbot": ("bo.cnn_domain()", "len(x.layers)", 5.0, 1.5),
    "auto": (
        "bo.Space({'a': ['p', 'q', 'r'], 'b': bool, 'c': bo.Real(0, 1), 'd': bo.Integer(0, 9)})",
        "x['c']",
        1.5,
        1.5,
    ),
}  # method -> domain, objective, limits of the CPU seconds of the first suggestion in a new installation and later
CHILD = """
import json, time
begun = time.process_time()
import bostruct as bo
domain = {domain}
study = bo.Study(domain, method={method!r}, seed=0)
made = time.process_time() - begun
with open("/proc/self/status", encoding="ascii") as status:
    peak = int(status.read().split("VmHWM:")[1].split()[0]) * 1_024 / 1e6
while True:
    asked = time.process_time()
    trial = study.ask()
    if trial.origin == "model":
        break
    x = trial.point
    study.tell(trial, float({objective}))
print(json.dumps([made, peak, time.process_time() - asked]))
"""


def measure(miniature: bool) -> list[Row]:
    rows = []
    for method, (domain, objective, new, afterwards) in CASES.items():
        code = CHILD.format(domain=domain, method=method, objective=objective)
        with tempfile.TemporaryDirectory() as folder:
            first = _run(code, folder)
            later = [_run(code, folder) for _ in range(1 if miniature else REPEATS)]
        made, megabytes, seconds = (median(column) for column in zip(*later, strict=True))
        rows += [
            at_most(f"{method}: first suggestion of the model, new installation, CPU", new, first[2], " s"),
            at_most(f"{method}: Study() with imports, new installation, CPU", math.inf, first[0], " s"),
            at_most(f"{method}: first suggestion of the model, CPU", afterwards, seconds, " s"),
            at_most(f"{method}: Study() with imports, CPU", 0.3, made, " s"),
            at_most(f"{method}: Study(), peak of the process", 60.0, megabytes, " MB"),
        ]
    return rows


def _run(code: str, folder: str) -> tuple[float, float, float]:
    """Return CPU seconds of `Study()`, peak megabytes until then, and CPU seconds of the suggestion in a new process.

    folder: of compiled code.
    """
    YARDSTICK.take()
    environment = os.environ | {"NUMBA_CACHE_DIR": folder}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return tuple(json.loads(done.stdout))


if __name__ == "__main__":
    main("First use", measure)
