"""A server that is killed loses nothing that it acknowledged; who repeats a request by its key loses no trial."""

from __future__ import annotations

import http.client
import json
import random
import subprocess
import sys
import threading
import time
import uuid
from itertools import takewhile
from types import SimpleNamespace

import pytest

import bostruct as bo
from tests.serving.doors import post

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="study files need POSIX")
CLIENTS = 4


class Killed:
    """A server that is killed and started again, and clients that go on until a deadline."""

    def __init__(self, file):
        self.file = file
        self.acknowledged: dict[int, float] = {}
        self.is_over = False
        self.start()

    def start(self):
        line = [sys.executable, "-m", "bostruct", "serve", str(self.file), "--json"]
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        found = json.loads("".join(takewhile(lambda line: line != "}\n", self.process.stdout)) + "}")
        port = int(found["url"].rpartition(":")[2].partition("/")[0])
        self.server = SimpleNamespace(server_port=port, token=found["token"])

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def request(self, **fields):
        """An answer, asked for again with the same key until it comes; None at the end."""
        fields["key"] = uuid.uuid4().hex
        while not self.is_over:
            try:
                return post(self.server, fields, timeout=10)[1]
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
        return None

    def work(self):
        while (asked := self.request(request="ask", lease=1.0)) is not None:
            for trial in asked.get("trials", ()):
                value = float(trial["point"]["x"])
                told = self.request(request="tell", trial=trial["number"], value=value)
                if told is not None:
                    assert told["ok"] or told["error"]["code"] == "trial_finished", told
                    known = told["trial"] if told["ok"] else told["error"]["trial"]
                    if known["status"] == "completed":
                        self.acknowledged[trial["number"]] = value


def run_kills(file, n, seed):
    bo.Study({"x": bo.Integer(0, 99_999)}, method="random", seed=0, storage=file, name="s").close()
    killed, rng = Killed(file), random.Random(seed)
    threads = [threading.Thread(target=killed.work) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for _ in range(n):
        time.sleep(rng.uniform(0.05, 0.6))
        killed.kill()
        killed.start()
    time.sleep(0.5)
    killed.is_over = True
    for thread in threads:
        thread.join()
    killed.kill()
    with bo.Study.load(file, "s") as study:
        trials = study.trials
    lost = {number for number, value in killed.acknowledged.items() if trials[number].value != value}
    assert killed.acknowledged
    assert not lost
    assert len({trial.point["x"] for trial in trials}) == len(trials)
    for trial in trials:
        assert trial.status != "completed" or trial.value == trial.point["x"]
    return len(trials), len(killed.acknowledged), [trial.reason for trial in trials if trial.status == "failed"]


def test_a_kill_loses_nothing(tmp_path):
    run_kills(tmp_path / "r.db", 1, 0)


@pytest.mark.slow
def test_many_kills_lose_nothing(tmp_path):
    print(run_kills(tmp_path / "r.db", 60, 1))
