"""What a folder of runs was made for, and what a call may not mix with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import bostruct as bo
from bostruct import methods
from bostruct.comparison.compare import compare
from bostruct.comparison.plan import RunKey, read_record
from bostruct.output_files import OutputRefused, check_output
from bostruct.storage.protocol import StorageError

SPACE = bo.Space({"a": range(12), "b": range(12)})
pytestmark = [pytest.mark.usefixtures("runs_in_process"), pytest.mark.xdist_group("record")]


def cost(point):
    return float((point["a"] - 3) ** 2 + point["b"])


def draw(domain):
    """Draw at random."""
    return methods.random(domain)


OTHERS = [  # what is not as in the folder, and the words for it
    ({"space": bo.Space({"a": range(12), "b": range(9)})}, {"draw": draw}, "'draw' with another domain: domain.variab"),
    ({"direction": "maximize"}, {"draw": draw}, "'draw' with other goals: goals.directions is .'minimize'. there and"),
    ({}, {"draw": "evolution"}, "'draw' with another method: method"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a run of one label, and then of another."""
    folder = tmp_path_factory.mktemp("made")
    for labeled in ([draw], {"other": "evolution"}):
        compare(bo.Problem(cost, SPACE, initial=2), labeled, n_trials=4, seeds=1, storage=folder, progress=False)
    return folder


@pytest.mark.parametrize("n_trials", [4, 6])
@pytest.mark.parametrize(("options", "labeled", "words"), OTHERS)
def test_a_folder_refuses_the_runs_of_another_experiment(made, n_trials, options, labeled, words):
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    problem = bo.Problem(cost, **({"space": SPACE, "initial": 2} | options))
    with pytest.raises(StorageError, match=words):
        compare(problem, labeled, n_trials=n_trials, seeds=1, storage=made, progress=False)
    assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("n_trials", "options", "labeled"),
    [
        *((4, options, labeled) for options, labeled, _ in OTHERS),
        (4, {"initial": 3}, [draw]),
        (6, {"space": OTHERS[0][0]["space"]}, [draw]),
    ],
)
def test_runs_of_another_experiment_are_not_compared_in_an_older_folder(made, tmp_path, n_trials, options, labeled):
    """Earlier versions did not write space, goals and methods into comparison.json."""
    folder = tmp_path / "older"
    shutil.copytree(made, folder)
    older = json.dumps({"problem": "cost", "methods": ["draw"], "seeds": 1, "trials": 4})
    (folder / "comparison.json").write_text(older)
    changed = bo.Problem(cost, **({"space": SPACE, "initial": 2} | options))
    found = compare(changed, labeled, n_trials=n_trials, seeds=1, storage=folder, progress=False).problems[0]
    assert RunKey("draw", 0) not in found.results
    assert "was created with" in found.left_out[RunKey("draw", 0)]
    assert (RunKey("draw", 0) in found.failed) == (n_trials > 4)
    (folder / "comparison.json").write_text(older)
    same = bo.Problem(cost, SPACE, initial=2)
    kept = compare(same, [draw], n_trials=4, seeds=1, storage=folder, progress=False).problems[0].results
    assert RunKey("draw", 0) in kept


def test_a_record_keeps_the_methods_of_earlier_calls(made):
    record = read_record(made / "comparison.json")
    assert record["methods"] == ["other"]
    assert {label: one["name"] for label, one in record["described"].items()} == {"draw": None, "other": "evolution"}
    assert bo.Space.from_json(record["space"]).variables == SPACE.variables


def test_the_record_of_an_earlier_version_is_replaced(made, tmp_path):
    record = json.loads((made / "comparison.json").read_text())
    assert record.pop("written_by") == "bostruct"
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps(record) + "\n")
    check_output(path, "record of a comparison")
    path.write_text(json.dumps(record | {"note": "by hand"}) + "\n")
    with pytest.raises(OutputRefused):
        check_output(path, "record of a comparison")


@pytest.mark.parametrize("text", ["[]", "{", '{"problem": 3}', '{"problem": "cost", "space": {}}'])
def test_a_file_that_is_no_record_is_refused_and_kept(tmp_path, text):
    path = tmp_path / "comparison.json"
    path.write_text(text)
    with pytest.raises(StorageError, match="is not the record of a comparison"):
        compare((cost, SPACE), "random", n_trials=2, seeds=1, storage=tmp_path, progress=False)
    assert path.read_text() == text
