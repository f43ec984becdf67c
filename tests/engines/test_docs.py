"""The page on scaling runs as it stands, and names the examples that there are."""

from __future__ import annotations

import re
from pathlib import Path

import bostruct as bo

ROOT = Path(__file__).parents[2]


def test_the_blocks_of_the_page_are_one_study_that_grows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "scaling.md", "exec"), names)
    with bo.Study.load(tmp_path / "runs.db", read_only=True) as study:
        assert study.n_finished == 32
        assert study.best_value == 0.0


def test_each_example_is_on_the_page():
    text = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(examples/engines/\w+\.py)`", text))
    assert listed == {f"examples/engines/{path.name}" for path in (ROOT / "examples" / "engines").glob("*.py")}
