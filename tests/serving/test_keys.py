"""Keys: a request that is repeated runs once, one that failed may run again."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from bostruct.serving.keys import Keys
from bostruct.serving.refusals import Refusal


def test_a_repeated_request_has_the_same_answer():
    keys, calls = Keys(), []
    for _ in range(3):
        assert keys.run_once("k", "ask", lambda: calls.append(1) or len(calls)) == 1
    assert keys.run_once("other", "ask", lambda: calls.append(1) or len(calls)) == 2


def test_a_key_of_another_request_is_refused():
    keys = Keys()
    keys.run_once("k", "ask", lambda: 1)
    with pytest.raises(Refusal) as refused:
        keys.run_once("k", "tell", lambda: 2)
    assert refused.value.code == "key_reused"


def test_who_repeats_while_it_runs_waits_for_the_answer():
    keys, calls, is_open = Keys(), [], threading.Event()

    def run():
        calls.append(1)
        assert is_open.wait(30)
        return "trial 7"

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(keys.run_once, "k", "ask", run) for _ in range(8)]
        is_open.set()
        assert [one.result(30) for one in asked] == ["trial 7"] * 8
    assert calls == [1]


def test_what_failed_may_be_tried_again():
    keys = Keys()
    with pytest.raises(ZeroDivisionError):
        keys.run_once("k", "ask", lambda: 1 / 0)
    assert keys.run_once("k", "ask", lambda: 5) == 5


def test_the_oldest_are_forgotten():
    keys = Keys(2)
    for name in "abc":
        keys.run_once(name, "ask", lambda: 1)
    assert keys.run_once("c", "ask", lambda: 2) == 1
    assert keys.run_once("a", "ask", lambda: 2) == 2
