"""Hostile requests neither bring a server down nor touch another study; a well-behaved client works after them."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace

import pytest

import bostruct as bo
from bostruct.serving.guarded_http import HEAD_SECONDS
from tests.serving.doors import post
from tests.serving.hostile import ATTACKS, drip, request, shoot, two_requests, wrong_token

SPACE = {"x": range(1000), "y": range(1000)}
pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc, which Linux has")


@pytest.fixture
def served(tmp_path):
    """A server in a process of its own, with two studies; b has a trial that runs and one that was told."""
    file = tmp_path / "r.db"
    for name in "ab":
        bo.Study(SPACE, method="random", seed=0, storage=file, name=name).close()
    line = [sys.executable, "-m", "bostruct", "serve", str(file), "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = json.loads("".join(takewhile(lambda line: line != "}\n", process.stdout)) + "}")
        port = int(found["url"].rpartition(":")[2].partition("/")[0])
        server = SimpleNamespace(process=process, server_port=port, token=found["token"], file=file)
        post(server, {"request": "ask", "study": "b", "n": 2})
        post(server, {"request": "tell", "study": "b", "trial": 0, "value": 7})
        try:
            yield server
        finally:
            process.kill()
            process.communicate()


def read_status(process, name):
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise LookupError(name)


def post_in_time(server, body):
    """An answer that is not refused for the number of requests that came before, or of connections."""
    for _ in range(100):
        try:
            status, answer = post(server, body)
        except (ConnectionError, http.client.HTTPException):
            status = 429
        if status != 429:
            return status, answer
        time.sleep(0.1)
    raise AssertionError("the server is too busy for a client")


def attack(server, n, seed, workers):
    """n hostile requests from several threads; the statuses of their answers, each with how often it came."""
    statuses: dict[bytes, int] = {}
    lock = threading.Lock()

    def work(number):
        rng = random.Random(seed * 10**6 + number)
        answer = shoot(server.server_port, ATTACKS[number % len(ATTACKS)](rng, server.token), rng)
        with lock:
            status = answer[9:12]
            statuses[status] = statuses.get(status, 0) + 1

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(n)))
    return statuses


def check_unharmed(server, before):
    assert server.process.poll() is None
    trials = post_in_time(server, {"request": "trials", "study": "b"})[1]["trials"]
    assert trials == before
    for study in "ab":
        status, asked = post_in_time(server, {"request": "ask", "study": study, "lease": 60})
        assert status == 200
        told = {"request": "tell", "study": study, "trial": asked["trials"][0]["number"], "value": 1.5}
        assert post_in_time(server, told)[1]["trial"]["value"] == 1.5
    server.process.send_signal(signal.SIGTERM)
    out, err = server.process.communicate(timeout=60)
    assert (server.process.returncode, out) == (143, "")
    assert "Traceback" not in err
    with bo.Study.load(server.file, "b") as study:
        assert study.best_value == 1.5
        assert study.ask().number == 1  # was out when the server ended


def run_attack(server, n, workers, slow):
    before = post(server, {"request": "trials", "study": "b"})[1]["trials"]
    memory, files = read_status(server.process, "VmRSS"), len(os.listdir(f"/proc/{server.process.pid}/fd"))
    body = b'{"request": "finish", "study": "b"}'
    dripped = [request(body, server.token), request(body, "wrong"), b"POST /v1"]
    took = []
    threads = [
        threading.Thread(target=lambda i=i: took.append(drip(server.server_port, dripped[i % 3], 60.0)))
        for i in range(slow)
    ]
    for thread in threads:
        thread.start()
    statuses = attack(server, n, 1, workers)
    for thread in threads:
        thread.join()
    assert max(took) < 2 * HEAD_SECONDS + 10  # nobody who is slow is waited for
    assert statuses.get(b"401", 0) > n / 50
    assert statuses.get(b"422", 0) > n / 200
    deadline = time.monotonic() + 30
    while read_status(server.process, "Threads") > 12 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(os.listdir(f"/proc/{server.process.pid}/fd")) <= files + 3
    assert read_status(server.process, "VmRSS") < memory + 150_000  # kB
    check_unharmed(server, before)
    return statuses


def test_hundreds_of_hostile_requests_do_no_harm(served):
    run_attack(served, 300, 8, 6)


@pytest.mark.slow
def test_ten_thousand_hostile_requests_do_no_harm(served):
    print(run_attack(served, 10_000, 24, 300))


def test_a_second_request_behind_the_first_is_not_read(served):
    answer = shoot(served.server_port, two_requests(random.Random(0), served.token), random.Random(5))
    assert answer.count(b"HTTP/1.") == 1
    assert post(served, {"request": "describe", "study": "b"})[1]["finished"] is None


def test_the_token_counts_in_its_header_alone(served):
    rng = random.Random(3)
    for _ in range(20):
        shoot(served.server_port, wrong_token(rng, served.token), random.Random(5))
    assert post(served, {"request": "describe", "study": "a"})[1]["trials"] == 0
