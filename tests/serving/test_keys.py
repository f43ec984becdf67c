"""Keys: a request that is repeated runs once, one that failed may run again."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from bostruct.serving.messages import Refusal
from bostruct.serving.served_study import Keys


def test_a_repeated_request_has_the_same_answer():
    keys, calls = Keys(), []

    def run():
        calls.append(b"")
        return b"%d" % len(calls)

    assert [keys.run_once("k", "ask", run) for _ in range(3)] == [b"1"] * 3
    assert keys.run_once("other", "ask", run) == b"2"


def test_a_key_of_another_request_is_refused():
    keys = Keys()
    keys.run_once("k", "ask", lambda: b"")
    with pytest.raises(Refusal) as refused:
        keys.run_once("k", "tell", lambda: b"")
    assert refused.value.code == "key_reused"


def test_who_repeats_while_it_runs_waits_for_the_answer():
    keys, calls, is_open = Keys(), [], threading.Event()

    def run():
        calls.append(1)
        assert is_open.wait(30)
        return b"trial 7"

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(keys.run_once, "k", "ask", run) for _ in range(8)]
        is_open.set()
        assert [one.result(30) for one in asked] == [b"trial 7"] * 8
    assert calls == [1]


def test_what_failed_may_be_tried_again():
    keys = Keys()
    with pytest.raises(ZeroDivisionError):
        keys.run_once("k", "ask", lambda: 1 / 0)
    assert keys.run_once("k", "ask", lambda: b"5") == b"5"


@pytest.mark.parametrize("keys", [Keys(2), Keys(most_bytes=8)])
def test_the_oldest_are_forgotten(keys):
    for name in "abc":
        keys.run_once(name, "ask", lambda: b"four")
    assert [keys.run_once(name, "ask", lambda: b"new!") for name in "cb"] == [b"four"] * 2
    assert keys.run_once("a", "ask", lambda: b"new!") == b"new!"


def test_the_last_is_kept_however_long_it_is():
    keys = Keys(most_bytes=8)
    for name in "ab":
        keys.run_once(name, "ask", lambda: b"a" * 100)
    assert [len(keys.run_once(name, "ask", lambda: b"new")) for name in "ba"] == [100, 3]


def test_what_is_not_answered_yet_is_not_forgotten():
    keys, entered, is_open = Keys(1), threading.Event(), threading.Event()

    def run():
        entered.set()
        assert is_open.wait(30)
        return b"late"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(keys.run_once, "k", "ask", run)
        assert entered.wait(30)
        for name in "abc":
            keys.run_once(name, "ask", lambda: b"soon")
        again = pool.submit(keys.run_once, "k", "ask", lambda: b"twice")
        is_open.set()
        assert (first.result(30), again.result(30)) == (b"late", b"late")
