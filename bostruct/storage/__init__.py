"""Persistent storage of studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.storage.documents import DocumentStorage as DocumentStorage
    from bostruct.storage.documents import MemoryStorage as MemoryStorage
    from bostruct.storage.protocol import NameTooLong as NameTooLong
    from bostruct.storage.protocol import SpaceChange as SpaceChange
    from bostruct.storage.protocol import Storage as Storage
    from bostruct.storage.protocol import StorageError as StorageError
    from bostruct.storage.protocol import StoredStudy as StoredStudy
    from bostruct.storage.protocol import StudyLocked as StudyLocked
    from bostruct.storage.protocol import StudyRow as StudyRow
    from bostruct.storage.protocol import StudyWriter as StudyWriter
    from bostruct.storage.protocol import TrialRow as TrialRow
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "bostruct.storage.documents": "DocumentStorage MemoryStorage",
            "bostruct.storage.protocol": "NameTooLong SpaceChange Storage StorageError StoredStudy StudyLocked "
            "StudyRow StudyWriter TrialRow",
        },
    )
