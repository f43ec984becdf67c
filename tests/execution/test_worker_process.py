"""A worker process seen from the study: junk on its socket, closed standard files, and who ends with whom."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import bostruct as bo
from bostruct.execution import processes
from tests.programs import finish, has_ended, start

SPACE = bo.Space({"x": bo.Integer(0, 9)})


def _frame(packed: bytes) -> bytes:
    return struct.pack("!i", len(packed)) + packed


JUNK = [
    b"loss: 0.25\n",  # claims to be long
    b"\nloss: 0.25\n",
    struct.pack("!i", 1000) + b"short",  # then nothing
    struct.pack("!i", -7),
    _frame(b"no pickle"),
    _frame(b""),
    _frame(pickle.dumps("a text")),
    _frame(pickle.dumps((0, "no evaluation"))),
    _frame(pickle.dumps(("zero", None))),
    _frame(b"cnowhere_to_be_found\nEvaluation\n."),
]


def test_junk_instead_of_an_answer_fails_its_trial_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "ANSWER_SECONDS", 1)

    def objective(point: dict) -> float:
        if point["x"] < len(JUNK):
            os.write(int(sys.orig_argv[3]), JUNK[point["x"]])
            time.sleep(200)
        return float(point["x"])

    every = [{"x": x} for x in range(len(JUNK) + 4)]
    space = {"x": range(len(every))}
    result = bo.minimize(
        objective, space, len(every), initial_points=every[::-1], method="random", workers=2, progress=False
    )
    failed = [t for t in result.trials if t.status == "failed"]
    assert [t.point["x"] for t in failed] == [*range(len(JUNK))][::-1]
    for trial in failed:
        assert str(trial.reason).startswith("its worker process sent an answer that cannot be read (")
    assert all(t.value == t.point["x"] for t in result.trials if t not in failed)


STANDARD = """
bo.Study  # loaded once, here, not in each child
for closed in sys.argv[2:]:
    if os.fork() == 0:
        for descriptor in map(int, closed):
            os.close(descriptor)
        break
else:
    sys.exit(sum(os.wait()[1] for _ in sys.argv[2:]))
def objective(point):
    for descriptor in (1, 2):
        try:
            os.write(descriptor, b"printed\\n" * 3)
        except OSError:
            pass
    return float(point["x"])
result = bo.minimize(objective, {"x": range(6)}, 6, method="random", seed=0, workers=2, progress=False)
with open(sys.argv[1] + closed, "w") as file:
    file.write(str([trial.value == trial.point["x"] for trial in result.trials]))
"""


def test_a_study_whose_standard_files_are_closed_has_workers(tmp_path: Path) -> None:
    closed = ["0", "1", "01", "012"]
    null = subprocess.DEVNULL
    with start(STANDARD, tmp_path / "found", *closed, stdout=null, stderr=null, start_new_session=True) as process:
        try:
            process.wait(timeout=100)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert {name: (tmp_path / f"found{name}").read_text() for name in closed} == dict.fromkeys(closed, str([True] * 6))


HOLDS_THE_LOCK = """
import ctypes
def objective(point):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(200)"])
    print(os.getpid(), child.pid, flush=True)
    ctypes.PyDLL(None).sleep(200)  # keeps the interpreter's lock
bo.minimize(objective, {"x": range(8)}, 8, method="random", workers=1, trial_timeout=300.0)
"""

HAS_FORKED = """
def objective(point):
    if point["x"] == 0:
        return 0.0
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(200)
def fork(study, trial):
    if os.fork() == 0:
        os.write(1, b"forked\\n")
        time.sleep(100)
        os._exit(0)
first = [{"x": 0}, {"x": 1}]
bo.minimize(objective, {"x": range(8)}, 2, initial_points=first, method="random", workers=2, callbacks=fork)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a worker needs its interpreter's lock to end")
def test_a_worker_in_c_code_ends_with_the_study_and_so_does_what_it_started() -> None:
    with start(HOLDS_THE_LOCK) as process:
        worker, child = map(int, process.stdout.readline().split())
        process.kill()
    try:
        assert has_ended(worker)
        assert has_ended(child)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(worker, signal.SIGKILL)


def test_a_fork_of_the_study_does_not_keep_its_workers_alive() -> None:
    with start(HAS_FORKED, start_new_session=True) as process:
        lines = {process.stdout.readline() for _ in range(2)} - {"forked\n"}
        worker = int(lines.pop())
        os.kill(process.pid, signal.SIGKILL)
        try:
            assert has_ended(worker)
        finally:
            for group in (process.pid, worker):
                with suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)


LEAVES_A_FORK = """
flag = sys.argv[1]
def objective(point):
    while point["x"] and not os.path.exists(flag):
        time.sleep(0.01)
    return float(point["x"])
def fork(study, trial):
    if trial.number == 0:
        child = os.fork()
        if child == 0:
            sys.exit()
        os.waitpid(child, 0)
        open(flag, "w").close()
first = [{"x": 0}, {"x": 1}]
result = bo.minimize(objective, {"x": range(8)}, 4, initial_points=first, method="random", workers=2, callbacks=fork)
print(result.n_completed, flush=True)
"""


def test_a_fork_that_ends_does_not_end_the_workers_of_its_parent(tmp_path: Path) -> None:
    done = finish(LEAVES_A_FORK, tmp_path / "forked")
    assert done.stdout == "4\n", done.stderr


def test_shared_bytes_are_read_by_each_process_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for in_memory in (True, False):
        if not in_memory:
            monkeypatch.setattr(sys, "platform", "darwin")
            monkeypatch.delattr(os, "memfd_create", raising=False)
        content = bytes(range(256)) * 5000
        with processes.share_bytes(content) as file:
            assert file.fileno() > 2
            for _ in range(2):
                assert os.pread(file.fileno(), 2 * len(content), 0) == content
