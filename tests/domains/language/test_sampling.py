"""Ways through a space: followed, drawn, completed; how likely each is, and when a draw is given up."""

from collections import Counter

import numpy as np
import pytest

from bostruct.contracts import DomainError, Infeasible
from bostruct.domains.language import sampling
from bostruct.domains.language.errors import NoneFeasible, TooDeep, TraceError
from bostruct.domains.language.sampling import (
    complete,
    follow,
    follow_decisions,
    program_uniform_policy,
    replay,
    retry_until_feasible,
    sample_walk,
    specify,
    strict_trace_policy,
    trace_policy,
    uniform_policy,
)
from bostruct.domains.language.values import Trace
from bostruct.domains.language.walk import begin
from bostruct.language import D, SearchSpace, siso_module, siso_repeat, siso_sequential
from tests.domains.language.more_programs import endless


def repeated():
    """Fourteen programs: 2 + 4 + 8."""
    return siso_repeat(lambda: siso_module("M", {"x": D([1, 2])}), D([1, 2, 3]))


def three():
    return siso_module("M", {"a": D([1, 2, 3]), "b": D(["x", "y"]), "c": D([0])})


def chi_square(counts, expected):
    return sum((counts[key] - n) ** 2 / n for key, n in expected.items())


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    "draw", [sample_walk, lambda walk, rng, most: follow(walk, uniform_policy(rng), most)], ids=["rounds", "one by one"]
)
def test_each_value_of_each_choice_is_equally_likely(draw):
    walk, generator, m = begin(repeated, 10), rng(), 2_100
    counts = Counter(draw(walk, generator, 10).trace() for _ in range(m))
    assert (len(walk), len(counts)) == (0, 14)
    assert chi_square(counts, {x: m / 3 / 2 ** (len(x) - 1) for x in counts}) < 34.5  # p = 0.001 at 13 degrees


def test_programs_that_cannot_be_counted_cannot_be_drawn_evenly():
    with pytest.raises(DomainError, match=r"by: 'architecture' draws .* needs their number, .*; by='decision'"):
        follow(begin(endless, 50), program_uniform_policy(rng(), 1_000), 100)
    assert follow(begin(three, 5), program_uniform_policy(rng(), 1), 100).next() is None  # nothing opens another choice


def test_ways_of_more_choices_than_allowed_are_given_up():
    def row():
        return siso_sequential([siso_module("M", {"x": D([1, 2])}) for _ in range(5)])

    for draw in (sample_walk, lambda walk, rng, most: follow(walk, uniform_policy(rng), most)):
        assert len(draw(begin(row, 5), rng(), 5)) == 5
        with pytest.raises(TooDeep, match="a program needs more than 4 choices"):
            draw(begin(row, 5), rng(), 4)


def test_draws_are_repeated_until_one_is_feasible():
    outcomes = iter([Infeasible("no"), TooDeep("deep"), Infeasible("no"), "walk"])

    def draw():
        if isinstance(outcome := next(outcomes), Exception):
            raise outcome
        return outcome

    assert retry_until_feasible(draw) == "walk"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "tries"), [(Infeasible("why not"), 300), (TooDeep("why not"), sampling.TOO_DEEP_TRIES)]
)
def test_draws_that_never_are_feasible_end_with_the_last_reason(monkeypatch, error, tries):
    monkeypatch.setattr(sampling, "FEASIBLE_TRIES", 300)
    tried = []

    def draw():
        tried.append(1)
        raise error

    with pytest.raises(NoneFeasible, match=f"none of {tries} draws was feasible; the last one: why not"):
        retry_until_feasible(draw)
    assert len(tried) == tries


def test_a_policy_takes_values_of_a_trace_where_they_are_allowed():
    trace = {"M-0.a": 2, "M-0.b": "z", "other": 1}
    asked = []

    def otherwise(h, walk):
        asked.append((h.path, len(walk)))
        return h.values[0]

    end = follow(begin(three, 5), trace_policy(trace, otherwise), 9)
    assert dict(end.values) == {"M-0.a": 2, "M-0.b": "x", "M-0.c": 0}
    assert asked == [("M-0.b", 1), ("M-0.c", 2)]
    with pytest.raises(TraceError, match=r"M-0\.b: expected one of \['x', 'y'\], got 'z'"):
        follow(begin(three, 5), strict_trace_policy(trace), 9)
    with pytest.raises(TraceError, match=r"trace: no value for M-0\.c, one of \[0\]"):
        follow(begin(three, 5), strict_trace_policy({"M-0.a": 1, "M-0.b": "x"}), 9)


def test_traces_values_and_positions_lead_to_the_same_end():
    walk = begin(repeated, 10)
    for x in SearchSpace(repeated).enumerate():
        end = replay(walk, x)
        assert end.trace() == specify(walk, list(x.values())).trace() == x
        made = [h.positions[value] for h, value in zip(end.chosen, x.values(), strict=True)]
        assert (follow_decisions(walk, made).trace(), complete(walk, x, rng(), 10).trace()) == (x, x)
    assert len(walk) == 0
    assert follow_decisions(walk, [2]).next() is not None


@pytest.mark.parametrize("made", [[3], [-1], [0, 0, 0]])
def test_positions_beyond_the_space_are_refused(made):
    with pytest.raises(TraceError, match=r"decisions: .* are not valid at position"):
        follow_decisions(begin(repeated, 10), made)


def test_more_or_fewer_values_than_choices_are_refused():
    walk = begin(three, 5)
    with pytest.raises(TraceError, match="values: expected 3, got 4"):
        specify(walk, [1, "x", 0, 0])
    with pytest.raises(TraceError, match=r"values: expected more than 2; the next choice is M-0\.c"):
        specify(walk, [1, "x"])
    with pytest.raises(TraceError, match="trace: extra: no such choice in the program of the other values"):
        replay(walk, {"M-0.a": 1, "M-0.b": "x", "M-0.c": 0, "extra": 1})


def test_what_a_completion_cannot_have_is_named():
    walk = begin(repeated, 10)
    last = Trace({"SISORepeat-0/M-2.x": 2})
    assert complete(walk, last, rng(), 10).trace()["SISORepeat-0.num_reps"] == 3
    with pytest.raises(TraceError, match=r"trace: SISORepeat-0/M-2\.x: no such choice or value in 100 programs"):
        complete(walk, last | {"SISORepeat-0.num_reps": 2}, rng(), 10)
