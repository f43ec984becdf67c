"""Paths of data files: what stands there is looked at before it is opened."""

from __future__ import annotations

import os
from pathlib import Path


def is_regular(file: str | Path) -> bool:
    """Tell whether a path is a regular file, or a link to one; False for an impossible path."""
    return os.path.isfile(Path(file))


def is_folder(file: str | Path) -> bool:
    """Tell whether a path is a folder, or a link to one; False also for what can be no path, such as a long name."""
    return os.path.isdir(Path(file))


def check_regular(place: str, file: str | Path) -> None:
    """Raise ValueError if a path is no regular file; opening a FIFO would wait for its writer."""
    if os.path.exists(Path(file)) and not is_regular(file):
        raise ValueError(f"{place}: expected a regular file, or a link to one; got a folder, device, FIFO or socket")
