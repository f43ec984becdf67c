"""What all tests share: none depends on how it is started, nor on how busy the machine is."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from bostruct.execution.pools import InProcessPool

settings.register_profile("bostruct", deadline=None)
settings.load_profile("bostruct")  # --hypothesis-profile, which has no deadline in `ci` either, is read after this


@pytest.fixture
def default_sigint() -> Iterator[None]:
    """Let SIGINT interrupt this process and those it starts, also in a shell or a container that ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def runs_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do the runs of comparisons in this process, one after the other: to start workers costs more than they do."""
    monkeypatch.setattr("bostruct.execution.processes.ProcessPool", lambda run, *_: InProcessPool(run))
