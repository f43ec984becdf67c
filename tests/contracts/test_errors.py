"""Every error that the package raises on purpose is one of its own, and one of Python's where code catches that."""

from __future__ import annotations

import pickle

import pytest

from bostruct.contracts import errors, types

OWN = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception)]


@pytest.mark.parametrize("error", OWN, ids=lambda one: one.__name__)
def test_an_error_is_caught_as_one_of_the_package_and_survives_a_pickle(error):
    assert issubclass(error, errors.BostructError)
    assert pickle.loads(pickle.dumps(error("why"))).args == ("why",)


def test_errors_of_arguments_are_caught_as_those_of_python():
    for own, python in (
        (errors.PointError, ValueError),
        (errors.PredicateError, ValueError),
        (errors.NumericalError, ArithmeticError),
        (errors.MissingExtra, ImportError),
    ):
        assert issubclass(own, python)


def test_a_field_that_was_added_later_says_so_in_its_metadata():
    assert types.ADDED_LATER == {"added later": True}
