"""The pictures of the docs are those that docs/pictures.py and docs/plot_pictures.py draw; pages show all of them."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
SCRIPTS = {"pictures.py": ".", "plot_pictures.py": "plots"}  # and the folder of docs/images that each fills
COMMITTED = [path for folder in SCRIPTS.values() for path in sorted((DOCS / "images" / folder).glob("*.svg"))]
EXACT = sorted((DOCS / "images").glob("*.svg"))  # what a model suggests may be rounded otherwise elsewhere
MAKER = re.compile(r"Matplotlib v[\d.]+")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with the pictures drawn anew."""
    folder = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "agg")
        for script, part in SCRIPTS.items():
            (folder / part).mkdir(exist_ok=True)
            patch.setattr(sys, "argv", [script, str(folder / part)])
            runpy.run_path(str(DOCS / script), run_name="__main__")
    return folder


def test_the_scripts_draw_what_is_committed(drawn):
    for part in SCRIPTS.values():
        committed = sorted(path.name for path in (DOCS / "images" / part).glob("*.svg"))
        assert sorted(path.name for path in (drawn / part).glob("*.svg")) == committed


@pytest.mark.parametrize("picture", EXACT, ids=lambda path: path.stem)
def test_a_picture_is_drawn_the_same_by_the_same_matplotlib(drawn, picture):
    committed, new = (
        picture.read_text(encoding="utf-8"),
        (drawn / picture.relative_to(DOCS / "images")).read_text(encoding="utf-8"),
    )
    if MAKER.findall(committed) != MAKER.findall(new):
        pytest.skip("the committed picture was drawn by another matplotlib")
    assert committed == new


@pytest.mark.parametrize("picture", COMMITTED, ids=lambda path: path.stem)
def test_a_picture_is_light_and_shown(picture):
    place = picture.relative_to(DOCS)
    assert picture.stat().st_size < (150_000 if "plots" in place.parts else 100_000)
    pages = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("spaces.md", "experiments.md", "plots.md"))
    assert f"]({place.as_posix()})" in pages
