"""What a case of chaos finds while something is broken."""

from __future__ import annotations

from typing import Any

from benchmarks.chaos.isolation import call_isolated
from benchmarks.chaos.row import Verdict


def judge(case: Any, *given: Any, seconds: float = 120.0) -> dict[str, list[str]]:
    """Return the faults that a case finds in a forked process, in which what was patched is still broken."""

    def run() -> Verdict:
        case(*given, verdict := Verdict())
        return verdict

    answer = call_isolated(run, seconds)
    assert answer.trouble is None, answer.trouble
    return answer.value.faults
