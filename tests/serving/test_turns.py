"""SuggestionQueue: one suggestion at a time, and the quick before the next one."""

from __future__ import annotations

import threading
import time

import pytest

from bostruct.serving.messages import Refusal
from bostruct.serving.served_study import SuggestionQueue


def wait_until(holds):
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_the_quick_come_before_the_next_suggestion_whoever_came_first():
    """A lock of the study, which the suggestion has, lets nobody in meanwhile."""
    turns, study, done = SuggestionQueue(), threading.Lock(), []

    def suggest():
        with turns.suggest(), study:
            done.append("suggestion")

    def tell():
        with turns.hurry(), study:
            done.append("tell")

    with turns.suggest(), study:
        threads = [threading.Thread(target=work) for work in (suggest, suggest, tell, tell)]
        for thread in threads:
            thread.start()
        wait_until(lambda: turns._n_quick == 2)
        assert done == []
    for thread in threads:
        thread.join()
    assert done == ["tell", "tell", "suggestion", "suggestion"]


def test_the_quick_do_not_wait_for_a_suggestion_that_the_study_lets_them_pass():
    turns = SuggestionQueue()
    with turns.suggest(), turns.hurry(), turns.hurry():
        assert turns._n_quick == 2


def test_one_suggestion_at_a_time():
    turns, inside, most = SuggestionQueue(), [], []

    def work():
        for _ in range(50):
            with turns.suggest():
                inside.append(1)
                most.append(len(inside))
                inside.pop()
            with turns.hurry():
                pass

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(most), max(most)) == (300, 1)


def test_a_turn_that_fails_is_given_up():
    turns = SuggestionQueue()
    for take in (turns.suggest, turns.hurry):
        with pytest.raises(ZeroDivisionError), take():
            _ = 1 / 0
    with turns.suggest():
        pass


def test_at_the_end_who_waits_is_refused_and_who_is_in_is_waited_for():
    turns, refused, leave, n_in = SuggestionQueue(), [], threading.Event(), []

    def hold(take):
        with take():
            n_in.append(1)
            leave.wait(30)

    def wait():
        try:
            with turns.suggest():
                pass
        except Refusal as refusal:
            refused.append(refusal.code)

    threads = [threading.Thread(target=hold, args=(take,)) for take in (turns.suggest, turns.hurry)]
    for number, thread in enumerate(threads):
        thread.start()
        wait_until(lambda number=number: len(n_in) == number + 1)
    threads.append(threading.Thread(target=wait))
    threads[-1].start()
    assert not turns.end(0.05)
    threads[-1].join()
    assert refused == ["stopping"]
    leave.set()
    assert turns.end(30)
    for take in (turns.suggest, turns.hurry):
        with pytest.raises(Refusal), take():
            pass
