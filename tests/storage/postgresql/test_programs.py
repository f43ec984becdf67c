"""Programs that keep their studies in a database: `bostruct serve`, and searches of networks."""

from __future__ import annotations

import signal
import threading

import pytest

import bostruct as bo
from tests.serving.doors import ask, make_service
from tests.serving.test_kills import run_kills
from tests.storage.postgresql.server import Server
from tests.storage.postgresql.test_writer import end_some


def test_a_served_study_outlasts_its_connections_and_its_database(server: Server, url: str, database: str) -> None:
    service = make_service("s", storage=url)
    for _ in range(3):
        (trial,) = ask(service, "ask", lease=60)["trials"]
        end_some(server, database)
        assert ask(service, "renew", trial=trial["number"])["ok"]
        assert ask(service, "tell", trial=trial["number"], value=float(trial["number"]))["ok"]
    (trial,) = ask(service, "ask")["trials"]
    server.stop(signal.SIGQUIT)
    starting = threading.Thread(target=server.start)
    starting.start()
    assert ask(service, "tell", trial=trial["number"], value=3.0)["ok"]
    starting.join()
    assert ask(service, "best")["trials"][0]["value"] == 0.0
    service.close()
    with bo.Study.load(url, read_only=True) as study:
        assert [one.value for one in study.trials] == [0.0, 1.0, 2.0, 3.0]


def test_two_services_share_a_study_and_give_its_trials_back(url: str) -> None:
    one, other = make_service("s", storage=url), make_service("s", storage=url)
    asked = [ask(service, "ask")["trials"][0]["number"] for service in (one, other, one, other)]
    assert asked == [0, 1, 2, 3]
    assert ask(one, "tell", trial=0, value=1.0)["ok"]
    one.close()
    assert ask(other, "ask")["trials"][0]["number"] == 2
    assert ask(other, "best")["trials"][0]["number"] == 0
    other.close()


def test_a_server_of_studies_that_is_killed_loses_nothing(url: str) -> None:
    run_kills(url, 1, 0)


@pytest.mark.parametrize("method", ["nasbot", "evolution"])
def test_networks_are_kept_as_in_a_file(url: str, tmp_path, method: str) -> None:
    points = {}
    for place in (url, tmp_path / "runs.db"):
        for n_trials in (4, 6):  # resumed once
            with bo.Study(bo.mlp_domain(), method=method, seed=0, storage=place, name="net") as study:
                study.optimize(lambda network: float(len(str(network))), n_trials, progress=False)
        points[place] = [(study.domain.encode(trial.point), trial.value) for trial in study.trials]
    one, other = points.values()
    assert one == other
