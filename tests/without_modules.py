"""Python processes that lack modules: they can neither be imported nor be found."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Python runs this file at its start, in worker processes as well.
SITE = """
import importlib.metadata
import sys

INACTIVE = {absent!r}
distribution = importlib.metadata.distribution


class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in INACTIVE:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


def distribution_of(name):
    if name in INACTIVE:
        raise importlib.metadata.PackageNotFoundError(name)
    return distribution(name)


sys.meta_path.insert(0, Absent)
importlib.metadata.distribution = distribution_of
for name in INACTIVE:
    sys.modules.pop(name, None)
"""


def python_without(
    modules: Iterable[str], folder: Path, more: str = ""
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return what runs Python in a folder without modules, after more code: arguments -> the finished process."""
    for name in ("site", "work"):
        (folder / name).mkdir()
    (folder / "site" / "sitecustomize.py").write_text(SITE.format(absent=set(modules)) + more, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder / "site"), str(ROOT)])}
    how = {"cwd": folder / "work", "env": environment, "capture_output": True, "text": True, "check": False}
    return lambda *arguments: subprocess.run([sys.executable, *arguments], **how)
