"""`bostruct import`: the guess is Python that is read again, and refusals name line and column."""

from __future__ import annotations

import pytest

import bostruct as bo
from bostruct.cli.studies import import_csv
from tests.cli.invoke import call

TABLE = "temperature (°C),solvent,yield (%)\n20,DMF,45.5\n40,THF,61\n60,DMF,\n"


@pytest.fixture(autouse=True)
def _table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results.csv").write_text(TABLE, encoding="utf-8")


def test_a_guess_is_corrected_and_stored(tmp_path):
    line = ("import", "results.csv", "--objective", "yield", "--maximize", "--seed", 3)
    shown = call(*line)
    assert shown.stderr == (
        "Note: 1 of 3 rows without a value left out, the first of them line 4: they count as never run. --queue has "
        "them queued; --failed names a column that marks failed rows\n"
    )
    assert "study" not in shown.stdout
    (tmp_path / "corrected.py").write_text(shown.stdout.replace("Integer(20, 60)", "Integer(10, 90)"), encoding="utf-8")
    stored = call(*line, "--space", "corrected.py:space", "--storage", "runs.db", "--queue")
    assert "trials      3: 2 completed, 1 waiting\n" in stored.stdout
    with bo.Study.load("runs.db") as study:
        assert (study.name, study.direction, study.best_value) == ("results", "maximize", 61.0)
        assert study.ask().point == {"temperature (°C)": 60, "solvent": "DMF"}
        assert study.domain.variables["temperature (°C)"] == bo.Integer(10, 90)
    assert "'results'" in call(*line, "--storage", "runs.db", code=3).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--objective", "cost"), "objective: expected a column of results.csv"),
        (("--objective", "solvent"), "results.csv: line 2: column 'solvent': expected a number, got 'DMF'"),
        (("--objective", "yield", "--space", "nothing.py:space"), "nothing.py: there is no such file"),
        (("--objective", "yield", "--method", "nothing"), "method"),
    ],
)
def test_wrong_use(options, message):
    assert message in call("import", "results.csv", *options, code=2).stderr


def test_help_shows_both_steps():
    assert "--space space.py:space --storage runs.db" in (import_csv.help or "")
