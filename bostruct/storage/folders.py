"""The folder of a file of studies, in which its journal and the locks of its writers lie, too."""

from __future__ import annotations

import os
from pathlib import Path

from bostruct.checks import has_posix
from bostruct.storage.protocol import StorageError
from bostruct.storage.system_errors import check_system


def check_writable(path: Path) -> None:
    """Raise StorageError where a file cannot be written, for nothing can be made in its folder; else do nothing.

    path: of the file, which need not be there. A folder that is not there is left to others to name.
    """
    try:
        folder = path.resolve().parent  # of the file itself, not of a link to it
        if not folder.is_dir() or os.access(folder, os.W_OK | os.X_OK):
            return
    except (OSError, RuntimeError) as error:  # there is no such path, or nobody may look: others say so
        check_system(error)
        return
    why = "it is on a read-only file system" if _is_read_only(folder) else "this user has no permission to write in it"
    hint = "; to look at its studies use Study.load(..., read_only=True)" if path.exists() else ""
    raise StorageError(
        f"{path}: cannot be written: a study needs a folder to make files in (its journal, its locks), and in {folder} "
        f"nothing can be made: {why}{hint}"
    )


def _is_read_only(folder: Path) -> bool:
    """Tell whether a folder is on a file system that nobody may write."""
    return has_posix() and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
