"""The garbage collector stands still for a block, and is as it was behind it."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest

from bostruct.storage.collector import pause_collector


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was(enabled: bool) -> None:
    was = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        states = []
        with suppress(KeyError), pause_collector():
            states.append(gc.isenabled())
            raise KeyError
        assert states == [False]
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was else gc.disable)()
