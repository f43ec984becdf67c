"""The server of `bostruct watch`: who has no token, comes by another name or from another site learns nothing."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from bostruct.cli.live_page import MOST_CONNECTIONS, PAGE_HEADERS, WatchServer
from bostruct.serving.guarded_http import HEAD_SECONDS, LONGEST_HEAD, GuardedHandler

SECRET = b"<p>the studies</p>"


@pytest.fixture
def server():
    with run_server("127.0.0.1") as server:
        yield server


def connect(server):
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=30)


@contextmanager
def run_server(host):
    page = SimpleNamespace(tag='"one"', body=SECRET)
    with WatchServer(host, 0, lambda: page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(server, path="/", method="GET", cookie=True, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if cookie:
        given["Cookie"] = f"other=1; {server.cookie}={server.session}"
    connection.request(method, path, headers=given)
    answer = connection.getresponse()
    answer.body = answer.read()
    connection.close()
    return answer


def test_the_token_is_exchanged_for_a_cookie(server):
    url = urlsplit(server.page_url)
    assert (url.hostname, url.port) == ("127.0.0.1", server.server_port)
    answer = ask(server, f"{url.path}?{url.query}", cookie=False)
    assert (answer.status, answer.getheader("Location"), SECRET in answer.body) == (303, "/", False)
    cookie, *rest = answer.getheader("Set-Cookie").split("; ")
    assert rest == ["HttpOnly", "SameSite=Strict", "Path=/"]
    assert server.token not in cookie
    page = ask(server, cookie=False, Cookie=cookie)
    assert (page.status, page.body, page.getheader("ETag")) == (200, SECRET, '"one"')


def test_tokens_are_long_random_and_new():
    with WatchServer("127.0.0.1", 0, lambda: None) as one, WatchServer("127.0.0.1", 0, lambda: None) as other:
        secrets = {one.token, one.session, other.token, other.session}
        assert len(secrets) == 4
        assert min(map(len, secrets)) == 43


@pytest.mark.parametrize("given", ["", "?token=", "?token=wrong", "?token=%ff", "?token=a&token="])
def test_without_the_token_there_is_nothing(server, given):
    for headers in ({}, {"Cookie": f"{server.cookie}=wrong"}, {"Cookie": f"{server.cookie}={server.token}"}):
        answer = ask(server, f"/{given}", cookie=False, **headers)
        assert (answer.status, SECRET in answer.body) == (401, False)


@pytest.mark.parametrize("host", ["evil.com", "127.0.0.1.evil.com", "127.0.0.1@evil.com", "[::1", "", "127.0.0.2:80"])
def test_another_host_is_refused_also_with_the_token(server, host):
    answer = ask(server, f"/?token={server.token}", Host=host)
    assert (answer.status, answer.getheader("Set-Cookie")) == (403, None)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        *((200, {"Host": host}) for host in ("localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:9")),
        *((403, {"Origin": site}) for site in ("http://evil.com", "null", "http://127.0.0.1:1")),
        *((403, {"Sec_Fetch_Site": site}) for site in ("cross-site", "same-site", "anything")),
    ],
)
def test_names_of_this_machine_are_let_in_behind_a_tunnel_too_and_another_site_is_refused(server, status, headers):
    assert ask(server, **headers).status == status


def test_the_page_itself_may_ask(server):
    port = server.server_port
    assert ask(server, Origin=f"http://127.0.0.1:{port}", Sec_Fetch_Site="same-origin").status == 200


PATHS = ["../../etc/passwd", "etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "index.html", "\\..\\..", "/etc/passwd"]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_to_a_file(server, path):
    answer = ask(server, f"/{path}")
    assert (answer.status, answer.body) == (404, b"There is one page here, at /.\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "X"])
def test_other_methods_are_not_allowed(server, method):
    answer = ask(server, method=method)
    assert (answer.status, answer.getheader("Allow")) == (405, "GET, HEAD")
    assert SECRET not in answer.body


def test_head_has_no_body_and_what_has_not_changed_is_not_sent(server):
    answer = ask(server, method="HEAD")
    assert (answer.status, answer.body, answer.getheader("Content-Length")) == (200, b"", str(len(SECRET)))
    same = ask(server, If_None_Match='"zero", "one"')
    assert (same.status, same.body, same.getheader("ETag")) == (304, b"", '"one"')
    assert ask(server, If_None_Match='"zero"').status == 200


def test_all_answers_have_the_headers(server):
    requests = [{}, {"path": "/no"}, {"cookie": False}, {"method": "POST"}, {"Host": "evil.com"}]
    requests += [{"path": f"/?token={server.token}"}, {"If_None_Match": '"one"'}]
    answers = [ask(server, **request) for request in requests]
    assert [answer.status for answer in answers] == [200, 404, 401, 405, 403, 303, 304]
    for answer in answers:
        assert {name: answer.getheader(name) for name in PAGE_HEADERS} == PAGE_HEADERS
        assert answer.getheader("Server").strip() == "bostruct"


def test_requests_that_make_no_sense_are_answered_or_closed(server):
    good = f"GET / HTTP/1.1\r\nCookie: {server.cookie}={server.session}\r\n".encode()
    for head in (b"GET /\r\n\r\n", b"\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\xff\xfe\r\n\r\n", good):
        with connect(server) as one:
            one.sendall(head + b"Host: a\r\nHost: b\r\n\r\n")
            one.shutdown(socket.SHUT_WR)
            assert SECRET not in _read_all(one)
    assert ask(server).status == 200


def _read_all(one):
    parts = []
    try:
        while part := one.recv(4096):
            parts.append(part)
    except ConnectionError:  # closed before all was read
        pass
    return b"".join(parts)


def test_a_long_head_is_refused(server):
    with connect(server) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * LONGEST_HEAD)
        assert _read_all(one).startswith(b"HTTP/1.0 431 ")


def test_slow_clients_are_closed_in_time_and_let_others_in(server, monkeypatch):
    monkeypatch.setattr(GuardedHandler, "head_seconds", 0.5)
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(server)) for _ in range(MOST_CONNECTIONS - 1)]
        for one in slow:
            one.sendall(b"GET / HT")
        assert ask(server).status == 200  # beside them
        began = time.monotonic()
        while time.monotonic() - began < 1.0:  # a byte now and then gives no more time
            time.sleep(0.1)
            try:
                slow[0].sendall(b"T")
            except OSError:
                break
        assert all(_read_all(one) == b"" for one in slow)
    assert ask(server).status == 200


def test_idle_connections_keep_nobody_out(server):
    began = time.monotonic()
    with ExitStack() as stack:
        idle = [stack.enter_context(connect(server)) for _ in range(MOST_CONNECTIONS)]
        assert [ask(server).status for _ in range(3)] == [200] * 3
        assert _read_all(idle[0]) == b""  # the oldest made room, and the youngest is still waited for
        idle[-1].settimeout(0.1)
        with pytest.raises(TimeoutError):
            idle[-1].recv(1)
    assert time.monotonic() - began < HEAD_SECONDS


def test_requests_that_are_answered_are_not_closed_for_new_ones(server):
    page, is_open, entered = server.read(), threading.Event(), threading.Semaphore(0)

    def read():
        entered.release()
        assert is_open.wait(30)
        return page

    server.read = read
    with ThreadPoolExecutor(MOST_CONNECTIONS) as pool:
        asked = [pool.submit(ask, server) for _ in range(MOST_CONNECTIONS)]
        for _ in asked:
            assert entered.acquire(timeout=30)
        with connect(server) as late:
            assert _read_all(late) == b""
        is_open.set()
        assert [one.result().status for one in asked] == [200] * MOST_CONNECTIONS
    assert ask(server).status == 200


@pytest.mark.parametrize("host", ["::", "::ffff:127.0.0.1"])
def test_a_socket_of_ipv6_lets_ipv4_in_by_its_names_alone(host):
    with closing(socket.socket(socket.AF_INET6)) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            pytest.skip("this machine has no IPv6, or keeps it apart from IPv4")
    with run_server(host) as server:
        assert ask(server, f"/?token={server.token}").status == 303
        assert ask(server, Host="localhost").status == 200
        assert ask(server, Host="127.0.0.2").status == 403
        assert server.is_loopback == (host != "::")
        name = socket.gethostname() if host == "::" else "127.0.0.1"
        assert server.page_url.startswith(f"http://{name}:{server.server_port}/")
        assert server.is_own_name("10.1.2.3", "::ffff:10.1.2.3")
        assert not server.is_own_name("localhost", "::ffff:10.1.2.3")


def test_many_requests_at_once(server):
    def try_once(_):
        try:
            return ask(server).status
        except (ConnectionError, http.client.HTTPException):
            return None  # too many at a time are closed

    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(try_once, range(300)))
    assert set(found) <= {200, None}
    assert found.count(200) > 100
    assert ask(server).status == 200


def test_an_answer_that_breaks_ends_its_connection_alone(server, capsys):
    server.read = lambda: 1 / 0
    with pytest.raises(http.client.HTTPException):
        ask(server)
    assert ask(server, "/no").status == 404
    assert capsys.readouterr() == ("", "")


def test_another_address_than_loopback_is_known():
    with WatchServer("0.0.0.0", 0, lambda: None) as server:
        assert not server.is_loopback
        assert server.url.startswith(f"http://{socket.gethostname()}:")
        names = ("10.1.2.3", socket.gethostname(), "evil.com", "localhost")
        assert [server.is_own_name(name, "10.1.2.3") for name in names] == [True, True, False, False]
