"""The figures of the package's form, on trees whose figures are known."""

from __future__ import annotations

import ast
import json

import pytest

from benchmarks.house.__main__ import main, measure
from benchmarks.house.figures import LIMITS
from benchmarks.house.imports import Import, cycles, read_imports
from benchmarks.house.sentences import wide_markdown
from benchmarks.house.words import british, is_participle

LONG = "def long(a):\n    '''Return a.\n\n    a: a number.\n    '''\n" + "    a = a + 1\n" * 59 + "    return a\n"
SHARED = {
    "bostruct/__init__.py": '"""A package."""\n__version__ = "0"\n',
    "bostruct/one.py": '"""One module."""\nfrom typing import Any\nLIMIT: Any = 1\n'
    "def _draw():\n    from bostruct import two\n",
    "bostruct/two.py": '"""Another module."""\nfrom typing import TYPE_CHECKING\nfrom bostruct import __version__\n'
    "if TYPE_CHECKING:\n    from bostruct.one import LIMIT as BOUND\nLIMIT = 2\ndef _draw(): ...\n",
}


@pytest.fixture
def plant(tmp_path):
    def write(**files: str):
        for name, text in (SHARED | files).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def figures(repository) -> dict[str, float]:
    return {figure.name: figure.value for figure in measure(repository)}


def places(repository, name: str) -> tuple[str, ...]:
    return next(figure.places for figure in measure(repository) if figure.name == name)


def test_every_limit_is_of_a_figure(plant):
    assert {limit.name for limit in LIMITS} <= set(figures(plant()))


def test_files_are_counted_at_the_root_and_by_length(plant):
    inner = {"bostruct/inner/__init__.py": "", "bostruct/inner/long.py": "\n" * 100}
    found = figures(plant(**inner, **{"bostruct/old.py": "\n" * 701}))
    names = ("files", "files at the root", "files under 100 lines", "files over 700 lines")
    assert [found[name] for name in names] == [6, 4, 4, 1]


def test_lines_are_code_docstrings_or_imports(plant):
    found = figures(plant())
    assert (found["code lines"], found["docstring lines"]) == (11, 3)
    assert found["imports, % of code lines"] == pytest.approx(100 * 5 / 11, abs=0.05)


def test_a_file_that_its_neighbor_alone_imports_is_named(plant):
    inner = {"bostruct/inner/__init__.py": "", "bostruct/inner/a.py": "", "bostruct/inner/b.py": ""}
    name = "files that one file of their own folder imports"
    neighbor = {"bostruct/inner/b.py": "from bostruct.inner import a\n"}
    assert "bostruct/inner/a.py by bostruct/inner/b.py" in places(plant(**inner | neighbor), name)
    other = {"bostruct/three.py": "from bostruct.inner.a import x\n"}
    assert not any(place.startswith("bostruct/inner/a.py") for place in places(plant(**inner | neighbor | other), name))


def test_a_private_helper_is_counted_if_one_place_names_it(plant):
    more = "def _once(): ...\ndef _twice(): ...\ndef f():\n    _once()\n    _twice()\n    _twice()\n"
    root = plant(**{"bostruct/more.py": more, "bostruct/two.py": ""})
    assert figures(root)["private helpers named once, % of functions"] == 25.0  # of four functions


def test_protocols_and_questions_are_counted_and_laws_may_ask(plant):
    more = "from typing import Protocol, TypeVar\nclass A(Protocol): ...\nclass B(Protocol[T]): ...\nclass C(A): ...\n"
    ask = "def f(x): return hasattr(x, 'a') or has_capability(x, A) or checks.has_capability(x, B)\n"
    root = plant(**{"bostruct/more.py": more + ask, "bostruct/testing/laws.py": ask})
    found = figures(root)
    assert (found["protocols"], found["questions for a capability, outside testing"]) == (2, 3)


def test_a_long_function_is_found_and_its_docstring_is_no_part_of_its_length(plant):
    assert figures(plant(**{"bostruct/long.py": LONG}))["functions over 60 lines"] == 1
    assert places(plant(), "functions over 60 lines") == ("bostruct/long.py:1 long 61",)
    shorter = plant(**{"bostruct/long.py": LONG.replace("    a = a + 1\n", "", 1)})
    assert figures(shorter)["functions over 60 lines"] == 0


def test_a_cycle_of_a_deferred_and_a_typing_import_is_named(plant):
    assert places(plant(), "import cycles") == ("bostruct.one <> bostruct.two",)
    assert figures(plant(**{"bostruct/one.py": ""}))["import cycles"] == 0


