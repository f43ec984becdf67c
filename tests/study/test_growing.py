"""Batches and values that grow: as if built anew at every reading, and what was read stays as it was."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.study import history
from bostruct.study.history import ArrayBuffer, BatchBuffer

SPACE = bo.Space({"a": range(4), "b": bool})
DOMAINS: list[Any] = [SPACE, bo.mlp_domain(), bo.joint_domain({"a": SPACE, "b": {"c": bool}})]


@given(st.lists(st.lists(st.integers(-9, 9), max_size=5), max_size=12), st.integers(0, 3))
def test_an_array_is_the_concatenation_of_what_was_appended(chunks, width):
    shape = (0, width) if width else (0,)
    growing, parts, views = ArrayBuffer(np.empty(shape)), [np.empty(shape)], []
    for chunk in chunks:
        rows = np.array([[value] * width for value in chunk] if width else chunk, dtype=float).reshape(-1, *shape[1:])
        growing.extend([rows[:2], rows[2:]], len(rows))
        parts.append(rows)
        views.append((growing.read(), np.concatenate(parts)))
    for found, expected in views:  # also those that were read before more came
        np.testing.assert_array_equal(found, expected)


def test_what_was_read_cannot_be_written_to():
    growing = ArrayBuffer([1.0])
    with pytest.raises(ValueError, match="read-only"):
        growing.read()[0] = 2.0


def test_memory_is_moved_only_as_often_as_the_length_doubles():
    growing, places = ArrayBuffer(np.empty(0)), set()
    for value in range(1_000):
        growing.extend([[float(value)]], 1)
        places.add(growing.read().__array_interface__["data"][0])
    assert len(places) <= 11
    np.testing.assert_array_equal(growing.read(), np.arange(1_000.0))


def test_many_points_are_joined_in_portions_with_room_for_more(monkeypatch):
    monkeypatch.setattr(history, "CHUNK_SIZE", 4)
    points, sizes = list(SPACE.sample(23, np.random.default_rng(0))), []
    growing = BatchBuffer(SPACE, lambda some: sizes.append(len(some)) or SPACE.join(some))
    for x in points[:5]:
        growing.append(x)
    growing.read()
    for x in points[5:]:
        growing.append(x)
    place = growing.read().__array_interface__["data"][0]
    assert sizes == [4, 1, 4, 4, 4, 4, 2]
    for x in points[:3]:
        growing.append(x)
    np.testing.assert_array_equal(growing.read(), SPACE.join(points + points[:3]))
    assert growing.read().__array_interface__["data"][0] == place


@pytest.mark.parametrize("domain", DOMAINS, ids=["space", "architectures", "joint"])
def test_a_batch_is_the_join_of_its_points(domain):
    points = list(domain.sample(9, np.random.default_rng(0)))
    growing = BatchBuffer(domain)
    assert domain.keys(growing.read()) == []
    for n, x in enumerate(points, start=1):
        growing.append(x)
        if n % 3 != 1:  # some are read one by one, some two at a time
            assert domain.keys(growing.read()) == domain.keys(domain.join(points[:n]))
    assert type(growing.read()) is type(domain.join(points))


@pytest.mark.parametrize("domain", DOMAINS, ids=["space", "architectures", "joint"])
def test_a_batch_stays_the_same_object_until_it_grows(domain):
    first, second, third = domain.sample(3, np.random.default_rng(1))
    growing = BatchBuffer(domain)
    growing.append(first)
    before = growing.read()
    assert growing.read() is before
    growing.append(second)
    assert domain.keys(before) == domain.keys(domain.join([first]))
    assert len(growing.read()) == 2
    growing.append(third)
    assert len(growing.read()) == 3
    assert domain.keys(growing.read(2)) == domain.keys(domain.join([first, second]))
    assert domain.keys(before) == domain.keys(domain.join([first]))


def test_what_is_appended_may_have_a_form_of_its_own():
    points = SPACE.sample(5, np.random.default_rng(2))
    growing = BatchBuffer(SPACE, SPACE.from_keys)
    for key in SPACE.keys(points):
        growing.append(key)
        growing.read()
    np.testing.assert_array_equal(growing.read(), points)


def test_a_history_keeps_the_points_of_its_time_and_reads_them_on_first_access():
    study = bo.Study(SPACE, method="random", seed=0)
    study.tell(study.ask(), 1.0)
    before, copied = study._ledger.history(), pickle.loads(pickle.dumps(study._ledger.history()))
    assert "completed" not in vars(before)
    study.tell(study.ask(), 2.0)
    for found in (before, copied, dataclasses.replace(before, values=np.zeros(1))):
        assert (len(found.completed), len(found.values)) == (1, 1)
    assert before.completed is before.completed
    assert len(study._ledger.history().completed) == 2
    with pytest.raises(AttributeError, match="incomplete"):
        before.incomplete  # noqa: B018
    study.close()


def test_a_point_that_another_thread_appends_during_a_reading_is_read_next():
    first, second = SPACE.sample(2, np.random.default_rng(3))
    growing = BatchBuffer(SPACE, lambda some: growing.append(second) or SPACE.join(some))
    growing.append(first)
    assert [len(growing.read()), len(growing.read())] == [1, 2]
