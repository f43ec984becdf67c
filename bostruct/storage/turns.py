"""A record of the threads that decide on a study: such a thread must not wait for its turn through another object."""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from bostruct.contracts import BostructError

_deciders: dict[Hashable, tuple[int, int]] = {}  # process and thread, by what is decided on


def check_turn(key: Hashable, what: str) -> None:
    """Raise BostructError where this thread, which is about to wait for its turn, has the turn already.

    key: of what is decided on.
    what: it is, for messages.
    """
    if _deciders.get(key) == _name_thread():
        raise BostructError(
            f"{what}: this thread decides already, through another Study object; ask that one, or end its "
            "`deciding` block first"
        )


@contextmanager
def noting_turn(key: Hashable) -> Iterator[None]:
    """Note for as long as a block lasts that this thread decides.

    key: of what is decided on.
    """
    _deciders[key] = _name_thread()
    try:
        yield
    finally:
        _deciders.pop(key, None)


def _name_thread() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()  # a forked child is not the one that decides
