"""The garbage collector of Python, which stands still while a study is read: nothing that is made then is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collector() -> Iterator[None]:
    """Keep the garbage collector from running for as long as a block lasts, unless somebody else has stopped it.

    It looks at all objects whenever their number has grown by a quarter, a third of the time of reading a long study.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
