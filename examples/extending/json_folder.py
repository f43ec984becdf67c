"""A storage back end of your own: a folder with one JSON file for each study, written anew at each step."""

import fcntl
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

import bostruct as bo
from bostruct.outcome import Outcome
from bostruct.storage import protocol
from bostruct.storage.memory import MemoryStorage
from bostruct.storage.protocol import StorageError, StoredStudy, StudyLocked, StudyRow, TrialRow, find_study
from bostruct.testing import check_storage


class JsonFolder:
    where = None  # a study is loaded with this object, not with a path

    def __init__(self, folder):
        self.folder, self.label = Path(folder), str(folder)

    def studies(self):
        return [read_study(path).study for path in sorted(self.folder.glob("*.json"))]

    def read(self, name):
        return read_study(self._find(find_study(self.studies(), name, self.label).name))

    def begin(self, row):
        writer = self.save(StoredStudy(row, [])) if self._find(row.name) is None else Writer(self._find(row.name))
        return self.read(row.name), writer

    def save(self, stored):
        if self._find(stored.study.name) is not None:
            raise StorageError(f"{self.label}: holds a study {stored.study.name!r} already")
        self.folder.mkdir(exist_ok=True)
        path = self.folder / f"{len(self.studies()):06d} {quote(stored.study.name, safe='')}.json"  # oldest first
        write_study(path, stored)
        return Writer(path)

    def _find(self, name):
        return next(self.folder.glob(f"* {quote(name, safe='')}.json"), None)


class Writer:
    lost = None  # a file that was removed is there again after the next step

    def __init__(self, path):
        self.path, self._lock = path, path.with_suffix(".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with its process
        except BlockingIOError:
            self._lock.close()
            raise StudyLocked(f"{path}: another study object writes it; close it there first") from None
        self._memory = MemoryStorage()
        self._steps = self._memory.save(read_study(path))
        self.check_place = self._steps.check_place

    def insert(self, row, state=None):
        self._steps.insert(row, state)  # refuses what does not fit
        self._write()

    def update(self, row):
        self._steps.update(row)
        self._write()

    def reopen(self, row):
        self._steps.reopen(row)
        self._write()

    def take_back(self, *numbers):
        self._steps.take_back(*numbers)
        self._write()

    def change_space(self, change, state):
        self._steps.change_space(change, state)
        self._write()

    @property
    def is_open(self):
        return self._steps.is_open

    def close(self):
        self._steps.close()
        self._lock.close()

    def _write(self):
        write_study(self.path, self._memory.read(None))


def write_study(path, stored):
    rows = {name: [row._asdict() for row in getattr(stored, name)] for name in ("trials", "changes")}
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(rows | {"study": stored.study._asdict()}, default=asdict))
    draft.rename(path)  # all of it, or nothing


def read_study(path):
    data = json.loads(path.read_text())
    for row in data["trials"]:
        if (found := row["outcome"]) is not None:
            row["outcome"] = Outcome(**found | {name: tuple(found[name]) for name in ("values", "repeats")})
    changes = tuple(protocol.SpaceChange(**row) for row in data.get("changes", ()))
    return StoredStudy(StudyRow(**data["study"]), [TrialRow(**row) for row in data["trials"]], changes)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_storage(lambda: JsonFolder(f"{folder}/laws"))
        runs, space = JsonFolder(f"{folder}/runs"), {"a": bool, "b": range(9)}
        for n_trials in (10, 15):  # the second call resumes what the first one stored
            result = bo.minimize(lambda x: (x["b"] - 5) ** 2 + x["a"], space, n_trials, storage=runs, progress=False)
        print(f"{len(result.trials)} trials in {runs.studies()[0].name!r}, best {result.best_point}")


if __name__ == "__main__":
    main()
