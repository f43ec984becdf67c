"""Generated spaces: suggestions that are infeasible, repeated, or differ between processes are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from benchmarks.chaos import spaces, suggestions
from benchmarks.chaos.random_spaces import Rule, draw_space, key_of
from benchmarks.chaos.row import Verdict
from benchmarks.chaos.spaces import compare, run_case
from benchmarks.chaos.suggestions import check_exhausted, check_point, try_space
from bostruct.contracts import DomainError, SpaceExhausted
from bostruct.searchers.baselines import RandomSearch


def note() -> dict[str, Any]:
    return {"seed": 0, "points": {}, "faults": [], "refusals": [], "suggestions": 0}


def test_spaces_are_those_of_their_seeds_and_their_rules_hold_at_a_planted_point() -> None:
    for seed in range(20):
        (space, rules), (again, _) = (draw_space(np.random.default_rng(seed)) for _ in range(2))
        assert list(space.variables) == list(again.variables)
        assert all(rule.planted == rules[0].planted for rule in rules)
        points = [space.present(x) for x in bo.Space(space.variables).sample(2, np.random.default_rng(0))]
        assert all(rule(point) in (True, False) for rule in rules for point in points)


def test_a_difference_between_processes_and_a_space_left_out_are_found() -> None:
    one, verdict = note(), Verdict()
    compare([one], [one | {"points": {"random": ["x"]}}], 1, verdict)
    compare([one], [one | {"refusals": ["DomainError"]}], 1, verdict)
    compare([one], [], 1, verdict)
    assert {kind: len(found) for kind, found in verdict.faults.items()} == {"nondeterministic": 2, "broken case": 1}


def test_what_a_broken_method_suggests_is_found() -> None:
    space = bo.Space({"a": range(9), "b": bool}, constraints=[lambda point: point["b"]])
    study = bo.Study(space, method="random", seed=0)
    trial, other, found = study.ask(), study.ask(), note()
    never = [Rule(lambda _: False, {})]
    check_point(study, trial, [Rule(lambda _: True, {})], 10, space, "here", found)
    assert found["faults"] == []
    check_point(study, trial, never, 10, space, "here", found)
    check_point(study, bo.Trial(7, other.point, "running"), [], 10, space, "here", found)
    check_point(study, trial, [], 400_000, space, "here", found)
    assert [kind for kind, _ in found["faults"]] == ["infeasible", "repeated", "over the limit of calls"]
    check_exhausted(study, space, "here", found)
    assert found["faults"][3][0] == "exhausted too soon"
    large = bo.Space({f"b{i}": bool for i in range(30)})
    check_exhausted(study, large, "more may exist", found)
    assert len(found["faults"]) == 4
    check_exhausted(study, large, "all were seen", found)
    assert len(found["faults"]) == 5


@pytest.mark.parametrize(
    ("raised", "kinds"),
    [(ZeroDivisionError("x"), ["tracebacks"]), (DomainError(""), ["tracebacks"]), (DomainError("words"), [])],
)
def test_tracebacks_and_refusals_without_words_are_found(
    raised: Exception, kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise raised

    monkeypatch.setattr(suggestions, "METHODS", {"random": 1, "annealing": 1})
    monkeypatch.setattr(suggestions, "search", broken)
    found = try_space(0)
    assert [kind for kind, _ in found["faults"]] == kinds * 2


def test_a_space_called_exhausted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: Any) -> Any:
        raise SpaceExhausted("all points have been seen")

    monkeypatch.setattr(suggestions, "METHODS", {"random": 1, "annealing": 1})
    monkeypatch.setattr(RandomSearch, "suggest", exhausted)
    assert [kind for seed in range(3) for kind, _ in try_space(seed)["faults"]].count("exhausted too soon") >= 1


def test_two_processes_make_the_same_suggestions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spaces, "SPACES_PER_CASE", 2)
    verdict = run_case("4", tmp_path)
    assert verdict.faults == {}
    assert verdict.counts["suggestions"] > 0


def test_keys_are_text_of_plain_values() -> None:
    assert key_of({"b": (1, "x"), "a": 0.5}) == '{"a": 0.5, "b": [1, "x"]}'
