"""Black boxes of pytorch-holo and poli as problems, on stand-ins with their documented interface."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import cloudpickle
import numpy as np
import pytest

import bostruct as bo
from bostruct.integrations.holo import read_black_box, read_test_function


class Ehrlich:
    """As a test function of pytorch-holo: a step from 2 to 0 is banned, and ones count.

    Processes for `Aligned` import this file, and need no torch.
    """

    num_states, dim, _optimal_value = 3, 4, 1.0

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, x: Any) -> Any:
        import torch

        assert x.dtype == torch.int64
        banned = ((x[:, :-1] == 2) & (x[:, 1:] == 0)).any(-1)
        return torch.where(banned, -torch.inf, (x == 1).double().mean(-1))

    def initial_solution(self, n: int = 1) -> Any:
        import torch

        rows = torch.from_numpy(np.random.default_rng(self.seed).integers(0, 2, (n, 4)))
        return rows[0] if n == 1 else rows


class Aligned:
    """As a black box of poli: letters in, one value a row out."""

    alphabet = ("A", "C", "-")
    info = SimpleNamespace(name="aligned", sequence_length=5, max_sequence_length=5, fixed_length=True, alphabet=None)

    def __call__(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        assert x.dtype.kind == "U"
        return np.array([[np.nan if row[0] == "-" else float((row == "C").sum())] for row in x])


def test_a_test_function_is_minimized_from_its_own_starts():
    problem = read_test_function(Ehrlich(3), "abc")
    assert (problem.name, problem.optimum, problem.goals.direction) == ("Ehrlich", -1.0, "minimize")
    assert problem({"sequence": "bbba"}) == -0.75
    with pytest.raises(bo.Infeasible, match="Ehrlich is -inf there"):
        problem({"sequence": "abca"})
    initial = read_test_function(Ehrlich(3), "abc", n_initial=6).initial_points(0)
    assert initial[0] == read_test_function(Ehrlich(3), "abc", n_initial=1).initial_points(0)[0]
    assert len({point["sequence"] for point in initial}) == len(initial) <= 6
    few = read_test_function(Ehrlich(3), "abc", n_initial=2)
    drawn = Ehrlich(3).initial_solution(4).tolist()
    for seed in (0, 1):
        expected = dict.fromkeys("".join("abc"[code] for code in row) for row in drawn[2 * seed : 2 * seed + 2])
        assert [point["sequence"] for point in few.initial_points(seed)] == list(expected)
    result = bo.minimize(problem, problem.space, 25, method="random", seed=0, initial_points=initial)
    assert result.n_infeasible > 0
    assert result.best_value < -0.5
    codes = read_test_function(Ehrlich(3))
    assert codes({"sequence": (1, 1, 1, 0)}) == -0.75


def test_a_black_box_is_minimized():
    problem = read_black_box(Aligned(), x0=np.array([list("AACAA"), list("AACAA"), list("CCCAA")]), optimum=5.0)
    assert (problem.name, problem.optimum) == ("aligned", -5.0)
    assert problem({"sequence": "ACCA-"}) == -2.0
    with pytest.raises(bo.Infeasible, match="aligned is nan there"):
        problem({"sequence": "-AAAA"})
    assert problem.initial_points(3) == [{"sequence": "AACAA"}, {"sequence": "CCCAA"}]
    assert len(read_black_box(Aligned()).initial_points(3)) == 10
    assert read_black_box(Aligned(), x0=np.array(["CAAAA"])).initial_points(1) == [{"sequence": "CAAAA"}]


def test_methods_are_compared_on_black_boxes():
    """Each problem is sent to other processes, of which one is started here."""
    sent = pickle.loads(cloudpickle.dumps(read_test_function(Ehrlich(3), n_initial=3)))
    assert sent({"sequence": (1, 1, 1, 0)}) == -0.75
    box = read_black_box(Aligned(), x0=np.array(["AACAA"]))
    found = bo.compare(box, ["random", "annealing"], n_trials=5, seeds=2, progress=False)
    assert all(row["runs"] == 2 for row in found.rows())
    assert found["aligned"].results["annealing", 1].trials[0].point == {"sequence": "AACAA"}


def test_letters_of_several_characters_are_tuples_of_any_length():
    def count(x):
        return np.array([[float((x == "[C]").sum())]])

    lengths = {"sequence_length": None, "max_sequence_length": 6, "fixed_length": False}
    count.info = SimpleNamespace(name="selfies", alphabet=["[C]", "[O]"], **lengths)
    problem = read_black_box(count)
    assert problem({"sequence": ("[C]", "[O]", "[C]")}) == -2.0
    assert (problem.space.variables["sequence"].shortest, problem.space.variables["sequence"].longest) == (1, 6)


ENDLESS = SimpleNamespace(max_sequence_length=np.inf)


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda: read_test_function(len), "function: expected one with num_states and dim"),
        (lambda: read_test_function(Ehrlich(0), "ab"), "alphabet: expected 3 letters, got 2"),
        (lambda: read_black_box(len), "black_box: expected one with an alphabet"),
        (lambda: read_black_box(SimpleNamespace(alphabet=["A", "C"], info=ENDLESS)), "length: expected an int or"),
    ],
)
def test_what_the_interface_does_not_say_is_asked_for(read, words):
    with pytest.raises(bo.DomainError, match=words):
        read()
