"""Hooks of MkDocs: the pages that are made of other files, and links that lead out of the folder of the docs."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).resolve().parent))

from gallery import show_example
from reference import MODULES, write_page

ROOT = Path(__file__).resolve().parents[2]
COPIES = {"README.md": "index.md", "RESULTS.md": "results.md", "CHANGELOG.md": "changelog.md"}
GALLERY = "gallery.md"
STYLE = ".md-typeset dd { margin: 0 0 0.6em 1.5em } .md-typeset dd > p { margin: 0 }"  # of lists of parameters
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made of other files: README, results, changes, reference, gallery."""
    for source, page in COPIES.items():
        text = redirect_links((ROOT / source).read_text(encoding="utf-8"), Path(source))
        files.append(File.generated(config, page, content=text))
    for module, about in MODULES.items():
        files.append(File.generated(config, f"api/{module}.md", content=write_page(module, about)))
    files.append(File.generated(config, "reference.css", content=STYLE))
    for file in make_gallery(config):
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Lead links that leave the folder of the docs to the page that shows their file."""
    if page.file.generated_by:
        return markdown
    return redirect_links(markdown, Path("docs") / page.file.src_uri)


def redirect_links(text: str, source: Path) -> str:
    """Return a page whose links are those of the site; the text of a link to any other file stays as text.

    text: of the page, Markdown.
    source: of the page in the repository.
    """

    folder = source.parent.relative_to("docs") if source.parts[0] == "docs" else Path()

    def redirect(found: re.Match[str]) -> str:
        label, target, anchor = found[1], found[2], found[3] or ""
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        name = (ROOT / source.parent / target).resolve().relative_to(ROOT).as_posix()
        if name.startswith("examples"):
            page, anchor = GALLERY, ""
        else:
            page = name.removeprefix("docs/") if name.startswith("docs/") else COPIES.get(name)
        return label[1:-1] if page is None else f"{label}({os.path.relpath(page, folder)}{anchor})"

    return _LINK.sub(redirect, text)


def make_gallery(config: Any) -> list[File]:
    """Return the page of the gallery, and its pictures."""
    shown = {path.stem: show_example(path) for path in sorted((ROOT / "examples").glob("*.py"))}
    head = "# Gallery\n\nEach example runs in seconds. Its output stands below its picture."
    page = "\n\n".join([head, *(one.page for one in shown.values())])
    pictures = [
        File.generated(config, f"{name}.svg", content=one.picture) for name, one in shown.items() if one.picture
    ]
    return [File.generated(config, GALLERY, content=page), *pictures]
