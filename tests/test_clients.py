"""The clients of `bostruct serve` in other languages run, find good points, and are short."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CLIENTS = ROOT / "examples" / "clients"
MOST_LINES = 20


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


def test_c(served, tmp_path):
    need("gcc")
    port, token = served
    subprocess.run(["gcc", "-Wall", "-Wextra", "-o", tmp_path / "client", CLIENTS / "client.c"], check=True)
    for check in (check_run, check_refused):
        check([tmp_path / "client", port, token], tmp_path)


@pytest.mark.parametrize(("program", "client"), [("sh", "client.sh"), ("node", "client.mjs")])
def test_scripts(served, tmp_path, program, client):
    need(program, *(("curl", "jq") if program == "sh" else ()))
    port, token = served
    for check in (check_run, check_refused):
        check([program, CLIENTS / client, f"http://127.0.0.1:{port}/v1", token], tmp_path)


def test_a_shell_without_curl_says_so(tmp_path):
    done = subprocess.run(
        ["/bin/sh", CLIENTS / "client.sh"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (69, "client.sh needs curl\n")


@pytest.mark.parametrize("client", ["client.c", "client.sh", "client.mjs"])
def test_a_client_is_short(client):
    lines = (line.split("//")[0].strip() for line in (CLIENTS / client).read_text().splitlines())
    code = [line for line in lines if re.search(r"\w", line) and not re.match(r"#|import|done$", line)]
    assert len(code) <= MOST_LINES
