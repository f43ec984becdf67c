"""Turns: one at a time, the quick before the slow."""

from __future__ import annotations

import threading
import time

import pytest

from bostruct.serving.refusals import Refusal
from bostruct.serving.turns import Turns


def wait_until(holds):
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def start(turns, done, name, is_quick):
    def work():
        with turns.take(is_quick=is_quick):
            done.append(name)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_the_quick_come_before_the_slow_whoever_came_first():
    turns, done = Turns(), []
    with turns.take(is_quick=False):
        threads = [start(turns, done, "slow", False), start(turns, done, "slow", False)]
        threads += [start(turns, done, "quick", True), start(turns, done, "quick", True)]
        wait_until(lambda: turns._n_quick == 2)
        assert done == []
    for thread in threads:
        thread.join()
    assert done == ["quick", "quick", "slow", "slow"]


def test_one_at_a_time():
    turns, inside, most = Turns(), [], []

    def work(is_quick):
        for _ in range(50):
            with turns.take(is_quick=is_quick):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work, args=(number % 2 == 0,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(most), max(most)) == (300, 1)


def test_a_turn_that_fails_is_given_up():
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.take(is_quick=True):
        _ = 1 / 0
    with turns.take(is_quick=False):
        pass


def test_at_the_end_who_waits_is_refused_and_the_last_turn_is_waited_for():
    turns, refused, entered, leave = Turns(), [], threading.Event(), threading.Event()

    def hold():
        with turns.take(is_quick=False):
            entered.set()
            leave.wait(30)

    def wait():
        try:
            with turns.take(is_quick=True):
                pass
        except Refusal as refusal:
            refused.append(refusal.code)

    threads = [threading.Thread(target=hold), threading.Thread(target=wait)]
    threads[0].start()
    assert entered.wait(30)
    threads[1].start()
    wait_until(lambda: turns._n_quick == 1)
    assert not turns.end(0.05)
    threads[1].join()
    assert refused == ["stopping"]
    leave.set()
    assert turns.end(30)
    with pytest.raises(Refusal), turns.take(is_quick=False):
        pass
