"""Options that the commands share: refusals before any work, and what an error or an interrupt turns into."""

from __future__ import annotations

import logging
import sys
import warnings
from types import SimpleNamespace

import click
import pytest

import bostruct as bo
from bostruct import problems
from bostruct.cli import main, options
from bostruct.cli.options import StorageRefused, add_relabel, plain_errors
from bostruct.comparison.runs import name_in_file
from bostruct.contracts import DomainError, MissingExtra
from bostruct.storage.protocol import LONGEST_NAME, StorageError, StudyMismatch
from bostruct.storage.sqlite import SqliteStorage
from bostruct.study.records import OtherVersion
from tests.cli.invoke import SMALL, call

OPTION = click.Option(["--out"])
CONTEXT = click.Context(main)


def test_what_cannot_be_written_or_read_is_refused_in_words(tmp_path):
    missing = call("run", "maxsat:file=nofile.wcnf", code=2).output
    assert "nofile.wcnf: No such file or directory" in missing
    assert "Errno" not in missing
    assert "the directory of" in call("show", "runs.db", "--csv", tmp_path / "nowhere" / "a.csv", code=2).output


@pytest.mark.parametrize("check", [options.check_folder, options.check_picture])
def test_a_file_to_write_needs_a_directory_and_nothing_is_made(check, tmp_path):
    assert check(CONTEXT, OPTION, None) is None
    assert check(CONTEXT, OPTION, str(tmp_path / "a.png")) == str(tmp_path / "a.png")
    with pytest.raises(click.BadParameter, match=r"the directory of .* does not exist"):
        check(CONTEXT, OPTION, str(tmp_path / "nowhere" / "a.png"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a", "a.png.txt", "a.PNG"])
def test_a_picture_of_no_known_kind_is_refused(name, tmp_path):
    with pytest.raises(click.BadParameter, match=r"expected a file that ends in \.png, \.pdf, \.svg; got"):
        options.check_picture(CONTEXT, OPTION, str(tmp_path / name))


@pytest.mark.parametrize(
    ("spec", "relabel", "expected"),
    [
        ("branin", None, "branin"),
        ("branin", 3, "branin:relabel=3"),
        ("maxsat:file=a", 0, "maxsat:file=a,relabel=0"),
        ("branin:relabel=2", None, "branin:relabel=2"),
    ],
)
def test_a_relabeling_joins_the_parameters(spec, relabel, expected):
    assert add_relabel(spec, relabel) == expected


def test_problems_methods_and_configurations_are_checked_before_any_work():
    problem = options.load_problem(SMALL)
    assert problem.name == problems.load(SMALL).name
    assert options.check_method("annealing", problem) == "annealing"
    assert options.check_config(problem, 1) == 1
    for check, given, why in (
        (options.load_problem, ("knapsac",), "knapsac"),
        (options.load_space, ("knapsac",), "problem: expected one of"),
        (options.check_method, ("magic", problem), "method: expected one of auto, .*'magic'"),
        (options.check_method, ("bayesian", problem), r"method: use auto, or .*methods\.bayesian\(space\).*'bayesian'"),
        (options.check_method, ("hyperband", problem), "stages=6 cannot be searched by hyperband: method: expected"),
        (options.check_config, (problem, 99), "--config: expected one of 1, .*; got 99"),
        (add_relabel, ("branin:relabel=2", 3), "branin:relabel=2 contains relabel= already"),
    ):
        with pytest.raises(click.UsageError, match=why):
            check(*given)


def test_a_space_is_that_of_a_problem_or_one_of_a_module(tmp_path):
    (tmp_path / "spaces_of_all_kinds.py").write_text(
        "import bostruct as bo\nspace = bo.Space({'a': bool})\nvariables = {'a': bool}\nproblem = (min, space)\n"
        "def make():\n    return problem\nwrong = {'a': 1.5}\nnumber = 7\n"
    )
    module = f"{tmp_path / 'spaces_of_all_kinds.py'}"
    found = [options.load_space(f"{module}:{name}") for name in ("space", "variables", "problem", "make")]
    assert [space.to_json() for space in found if space is not None] == [bo.Space({"a": bool}).to_json()] * 4
    given = options.load_space(SMALL)
    assert given is not None
    assert given.to_json() == problems.load(SMALL).space.to_json()
    assert options.load_space(None) is None
    for name, why in (("wrong", "^a: "), ("number", "problem: .*:number: expected"), ("none", "has no 'none'")):
        with pytest.raises(click.UsageError, match=why):
            options.load_space(f"{module}:{name}")


@pytest.mark.parametrize(
    ("raised", "turned", "code", "text"),
    [
        (StorageError("damaged"), StorageRefused, options.STORAGE_REFUSED, "damaged"),
        (StudyMismatch("another"), StorageRefused, options.STORAGE_REFUSED, "another"),
        (DomainError("no such"), click.ClickException, options.FAILED, "no such"),
        (MissingExtra("no matplotlib"), click.ClickException, options.FAILED, "no matplotlib"),
        (
            FileNotFoundError(2, "No such file or directory", "a.db"),
            click.ClickException,
            options.FAILED,
            "a.db: No such file",
        ),
    ],
)
def test_errors_raised_on_purpose_are_a_line_and_an_exit_code(raised, turned, code, text):
    with pytest.raises(turned) as refused, plain_errors():
        raise raised
    assert refused.value.exit_code == code
    assert refused.value.message.startswith(text)
    assert refused.value.__cause__ is raised


@pytest.mark.parametrize("raised", [ZeroDivisionError(), BrokenPipeError(), SystemExit(7)])
def test_all_other_errors_pass(raised, capsys):
    with pytest.raises(type(raised)) as passed, plain_errors("Go on."):
        raise raised
    assert passed.value is raised
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("advice", ["", "The same line goes on."])
def test_an_interrupt_exits_with_130_and_says_how_to_go_on(advice, capsys):
    with pytest.raises(click.exceptions.Exit) as ended, plain_errors(advice):
        raise KeyboardInterrupt
    assert ended.value.exit_code == options.INTERRUPTED == 130
    assert capsys.readouterr().err == f"Interrupted. {advice}".rstrip() + "\n"


def test_a_termination_passes_with_a_line_that_says_so(capsys):
    with pytest.raises(SystemExit) as ended, plain_errors("The same line goes on."):
        sys.exit(143)
    assert ended.value.code == 143
    assert capsys.readouterr().err == "Terminated. The same line goes on.\n"


def warn_of_two_things() -> None:
    with plain_errors():
        warnings.warn("made by 0.0.1", OtherVersion, stacklevel=1)
        warnings.warn("something else", UserWarning, stacklevel=1)


def test_notes_of_another_version_are_lines_and_other_warnings_stay_warnings(capsys):
    show = warnings.showwarning
    with pytest.warns(UserWarning, match="something else"):
        warn_of_two_things()
    assert capsys.readouterr().err == "Note: made by 0.0.1\n"
    assert warnings.showwarning is show


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PermissionError(13, "Permission denied", "a.db"), "a.db: Permission denied"),
        (OSError("broken"), "broken"),
        (ValueError("what"), "what"),
    ],
)
def test_the_text_of_an_error_has_no_number_of_the_system(error, text):
    assert options.error_text(error) == text


