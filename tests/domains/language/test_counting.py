"""Counts of spaces whose parts reach hyperparameters through objects, or nest without end."""

from collections import Counter
from functools import partial

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.domains.language import counting
from bostruct.domains.language import space as space_module
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


class Net:
    """Its parts find a hyperparameter of the whole in an attribute."""

    def whole(self):
        self.h = D([1, 2, 3])
        either = [siso_or([self.optional, self.repeated], D([0, 1])) for _ in range(2)]
        return siso_sequential([siso_module("Stem", {"h": self.h}), *either])

    def optional(self):
        return siso_optional(lambda: siso_module("A", {"x": self.h}), D([0, 1]))

    def repeated(self):
        return siso_repeat(lambda: siso_module("B", {"x": D([0, 1])}), self.h)


@pytest.fixture
def unlisted(monkeypatch):
    """Spaces that are drawn from by trace, however few their programs are."""
    monkeypatch.setattr(space_module, "MAX_KEPT_TRACES", 0)


def test_what_is_reached_through_an_object_is_counted(unlisted):
    del unlisted
    space = SearchSpace(Net().whole)
    traces = list(space.enumerate("depth"))
    assert space.count() == lang.Exact(len(traces)) == lang.Exact((2 + 2) ** 2 + (2 + 4) ** 2 + (2 + 8) ** 2)
    drawn = Counter(space.sample(5 * len(traces), np.random.default_rng(0), by="architecture"))
    chi_square = sum((drawn[x] - 5) ** 2 / 5 for x in traces)
    assert chi_square < 211  # p = 0.001 at 151 degrees of freedom


def equal_parts():
    """Two parts that are built by the same code, without hyperparameters of their own, each with three choices."""

    def one(_):
        return siso_sequential([siso_optional(lambda: siso_module("A", {"x": D([1, 2, 3])}), D([0, 1])) for _ in "ab"])

    return siso_sequential([substitution_module("Part", one, {}, ["in"], ["out"]) for _ in "ab"])


def test_values_inside_a_part_leave_the_counts_of_parts_that_are_written_alike():
    space = SearchSpace(equal_parts)
    every = list(space.enumerate())
    assert space.count() == lang.Exact(len(every)) == lang.Exact(4**4)
    for x in every[:: len(every) // 7]:
        part = space
        while not part.is_terminal:
            h = part.hyperparameters[0]
            part = part.assign(h, x[h.path])
            agreeing = sum(all(y.get(path) == value for path, value in part.trace.items()) for y in every)
            assert part.count() == lang.Exact(agreeing)


def test_traces_of_parts_that_are_written_alike_are_drawn_evenly(unlisted):
    del unlisted
    space, m = SearchSpace(equal_parts), 200
    drawn = space.sample(m, np.random.default_rng(0), by="architecture")
    for path in (path for path in drawn[0] if path.endswith(".opt")):
        present = sum(x[path] for x in drawn)  # with a chance of three in four, three traces to one
        assert abs(present - 150) < 4 * (200 * 3 / 16) ** 0.5


def test_an_endless_space_is_so_wherever_its_choices_stand():
    space = SearchSpace(again)
    for _ in range(5):
        h = space.hyperparameters[0]
        assert space.assign(h, 0).count() == lang.Exact(1)
        space = space.assign(h, 1)
        assert space.count() == lang.INFINITE


def counted(i):
    return siso_sequential([siso_module("A"), siso_optional(lambda: counted(i + 1), D([0, 1]))])


def again():
    return siso_sequential([siso_module("A"), siso_optional(partial(again), D([0, 1]))])


def test_endless_spaces_whose_parts_all_differ():
    size = SearchSpace(lambda: counted(0)).count()
    assert isinstance(size, lang.AtLeast)
    assert size.count == 100
    assert SearchSpace(lambda: siso_optional(partial(counted, 3), D([0, 1]))).count() == lang.AtLeast(100)
    assert SearchSpace(again).count() == lang.INFINITE


def test_functions_that_are_held_many_times_are_read_once():
    def level(n):
        if n == 0:
            return siso_module("A", {"x": D([0, 1])})
        deeper = lambda: level(n - 1)  # noqa: E731
        return siso_or([deeper, deeper, deeper], D([0, 1, 2]))

    assert SearchSpace(lambda: level(30)).count() == lang.Exact(2 * 3**30)


def test_long_sequences():
    n = 3_000
    long = SearchSpace(lambda: siso_sequential([siso_optional(lambda: siso_module("A"), D([0, 1])) for _ in range(n)]))
    assert long.count() == lang.Exact(2**n)


def test_equal_sets_of_values_are_written_alike():
    def walk(left, visited):
        if not left:
            return siso_module("End", {"n": len(visited)})
        more = [partial(walk, left - 1, visited | {(left % 2, bit)}) for bit in (0, 1)]
        return siso_or(more, D([0, 1]))

    assert SearchSpace(lambda: walk(60, frozenset())).count() == lang.Exact(2**60)


def test_counting_keeps_few_of_the_parts_that_it_looks_at(monkeypatch):
    monkeypatch.setattr(counting, "MAX_CACHED_COUNTS", most := 40)
    n = 8

    def bits(position, chosen):
        if position == n:
            return lang.siso_module("M", {"x": chosen})
        fn = lambda dh: bits(position + 1, 2 * chosen + dh["b"])  # noqa: E731
        return lang.substitution_module("Bit", fn, {"b": D([0, 1])}, ["in"], ["out"])

    space = SearchSpace(lambda: bits(0, 0))
    assert space.count() == lang.Exact(2**n)
    kept, left = 0, [*space._walk.root.modules]
    for module in left:  # grows as it goes
        kept += len(module.expansions)
        left += [inner for part in module.expansions.values() for inner in part.modules]
    assert 0 < kept <= most < 2**n
    assert {space.present(x).nodes[0].values["x"] for x in space.enumerate()} == set(range(2**n))
