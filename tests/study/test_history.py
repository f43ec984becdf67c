"""Histories and trials as values."""

from __future__ import annotations

import dataclasses
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import bostruct as bo
from bostruct.study.history import ArrayBuffer, History, Trial, show_points
from bostruct.study.point_forms import PointForm
from tests.interrupting import interrupt_call

SPACE = bo.Space({"a": range(6), "b": ["<x>", "y"]})


def test_every_point_counts_as_seen_whatever_became_of_it():
    xs = SPACE.enumerate()
    history = History.of(SPACE, xs[:3], [3, 1, 2], running=xs[3:5], failed=xs[5:6])
    assert history.seen == frozenset(SPACE.keys(xs[:6]))
    assert [len(part) for part in (history.completed, history.running, history.failed)] == [3, 2, 1]
    assert (history.values.dtype, history.values.tolist()) == (np.float64, [3.0, 1.0, 2.0])
    np.testing.assert_array_equal(history.completed, xs[:3])


@pytest.mark.parametrize("domain", [SPACE, bo.mlp_domain()])
def test_an_empty_history_has_empty_batches_of_the_domain(domain):
    history = History.of(domain, [], [])
    assert history.seen == frozenset()
    assert all(domain.keys(part) == [] for part in (history.completed, history.running, history.failed))


@pytest.mark.parametrize(("values", "best"), [([2.0, 1.0, 1.0], 1), ([0.0], 0), ([5.0, 4.0, -1e300], 2)])
def test_the_best_is_the_first_of_the_smallest(values, best):
    assert History.of(SPACE, SPACE.enumerate()[: len(values)], values).best == best


def test_a_trial_knows_how_its_point_was_chosen():
    trial = Trial(3, {"a": 1}, "running", info={"origin": "model"})
    assert trial.origin == "model"
    assert Trial(0, {"a": 1}, "running").origin == "unknown"
    with pytest.raises(dataclasses.FrozenInstanceError):
        trial.status = "completed"  # type: ignore[misc]


def test_a_double_is_known_as_one_by_whatever_version_it_was_written():
    for origin in ("added", "double"):
        trial = Trial(1, {}, "completed", 1.0, info={"origin": origin, "double_of": 0})
        assert (trial.origin, trial.is_extra) == ("double", True)


def test_a_point_that_is_made_later_can_be_asked_for_again_where_that_was_interrupted():
    def show(_, __):
        if not interrupts:
            return {"a": 1}
        raise interrupts.pop()

    interrupts = [KeyboardInterrupt()]
    trial = Trial.shown_later(show, None, number=0, status="running")
    with pytest.raises(KeyboardInterrupt):
        _ = trial.point
    assert trial.point == pickle.loads(pickle.dumps(trial)).point == {"a": 1}
    assert trial == Trial(0, {"a": 1}, "running")
    with pytest.raises(AttributeError, match="no attribute 'name'"):
        _ = trial.name


@pytest.mark.usefixtures("default_sigint")
def test_an_interrupt_leaves_no_value_twice(monkeypatch):
    study = bo.Study({"a": range(9)}, method="random", seed=0)
    for a in range(5):
        study.add({"a": a}, float(a))
    with monkeypatch.context() as interrupted:
        interrupted.setattr(ArrayBuffer, "extend", interrupt_call(ArrayBuffer.extend, at=2))
        with pytest.raises(KeyboardInterrupt):
            study.ask()
    assert study.ask().point["a"] >= 5
    assert study._ledger.history().values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_points_of_trials_are_made_at_once_and_not_kept():
    space = bo.Space({"a": bo.Real(0.0, 1.0), "b": ["x", "y"]})
    form, xs = PointForm(space), space.sample(3, np.random.default_rng(0))
    later = [Trial.shown_later(form, form.keep(x), number=0, status="running") for x in xs]
    later[1].info["given"] = {"a": 0.25}
    expected = [space.present(x) for x in xs]
    expected[1]["a"] = 0.25  # as the user gave it
    read = Trial(1, expected[1], "running")
    assert list(show_points(later)) == list(show_points([later[0], read, later[2]])) == expected
    assert not any("point" in trial.__dict__ for trial in later)


def test_a_pickled_trial_has_its_shown_point_alone():
    trial = Trial.shown_later(lambda kept, info: kept() + len(info), lambda: 7, number=0, status="running")
    copied = pickle.loads(pickle.dumps(trial))
    assert copied.point == 7
    assert copied == trial
    assert (copied.info, copied.constraints) == ({}, {})
    copied.info["a"] = 1
    assert trial.info == {}


def test_threads_that_ask_for_a_point_at_once_are_given_the_same():
    both = threading.Barrier(2, timeout=60)

    def show(_, __):
        both.wait()
        return {"a": 1}

    trial = Trial.shown_later(show, None, number=0, status="running")
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda one: one.point, [trial, trial])
    assert first is second is trial.point


def test_a_trial_shows_what_it_has_and_nothing_else():
    done = Trial(3, {"a": 1, "b": "<x>"}, "completed", 0.5, info={"origin": "initial"}, started=10.0, finished=12.5)
    html = done._repr_html_()
    for part in ("<caption>Trial 3</caption>", "<td>completed</td>", "<td>0.5</td>", "<td>2.50</td>", "&lt;x&gt;"):
        assert part in html
    assert "reason" not in html
    running = Trial(4, {"a": 1, "b": "y"}, "running")._repr_html_()
    assert not any(f"<th>{name}</th>" in running for name in ("value", "reason", "seconds"))
    assert "<th>reason</th><td>too &lt;hot&gt;</td>" in Trial(5, {}, "failed", reason="too <hot>")._repr_html_()
