"""Escape sequences in names and reasons do not reach a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import bostruct as bo
from bostruct.analysis.tables import format_markdown, format_table
from bostruct.cli import main
from bostruct.cli.text import format_pairs
from bostruct.display import printable

EVIL = "a\x1b[31mb\x07\x9b\u202ec"


def test_invisible_characters_are_written_as_escapes() -> None:
    assert printable(EVIL) == r"a\x1b[31mb\x07\x9b\u202ec"
    assert printable("plain, \N{SNOWMAN}, é") == "plain, \N{SNOWMAN}, é"


def test_tables_print_no_escape_sequences() -> None:
    for text in (format_pairs([("name", EVIL)]), format_table(["a"], [[EVIL]]), format_markdown(["a"], [[EVIL]])):
        assert "\x1b" not in text
        assert r"\x1b[31m" in text


@pytest.mark.parametrize("several", [False, True])
def test_show_and_results_print_no_escape_sequences(tmp_path: Path, several: bool) -> None:
    file = tmp_path / "runs.db"
    for name in [EVIL, "b"] if several else [EVIL]:
        with bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file, name=name) as study:
            study.tell(study.ask(), failed=EVIL)
            texts = [repr(study.result), repr(study), repr(study.trials)]
            assert all("\x1b" not in text for text in texts)
            assert r"\x1b" in texts[0]
    shown = CliRunner().invoke(main, ["show", str(file)])
    assert shown.exit_code == 0, shown.output
    assert "\x1b" not in shown.output
    assert r"\x1b" in shown.output
    refused = CliRunner().invoke(main, ["show", str(file), "--name", "\x1b[31m"])
    assert "\x1b" not in refused.output