def test_cycles_that_touch_are_one_and_others_apart():
    assert cycles({"a": {"b"}, "b": {"a", "c"}, "c": {"b"}, "d": {"a"}, "e": {"e"}}) == [["a", "b", "c"], ["e"]]


def test_an_import_is_told_by_when_it_happens():
    source = (
        "import a\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import b\n"
        "def f():\n    import c\n    if TYPE_CHECKING:\n        import d\n"
        "class E:\n    import e\n"
    )
    found = [edge for edge in read_imports(source, "p.m", set()) if edge.target != "typing"]
    told = [("a", "load", 1), ("b", "typing", 4), ("c", "call", 6), ("d", "typing", 8), ("e", "load", 10)]
    assert found == [Import(*one) for one in told]


def test_relative_imports_and_modules_of_a_package_are_resolved():
    known = {"p.q", "p.q.m"}
    found = read_imports("from . import m, other\nfrom ..a import b", "p.q.n", known)
    assert [edge.target for edge in found] == ["p.q.m", "p.q", "p.a"]


def test_any_is_counted_with_its_import_in_lines_of_code(plant):
    lines = 1 + 4 + 6  # of the three files; their docstrings are none
    assert figures(plant())["Any per 1,000 code lines"] == pytest.approx(1000 * 2 / lines, abs=0.05)


@pytest.mark.parametrize("name", ["drawn", "_held", "points_told", "standardized", "rebuilt", "begun", "unseen", "fed"])
def test_a_participle_is_one(name):
    assert is_participle(function(f"def {name}(x): ..."))


VERBS = ["draw(x)", "seed(x)", "read_feed(x)", "run(x)", "put(x)", "drawn_points(x)", "is_drawn(x)", "_has_failed(x)"]


@pytest.mark.parametrize("signature", [*VERBS, "stopped(self) -> bool"])
def test_verbs_nouns_and_predicates_are_none(signature):
    assert not is_participle(function(f"def {signature}: ..."))


def function(source: str) -> ast.FunctionDef:
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def test_the_share_of_participles_is_of_all_functions(plant):
    more = "class A:\n    def held(self): ...\n    def hold(self):\n        def f(): ...\n"
    found = figures(plant(**{"bostruct/more.py": more}))
    assert found["functions named by a participle, %"] == 20.0  # held, of five


def test_openings_are_counted_and_the_public_ones_apart(plant):
    docs = {"f": "Of the chain.", "_g": "Whether so.", "h": "Offer it."}
    more = '"""What it is."""\n' + "".join(f'def {name}():\n    """{text}"""\n' for name, text in docs.items())
    found = figures(plant(**{"bostruct/more.py": more}))
    assert found["docstrings opening with Of, That, What, ..."] == 3
    assert found["the same, public ones"] == 2
    assert found["the same, % of docstrings"] == pytest.approx(100 * 3 / 7, abs=0.05)


@pytest.mark.parametrize(
    ("text", "unlisted"),
    [
        ("Draw n points.", 1),
        ("Draw points. n: how many.", 1),
        ("Draw points.\n\n    n: how many, at least 1.\n    ", 0),
        ("Draw points.\n\n    m, n: the shape.\n    ", 0),
        ("Draw points.\n\n    n (int): how many.\n    ", 0),
    ],
)
def test_parameters_have_lines_of_their_own(plant, text, unlisted):
    root = plant(**{"bostruct/more.py": f'def draw(n):\n    """{text}"""\ndef _draw(n):\n    """No list."""\n'})
    assert figures(root)["public docstrings that list no parameter"] == unlisted


def test_coverage_is_of_public_things(plant):
    more = "def f(): ...\nclass A:\n    '''A class.'''\n    def __len__(self): ...\n    def _g(self): ...\n"
    assert figures(plant(**{"bostruct/more.py": more}))["public docstring coverage, %"] == pytest.approx(66.7)


def test_names_with_several_meanings_are_functions_and_classes_private_ones_too(plant):
    root = plant(**{"bostruct/more.py": "from bostruct.one import _draw\nclass A:\n    def _draw(self): ...\n"})
    name = "top-level names with several meanings"
    assert places(root, name) == ("_draw: bostruct/one.py, bostruct/two.py",)


def test_wide_lines_are_those_of_code_blocks():
    page = f"{'x' * 200}\n\n```python\n{'y' * 100}\n{'z' * 101}\n```\n{'x' * 200}\n"
    assert wide_markdown({"page.md": page}).places == ("page.md:5 101",)


