"""The service: several studies, keys that make requests repeatable, errors that say what is wrong and no more."""

from __future__ import annotations

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import bostruct as bo
from bostruct.serving.service import MOST_STUDIES, Service
from tests.serving.doors import JSON_SPACE, SPACE, ask, code_of, make_service


def test_one_study_needs_no_name_and_several_do():
    one, two = make_service("a"), make_service("a", "b")
    assert ask(one, "describe")["study"] == "a"
    assert ask(two, "describe", study="b")["study"] == "b"
    assert ask(two, "studies")["studies"] == ["a", "b"]
    for name in ("c", 5, ["a"], "__class__"):
        assert code_of(two, "describe", study=name) == "unknown_study"
    assert ask(two, "describe", study="c")["error"]["message"] == "study: expected one of 'a', 'b'; got 'c'"


def test_a_study_that_is_not_named_is_asked_for_and_of_many_names_the_first_are_shown():
    many, none = make_service(*map(str, range(11))), make_service(create=True)
    first = ", ".join(repr(str(number)) for number in range(10))
    error = ask(many, "describe")["error"]
    message = f"study: expected a name, because 11 are served: {first}, ..."
    assert error == {"code": "bad_request", "message": message}
    unknown = ask(many, "describe", study="c")["error"]
    assert unknown == {"code": "unknown_study", "message": f"study: expected one of {first}, ...; got 'c'"}
    assert ask(none, "describe")["error"]["message"] == "study: no study is served yet; create one with `create`"


def test_the_description_is_of_the_space_and_the_goals():
    described = ask(make_service("a", constraints={"heat": ("<=", 3.0)}, direction="maximize"), "describe")
    assert described["space"] == bo.Space(SPACE).to_json()
    assert (described["directions"], described["constraints"]) == (["maximize"], {"heat": ["<=", 3.0]})


def test_requests_of_one_study_leave_others_as_they_are():
    service = make_service("a", "b")
    ask(service, "ask", study="a", n=3)
    for request, trial in [("tell", 0), ("requeue", 1), ("renew", 2), ("tell", 10**9)]:
        value = {"value": 1} if request == "tell" else {}
        assert code_of(service, request, study="b", trial=trial, **value) == "unknown_trial"
    assert ask(service, "finish", study="a")["finished"]
    assert ask(service, "ask", study="b")["trials"][0]["number"] == 0
    assert [one["status"] for one in ask(service, "trials", study="a")["trials"]] == ["running"] * 3


def test_an_id_comes_back_and_any_other_is_refused():
    service = make_service("a")
    for number in (0, 7, -1.5, "seven", "", None):
        assert ask(service, "describe", id=number)["id"] == number
        assert ask(service, "nothing", id=number)["id"] == number
    assert ask(service, "describe", id={"a": 1})["id"] is None


def test_the_same_ask_and_tell_again_are_answered_alike():
    service = make_service("a", "b")
    first = ask(service, "ask", study="a", n=2, key="k1", id=1)
    again = ask(service, "ask", study="a", n=2, key="k1", id=2)
    assert (again.pop("id"), first.pop("id"), again == first) == (2, 1, True)
    assert ask(service, "describe", study="a")["trials"] == 2
    told = [ask(service, "tell", study="a", trial=0, value=1, key="k2") for _ in range(3)]
    assert told[0]["ok"]
    assert told == told[:1] * 3
    assert code_of(service, "tell", study="a", trial=0, value=1) == "trial_finished"
    assert code_of(service, "tell", study="a", trial=1, value=2, key="k2") == "key_reused"
    added = [ask(service, "add", study="a", point={"a": 8, "b": True}, value=1, key="k3") for _ in range(2)]
    assert added[0] == added[1]
    assert ask(service, "ask", study="b", key="k1")["trials"][0]["number"] == 0  # each study has its own


def test_the_same_ask_at_once_hands_out_one_trial():
    service = make_service("a")
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: ask(service, "ask", key="k")["trials"][0]["number"], range(64)))
    assert (answers, ask(service, "describe")["trials"]) == ([0] * 64, 1)


def test_a_refused_request_may_be_repeated_with_its_key():
    service = make_service("a")
    assert code_of(service, "tell", trial=0, value=1, key="k") == "unknown_trial"
    ask(service, "ask")
    assert ask(service, "tell", trial=0, value=1, key="k")["trial"]["value"] == 1.0


