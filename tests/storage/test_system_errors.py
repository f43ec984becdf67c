"""Errors of the system have a number; those that a signal handler raises without one are the user's."""

from __future__ import annotations

import pytest

from bostruct.storage.files import check_system


def test_an_error_without_a_number_is_raised_again() -> None:
    with pytest.raises(TimeoutError, match="the user's own limit"):
        check_system(TimeoutError("the user's own limit"))


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("Symlink loop")])
def test_an_error_of_the_system_is_left_to_its_caller(error: Exception) -> None:
    check_system(error)
