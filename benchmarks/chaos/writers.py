"""Four writers of one study; some are repeatedly killed, terminated or stopped at random moments."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.chaos.crowd import PATIENCE, Crowd, FilePlace, Launch, Place, make_crowd, send
from benchmarks.chaos.crowd_oracle import check_end, check_leases, judge
from benchmarks.chaos.marks import await_end
from benchmarks.chaos.oracle import find_first
from benchmarks.chaos.row import Row, Verdict, numbered
from benchmarks.chaos.writer import METHODS

STRIKES_PER_CASE = 10
LEAVE = 10.0  # seconds for workers to end after their writer
MORE_TRIALS = 12  # trials that the last launch adds
KILLED, TERMINATED = -signal.SIGKILL, 143
MODES = {  # which processes get which signal, with weights
    "kill one": 30,
    "kill some": 12,
    "kill all": 10,
    "kill worker": 12,
    "terminate one": 10,
    "terminate all": 6,
    "terminate worker": 4,
    "stop one": 8,
    "stop and kill": 8,
}
STOP_LONG = {"stop past its lease": 5}  # only if leases end
KINDS = (
    "lost",
    "twice",
    "side by side",
    "wrong values",
    "stale leases",
    "left behind",
    "orphans",
    "innocent failures",
    "broken runs",
    "damage",
)


@dataclass
class Siege:
    """Writers that are struck by signals.

    crowd: the writers.
    rng: random generator of targets and times.
    verdict: takes the faults.
    allowed: how many trials may have failed with a worker that was struck.
    """

    crowd: Crowd
    rng: random.Random
    verdict: Verdict
    allowed: int = 0
    struck: list[Launch] = field(default_factory=list)  # launches that the last strike must end

    def strike(self, number: int) -> str:
        """Wait for a random moment, strike, and return a description of the strike."""
        place = self.crowd.place
        modes = {**MODES, **(STOP_LONG if place.may_double else {}), **place.modes}
        (mode,) = self.rng.choices(list(modes), list(modes.values()))
        when = f"strike {number}, {mode}"
        self.verdict.count("strikes")
        self.verdict.count("of them by SIGKILL", "kill" in mode)
        if self.rng.random() < 0.2:  # while writers are being launched
            time.sleep(self.rng.uniform(0.0, 1.5))
        elif not self.crowd.wait_for_told(self.rng.randrange(10)):
            self._blame_silence(when)
        time.sleep(self.rng.uniform(0.0, 0.03))
        self.struck = []
        if mode in place.modes:
            place.befall(mode, self.rng)
            return when
        verb, _, whom = mode.partition(" ")
        number = signal.SIGTERM if verb == "terminate" else signal.SIGKILL
        if whom == "worker":
            self._strike_worker(number)
        elif verb == "stop":
            self._stop(self._draw(1)[0], whom)
        else:
            self._end(self._draw({"one": 1, "all": 4}.get(whom, 2)), number, with_workers=whom == "all")
        return when

    def _draw(self, count: int) -> list[tuple[int, Launch]]:
        return self.rng.sample(sorted(self.crowd.living.items()), count)

    def _end(self, drawn: list[tuple[int, Launch]], number: int, with_workers: bool = False) -> None:
        workers = [worker for _, launch in drawn for worker in launch.workers] if with_workers else []
        for _, launch in drawn:
            launch.send(number)
        for worker in workers:
            send(worker, number)
        self.allowed += len(workers)
        self._bury(drawn)

    def _bury(self, drawn: list[tuple[int, Launch]]) -> None:
        for writer, launch in drawn:
            self.struck.append(launch)
            del self.crowd.living[writer]

    def _strike_worker(self, number: int) -> None:
        workers = [worker for launch in self.crowd.living.values() for worker in launch.workers]
        if workers:
            send(self.rng.choice(workers), number)
            self.allowed += 1

    def _stop(self, drawn: tuple[int, Launch], whom: str) -> None:
        launch = drawn[1]
        launch.send(signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.05, 0.8))
        if whom == "past its lease":
            self._sleep_past_lease()
        if whom == "and kill":
            self._end([drawn], signal.SIGKILL)
        else:
            launch.send(signal.SIGCONT)
        if whom == "past its lease":  # if it held a lock, no writer could renew, and for a while none counts as gone
            self._sleep_past_lease()

    def _sleep_past_lease(self) -> None:
        now = time.monotonic()
        time.sleep(self.crowd.place.find_due(now) - now)

    def check_ends(self, when: str) -> None:
        """Wait for the struck launches; blame exit codes of other causes, and processes that are left."""
        for launch in self.struck:
            try:
                code = launch.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                launch.process.kill()
                code = launch.process.wait()
            launch.ended = time.monotonic()
            early = code == -signal.SIGTERM  # before `optimize` set its signal handler, or in the way "by hand"
            if code != KILLED and code != TERMINATED and not early:
                self.verdict.blame("broken runs", f"{when}: exit code {code}: {self.crowd.read_end(launch)}")
            for process in await_end(launch.mark, LEAVE):
                self.verdict.blame("orphans", f"{when}: process {process}, {launch.way}")
        self.check_living(when)

    def check_living(self, when: str) -> None:
        """Blame writers that ended without being struck."""
        for writer, launch in list(self.crowd.living.items()):
            if (code := launch.process.poll()) is not None:
                self.verdict.blame("broken runs", f"{when}: exit code {code}: {self.crowd.read_end(launch)}")
                launch.ended = time.monotonic()
                del self.crowd.living[writer]

    def check_trials(self, when: str) -> None:
        """Wait until a writer has asked, and blame faults in the storage."""
        if not self.crowd.living:
            self.crowd.launch_missing()
        began = time.monotonic()
        if not self.crowd.wait_for_an_ask():
            self._blame_silence(when)
        rows = judge(self.crowd, when, self.allowed, self.verdict)
        check_leases(rows, self.crowd, began, when, self.verdict)
        self.check_living(when)
        self.crowd.launch_missing()

    def finish(self) -> None:
        """End all writers, and let a last launch complete the study."""
        self.struck = []
        self._end(self._draw(len(self.crowd.living)), signal.SIGTERM)
        self.check_ends("the end")
        due = max(self.crowd.place.find_due(launch.ended) for launch in self.crowd.launches)
        time.sleep(max(0.0, due - time.monotonic()))
        n_trials = sum(find_first(row) is None for row in self.crowd.place.read()) + MORE_TRIALS
        self.crowd.launch_missing(n_trials)
        for launch in self.crowd.living.values():
            try:
                code = launch.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                code = None
            if code != 0:
                self.verdict.blame("broken runs", f"the last launch: exit code {code}: {self.crowd.read_end(launch)}")
            for process in await_end(launch.mark, LEAVE):
                self.verdict.blame("orphans", f"the last launch: process {process}")
        rows = judge(self.crowd, "the end", self.allowed, self.verdict)
        check_end(rows, n_trials, self.verdict)
        if left := self.crowd.place.find_leftovers():
            self.verdict.blame("left behind", left)
        self.verdict.count("values told", self.crowd.n_told)
        self.verdict.count("failed as documented", sum(row["status"] == "failed" for row in rows))

    def end_all(self) -> None:
        """Kill all processes that are left."""
        for launch in self.crowd.launches:
            for process in await_end(launch.mark, 0.0):
                self.verdict.blame("orphans", f"process {process}")
            launch.process.wait()

    def _blame_silence(self, when: str) -> None:
        output = [self.crowd.read_end(launch) for launch in self.crowd.living.values()]
        self.verdict.blame("broken runs", f"{when}: no writer makes progress: {output}")


def besiege(place: Place, folder: Path, seed: int, strikes: int) -> Verdict:
    """Strike the writers of a study, check the storage after each strike, and complete the study.

    place: storage of the study.
    folder: folder for the logs.
    seed: seed of the study and of the strikes.
    strikes: number of strikes.
    """
    rng, verdict = random.Random(seed), Verdict()
    crowd = make_crowd(place, folder / "logs", METHODS[seed % len(METHODS)], seed, rng)
    siege = Siege(crowd, rng, verdict)
    try:
        crowd.launch_missing()
        for number in range(strikes):
            when = siege.strike(number)
            siege.check_ends(when)
            siege.check_trials(when)
        siege.finish()
    finally:
        siege.end_all()
    return verdict


def run_case(case: str, folder: Path) -> Verdict:
    """Strike four writers of one study ten times."""
    (folder / "study").mkdir()
    return besiege(FilePlace(folder / "study"), folder, int(case), STRIKES_PER_CASE)


WRITERS = Row(
    name="writers",
    what="four writers of one study, four methods: kill -9, SIGTERM and SIGSTOP of some, of all, of their workers",
    kinds=KINDS,
    cases=numbered(140),
    short=("1",),
    run=run_case,
    per_case=STRIKES_PER_CASE,
)
