"""Programs with choices left open: values that are assigned make another, and lead to the same by every way."""

import pickle

import numpy as np
import pytest

from bostruct.contracts import Infeasible
from bostruct.domains.language.errors import LanguageError, NoneFeasible, TraceError
from bostruct.domains.language.program import PartialProgram, check_generator
from bostruct.language import INFINITE, D, Exact, Trace, siso_module, siso_repeat, substitution_module
from tests.domains.language.more_programs import endless, layers_of_kinds


def repeated():
    return siso_repeat(lambda: siso_module("M", {"x": D(["a", "b"])}), D([1, 2]))


def test_every_way_to_the_same_values_gives_the_same_program():
    space = PartialProgram(repeated)
    values = {"SISORepeat-0.num_reps": 2, "SISORepeat-0/M-0.x": "a", "SISORepeat-0/M-1.x": "b"}
    ways = [
        space.replay(values),
        space.replay(dict(reversed(values.items()))),
        space.specify(list(space.replay(values).trace.values())),
        space.complete(values, np.random.default_rng(0)),
        space.assign("SISORepeat-0.num_reps", 2).replay(dict(list(values.items())[1:])),
    ]
    step = space
    while not step.is_terminal:
        h = step.hyperparameters[-1]  # the last that is visible: order is free here
        step = step.assign(h, values[h.path])
    ways.append(step)
    assert all(way.is_terminal and way.trace == Trace(values) for way in ways)
    assert {way.program() for way in ways} == {space.replay(values).program()}
    assert [node.values["x"] for node in step.program().nodes] == ["a", "b"]


def test_choices_that_a_value_opens_are_made_by_every_way_to_an_end():
    part = PartialProgram(repeated).assign("SISORepeat-0.num_reps", 2)
    assert len(part.hyperparameters) == 2  # to look at them changes nothing
    every = set(part.enumerate())
    assert sorted(tuple(trace.values()) for trace in every) == [(2, x, y) for x in "ab" for y in "ab"]
    assert set(part.enumerate("length")) == every
    assert part.complete({}, np.random.default_rng(0)).trace in every


def test_a_value_opens_what_follows_from_it_and_leaves_the_space_alone():
    space = PartialProgram(repeated)
    assert [h.path for h in space.hyperparameters] == ["SISORepeat-0.num_reps"]
    two = space.assign("SISORepeat-0.num_reps", 2)
    assert sorted(h.path for h in two.hyperparameters) == ["SISORepeat-0/M-0.x", "SISORepeat-0/M-1.x"]
    assert (space.trace, two.trace) == (Trace({}), Trace({"SISORepeat-0.num_reps": 2}))
    assert not two.is_terminal
    assert type(two) is PartialProgram
    assert (space.count(), two.count()) == (Exact(2 + 4), Exact(4))


REFUSED_VALUES = [
    ("SISORepeat-0.num_reps", 1, "SISORepeat-0.num_reps: expected an open hyperparameter; it already has a value"),
    ("nowhere", 1, "nowhere: expected an open hyperparameter; open: SISORepeat-0/M-"),
    ("SISORepeat-0/M-0.x", "c", r"SISORepeat-0/M-0.x: expected one of \['a', 'b'\], got 'c'"),
    ("SISORepeat-0/M-0.x", b"x", "SISORepeat-0/M-0.x: expected None, bools, numbers"),
]


@pytest.mark.parametrize(("path", "value", "words"), REFUSED_VALUES)
def test_what_cannot_be_assigned_is_refused_with_what_can(path, value, words):
    with pytest.raises(TraceError, match=words):
        PartialProgram(repeated).assign("SISORepeat-0.num_reps", 2).assign(path, value)


def test_an_end_has_a_program_and_nothing_else_has():
    space = PartialProgram(repeated)
    with pytest.raises(LanguageError, match=r"choices are open: SISORepeat-0\.num_reps"):
        space.program()
    end = space.specify([1, "b"])
    with pytest.raises(TraceError, match=r"it already has a value|open: none"):
        end.assign("SISORepeat-0/M-0.x", "a")
    assert (len(end.program()), end.specify([])) == (1, end)


