"""`bostruct watch` in a process of its own, beside a study that writes."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from http.cookiejar import CookieJar

import pytest

import bostruct as bo
from bostruct.cli.live_page import WatchServer
from bostruct.cli.serve import watch
from tests.cli.invoke import call


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another signal there")
def test_shows_what_is_told_and_ends_by_ctrl_c(tmp_path, default_sigint):
    del default_sigint
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "r.db") as study:
        line = [sys.executable, "-m", "bostruct", "watch", str(tmp_path / "r.db")]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1) as process:
            assert process.stdout is not None
            url = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())
            assert url is not None
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
            assert "There is no trial yet." in browser.open(url[0], timeout=60).read().decode()
            study.tell(study.ask(), failed="too hot")
            deadline = time.monotonic() + 60
            while "1 trial: 1 failed" not in browser.open(url[0].partition("?")[0], timeout=60).read().decode():
                assert time.monotonic() < deadline
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert (process.returncode, out[-9:], err) == (0, "Stopped.\n", "")


def test_a_file_or_an_address_that_is_not_there_is_refused(tmp_path):
    assert "no such file" in call("watch", tmp_path / "no.db", code=3).stderr
    bo.Study({"a": bool}, storage=tmp_path / "r.db").close()
    assert "Error: 203.0.113.7:0: " in call("watch", tmp_path / "r.db", "--host", "203.0.113.7", code=1).stderr
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        taken = call("watch", tmp_path / "r.db", "--port", port, code=1).stderr
    assert f"127.0.0.1:{port}: already in use" in taken


def test_a_problem_gives_the_space_that_the_file_does_not_hold(tmp_path, monkeypatch):
    (tmp_path / "watched_problem.py").write_text(
        "import bostruct as bo\nspace = bo.Space({'a': range(9), 'b': bool}, constraints=[lambda p: p['a'] < 8])\n"
        "problem = bo.Problem(lambda p: float(p['a']), space)\n"
    )
    problem, file, shown = f"{tmp_path / 'watched_problem.py'}:problem", tmp_path / "r.db", list[str]()
    call("run", problem, "--method", "random", "--trials", 12, "--storage", file)

    def show_once(server, poll_interval):
        del poll_interval
        shown.append(server.read().body.decode())
        raise KeyboardInterrupt

    monkeypatch.setattr(WatchServer, "serve_forever", show_once)
    for line in ((), ("--problem", problem), ("--problem", problem.replace(":problem", ":space"))):
        call("watch", file, *line)
    assert ["because they need the whole space" in page for page in shown] == [True, False, False]
    assert "--problem: of 12 trials of study " in call("watch", file, "--problem", "landscape", code=3).stderr


def test_an_open_address_is_warned_of(tmp_path, monkeypatch):
    bo.Study({"a": bool}, storage=tmp_path / "r.db").close()

    def stop(server, poll_interval):
        del server, poll_interval
        raise KeyboardInterrupt

    monkeypatch.setattr(WatchServer, "serve_forever", stop)
    done = call(watch.name, tmp_path / "r.db", "--host", "0.0.0.0")
    assert done.stderr.startswith("Warning: 0.0.0.0 is")
    assert "the connection is not encrypted" in done.stderr
    assert call("watch", tmp_path / "r.db").stderr == ""
