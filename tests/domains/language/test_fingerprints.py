"""What modules hold, as data: equal for equal things, and the same in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.domains.language.fingerprints import canonical_data, closure_values, identity_of
from bostruct.language import D, LanguageError, SearchSpace
from tests.domains.language.more_programs import one, other_step, scaled, step

CONSTANTS = [step, partial(step, 1), np.add, str, {"b": {3, 1}, "a": [step, (1, None)]}, np.arange(3.0), range(4)]


def constants():
    """A space of constants of many sorts, and a choice."""
    held = {f"x{i}": value for i, value in enumerate(CONSTANTS)}
    return lang.siso_module("M", {**held, "y": D([1, 2])}, scaled(2))


@pytest.mark.parametrize("seed", ["1", "2"])
def test_fingerprints_are_the_same_in_every_process(seed):
    code = "from tests.domains.language.test_fingerprints import *; print(SearchSpace(constants).fingerprint)"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == SearchSpace(constants).fingerprint


@pytest.mark.parametrize("value", CONSTANTS)
def test_programs_of_other_constants_differ(value):
    assert one(value) == one(value)
    assert [one(value) == one(other) for other in CONSTANTS].count(True) == 1


class Opaque:
    pass


@pytest.mark.parametrize("value", [object(), Opaque(), [1, Opaque()], {"a": (Opaque(),)}])
def test_constants_that_nothing_tells_apart_are_refused(value):
    with pytest.raises(LanguageError, match="M-0: x: expected a value with the same repr in every process"):
        one(value)


@dataclass
class Setting:
    rate: float
    names: tuple[str, ...] = ()


class Color(Enum):
    RED = 1
    BLUE = 2


EQUAL = [
    ({"b": 1, "a": (2, 3)}, {"a": (2, 3), "b": 1}),
    ({3, 1, 2}, {2, 3, 1}),
    (np.float64(0.5), 0.5),
    (np.arange(4).reshape(2, 2), np.array([[0, 1], [2, 3]])),
    (Setting(0.5, ("a",)), Setting(0.5, ("a",))),
    (partial(step, k=1, j=2), partial(step, j=2, k=1)),
    (range(3), range(0, 3)),
]


@pytest.mark.parametrize(("first", "second"), EQUAL)
def test_equal_constants_are_written_alike(first, second):
    assert canonical_data("x", first) == canonical_data("x", second)
    assert json.loads(json.dumps(canonical_data("x", first))) == canonical_data("x", first)


UNEQUAL = [
    ([1, 2], (1, 2)), ({1, 2}, frozenset({1, 2})), (np.arange(4), np.arange(4).reshape(2, 2)),
    (np.arange(2, dtype=np.int32), np.arange(2, dtype=np.int64)), (Setting(0.5), Setting(0.25)),
    (Color.RED, Color.BLUE), (step, other_step), ({"a": 1}, {"a": 2}), ("1", 1), (partial(step, 1), partial(step, k=1)),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), UNEQUAL)
def test_unequal_constants_are_written_differently(first, second):
    assert canonical_data("x", first) != canonical_data("x", second)


def test_a_function_holds_its_closure_then_its_defaults():
    a, b = 1, [2]

    def fn(x, y=3, *, z=4):
        return a, b, x, y, z

    assert (closure_values(fn), closure_values(step)) == ([1, [2], 3, 4], [])

    def early():
        return late

    assert closure_values(early) == []  # the name is not bound yet
    late = 5
    assert closure_values(early) == [5]


def test_functions_that_hold_themselves_have_an_identity():
    def again(n):
        return again if n else step

    def once_more(n):
        return once_more if n else other_step

    assert identity_of(again) == identity_of(again)
    assert identity_of(again) != identity_of(once_more)
    assert "around" in json.dumps(identity_of(again))


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    def scale(self, x):
        return self.factor * x


def test_methods_count_by_their_function_and_the_type_of_their_object():
    assert identity_of(Scaler(1).scale) == identity_of(Scaler(2).scale) != identity_of(Scaler(1).__init__)
    assert identity_of(Color.RED) != identity_of(Color.BLUE)
    assert identity_of(Setting(0.5)) == identity_of(Setting(0.5)) != identity_of(Setting(0.25))


def test_the_main_script_has_one_name_in_all_its_processes():
    def made(module):
        fn = lambda: None  # noqa: E731
        fn.__module__ = module
        return identity_of(fn)

    assert made("__main__") == made("__mp_main__") != made("other")


@dataclass(frozen=True)
class Held:
    """An implementation that holds something."""

    part: object


def chain_of(*implementations):
    """A program of one module for each implementation, in a row."""
    make = [lambda held=held: lang.siso_module("M", {"x": 1}, held) for held in implementations]
    return SearchSpace(lambda: lang.siso_sequential([one_module() for one_module in make])).program()


ALIKE = [
    (scaled(300), scaled(300)),
    (Held(partial(step, 2)), Held(partial(step, 2))),
    (Held(partial(step, n=2)), Held(partial(step, n=2))),
    (partial(step, 1), partial(step, 1)),
]
UNLIKE = [
    (scaled(1), scaled(2)),
    (Held(partial(step, 2)), Held(partial(step, 3))),
    (Held(partial(step, n=2)), Held(partial(step, m=2))),
    (Held(partial(step, 2)), Held(partial(other_step, 2))),
    (Held(1), Held(True)),
    (Held(0.0), Held(-0.0)),
    (partial(step, 1), partial(step, a=1)),
]


@pytest.mark.parametrize("pair", ALIKE + UNLIKE)
def test_modules_share_a_hash_only_if_they_are_alike(pair):
    prints = {chain_of(*order).fingerprint for order in product(pair, repeat=2)}
    assert len(prints) == (1 if pair in ALIKE else 4)
