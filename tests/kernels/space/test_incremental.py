"""Caches of the last calls: made once, told apart by what they were made for, and left out of pickles."""

from __future__ import annotations

import pickle

import numpy as np

from bostruct.kernels.space.factor import LastCall, LastThetas

CALLS: list[str] = []


def add(xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    CALLS.append("add")
    return xs + ys


def double(theta: np.ndarray) -> np.ndarray:
    CALLS.append("double")
    return 2.0 * theta


def count(act) -> int:
    before = len(CALLS)
    act()
    return len(CALLS) - before


def test_the_last_call_is_kept_for_the_same_two_arrays():
    cache, xs, ys = LastCall(add), np.array([1]), np.array([2])
    assert cache(xs, ys).tolist() == [3]
    assert count(lambda: cache(xs, ys)) == 0
    assert cache(xs.copy(), ys).tolist() == [3]
    assert count(lambda: cache(xs, ys)) == 1  # an equal array is another one
    assert count(lambda: cache(xs, xs)) == 1


def test_the_last_few_parameters_are_kept_by_value():
    cache, thetas = LastThetas(double, most=2), [np.array([float(i)]) for i in range(3)]
    assert [cache(theta).tolist() for theta in thetas] == [[0.0], [2.0], [4.0]]
    assert count(lambda: cache(thetas[1].copy())) == 0
    assert count(lambda: cache(thetas[0])) == 1  # the oldest was forgotten
    assert count(lambda: cache(thetas[1])) == 0  # its use made it younger than the third
    assert count(lambda: cache(thetas[2])) == 1


def test_a_pickle_leaves_the_values_out():
    xs, theta = np.array([1]), np.array([1.0])
    pair, one = LastCall(add), LastThetas(double, most=2)
    pair(xs, xs)
    one(theta)
    read_pair, read_one = pickle.loads(pickle.dumps((pair, one)))
    assert count(lambda: read_pair(xs, xs)) == 1
    assert count(lambda: read_one(theta)) == 1
    assert count(lambda: pair(xs, xs)) == 0
