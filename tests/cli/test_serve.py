"""`bostruct serve` in a process of its own: what it serves, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import takewhile
from types import SimpleNamespace

import pytest

import bostruct as bo
from bostruct.cli.serve import serve as serve_command
from bostruct.serving.guarded_http import make_token
from bostruct.serving.transports import StudyServer
from tests.cli.invoke import SMALL, call
from tests.serving.doors import JSON_SPACE, ask, post

SPACE = {"a": range(9), "b": bool}
DESCRIBED = {"study": "net", "space": JSON_SPACE, "method": "random", "seed": 0}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")


@pytest.fixture
def serve_here(monkeypatch):
    """Serve in this process: the words of the line, requests -> their answers, and what is printed on stderr."""

    def serve(*line, requests=()):
        answers = []

        def answer(server, poll_interval):
            del poll_interval
            answers.extend(ask(server.service, **request) for request in requests)
            raise KeyboardInterrupt

        monkeypatch.setattr(StudyServer, "serve_forever", answer)
        return answers, call(serve_command.name, *line).stderr

    return serve


@contextmanager
def run_serve(*arguments, **settings):
    """The process of a server."""
    line = [sys.executable, "-m", "bostruct", "serve", *map(str, arguments)]
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    with subprocess.Popen(line, text=True, **pipes, **settings) as process:
        try:
            yield process
        finally:
            process.kill()


def read_address(process):
    """Port and token, as a server prints them."""
    shown = [process.stdout.readline() for _ in range(4)]
    port = re.fullmatch(r"Listening at http://127\.0\.0\.1:(\d+)/v1\n", shown[1])[1]
    token = re.fullmatch(r"Token: (bostruct-\S{43})\n", shown[2])[1]
    return SimpleNamespace(server_port=int(port), token=token)


def speak(process, *requests):
    """Answers to lines, each written once the one before is answered."""
    answers = []
    for request in requests:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answers.append(json.loads(process.stdout.readline()))
    return answers


def make_studies(file, *names):
    for name in names:
        bo.Study(SPACE, method="random", seed=0, storage=file, name=name).close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_studies_of_a_file_are_served_until_a_signal_gives_trials_back(tmp_path, default_sigint, number, code):
    del default_sigint
    make_studies(tmp_path / "r.db", "one", "two")
    with run_serve(tmp_path / "r.db") as process:
        server = read_address(process)
        for study in ("one", "two"):
            assert post(server, {"request": "ask", "study": study, "n": 2})[0] == 200
        assert post(server, {"request": "tell", "study": "one", "trial": 0, "value": 5})[0] == 200
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "Stopped.\n" if code == 0 else "")
    assert err == ("" if code == 0 else f"Terminated. The studies are in {tmp_path / 'r.db'}.\n")
    with bo.Study.load(tmp_path / "r.db", "one") as study:
        again = study.ask()
        assert (study.best_value, again.number, "attempts" in again.info) == (5.0, 1, False)


def test_lines_until_the_end_of_the_input(tmp_path, serve_here):
    (tmp_path / "mine.py").write_text(
        "import bostruct as bo\nprint('imported')\n"
        "problem = bo.Problem(lambda point: 1 / 0, {'a': range(5)}, name='mine', direction='maximize')\n"
    )
    arguments = ("r.db", "--problem", "mine.py:problem", "--method", "random", "--stdio")
    requests = [{"request": "describe"}, {"request": "ask"}, {"request": "tell", "trial": 0, "value": 3}]
    with run_serve(*arguments, cwd=tmp_path, env=os.environ) as process:
        described, asked, told = speak(process, *requests)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "imported\n")
    assert (described["directions"], asked["ok"], told["ok"]) == (["maximize"], True, True)
    (answer,), _ = serve_here(tmp_path / "r.db", requests=[{"request": "best"}])  # the file alone has what it needs
    assert answer["trials"][0]["value"] == 3.0


def test_ctrl_c_ends_lines_too_while_a_client_is_waited_for(tmp_path, default_sigint):
    del default_sigint
    make_studies(tmp_path / "r.db", "one")
    with run_serve(tmp_path / "r.db", "--stdio") as process:
        speak(process, {"request": "ask"})
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    with bo.Study.load(tmp_path / "r.db") as study:
        assert study.ask().number == 0


@pytest.mark.slow
def test_a_slow_suggestion_does_not_hold_the_end_up(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time, bostruct as bo\nfrom bostruct.searchers.baselines import RandomSearch\n"
        "class Slow(RandomSearch):\n"
        "    def suggest(self, history, state, rng):\n"
        "        time.sleep(600)\n"
        "def method(domain):\n    return Slow(domain)\n"
        "problem = bo.Problem(abs, {'a': range(5)}, name='slow')\n"
    )
    arguments = ("r.db", "--problem", "slow.py:problem", "--method", "slow.py:method", "--stdio")
    with run_serve(*arguments, cwd=tmp_path) as process:
        speak(process, {"request": "describe"})
        process.stdin.write('{"request": "ask", "id": 1}\n')
        process.stdin.flush()
        time.sleep(0.3)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
        assert time.monotonic() - began < 30


def test_what_clients_make_is_kept_and_served_again(tmp_path, serve_here):
    requests = [{"request": "create"} | DESCRIBED, {"request": "ask"}, {"request": "tell", "trial": 0, "value": 1}]
    (made, asked, _), _ = serve_here(tmp_path / "r.db", "--create", requests=requests)
    assert (made["study"], asked["trials"][0]["number"]) == ("net", 0)
    (tmp_path / "net.json").write_text(json.dumps(DESCRIBED))
    line = (tmp_path / "r.db", "--study", tmp_path / "net.json")
    (names, asked), _ = serve_here(*line, requests=[{"request": "studies"}, {"request": "ask"}])
    assert (names["studies"], asked["trials"][0]["number"]) == (["net"], 1)


def test_the_token_may_be_in_a_file_for_its_user_alone_which_others_refuse_like_the_address(tmp_path):
    make_studies(tmp_path / "r.db", "one")
    token = tmp_path / "token"
    token.write_text(make_token())
    with run_serve(tmp_path / "r.db", "--token-file", token, "--json") as process:
        shown = json.loads("".join(takewhile(lambda line: line != "}\n", process.stdout)) + "}")
        held = token.read_text()
        assert (len(held), stat.S_IMODE(token.stat().st_mode)) == (53, 0o600)
        assert shown["token_file"] == str(token)
        assert "token" not in shown
        port = int(re.search(r":(\d+)/v1", shown["url"])[1])
        assert post(SimpleNamespace(server_port=port, token=held.strip()), {"request": "describe"})[0] == 200
        refused = call("serve", "--create", "--token-file", token, code=2).stderr
        assert f"{token}: contains the token of another running bostruct serve" in refused
        taken = call("serve", "--create", "--port", port, code=1).stderr
        assert taken == f"Error: 127.0.0.1:{port}: already in use, perhaps by another bostruct serve or watch\n"
        assert token.read_text() == held
        process.terminate()
        process.wait(60)
    assert not token.exists()


def test_a_study_that_cannot_be_opened_is_left_out_with_a_note(tmp_path, serve_here):
    make_studies(tmp_path / "r.db", "one")
    bo.Study(bo.Space(SPACE, constraints=[lambda _: True]), storage=tmp_path / "r.db", name="code").close()
    (answer,), err = serve_here(tmp_path / "r.db", requests=[{"request": "studies"}])
    assert answer["studies"] == ["one"]
    assert re.findall(r"^Note: study '(\w+)' is not served: ", err, re.MULTILINE) == ["code"]


def test_what_cannot_be_served_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "no study to serve" in call("serve", code=2).stderr
    made_by = "no.db: no such file; create it with --study, --problem or --create"
    assert made_by in call("serve", "no.db", code=3).stderr
    assert list(tmp_path.iterdir()) == []
    assert "the directory of" in call("serve", "--create", "--socket", "nowhere/s", code=2).stderr
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)
        assert "this system has no Unix sockets" in call("serve", "--create", "--socket", "s", code=2).stderr
    (tmp_path / "text.db").write_text("not a database")
    assert "text.db" in call("serve", "text.db", code=3).stderr
    assert call("serve", "--create", "--host", "203.0.113.7", code=1).stderr.startswith("Error: ")
    for text, message in [
        ("[1]", "expected a JSON object, got a list"),
        ("{}", "space: expected an object with `variables`"),
        (json.dumps(DESCRIBED | {"spaec": 1}), "expected the fields study, space"),
        (json.dumps(DESCRIBED | {"method": "os:system"}), "method: expected one of"),
    ]:
        (tmp_path / "s.json").write_text(text)
        assert message in call("serve", "--study", "s.json", code=2).stderr


@pytest.mark.parametrize(
    "line",
    [
        *(f"--stdio {option}" for option in ("--socket s", "--token-file t", "--host 127.0.0.1", "--port 0")),
        "--socket s --port 3",
        *(f"--create {option}" for option in ("--name x", "--method auto", "--seed 0")),
    ],
)
def test_an_option_without_a_meaning_is_refused(line):
    words = line.split()
    assert re.search(rf"{words[-2]}: (not|only) allowed with ", call("serve", "--create", *words, code=2).stderr)


def test_a_space_in_which_no_trial_can_be_read_is_refused_and_nothing_is_changed(tmp_path, monkeypatch, serve_here):
    monkeypatch.chdir(tmp_path)
    space = bo.Space({"x": bo.Real(0, 1), "k": bo.Ordinal([1, 2, 4])})
    with bo.Study(space, method="random", seed=0, storage="r.db", name="net") as study:
        study.add({"x": 0.5, "k": 1}, 1.0)
        study.add({"x": 0.25, "k": 2}, 2.0)
    before = (tmp_path / "r.db").read_bytes()
    variables = dict(JSON_SPACE["variables"])
    variables["rate"] = variables.pop("x")
    (tmp_path / "s.json").write_text(json.dumps(DESCRIBED | {"space": {"variables": variables}}))
    refused = call("serve", "r.db", "--study", "s.json", code=3).stderr
    assert "r.db: none of the 2 trials of study 'net' can be read in the space of s.json: rate: " in refused
    assert 'another name by "study"' in refused
    refused = call("serve", "r.db", "--problem", SMALL, "--name", "net", code=3).stderr
    assert "can be read in the space of --problem" in refused
    assert (tmp_path / "r.db").read_bytes() == before
    (tmp_path / "s.json").write_text(json.dumps(DESCRIBED))
    assert serve_here("r.db", "--study", "s.json", requests=[{"request": "best"}])[0][0]["trials"][0]["value"] == 1.0


def test_the_study_of_another_problem_is_refused(tmp_path, monkeypatch, serve_here):
    monkeypatch.chdir(tmp_path)
    call("run", "knapsack:items=9,seed=1", "--trials", 2, "--method", "random", "--storage", "r.db", "--name", "s")
    line = ("serve", "r.db", "--method", "random", "--name", "s", "--problem")
    refused = call(*line, "knapsack:items=9,seed=2", code=3).stderr
    assert "has the problem 'knapsack:items=9,seed=1', not 'knapsack:items=9,seed=2'" in refused
    (best,), _ = serve_here(*line[1:], "knapsack:items=9,seed=1", requests=[{"request": "best"}])
    assert len(best["trials"]) == 1


def test_an_open_address_is_warned_of(serve_here):
    _, warned = serve_here("--create", "--host", "0.0.0.0")
    assert warned.startswith("Warning: 0.0.0.0 is")
    assert "the connection is not encrypted" in warned
    assert serve_here("--create")[1] == ""
