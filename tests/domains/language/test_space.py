"""Spaces of programs as domains: what they draw, list and refuse; the laws are in test_laws.py."""

import json
import math
from collections import Counter

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.contracts import DomainError, PointError, SpaceExhausted
from bostruct.domains.language import errors
from bostruct.domains.language import space as space_module
from bostruct.domains.language.space import SearchSpace
from bostruct.language import D, Infeasible, Trace, TraceError, siso_module, siso_or
from bostruct.testing import check_domain
from examples.language_figures import figure_4
from tests.domains.language.more_programs import endless, layers_of_kinds


def two_of(n):
    return lambda: siso_module("M", {"a": D(range(n)), "b": D(range(n))})


def test_what_is_no_point_or_generator_is_refused_by_name(rng):
    space = SearchSpace(figure_4)
    x = space.sample(1, rng)[0]
    assert space.present(dict(x)) == space.present(x)
    assert space.mutate(dict(x), rng) != x
    assert space.crossover(dict(x), dict(x), rng) == x
    for call in (lambda r: space.sample(1, r), lambda r: space.mutate(x, r), lambda r: space.complete({}, r)):
        with pytest.raises(TypeError, match="rng: expected a numpy Generator"):
            call(0)
    with pytest.raises(ValueError, match="m: expected at least 0, got -1"):
        space.sample(-1, rng)
    for place, value, words in (
        (3, 1, "hyperparameter: expected a hyperparameter or its path, got 3"),
        ("SISORepeat-0.num_reps", [1], r"expected one of \[1, 2, 4\], got \(1,\)"),
    ):
        with pytest.raises(TraceError, match=words):
            space.assign(place, value)
    for place, value in (("zz", 1), ("SISORepeat-0.num_reps", 3)):
        with pytest.raises(TraceError, match=f"{place}: no such choice or value"):
            space.complete({place: value}, rng)
    assert len(repr(space.present(x))) < 250


def test_a_space_without_programs_says_so():
    def never(_):
        raise Infeasible("never")

    space = SearchSpace(lambda: lang.substitution_module("Never", never, {"a": D([1, 2])}, ["in"], ["out"]))
    assert space.count() == lang.Exact(0)
    with pytest.raises(errors.NoneFeasible, match="the last one: never"):
        space.sample(1, np.random.default_rng(0))


def test_all_programs_are_drawn_unseen_and_then_the_space_is_exhausted(rng):
    space, seen = SearchSpace(layers_of_kinds), []
    for _ in range(155):
        seen.append(space.sample_unseen(frozenset(space.keys(seen)), rng))
    assert len(set(seen)) == space.size == 155
    assert set(seen) == set(space.enumerate())
    with pytest.raises(SpaceExhausted, match="all 155 programs of the space have been seen"):
        space.sample_unseen(frozenset(space.keys(seen)), rng)


def test_the_few_that_are_left_are_equally_likely(rng):
    space = SearchSpace(layers_of_kinds)  # by decisions, a program of one layer is much likelier than one of three
    every = list(space.enumerate())
    left = [min(every, key=len), *[x for x in every if x["SISORepeat-0.num_reps"] == 3][:3]]
    seen = frozenset(space.keys(every)) - set(space.keys(left))
    counts = Counter(space.sample_unseen(seen, rng) for _ in range(400))
    assert sum((counts[x] - 100) ** 2 / 100 for x in left) < 16.3  # p = 0.001 at three degrees of freedom


def test_spaces_too_large_to_list_give_up_after_as_many_draws_as_they_say(rng, monkeypatch):
    space = SearchSpace(endless)
    stuck = space.sample(1, rng)
    monkeypatch.setattr(SearchSpace, "sample", lambda _space, m, _rng: stuck * m)
    with pytest.raises(SpaceExhausted, match="no unseen program in 1024 draws; 1 were seen"):
        space.sample_unseen(frozenset(space.keys(stuck)), rng)