@pytest.mark.parametrize("word", ["optimisation", "Maximisers", "standardised", "neighbouring", "colour", "centred"])
def test_british_spellings_are_found(word):
    assert british({"page.md": f"the {word} of"}).value == 1


@pytest.mark.parametrize("word", ["optimization", "optimism", "promise", "realism", "analyses", "precise", "center"])
def test_american_ones_are_not(word):
    assert british({"page.md": f"the {word} of"}).places == ()


WRONG = "No gain is beyond\nchance; 95 % of it."
FINE = 'I told you: where it holds, 100% of the trials.\n\n> beyond chance\n\n| noise aside |\n\n"as told", `as told`\n'


def test_wrong_phrases_are_found_in_pages_and_not_in_quotations_tables_code_and_evidence(plant):
    page = f"{FINE}\n```text\nas told\n```\n\n{WRONG}\n"
    root = plant(**{"docs/page.md": page, "docs/evidence/page.md": WRONG, "CHANGELOG.md": WRONG, "README.md": FINE})
    assert places(root, "wrong phrases in pages") == ("docs/page.md:13 beyond chance", "docs/page.md:14 5 %")


def test_wrong_phrases_are_found_in_messages_and_docstrings(plant):
    more = '''"""As told of a trial."""
X = "the best point " "told"
"""What came of it."""
def f(x):
    """Run; noise aside."""
    raise ValueError(f"{x:.0f} % of {x} are on record, told me")
@click.command()
def g():
    """Show the last word is of noon."""
'''
    root = plant(**{"bostruct/more.py": more})
    said = ["2 point told", "6 0 %", "6 on record", "9 last word is of"]
    assert sorted(places(root, "wrong phrases in messages")) == [f"bostruct/more.py:{one}" for one in said]
    said = ["1 As told", "3 What came of", "5 noise aside"]
    assert sorted(places(root, "wrong phrases in docstrings")) == [f"bostruct/more.py:{one}" for one in said]


def test_long_lines_and_paragraphs_of_prose_are_found(plant):
    long, link = "x" * 121, f"[x](https://{'y' * 200})"
    words, item = "word " * 16, "- " + "item " * 20
    lines = [long, "", link, "", f"| {long} |", "", *[words] * 5, "", *[words] * 5, "more", "", *[item] * 3]
    root = plant(**{"docs/page.md": "\n".join(lines), "CONTRIBUTING.md": long, "docs/evidence/page.md": long})
    name = "lines of prose over 120 characters"
    assert set(places(root, name)) == {"docs/page.md:1 121", "CONTRIBUTING.md:1 121"}
    assert places(root, "paragraphs over 80 words") == ("docs/page.md 81 words",)


def test_the_readme_and_user_documentation_are_measured(plant):
    readme = "# A\n\n```python\nx\n```\n"
    pages = {"README.md": readme, "docs/a.md": "one two", "docs/architecture.md": "one", "docs/evidence/b.md": "one"}
    found = figures(plant(**pages))
    names = ("lines of README", "line of the first Python block of README", "words of user documentation")
    assert [found[name] for name in names] == [5, 3, 7]


def test_check_fails_where_a_figure_is_over_its_limit_and_only_there(plant, capsys):
    assert main([], plant()) == 0
    assert main(["--check"], plant()) == 1  # the cycle
    assert "| import cycles | 1 | 0 | over |" in capsys.readouterr().out
    assert main(["--check"], plant(**{"bostruct/one.py": '"""One module."""\n' + "x = 1\n" * 40})) == 0


def test_json_of_another_revision_becomes_a_column(plant, tmp_path, capsys):
    main(["--json"], plant())
    file = tmp_path / "before.json"
    file.write_text(capsys.readouterr().out)
    first = json.loads(file.read_text())[0]
    assert (first["name"], first["value"]) == ("files at the root", 3)
    main(["--before", str(file)], plant(**{"bostruct/one.py": ""}))
    assert "| import cycles | 1 | 0 | 0 | kept |" in capsys.readouterr().out


def test_who_names_a_part_is_counted(plant):
    registry = "from bostruct.domains.space import numeric\n"
    registries = {f"bostruct/{room}/space/registry.py": registry for room in ("domains", "kernels")}
    root, name = plant(**{"bostruct/domains/space/numeric.py": ""}, **registries), "most files that name one part"
    assert figures(root)[name] == 2
    said = "one more kind of variable (domains.space.numeric): bostruct/domains/space/registry.py, "
    assert said in " ".join(places(root, name))
