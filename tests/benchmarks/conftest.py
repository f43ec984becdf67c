"""What tests of several benchmarks share."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def refusal(capsys) -> Callable[..., str]:
    """Call a command, or what reads its arguments, that refuses them; return what it says in one line."""

    def call(command: Callable[..., Any], *arguments: Any) -> str:
        with pytest.raises(SystemExit, match="2"):
            command(*arguments)
        return capsys.readouterr().err.replace("\n", " ")

    return call
