"""`bostruct problems`: all there are, and one with its facts."""

from __future__ import annotations

import math
import re

import pytest

from bostruct import problems
from bostruct.cli.catalog import _count
from bostruct.cli.catalog import problems as command
from tests.cli.invoke import SMALL, as_json, call


def test_lists_every_problem():
    listed = as_json("problems")["problems"]
    assert [entry["name"] for entry in listed] == list(problems.names())
    shown = call("problems").stdout
    assert all(name in shown for name in problems.names())


def test_says_of_one_what_the_problem_says():
    facts, problem = as_json("problems", SMALL), problems.load(SMALL)
    assert (facts["variables"], facts["optimum"], facts["configs"]) == (6, problem.optimum, list(problem.configs))
    assert "case" in facts["parameters"]
    assert problem.source in call("problems", SMALL).stdout


def test_describes_one_that_needs_a_file():
    assert "file=..." in call("problems", "maxsat").stdout


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("knapsac", "knapsac"),
        ("contamination:stags=3", "stags"),
        ("contamination:case=x", "case"),
        ("maxsat:file=no.wcnf", "no.wcnf"),
    ],
)
def test_refuses_what_it_does_not_know(spec, named):
    assert named in call("problems", spec, code=2).stderr


@pytest.mark.parametrize("name", ["contamination", "ising", "branin", "landscape"])
def test_facts_are_those_of_the_problem_with_its_defaults(name):
    facts, problem = as_json("problems", name), problems.load(name)
    assert facts["specification"] == problem.name
    assert (facts["optimum"], facts["noisy"]) == (problem.optimum, problem.noisy)
    size = problem.space.size
    expected = math.log10(size) if size < math.inf else None
    assert facts["log10_points"] == (None if expected is None else pytest.approx(expected))
    assert ("variables" in facts) == (facts["points"] != "architectures")


def test_powers_of_ten_have_no_needless_digit():
    assert [_count(number) for number in (12.0, 12.04, 7.2, 3.0)] == ["10^12", "10^12", "10^7.2", "1,000"]


@pytest.mark.parametrize(
    ("spec", "points"), [("branin", "2,601"), ("contamination:stages=3", "8"), ("ising", "10^7.2")]
)
def test_few_points_are_counted_in_full(spec, points):
    assert re.search(rf"^points +{re.escape(points)}$", call("problems", spec).stdout, re.MULTILINE)


def test_every_entry_of_the_list_is_what_is_said_of_it_alone():
    listed = {entry["name"]: entry for entry in as_json("problems")["problems"]}
    for name in ("contamination", "maxsat"):
        assert listed[name] == as_json("problems", name)


def test_the_help_of_the_command_says_how_parameters_are_given():
    assert "bostruct problems contamination:case=1203,lambda=0.01" in (command.help or "")


def test_problems_are_listed_in_groups_with_their_goals():
    shown, listed = call("problems").stdout, as_json("problems")["problems"]
    titles = list(dict.fromkeys(entry["group"] for entry in listed))
    assert titles[:4] == ["Choices", "Architectures", "Limits and several objectives", "Orders, subsets and sequences"]
    places = [shown.index(f"{title}\n\nname ") for title in titles]
    assert places == sorted(places)
    goals = {entry["name"]: entry["goals"] for entry in listed if "goals" in entry}
    assert goals["knapsack"] == {"directions": ["minimize"], "constraints": {"weight": ["<=", 681.0]}}
    assert goals["biknapsack"] == {"directions": ["minimize", "minimize"], "constraints": {}}
    assert goals["qap"] == {"directions": ["minimize"], "constraints": {}}
    assert "  minimize, weight <= 681  " in shown


def test_relabeling_is_offered_where_it_works():
    assert "relabel=SEED" in call("problems", "branin").stdout
    assert "relabel=SEED" not in call("problems", "tsp").stdout
    assert "10^27.2 choices" in call("problems", "motifs").stdout
