"""Studies that reports are tested with, and a reader of the page."""

from __future__ import annotations

from html.parser import HTMLParser

import bostruct as bo
from bostruct.display import VOID

LINE, TURNED = "\u2028", "\u202e"
HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</style></title><script>alert(2)</script>",
    f"a{LINE}b{TURNED}c",
    r"$\foo_{$",
    "x" * 3000,
    "&lt;&#0;]]>-->",
)


def make_hostile(n: int = 30) -> bo.Study:
    """Return a study where each text that somebody tells is hostile."""
    space = {name: [*HOSTILE[:3], "b"] for name in HOSTILE}
    study = bo.Study(space, method="random", seed=0, name=HOSTILE[0], constraints={HOSTILE[1]: ("<=", 3.0)})
    for i in range(n):
        trial = study.ask()
        if i % 5 == 4:
            study.tell(trial, failed=f"{HOSTILE[i % 3]}{HOSTILE[3]}\nsecond line")
        else:
            study.tell(trial, {"value": float(i % 7), "constraints": {HOSTILE[1]: float(i % 6)}})
    return study


def make_plain(n: int = 24, method: str = "random", **goals: object) -> bo.Study:
    """Return a study of two numbers and a choice."""
    space = {"x": bo.Integer(0, 9), "kind": ["a", "b"], "depth": bo.Integer(1, 5)}
    study = bo.Study(bo.Space(space), method=method, seed=1, **goals)
    for _ in range(n):
        trial = study.ask()
        value = float((trial.point["x"] - 3) ** 2 + (trial.point["kind"] == "a"))
        study.tell(trial, (value, -value) if study.goals.n_objectives == 2 else value)
    return study


class Reader(HTMLParser):
    """Reads a page: its tags with their attributes, its headings and its text; checks that tags are nested."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[int] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append(int(tag[1]))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] not in ("style", "script"):
            self.text.append(data)

    def find(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


def check_page(html: str) -> Reader:
    """Check what holds of each page: it needs nothing from elsewhere, and can be told by a screen reader."""
    page = Reader(html)
    links = [value for _, found in page.tags for name, value in found.items() if name in ("src", "href")]
    assert all(link.startswith(("#", "data:")) for link in links)
    ids = [found["id"] for _, found in page.tags if "id" in found]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    named = [found["aria-labelledby"] for _, found in page.tags if "aria-labelledby" in found]
    assert set(named) <= set(ids)
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    assert all(found["alt"] for found in page.find("img"))
    assert all(found["scope"] in ("row", "col") for found in page.find("th"))
    assert len(page.find("caption")) == len(page.find("table"))
    assert [len(page.find(name)) for name in ("main", "header", "footer", "script", "style", "title")] == [1] * 6
    assert not any(name.startswith("on") or name == "style" for _, found in page.tags for name in found)
    return page
