"""Repeated kill -9 and SIGTERM of studies and their workers at random moments."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.chaos.marks import MARK, await_end, find_marked
from benchmarks.chaos.oracle import Rows, check_evaluated, check_numbers, check_told, is_locked, read_log, read_trials
from benchmarks.chaos.results import ROOT
from benchmarks.chaos.row import Row, Verdict, numbered
from benchmarks.chaos.victim import METHODS, value_of

KILLS_PER_STUDY = 10
PATIENCE = 120.0  # seconds for a launch to make progress on a busy machine
LEAVE = 10.0  # seconds for workers to end after their study
KILLED, TERMINATED = -signal.SIGKILL, 143
MODES = {  # which processes get which signal, with weights
    "kill study": 45,
    "kill worker": 15,
    "kill all": 8,
    "terminate study": 14,
    "terminate worker": 8,
    "terminate all": 10,
}
TWICE_RUNNING = "2 processes that ran this trial ended, or were cut off from the study"


class Launch(NamedTuple):
    """One launch of the study, and the signal that it gets.

    number: from 0.
    mode: a key of MODES.
    lines: number of finished trials to wait for; -1 to wait for none.
    delay: further seconds to wait before the signal.
    """

    number: int
    mode: str
    lines: int
    delay: float


def draw_launch(number: int, rng: random.Random) -> Launch:
    """Draw which processes to kill, and when: early, while the study is loaded, or after some finished trials."""
    (mode,) = rng.choices(list(MODES), MODES.values())
    if rng.random() < 0.2:
        return Launch(number, mode, -1, rng.uniform(0.0, 2.5))
    return Launch(number, mode, rng.randrange(12), rng.uniform(0.0, 0.05))


@dataclass
class Siege:
    """A study that is launched and killed.

    folder: folder of the file, the logs and the oracle's copies.
    method: method of the study.
    seed: seed of the study and of the kills.
    mark: mark in the environment of all its processes.
    """

    folder: Path
    method: str
    seed: int
    mark: str

    @property
    def file(self) -> Path:
        return self.folder / "study" / "runs.db"

    @property
    def n_told(self) -> int:
        return len(read_log(self.folder / "told"))

    def start(self, launch: Launch) -> subprocess.Popen[bytes]:
        given = [str(self.file), str(self.folder), self.method, str(self.seed), str(launch.number)]
        self.file.parent.mkdir(exist_ok=True)
        with open(self.folder / "stderr", "wb") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "benchmarks.chaos.victim", *given],
                cwd=ROOT,
                env=os.environ | {MARK: self.mark, "OMP_NUM_THREADS": "1"},
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )

    def wait_for(self, n_told: int, process: subprocess.Popen[bytes]) -> bool:
        """Wait until `n_told` trials have finished; return whether they did while the study was running."""
        deadline = time.monotonic() + PATIENCE
        while self.n_told < n_told and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.005)
        return self.n_told >= n_told


def run_case(case: str, folder: Path) -> Verdict:
    """Kill one study ten times, and check its file after each kill."""
    seed = int(case)
    rng, verdict = random.Random(seed), Verdict()
    siege = Siege(folder, METHODS[seed % len(METHODS)], seed, f"{os.getpid()}-{seed}")
    before: Rows = []
    for number in range(KILLS_PER_STUDY):
        launch = draw_launch(number, rng)
        code = strike(siege, launch, rng, verdict)
        verdict.count("kills")
        for process in await_end(siege.mark, LEAVE):
            verdict.blame("orphans", f"process {process} after {launch}")
        before = judge(siege, launch, code, before, verdict)
    verdict.count("values told", siege.n_told)
    return verdict


def strike(siege: Siege, launch: Launch, rng: random.Random, verdict: Verdict) -> int:
    """Launch the study, send the signal, and return the exit code."""
    process, n_told = siege.start(launch), siege.n_told
    if launch.lines >= 0 and not siege.wait_for(n_told + launch.lines, process):
        verdict.blame("broken runs", f"{launch}: no progress: {_read_end(siege)}")
    time.sleep(launch.delay)
    _send(siege, launch.mode, process, rng)
    if launch.mode.endswith("worker"):  # the study must go on, and is ended by another signal
        if not siege.wait_for(siege.n_told + 2, process):
            verdict.blame("broken runs", f"{launch}: no progress after the signal: {_read_end(siege)}")
        process.terminate()
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        verdict.blame("broken runs", f"{launch}: the study did not end")
        process.kill()
        return process.wait()


def _send(siege: Siege, mode: str, process: subprocess.Popen[bytes], rng: random.Random) -> None:
    number = signal.SIGKILL if mode.startswith("kill") else signal.SIGTERM
    workers = sorted(find_marked(siege.mark) - {process.pid})
    if mode.endswith("study"):
        receivers = [process.pid]
    elif mode.endswith("worker"):
        receivers = [rng.choice(workers)] if workers else []
    else:
        receivers = rng.sample([process.pid, *workers], len(workers) + 1)
    for receiver in receivers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(receiver, number)


def judge(siege: Siege, launch: Launch, code: int, before: Rows, verdict: Verdict) -> Rows:
    """Compare the rows of the file with the logs and with the rows before a launch, and return the rows."""
    early = code == -signal.SIGTERM and launch.mode != "kill study"  # before `optimize` set its signal handler
    expected = {KILLED} if launch.mode in ("kill study", "kill all") else {TERMINATED}
    if code not in expected and not early:
        verdict.blame("broken runs", f"{launch}: exit code {code}: {_read_end(siege)}")
    try:
        rows = read_trials(siege.file, siege.folder) or []
    except Exception as error:
        verdict.blame("lost", f"{launch}: the oracle cannot read the file: {error!r}")
        return before
    check_numbers(rows, value_of, verdict)
    check_told(rows, read_log(siege.folder / "told"), verdict)
    check_evaluated(before, read_log(siege.folder / "evaluated"), launch.number, verdict)
    check_failed(before, rows, launch, verdict)
    locks = list(siege.file.parent.glob("*.lock"))
    if any(is_locked(lock) for lock in locks) or (code == TERMINATED and locks):
        verdict.blame("stale locks", f"{launch}: {locks}")
    return rows


def check_failed(before: Rows, rows: Rows, launch: Launch, verdict: Verdict) -> None:
    """Blame failures and attempts that a launch must not cause: a dead worker costs one trial, SIGTERM none."""
    earlier = {row["number"]: row for row in before}
    failed = [
        row for row in rows if row["status"] == "failed" and earlier.get(row["number"], row)["status"] != "failed"
    ]
    failed += [row for row in rows if row["status"] == "failed" and row["number"] not in earlier]
    dead = f"its worker process died (signal {'SIGKILL' if launch.mode.startswith('kill') else 'SIGTERM'})"
    allowed = 1 if launch.mode.endswith("worker") else 0
    for row in failed:
        attempts = earlier.get(row["number"], {}).get("attempts", 0)
        if row["reason"] == TWICE_RUNNING and attempts >= 2:
            verdict.count("failed after two kills")
        elif row["reason"] == dead and allowed:
            allowed -= 1
            verdict.count("failed with their worker")
        else:
            verdict.blame("innocent failures", f"{launch}: {row}")
    if (
        launch.mode.startswith("terminate") or launch.mode == "kill worker"
    ):  # an orderly end, which does not count as an attempt
        for row in rows:
            if row["status"] == "running" and row["attempts"] > earlier.get(row["number"], {}).get("attempts", 0):
                verdict.blame("innocent failures", f"{launch}: an attempt was counted: {row}")


def _read_end(siege: Siege) -> str:
    return (siege.folder / "stderr").read_text(encoding="utf-8", errors="replace")[-1500:]


KILLS = Row(
    name="kills",
    what="kill -9 and SIGTERM of studies and of their 4 workers, six methods",
    kinds=("lost", "twice", "wrong values", "stale locks", "orphans", "innocent failures", "broken runs"),
    cases=numbered(100),
    short=("1",),
    run=run_case,
    per_case=KILLS_PER_STUDY,
)
