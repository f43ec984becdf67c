"""The file of a comparison: a JSON line for each run, and one that says how the runs after it were taken."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.chaos.results import append_result, read_results, read_revision
from benchmarks.peers.run import Run
from benchmarks.speed.__main__ import machine

PACKAGES = ("botorch", "bounce", "gpytorch", "optuna", "smac", "torch", "scikit-learn", "scipy", "numpy")
VERSIONS = f"""
import json
from importlib.metadata import PackageNotFoundError, version
found = {{}}
for name in {PACKAGES!r}:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def read_file(file: Path) -> tuple[list[dict[str, Any]], dict[Run, dict[str, Any]]]:
    """Return how the runs of a file were taken, an entry for each command, and the runs.

    file: as `append_run` and `append_conditions` write it; a line that was cut short is dropped.
    """
    lines = read_results(file)
    runs = [one for one in lines if "problem" in one]
    conditions = [one for one in lines if "command" in one]
    return conditions, {Run(*(one.pop(name) for name in Run._fields)): one for one in runs}


def append_run(file: Path, run: Run, found: dict[str, Any]) -> None:
    """Add a run and what it found to a file."""
    append_result(file, run._asdict() | found)


def append_conditions(file: Path, python: str, arguments: Sequence[str]) -> None:
    """Add to a file how the runs that follow are taken: command, machine, date, revision and versions.

    python: interpreter of the runs.
    arguments: of the command, after its name.
    """
    versions = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=True)
    told = {
        "command": format_command(arguments),
        "machine": machine(),
        "revision": read_revision("benchmarks/peers"),
        "versions": json.loads(versions.stdout),
    }
    append_result(file, told)


def format_command(arguments: Sequence[str]) -> str:
    """Return a command as anybody may repeat it: of an absolute path, the last name alone."""
    return shlex.join(["python", "-m", *(re.sub(r"(^|=)/.*/", r"\1", word) for word in arguments)])


def describe_conditions(conditions: Sequence[dict[str, Any]]) -> str:
    """Return a list in Markdown of how runs were taken; a command that was resumed counts once.

    conditions: as of `read_file`.
    """
    lines = {}
    for one in conditions:
        versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
        told = f"- `{one['command']}`\n  Revision {one['revision']}; {versions}."
        lines.setdefault(told, f"{told} {one['machine']}")
    return "\n".join(lines.values())
