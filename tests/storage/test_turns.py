"""Threads that decide: each has its turn once, and a forked child has none."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from bostruct.contracts import BostructError
from bostruct.storage.locks import check_not_held, lock_owner


def test_a_turn_is_of_one_thread_and_one_study() -> None:
    with ThreadPoolExecutor(1) as executor, lock_owner("key"):
        with pytest.raises(BostructError, match="study 'mine': this thread already holds the ask lock"):
            check_not_held("key", "study 'mine'")
        check_not_held("another key", "another study")
        executor.submit(check_not_held, "key", "study 'mine'").result()
    check_not_held("key", "study 'mine'")


def test_a_forked_child_has_no_turn() -> None:
    with lock_owner("key"):
        child = os.fork()
        if child == 0:
            try:
                check_not_held("key", "study 'mine'")
            except BostructError:
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
