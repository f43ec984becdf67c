"""Figures of the prose: phrases that are wrong in every context, and the length of pages, lines and paragraphs.

Single common words (where, told, limit, beside) also have correct uses, and are not listed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from benchmarks.house.figures import Figure
from benchmarks.house.source import File

PHRASES = (  # regular expressions
    "as told",
    "(?:beyond|within|more than) chance",
    "for as long as it takes",
    "(?:it|they) came to",
    "keeps? (?:all|its|the|their) limits",
    "last word is of",
    "likelier",
    "losers included",
    "noise aside",
    "not run to an end",
    "on record",
    "only source of chance",
    "(?:number|point|result|value)s? told",
    "told (?:number|point|result|value|trial)s?",
    "tells? of",
    "what came of",
    "where there (?:are any|is any|is none|is one)",
    "whoever",
    "s a suggestion",
    r"(?:a|one) (?:column|file|line|point|row|value) an? \w+",
)
WRONG = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b|\d %(?=[\s.,;:)]|$)".replace(" ", r"\s+"), re.IGNORECASE)
WIDTH = 120  # characters per line
PARAGRAPH = 80  # words
CONTRIBUTORS = ("CONTRIBUTING.md", "docs/architecture.md")  # pages that are not user documentation
_FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"^ *\|.*$|^ *>.*$|<!--.*?-->", re.MULTILINE)
_QUOTED = re.compile(r"`[^`]*`|\"[^\"\n]*\"|“[^”]*”")
_LINK = re.compile(r"\]\([^)]*\)")
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|^#.*$", re.MULTILINE)


def measure_prose(pages: dict[str, str], files: list[File]) -> list[Figure]:
    """Return the figures of the prose.

    pages: Markdown pages, by the name of the file in the repository.
    files: files of the package.
    """
    prose = {
        name: text for name, text in pages.items() if re.fullmatch(r"README\.md|CONTRIBUTING\.md|docs/[^/]*", name)
    }
    user = {name: text for name, text in prose.items() if name not in CONTRIBUTORS}
    readme = pages.get("README.md", "")
    return [
        Figure.count(
            "wrong phrases in pages", _list_phrases({name: _QUOTED.sub("", _blank(user[name])) for name in user})
        ),
        Figure.count("wrong phrases in messages", [place for file in files for place in list_wrong(file, False)]),
        Figure.count("wrong phrases in docstrings", [place for file in files for place in list_wrong(file, True)]),
        Figure("lines of README", readme.count("\n")),
        Figure(
            "line of the first Python block of README",
            readme.partition("```python")[0].count("\n") + 1 if readme else 0,
        ),
        Figure("words of user documentation", sum(len(text.split()) for text in user.values())),
        Figure.count(f"lines of prose over {WIDTH} characters", _list_wide(prose)),
        Figure.count(f"paragraphs over {PARAGRAPH} words", _list_long(prose)),
    ]


def list_wrong(file: File, in_docstrings: bool) -> list[str]:
    """Return the places of wrong phrases in a file of the package.

    file: a file of the package.
    in_docstrings: True for docstrings, False for other strings and the help of commands, which are printed.
    """
    docstrings = set(_find_docstrings(file))
    inside = {id(part) for node in ast.walk(file.tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    found = []
    for node in ast.walk(file.tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            text = node.value
        else:
            continue
        if (id(node) in docstrings) is in_docstrings:
            found += [f"{file.place(node.lineno)} {' '.join(one[0].split())}" for one in WRONG.finditer(text)]
    return found


def _find_docstrings(file: File) -> Iterator[int]:
    """Yield the ids of the docstrings that no command prints."""
    helps = {id(item.node.body[0]) for item in file.items if any(map(_is_command, item.node.decorator_list))}
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and id(node) not in helps:
            yield id(node.value)


def _is_command(decorator: ast.expr) -> bool:
    return re.search(r"\.(?:command|group)\b", ast.unparse(decorator)) is not None


def _blank(text: str) -> str:
    """Return the text without code blocks, tables, block quotes and comments; line numbers do not change."""
    for pattern in (_FENCE, _TABLE):
        text = pattern.sub(lambda found: "\n" * found[0].count("\n"), text)
    return text


def _list_phrases(pages: dict[str, str]) -> list[str]:
    return [
        f"{name}:{text.count(chr(10), 0, one.start()) + 1} {' '.join(one[0].split())}"
        for name, text in pages.items()
        for one in WRONG.finditer(text)
    ]


def _list_wide(pages: dict[str, str]) -> list[str]:
    """List the lines that are too long even without link targets."""
    lines = {name: enumerate(_LINK.sub("]", _blank(text)).splitlines(), 1) for name, text in pages.items()}
    return [f"{name}:{i} {len(line)}" for name, own in lines.items() for i, line in own if len(line) > WIDTH]


def _list_long(pages: dict[str, str]) -> list[str]:
    """List the paragraphs and list items that are too long."""
    found = {name: [len(one.split()) for one in _PARAGRAPH.split(_blank(text))] for name, text in pages.items()}
    return [f"{name} {n} words" for name, counts in found.items() for n in counts if n > PARAGRAPH]
