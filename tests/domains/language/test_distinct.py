"""Programs that several traces build: one point each, listed once, drawn once, exhausted when all were seen."""

from collections import Counter

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.contracts import Infeasible, SpaceExhausted
from bostruct.domains.language import space as space_file
from bostruct.domains.language.space import can_list, list_programs
from tests.domains.language.more_programs import endless, layers_of_kinds


def copies():
    """Three places for a layer of two kinds: 27 traces, 1 + 2 + 4 + 8 programs."""
    layers = [
        lang.siso_optional(lambda: lang.siso_module("A", {"x": lang.D([0, 1])}), lang.D([0, 1])) for _ in range(3)
    ]
    return lang.siso_sequential(layers)


def test_equal_programs_have_one_key_and_are_listed_once():
    space = lang.SearchSpace(copies)
    every = list(space.enumerate("depth"))
    assert space.count() == lang.Exact(27) == lang.Exact(len(every))
    programs = list_programs(space)
    assert len(programs) == len(set(space.keys(every))) == len({space.present(x) for x in every}) == 15
    firsts = {space.key(x): x for x in reversed(every)}
    assert list(programs) == [x for x in every if firsts[space.key(x)] == x]
    assert len(set(space.encodings(every))) == 27


def test_programs_are_drawn_evenly_where_they_are_listed():
    space, m = lang.SearchSpace(copies), 1_500
    assert space.is_listed
    counts = Counter(space.keys(space.sample(m, np.random.default_rng(0), by="architecture")))
    assert sum((counts[key] - 100) ** 2 / 100 for key in set(space.keys(space.enumerate()))) < 36.2  # p = 0.001 at 14
    assert not lang.SearchSpace(endless).is_listed


def test_all_programs_are_drawn_unseen_then_the_space_is_exhausted(monkeypatch):
    for kept in (2_000, 0):  # from the list that is kept, and from one that is made when draws find nothing
        monkeypatch.setattr("bostruct.domains.language.space.MAX_KEPT_TRACES", kept)
        space, rng, seen = lang.SearchSpace(copies), np.random.default_rng(0), set()
        for _ in range(15):
            key = space.key(space.sample_unseen(frozenset(seen), rng))
            assert key not in seen
            seen.add(key)
        with pytest.raises(SpaceExhausted, match="all 15 programs of the space have been seen"):
            space.sample_unseen(frozenset(seen), rng)
    monkeypatch.setattr(space_file, "LISTING_WORK", 10)
    with pytest.raises(SpaceExhausted, match="no unseen program in 1024 draws; 15 were seen"):
        lang.SearchSpace(copies).sample_unseen(frozenset(seen), rng)


def test_lists_are_made_where_few_modules_are_to_be_built(monkeypatch):
    space = lang.SearchSpace(layers_of_kinds)  # 155 traces of up to three layers
    assert can_list(space, 155)
    assert not can_list(space, 154)
    monkeypatch.setattr(space_file, "LISTING_WORK", 155)
    assert not can_list(space, 155)


def test_keys_are_computed_when_they_are_looked_at():
    asked = []

    class Counted(lang.SearchSpace):
        def key(self, x):
            asked.append(x)
            return super().key(x)

    space = Counted(copies)
    first = space.sample(1, np.random.default_rng(0))[0]
    seen = frozenset({lang.SearchSpace(copies).key(first)})
    assert space.sample_unseen(seen, np.random.default_rng(0)) in set(space.enumerate())
    assert 2 <= len(asked) < 16  # those of the first block, and of the second up to a new one


def rarely_feasible():
    """Twenty-four choices that must all be 1, in two groups, and one of five values: 5 traces."""

    def all_ones(values):
        if not all(values.values()):
            raise Infeasible("not all are 1")
        return 1

    layers = []
    for group in range(2):
        bits = {f"bit_{i}": lang.D([0, 1], name=f"g{group}_{i}") for i in range(12)}
        layers.append(lang.siso_module("A", {"ones": lang.DependentHyperparameter(all_ones, bits)}))
    return lang.siso_sequential([*layers, lang.siso_module("B", {"x": lang.D(range(5))})])


def test_programs_that_draws_by_decisions_do_not_find_are_drawn_evenly():
    space = lang.SearchSpace(rarely_feasible)
    assert not space.is_listed
    assert {x["B-0.x"] for x in space.sample(40, np.random.default_rng(0), by="architecture")} == {*range(5)}
