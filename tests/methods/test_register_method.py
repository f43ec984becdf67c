"""A method of a user's own, under a name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

import bostruct as bo
from bostruct import methods
from bostruct.cli.catalog import methods as command
from bostruct.contracts import BostructError, Domain, Suggestion
from bostruct.searchers.baselines import RandomSearch

SPACE = bo.Space({"a": bool, "b": range(9)})


@dataclass(frozen=True)
class Bandit(RandomSearch):
    """Random search that counts."""

    def initial_state(self):
        return 0

    def suggest(self, history, state, rng):
        return Suggestion(self.domain.sample_unseen(history.seen, rng), state + 1, {"origin": "random"})


def build(domain: Domain) -> Bandit:
    """Build the bandit."""
    return Bandit(domain)


def cost(point):
    return point["b"] + point["a"]


@pytest.fixture
def registered() -> Iterator[None]:
    methods.register_method("bandit", build)
    yield
    methods.METHODS.pop("bandit", None)


@pytest.mark.usefixtures("registered")
def test_a_registered_method_goes_by_its_name(tmp_path: Path):
    methods.register_method("bandit", build)  # again, which changes nothing
    file = tmp_path / "runs.db"
    first = bo.minimize(cost, SPACE, n_trials=4, method="bandit", seed=0, storage=file, progress=False)
    assert first.method == "bandit"
    with bo.Study.load(file) as study:
        assert len(study.optimize(cost, 6, progress=False).trials) == 6
    methods.METHODS.pop("bandit")
    with pytest.raises(BostructError, match=r"the method 'bandit', which is not registered; .*register_method"):
        bo.Study.load(file)
    with pytest.raises(ValueError, match=r"method: expected one of .*; got 'bandit'"):
        bo.minimize(cost, SPACE, n_trials=4, method="bandit", progress=False)


@pytest.mark.usefixtures("registered")
def test_the_command_shows_what_its_process_registered():
    found = CliRunner().invoke(command, ["--json"])
    assert found.exit_code == 0, found.output
    assert '"bandit"' in found.output


def test_the_command_does_not_know_methods_of_other_processes():
    assert '"bandit"' not in CliRunner().invoke(command, ["--json"]).output


@pytest.mark.usefixtures("registered")
def test_names_that_are_taken_are_refused():
    for name in ("random", "bandit"):
        with pytest.raises(ValueError, match=f"name: expected one that is not taken, got '{name}', which <function "):
            methods.register_method(name, lambda domain: Bandit(domain))


@pytest.mark.parametrize(("name", "made"), [("", build), (3, build), ("other", Bandit(SPACE)), ("other", "random")])
def test_what_is_no_name_or_builds_nothing_is_refused(name, made):
    with pytest.raises(TypeError, match=r"^(name: expected a non-empty string|build: expected a function)"):
        methods.register_method(name, made)
    assert "other" not in methods.METHODS


def test_a_builder_of_something_else_is_named():
    methods.register_method("nothing", lambda _: None)
    try:
        with pytest.raises(
            TypeError,
            match=r"method: the result of 'nothing': expected a bostruct.contracts.Searcher .*, got None",
        ):
            bo.minimize(cost, SPACE, n_trials=4, method="nothing", progress=False)
    finally:
        methods.METHODS.pop("nothing")
