"""Programs as coordinates and tokens: what is counted, and that nothing is built for it twice."""

from collections import Counter
from functools import partial

import numpy as np
import pytest

from bostruct.contracts import token
from bostruct.domains.language import features
from bostruct.domains.language.features import LRUCache, choice_kind, coordinates, tokens
from bostruct.domains.language.sampling import sample_walk
from bostruct.domains.language.walk import begin
from bostruct.language import D, IntRange, siso_module, siso_repeat, siso_sequential, substitution_module
from tests.domains.language.more_programs import layers_of_kinds


def in_a_row():
    """Two kinds of modules, the second repeated."""
    first = siso_module("A", {"k": D(["x", "y"])})
    return siso_sequential([first, siso_repeat(lambda: siso_module("B", {"n": IntRange(1, 4)}), D([2]))])


def finished(builder, seed=0):
    return sample_walk(begin(builder, 20), np.random.default_rng(seed), 100)


CHOICE_KINDS = [
    ("Conv2D-0.filters", "Conv2D.filters"),
    ("SISORepeat-0/Conv2D-13.filters", "Conv2D.filters"),
    ("SISOOr-0[a-1]/SISOOr-2[3]/Conv2D-3.filters", "Conv2D.filters"),
    ("width", "width"),
    ("S-0/rate-2", "rate"),
    ("D-0", "D"),
]


@pytest.mark.parametrize(("path", "kind"), CHOICE_KINDS)
def test_the_kind_of_a_choice_is_its_name_without_place_and_number(path, kind):
    assert choice_kind(path) == kind


def test_coordinates_are_positions_among_the_values_in_the_order_of_choice():
    walk = finished(in_a_row)
    found = coordinates(walk)
    assert [one.path for one in found] == list(walk.values)
    for one, h in zip(found, walk.chosen, strict=True):
        assert h.values[int(one.value)] == walk.values[h.path]
        assert (one.count, one.ordered, one.kind) == (len(h.values), h.ordered, choice_kind(h.path))


@pytest.mark.parametrize("seed", range(4))
def test_tokens_are_kinds_edges_within_parts_and_choices_twice(seed):
    walk = finished(in_a_row, seed)
    expected = ["A", "B", "B", "A.out -> SISORepeat.in", "B.out -> B.in"]
    for path, value in walk.values.items():
        expected += [f"{path} = {value!r}", f"{choice_kind(path)} = {value!r}"]
    assert Counter(tokens(walk).tolist()) == Counter(map(token, expected))


def test_of_equal_parts_that_no_choice_needs_one_is_built_for_tokens():
    built = []

    def pair(width, values):
        built.append(width)
        return siso_sequential([siso_module(f"{values['kind']}{width}"), siso_module("B")])

    def network():
        kind, places = D(["x", "y"]), (["in"], ["out"])
        return siso_sequential(
            [
                substitution_module("P", partial(pair, width), {"kind": kind}, *places, opens_choices=False)
                for width in (1, 2, 1, True, 2) * 2
            ]
        )

    walk, whole = finished(network), finished(network)
    whole.fragments()
    assert list(map(repr, built)) == ["2", "True", "1", "2", "1"] * 2
    found = tokens(walk)
    assert list(map(repr, built[10:])) == ["2", "True", "1"]
    np.testing.assert_array_equal(found, tokens(whole))


def test_programs_share_the_tokens_of_what_they_share():
    walks = [finished(layers_of_kinds, seed) for seed in range(12)]
    bags = [Counter(tokens(walk).tolist()) for walk in walks]
    for x, bag in zip(walks, bags, strict=True):
        for y, other in zip(walks, bags, strict=True):
            same = sum(y.values.get(path) == value for path, value in x.values.items() if path in y.values)
            assert (bag & other).total() >= 2 * same
            assert (bag == other) == (x.trace() == y.trace())


def test_a_cache_finds_each_result_once_and_forgets_what_was_not_asked_for_longest(monkeypatch):
    monkeypatch.setattr(features, "CACHE_SIZE", 3)
    found = []
    squares = LRUCache(lambda n: found.append(n) or n * n)
    assert [squares(n) for n in (1, 2, 3, 1, 1, 2)] == [1, 4, 9, 1, 1, 4]
    assert found == [1, 2, 3]
    squares(4)  # in the place of 3
    assert [squares(n) for n in (1, 2, 3)] == [1, 4, 9]
    assert found == [1, 2, 3, 4, 3]
    squares.add(9, 80)
    assert squares(9) == 80
    assert 9 not in found