def test_sizes_are_counts_or_infinite():
    assert (SearchSpace(two_of(7)).size, SearchSpace(endless).size) == (49, math.inf)


def test_points_are_read_in_every_form_that_users_have(rng):
    space = SearchSpace(layers_of_kinds)
    x = space.sample(1, rng)[0]
    assert {space.parse(form) for form in (x, dict(x), space.present(x), space.replay(x))} == {x}
    assert space.decode(json.loads(json.dumps(space.encode(x)))) == x
    assert space.encodings([x, x]) == space.join([x], [], [x]) == [x, x]
    assert space.keys([x, x]) == [space.present(x).fingerprint] * 2
    with pytest.raises(PointError, match="expected a Trace, got "):
        space.check(dict(x))
    with pytest.raises(TraceError, match="no value for"):
        space.check(Trace({}))


def test_neighbors_are_sampled_without_repetition_listed_or_drawn(rng, monkeypatch):
    space = SearchSpace(two_of(5))
    x = Trace({"M-0.a": 0, "M-0.b": 0})
    listed = space.neighbors(x)
    assert len(listed) == len(set(listed)) == 8
    assert space.sample_neighbors(x, 8, rng) == space.sample_neighbors(x, 100, rng) == listed
    for _ in range(5):
        some = space.sample_neighbors(x, 3, rng)
        assert len(some) == 3
        assert some == [y for y in listed if y in some]  # in their order
    monkeypatch.setattr(space_module, "NEIGHBORS_LISTED", 7)
    with pytest.raises(DomainError, match="neighbors: more than 7; use sample_neighbors"):
        space.neighbors(x)
    monkeypatch.setattr(space_module, "NEIGHBORS_COUNTED", 2)
    drawn = space.sample_neighbors(x, 3, rng)
    assert len(set(drawn)) == 3
    assert set(drawn) <= set(listed)


def test_choices_are_drawn_anew_by_name_and_the_others_kept(rng):
    space = SearchSpace(layers_of_kinds)
    x = space.complete({"SISORepeat-0.num_reps": 3}, rng).trace
    assert (space.names(x), space.resample(x, [], rng)) == (tuple(x), x)
    for name in x:
        others = [space.resample(x, [name], rng) for _ in range(20)]
        assert len({y.get(name) for y in others}) > 1
        assert all(y[path] == x[path] for y in others for path in y if path in x and path != name)


def test_laws(rng):
    check_domain(SearchSpace(layers_of_kinds), rng, rebuildable=False)


def test_what_was_assigned_is_no_decision_any_more(rng):
    part = SearchSpace(layers_of_kinds).assign("SISORepeat-0.num_reps", 1)
    assert part.options(()) == 2
    assert len(part.decisions(part.sample(1, rng)[0])) == len(part.sample(1, rng)[0]) - 1 or part.size == 5


def test_what_nests_too_deeply_is_infeasible_for_those_who_decide(rng):
    def forever():
        return siso_or([forever, forever], D([0, 1]))

    space = SearchSpace(forever, max_depth=4)
    with pytest.raises(Infeasible, match="more than 4 nested substitutions"):
        space.options((0,) * 5)
    with pytest.raises(Infeasible):
        space.roll_out((), rng)


def test_fingerprints_tell_spaces_apart_that_show_or_build_other_things():
    def leaf(kind):
        return lambda: siso_or([lambda: siso_module(kind), lambda: siso_module("B")], D([0, 1]))

    prints = [SearchSpace(builder).fingerprint for builder in (two_of(2), two_of(3), leaf("A"), leaf("C"))]
    assert (len(set(prints)), SearchSpace(leaf("A")).fingerprint) == (4, prints[2])
    assert SearchSpace(leaf("A")).assign("SISOOr-0.idx", 0).fingerprint != prints[2]
    description = SearchSpace(layers_of_kinds).to_json()
    assert (description["domain"], description["builder"]) == ("language", "layers_of_kinds")
