"""The steps that laws share, and the laws without pytest and with assertions switched off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bostruct as bo
import bostruct.testing
from bostruct.testing import check_domain
from bostruct.testing.batch_laws import check_batch
from bostruct.testing.change_laws import check_neighborhoods
from bostruct.testing.common import (
    assert_close,
    check_array,
    copy_batch,
    every_point,
    is_raised,
    names_part,
    naming,
    read_back,
    sample_changes,
)
from tests.permutations import Permutations

SPACE = bo.Space({"a": bool, "b": list("pqrs"), "c": range(6)})
PARTS = "acquisition domain enumeration factor feasibility kernel maximizer pool posterior prior score_builder"
PARTS += " score_gradient searcher storage surrogate variable"


def test_laws_need_no_pytest_and_say_what_is_broken():
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
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "\nAssertionError: Stuck breaks the law: mutate returns a different point: got" in done.stderr


def test_laws_refuse_to_run_where_assertions_are_skipped():
    optimized = compile(Path(bostruct.testing.__file__).read_text(), "testing", "exec", optimize=1)
    with pytest.raises(ImportError, match=r"bostruct.testing: Python runs with -O, which skips assertions"):
        exec(optimized, {})


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


def test_a_difference_says_where_and_how_many():
    found, expected = np.array([[1.0, 2.0], [np.nan, np.inf]]), np.array([[1.0, 3.0], [0.0, np.inf]])
    with pytest.raises(AssertionError) as caught:
        assert_close(found, expected, 0.0, "rows agree")
    assert str(caught.value) == "rows agree: expected 3.0, got 2.0 at (0, 1), the first of 2 numbers that differ"
    assert_close(np.array([np.nan, -np.inf]), np.array([np.nan, -np.inf]), 0.0, "the same")


def test_an_array_is_told_from_anything_else():
    assert check_array(np.zeros((2, 3)), 2, "it is one").shape == (2, 3)
    with pytest.raises(AssertionError, match=r"it is one: expected an array, got \[1\]"):
        check_array([1], 1, "it is one")
    with pytest.raises(AssertionError, match=r"it is one: expected 2 dimensions, got shape \(3,\)"):
        check_array(np.zeros(3), 2, "it is one")


def test_all_points_of_a_small_domain_are_listed():
    rng = np.random.default_rng(0)
    every = every_point(SPACE, 64, rng)
    assert every is not None
    assert sorted(SPACE.keys(every)) == sorted(SPACE.keys(SPACE.enumerate()))
    assert every_point(SPACE, 47, rng) is None
    some = bo.Space({"a": range(6), "b": range(6)}, [lambda p: p["a"] < p["b"]])
    assert len(some.keys(every_point(some, 64, rng))) == 15


class Part:
    def give(self, number):
        raise KeyError(number)

    def twice(self):
        return self.give(2)


@names_part
def law(part, what):
    if what == "breaks":
        raise AssertionError("parts do not break")
    if what == "raises":
        part.twice()
    if what == "misfits":
        len(part)


def test_messages_open_with_the_part_and_say_what_came():
    for what, says in (
        ("breaks", "Part breaks the law: parts do not break"),
        ("raises", "Part breaks the law: .* raised KeyError: 2; the law was at `"),
        (
            "misfits",
            r"Part breaks the law: .* raised TypeError: object of type 'Part' has no len\(\); the law was at `",
        ),
    ):
        with pytest.raises(AssertionError, match=rf"^{says}"):
            law(what=what, part=Part())
    with pytest.raises(AssertionError) as caught, naming(Part()):
        law(Part(), "breaks")
    assert str(caught.value) == "Part breaks the law: parts do not break"


def test_an_error_names_the_method_and_the_step_of_the_law():
    class Broken(bo.Space):
        def take(self, batch, positions):
            if len(positions):
                return super().take(batch, positions)
            return {}["nothing"]

    with pytest.raises(AssertionError) as caught:
        check_domain(Broken({"a": range(5)}), np.random.default_rng(0))
    assert str(caught.value).startswith("Broken breaks the law: take raised KeyError: 'nothing'; the law was at `")
    assert isinstance(caught.value.__cause__, KeyError)

    class Empty(bo.Space):
        def sample(self, m, rng):
            del m, rng

    with pytest.raises(
        AssertionError, match=r"^Empty breaks the law: a result does not have the form of the contract, TypeError: "
    ):
        check_domain(Empty({"a": range(5)}), np.random.default_rng(0))


@pytest.mark.parametrize("data", [np.int64(3), {"x": float("nan")}, {1, 2}])
def test_what_json_cannot_hold_breaks_a_law(data):
    with pytest.raises(AssertionError, match="stored data are plain JSON"):
        read_back(data)
