"""A storage back end of your own: a folder with a file of JSON lines for each study, one line a step."""

import fcntl
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

import bostruct as bo
from bostruct.outcome import Outcome
from bostruct.storage.protocol import StorageError, StorageLost, StoredStudy, StudyLocked, StudyRow, TrialRow, find_study
from bostruct.testing import check_storage


class JsonLines:
    def __init__(self, folder):
        self.folder, self.where = Path(folder), None
        self.label = str(folder)

    def studies(self):
        return [self._replay(path).study for path in sorted(self.folder.glob("*.jsonl"))]

    def read(self, name):
        return self._replay(self._path(find_study(self.studies(), name, self.label).name))

    def begin(self, row):
        path = self._path(row.name)
        if path is None:
            self._create(StoredStudy(row, []))
        writer = Writer(self._path(row.name))
        stored = self.read(row.name)
        writer.trials = {one.number: one for one in stored.trials}
        return stored, writer

    def save(self, stored):
        if self._path(stored.study.name) is not None:
            raise StorageError(f"{self.label}: holds a study {stored.study.name!r} already")
        self._create(stored)
        return self.begin(stored.study)[1]
