"""The table of methods and domains is true, and the page has a row for each method."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import bostruct as bo
from bostruct.cli import main
from bostruct.cli.catalog import coverage, example_domains
from bostruct.methods import METHODS

PAGE = Path(__file__).parents[2] / "docs" / "methods.md"


def test_the_command_and_the_page_have_a_row_for_each_method():
    result = CliRunner().invoke(main, ["methods", "--markdown"])
    assert result.exit_code == 0
    assert [name for name in METHODS if f"| `{name}` |" not in result.output] == []
    rows = re.findall(r"^\| (.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in METHODS if not any(f"`{name}`" in row for row in rows)] == []


def test_programs_in_a_space_are_searched_choice_by_choice():
    for name in ("smbo", "smbo-mcts", "mcts"):
        assert coverage(name)["with programs inside"] is None


@pytest.mark.parametrize("name", METHODS)
def test_a_method_searches_what_it_is_said_to(name):
    if name == "tpe":
        pytest.importorskip("optuna")
    searched = [kind for kind, why in coverage(name).items() if why is None]
    assert searched
    trials = {"smbo": 2, "smbo-mcts": 2, "smac": 11}.get(name, 13)  # the model begins after 1, 10, and up to 12 trials
    for kind in searched:
        result = bo.minimize(size_of_text, example_domains()[kind], trials, method=name, seed=0, progress=False)
        assert len(result.trials) == trials, kind


def size_of_text(point):
    return float(len(str(point)))
