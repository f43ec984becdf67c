"""Even draws: each trace by the same chance, at the cost of one walk, however many modules there are."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from bostruct import language as lang
from bostruct.domains.language.errors import NoneFeasible
from bostruct.domains.language.sampling import EvenDraws
from tests.domains.language.more_programs import layers_of_kinds
from tests.domains.language.test_laws import SPECS, space_of

DRAWS = 20


@settings(max_examples=25, deadline=None)
@given(SPECS)
def test_each_trace_is_equally_likely(spec):
    space = space_of(spec)
    count, rng, draws = space.count().count, np.random.default_rng(0), EvenDraws(space._walk)
    if not 0 < count <= 100 or draws.values(rng) is None:
        return
    drawn = Counter(frozenset((draws.values(rng) or {}).items()) for _ in range(DRAWS * int(count)))
    traces = [frozenset(trace.items()) for trace in space.enumerate("depth")]
    assert drawn.keys() <= set(traces)
    chi_square = sum((drawn[x] - DRAWS) ** 2 / DRAWS for x in traces)
    assert chi_square < count - 1 + 6 * (2 * count) ** 0.5 + 6


def test_long_chains_cost_no_more_than_a_walk():
    built = []

    def layer():
        built.append(1)
        return lang.siso_module("A", {"x": lang.D([1, 2, 3])})

    space = lang.SearchSpace(
        lambda: lang.siso_sequential([lang.siso_optional(layer, lang.D([0, 1])) for _ in range(400)])
    )
    assert space.size == 4.0**400
    first = space.sample(1, np.random.default_rng(0), by="architecture")[0]
    assert abs(sum(first[f"SISOOptional-{i}.opt"] for i in range(400)) - 300) < 50  # three of four traces have a layer
    before = len(built)
    space.sample(3, np.random.default_rng(1), by="architecture")
    assert len(built) - before <= 3 * 400


def test_a_part_that_an_outer_choice_changes_unseen_is_left_to_others():
    shared = []

    def whole():
        shared[:] = [lang.D([1, 2])]
        inner = lang.siso_optional(lambda: lang.siso_module("B", {"h": shared[0]}), lang.D([0, 1]))
        return lang.siso_sequential([lang.siso_module("A", {"h": shared[0]}), inner])

    draws = EvenDraws(lang.SearchSpace(whole)._walk)
    assert draws.values(np.random.default_rng(0)) is None
    assert not draws.is_possible


def test_what_was_assigned_stays_and_nothing_is_drawn_where_nothing_is_feasible():
    part = lang.SearchSpace(layers_of_kinds).assign("SISORepeat-0.num_reps", 2)
    values = EvenDraws(part._walk).values(np.random.default_rng(0))
    assert values is not None
    assert part.replay(values).trace["SISORepeat-0.num_reps"] == 2

    def never(_):
        raise lang.Infeasible("never")

    nothing = lang.SearchSpace(lambda: lang.substitution_module("Never", never, {"a": lang.D([1, 2])}, ["in"], ["out"]))
    with pytest.raises(NoneFeasible, match="no choice leads to a program"):
        EvenDraws(nothing._walk).values(np.random.default_rng(0))
