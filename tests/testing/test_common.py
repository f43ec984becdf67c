"""The steps that laws share, and the laws without pytest and with assertions switched off."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import bostruct as bo
import bostruct.testing
from bostruct.testing.batch_laws import check_batch
from bostruct.testing.change_laws import check_neighborhoods
from bostruct.testing.common import assert_close, copy_batch, is_raised, read_back, sample_changes
from tests.permutations import Permutations

SPACE = bo.Space({"a": bool, "b": list("pqrs"), "c": range(6)})
PARTS = "acquisition domain enumerated kernel maximizer pool posterior prior searcher storage surrogate"


def run(*options: str) -> str:
    """Import the laws in a process that cannot import pytest, and check a domain that breaks one."""
    script = """
import sys
sys.modules["pytest"] = None
import numpy as np
import bostruct as bo
from bostruct.testing import check_domain
class Stuck(bo.Space):
    def mutate(self, x, rng):
        return x
check_domain(bo.Space({"a": range(5)}), np.random.default_rng(0))
check_domain(Stuck({"a": range(5)}), np.random.default_rng(0))
"""
    done = subprocess.run([sys.executable, *options, "-c", script], capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1]


def test_laws_need_no_pytest_and_say_what_is_broken():
    assert run().startswith("AssertionError: mutate returns another point than")


def test_laws_refuse_to_run_where_assertions_are_skipped():
    assert run("-O").startswith("ImportError: bostruct.testing: Python runs with -O, which skips assertions")


def test_each_part_has_its_law():
    assert bostruct.testing.__all__ == [f"check_{part}" for part in PARTS.split()]


def test_a_copy_is_equal_and_shares_nothing():
    xs = SPACE.sample(4, np.random.default_rng(0))
    copy = copy_batch(SPACE, xs)
    assert SPACE.keys(copy) == SPACE.keys(xs)
    assert not np.shares_memory(copy, xs)
    points = [(0, 1, 2), (2, 1, 0)]
    copied = copy_batch(Permutations(3), points)
    assert copied == points
    assert copied[0] is not points[0]


def test_single_changes_come_with_the_rows_that_they_are():
    rng = np.random.default_rng(0)
    pair = sample_changes(SPACE, SPACE.sample(2, rng), 3, rng)
    assert pair is not None
    assert (type(pair.changes).__name__, type(pair.rows)) == ("SingleChanges", np.ndarray)
    assert SPACE.keys(pair.changes) == SPACE.keys(pair.rows)
    check_batch(SPACE, pair.changes, rng)
    check_neighborhoods(SPACE, pair.rows[0], rng)
    assert sample_changes(Permutations(4), [(0, 1, 2, 3)], 3, rng) is None


def test_errors_are_told_apart():
    def fail() -> None:
        raise KeyError("k")

    assert is_raised(LookupError, fail)
    assert not is_raised(LookupError, lambda: None)
    with pytest.raises(KeyError):
        is_raised(ValueError, fail)


def test_a_difference_names_the_law():
    assert_close([1.0], [1.0 + 1e-9], 1e-8, "one is one")
    with pytest.raises(AssertionError, match="one is two"):
        assert_close([1.0], [2.0], 1e-8, "one is two")
    with pytest.raises(AssertionError, match=r"one is two: expected shape \(2,\), got \(1,\)"):
        assert_close([1.0], [2.0, 2.0], 1e-8, "one is two")


@pytest.mark.parametrize("data", [np.int64(3), {"x": float("nan")}, {1, 2}])
def test_what_json_cannot_hold_breaks_a_law(data):
    with pytest.raises(AssertionError, match="what goes to disk is plain JSON"):
        read_back(data)
