"""The docstrings of the package: each stands alone in help(), and a public one lists all parameters by name."""

from __future__ import annotations

import doctest
import gc
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import bostruct as bo
from benchmarks.house.sentences import openings, unlisted
from benchmarks.house.source import File, read_package

REPOSITORY = Path(__file__).parents[1]
SOURCES = sorted((REPOSITORY / "bostruct").rglob("*.py"))
EXAMPLES = [path for path in SOURCES if ">>> " in path.read_text(encoding="utf-8")]
pytestmark = pytest.mark.xdist_group("docstrings")
RECORD = (
    "from typing import NamedTuple\nclass Draw(NamedTuple):\n    '''A draw.{}'''\n    value: float\n    weight: float\n"
)
SETTINGS = "@dataclass(frozen=True)\nclass Settings:\n    '''Settings.{}'''\n    trees: int = 1\n    seed: int = 0\n"
MAKER = "class Cache:\n    '''A cache.{}'''\n    def __init__(self, find, size=3): ...\n"
LISTED = {
    RECORD: " value: finite. weight: above 0.",
    SETTINGS: "\n\n    trees: at least 1.\n    seed: from 0.\n    ",
    MAKER: "\n\n    find, size: of the cache.\n    ",
}


@pytest.fixture(scope="module")
def package() -> Iterator[list[File]]:
    gc.disable()  # it would walk through all syntax trees again and again, for twice the time
    yield read_package(REPOSITORY / "bostruct")
    gc.enable()


def read_source(folder: Path, source: str) -> list[File]:
    (folder / "package").mkdir(parents=True)
    (folder / "package" / "one.py").write_text(source)
    return read_package(folder / "package")


def test_no_docstring_goes_on_with_the_name_before_it(package):
    assert openings(package)[0].places == ()


def test_public_docstrings_list_all_parameters(package):
    none, some = unlisted(package)
    assert none.places == ()
    assert some.places == ()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_of_docstrings_run(path):
    module = importlib.import_module(".".join(path.relative_to(REPOSITORY).with_suffix("").parts))
    result = doctest.testmod(module, extraglobs={"bo": bo})
    assert result.failed == 0


@pytest.mark.parametrize("word", ["Of", "That", "What", "Where", "Whether", "Which"])
def test_an_opening_is_found_in_modules_classes_and_private_functions(tmp_path, word):
    line = f"'''{word} it is.'''\n"
    source = f"{line}class A:\n    {line}    def _f(self):\n        {line}"
    places = openings(read_source(tmp_path, source))[0].places
    assert [place.split(" ")[1] for place in places] == ["package.one:", "A:", "_f:"]


def test_a_parameter_left_out_is_named(tmp_path):
    source = (
        "def draw(xs, /, n, *rest, key, **more):\n    '''Draw.\n\n    xs: points.\n    n, rest: numbers.\n    '''\n"
    )
    none, some = unlisted(read_source(tmp_path, source))
    assert none.places == ()
    assert some.places == ("package/one.py:1 draw: key, more",)


def test_a_function_that_lists_none_counts_twice(tmp_path):
    none, some = unlisted(read_source(tmp_path, "class A:\n    def draw(self, n):\n        '''Draw n points.'''\n"))
    assert none.places == ("package/one.py:2 draw",)
    assert some.places == ("package/one.py:2 draw: n",)


@pytest.mark.parametrize("source", LISTED)
def test_a_class_lists_its_fields_or_what_it_is_made_with_and_is_not_counted_then(tmp_path, source):
    found = [unlisted(read_source(tmp_path / str(n), source.format(own))) for n, own in enumerate(("", LISTED[source]))]
    assert [(none.value, some.value) for none, some in found] == [(0, 1), (0, 0)]


@pytest.mark.parametrize(
    "source",
    [
        "def _draw(n):\n    '''Draw.'''\n",
        "class A:\n    '''A class.'''\n    def __call__(self, n):\n        '''Draw.'''\n",
        "@click.command()\ndef run(n):\n    '''Run.'''\n",
        "def outer():\n    '''Do.'''\n    def inner(n):\n        '''Draw.'''\n",
        "@dataclass\nclass A:\n    '''A class.'''\n    count: ClassVar[int] = 0\n    _known: int = 0\n",
    ],
)
def test_private_local_and_dunder_functions_and_commands_are_apart(tmp_path, source):
    assert unlisted(read_source(tmp_path, source))[1].places == ()
