"""Studies in memory, which end with the process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bostruct.storage.documents import DocumentStorage
from bostruct.storage.protocol import StoredStudy, StudyLocked


class MemoryStorage(DocumentStorage):
    """Studies by name, in this process alone."""

    label = "storage in memory"

    def __init__(self) -> None:
        self._kept: dict[str, StoredStudy] = {}
        self._open: set[str] = set()  # names of studies that have a writer

    def names(self) -> list[str]:
        return list(self._kept)

    def load(self, name: str) -> StoredStudy:
        return self._kept[name]._replace(trials=list(self._kept[name].trials))

    def write(self, stored: StoredStudy) -> None:
        self._kept[stored.study.name] = stored

    def lock(self, name: str) -> Callable[[], object]:
        if name in self._open:
            raise StudyLocked(f"study {name!r} in memory is open for writing already; close it there first")
        self._open.add(name)
        return partial(self._open.discard, name)
