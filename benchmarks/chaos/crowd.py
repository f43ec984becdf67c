"""Writers of one study, each in its own process, which are launched, struck by signals, and launched again."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchmarks.chaos.marks import MARK, find_marked
from benchmarks.chaos.oracle import Rows, read_log, read_shared_trials
from benchmarks.chaos.results import ROOT
from benchmarks.chaos.writer import WAYS

FOREVER = 1_000_000
PATIENCE = 120.0  # seconds for writers to make progress on a busy machine


class Place(Protocol):
    """The storage of the study that the writers of a case share.

    storage: the argument `storage=` of the study.
    may_double: whether a living writer may be taken for dead, so that its trial is evaluated twice.
    limits: time limits of bostruct that writers replace, by name.
    modes: ways in which the place itself may be struck, with weights.
    """

    storage: str
    may_double: bool
    limits: Mapping[str, float]

    @property
    def modes(self) -> Mapping[str, int]: ...

    def befall(self, mode: str, rng: random.Random) -> None:
        """Strike the place, and restore it before returning."""
        ...

    def find_due(self, ended: float) -> float:
        """Return the time from which `ask` finds the trials of an ended writer free."""
        ...

    def read(self) -> Rows:
        """Return all trials by number, without bostruct's code; raise if the storage is damaged."""
        ...

    def find_leftovers(self) -> list[str]:
        """Return what writers left behind, after all have ended."""
        ...


class FilePlace:
    """A file in its own folder.

    folder: an empty folder.
    """

    may_double = False
    limits: Mapping[str, float] = {}
    modes: Mapping[str, int] = {}

    def __init__(self, folder: Path) -> None:
        self._file = folder / "runs.db"
        self.storage = str(self._file)

    def befall(self, mode: str, rng: random.Random) -> None:
        raise NotImplementedError(mode)

    def find_due(self, ended: float) -> float:
        return ended

    def read(self) -> Rows:
        return (read_shared_trials(self._file) if self._file.exists() else None) or []

    def find_leftovers(self) -> list[str]:
        return sorted(set(os.listdir(self._file.parent)) - {self._file.name})


@dataclass
class Launch:
    """One process of a writer.

    key: suffix of the names of its logs.
    way: how it asks and tells, one of `WAYS`.
    process: the writer's process; its workers carry the same mark.
    mark: mark in the environment of all its processes.
    signaled: when it was sent a signal to end it; infinite before.
    ended: when it was found to have ended; infinite before.
    """

    key: str
    way: str
    process: subprocess.Popen[bytes]
    mark: str
    signaled: float = math.inf
    ended: float = math.inf

    @property
    def workers(self) -> list[int]:
        return sorted(find_marked(self.mark) - {self.process.pid})

    def send(self, number: int) -> None:
        """Send the writer a signal; if the signal ends it, record the time."""
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.signaled = min(self.signaled, time.monotonic())
        send(self.process.pid, number)


@dataclass
class Crowd:
    """The writers of one study.

    place: storage of the study.
    logs: folder for the logs of all launches.
    method: method of the study.
    seed: seed of the study.
    ways: how each writer asks and tells.
    launches: all launches so far.
    living: the last launch of each writer that was not ended.
    """

    place: Place
    logs: Path
    method: str
    seed: int
    ways: list[str]
    launches: list[Launch] = field(default_factory=list)
    living: dict[int, Launch] = field(default_factory=dict)  # by writer

    def launch_missing(self, n_trials: int = FOREVER) -> None:
        """Launch each writer that does not run."""
        for writer, way in enumerate(self.ways):
            if writer not in self.living:
                self.living[writer] = self._launch(way, n_trials)

    def _launch(self, way: str, n_trials: int) -> Launch:
        key = str(len(self.launches))
        mark = f"{os.getpid()}-{self.seed}-{id(self)}-{key}"
        given = [self.place.storage, str(self.logs), self.method, way, str(self.seed), str(n_trials), key]
        given.append(json.dumps(self.place.limits))
        with open(self.logs / f"stderr-{key}", "wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.chaos.writer", *given],
                cwd=ROOT,
                env=os.environ | {MARK: mark, "OMP_NUM_THREADS": "1"},
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )
        self.launches.append(Launch(key, way, process, mark))
        return self.launches[-1]

    @property
    def n_told(self) -> int:
        return sum(file.read_bytes().count(b"\n") for file in self.logs.glob("told-*"))

    def wait_for_told(self, count: int) -> bool:
        """Wait until `count` more trials have finished; return whether they have."""
        wanted = self.n_told + count
        return wait_until(lambda: self.n_told >= wanted)

    def wait_for_all(self) -> bool:
        """Wait until each living writer has finished a trial; return whether each has."""
        return wait_until(lambda: all((self.logs / f"told-{one.key}").exists() for one in self.living.values()))

    def wait_for_an_ask(self) -> bool:
        """Wait until the evaluations of a writer show that it has asked after this call; return whether it has."""
        now = time.monotonic()
        return wait_until(lambda: any(self._has_asked_since(one, now) for one in self.living.values()))

    def _has_asked_since(self, launch: Launch, when: float) -> bool:
        slots = 2 if launch.way == WAYS[1] else 1  # each may hold a trial from an earlier ask
        begun = [line for line in self.read_evaluated(launch) if line["event"] == "begin" and line["at"] > when]
        return len(begun) > slots

    def read_evaluated(self, launch: Launch) -> Rows:
        return read_log(self.logs / f"evaluated-{launch.key}")

    def read_told(self) -> Rows:
        return [line for launch in self.launches for line in read_log(self.logs / f"told-{launch.key}")]

    def read_owner(self, launch: Launch) -> str | None:
        """Return the name of a writer in the rows of its trials; None if it ended before it had a name."""
        lines = read_log(self.logs / f"owner-{launch.key}")
        return lines[0]["owner"] if lines else None

    def read_end(self, launch: Launch) -> str:
        """Return the end of a writer's output."""
        return (self.logs / f"stderr-{launch.key}").read_text(encoding="utf-8", errors="replace")[-1500:]


def make_crowd(place: Place, logs: Path, method: str, seed: int, rng: random.Random) -> Crowd:
    """Return four writers before their launch: one for each of `WAYS`, and one more."""
    logs.mkdir()
    return Crowd(place, logs, method, seed, [*WAYS, rng.choice(WAYS)])


def wait_until(is_so: Any, patience: float = PATIENCE) -> bool:
    """Wait until a call returns true; return whether it did."""
    deadline = time.monotonic() + patience
    while not (found := is_so()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(found)


def send(process: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def point_of(line: dict[str, Any]) -> str:
    """Return the point in a line of an evaluation log as JSON with sorted keys, for comparisons."""
    return json.dumps(line["point"], sort_keys=True)
