"""The pictures of the docs are those that docs/pictures.py and docs/plot_pictures.py draw; pages show all of them."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
EXACT = sorted((DOCS / "images").glob("*.svg"))
COMMITTED = [*EXACT, *sorted((DOCS / "images" / "plots").glob("*.svg"))]  # which follow models, rounded elsewhere
MAKER = re.compile(r"Matplotlib v[\d.]+")
pytestmark = pytest.mark.xdist_group("pictures")


def draw(script, folder):
    """Return the names of the pictures that a script draws."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "agg")
        patch.setattr(sys, "argv", [script, str(folder)])
        runpy.run_path(str(DOCS / script), run_name="__main__")
    return sorted(path.name for path in folder.glob("*.svg"))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with the pictures drawn anew whose lines are the same everywhere."""
    folder = tmp_path_factory.mktemp("pictures")
    assert draw("pictures.py", folder) == [path.name for path in EXACT]
    return folder


@pytest.mark.slow
def test_the_lines_of_the_page_of_plots_draw_what_is_committed(tmp_path):
    assert draw("plot_pictures.py", tmp_path) == [path.name for path in COMMITTED if path not in EXACT]


@pytest.mark.parametrize("picture", EXACT, ids=lambda path: path.stem)
def test_a_picture_is_drawn_the_same_by_the_same_matplotlib(drawn, picture):
    committed, new = (
        picture.read_text(encoding="utf-8"),
        (drawn / picture.name).read_text(encoding="utf-8"),
    )
    if MAKER.findall(committed) != MAKER.findall(new):
        pytest.skip("the committed picture was drawn by another matplotlib")
    assert committed == new


@pytest.mark.parametrize("picture", COMMITTED, ids=lambda path: path.stem)
def test_a_picture_is_light_and_shown(picture):
    place = picture.relative_to(DOCS)
    assert picture.stat().st_size < (150_000 if "plots" in place.parts else 100_000)
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    assert f"]({place.as_posix()})" in pages
