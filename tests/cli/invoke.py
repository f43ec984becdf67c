"""The command line called in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from bostruct.cli import main

SMALL = "contamination:stages=6"  # 64 points, optimum proved when loaded


def call(*arguments: str | int | Path, code: int | None = 0) -> Result:
    """Run one line, and check what it exits with, unless that is None."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="bostruct")
    assert code in (None, result.exit_code), result.output
    return result


def as_json(*arguments: str | int | Path) -> dict[str, Any]:
    return json.loads(call(*arguments, "--json").stdout)
