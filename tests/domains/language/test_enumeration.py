"""Enumeration: every program once, in the order of choice or the shortest first."""

from itertools import islice, product

import pytest

from bostruct.contracts import Infeasible
from bostruct.domains.language.changes import depth_first, shortest_first
from bostruct.domains.language.walk import begin
from bostruct.language import (
    D,
    SearchSpace,
    siso_module,
    siso_optional,
    siso_or,
    siso_repeat,
    siso_sequential,
    substitution_module,
)
from tests.domains.language.more_programs import endless, layers_of_kinds


def bits(n):
    return siso_sequential([siso_module("M", {"x": D([0, 1])}) for _ in range(n)])


def test_values_run_through_in_the_order_that_they_were_given_in():
    walk = begin(lambda: siso_module("M", {"a": D([2, 1]), "b": D(["y", "x"])}), 10)
    assert [tuple(trace.values()) for trace in depth_first(walk)] == list(product([2, 1], ["y", "x"]))


@pytest.mark.parametrize("order", [depth_first, shortest_first])
def test_each_program_comes_once_from_wherever_the_walk_stands(order):
    walk = begin(layers_of_kinds, 10)
    every = list(order(walk))
    assert len(set(every)) == len(every) == 155
    assert len(walk) == 0  # the walk stays as it is
    for value in (1, 2, 3):
        child = walk.copy()
        child.assign(child.next(), value)
        assert set(order(child)) == {trace for trace in every if trace["SISORepeat-0.num_reps"] == value}


@pytest.mark.parametrize("order", [depth_first, shortest_first])
def test_ways_that_lead_nowhere_are_passed_over(order):
    def different(dh):
        if dh["a"] == dh["b"]:
            raise Infeasible("alike")
        return siso_module("M", {"c": D([0, 1])})

    def builder():
        return substitution_module("S", different, {"a": D([0, 1, 2]), "b": D([0, 1, 2])}, ["in"], ["out"])

    found = [tuple(trace.values()) for trace in order(begin(builder, 10))]
    assert sorted(found) == [(a, b, c) for a, b, c in product(range(3), range(3), range(2)) if a != b]


def test_lengths_never_fall_and_every_program_of_an_endless_space_has_its_turn():
    shortest = list(islice(shortest_first(begin(endless, 50)), 62))
    lengths = [len(trace) for trace in shortest]
    assert lengths == sorted(lengths)
    assert {n: lengths.count(n) for n in set(lengths)} == {2: 2, 4: 4, 6: 8, 8: 16, 10: 32}  # by layers, 2 each
    assert len(set(shortest)) == 62


def test_programs_come_one_by_one_from_spaces_too_large_to_list():
    walk = begin(lambda: bits(200), 10)
    for order in (depth_first, shortest_first):
        first, second = islice(order(walk), 2)
        assert sum(first.values()) == 0
        assert list(second.values()) == [0] * 199 + [1]


def test_a_space_without_choices_has_one_program():
    assert [dict(trace) for trace in depth_first(begin(lambda: siso_module("M"), 1))] == [{}]
    assert [dict(trace) for trace in shortest_first(begin(lambda: siso_module("M"), 1))] == [{}]
    optional = begin(lambda: siso_optional(lambda: siso_repeat(lambda: bits(1), D([1])), D([1, 0])), 10)
    assert [len(trace) for trace in depth_first(optional)] == [3, 3, 1]
    assert [len(trace) for trace in shortest_first(optional)] == [1, 3, 3]


def test_programs_are_enumerated_by_length_and_by_turns():
    def row(n, values):
        return lambda: siso_sequential([siso_module("M", {"x": D(values)}) for _ in range(n)])

    space = SearchSpace(lambda: siso_or([row(5, [1]), row(1, [1, 2]), row(2, [1]), row(1, [3, 4])], D([0, 1, 2, 3])))
    assert [len(trace) for trace in space.enumerate("length")] == [2, 2, 2, 2, 3, 6]
    large = SearchSpace(lambda: siso_or([row(60, [1, 2]), row(60, [3, 4])], D([0, 1])))
    assert {trace["SISOOr-0.idx"] for trace in islice(large.enumerate("length"), 4)} == {0, 1}
