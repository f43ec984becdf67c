"""The spaces that the paper prints hold as many programs as it says, and are sampled, enumerated and searched."""

import time
from itertools import islice

import numpy as np
import pytest

import bostruct as bo
from bostruct.language import INFINITE, AtLeast, Exact, SearchSpace
from examples.language_figures import COUNTS, figure_4, figure_11, figure_16, figure_18, main

ENUMERATED = [fn for fn, count in COUNTS.items() if count < 3000]


@pytest.mark.parametrize(
    "builder", [pytest.param(fn, marks=pytest.mark.slow) if fn is figure_16 else fn for fn in COUNTS]
)
def test_counts(builder):
    assert SearchSpace(builder).count(budget=10**6) == Exact(COUNTS[builder])


@pytest.mark.slow
def test_the_example_prints_them(capsys):
    main()
    printed = [line.split()[1:3] for line in capsys.readouterr().out.splitlines()]
    assert {"4": "25,008", "10": "27", "11": "243", "16": "1,321,205,760", "18": "inf"}.items() <= dict(printed).items()
    assert len(printed) == len(COUNTS) + 1


@pytest.mark.parametrize("builder", ENUMERATED)
def test_all_programs_are_enumerated_once(builder):
    space = SearchSpace(builder)
    traces = list(space.enumerate())
    assert len(traces) == len(set(traces)) == COUNTS[builder]
    assert set(space.enumerate("length")) == set(traces)
    for trace in traces[:: max(len(traces) // 20, 1)]:
        assert space.replay(trace).trace == trace


def test_the_running_example_has_25008_distinct_models():
    space = SearchSpace(figure_4)
    traces = list(space.enumerate())
    assert len(traces) == 25_008
    assert sorted({len(trace) for trace in traces}) == [6, 7, 9, 10, 15, 16]
    prints = {space.present(trace).fingerprint for trace in traces[::7]}
    assert len(prints) == len(traces[::7])


@pytest.mark.parametrize(("nodes", "count"), [(2, 4 * 16), (3, 4 * 2 * 64), (4, 4 * 6 * 256)])
def test_the_enas_cell_is_enumerated(nodes, count):
    space = SearchSpace(lambda: figure_16(nodes))
    assert (space.count(), len(set(space.enumerate()))) == (Exact(count), count)


def test_filters_follow_the_chain_of_dependent_hyperparameters():
    space = SearchSpace(figure_11)
    for trace in islice(space.enumerate(), 0, None, 17):
        filters = [node.values["filters"] for node in space.present(trace).nodes]
        factor = filters[1] // filters[0]
        assert filters == [filters[0], factor * filters[0], factor**2 * filters[0]]


def test_an_infinite_space_is_counted_sampled_enumerated_and_searched():
    space = SearchSpace(figure_18)
    assert space.count() is INFINITE
    assert space.size == float("inf")
    lengths = [len(trace) for trace in islice(space.enumerate(), 200)]
    assert (lengths, lengths.count(2), lengths.count(4)) == (sorted(lengths), 2, 4)
    assert max(len(trace) for trace in space.sample(300, np.random.default_rng(0))) > 12
    result = bo.maximize(lambda p: -abs(len(p) - 5.0), space, 60, method="evolution", seed=0)
    assert result.best_value == 0.0


def test_counting_does_not_visit_what_it_counts():
    began = time.perf_counter()
    assert SearchSpace(COUNTS_BY_NAME["figure_19_4"]).count() == Exact(3_204_994_455_594)
    assert time.perf_counter() - began < 5.0


def test_a_spent_budget_gives_a_lower_bound():
    space = SearchSpace(COUNTS_BY_NAME["figure_19_4"])
    found = space.count(budget=20)
    assert isinstance(found, AtLeast)
    assert 0 <= found.count <= 3_204_994_455_594


COUNTS_BY_NAME = {builder.__name__: builder for builder in COUNTS}
