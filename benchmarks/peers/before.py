"""`auto` of another revision of the package, in a process that also imports this revision."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import math
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import bostruct as bo
from benchmarks.peers.searches import Steps
from benchmarks.peers.tasks import Point, Task

BEFORE = "auto before"  # the search by the package of an earlier revision
FOLDER = "BOSTRUCT_BEFORE"  # folder of the other package: git archive REVISION bostruct | tar x -C FOLDER
PACKAGE = "bostruct"
REVISION = "REVISION"  # file with the revision of the package, in the same folder


class AutoBefore:
    """`auto` of the package in the folder that the environment variable `FOLDER` names.

    Both packages have the same name, and import some of their modules late. So the modules of the other package are
    loaded only while it works.

    space: of the points.
    initial: points to start with.
    seed: of the study.

    Raises what the other package raises for kinds of variables and values that it does not support; DomainError if
    the space has constraints that are functions, whose code cannot be passed to another package.
    """

    def __init__(self, space: bo.Space, initial: Sequence[Point], seed: int) -> None:
        self._folder, self._modules = os.environ[FOLDER], dict[str, ModuleType]()
        described = space.to_json()
        with self._at_work():
            package = importlib.import_module(PACKAGE)
            same = package.Space.from_json(described)
            self.study: Any = package.Study(same, method="auto", seed=seed, initial_points=initial)
        self._trial: Any = None

    def ask(self) -> Point:
        with self._at_work():
            self._trial = self.study.ask()
            return self._trial.point

    def tell(self, value: float | None) -> None:
        """Record the value of the last suggested point, None if it failed."""
        with self._at_work():
            if value is None:
                self.study.tell(self._trial, infeasible="no value")
            else:
                self.study.tell(self._trial, value)

    def recommend(self) -> Point:
        with self._at_work():
            return self.study.result.recommended.trial.point

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Replace the modules of this package by the modules of the other package for a while."""
        ours = _unload()
        sys.modules |= self._modules
        sys.path.insert(0, self._folder)
        try:
            yield
        finally:
            sys.path.remove(self._folder)
            self._modules = _unload()
            sys.modules |= ours


def auto_before(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Suggest points by `auto` of another package, see `AutoBefore`."""
    search = AutoBefore(task.space, initial, seed)
    while True:
        value = yield search.ask()
        search.tell(None if math.isnan(value) else value)


def use_before(folder: Path | None, search: str) -> dict[str, dict[str, str]]:
    """Let child processes find the other package; return what the record of a run has about it.

    folder: see `describe_package`; None for none.
    search: name of the search of the run.
    """
    if folder is None:
        return {}
    os.environ[FOLDER] = str(folder.resolve())
    return {"package": describe_package(folder)} if search == BEFORE else {}


def check_before(parser: argparse.ArgumentParser, folder: Path | None) -> None:
    """End a command if its option --before names a folder without a package."""
    if folder is not None and not (folder / PACKAGE).is_dir():
        parser.error(f"--before: expected a folder that contains the folder {PACKAGE}; got {folder}")


def describe_packages(runs: Iterable[Mapping[str, Any]]) -> str:
    """Return a sentence with the packages that runs of `BEFORE` used; empty if there are no runs.

    runs: as stored in a file.
    """
    counts = Counter(_name_package(found.get("package", {})) for found in runs)
    packages = "; ".join(f"{name} in {n} of {counts.total()} runs" for name, n in counts.items())
    return f"`{BEFORE}` is of {packages}." if counts else ""


def _name_package(package: Mapping[str, str]) -> str:
    if not package:
        return "a package that is not on record"
    revision = f" of revision {package['revision']}" if "revision" in package else ""
    return f"the package {package['tree'][:10]}{revision}"


def describe_package(folder: Path) -> dict[str, str]:
    """Return the hash of the package in a folder, and its revision if the file REVISION of the folder names it.

    folder: contains the folder bostruct.

    The hash is the hash of the folder's tree in git: `git rev-parse REVISION:bostruct` prints the same hash.
    """
    file = folder / REVISION
    named = {"revision": file.read_text(encoding="utf-8").strip()} if file.exists() else {}
    return {"tree": _hash_tree(folder / PACKAGE).hex(), **named}


def _hash_tree(folder: Path) -> bytes:
    """Return the hash that git gives a folder, without Python's `__pycache__` folders."""
    entries = list[tuple[str, bytes]]()
    for path in folder.iterdir():
        if path.name == "__pycache__":
            continue
        if path.is_dir():
            entries.append((f"{path.name}/", b"40000 %s\0" % path.name.encode() + _hash_tree(path)))
        else:
            mode = b"100755" if path.stat().st_mode & 0o100 else b"100644"
            entries.append(
                (path.name, b"%s %s\0" % (mode, path.name.encode()) + _hash_object("blob", path.read_bytes()))
            )
    return _hash_object("tree", b"".join(entry for _, entry in sorted(entries)))


def _hash_object(kind: str, content: bytes) -> bytes:
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(content)) + content).digest()


def _unload() -> dict[str, ModuleType]:
    """Remove the modules of the package from `sys.modules`, and return them."""
    names = [name for name in sys.modules if name.split(".")[0] == PACKAGE]
    return {name: sys.modules.pop(name) for name in names}
