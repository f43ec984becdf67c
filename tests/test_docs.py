"""The docs name what there is: files, dotted names and classes of the package exist."""

from __future__ import annotations

import ast
import builtins
import re
from pathlib import Path

import pytest

import bostruct as bo

REPOSITORY = Path(__file__).parents[1]
PAGES = [*sorted(REPOSITORY.glob("docs/**/*.md")), REPOSITORY / "README.md"]
ELSEWHERE = {"Resample", "SingleOnlySamplerTestCase"}  # classes of other libraries, which no code here names
_FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"`([^`\n]+)`")
_TEXT = re.compile(r"""(\"{3}|'{3})(?:\\.|[^\\])*?\1|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*""", re.DOTALL)
_WORD = re.compile(r"\w+")
pytestmark = pytest.mark.xdist_group("docs")


def read_names() -> frozenset[str]:
    """Return the words of all code outside of texts and comments: identifiers, those of other libraries included."""
    folders = ("bostruct", "tests", "benchmarks", "examples")
    sources = [path.read_text(encoding="utf-8") for folder in folders for path in (REPOSITORY / folder).rglob("*.py")]
    return frozenset(dir(builtins)).union(*(_WORD.findall(_TEXT.sub(" ", source)) for source in sources))


def read_definitions() -> frozenset[str]:
    """Return what the package defines: modules, classes, functions, their attributes and fields."""
    found: set[str] = set()
    for path in (REPOSITORY / "bostruct").rglob("*.py"):
        found.update(path.relative_to(REPOSITORY).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return frozenset(found)


def find_missing(text: str, names: frozenset[str], definitions: frozenset[str]) -> list[str]:
    """Return what a page names in backquotes and is not there; code blocks run as tests, and are apart.

    A path in a folder must lead to a file of the repository or the package, `NAME.py` aside; each part of
    `bostruct.a.b` or `bo.A` must be defined in the package; `result.a` must be an attribute of a `Result`; the function
    of `call()` must be some identifier of the code, and so must a word with capitals inside, such as `SpaceKernel`.
    """
    missing = []
    for quoted in _QUOTED.findall(_FENCE.sub("", text)):
        if re.fullmatch(r"\w+(/\w+)*/\w+\.(py|md)", quoted) and "NAME" not in quoted:
            if not any((root / quoted).exists() for root in (REPOSITORY, REPOSITORY / "bostruct")):
                missing.append(quoted)
        elif dotted := re.match(r"(?:bostruct|bo)\.([a-zA-Z_][\w.]*)(?<!\.py)", quoted):
            missing += [quoted] * (not set(dotted[1].strip(".").split(".")) <= definitions)
        elif attribute := re.match(r"result\.(\w+)", quoted):
            missing += [quoted] * (
                not hasattr(bo.Result, attribute[1]) and attribute[1] not in bo.Result.__annotations__
            )
        elif call := re.fullmatch(r"(\w+)\(\)", quoted):
            missing += [quoted] * (call[1] not in names)
        elif word := re.match(r"[A-Z][a-z]+[A-Z]\w+", quoted):
            missing += [quoted] * (word[0] not in names)
    return missing


@pytest.fixture(scope="module")
def known() -> tuple[frozenset[str], frozenset[str]]:
    return read_names() | ELSEWHERE, read_definitions()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_a_page_names_what_there_is(page, known):
    assert find_missing(page.read_text(encoding="utf-8"), *known) == []


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("the `PulsatingKernel`", ["PulsatingKernel"]),
        ("`SpaceKernel` and `bo.Space`, in `domains/space/space.py` and `docs/combo.md`", []),
        ("`domains/space/nothing.py`, not `domains/NAME.py`", ["domains/space/nothing.py"]),
        ("`bostruct.kernels.space.nothing`", ["bostruct.kernels.space.nothing"]),
        ("`bo.Nothing(3)`", ["bo.Nothing(3)"]),
        ("`bo.Study.load(path)`", []),
        ("`result.to_nothing()`, `to_nothing()`", ["result.to_nothing()", "to_nothing()"]),
        ("`result.to_dataframe()`, `to_dataframe()`, `result.trials`", []),
        ("```python\nbo.Nothing\n```", []),
    ],
)
def test_the_check_can_fail(text, missing, known):
    assert find_missing(text, *known) == missing
