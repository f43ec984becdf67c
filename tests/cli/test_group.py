"""The commands under one roof: help that answers at once and names every command, method and exit code."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import bostruct as bo
from bostruct.cli.group import main
from bostruct.methods import METHODS
from tests.cli.invoke import call

HEAVY = {"torch", "gpytorch", "sklearn", "ot", "matplotlib", "pandas", "networkx", "numba", "scipy.stats"}
COMMANDS = (
    "problems",
    "methods",
    "run",
    "import",
    "nas",
    "compare",
    "show",
    "report",
    "watch",
    "serve",
    "copy",
    "rename",
    "delete",
    "doctor",
)


def test_help_cuts_no_summary_off():
    assert "..." not in call("--help").stdout.partition("Commands:")[2]


def test_help_loads_nothing_heavy_and_takes_little_time():
    script = (
        "import json, sys, time\nfrom bostruct.cli import main\nmain(['--help'], standalone_mode=False)\n"
        "print(json.dumps([sorted(sys.modules), time.process_time()]))"
    )
    runs = [
        json.loads(
            subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout.splitlines()[-1]
        )
        for _ in range(3)
    ]
    assert set(runs[0][0]) & HEAVY == set()
    assert min(seconds for _, seconds in runs) < 0.3  # CPU seconds of the whole process


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_shows_an_example(command):
    assert f"  bostruct {command}" in call(command, "--help").output


def test_help_names_every_command_and_every_exit_code():
    shown = call("--help").output
    assert all(name in shown for name in (*COMMANDS, "0 done", "1 failed", "2 wrong", "3 storage", "130"))


def test_help_of_run_names_every_method():
    shown = "".join(call("run", "--help").output.split())  # lines break at hyphens too
    assert [name for name in METHODS if name not in shown] == []


def test_these_are_all_commands():
    assert set(main.commands) == set(COMMANDS)


def test_the_version_is_that_of_the_package():
    assert call("--version").stdout == f"bostruct, version {bo.__version__}\n"


@pytest.mark.parametrize("line", [("no-such-command",), ("run", "max3sat", "--no-such-option")])
def test_what_there_is_not_is_wrong_use(line):
    assert line[-1] in call(*line, code=2).stderr


URL = "postgresql://ann:hunter2@db/runs"


@pytest.mark.parametrize(
    "line",
    [
        (URL,),
        ("show", "runs.db", URL),
        ("show", "runs.db", "--csv", URL),
        ("report", "runs.db", f"--out={URL}"),
        ("run", "branin", "--trials", URL),
        ("run", "branin", "--method", URL),
        ("run", URL),
        ("serve", "--study", URL),
        ("copy", "runs.db", URL.replace("//", "/")),
    ],
)
def test_an_error_that_quotes_a_url_shows_no_password(line):
    assert "hunter2" not in call(*line, code=2).output
