"""Requests: their fields are known, and what is wrong is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bostruct.execution.clock import now
from bostruct.serving.messages import Refusal
from bostruct.serving.service import CREATED, OF_SERVER, OPERATIONS, check_request, read_text
from tests.serving.doors import ask, code_of, make_service

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({}, "unknown_request", "got None"),
        ({"request": "asc"}, "unknown_request", "got 'asc'. Did you mean 'ask'?"),
        ({"request": ["ask"]}, "unknown_request", "got ['ask']"),
        ({"request": "__class__"}, "unknown_request", "expected one of"),
        ({"request": "ask", "leese": 3}, "bad_request", "ask: expected the fields n, lease, request, study"),
        ({"request": "ask", "leese": 3}, "bad_request", "got 'leese'. Did you mean 'lease'?"),
        ({"request": "tell", "value": 3}, "bad_request", "tell: expected the field trial, which is missing"),
        ({"request": "ask", "protocol": 2}, "bad_protocol", "expected 1, got 2"),
        ({"request": "ask", "protocol": True}, "bad_protocol", "expected 1, got True"),
    ],
)
def test_what_is_no_request_is_refused_in_words(given, code, message):
    with pytest.raises(Refusal, match=re.escape(message)) as refused:
        check_request(given)
    assert refused.value.code == code


TOLD = {"trial": 0, "value": 1}
WRONG = [("ask", {"n": wrong}, "n: ") for wrong in (0, 257, 1.0, True)]
WRONG += [("ask", {"lease": wrong}, "lease: ") for wrong in (0, "1")]
WRONG += [("ask", {"key": wrong}, "key: ") for wrong in ("", "k" * 201, 5)]
WRONG += [("tell", TOLD | {"trial": wrong}, "trial: ") for wrong in (-1, "0")]
WRONG += [("tell", TOLD | {"value": wrong}, "value: ") for wrong in ([1], {"value": 1})]
WRONG += [("tell", {"trial": 0, "reports": wrong}, "reports: ") for wrong in ([[1]], 5)]
WRONG += [("add", {"point": wrong, "value": 1}, "point: ") for wrong in ({"a": 1}, "__import__")]
WRONG += [("describe", {"id": wrong}, "id: ") for wrong in ([1], 1e300)]


@pytest.mark.parametrize(
    ("request_", "fields", "name"),
    [
        *WRONG,
        ("tell", TOLD | {"values": [1]}, "values: "),
        ("tell", {"trial": 0, "values": 3}, "values: "),
        ("tell", {"trial": 0, "values": [1, 2]}, "value: "),
        ("tell", TOLD | {"sd": -1}, "sd: "),
        ("tell", TOLD | {"constraints": [3]}, "constraints: "),
        ("tell", {"trial": 0, "failed": 3}, "failed: "),
        ("tell", TOLD | {"finished": "now"}, "finished: "),
        ("tell", {"trial": 0, "failed": "x", "retry": 1001}, "retry: "),
        ("add", {"point": {"a": 99, "b": True}, "value": 1}, "point: a: "),
        ("add", {"point": {"a": 1, "b": True}, "value": "x"}, "value: "),
        ("renew", {"trial": 0, "started": "x"}, "started: "),
        ("trials", {"from": -1}, "from: "),
        ("trials", {"limit": 1001}, "limit: "),
        ("finish", {"reason": ""}, "reason: "),
        ("create", {"study": 5}, "create: "),
    ],
)
def test_a_field_that_is_wrong_is_named_and_nothing_changes(request_, fields, name):
    service = make_service("s")
    ask(service, "ask")
    error = ask(service, request_, **fields)["error"]
    assert error["message"].startswith(name), error
    assert error["code"] in ("bad_value", "bad_request", "not_allowed")
    described = ask(service, "describe")
    assert (described["trials"], described["finished_trials"], described["finished"]) == (1, 0, None)


def test_values_of_one_objective_may_be_a_list_of_one():
    service = make_service("s")
    ask(service, "ask")
    assert ask(service, "tell", trial=0, values=[2.5])["trial"]["value"] == 2.5


def test_several_objectives_limits_noise_reports_and_retries_are_told():
    service = make_service("s", directions=["minimize", "maximize"], constraints={"heat": ("<=", 3.0)})
    ask(service, "ask", n=2)
    told = ask(service, "tell", trial=0, values=[1, 2], constraints={"heat": 4})["trial"]
    assert (told["values"], told["constraints"], told["broken"]) == ([1.0, 2.0], {"heat": 4.0}, ["heat"])
    again = ask(service, "tell", trial=1, failed="no license", retry=True)["trial"]
    assert (again["status"], again["info"]["failed_before"]) == ("running", ["no license"])
    one = make_service("s")
    ask(one, "ask", n=3)
    assert ask(one, "tell", trial=0, value=1, sd=0.5)["trial"]["sd"] == 0.5
    assert ask(one, "tell", trial=1, repeats=[1, 2])["trial"]["value"] == 1.5
    for wrong in (5.0, now() * 1000, "noon", True):  # not a time of day in seconds
        assert code_of(one, "tell", trial=2, value=7.0, finished=wrong) == "bad_value"
    stopped = ask(one, "tell", trial=2, reports=[[1, 9], [3, 7]], finished=(ended := now()))["trial"]
    assert (stopped["value"], stopped["info"]["stopped_at"], stopped["finished"]) == (7.0, 3, ended)
    assert code_of(one, "tell", trial=2, infeasible="x") == "trial_finished"


def test_the_page_has_a_row_for_each_request_with_all_its_fields():
    reference = PAGE.read_text().partition("### Examples")[0]
    rows = [line for line in reference.splitlines() if line.startswith("| `")]
    known = {name: one.fields for name, one in OPERATIONS.items()} | OF_SERVER
    for name, fields in known.items():
        found = [row for row in rows if row.startswith(f"| `{name}`")]
        assert len(found) == 1, name
        assert [field for field in fields if f"`{field}`" not in found[0]] == [], name


def test_a_text_is_short_and_not_empty():
    assert read_text("name", "a") == "a"
    for wrong in ("", "a" * 201, 5, None):
        with pytest.raises(ValueError, match="name: expected a string of 1 to 200 letters"):
            read_text("name", wrong)
    assert "space" in CREATED


@pytest.mark.parametrize(
    ("attributes", "warning"),
    [([1], "attributes: expected JSON by name"), ({"log": "x" * 70_000}, "attributes['log']: expected at most 65,536")],
)
def test_attributes_that_cannot_be_kept_lose_no_value_and_are_named(attributes, warning):
    service = make_service("s")
    trial = ask(service, "ask")["trials"][0]["number"]
    told = ask(service, "tell", trial=trial, value=1.0, attributes=attributes)
    assert told["trial"]["value"] == 1.0
    assert "attributes" not in told["trial"]
    assert [text[: len(warning)] for text in told["warnings"]] == [warning]
    added = ask(service, "add", point=told["trial"]["point"], value=2.0, attributes={"good": 1})
    assert (added["trial"]["attributes"], "warnings" in added) == ({"good": 1}, False)
