"""The program of a worker process, spoken to as the pool speaks to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from bostruct.execution import worker
from bostruct.execution.processes import share_bytes

ROOT = Path(worker.__file__).parents[2]


class Served:
    """A worker process, and this end of its socket."""

    process: subprocess.Popen[bytes]

    def __init__(self) -> None:
        ours, self.theirs = socket.socketpair()
        self.connection = Connection(ours.detach())

    def load(self, objective: Any) -> Any:
        packed = objective if isinstance(objective, bytes) else cloudpickle.dumps(objective)
        with self.theirs, share_bytes(b"[]\n" + packed) as file:
            descriptors = [self.theirs.fileno(), file.fileno()]
            self.process = subprocess.Popen(
                [sys.executable, "-c", f"from {worker.__name__} import main; main()", *map(str, descriptors)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=descriptors,
                start_new_session=True,
                cwd=ROOT,
            )
        return self.connection.recv()

    def evaluate(self, number: int, point: Any) -> tuple[int, Any]:
        """Return the number answered, and the value, or the reason why there is none."""
        packed = point if isinstance(point, bytes) else cloudpickle.dumps(point)
        self.connection.send((number, packed))
        answered, self.evaluation = self.connection.recv()
        outcome = self.evaluation.outcome
        return answered, outcome.value if outcome.failed is None else outcome.failed


@pytest.fixture
def served() -> Iterator[Served]:
    one = Served()
    yield one
    one.connection.close()
    one.process.kill()
    one.process.wait()
    for pipe in (one.process.stdin, one.process.stdout):
        if pipe is not None:
            pipe.close()


def test_it_answers_each_point_with_its_number_and_outcome(served: Served) -> None:
    def objective(point: dict) -> float:
        if point["x"] == 2:
            raise ValueError("two")
        print(f"printed {point['x']}")
        return float(point["x"])

    assert served.load(objective) == "ready"
    assert served.evaluate(7, {"x": 1}) == (7, 1.0)
    assert served.evaluate(9, {"x": 2}) == (9, "ValueError: two")
    number, why = served.evaluate(10, b"no pickle")
    assert number == 10
    assert why.startswith("UnpicklingError")
    assert served.evaluate(11, {"x": 3}) == (11, 3.0)
    served.connection.close()
    assert served.process.wait(timeout=60) == 0
    assert served.process.stdout is not None
    assert served.process.stdout.read() == b"printed 1\nprinted 3\n"


def test_an_objective_that_cannot_be_loaded_is_answered_with_its_traceback(served: Served) -> None:
    answer = served.load(b"cnowhere_to_be_found\nobjective\n.")
    assert answer.startswith("Traceback")
    assert "ModuleNotFoundError: No module named 'nowhere_to_be_found'" in answer
    assert served.process.wait(timeout=60) == 0


def test_an_objective_that_leaves_the_program_as_it_is_loaded_is_answered_too(served: Served) -> None:
    answer = served.load(b"cbuiltins\nexit\n(I3\ntR.")
    assert answer.startswith("Traceback")
    assert answer.endswith("SystemExit: 3\n")


def test_it_says_when_the_objective_ended(served: Served) -> None:
    class SlowToSend(Exception):
        def __reduce__(self) -> Any:
            time.sleep(0.2)
            return Exception, ()

    def objective(_: Any) -> float:
        raise SlowToSend(str(time.time()))

    assert served.load(objective) == "ready"
    _, reason = served.evaluate(0, None)
    raised = float(reason.removeprefix("SlowToSend: "))
    assert raised <= served.evaluation.ended <= time.time() - 0.2


def test_it_shields_the_objective_from_interrupts_and_from_the_pipe_of_the_study(served: Served) -> None:
    descriptor = served.theirs.fileno()

    def objective(_: Any) -> float:
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert sys.stdin.read() == ""
        assert not os.get_inheritable(descriptor)
        return 1.0

    assert served.load(objective) == "ready"
    assert served.evaluate(0, None) == (0, 1.0)


def test_it_dies_with_the_study_and_takes_along_what_the_objective_started(served: Served, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held")
    script = "import sys, time; file = open(sys.argv[1], 'w'); time.sleep(60); file.write('it lived on')"

    def objective(_: Any, command: tuple = (sys.executable, "-c", script, str(tmp_path / "held"))) -> float:
        subprocess.Popen(command)
        return 1.0

    assert served.load(objective) == "ready"
    assert served.evaluate(0, None) == (0, 1.0)
    with open(tmp_path / "held") as file:  # waits until the other end is open
        assert served.process.stdin is not None
        served.process.stdin.close()  # as the system does when the study's process ends
        assert served.process.wait(timeout=60) == -signal.SIGKILL
        assert file.read() == ""  # ends once what has the file open has ended
