"""Programs as values: what makes two of them equal, and that it is the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.language import D, LanguageError, SearchSpace


def step(_values, x):
    return x


def other_step(_values, x):
    return x


def scaled(factor):
    return lambda _values, x: factor * x


def one(value=0, implementation=None):
    return SearchSpace(lambda: lang.siso_module("M", {"x": value}, implementation)).program()


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
    with pytest.raises(LanguageError, match="M-0: x: expected a value that is written alike in every process"):
        one(value)
