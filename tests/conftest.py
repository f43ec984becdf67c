"""What all tests share: none depends on how it is started, nor on how busy the machine is."""

import gc
import signal
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from bostruct.execution.pools import InProcessPool

settings.register_profile("bostruct", deadline=None)
settings.load_profile("bostruct")  # --hypothesis-profile is read after this
settings.register_profile("full", settings.get_profile("ci"))
settings.register_profile("ci", settings.get_profile("ci"), max_examples=50)  # without a deadline either

left_out: Counter[str] = Counter()  # the slow tests that this run leaves out, by the folder below tests


@pytest.fixture
def default_sigint() -> Iterator[None]:
    """Let SIGINT interrupt this process and those it starts, also in a shell or a container that ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The place of a study that is not there yet."""
    return tmp_path / "runs.db"


@pytest.fixture
def runs_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do the runs of comparisons in this process, one after the other: to start workers costs more than they do."""
    monkeypatch.setattr("bostruct.execution.processes.ProcessPool", lambda run, *_: InProcessPool(run))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect no garbage among the many thousand tests that are found, which takes a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count the slow tests that are left out."""
    left_out.update(item.nodeid.split("::")[0].split("/")[1] for item in items if item.get_closest_marker("slow"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass on from a worker of pytest-xdist, each of which collects all tests, what it left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker left out."""
    left_out.update(Counter(getattr(node, "workeroutput", {}).get("left_out", {})) - left_out)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was left out, and how to run it."""
    if left_out:
        where = ", ".join(f"{room} {n}" for room, n in sorted(left_out.items()))
        terminalreporter.write_line(f"{left_out.total()} slow tests left out ({where}): make test-full runs them")
    if not hasattr(terminalreporter.config, "workerinput"):
        terminalreporter.write_line("make test ROOM=kernels runs the tests of one room")
