"""What the README and the documentation show runs as it stands, and prints what they say it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from bostruct.cli import main
from bostruct.methods import METHODS
from tests.test_examples import REGISTRIES

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCE = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
OWN_TEST = {"docs/plots.md"}  # pages that a test of their own runs
EXTRAS = {"gpytorch.md": "botorch"}  # what the blocks of a page import that is not always installed
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


def locate(page: Path) -> str:
    """Return the path of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(autouse=True)
def registries():
    """What a page registers is taken out again."""
    own = (*REGISTRIES, METHODS)
    before = [dict(registry) for registry in own]
    yield
    for registry, kept in zip(own, before, strict=True):
        registry.clear()
        registry.update(kept)


def run(text: str, where: str) -> list[tuple[str, str | None]]:
    """Run the blocks of a page in order, in one namespace: what each printed, and what the page says that it prints."""
    names: dict[str, object] = {"__name__": "page"}
    printed = []
    for code, promised in BLOCK.findall(text):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, where, "exec", dont_inherit=True), names)
        printed.append((out.getvalue(), promised or None))
    return printed


@pytest.mark.parametrize("page", [page for page in PAGES if locate(page) not in OWN_TEST], ids=locate)
def test_python_blocks_run_and_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page.name in EXTRAS:
        pytest.importorskip(EXTRAS[page.name])
    text = page.read_text(encoding="utf-8")
    printed = run(text, page.name)
    assert len(printed) == text.count("```python\n")
    assert [(out, said) for out, said in printed if said is not None and out != said] == []


def test_a_wrong_promise_would_be_seen():
    assert run("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n", "page") == [("2\n", "3\n")]


def test_the_readme_begins_with_an_example_that_prints():
    first = run((ROOT / "README.md").read_text(encoding="utf-8").partition("## ")[0], "README.md")
    assert len(first) == 1
    assert first[0][0] == first[0][1] != ""


@pytest.mark.parametrize("page", PAGES, ids=locate)
def test_links_lead_somewhere(page):
    links = LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    assert [link for link in links if not is_there(page, *link)] == []


def is_there(page: Path, target: str, anchor: str) -> bool:
    """Return whether a link of a page leads to a file, and its anchor to a heading there."""
    place = page.parent / target if target else page
    if not anchor or place.suffix != ".md" or not place.exists():
        return place.exists()
    headings = HEADING.findall(FENCE.sub("", place.read_text(encoding="utf-8")))
    return anchor in [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("# Where `auto` fails\n\n```sh\n# no heading\n```\n")
    links = [("", "where-auto-fails"), ("a.md", ""), ("", "no-heading"), ("b.md", ""), ("b.md", "where-auto-fails")]
    assert [is_there(page, *link) for link in links] == [True, True, False, False, False]


def test_the_commands_shown_exist_and_have_the_options_shown():
    pages = [ROOT / "README.md", ROOT / "docs" / "command-line.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    shown = re.findall(r"^bostruct (\w+)(.*)$", text, re.MULTILINE)
    assert {command for command, _ in shown} == set(main.commands)
    for command, rest in shown:
        known = CliRunner().invoke(main, [command, "--help"]).output
        assert [option for option in re.findall(r"--[\w-]+", rest) if option not in known] == []


def test_the_commands_of_make_are_there():
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    for rule in re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{rule}:", rules, re.MULTILINE)
