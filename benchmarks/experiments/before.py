"""`auto` of another revision of the package, in the process that imports this one, too."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from benchmarks.experiments.instances import Instance, Measured
from benchmarks.peers.tasks import Point

FOLDER = "BOSTRUCT_BEFORE"  # of the other package: git archive REVISION bostruct | tar x -C FOLDER
PACKAGE = "bostruct"


class AutoBefore:
    """`auto` of the package in the folder that the environment has under `FOLDER`.

    Both packages have the same name, and import some of their modules late. So the modules of the other one are those
    that are loaded while it works, and only then.

    instance: of the problem, of one objective without limits.
    initial: points to begin with.
    seed: of the study.

    Raises what the other package does not know, of the kinds of a space and in points.
    """

    def __init__(self, instance: Instance, initial: Sequence[Point], seed: int) -> None:
        self._folder, self._modules = os.environ[FOLDER], dict[str, ModuleType]()
        described = instance.space.to_json()
        with self._at_work():
            package = importlib.import_module(PACKAGE)
            space = package.Space.from_json(described)
            self.study: Any = package.Study(space, method="auto", seed=seed, initial_points=initial)
        self._trial: Any = None

    def ask(self) -> Point:
        with self._at_work():
            self._trial = self.study.ask()
            return self._trial.point

    def tell(self, point: Point, measured: Measured | None) -> None:
        del point  # which is that of the running trial
        with self._at_work():
            if measured is None:
                self.study.tell(self._trial, infeasible="no value")
            else:
                self.study.tell(self._trial, measured.objectives[0])

    def recommend(self) -> Point:
        with self._at_work():
            return self.study.result.recommended.trial.point

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Exchange the modules of this package for those of the other one."""
        ours = _unload()
        sys.modules |= self._modules
        sys.path.insert(0, self._folder)
        try:
            yield
        finally:
            sys.path.remove(self._folder)
            self._modules = _unload()
            sys.modules |= ours


def _unload() -> dict[str, ModuleType]:
    """Take the modules of a package out of those that are loaded, and return them."""
    names = [name for name in sys.modules if name.split(".")[0] == PACKAGE]
    return {name: sys.modules.pop(name) for name in names}
