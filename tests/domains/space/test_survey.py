"""What a survey says where it finds no valid point: draws counted by hand, the best repair seen, and the limit."""

from __future__ import annotations

import re

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.space import survey as module
from bostruct.domains.space.constraints import count_until_broken, describe_draws, find_broken, valid_mask
from bostruct.domains.space.survey import MAX_SURVEY_CALLS, survey_space


def sums_to_ten(point: dict) -> bool:
    return sum(point[f"grad{i}"] for i in range(6)) == 10


def mixes_to(target: float, tolerance: float):
    def mixes(point: dict) -> bool:
        mixed = sum(point[f"grad{i}"] * point[f"porosity{i}"] for i in range(6)) / 10
        return abs(mixed - target) <= tolerance

    return mixes


def layers(target: float = 0.6, tolerance: float = 1e-3) -> bo.Space:
    """Six layers, of which the thicknesses sum to 10 and the mean porosity is given (facebook/Ax, issue 1767)."""
    grads = {f"grad{i}": bo.Integer(1, 5) for i in range(6)}
    porosities = {f"porosity{i}": bo.Real(0.01, 0.7) for i in range(6)}
    return bo.Space({**grads, **porosities}, [sums_to_ten, mixes_to(target, tolerance)])


class Log:
    """Predicates that count their calls and how many of them held."""

    def __init__(self, *rules) -> None:
        self.calls, self.held = [0] * len(rules), [0] * len(rules)
        self.rules = [self._logged(i, rule) for i, rule in enumerate(rules)]

    def _logged(self, i: int, rule):
        def logged(point: dict) -> bool:
            self.calls[i] += 1
            held = rule(point)
            self.held[i] += held
            return held

        logged.__name__ = f"rule{i}"
        return logged


def read_draws(message: str) -> list[tuple[int, int]]:
    """Return the pairs (satisfied, asked) of a message, by constraint."""
    return [(int(a), int(b)) for a, b in re.findall(r"(\d+) of (?:the|these) (\d+)(?: draws)? satisfied", message)]


BITS = {f"b{i}": bool for i in range(40)}
FEW = (lambda p: p["b0"], lambda p: p["b1"] and not p["b0"], lambda p: p["b2"])
FEWER = (lambda p: p["b0"] and p["b1"] and p["b2"], lambda p: not p["b0"])


@pytest.mark.parametrize("rules", [FEW, FEWER, (lambda p: p["b0"] and not p["b0"],)], ids=["three", "two", "one"])
def test_the_message_counts_the_draws_that_satisfied_each_constraint(rules, monkeypatch):
    log = Log(*rules)
    monkeypatch.setattr(module, "_repair_starts", lambda _space, _rng: [])  # draws alone
    with pytest.raises(DomainError) as caught:
        bo.Space(BITS, log.rules).sample(1, np.random.default_rng(0))
    asked = [(held, calls) for held, calls in zip(log.held, log.calls, strict=True) if calls]
    assert read_draws(str(caught.value)) == asked
    assert f"was found in {log.calls[0]} draws: {log.held[0]} of the {log.calls[0]} draws satisfied" in str(
        caught.value
    )
    assert ("constraint 3 was not called" in str(caught.value)) == (log.calls[-1] == 0)


def test_the_message_counts_the_draws_of_a_space_with_parts():
    log = Log(*FEWER)
    space = bo.Space({**BITS, "inner": {"x": bool}}, log.rules)
    with pytest.raises(
        DomainError, match=r"satisfied constraint 1 \(rule0\), 0 of these \d+ satisfied constraint 2"
    ) as caught:
        space.sample(1, np.random.default_rng(0))
    assert read_draws(str(caught.value)) == list(zip(log.held, log.calls, strict=True))


@pytest.mark.parametrize("rules", [FEW, FEWER], ids=["three", "two"])
def test_the_best_repair_is_one_that_was_seen_and_breaks_what_is_said(rules):
    space, seen = bo.Space(BITS, rules), []
    space = bo.Space(BITS, [*rules[:-1], lambda p: (seen.append(dict(p)), rules[-1](p))[1]])
    message = survey_space(space).refusal
    said = re.search(r"best repair satisfied (\d+) of (\d+) and broke constraints? ([^:]*):", message)
    assert said is not None
    satisfied, of, named = said.groups()
    broken = [int(i) - 1 for i in re.findall(r"(\d+) \(", named)]
    assert int(of) == len(rules)
    assert int(satisfied) == len(rules) - len(broken) == len(rules) - 1  # one that draws satisfy is satisfied
    best = module._repair_starts(space, np.random.default_rng(0))
    for repair in best:
        assert repair.broken == find_broken(space, space.present(repair.row), space.constraints)
        assert space.present(repair.row) in seen


def test_a_repair_returns_its_best_state_however_noisy_the_walk(monkeypatch):
    monkeypatch.setattr(module, "REPAIR_NOISE", 1.0)  # every change is kept
    space = bo.Space(BITS, [lambda p: sum(p.values()) > 24, lambda _: False])
    x = np.array([1] * 25 + [0] * 15)
    found = [module._repair(space, x, 500, np.random.default_rng(seed)) for seed in range(5)]
    assert all(repair.broken == [1] for repair in found)


def test_a_valid_point_that_single_changes_do_not_reach_is_found():
    survey = survey_space(layers())
    assert len(survey.points)
    assert survey.calls < MAX_SURVEY_CALLS
    assert valid_mask(layers(), survey.points).all()


def test_a_survey_that_its_limit_ended_says_so(monkeypatch):
    space = layers(target=0.9)  # more than the largest porosity
    assert "ended at its limit" not in survey_space(bo.Space(BITS, FEWER)).refusal
    monkeypatch.setattr(module, "MAX_SURVEY_CALLS", 1_000)
    survey = survey_space(space)
    assert survey.calls <= 1_000
    (held, asked), *_ = read_draws(survey.refusal)
    assert held + asked == 1_000  # of two constraints, the second is called where the first holds
    assert survey.refusal.startswith(f"{asked} draws: ")
    assert survey.refusal.endswith("the search ended at its limit of 1000 calls of constraints")


def test_draws_are_described_until_the_first_constraint_that_none_reached():
    def first(_):
        return True

    rules = [first, lambda _: True, bo.Space, first, first]
    assert describe_draws(rules, np.array([-1, 0, 1, 1, 2])) == (
        "3 of the 4 draws satisfied constraint 1 (first), 1 of these 3 satisfied constraint 2 (<lambda>), "
        "0 of these 1 satisfied constraint 3 (Space), constraint 4 and later ones were not called"
    )
    assert describe_draws(rules[:1], np.array([-1])) == "constraint 1 was not called"


def test_constraints_are_counted_until_the_first_broken_one():
    log = Log(lambda p: p["a"], lambda p: p["b"])
    space = bo.Space({"a": bool, "b": bool}, log.rules)
    assert count_until_broken(space, np.array([[0, 1], [1, 0], [1, 1]])).tolist() == [0, 1, 2]
    assert log.calls == [3, 2]
