"""The pictures of the docs are those that docs/pictures.py draws, and pages show all of them."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
COMMITTED = sorted((DOCS / "images").glob("*.svg"))
MAKER = re.compile(r"Matplotlib v[\d.]+")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with the pictures drawn anew."""
    folder = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "agg")
        patch.setattr(sys, "argv", ["pictures.py", str(folder)])
        runpy.run_path(str(DOCS / "pictures.py"), run_name="__main__")
    return folder


def test_the_script_draws_what_is_committed(drawn):
    assert sorted(path.name for path in drawn.iterdir()) == [path.name for path in COMMITTED]


@pytest.mark.parametrize("picture", COMMITTED, ids=lambda path: path.stem)
def test_a_picture_is_drawn_the_same_by_the_same_matplotlib(drawn, picture):
    committed, new = picture.read_text(encoding="utf-8"), (drawn / picture.name).read_text(encoding="utf-8")
    if MAKER.findall(committed) != MAKER.findall(new):
        pytest.skip("the committed picture was drawn by another matplotlib")
    assert committed == new


@pytest.mark.parametrize("picture", COMMITTED, ids=lambda path: path.stem)
def test_a_picture_is_light_and_shown(picture):
    assert picture.stat().st_size < 100_000
    pages = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("spaces.md", "experiments.md"))
    assert f"](images/{picture.name})" in pages
