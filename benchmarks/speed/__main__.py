"""Run every speed benchmark, one after the other, and write the tables into docs/evidence/speed.md.

    python -m benchmarks.speed [--check] [--miniature] [NAME ...]

Each benchmark runs in a separate process with one thread. By default all run; the tables of others stay unchanged. With
--miniature nothing is written.
"""

from __future__ import annotations

import argparse
import compileall
import datetime
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "evidence" / "speed.md"
SCRIPTS = (
    "sampler",
    "acquisition",
    "combo",
    "auto",
    "choices",
    "mixed",
    "structures",
    "large",
    "whole_run",
    "memory",
    "long_studies",
    "reports",
    "import_time",
    "first_use",
    "language",
    "otmann",
    "nasbot",
    "searchers",
    "anchors",
)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> int:
    """Run the scripts; return 0 if all succeeded and, with --check, all requirements are met; otherwise 1."""
    parser = argparse.ArgumentParser(description="all speed benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SCRIPTS)}")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a requirement is missed")
    parser.add_argument("--miniature", action="store_true", help="tiny sizes, to test the scripts")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in SCRIPTS]:
        parser.error(f"expected some of {', '.join(SCRIPTS)}; got {', '.join(unknown)}")
    failed = []
    compileall.compile_dir(ROOT / "bostruct", quiet=1)  # as in an installation
    for name in given.names or SCRIPTS:
        options = [flag for flag in ("check", "miniature") if getattr(given, flag)]
        done = run(name, options)
        print(done.stdout or done.stderr, flush=True)
        if done.returncode:
            failed.append(name)
        if done.stdout and not given.miniature:
            PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), name, done.stdout), encoding="utf-8")
    print(f"failed: {', '.join(failed)}" if failed else "all ran")
    return 1 if failed else 0


def run(name: str, options: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a script with one thread."""
    return subprocess.run(
        [sys.executable, "-m", f"benchmarks.speed.{name}", *(f"--{option}" for option in options)],
        cwd=ROOT,
        env={**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
    )


def with_table(page: str, name: str, printed: str) -> str:
    """Return the page with the table between its markers replaced; raise ValueError if it has no such markers."""
    return put_between(page, name, f"{printed.strip()}\n\n{machine()}")


def put_between(page: str, name: str, text: str) -> str:
    """Return a page with the text between two markers replaced; raise ValueError if it has no markers of this name."""
    begin, end = f"<!-- {name} -->", f"<!-- end {name} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page: expected the markers {begin} and {end}")
    return pattern.sub(lambda _: f"{begin}\n{text}\n{end}", page)


def machine() -> str:
    """Return a description of the machine, with date and load."""
    load = "" if sys.platform == "win32" else f", load {os.getloadavg()[0]:.1f}"
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return f"{day}, {cpu()}, {os.cpu_count()} cores{load}; 1 thread, Python {platform.python_version()}."


def cpu() -> str:
    """Return the model name of the processor if the system provides it, otherwise the platform's description."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = re.findall(r"model name\s*:\s*(.+)", information.read_text(encoding="utf-8"))
        if names:
            return names[0].strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())
