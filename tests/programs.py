"""Programs that tests run in processes of their own, in which `bo` is imported, and what becomes of processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import bostruct as bo

ROOT = str(Path(bo.__file__).parent.parent)
HEAD = f"import os, signal, subprocess, sys, time\nsys.path.insert(0, {ROOT!r})\nimport bostruct as bo\n"


def command(program: str, *arguments: object) -> list[str]:
    """Return the command line of a program; arguments are its sys.argv[1:]."""
    return [sys.executable, "-c", HEAD + program, *map(str, arguments)]


def start(program: str, *arguments: object, **given: Any) -> subprocess.Popen[str]:
    """Start a program with pipes of text; given: other arguments of Popen."""
    pipe = subprocess.PIPE
    return subprocess.Popen(command(program, *arguments), **({"stdin": pipe, "stdout": pipe, "text": True} | given))


def finish(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, and return what it printed."""
    return subprocess.run(command(program, *arguments), capture_output=True, text=True, timeout=250)


def has_ended(pid: int) -> bool:
    """Tell whether a process has gone, or is only waited for, within ten seconds."""
    return any(_is_gone(pid) or time.sleep(0.01) for _ in range(1000))


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except ProcessLookupError:
        return True
    except FileNotFoundError:  # it has just gone, or this is no Linux
        return False