def test_a_study_of_a_problem_whose_parameters_were_renamed_is_found_by_its_old_name(tmp_path):
    file, now = tmp_path / "runs.db", "pest:graph=complete,noise_seed=1 random seed=0"
    assert name_in_file(None, now) == name_in_file(file, now) == now
    for name, found in (("another", now), (now.replace("noise_seed", "noise"), now.replace("noise_seed", "noise"))):
        bo.Study({"a": bool}, storage=file, name=name).close()
        assert name_in_file(file, now) == found
    bo.Study({"a": bool}, storage=file, name=now).close()
    assert name_in_file(file, now) == now
    (tmp_path / "no.db").write_bytes(b"no database")
    assert name_in_file(tmp_path / "no.db", now) == now


def test_a_study_of_a_problem_with_a_long_name_has_a_shorter_one_of_its_own(tmp_path):
    long = f"maxsat:file={'folder/' * 100}a.wcnf random seed=0"
    short = name_in_file(None, long)
    assert len(short) == LONGEST_NAME
    assert short == name_in_file(tmp_path / "runs.db", long) != name_in_file(None, long.replace("seed=0", "seed=1"))
    with bo.Study({"a": bool}, name=short, storage=tmp_path / "runs.db") as study:
        SqliteStorage(tmp_path / "old.db").save(study._ledger.export(long)).close()  # as an earlier version named it
    assert name_in_file(tmp_path / "runs.db", long) == short
    assert name_in_file(tmp_path / "old.db", long) == long


def test_what_storage_warns_of_is_a_note(capsys):
    log = logging.getLogger("bostruct.storage.postgresql.session")
    with plain_errors():
        log.warning("%s: the connection for steps was lost", "postgresql://ann@db/runs")
        log.info("nothing to say")
    log.warning("after it")
    assert capsys.readouterr().err == "Note: postgresql://ann@db/runs: the connection for steps was lost\n"


def test_a_note_that_nobody_can_read_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[object] = []

    def fail(*note: object, **__: object) -> None:
        noted.extend(note)
        raise BrokenPipeError

    with plain_errors():
        monkeypatch.setattr(click, "echo", fail)
        monkeypatch.setattr(logging, "raiseExceptions", False)
        logging.getLogger("bostruct.storage.sqlite").warning("a file is busy")
    assert noted == ["Note: a file is busy"]


@pytest.mark.parametrize(
    ("named", "recorded"),
    [
        ("mine.py:problem", "mine.py:problem"),
        ("../c,1/lr=0.1/mine.py:problem", "mine.py:problem"),
        (r"C:\runs\mine.py:problem", "mine.py:problem"),
        ("package.module:problem", "package.module:problem"),
        ("maxsat:file=lr=0.1/x.wcnf,relabel=3", "maxsat:file=x.wcnf,relabel=3"),
        ("maxsat:file=/a,1/x.wcnf,relabel=3", "maxsat:file=x.wcnf,relabel=3"),
        ("max3sat:seed=1,variables=20", "max3sat:seed=1,variables=20"),
        ("branin", "branin"),
    ],
)
def test_a_problem_is_known_by_its_name_without_folders(named: str, recorded: str) -> None:
    assert options.name_on_record(SimpleNamespace(name=named)) == recorded  # type: ignore[arg-type]
