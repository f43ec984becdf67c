"""Resumed equals uninterrupted: a method that remembers what no file holds is found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chaos import resumes
from benchmarks.chaos.resumes import DOMAINS, TAKEN, compare, run_case, takes
from benchmarks.chaos.row import Verdict
from bostruct.methods import METHODS
from bostruct.searchers.baselines import RandomSearch


@pytest.mark.parametrize("kind", DOMAINS)
def test_each_kind_of_domain_is_searched_by_every_method_that_takes_it(kind: str) -> None:
    assert {method for method in METHODS if takes(method, kind)} == set(TAKEN[kind])


def test_the_tight_space_is_walked_through() -> None:
    space = DOMAINS["tight"]()
    assert not space.survey.uniform_hits
    assert len(space.survey.points)


@pytest.mark.parametrize(
    "case", [pytest.param("annealing on tight", marks=pytest.mark.slow), "regularized-evolution on real"]
)
def test_a_case_finds_nothing(case: str, tmp_path: Path) -> None:
    verdict = run_case(case, tmp_path)
    assert verdict.faults == {}
    assert verdict.counts == {"kills": resumes.KILLS}


def test_a_method_that_depends_on_its_process_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suggest = RandomSearch.suggest

    def from_process(self: Any, history: Any, state: Any, rng: Any) -> Any:
        import numpy as np

        return suggest(self, history, state, np.random.default_rng([os.getpid(), rng.integers(9)]))

    monkeypatch.setattr(RandomSearch, "suggest", from_process)
    verdict = run_case("random on mixed", tmp_path)
    assert "became" in verdict.faults["different"][0]


def test_a_difference_in_order_or_state_and_a_broken_run_are_found() -> None:
    verdict = Verdict()
    compare([["a", "b"], [0, 1], "{}"], [["a", "b"], [0, 1], "{}"], verdict)
    assert verdict.faults == {}
    compare([["a", "b"], [0, 1], "{}"], [["a", "c"], [0, 1], "{}"], verdict)
    compare([["a", "b"], [0, 1], "{}"], [["a", "b"], [1, 0], "{}"], verdict)
    compare([["a", "b"], [0, 1], "{}"], "a traceback", verdict)
    assert len(verdict.faults["different"]) == 3
    assert verdict.faults["different"][0] == "b became c"
