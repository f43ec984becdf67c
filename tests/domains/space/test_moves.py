"""Changes of points under conditions: what a change makes exist, and what it takes away."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.domains.space.single_changes import SingleChanges
from tests.conditional_spaces import conditional_spaces, finite_space, training_space


def test_neighbors_gain_fallback_values_and_lose_what_has_no_condition_left():
    space = finite_space()
    x = space.parse({"a": 1, "b": "z", "d": False})
    shown = [space.present(y) for y in space.neighbors(x)]
    assert {"a": 0, "d": False} in shown
    assert {"a": 2, "b": "z", "d": False} in shown
    assert {"a": 1, "b": "x", "c": False, "d": False} in shown, "c exists, and has its first choice"
    assert len(shown) == 5


def test_an_ordered_variable_begins_in_the_middle():
    space = bo.Space({"on": bool, "level": bo.Integer(1, 9, when={"on": True})})
    assert [space.present(y) for y in space.neighbors(space.parse({"on": False}))] == [{"on": True, "level": 5}]


def test_mutations_draw_what_they_make_exist(rng):
    space = bo.Space({"on": bool, "level": bo.Integer(1, 9, when={"on": True})})
    drawn = {space.present(space.mutate(space.parse({"on": False}), rng))["level"] for _ in range(200)}
    assert drawn == set(range(1, 10))


def test_a_change_that_switches_others_has_where_it_leads_as_its_base():
    space = training_space()
    x = space.parse({"optimizer": "sgd", "momentum": 0.4, "layers": 1})
    batch, of = space.sample_neighborhoods(x[None], 1_000, np.random.default_rng(0))
    assert isinstance(batch, SingleChanges)
    shown = [space.present(y) for y in batch]
    switched = [shown[i] for i in np.flatnonzero(batch.of != of)]
    assert {"optimizer": "adam", "beta": 0.99, "layers": 1} in switched
    assert {"optimizer": "sgd", "momentum": 0.4, "layers": 2, "width_2": 4} in switched
    assert all(point.keys() != {"optimizer", "momentum", "layers"} for point in switched)
    assert all(shown[i].keys() == space.present(x).keys() for i in np.flatnonzero(batch.of == of))
    assert len(batch.base) == 1 + len(switched)


@given(st.one_of(conditional_spaces(), st.builds(training_space)), st.integers(0, 99), st.sampled_from([3, 1_000]))
@settings(max_examples=30, deadline=None)
def test_batches_hold_the_changes_as_rows_would(space, seed, most):
    """The rows that all conditions were asked about, in the same order, by the same draws."""
    rng, again = np.random.default_rng(seed), np.random.default_rng(seed)
    xs = space.sample(3, rng)
    assert np.array_equal(space.sample(3, again), xs)
    batch, _ = space.sample_neighborhoods(xs, most, rng)
    rows = []
    for x in xs:
        which, values = space.adjacency.single_changes(x)
        chosen = np.arange(len(which))
        if len(which) > most:
            chosen = np.sort(again.choice(len(which), size=most, replace=False, shuffle=False))
        for i in chosen:
            row = x.copy()
            row[space.layout.columns(which[i])] = values[i]
            rows.append(space.conditions.apply_with_fallbacks(row[None])[0])
    assert np.array_equal(np.asarray(batch), np.array(rows))
    assert np.array_equal(np.asarray(batch[::2]), np.array(rows)[::2])


def test_fine_numbers_change_only_where_they_switch_others():
    space = training_space()
    x = space.parse({"optimizer": "sgd", "momentum": 0.4, "layers": 1})
    near, _ = space.sample_discrete_neighborhoods(x[None], 1_000, np.random.default_rng(0))
    momenta = [point for point in map(space.present, near) if point.get("momentum", 0.4) != 0.4]
    assert momenta
    assert all("nesterov" in point for point in momenta)


def test_no_points_have_no_neighborhoods():
    space = training_space()
    rows, of = space.sample_neighborhoods(space.join(), 5, np.random.default_rng(0))
    assert len(rows) == len(of) == 0
