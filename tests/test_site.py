"""The site: every page is in its navigation, docstrings become lists, and links lead to its own pages."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bostruct as bo
from bostruct.problems.maxsat import Header

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "site"


def load(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(f"site_{name}", SITE / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    return load("reference")


def test_each_page_of_the_docs_and_of_the_reference_is_in_the_navigation(reference):
    listed = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.glob("**/*.md")}
    pages |= {f"api/{name}.md" for name in reference.MODULES}
    assert listed - pages == {"index.md", "results.md", "changelog.md", "gallery.md"}
    assert pages <= listed


def test_the_sections_of_a_docstring_become_lists_of_definitions(reference):
    parameters = "xs : Array\n    The m points,\n    one a row.\nn, rest\n    Numbers."
    text = f"Draw points.\n\nParameters\n----------\n{parameters}\n\nRaises\n------\nValueError\n    Never."
    assert reference.format_docstring(text) == (
        "Draw points.\n\n**Parameters**\n\n`xs` : *Array*\n:   The m points,\n    one a row.\n\n`n`, `rest`\n"
        ":   Numbers.\n\n**Raises**\n\n`ValueError`\n:   Never."
    )
    assert reference.list_parameters(text) == {"xs", "n", "rest"}


def find_undescribed(reference: ModuleType, value: object) -> set[str]:
    """Return the parameters of a function, or of a class and its methods, that its docstring does not describe."""
    found = set()
    for name, one in [("", value), *(reference._list_members(value) if inspect.isclass(value) else [])]:
        function = getattr(value, name) if name else one
        text = reference.read_docstring(value, name) if name else inspect.getdoc(one)
        if text and not isinstance(one, property):
            given = inspect.signature(function).parameters.keys() - {"self", "cls"}
            described = reference.list_parameters(text)
            found |= {f"{name}({lacking})" for lacking in given - described if "settings" not in described}
    return found


def test_each_docstring_of_the_reference_describes_all_parameters_in_sections(reference):
    found = {
        f"{module}.{name}{lacking}"
        for module in reference.MODULES
        for name, value in reference.list_public(importlib.import_module(module))
        if value is not Any
        if inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, BaseException))
        for lacking in find_undescribed(reference, value)
    }
    assert found == set()


def test_a_page_has_each_public_name_once_with_its_parameters(reference):
    page = reference.write_page("bostruct", "All.")
    heads = re.findall(r"^## (\w+) ", page, re.MULTILINE)
    assert heads == sorted(bo.__all__, key=str.lower)
    assert len(set(re.findall(r"^##+ (\S+) ", page, re.MULTILINE))) == len(re.findall(r"^##+ \S+ ", page, re.MULTILINE))
    entry = page.split("## minimize ")[1].split("\n## ")[0]
    assert "    n_trials: int | None = None," in entry
    assert "`n_trials` : *int, optional*" in entry
    assert "self" not in re.findall(r"ask\((.*)\)", page)[0]


def test_the_modules_of_the_reference_are_promised(reference):
    promised = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    modules = reference.MODULES.keys() - {"bostruct"}
    assert {name for name in modules if f"`{name}`" not in promised} == set()


@pytest.mark.parametrize("name", ["bostruct.domains", "bostruct.contracts"])
def test_a_page_has_the_names_of_a_package_whose_files_define_them(reference, name):
    heads = set(re.findall(r"^## (\w+) ", reference.write_page(name, "All."), re.MULTILINE))
    assert heads >= {"bostruct.domains": {"CNN", "AllOf"}, "bostruct.contracts": {"Domain", "PointError"}}[name]
    assert "attach" not in heads


def test_the_gallery_names_an_example_that_it_runs_and_runs_it_once(tmp_path, monkeypatch, caplog):
    gallery, example = load("gallery"), tmp_path / "small.py"
    monkeypatch.setattr(gallery, "CACHE", tmp_path / "out")
    example.write_text('"""Add."""\n\nprint(2 + 3)\n')
    with caplog.at_level("INFO", "mkdocs"):
        assert [gallery.show_example(example).page for _ in range(2)][1].count("\n5\n") == 1
    assert caplog.messages[0] == "running examples/small.py for the gallery"
    assert caplog.messages[1].startswith("examples/small.py has not changed")


def test_links_lead_to_the_pages_of_the_site():
    pytest.importorskip("mkdocs")
    redirect = load("hooks").redirect_links
    assert redirect("[a](docs/combo.md#model)", Path("README.md")) == "[a](combo.md#model)"
    assert redirect("[a](../RESULTS.md#all)", Path("docs/auto.md")) == "[a](results.md#all)"
    assert redirect("![a](images/a.svg) [b](combo.md)", Path("docs/auto.md")) == "![a](images/a.svg) [b](combo.md)"
    assert redirect("[a](../combo.md) [b](auto.md)", Path("docs/evidence/x.md")) == "[a](../combo.md) [b](auto.md)"
    assert redirect("[a](../../RESULTS.md#all)", Path("docs/evidence/x.md")) == "[a](../results.md#all)"
    assert redirect("[a](examples/maxsat.py)", Path("README.md")) == "[a](gallery.md)"
    assert redirect("[MIT](LICENSE) [b](https://x.org) [c](#here)", Path("README.md")) == (
        "MIT [b](https://x.org) [c](#here)"
    )


def test_each_title_of_the_gallery_is_that_of_an_example():
    gallery = load("gallery")
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert {*gallery.TITLES, *gallery.ARGUMENTS} <= names


def test_signatures_of_named_tuples_show_plain_annotations(reference):
    assert reference.format_signature("Header", Header) == (
        "```python\nHeader(n_variables: int, n_clauses: int, top: float, is_weighted: bool)\n```"
    )
