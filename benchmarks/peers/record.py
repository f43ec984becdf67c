"""The file of a comparison: a JSON line for each run, and a line on how the runs after it were taken."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chaos.results import append_result, read_results, read_revision
from benchmarks.peers.run import Run
from benchmarks.speed.__main__ import machine

PEERS = (
    "ax-platform",
    "botorch",
    "bounce",
    "cmaes",
    "gpytorch",
    "HEBO",
    "kernel_tuner",
    "mcbo",
    "nevergrad",
    "optuna",
    "smac",
)
PACKAGES = (*PEERS, "torch", "scikit-learn", "scipy", "numpy")
RUN = {*Run._fields, "improvements", "evaluated", "cut", "seconds"}  # fields of a line
MISSING = {*Run._fields, "missing"}
CONDITIONS = {"command", "machine", "revision", "versions"}
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

    Raises ValueError if a line is neither a run, nor the beginning of a run, nor a description of how runs were taken.
    """
    _check_lines(file)
    lines = read_results(file)
    for one in lines:
        if not any(one.keys() >= names for names in (RUN, MISSING, CONDITIONS)):
            raise _refuse_line(file, json.dumps(one)[:80])
    runs = [one for one in lines if "problem" in one]
    conditions = [one for one in lines if "command" in one]
    return conditions, {Run(*(one.pop(name) for name in Run._fields)): one for one in runs}


def _check_lines(file: Path) -> None:
    """Raise ValueError if a file has lines other than JSON objects or beginnings of JSON objects."""
    lines = file.read_bytes().splitlines() if file.exists() else []
    for line in lines:
        is_object = line.startswith(b"{") and line.isascii()
        if line.strip(b" \t\0") and not is_object:  # a power failure may leave zeros
            raise _refuse_line(file, repr(line[:80].decode(errors="backslashreplace")))


def _refuse_line(file: Path, line: str) -> ValueError:
    """Return the error for a line of a file that does not describe runs."""
    return ValueError(f"{file}: expected runs as `python -m benchmarks.peers` writes them, got the line {line}")


def append_run(file: Path, run: Run, found: dict[str, Any]) -> None:
    """Append a run and its results to a file."""
    append_result(file, run._asdict() | found)


def append_conditions(file: Path, python: str, arguments: Sequence[str]) -> None:
    """Append to a file how the runs that follow are taken: command, machine, date, revision and versions.

    python: interpreter of the runs.
    arguments: of the command, after its name.
    """
    versions = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=True)
    conditions = {
        "command": format_command(arguments),
        "machine": machine(),
        "revision": read_revision("benchmarks/peers"),
        "versions": json.loads(versions.stdout),
    }
    append_result(file, conditions)


def format_command(arguments: Sequence[str]) -> str:
    """Return a command that can be repeated anywhere: absolute paths are replaced by their last names."""
    return shlex.join(["python", "-m", *(re.sub(r"(^|=)/.*/", r"\1", word) for word in arguments)])


def list_absent(runs: Mapping[Run, Mapping[str, Any]]) -> list[str]:
    """Return lines in Markdown that name the peers that were not installed and the runs that were cut.

    runs: as `read_file` returns them.
    """
    missing = {f"{run.search}: {found['missing']}" for run, found in runs.items() if "missing" in found}
    cut = [(run.search, run.problem, run.seed, found["evaluated"]) for run, found in runs.items() if found.get("cut")]
    return [
        *(f"- Not installed: {text}" for text in sorted(missing)),
        *(f"- Cut: {search} on {problem}, seed {seed}, after {n} trials" for search, problem, seed, n in sorted(cut)),
    ]


def describe_conditions(conditions: Sequence[dict[str, Any]]) -> str:
    """Return in Markdown how runs were taken, by machine and versions; a command that was resumed counts once.

    conditions: as `read_file` returns them.
    """
    groups: dict[str, dict[str, str]] = {}
    for one in conditions:
        day, host = one["machine"].split(", ", 1)
        load = re.search(r", (load [\d.]+)", host)
        versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
        head = f"{(host.replace(load[0], '') if load else host).rstrip('.')}; {versions}."
        line = f"- `{one['command']}`\n  Revision {one['revision']}, {day}"
        groups.setdefault(head, {}).setdefault(line, f"{line}, {load[1]}." if load else f"{line}.")
    return "\n\n".join("\n".join([head, "", *lines.values()]) for head, lines in groups.items())
