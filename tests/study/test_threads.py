"""Limits on threads: whoever holds them, and however they overlap, all is in the end as it was outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import threadpoolctl

import bostruct
from bostruct.study.threads import ThreadLimit

ROOT = str(Path(bostruct.__file__).parent.parent)
POOLS_OF_TWO = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}

# Two threads, of which the one that began first ends first; what each pool is set to, as the first of them sees it.
OVERLAPPING = """
import sys
sys.path[:0] = sys.argv[1:2]
if sys.argv[2] == "torch":
    import torch
import numpy
import threading
import threadpoolctl
from bostruct.study.threads import ThreadLimit

def settings():
    own = [(pool["filepath"], pool["num_threads"]) for pool in threadpoolctl.threadpool_info()]
    return sorted(own), [torch.get_num_threads()] if sys.argv[2] == "torch" else []

def another():
    global inside
    with ThreadLimit(1)():
        begun.set()
        first_ended.wait()
        inside = settings()

before = settings()
begun, first_ended = threading.Event(), threading.Event()
thread = threading.Thread(target=another)
with ThreadLimit(1)():
    limited = settings()
    thread.start()
    begun.wait()
first_ended.set()
thread.join()
assert before[0]
assert all(count == 1 for _, count in limited[0]) and all(count == 1 for count in limited[1]), limited
assert all(count == 1 for _, count in inside[0]), inside
assert settings() == before, settings()
"""


@pytest.mark.parametrize("package", ["numpy", "torch"])
def test_overlapping_limits_of_two_threads_hold_in_each_and_leave_nothing(package: str) -> None:
    if package == "torch":
        pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", OVERLAPPING, ROOT, package],
        env=os.environ | POOLS_OF_TWO,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_limits_of_threads_that_overlap_are_taken_back() -> None:
    pools = threadpoolctl.ThreadpoolController()
    before = [pool["num_threads"] for pool in pools.info()]
    first, second = ThreadLimit(1)(), ThreadLimit(1)()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert all(pool["num_threads"] == 1 for pool in pools.info())
    second.__exit__(None, None, None)
    assert [pool["num_threads"] for pool in pools.info()] == before
