"""The record of trajectories: equal runs have equal digests, and planted faults are found."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from benchmarks.trajectories import find_difference, list_numbers, main, make_domains, record


def find_fault(tmp_path, kind, method, plant, trials=13):
    before = record(kind, method, 0, trials, str(tmp_path))
    assert find_difference(before, record(kind, method, 0, trials, str(tmp_path))) is None
    plant()
    return find_difference(before, record(kind, method, 0, trials, str(tmp_path)))


def test_a_draw_that_is_moved_is_found(tmp_path, monkeypatch):
    sample = bo.Space.sample

    def draw_before(space, m, rng):
        rng.random()
        return sample(space, m, rng)

    found = find_fault(tmp_path, "permutation", "random", lambda: monkeypatch.setattr(bo.Space, "sample", draw_before))
    assert found == "points from trial 0 on (13 and 13 trials)"


def test_a_tie_that_is_broken_otherwise_is_found(tmp_path, monkeypatch):
    argsort = np.argsort

    def last_of_equals_first(values, *arguments, **options):
        return len(values) - 1 - argsort(values[::-1], *arguments, **options)

    found = find_fault(tmp_path, "bits", "smac", lambda: monkeypatch.setattr(np, "argsort", last_of_equals_first))
    assert found is not None


def test_a_default_in_place_of_its_override_is_found(tmp_path, monkeypatch):
    def ask_one_by_one(space, xs, m, rng, *_):
        found = [rng.permutation(space.neighbors(x))[:m] for x in xs]
        return space.join(*found), np.repeat(np.arange(len(found)), [len(near) for near in found])

    found = find_fault(
        tmp_path, "bits", "auto", lambda: monkeypatch.setattr(bo.Space, "sample_neighborhoods", ask_one_by_one), 20
    )
    assert found is not None


def test_seconds_and_texts_are_left_out_and_each_number_has_its_path():
    data = {"a": [1, {"b": True, "c": "text"}], "suggest_seconds": 3.0, "version": 4}
    assert list(list_numbers(data)) == [("/a/0", 1), ("/a/1/b", True)]


@pytest.mark.parametrize("kind", make_domains())
def test_each_kind_is_a_domain_that_random_search_takes(tmp_path, kind):
    assert len(record(kind, "random", 0, 2, str(tmp_path))["points"]) == 2


def test_a_revision_is_asked_for(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["trajectories"])
    with pytest.raises(SystemExit):
        main()
    assert "REVISION: expected a revision of git" in capsys.readouterr().err
