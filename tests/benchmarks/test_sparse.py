"""Problems where few variables matter: instances are fixed, and only those variables change the value."""

import itertools
import sys

import numpy as np
import pytest

from benchmarks.sparse import PROBLEMS, main, noisy_bits, run_once

MATTER = {"100 bits, 8 matter": 8, "300 bits, 10 matter": 10, "60 categories, 5 matter": 5, "Hartmann-6 in 20": 6}


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_instance_is_fixed_by_its_seed(name):
    first, again, other = (PROBLEMS[name](seed) for seed in (3, 3, 4))
    point = first.space.present(first.space.sample(1, np.random.default_rng(0))[0])
    assert first.truth(point) == again.truth(point) != other.truth(point)


@pytest.mark.parametrize(("name", "count"), MATTER.items())
def test_only_the_variables_that_matter_change_the_value(name, count):
    task = PROBLEMS[name](0)
    points = [task.space.present(row) for row in task.space.sample(12, np.random.default_rng(1))]
    others = [task.space.present(row) for row in task.space.sample(12, np.random.default_rng(2))]
    changes = {
        v
        for v in task.space.variables
        for p, q in zip(points, others, strict=True)
        if task.truth(p | {v: q[v]}) != task.truth(p)
    }
    assert len(changes) == count


def test_the_noisy_function_has_a_minimum_of_zero_and_equal_signal_and_noise():
    task = PROBLEMS["16 noisy bits"](0)
    values = [task.truth(task.space.present(row)) for row in task.space.enumerate()[::7]]
    assert min(values) >= 0.0
    assert np.std(values) == pytest.approx(2.0, rel=0.02)
    assert task.sd == 2.0


@pytest.mark.parametrize("search", ["auto", "all variables"])
def test_a_run_reports_its_values(search):
    found = run_once("16 noisy bits", search, 0, 22)
    assert len(found.best) == 22
    assert found.best == sorted(found.best, reverse=True)
    assert found.recommended is not None


def test_an_unknown_search_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sparse", "--searches", "auto,TPE"])
    with pytest.raises(SystemExit):
        main()
    assert "expected some of HEBO, Optuna TPE, all variables, auto, before; got TPE" in capsys.readouterr().err


def test_a_balanced_design_comes_out_as_simulated():
    task = noisy_bits(4, 3)
    points = np.array(list(itertools.product([0, 1], repeat=4)))
    truths = np.array([task.truth(dict(enumerate(row))) for row in points.tolist()])
    values = truths + task.sd * np.random.default_rng(0).normal(size=(40_000, 16))
    weights = np.linalg.lstsq(np.hstack([points, np.ones((16, 1))]), values.T, rcond=None)[0][:4]
    picked = ((weights < 0.0) * np.array([[8], [4], [2], [1]])).sum(axis=0)
    assert truths[picked].mean() == pytest.approx(task.balanced(16), rel=0.02)
