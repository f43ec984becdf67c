"""The outermost part of a space: built once, and refused where its function never ends."""

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.domains.language import errors
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.walk import begin
from bostruct.language import D, SearchSpace, siso_module
from examples.language_figures import conv2d
from tests.domains.language.refusals import check_refusal


def test_the_walk_stands_at_the_first_choice_and_the_function_was_called_once():
    calls = []

    def builder():
        calls.append(1)
        return siso_module("M", {"b": D([1, 2]), "a": D([3, 4], name="first")})

    walk = begin(builder, 10)
    assert len(calls) == 1
    assert walk.root.closed
    assert (walk.root.path, walk.root.depth, walk.max_depth) == ("", 0, 10)
    assert (len(walk), walk.next().path) == (0, "first")
    assert [h.path for h in walk.open_hyperparameters()] == ["first", "M-0.b"]


def test_a_space_without_choices_is_at_its_end_at_once():
    walk = begin(lambda: siso_module("M"), 1)
    assert walk.next() is None
    assert dict(walk.trace()) == {}


def test_nothing_is_under_construction_once_a_function_failed():
    def failing():
        siso_module("M")
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        begin(failing, 10)
    with pytest.raises(LanguageError, match="the module M belongs to a space"):
        siso_module("M")


def test_a_builder_that_calls_itself_without_a_choice_is_told_so():
    def forever():
        return lang.siso_sequential([conv2d(1), forever()])

    check_refusal(forever, "builder: its function calls itself without end: add a choice")
    with pytest.raises(errors.SubstitutionError, match=r"SISOOptional-0: for .* calls itself without end"):
        SearchSpace(lambda: lang.siso_optional(forever, D([1]))).sample(1, np.random.default_rng(0))
