"""What servers of HTTP share: names, tokens, limits. tests/cli/test_watch_server.py attacks it through a page."""

from __future__ import annotations

import socket
import threading

import pytest

from bostruct.serving.guarded_http import HEADERS, GuardedHandler, GuardedServer, is_equal
from tests.serving.doors import make_service, post, run_server


def test_a_token_is_compared_whole():
    assert is_equal("aé", "aé")
    assert not any(is_equal(given, "secret") for given in ("", "secre", "secretx", "Secret", "\udcff", "é"))


def test_tokens_are_long_random_and_new():
    with (
        GuardedServer("127.0.0.1", 0, GuardedHandler, 1) as one,
        GuardedServer("127.0.0.1", 0, GuardedHandler, 1) as two,
    ):
        assert len({one.token, two.token}) == 2
        assert len(one.token) == len(two.token) == 52
        assert (one.is_loopback, one.url) == (True, f"http://127.0.0.1:{one.server_port}")


def test_answers_that_are_being_written_are_waited_for():
    with GuardedServer("127.0.0.1", 0, GuardedHandler, 1) as server:
        server._answered.add(request := object())
        threading.Timer(0.1, server._answered.discard, [request]).start()
        server.wait_for_answers(30.0)
        assert not server._answered
        server._answered.add(request)
        server.wait_for_answers(0.0)  # no longer than that
        server._answered.clear()


def test_an_address_that_is_taken_is_named():
    with (
        GuardedServer("127.0.0.1", 0, GuardedHandler, 1) as server,
        pytest.raises(OSError, match="already in use, perhaps by another bostruct serve") as refused,
    ):
        GuardedServer("127.0.0.1", server.server_port, GuardedHandler, 1)
    assert refused.value.filename == f"127.0.0.1:{server.server_port}"


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no Unix sockets here")
def test_a_unix_socket_has_one_name(tmp_path):
    with GuardedServer(str(tmp_path / "s"), 0, GuardedHandler, 1, socket.AF_UNIX) as server:
        assert (server.is_loopback, server.url) == (True, "http://localhost")
        assert server.is_own_name("LOCALHOST", "")
        assert not server.is_own_name("127.0.0.1", "")


def test_all_answers_have_the_headers_and_no_server_of_another_name(monkeypatch):
    seen = []
    send = GuardedHandler.send_header
    monkeypatch.setattr(GuardedHandler, "send_header", lambda self, *pair: (seen.append(pair), send(self, *pair)))
    with run_server(make_service("a")) as server:
        post(server, {"request": "describe"})
    sent = dict(seen)
    assert sent.items() >= HEADERS.items()
    assert (sent["Server"].strip(), sent["Content-Type"]) == ("bostruct", "application/json")
    assert not any(name.lower().startswith("access-control") for name in sent)
