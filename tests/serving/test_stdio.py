"""The protocol over lines: in order where no id says otherwise, beside one another where it does."""

from __future__ import annotations

import io
import json
import os
import threading
from contextlib import ExitStack

import pytest

from bostruct.serving.messages import LONGEST
from bostruct.serving.transports import MOST_AT_ONCE, _has_id, serve_lines
from tests.serving.doors import ask, make_service


def speak(service, *requests):
    """The answers to lines, in the order in which they came."""
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in requests]
    sink = io.BytesIO()
    serve_lines(service, io.BytesIO(b"".join(lines)), sink)
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def test_lines_without_an_id_are_answered_in_their_order():
    answers = speak(
        make_service("a"),
        {"request": "ask", "n": 2},
        {"request": "tell", "trial": 0, "value": 2},
        b"\n",
        {"request": "tell", "trial": 1, "value": 1},
        {"request": "best"},
        b'{"request": "describe"}',  # the last line may lack its end
    )
    assert [one["ok"] for one in answers] == [True] * 5
    assert answers[3]["trials"][0]["number"] == 1
    assert answers[4]["finished_trials"] == 2


def test_lines_that_make_no_sense_are_answered_and_the_next_is_read():
    answers = speak(
        make_service("a"),
        b"\xff\n",
        b"[" * 3000 + b"\n",
        b'{"a": "' + b"x" * 3 * LONGEST + b'"}\n',
        {"request": "ask", "n": "many"},
        {"request": "ask"},
    )
    codes = [one.get("error", {}).get("code") for one in answers]
    assert codes == ["bad_json", "bad_json", "too_large", "bad_value", None]


def test_requests_with_an_id_do_not_wait_for_a_suggestion():
    service = make_service("a", "b")
    leave = threading.Event()
    study = service._studies["a"].study
    ask_study = study.ask

    def think():
        assert leave.wait(30)
        return ask_study()

    study.ask = think
    requests, read = os.pipe()[::-1]
    answers, write = os.pipe()
    with ExitStack() as stack:
        client, source = stack.enter_context(os.fdopen(requests, "wb")), stack.enter_context(os.fdopen(read, "rb"))
        heard, sink = stack.enter_context(os.fdopen(answers, "rb")), stack.enter_context(os.fdopen(write, "wb"))
        thread = threading.Thread(target=serve_lines, args=(service, source, sink))
        thread.start()
        for number, name in enumerate("ab"):
            client.write(json.dumps({"request": "ask", "study": name, "id": number}).encode() + b"\n")
        client.flush()
        assert json.loads(heard.readline())["id"] == 1
        leave.set()
        assert json.loads(heard.readline())["id"] == 0
        client.close()  # the end of the input ends it
        thread.join(30)
        assert not thread.is_alive()


def test_many_at_once_are_all_answered_before_the_end():
    n = 3 * MOST_AT_ONCE
    answers = speak(make_service("a", space={"x": range(1000)}), *({"request": "ask", "id": i} for i in range(n)))
    assert {one["id"] for one in answers} == set(range(n))
    assert {one["trials"][0]["number"] for one in answers} == set(range(n))


def test_what_nobody_reads_is_taken_back_and_ends_it():
    class Closed(io.BytesIO):
        def write(self, *_):
            raise BrokenPipeError

    service = make_service("a")
    source = io.BytesIO(b'{"request": "ask"}\n{"request": "ask"}\n')
    serve_lines(service, source, Closed())
    assert source.tell() < len(source.getvalue())
    assert ask(service, "ask")["trials"][0]["number"] == 0


@pytest.mark.parametrize(
    ("line", "has_one"),
    [
        (b'{"request": "best", "id": 7}', True),
        (b'{"request": "add", "point": {"id": 1}, "value": 2}', False),
        (b'{"request": "create", "study": "\\"id\\""}', False),
        (b'{"request": "best", "id": null}', False),
        (b'["id"]', False),
        (b'{"id": ', False),
    ],
)
def test_only_a_field_of_the_request_is_its_id(line, has_one):
    assert _has_id(line) is has_one
