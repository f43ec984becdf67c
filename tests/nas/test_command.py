"""`bostruct nas`: what it leaves, that the script rebuilds what was found, and that it goes on where it stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

import bostruct as bo
from bostruct.cli.group import main
from bostruct.nas import searches

pytestmark = pytest.mark.usefixtures("short")


@pytest.fixture
def short(monkeypatch):
    """Searches that train for two epochs."""
    for name, search in searches.SEARCHES.items():
        monkeypatch.setitem(searches.SEARCHES, name, replace(search, recipe=replace(search.recipe, epochs=2)))


def run(*arguments):
    return CliRunner().invoke(main, ["nas", *arguments, "--workers", "1"])


@pytest.mark.parametrize("dataset", ["digits", "diabetes"])
def test_it_leaves_the_best_network_drawn_and_as_a_script(dataset, tmp_path):
    done = run(dataset, "--trials", "3", "--out", str(tmp_path), "--json")
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["trials"] == 3
    assert summary["failed"] == 0
    best = bo.Architecture.from_json(json.loads((tmp_path / "best.json").read_text()))
    assert best == bo.Architecture.from_json(summary["architecture"])
    search = searches.SEARCHES[dataset]
    assert search.objective()(best) == summary["validation_error"]
    assert searches.retrained(search, best)._asdict() == summary["test_error"]
    for picture in ("best.png", "convergence.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def test_the_script_trains_the_network_anew(tmp_path):
    summary = json.loads(run("diabetes", "--trials", "2", "--out", str(tmp_path), "--json").stdout)
    script = (tmp_path / "retrain.py").read_text()
    told = "from dataclasses import replace\n"
    shortened = 'search = replace(search, recipe=replace(search.recipe, epochs=2))\nif __name__ == "__main__":'
    (tmp_path / "short.py").write_text(told + script.replace('if __name__ == "__main__":', shortened))
    done = subprocess.run([sys.executable, str(tmp_path / "short.py")], capture_output=True, text=True, check=True)
    assert f"test error {summary['test_error']['mean']:.4f}" in done.stdout


def test_it_goes_on_with_a_stored_study_and_says_what_is_wrong(tmp_path):
    stored = ("--storage", str(tmp_path / "nas.db"), "--out", str(tmp_path / "out"))
    assert run("diabetes", "--trials", "2", *stored).exit_code == 0
    longer = run("diabetes", "--trials", "4", *stored)
    assert longer.exit_code == 0, longer.output
    assert "by hand" in longer.output
    with bo.Study.load(str(tmp_path / "nas.db"), "nas diabetes nasbot seed=0") as study:
        assert len(study.result.trials) == 4
    assert run("imagenet").exit_code == 2
    assert "digits" in run("imagenet").output
