"""Several processes share a study in a database, whatever becomes of their connections and of the server."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

import bostruct as bo
from bostruct.storage.postgresql.storage import PostgresqlWriter
from bostruct.storage.protocol import TrialRow
from bostruct.storage.writing import Transaction
from tests.programs import start
from tests.storage.postgresql.server import Server

SPACE = {"a": range(200), "b": ["x", "y", "z"]}
RUN = """
from tests.storage.postgresql.test_writer import SPACE, objective
with bo.Study(SPACE, method="random", seed=0, storage=sys.argv[1]) as study:
    study.optimize(objective, int(sys.argv[2]), progress=False)
"""


def objective(point: dict) -> float:
    return float(point["a"]) + "xyz".index(point["b"]) / 4


def run_together(url: str, n_trials: int, disturb: Callable[[], None], n_processes: int) -> tuple[bo.Trial, ...]:
    """Let processes make one run while a function disturbs them, and return its trials."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    processes = [start(RUN, url, n_trials, stdin=None, stdout=None, env=environment) for _ in range(n_processes)]
    while any(one.poll() is None for one in processes):
        disturb()
    assert [process.wait() for process in processes] == [0] * n_processes
    with bo.Study.load(url, read_only=True) as study:
        return study.trials


def check_run(trials: tuple[bo.Trial, ...], n_trials: int) -> None:
    """Check that nothing was lost, nothing evaluated twice, and nothing beyond what was asked for."""
    assert {trial.status for trial in trials} == {"completed"}
    assert len(trials) == n_trials
    assert all(trial.value == objective(trial.point) for trial in trials)
    assert len({tuple(trial.point.values()) for trial in trials}) == len(trials)
    assert not [trial for trial in trials if "double_of" in trial.info or trial.info.get("attempts", 1) > 1]


def test_a_writer_shares_its_study(url: str) -> None:
    with bo.Study(SPACE, method="random", seed=0, storage=url) as study:
        assert isinstance(study._ledger.store, PostgresqlWriter)
        assert study._ledger.store.owner is not None
        assert study.where == url


def end_some(server: Server, database: str, n: int = 2) -> None:
    """End connections to a database."""
    server.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'bostruct %' "
        f"AND datname = '{database}' ORDER BY random() LIMIT {n}"
    )


def test_studies_make_one_run_while_their_connections_are_ended(server: Server, url: str, database: str) -> None:
    def run(_: int) -> None:
        with bo.Study(SPACE, method="random", seed=0, storage=url) as study:
            study.optimize(objective, 60, progress=False)

    with ThreadPoolExecutor(3) as executor:
        runs = [executor.submit(run, number) for number in range(3)]
        while not all(one.done() for one in runs):
            end_some(server, database)
            time.sleep(0.05)
        for one in runs:
            one.result()
    with bo.Study.load(url, read_only=True) as study:
        check_run(study.trials, 60)


@pytest.mark.slow
def test_processes_make_one_run_while_the_server_is_killed(server: Server, url: str, database: str) -> None:
    rng = random.Random(0)

    def disturb() -> None:
        time.sleep(rng.uniform(0.05, 0.3))
        if rng.random() < 0.1:
            server.stop(rng.choice([signal.SIGINT, signal.SIGQUIT, signal.SIGKILL]))
            time.sleep(rng.uniform(0.0, 1.0))
            server.start()
        else:
            end_some(server, database)

    check_run(run_together(url, 550, disturb, 4), 550)


def test_writes_of_two_threads_wait_for_each_other(url: str) -> None:
    with bo.Study(SPACE, method="random", seed=0, storage=url) as one:
        with bo.Study(SPACE, method="random", seed=0, storage=url) as other:
            threads = [
                threading.Thread(target=lambda s=study, b=b: [s.add({"a": n, "b": b}, 1.0) for n in range(20)])
                for study, b in ((one, "x"), (one, "z"), (other, "y"))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        one.sync()
        assert len(one.trials) == 60
    with bo.Study.load(url, read_only=True) as stored:
        assert stored.trials == one.trials


def test_a_frame_whose_connection_is_lost_in_the_middle_is_added_once(
    url: str, server: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert, lost = Transaction.insert, list[int]()

    def insert_and_lose(self: Transaction, row: TrialRow, state: str | None) -> None:
        insert(self, row, state)
        if row.number == 7 and not lost:
            lost.append(row.number)
            end_some(server, database, 99)

    frame = pd.DataFrame({"a": range(12), "b": "x", "value": 1.0})
    with bo.Study(SPACE, method="random", seed=0, storage=url) as one, bo.Study.load(url) as other:
        other.add({"a": 199, "b": "z"}, 9.0)
        monkeypatch.setattr(Transaction, "insert", insert_and_lose)
        assert [trial.number for trial in one.add_frame(frame)] == list(range(1, 13))
        other.sync()
        assert (lost, other.trials) == ([7], one.trials)
