"""Seconds of `import bostruct`, and the heavy packages that it must not load.

python -m benchmarks.speed.import_time [--check]
"""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.speed.report import Row, at_most, main, median

SECONDS = 0.3
REPEATS = 9
HEAVY = ("torch", "gpytorch", "sklearn", "ot", "scipy.stats", "matplotlib", "pandas", "numba")
CHILD = f"""
import json, sys, time
cpu, wall = time.process_time(), time.perf_counter()
import bostruct
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
print(json.dumps([cpu, wall, [name for name in {HEAVY!r} if name in sys.modules]]))
"""


def measure(miniature: bool) -> list[Row]:
    runs = []
    for _ in range(1 if miniature else REPEATS):
        done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
        runs.append(json.loads(done.stdout))
    loaded = sorted({name for _, _, names in runs for name in names})
    return [
        at_most("import bostruct, wall", SECONDS, median([wall for _, wall, _ in runs]), " s"),
        at_most("import bostruct, CPU", SECONDS, median([cpu for cpu, _, _ in runs]), " s"),
        Row(f"loaded of {', '.join(HEAVY)}", "none", ", ".join(loaded) or "none", not loaded),
    ]


if __name__ == "__main__":
    main("Import", measure)
