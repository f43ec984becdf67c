"""Read a hostile file in all possible ways, while an audit hook watches the process."""

from __future__ import annotations

import os
import resource
import sqlite3
import sys
import warnings
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import scipy.linalg  # noqa: F401  # opens its library here, and not when a file is read
from click.testing import CliRunner

import bostruct as bo
from bostruct.cli import main as command
from bostruct.contracts import BostructError
from bostruct.outcome import cut_middle

CPU_SECONDS = 2  # beyond what the process has used, rounded up
MEMORY = 2 * 2**30  # bytes beyond what the process has
FORBIDDEN = {
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pickle.find_class", "socket.connect",
    "ctypes.dlopen", "sqlite3.enable_load_extension", "sqlite3.load_extension", "shutil.rmtree",
}  # fmt: skip


@dataclass
class Reading:
    """The result of reading a hostile file.

    refused: messages of the refusals.
    faults: pairs of a kind and a description.
    """

    refused: list[str] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)


def read_hostile(file: Path) -> Reading:
    """Read a file in all ways in this process, whose resources are limited and which is watched from now on.

    file: in its own folder, the only place where anything may be written.

    Raises all exceptions except those of bostruct.
    """
    reading = Reading()
    warnings.simplefilter("ignore")
    os.chdir(file.parent)
    _limit_resources()
    _watch(file.parent, reading)
    for way in (_read, _show, _resume):
        try:
            way(file, reading)
        except BostructError as error:
            reading.refused.append(str(error))
            if not str(error).strip():
                reading.faults.append(("tracebacks", f"{way.__name__}: an error without a message"))
    return reading


def _limit_resources() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + CPU_SECONDS + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _watch(folder: Path, reading: Reading) -> None:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FORBIDDEN:
            reading.faults.append(("code run", f"{event} {arguments!r:.200}"))
        elif event == "open" and isinstance(arguments[0], str) and _writes(arguments):
            path = os.path.abspath(arguments[0])
            if not path.startswith((str(folder), "/dev/null", "/proc/self")):
                reading.faults.append(("code run", f"open {path} to write"))

    sys.addaudithook(hook)


def _writes(arguments: tuple[Any, ...]) -> bool:
    _, mode, flags = arguments
    by_mode = isinstance(mode, str) and any(letter in mode for letter in "wax+")
    return by_mode or (mode is None and isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR)))


def _read(file: Path, reading: Reading) -> None:
    """Compare what bostruct reads with the rows of the file."""
    with bo.Study.load(file, read_only=True) as study:
        shown = {trial.number: (trial.status, trial.value, trial.reason) for trial in study.trials}
        _ = repr(study), repr(study.result), study._repr_html_()
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT number, status, value, reason FROM trials").fetchall()
    if shown != {number: (*rest, text and cut_middle(text)) for number, *rest, text in rows}:
        reading.faults.append(("read otherwise", f"{shown} for {rows}"))


def _show(file: Path, reading: Reading) -> None:
    """Check that the output of the command line has no control characters except line ends and tabs."""
    done = CliRunner().invoke(command, ["show", str(file)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if odd := sorted({letter for letter in done.output if not letter.isprintable() and letter not in "\n\t"}):
        reading.faults.append(("escape sequences", f"{odd} in {done.output!r:.300}"))


def _resume(file: Path, _: Reading) -> None:
    """Ask and tell, as a user who resumes the study."""
    with bo.Study.load(file) as study:
        study.tell(study.ask(), 0.25)
        study.ask()
