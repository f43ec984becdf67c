"""Compares what a folder of runs was made for, as comparison.json and the runs say, with what a call asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from bostruct import __version__
from bostruct.checks import short_repr
from bostruct.contracts import Domain, ParsedJson, Searcher
from bostruct.goals.declared import Goals
from bostruct.output_files import write_output
from bostruct.storage.json_text import MALFORMED, dump, parse
from bostruct.storage.protocol import StorageError, StudyRow
from bostruct.study.records import can_continue_method, describe_method, find_difference


def describe_run(name: str, domain: Domain, goals: Goals, method: str | Searcher, searcher: Searcher) -> StudyRow:
    """Return the row of a study as a comparison asks for it, with seed 0 and without initial points.

    name: of the problem.
    domain, goals: of the problem.
    method: by name, or the searcher.
    searcher: that it stands for.
    """
    described = dump(describe_method(method, searcher))
    return StudyRow(
        name, dump(domain.to_json()), described, 0, dump(goals.to_json()), "[]", "null", version=__version__
    )


def find_run_difference(stored: StudyRow, given: StudyRow) -> str | None:
    """Return in words what sets a run apart from the one that is asked for; None where nothing does.

    stored: of the run.
    given: of the run that is asked for. A method of the same name agrees with any settings.
    """
    same = can_continue_method(stored, given)
    return find_difference(stored, given._replace(method=stored.method) if same else given)


def read_record(path: Path) -> dict[str, ParsedJson]:
    """Return what comparison.json holds, nothing where there is none; raise StorageError where it makes no sense.

    path: of the file. One of an earlier version may lack all but `problem`, `methods`, `seeds` and `trials`.
    """
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found["problem"], str):
            raise TypeError(f"problem: expected a string, got {short_repr(found['problem'])}")
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{path}: is not the record of a comparison: {short_repr(error)}") from error
    return found


def find_record_difference(record: Mapping[str, ParsedJson], given: Mapping[str, StudyRow]) -> str | None:
    """Return in words what sets a recorded comparison apart from the one that is asked for; None where nothing does.

    record: as of `read_record`. What it lacks agrees.
    given: a row for each label of a method.

    Raises KeyError, TypeError, ValueError or the like for a record that makes no sense.
    """
    for label, row in given.items():
        stored = row
        if "space" in record:
            stored = stored._replace(domain=dump(record["space"]), goals=dump(record["goals"]))
        if known := record.get("described", {}).get(label):
            stored = stored._replace(method=dump(known), version=known["version"])
        if difference := find_run_difference(stored, row):
            return f"{label!r} with {difference}"
    return None


def write_record(path: Path, settings: Mapping[str, ParsedJson], given: Mapping[str, StudyRow]) -> None:
    """Write comparison.json for a call, once it is found to agree with the one there, whose other methods it keeps.

    path: of the file.
    settings: of the call: its problem, methods, seeds and trials.
    given: a row for each label of a method, at least one.

    Raises StorageError if the file is of another comparison, OutputRefused if it is none of bostruct, and leaves
    it then.
    """
    earlier = read_record(path)
    if earlier and earlier["problem"] != settings["problem"]:
        raise StorageError(f"{path.parent}: holds a comparison on {earlier['problem']}, not on {settings['problem']}")
    try:
        difference = find_record_difference(earlier, given)
        known = dict(earlier.get("described", {}))
    except MALFORMED as error:
        raise StorageError(f"{path}: is not the record of a comparison: {short_repr(error)}") from error
    if difference:
        raise StorageError(
            f"{path.parent}: holds a comparison of {difference}; give another folder, or call with what it was made "
            "with"
        )
    one = next(iter(given.values()))
    described = known | {label: parse(row.method) | {"version": row.version} for label, row in given.items()}
    record = {
        "written_by": "bostruct",
        **settings,
        "space": parse(one.domain),
        "goals": parse(one.goals),
        "described": described,
    }
    write_output(path, dump(record) + "\n", "record of a comparison", overwrite=None)
