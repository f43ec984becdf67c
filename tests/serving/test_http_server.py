"""The protocol over HTTP: who may ask, how much, how fast."""

from __future__ import annotations

import http.client
import json
import socket
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bostruct.output_files import OutputRefused
from bostruct.serving import transports
from bostruct.serving.messages import LONGEST
from bostruct.serving.transports import Budget, StudyServer
from tests.serving.doors import make_service, post, run_server
from tests.serving.hostile import request


@pytest.fixture
def server():
    with run_server(make_service("a")) as server:
        yield server


def send(server, sent, is_over=True):
    """The answer to bytes, as bytes; None where there is none."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        connection.sendall(sent)
        if is_over:
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_an_ask_and_a_tell(server):
    status, asked = post(server, {"request": "ask", "id": 3})
    assert (status, asked["ok"], asked["id"], asked["trials"][0]["number"]) == (200, True, 3, 0)
    status, told = post(server, {"request": "tell", "trial": 0, "value": 1.5})
    assert (status, told["trial"]["value"]) == (200, 1.5)
    assert post(server, {"request": "tell", "trial": 0, "value": 1.5})[0] == 409


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"token": ""}, 401, "unauthorized"),
        ({"token": "wrong"}, 401, "unauthorized"),
        ({"Authorization": None}, 401, "unauthorized"),
        ({"Host": "evil.com"}, 403, "forbidden"),
        ({"Origin": "http://evil.com"}, 403, "forbidden"),
        ({"Sec_Fetch_Site": "cross-site"}, 403, "forbidden"),
        ({"path": "/"}, 404, "not_found"),
        ({"path": "/v1/../v1"}, 404, "not_found"),
        ({"path": "/v2"}, 404, "not_found"),
        ({"method": "GET"}, 405, "method_not_allowed"),
        ({"method": "OPTIONS", "Origin": "http://evil.com"}, 405, "method_not_allowed"),
        ({"Content_Length": "-5"}, 411, "length_required"),
        ({"Transfer_Encoding": "chunked"}, 411, "length_required"),
        ({"body": b" " * (LONGEST + 1)}, 413, "too_large"),
        ({"body": b"{"}, 400, "bad_json"),
    ],
)
def test_what_is_not_served_says_why_in_the_form_of_the_protocol(server, change, status, code):
    found, answer = post(server, **({"body": {"request": "ask"}} | change))
    assert (found, answer["ok"], answer["error"]["code"]) == (status, False, code)
    assert post(server, {"request": "describe"})[1]["trials"] == 0


def test_a_body_that_came_with_its_head_or_after_it_is_read(server):
    body = b'{"request": "describe"}'
    whole = request(body, server.token)
    assert send(server, whole).endswith(b"}\n")
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        for byte in whole:
            connection.sendall(bytes([byte]))
        assert connection.recv(65536).startswith(b"HTTP/1.0 200 ")
    longest = body + b" " * (LONGEST - len(body))
    assert post(server, longest)[0] == 200


def test_who_waits_to_be_told_to_go_on_is_told(server):
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        body = b'{"request": "describe"}'
        head = request(body, server.token, more="Expect: 100-continue\r\n")[: -len(body)]
        connection.sendall(head)
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert connection.recv(65536).startswith(b"HTTP/1.0 200 ")


def test_a_body_that_does_not_come_is_not_waited_for(server, monkeypatch):
    monkeypatch.setattr(transports, "BODY_SECONDS", 0.3)
    whole = request(b'{"request": "describe"}', server.token)
    began = time.monotonic()
    assert b'"timeout"' in send(server, whole[:-5], is_over=False)
    assert b'"timeout"' in send(server, whole[:-5])
    assert time.monotonic() - began < 5


def test_nobody_without_the_token_is_read_to_the_end_nor_with_another_method(server):
    sent = request(b"", "wrong").replace(b"Content-Length: 0", b"Content-Length: 1000000")
    assert b" 401 " in send(server, sent)
    assert post(server, b"", method="GET")[1]["error"]["message"] == "send POST to /v1"


def test_too_many_requests_are_refused_until_time_has_passed(server):
    clock = [0.0]
    server.budget = Budget(2.0, 3.0, lambda: clock[0])
    assert [post(server, {"request": "describe"})[0] for _ in range(5)] == [200, 200, 200, 429, 429]
    assert post(server, {"request": "describe"}, token="wrong")[0] == 401
    clock[0] = 1.0
    assert [post(server, {"request": "describe"})[0] for _ in range(3)] == [200, 200, 429]


def test_a_budget_holds_no_more_than_its_burst():
    clock = [0.0]
    budget = Budget(1.0, 2.0, lambda: clock[0])
    clock[0] = 1e6
    assert [budget.spend() for _ in range(3)] == [True, True, False]


def test_an_ask_whose_answer_cannot_be_sent_is_taken_back(server, monkeypatch):
    def break_off(*_):
        raise BrokenPipeError

    with monkeypatch.context() as patch:
        patch.setattr(server.RequestHandlerClass, "send_content", break_off)
        for more in ({}, {"key": "k"}):
            with pytest.raises(http.client.HTTPException):
                post(server, {"request": "ask"} | more)
    assert post(server, {"request": "ask", "key": "k"})[1]["trials"][0]["number"] == 0


def test_many_clients_at_once(server):
    def work(_):
        asked = post(server, {"request": "ask", "lease": 60})[1]["trials"][0]
        return post(server, {"request": "tell", "trial": asked["number"], "value": asked["point"]["a"]})[0]

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(work, range(18))) == [200] * 18
    assert post(server, {"request": "ask"})[1]["error"]["code"] == "space_exhausted"


def test_an_unused_study_answers_while_another_one_thinks(monkeypatch):
    service = make_service("a", "b")
    entered, leave = threading.Event(), threading.Event()
    study = service._studies["a"].study

    def think():
        entered.set()
        assert leave.wait(30)
        return type(study).ask(study)

    monkeypatch.setattr(study, "ask", think)
    with run_server(service) as server, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(post, server, {"request": "ask", "study": "a"})
        assert entered.wait(30)
        trial = post(server, {"request": "ask", "study": "b"})[1]["trials"][0]
        assert post(server, {"request": "tell", "study": "b", "trial": trial["number"], "value": 1})[0] == 200
        assert post(server, {"request": "describe", "study": "a"})[1]["trials"] == 0
        assert not asked.done()
        leave.set()
        assert asked.result(30)[0] == 200


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no Unix sockets here")
class TestUnixSocket:
    def test_it_is_for_its_user_alone_and_goes_with_the_server(self, tmp_path):
        path = tmp_path / "s"
        with run_server(make_service("a"), path=str(path)) as server:
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
            given = [(server.token, "localhost"), ("no", "localhost"), (server.token, "x")]
            assert [self.send(path, *one) for one in given] == [200, 401, 403]
        assert not path.exists()

    def send(self, path, token, host):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            connection.sendall(request(b'{"request": "describe"}', token, host=host))
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["ok"] == (b" 200 " in answer)
        return int(answer[9:12])

    def test_one_that_a_killed_server_left_is_replaced_and_no_other_file(self, tmp_path):
        path = tmp_path / "s"
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(path))
        left.close()
        service = make_service("a")
        with run_server(service, path=str(path)) as server:
            assert self.send(path, server.token, "localhost") == 200
            with pytest.raises(OSError, match="in use"):
                StudyServer(service, path=str(path))
            assert self.send(path, server.token, "localhost") == 200
        path.write_text("mine")
        with pytest.raises(OutputRefused, match="is not a socket"):
            StudyServer(service, path=str(path))
        assert path.read_text() == "mine"

    @pytest.mark.parametrize("is_left", [True, False])
    def test_through_a_link_its_target_is_the_socket_and_the_link_stays(self, tmp_path, is_left):
        path, link = tmp_path / "s", tmp_path / "link"
        link.symlink_to(path)
        if is_left:
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(str(path))
        with run_server(make_service("a"), path=str(link)) as server:
            assert self.send(path, server.token, "localhost") == 200
        assert (link.is_symlink(), path.exists()) == (True, False)

    def test_a_file_that_took_the_place_of_the_socket_stays(self, tmp_path):
        path = tmp_path / "s"
        with run_server(make_service("a"), path=str(path)) as server:
            path.unlink()
            path.write_text("mine")
            server._inode = path.stat().st_ino  # as file systems give freed numbers out again
        assert path.read_text() == "mine"
