"""The command takes each case once, prints what it found, and renews one table."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.chaos import __main__ as command
from benchmarks.chaos.report import PAGE, count_faults, format_table, write_page
from benchmarks.chaos.results import read_results, read_revision, take_case, take_cases
from benchmarks.chaos.row import Row, Verdict, make_rng, numbered

taken: list[str] = []


def run(case: str, folder: Path) -> Verdict:
    assert folder.is_dir()
    taken.append(case)
    verdict = Verdict()
    verdict.count("values", 1000)
    if case == "3":
        verdict.blame("lost", "a value")
    if case == "4":
        raise RuntimeError("mistake in the row")
    return verdict


TOY = Row("toy", "toys", ("lost", "twice"), numbered(5), ("0", "1"), run, per_case=10)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    taken.clear()
    monkeypatch.setattr(command, "ROWS", {"toy": TOY})
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- chaos -->\nold\n<!-- end chaos -->\nafter\n")
    return page


def test_the_short_form_takes_its_own_cases_and_leaves_the_page(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = page.read_text()
    assert command.main([], page) == 0
    assert taken == ["0", "1"]
    assert "| toys | 20 of 20 | 0 lost, 0 twice | 2,000 values |" in capsys.readouterr().out
    assert page.read_text() == before


def test_the_long_form_goes_on_where_it_was_ended(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = page.with_name("results.jsonl")
    assert command.main(["--long", "--out", str(out), "--seconds", "-1"], page) == 0
    assert taken == []
    assert "| toys | 0 of 50 |" in page.read_text()
    assert command.main(["--long", "--out", str(out)], page) == 1
    out.write_text(out.read_text() + '{"row": "toy", "ca')  # killed while it wrote
    assert command.main(["--long", "--out", str(out)], page) == 1
    assert taken == ["0", "1", "2", "3", "4"]
    text = page.read_text()
    assert "| toys | 50 of 50 | **1 lost**, 0 twice, **1 broken case** | 4,000 values |" in text
    assert text.startswith("before\n")
    assert text.endswith("<!-- end chaos -->\nafter\n")
    assert "old" not in text
    said = capsys.readouterr().out
    assert "toy, case 3: lost: a value" in said
    assert "RuntimeError: mistake in the row" in said


def test_a_case_that_was_taken_again_counts_once() -> None:
    results = [take_case(TOY, "3"), take_case(TOY, "3") | {"faults": {}}]
    assert count_faults([TOY], results) == 0
    assert "10 of 50" in format_table([TOY], results, "long")


def test_unknown_rows_and_pages_without_markers_are_refused(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["nothing"], page)
    assert "expected some of toy; got nothing" in capsys.readouterr().err
    page.write_text("no markers")
    with pytest.raises(ValueError, match="expected the markers"):
        write_page(page, "table", [])


def test_results_are_read_to_the_last_whole_line(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    assert read_results(file) == []
    assert read_results(None) == []
    file.write_text(json.dumps({"row": "toy", "case": "0"}) + "\n" + '{"case"')
    assert [result["case"] for result in take_cases(TOY, ["0", "1"], read_results(file), file, 60.0)] == ["1"]
    assert [result["case"] for result in read_results(file)] == ["0", "1"]


def test_generators_are_those_of_their_words() -> None:
    assert make_rng("a", "b").random() == make_rng("a", "b").random() != make_rng("a", "c").random()


def test_the_page_of_the_docs_has_the_markers() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.index("<!-- chaos -->") < text.index("<!-- end chaos -->")


def test_results_name_the_commit_of_the_code() -> None:
    assert re.fullmatch(r"([0-9a-f]{7,40}|unknown)\+?", read_revision("benchmarks/chaos"))
