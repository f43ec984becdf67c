"""What a survey says where it finds no valid point: draws counted by hand, the best repair seen, and the limit."""

from __future__ import annotations

import re

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.space import sampling as module
from bostruct.domains.space.constraints import count_until_broken, describe_draws, find_broken, valid_mask
from bostruct.domains.space.sampling import MAX_SURVEY_CALLS, find_feasible


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
    """Predicates that keep their answers."""

    def __init__(self, *rules) -> None:
        self.answers: list[list[bool]] = [[] for _ in rules]
        self.rules = [self._logged(i, rule) for i, rule in enumerate(rules)]

    def _logged(self, i: int, rule):
        def logged(point: dict) -> bool:
            self.answers[i].append(bool(rule(point)))
            return self.answers[i][-1]

        logged.__name__ = f"rule{i}"
        return logged

    def count_last(self, n: int) -> dict[str, int]:
        """Return how many of the last n answers of each rule were yes."""
        return {rule.__name__: sum(own[-n:]) for rule, own in zip(self.rules, self.answers, strict=True)}


def read_draws(message: str) -> tuple[int, dict[str, int]]:
    """Return the number of draws that each rule was asked about, and how many satisfied each rule, by name."""
    found = {name: int(count) for count, name in re.findall(r"(\d+) satisfied constraint \d+ \((\w+)\)", message)}
    (n_draws,) = re.findall(r": of (\d+) draws, ", message)
    return int(n_draws), found


BITS = {f"b{i}": bool for i in range(40)}
FEW = (lambda p: p["b0"], lambda p: p["b1"] and not p["b0"], lambda p: p["b2"])
FEWER = (lambda p: p["b0"] and p["b1"] and p["b2"], lambda p: not p["b0"])


def draw_in_vain(variables: dict, rules: list) -> str:
    """Return what is said of a space in which no draw is valid."""
    with pytest.raises(DomainError) as caught:
        bo.Space(variables, rules).sample(1, np.random.default_rng(0))
    return str(caught.value)


@pytest.mark.parametrize("variables", [BITS, {**BITS, "inner": {"x": bool}}], ids=["space", "parts"])
@pytest.mark.parametrize("rules", [FEW, FEWER, (lambda p: p["b0"] and not p["b0"],)], ids=["three", "two", "one"])
def test_the_message_counts_the_draws_that_satisfied_each_constraint_in_any_order(rules, variables, monkeypatch):
    monkeypatch.setattr(module, "_repair_starts", lambda _space, _rng: [])  # draws alone
    log = Log(*rules)
    message = draw_in_vain(variables, log.rules)
    n_draws, found = read_draws(message)
    assert n_draws >= 1_000
    assert (found, ", 0 all of them" in message) == (log.count_last(n_draws), len(rules) > 1)
    assert read_draws(draw_in_vain(variables, log.rules[::-1])) == (n_draws, found)


def test_a_constraint_that_another_guards_is_not_satisfied_where_it_fails():
    rules = [lambda p: p["x"] > 0, lambda p: 1 / p["x"] > 0, lambda p: 1 / p["x"] > 2]
    message = draw_in_vain({"x": range(4), "inner": {"y": bool}}, rules)
    n_draws, _ = read_draws(message)
    above, same, none = (int(count) for count in re.findall(r"(\d+) satisfied constraint", message))
    assert 0 < above < n_draws
    assert (same, none) == (above, 0)


@pytest.mark.parametrize("rules", [FEW, FEWER], ids=["three", "two"])
def test_the_best_repair_is_one_that_was_seen_and_breaks_what_is_said(rules, monkeypatch):
    monkeypatch.setattr(module, "REPAIR_STEPS", 200)
    space, seen = bo.Space(BITS, rules), []
    space = bo.Space(BITS, [*rules[:-1], lambda p: (seen.append(dict(p)), rules[-1](p))[1]])
    message = find_feasible(space).refusal
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
    survey = find_feasible(layers())
    assert len(survey.points)
    assert survey.calls < MAX_SURVEY_CALLS
    assert valid_mask(layers(), survey.points).all()


def test_a_survey_that_its_limit_ended_says_so(monkeypatch):
    space = layers(target=0.9)  # more than the largest porosity
    assert "ended at its limit" not in find_feasible(bo.Space(BITS, FEWER)).refusal
    monkeypatch.setattr(module, "MAX_SURVEY_CALLS", 1_000)
    survey = find_feasible(space)
    assert survey.calls <= 1_000
    assert re.match(r"\d{3} draws: of 1024 draws, ", survey.refusal)
    assert survey.refusal.endswith("the search ended at its limit of 1000 calls of constraints")


def test_draws_are_described_by_each_constraint():
    def first(point: dict) -> bool:
        return point["x"] > 0

    def second(point: dict) -> bool:
        return point["x"] > 2

    def ask(point: dict, rule) -> bool:
        return rule(point)

    points = [{"x": x} for x in range(400)]
    assert describe_draws([first, second], points[:4], ask) == (
        "of 4 draws, 3 satisfied constraint 1 (first), 1 satisfied constraint 2 (second), 1 all of them"
    )
    assert describe_draws([second], [], ask) == "of 0 draws, 0 satisfied constraint 1 (second)"
    assert describe_draws([first] * 100, points, ask).startswith("of 100 draws, 99 satisfied")


def test_constraints_are_counted_until_the_first_broken_one():
    log = Log(lambda p: p["a"], lambda p: p["b"])
    space = bo.Space({"a": bool, "b": bool}, log.rules)
    assert count_until_broken(space, np.array([[0, 1], [1, 0], [1, 1]])).tolist() == [0, 1, 2]
    assert list(map(len, log.answers)) == [3, 2]


def follows(point: dict) -> bool:
    order = point["order"]
    return all(order.index(i) < order.index(i + 3) for i in range(len(order) - 3))


def test_items_in_a_valid_order_lead_to_others_where_no_draw_and_no_repair_is_valid():
    space = bo.Space({"order": bo.Permutation(range(30)), "n": bo.Integer(1, 3)}, [follows])
    survey = find_feasible(space)
    assert (len(survey.points), survey.uniform_hits, survey.refusal) == (1, False, "")
    assert space.present(survey.points[0]) == {"order": tuple(range(30)), "n": 2}
    points = [space.present(x) for x in space.sample(8, np.random.default_rng(0))]
    assert all(follows(point) for point in points)
    assert len({point["order"] for point in points}) == 8
    unlucky = bo.Space({"order": bo.Permutation([*range(1, 30), 0])}, [follows])
    with pytest.raises(DomainError, match="no valid point was found"):
        unlucky.sample(1, np.random.default_rng(0))