def test_many_clients_at_once_lose_and_double_nothing():
    service = make_service("a", space={"x": range(1000)})

    def work(_):
        for _ in range(10):
            trial = ask(service, "ask", lease=60)["trials"][0]
            ask(service, "tell", trial=trial["number"], value=trial["point"]["x"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    trials = ask(service, "trials", limit=1000)["trials"]
    assert [one["status"] for one in trials] == ["completed"] * 80
    assert all(one["value"] == one["point"]["x"] for one in trials)
    assert len({one["point"]["x"] for one in trials}) == 80


def test_studies_are_made_where_that_is_allowed():
    closed, service = make_service("a"), make_service("a", create=True)
    assert code_of(closed, "create", study="new", space=JSON_SPACE) == "not_allowed"
    made = ask(service, "create", study="new", space=JSON_SPACE, method="random", seed=3)
    assert made == ask(service, "create", study="new", space=JSON_SPACE, method="random")  # the same again
    assert code_of(service, "create", study="new", space=JSON_SPACE, seed=4) == "study_exists"
    assert code_of(service, "create", study="a", space=JSON_SPACE) == "study_exists"
    for wrong in (
        {"space": JSON_SPACE},
        {"study": "", "space": JSON_SPACE},
        {"study": "n"},
        {"study": "n", "space": 5},
    ):
        assert code_of(service, "create", **wrong) == "bad_value"
    assert ask(service, "ask", study="new")["trials"][0]["point"].keys() == {"x", "k"}
    assert [ask(one, "studies")["limits"]["create"] for one in (closed, service)] == [False, True]


def test_there_are_so_many_studies_at_most():
    service = make_service(create=True)
    space = {"variables": {"x": {"kind": "Binary"}}}
    for number in range(MOST_STUDIES):
        assert ask(service, "create", study=str(number), space=space, method="random")["ok"]
    assert code_of(service, "create", study="more", space=space, method="random") == "not_allowed"


def test_an_error_that_nobody_expects_is_logged_and_not_told(monkeypatch, caplog):
    service = make_service("a")
    monkeypatch.setattr(bo.Study, "n_finished", property(lambda _: {}["the password"]))
    with caplog.at_level(logging.ERROR, "bostruct"):
        error = ask(service, "describe")["error"]
    assert (error["code"], "password" in error["message"]) == ("internal", False)
    assert "the password" in caplog.text


def test_a_lost_file_is_said_and_what_was_told_is_kept(file):
    study = bo.Study(SPACE, method="random", seed=0, storage=file)
    service = Service([study])
    ask(service, "ask")
    file.unlink()
    assert code_of(service, "tell", trial=0, value=1.0) == "storage"
    assert study.trials[0].value == 1.0
    assert code_of(service, "ask") == "storage"
    study.save(file)
    service.close()
    with bo.Study.load(file) as again:
        assert again.best_value == 1.0


def test_at_the_end_studies_are_closed_and_nothing_more_is_answered(file):
    service = Service([bo.Study(SPACE, method="random", seed=0, storage=file, name=name) for name in "ab"])
    ask(service, "ask", study="a")
    service.close()
    assert code_of(service, "tell", study="a", trial=0, value=1) == "stopping"
    for name in "ab":
        bo.Study.load(file, name).close()


def test_a_suggestion_that_takes_long_is_not_waited_for_at_the_end(file, monkeypatch):
    monkeypatch.setattr("bostruct.serving.service.CLOSE_SECONDS", 0.1)
    study = bo.Study(SPACE, method="random", seed=0, storage=file)
    service, entered, leave = Service([study]), threading.Event(), threading.Event()
    searcher = type(study._searcher)
    suggest = searcher.suggest

    def think(*given):
        entered.set()
        assert leave.wait(30)
        return suggest(*given)

    monkeypatch.setattr(searcher, "suggest", think)
    with ThreadPoolExecutor(1) as pool:
        code = pool.submit(code_of, service, "ask")
        assert entered.wait(30)
        service.close()  # and the file is there for others
        leave.set()
        assert code.result(30) == "stopping"
    with bo.Study.load(file) as again:
        assert again.trials == ()


@pytest.mark.parametrize("text", [b"", b"\xff", b"[]", b'{"request": "ask", "n": NaN}', b"{" * 9999])
def test_what_is_no_request_is_answered(text):
    answer = make_service("a").answer(text)
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (400, "bad_json")
