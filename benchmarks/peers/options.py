"""Types and checks of command-line options."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

LONGEST_START = 60.0  # seconds that an interpreter may take to start


def integer_from(low: int) -> Callable[[str], int]:
    """Return a type of `argparse` for integers.

    low: the least accepted integer.
    """

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low:
            raise argparse.ArgumentTypeError(f"expected an integer, at least {low}; got {text!r}")
        return value

    return read


def check_writable(parser: argparse.ArgumentParser, name: str, file: Path) -> None:
    """End the command if a file cannot be written.

    parser: of the command.
    name: of the argument, for the message.
    file: may exist.
    """
    existing = file if file.exists() else next(one for one in file.absolute().parents if one.exists())
    if file.is_dir() or (existing != file and not existing.is_dir()) or not os.access(existing, os.W_OK):
        parser.error(f"{name}: expected a file that may be written; got {file}")


def runs_python(command: str) -> bool:
    """Return whether a command runs Python with the packages that every run needs.

    command: the interpreter.
    """
    if shutil.which(command) is None:
        return False
    try:
        ended = subprocess.run(
            [command, "-c", "import numpy, scipy; print(6 * 7)"], capture_output=True, text=True, timeout=LONGEST_START
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return (ended.returncode, ended.stdout.strip()) == (0, "42")
