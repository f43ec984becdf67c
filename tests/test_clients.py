"""The clients of `bostruct serve` in other languages run, find good points and are short; the docs start likewise."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bostruct.serving.service import space_from_json
from tests.serving.doors import make_service, run_server

ROOT = Path(__file__).parents[1]
CLIENTS = ROOT / "examples" / "clients"
PAGE = ROOT / "docs" / "serve.md"
LIMIT_OF_LINES = 40


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Port and file of the token of a server in a process of its own."""
    token = tmp_path_factory.mktemp("served") / "token"
    line = [sys.executable, "-m", "bostruct", "serve", "--study", CLIENTS / "study.json", "--token-file", token]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        shown = [process.stdout.readline() for _ in range(4)]
        try:
            yield re.search(r":(\d+)/v1", shown[1])[1], token
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    assert not token.exists()


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def check_run(line, folder):
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    (best,) = json.loads(done.stdout)["trials"]
    assert best["point"]["mode"] == "exact"
    assert best["value"] == pytest.approx((best["point"]["x"] - 0.3) ** 2)
    assert best["value"] < 0.25


def check_refused(line, folder):
    (folder / "wrong").write_text("no-token\n")
    done = subprocess.run([*line[:-1], folder / "wrong"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "Authorization: Bearer TOKEN" in done.stderr


def build_line(client, port, token, folder):
    """The line that runs a client; the test is skipped where its language is not installed."""
    if client == "client.c":
        need("gcc")
        subprocess.run(["gcc", "-Wall", "-Wextra", "-o", folder / "client", CLIENTS / client], check=True)
        return [folder / "client", str(port), token]
    tools = {"client.sh": ("sh", "curl", "jq"), "client.mjs": ("node",)}[client]
    need(*tools)
    return [tools[0], CLIENTS / client, f"http://127.0.0.1:{port}/v1", token]


@pytest.mark.parametrize("client", ["client.c", "client.sh", "client.mjs"])
def test_a_client_finds_a_good_point_and_shows_why_it_is_refused(served, tmp_path, client):
    line = build_line(client, *served, tmp_path)
    for check in (check_run, check_refused):
        check(line, tmp_path)


def test_a_shell_without_curl_says_so(tmp_path):
    line = ["/bin/sh", CLIENTS / "client.sh"]
    done = subprocess.run(line, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (69, "client.sh needs curl\n")


@pytest.mark.parametrize("client", ["client.c", "client.sh", "client.mjs"])
def test_a_client_is_as_short_as_the_docs_say(client):
    assert f"less than {LIMIT_OF_LINES} lines" in PAGE.read_text()
    assert len((CLIENTS / client).read_text().splitlines()) < LIMIT_OF_LINES


@pytest.mark.parametrize("client", ["client.c", "client.sh", "client.mjs"])
def test_a_client_says_with_each_value_whose_it_is(tmp_path, client):
    given = json.loads((CLIENTS / "study.json").read_text())["space"]
    service, asked, told = make_service("demo", space=space_from_json(given)), [], []
    answer = service.answer

    def note(text):
        request, found = json.loads(text), answer(text)
        if request["request"] == "ask":
            asked.extend((one["number"], one["started"]) for one in json.loads(found.body)["trials"])
        elif request["request"] == "tell":
            told.append((request["trial"], request.get("started")))
        return found

    service.answer = note
    with run_server(service) as server:
        (tmp_path / "token").write_text(f"{server.token}\n")
        check_run(build_line(client, server.server_port, tmp_path / "token", tmp_path), tmp_path)
    assert len(asked) == 10
    assert told == asked


def test_the_blocks_that_the_docs_begin_with_run_from_top_to_bottom(tmp_path):
    need("curl")
    begin = PAGE.read_text().partition("## Start a server\n")[2].partition("\n## ")[0]
    with socket.create_server(("127.0.0.1", 0)) as free:
        begin = begin.replace("8765", str(free.getsockname()[1]))
    serve, *blocks = re.findall(r"```sh\n(.*?)```", begin, re.DOTALL)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program = f'bostruct() {{ "{sys.executable}" -m bostruct "$@"; }}\n'
    settings = {"cwd": tmp_path, "stdout": subprocess.PIPE, "text": True, "env": os.environ | {"PYTHONPATH": str(ROOT)}}
    line = ["sh", "-c", serve.replace("bostruct", f"exec {sys.executable} -m bostruct")]
    with subprocess.Popen(line, **settings) as server:
        try:
            assert [server.stdout.readline() for _ in range(4)][-1] == "Ctrl-C ends.\n"
            for block in blocks:
                done = subprocess.run(["sh", "-c", program + block], timeout=120, **settings)
                answers = [json.loads(line) for line in done.stdout.splitlines()]
                assert [one["ok"] for one in answers] == [True] * block.count('{"request"')
        finally:
            server.terminate()
