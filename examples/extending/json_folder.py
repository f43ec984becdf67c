"""A storage back end of your own: a folder with one JSON file for each study, written anew at each step."""

import fcntl
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote, unquote

import bostruct as bo
from bostruct.storage import DocumentStorage, SpaceChange, StoredStudy, StudyLocked, StudyRow, TrialRow
from bostruct.study import Outcome
from bostruct.testing import check_storage


class JsonFolder(DocumentStorage):
    def __init__(self, folder):
        self.folder, self.label = Path(folder), str(folder)
        self.folder.mkdir(exist_ok=True)

    def names(self):
        return [unquote(path.stem[7:]) for path in sorted(self.folder.glob("*.json"))]  # oldest first

    def load(self, name):
        return from_json(self._find(name).read_text())

    def write(self, stored):
        name = stored.study.name
        path = self._find(name) or self.folder / f"{len(self.names()):06d} {quote(name, safe='')}.json"
        draft = path.with_suffix(".draft")
        draft.write_text(to_json(stored))
        draft.rename(path)  # all of it, or nothing

    def remove(self, name):
        self._find(name).unlink()

    def lock(self, name):
        file = (self.folder / f"{quote(name, safe='')}.lock").open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with its process
        except BlockingIOError:
            file.close()
            raise StudyLocked(f"{file.name}: another study object writes it; close it there first") from None
        return file.close

    def _find(self, name):
        return next(self.folder.glob(f"* {quote(name, safe='')}.json"), None)


def to_json(stored):
    rows = {name: [row._asdict() for row in getattr(stored, name)] for name in ("trials", "changes")}
    return json.dumps(rows | {"study": stored.study._asdict()}, default=asdict)


def from_json(text):
    data = json.loads(text)
    for row in data["trials"]:
        if (found := row["outcome"]) is not None:
            row["outcome"] = Outcome(**found | {name: tuple(found[name]) for name in ("values", "repeats")})
    changes = tuple(SpaceChange(**row) for row in data["changes"])
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