def test_what_is_drawn_keeps_what_was_given():
    space, rng = PartialProgram(layers_of_kinds), np.random.default_rng(0)
    for _ in range(10):
        end = space.complete({"SISORepeat-0.num_reps": 3}, rng)
        assert end.is_terminal
        assert (end.trace["SISORepeat-0.num_reps"], space.replay(end.trace)) == (3, end)
    fixed = space.assign("SISORepeat-0.num_reps", 2)
    assert {fixed.complete({}, rng).trace["SISORepeat-0.num_reps"] for _ in range(5)} == {2}


def test_a_part_of_a_space_holds_the_programs_that_agree_with_it():
    space = PartialProgram(layers_of_kinds)
    every = list(space.enumerate())
    for value in (1, 2, 3):
        part = space.assign("SISORepeat-0.num_reps", value)
        assert list(part.enumerate()) == [trace for trace in every if trace["SISORepeat-0.num_reps"] == value]
    with pytest.raises(ValueError, match="order: expected one of depth, length; got 'breadth'"):
        space.enumerate("breadth")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="budget: expected at least 1, got 0"):
        space.count(0)
    assert PartialProgram(endless).count() is INFINITE
    assert len(next(PartialProgram(endless).enumerate())) == 2  # by length, since depth would not end


def test_ways_that_lead_nowhere_are_refused_when_they_are_taken():
    def uneven(dh):
        if dh["a"] == dh["b"]:
            raise Infeasible("alike")
        return siso_module("M")

    def builder():
        return substitution_module("S", uneven, {"a": D([1, 2]), "b": D([1])}, ["in"], ["out"])

    space = PartialProgram(builder)
    one = space.assign("S-0.b", 1)
    with pytest.raises(Infeasible, match="alike"):
        one.assign("S-0.a", 1)
    assert one.assign("S-0.a", 2).is_terminal
    with pytest.raises(Infeasible, match="alike"):
        space.replay({"S-0.a": 1, "S-0.b": 1})
    with pytest.raises(NoneFeasible, match="alike"):
        space.complete({"S-0.a": 1}, np.random.default_rng(0))


def test_equal_by_builder_and_trace_and_sent_by_both():
    space = PartialProgram(repeated, max_depth=7, max_decisions=9)
    two = space.assign("SISORepeat-0.num_reps", 2)
    assert two == PartialProgram(repeated).assign("SISORepeat-0.num_reps", 2)
    assert hash(two) == hash(PartialProgram(repeated).assign("SISORepeat-0.num_reps", 2))
    assert len({space, two, PartialProgram(endless), PartialProgram(repeated)}) == 3
    assert space != "repeated"
    moved = pickle.loads(pickle.dumps(two))
    assert (moved, moved.max_depth, moved.max_decisions) == (two, 7, 9)
    assert repr(two) == "PartialProgram(repeated, {'SISORepeat-0.num_reps': 2})"
    assert repr(space) == "PartialProgram(repeated)"


REFUSED_SETTINGS = [
    (lambda: PartialProgram(3), LanguageError, "builder: expected a function that returns .*, got 3"),  # type: ignore[arg-type]
    (lambda: PartialProgram(repeated, max_depth=0), ValueError, "max_depth: expected between 1 and 400, got 0"),
    (lambda: PartialProgram(repeated, max_depth=401), ValueError, "max_depth: expected between 1 and 400"),
    (lambda: PartialProgram(repeated, max_decisions=0), ValueError, "max_decisions: expected at least 1, got 0"),
    (lambda: check_generator(np.random), TypeError, "rng: expected a numpy Generator"),
]


@pytest.mark.parametrize(("make", "kind", "words"), REFUSED_SETTINGS)
def test_settings_are_checked(make, kind, words):
    with pytest.raises(kind, match=words):
        make()
