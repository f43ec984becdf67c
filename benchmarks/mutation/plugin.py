"""A pytest plugin for a mutated package: run all tests without a mutant, then the tests that cover each mutant.

MUTANTS_WORK is the folder of the run. With MUTANTS_PHASE=cover, each test records whether it passed, its seconds, and
the mutants whose lines it ran. With MUTANTS_PHASE=kill, the process imports and collects once, then takes mutants that
no other process has taken, and runs the tests of each in a fork.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import bostruct_mutants as switch  # type: ignore[import-not-found]
import pytest

WORK = Path(os.environ["MUTANTS_WORK"])
PHASE = os.environ["MUTANTS_PHASE"]
CPU_SECONDS = 120
WALL_SECONDS = 900  # for all tests of a mutant, if they wait instead of computing


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _append(file: str, entry: dict[str, Any]) -> None:
    with open(WORK / file, "ab") as out:
        out.write((json.dumps(entry) + "\n").encode())


if PHASE == "cover":
    outcomes: dict[str, bool] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
        hits = WORK / "hits" / f"{os.getpid()}-{len(outcomes)}"
        switch.record_in(str(hits))
        began = _cpu_seconds()
        try:
            return (yield)
        finally:
            seconds, found = _cpu_seconds() - began, set()
            if hits.exists():
                found = {int(line) for line in hits.read_text().split()}
                hits.unlink()
            passed = outcomes.get(item.nodeid, False)
            _append("cover.jsonl", {"test": item.nodeid, "passed": passed, "seconds": seconds, "hits": sorted(found)})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(report: pytest.TestReport) -> None:
        outcomes[report.nodeid] = outcomes.get(report.nodeid, True) and not report.failed


def _run_tests(items: list[pytest.Item], number: int) -> dict[str, Any]:
    """Run tests with a mutant turned on until one fails or the time is spent."""
    switch.turn_on(number)
    for count, item in enumerate(items, 1):
        reports: list[pytest.TestReport] = []
        item.config.pluginmanager.register(_Collector(reports), f"collector-{count}")
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=items[count] if count < len(items) else None)
        item.config.pluginmanager.unregister(name=f"collector-{count}")
        if any(report.failed for report in reports):
            return {"mutant": number, "killed": True, "by": item.nodeid, "ran": count}
        if _cpu_seconds() > CPU_SECONDS:
            return {"mutant": number, "killed": False, "why": "time", "ran": count}
    return {"mutant": number, "killed": False, "why": "survived" if items else "not covered", "ran": len(items)}


class _Collector:
    def __init__(self, reports: list[pytest.TestReport]) -> None:
        self._reports = reports

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)


def _run_in_fork(session: pytest.Session, items: list[pytest.Item], number: int) -> dict[str, Any]:
    """Run the tests of a mutant in a fork of this process, and return the result."""
    place = WORK / f"result-{os.getpid()}"
    folder = WORK / f"tmp-{os.getpid()}"
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS + 5, CPU_SECONDS + 10))
        session.config._tmp_path_factory._given_basetemp = folder  # type: ignore[attr-defined]
        try:
            place.write_text(json.dumps(_run_tests(items, number)))
        except BaseException as error:  # a mutant may end the process itself, which a test run would also show
            place.write_text(json.dumps({"mutant": number, "killed": True, "by": f"the run: {error!r}", "ran": -1}))
        finally:
            os._exit(0)
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() - began > WALL_SECONDS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # processes that the tests left behind
    found = json.loads(place.read_text()) if place.exists() else {"mutant": number, "killed": False, "why": "time"}
    place.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    return found | {"seconds": round(time.monotonic() - began, 1)}


if PHASE == "kill":

    def pytest_runtestloop(session: pytest.Session) -> bool:
        by_name = {item.nodeid: item for item in session.items}
        covers = [json.loads(line) for line in (WORK / "cover.jsonl").read_text().splitlines()]
        covers = sorted((one for one in covers if one["passed"]), key=lambda one: one["seconds"])
        for number in range(int(os.environ["MUTANTS_N"])):
            try:
                (WORK / "taken" / str(number)).mkdir()
            except FileExistsError:
                continue
            items = [by_name[one["test"]] for one in covers if number in one["hits"] and one["test"] in by_name]
            _append("results.jsonl", _run_in_fork(session, items, number))
        return True
