"""Draws that grow without end: when they are led to one, and by which values."""

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.domains.language import sampling
from bostruct.domains.language.errors import NoneFeasible
from bostruct.domains.language.sampling import (
    OVERGROWN_CHOICES,
    OVERGROWN_DEPTH,
    TerminationSearch,
    draw_terminating_value,
    is_overgrown,
    module_ancestors,
)
from bostruct.domains.language.walk import begin
from tests.domains.language.more_programs import endless


def nested(depth):
    """A part that holds so many substitutions around each other, each of one value."""
    return lang.siso_module("M") if depth == 0 else lang.siso_optional(lambda: nested(depth - 1), lang.D([1]))


def of_depths(*depths):
    """A choice among parts that need so many substitutions to end."""
    return lang.siso_or([lambda n=n: nested(n) for n in depths], lang.D(range(len(depths))))


def drawn(builder, m=60):
    walk, rng = begin(builder, 60), np.random.default_rng(0)
    h = walk.next()
    return {draw_terminating_value(h, walk, rng) for _ in range(m)}


@pytest.mark.parametrize(
    ("depths", "nearest"), [((0, 1, 2), {0}), ((3, 1, 2, 1), {1, 3}), ((2, 2), {0, 1}), ((5,), {0})]
)
def test_the_values_that_need_the_fewest_substitutions_are_drawn_and_all_of_them(depths, nearest):
    assert drawn(lambda: of_depths(*depths)) == nearest


def test_a_way_without_end_is_never_chosen_where_there_is_another():
    def grow():
        return lang.siso_or(
            [grow, lambda: lang.siso_sequential([grow(), grow()]), lambda: nested(3)], lang.D([0, 1, 2])
        )

    assert drawn(grow) == {2}
    assert drawn(lambda: lang.siso_optional(endless, lang.D([0, 1]))) == {0}


def test_values_that_lead_nowhere_are_no_end():
    def refuse():
        raise lang.Infeasible("never")

    assert drawn(lambda: lang.siso_or([refuse, lambda: nested(4)], lang.D([0, 1]))) == {1}


def test_where_no_end_is_near_that_is_said_with_the_place():
    def forever():
        return lang.siso_or([forever, forever], lang.D([0, 1]))

    walk = begin(forever, 400)
    with pytest.raises(NoneFeasible, match=r"SISOOr-0\.idx: no value was found that ends the program within 40 more"):
        draw_terminating_value(walk.next(), walk, np.random.default_rng(0))
    assert drawn(lambda: of_depths(sampling.MAX_STEPS_TO_END - 1)) == {0}
    with pytest.raises(NoneFeasible):
        drawn(lambda: of_depths(sampling.MAX_STEPS_TO_END))


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_search_knows_how_many_steps_an_end_is_away(depth):
    walk = begin(lambda: of_depths(depth), 60)
    (module,) = walk.root.modules
    for steps in range(6):
        search = TerminationSearch(60, walk.values)
        assert search.can_end_within(module, {}, steps) == (steps > depth)
        assert search.can_end_within(module, {"SISOOr-0.idx": 0}, steps) == (steps > depth)


def test_a_search_that_has_spent_its_budget_finds_nothing_more():
    walk = begin(lambda: of_depths(0), 60)
    (module,) = walk.root.modules
    search = TerminationSearch(60, walk.values)
    search.budget = 0
    assert not search.can_end_within(module, {}, 5)


def test_a_draw_is_overgrown_where_it_is_both_deep_and_long_or_half_as_deep_as_allowed():
    walk = begin(endless, 40)
    seen = []
    while (h := walk.next()) is not None and len(seen) < 25:
        seen.append((h.fragment.depth, len(walk), is_overgrown(h, walk)))
        walk.assign(h, h.values[-1])
    assert {depth for depth, _, _ in seen} == set(range(13))
    assert all(length < OVERGROWN_CHOICES for _, length, _ in seen)
    assert not any(overgrown for _, _, overgrown in seen)  # neither long nor deeper than 20
    shallow = begin(endless, 2 * OVERGROWN_DEPTH)
    while (h := shallow.next()) is not None and h.fragment.depth <= OVERGROWN_DEPTH:
        assert not is_overgrown(h, shallow)
        shallow.assign(h, h.values[-1])
    assert is_overgrown(h, shallow)


def test_the_ancestors_of_a_module_are_the_choices_that_its_values_follow_from():
    def builder():
        a, b = lang.D([1, 2]), lang.D([3])
        both = lang.DependentHyperparameter(sum, {"a": a, "b": b})
        return lang.siso_module("M", {"x": both, "y": b, "z": lang.D([4]), "c": 5})

    (module,) = begin(builder, 5).root.modules
    assert [h.values for h in module_ancestors(module)] == [(1, 2), (3,), (4,)]
