"""Outputs never destroy what they did not make: each place that writes a file, on each kind of file in its way."""

from __future__ import annotations

import csv
import errno
import os
import pickle
import stat
import subprocess
import sys
import threading
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bostruct as bo
from bostruct import output_files
from bostruct.analysis.plots import save_figure
from bostruct.domains.language.drawing import Frame, write_page
from bostruct.output_files import MARKS, OutputRefused, check_output, quote_cell, write_output
from bostruct.problems import official
from bostruct.problems.maxsat import Formula, write_wcnf
from tests.cli.invoke import SMALL, call
from tests.locked_files import hard_link, hold_lock, is_locked

SPACE = {"x": ["=1+1", "@a", "b", "\ud800c", "'=1+1'"], "y": bo.Real(0.0, 1.0)}
KEPT = "written by hand"
PROBLEM = bo.Problem(lambda point: point["y"], bo.Space({"y": bo.Real(0.0, 1.0)}), name="own")
pytestmark = pytest.mark.usefixtures("runs_in_process")

COMPARE = ("compare", SMALL, "--methods", "random", "--seeds", 1, "--trials", 3)
# Place -> the name of its file, and facts -> the function that writes it.
PLACES = {
    "to_csv": ("a.csv", lambda facts: facts.result.to_csv),
    "history.to_csv": ("a.csv", lambda facts: facts.result.history.to_csv),
    "write_report": ("a.html", lambda facts: partial(bo.write_report, facts.result)),
    **{kind: (f"a.{kind}", lambda facts: partial(save_figure, facts.result.plot())) for kind in ("png", "svg", "pdf")},
    "incumbents": ("a.csv", lambda facts: facts.compared.write_incumbents),
    "tables": ("comparison.md", lambda facts: in_folder(facts.compared.write_tables)),
    "transitions": ("a.html", lambda _: write_transitions),
    "run --plot": ("a.png", lambda _: partial(in_line, "run", SMALL, "--method", "random", "--trials", 2, "--plot")),
    "show --plot": ("a.svg", lambda facts: partial(in_line, "show", facts.file, "--plot")),
    "show --csv": ("a.csv", lambda facts: partial(in_line, "show", facts.file, "--csv")),
    "report --out": ("a.html", lambda facts: partial(in_line, "report", facts.file, "--out")),
    "compare --out": ("convergence.png", lambda _: in_folder(partial(in_line, *COMPARE, "--out"))),
}
WITHOUT_MARK = {"write_wcnf": ("a.wcnf", lambda _: partial(write_wcnf, Formula(1, ((1,),), (1.0,))))}


def write_transitions(path, **settings):
    write_page(path, "=t", iter([Frame("a", "")]), lambda _: "<svg></svg>", **settings)


def in_folder(write):
    """Return what writes a file in the way of a function that writes several into its folder."""
    return lambda path, **settings: write(path.parent, **settings)


def find_place(place, facts, folder):
    """Return the path of a place in a folder, and the function that writes it."""
    name, make = (PLACES | WITHOUT_MARK)[place]
    return folder / name, make(facts)


class Facts:
    """A file with a study, which nobody has open, its result, and a comparison."""

    def __init__(self, file: Path) -> None:
        self.file = file
        with bo.Study(SPACE, method="random", seed=0, storage=file, name="one") as study:
            study.optimize(lambda point: point["y"], 6, progress=False)
            self.result = study.result
        methods = {"=cmd": "random", "lone \ud800": "random"}
        self.compared = bo.compare(PROBLEM, methods, n_trials=3, seeds=1, progress=False).problems[0]


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return Facts(tmp_path_factory.mktemp("runs") / "runs.db")


def in_line(*arguments, overwrite=False):
    """Run a line of the command, and raise its refusal as the functions do."""
    done = call(*arguments, *(["--overwrite"] if overwrite else []), code=None)
    if done.exit_code == 2:
        raise OutputRefused(done.stderr)
    assert done.exit_code == 0, done.output


def list_files(folder):
    return {path.name for path in folder.iterdir() if path.name.startswith(".")}


@pytest.mark.parametrize("place", PLACES)
def test_an_earlier_output_is_replaced_and_passes_on_its_mode_and_its_link(place, facts, tmp_path):
    path, write = find_place(place, facts, tmp_path)
    write(path)
    other = tmp_path / "elsewhere" / path.name
    other.parent.mkdir()
    path.rename(other)
    path.symlink_to(other)
    other.chmod(0o640)
    before = other.stat().st_ino
    write(path)
    assert path.is_symlink()
    assert (stat.S_IMODE(other.stat().st_mode), other.stat().st_ino == before) == (0o640, False)
    assert not list_files(tmp_path) | list_files(other.parent)


@pytest.mark.parametrize(
    ("place", "content"),
    [
        *((place, KEPT) for place in PLACES | WITHOUT_MARK),
        ("to_csv", ""),
        ("to_csv", "number,status,value\n"),
        ("write_report", "<!doctype html>\n<html lang='en'>"),
        ("pdf", "%PDF-1.4"),
    ],
)
def test_what_bostruct_did_not_write_is_replaced_only_when_told(place, content, facts, tmp_path):
    path, write = find_place(place, facts, tmp_path)
    path.write_text(content)
    with pytest.raises(OutputRefused, match=rf"a file of {len(content)} bytes is there.*overwrite") as raised:
        write(path)
    assert path.stem in str(raised.value)
    assert path.read_text() == content
    write(path, overwrite=True)
    assert path.read_bytes() != content.encode()


@pytest.mark.parametrize("place", WITHOUT_MARK)
def test_kinds_without_a_mark_are_never_replaced_unasked(place, facts, tmp_path):
    path, write = find_place(place, facts, tmp_path)
    write(path)
    with pytest.raises(OutputRefused, match="a file of"):
        write(path)


def lead_by_link(path, other):
    other.symlink_to(path.name)


def lead_by_hard_link(path, other):
    os.link(path, other)


@pytest.mark.parametrize(
    ("place", "lead"),
    [
        *((place, Path.rename) for place in PLACES | WITHOUT_MARK),
        *(("to_csv", lead) for lead in (lead_by_link, lead_by_hard_link)),
        *(
            pytest.param(place, lead, marks=pytest.mark.slow)
            for place in PLACES | WITHOUT_MARK
            if place != "to_csv"
            for lead in (lead_by_link, lead_by_hard_link)
        ),
    ],
)
def test_no_output_ever_replaces_a_database(place, lead, facts, tmp_path):
    path, write = find_place(place, facts, tmp_path)
    (tmp_path / "runs.db").write_bytes(facts.file.read_bytes())
    lead(tmp_path / "runs.db", path)
    for overwrite in (False, True):
        with pytest.raises(OutputRefused, match="SQLite database"):
            write(path, overwrite=overwrite)
        assert path.read_bytes() == facts.file.read_bytes()


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm", ".1.lock", ".1.77-0123456789ab.writer"])
@pytest.mark.parametrize("is_there", [True, False])
def test_the_files_beside_a_database_are_its_own(ending, is_there, facts, tmp_path):
    (tmp_path / "runs.db").write_bytes(facts.file.read_bytes())
    path = tmp_path / f"runs.db{ending}"
    if is_there:
        path.write_text("log")
    (tmp_path / "link").symlink_to(path)
    for one in (path, tmp_path / "link"):
        with pytest.raises(OutputRefused, match=r"the database .*runs\.db keeps a file of this name"):
            facts.result.to_csv(one, overwrite=True)
    assert path.exists() is is_there
    facts.result.to_csv(tmp_path / f"other{ending}")
    facts.result.to_csv(tmp_path / "runs.db.csv")


@pytest.mark.parametrize("lead", [lambda path: path, hard_link])
def test_a_refusal_leaves_the_locks_that_this_process_holds_on_a_database(lead, facts, tmp_path):
    (tmp_path / "runs.db").write_bytes(facts.file.read_bytes())
    with hold_lock(tmp_path / "runs.db"):
        for path in [lead(tmp_path / "runs.db")] * 3:
            with pytest.raises(OutputRefused):
                facts.result.to_csv(path, overwrite=True)
        assert is_locked(tmp_path / "runs.db")
    assert not is_locked(tmp_path / "runs.db")


OWN = """
import bostruct as bo

space = {"x": ["=1+1", "@a", "b", "\\ud800c", "'=1+1'"], "y": bo.Real(0.0, 1.0)}
problem = bo.Problem(lambda point: point["y"], bo.Space(space), name="own", initial=0)
"""


@pytest.mark.parametrize("lead", [lambda path: path, hard_link])
@pytest.mark.parametrize("given", ["{}.py:problem", "{}:problem"])
def test_an_input_of_the_command_is_never_replaced(given, lead, facts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"own_{abs(hash((given, lead)))}"
    source = tmp_path / f"{module}.py"
    source.write_text(OWN)
    path, line = lead(source), ("--problem", given.format(module), "--overwrite")
    assert "is an input of this command" in call("show", facts.file, "--csv", path, *line, code=2).stderr
    refused = call("report", facts.file, "--out", path, *line, code=2).stderr
    assert "is an input of this command" in refused or "ends in .html or .htm" in refused
    assert source.read_text() == OWN


def test_a_file_that_the_command_makes_first_is_an_input(tmp_path):
    line = ("run", SMALL, "--method", "random", "--trials", 2, "--storage", tmp_path / "a.png")
    assert "is an input of this command" in call(*line, "--plot", tmp_path / "a.png", code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_a_problem_is_an_input(tmp_path):
    source = tmp_path / "a.wcnf"
    write_wcnf(Formula(2, ((1,), (2,)), (1.0, 2.0)), source)
    (tmp_path / "a.png").symlink_to(source)
    line = ("run", f"maxsat:file={source}", "--trials", 2, "--plot", tmp_path / "a.png", "--overwrite")
    assert "is an input of this command" in call(*line, code=2).stderr


def test_a_line_that_would_be_refused_at_its_end_is_refused_before_any_work(tmp_path):
    (tmp_path / "a.png").write_text(KEPT)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "comparison.txt").write_text(KEPT)
    line = ("--method", "random", "--trials", 2, "--storage", tmp_path / "r.db", "--plot", tmp_path / "a.png")
    refused = call("run", SMALL, *line, code=2).stderr
    assert "a.png: a file of 15 bytes is there, and it is no picture by bostruct; give another path, or" in refused
    assert "--overwrite to replace it" in refused
    call("compare", SMALL, "--methods", "random", "--out", tmp_path / "out", code=2)
    with pytest.raises(OutputRefused, match="overwrite=True"):
        bo.compare(SMALL, "random", n_trials=2, storage=tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"a.png", "out"}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["comparison.txt"]


@pytest.mark.parametrize("name", ["best.json", "best.png", "convergence.png", "network.py", "best.pt", "retrain.py"])
def test_each_file_of_a_search_of_networks_is_refused_before_it(name, tmp_path):
    (tmp_path / name).write_text(KEPT)
    line = ("nas", "diabetes", "--out", tmp_path, "--storage", tmp_path / "r.db")
    assert f"{name}: a file of 15 bytes is there" in call(*line, code=2).stderr
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, KEPT)]


@pytest.mark.parametrize("name", ["comparison.json", "comparison.tmp", "runs/random-0.cpu.json"])
def test_a_comparison_leaves_what_is_none_of_its_records(name, tmp_path):
    (tmp_path / "runs").mkdir()
    content = '{"problem": "own", "mine": 1}'
    (tmp_path / name).write_text(content)
    if name == "comparison.json":
        with pytest.raises(OutputRefused, match="no record of a comparison by bostruct; give another path"):
            bo.compare(PROBLEM, "random", n_trials=2, seeds=1, storage=tmp_path)
    else:
        assert len(bo.compare(PROBLEM, "random", n_trials=2, seeds=1, storage=tmp_path)["own"].results) == 1
    assert (tmp_path / name).read_text() == content


def test_an_official_table_is_written_beside_and_never_over_another_file(tmp_path, monkeypatch):
    monkeypatch.setattr(official, "read_nats", lambda _: {"edges": np.arange(3)})
    path, source = tmp_path / "a.npz", tmp_path / "nats.pth"
    source.write_text("in")

    def convert(*arguments):
        monkeypatch.setattr(sys, "argv", ["official", str(source), *map(str, arguments)])
        official.main()

    for times in range(2):
        convert(path)
        with np.load(path) as stored:
            assert stored["edges"].tolist() == [0, 1, 2], times
    path.write_text(KEPT)
    for arguments in ((path,), (source, "--overwrite")):
        with pytest.raises(SystemExit, match="2"):
            convert(*arguments)
    assert (path.read_text(), source.read_text()) == (KEPT, "in")


EARLIER = {
    "page": '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
    'content="default-src &#x27;none&#x27;; img-src data:; style-src &#x27;sha256-NDl18+=&#x27;',
    "table of trials": "number,status,value.0,value.1,constraint.a,feasible,reason,origin,started,seconds,"
    "suggest_seconds,stopped_at,point\r\n",
    "table of incumbents": "method,seed,n_trials,value,best_value,regret,origin,suggest_seconds\r\n",
    "comparison": "branin: 1,100 trials a run, the first 8 at points that all methods share. Optimum 0.4\n\n"
    "method  runs  best value\n",
    "record of a comparison": '{"problem": "branin", "methods": ["auto"], "seeds": 5, "trials": 30}\n',
    "program": '"""The network that `bostruct nas digits` found: builds it',
    "searcher": pickle.dumps(("bostruct.integrations.ray_tune.BostructSearch 1", bytes(10**5))).decode("latin-1"),
}


NEIGHBORS = {  # files by others that begin or end like an output of this kind
    "picture": "\x89PNG\r\n\x1a\n" + 29 * "-" + "tEXtSoftware\0Matplotlib, see bostruct",
    "page": '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="bostruct2">',
    "table of trials": "number,status,value,reason,origin,started,seconds\n1,completed,2\n",
    "table of incumbents": "method,seed,n_trials,value,best_value,regret,origin,suggest_seconds,note\n",
    "comparison": "my log: 5 trials a run, by hand",
    "record of a comparison": '{"problem": "a", "note": "x", "methods": ["b"], "seeds": 3, "trials": 5}',
    "record of CPU seconds": '{"suggestions": 3, "seconds": 5.0}, by hand',
    "architecture": '{"written_by": "bostruct-like"}',
    "program": '"""The network that I found',
    "archive": "PK\x03\x04 bostruct PK\x05\x06" + 16 * "-" + "\x07\0by hand",
    "searcher": "\x80" + 50 * "-" + "bostruct.integrations.ray_tune.BostructSearch ",
    "journal of Optuna": '{"op_code": 1, "by": "hand"}',
}
MORE_NEIGHBORS = [
    ("comparison", "branin: 5 trials a run. Optimum 0.4\n\nbest method  runs  by hand\n"),
    ("comparison", "notes\n\nbranin: 5 trials a run. Optimum 0.4\n\nwritten by bostruct compare\n"),
    ("comparison", "branin: 5 trials a run. Optimum 0.4\n\nwritten by bostruct compare\n\nnotes\n"),
    ("record of a comparison", '{"problem": "a", "methods": ["b"], "seeds": 3, "trials": 5, "note": "x"}'),
    ("record of a comparison", '{"problem": "a", "methods": [1], "seeds": 3, "trials": 5}'),
    ("record of a comparison", '{"written_by": "hand", "problem": "a", "methods": ["b"], "seeds": 3, "trials": 5}'),
]


@pytest.mark.parametrize(("kind", "content"), [*NEIGHBORS.items(), *MORE_NEIGHBORS])
def test_files_by_others_that_look_alike_are_refused(kind, content, tmp_path):
    assert set(NEIGHBORS) == set(MARKS)
    (tmp_path / "a").write_bytes(content.encode("latin-1"))
    with pytest.raises(OutputRefused, match=f"no {kind} by bostruct"):
        check_output(tmp_path / "a", kind)


@pytest.mark.parametrize("name", ["comparison.txt", "comparison.md"])
def test_tables_of_earlier_versions_are_recognized(name, facts, tmp_path):
    facts.compared.write_tables(tmp_path)
    text = (tmp_path / name).read_text()
    check_output(tmp_path / name, "comparison")
    (tmp_path / name).write_text(text.replace("written by bostruct compare", "").replace("<!--  -->", "").rstrip())
    check_output(tmp_path / name, "comparison")


@pytest.mark.parametrize("kind", EARLIER)
def test_outputs_of_earlier_versions_are_recognized(kind, tmp_path):
    (tmp_path / "a").write_bytes(EARLIER[kind].encode("latin-1"))
    write_output(tmp_path / "a", "new", kind)
    assert (tmp_path / "a").read_text() == "new"


def test_the_mark_of_an_archive_is_found_behind_many_weights(tmp_path):
    torch = pytest.importorskip("torch")
    packed = BytesIO()
    torch.save({f"layer {i}": torch.ones(100) for i in range(300)}, packed)
    for _ in range(2):
        write_output(tmp_path / "a.pt", output_files.sign_archive(BytesIO(packed.getvalue())), "archive")
    assert len(torch.load(tmp_path / "a.pt", weights_only=True)) == 300
    (tmp_path / "a.pt").write_bytes(packed.getvalue())
    with pytest.raises(OutputRefused):
        check_output(tmp_path / "a.pt", "archive")


def fail_with_full_disk(file):
    file.write(b"x" * 100)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt(file):
    file.write(b"x" * 100)
    raise KeyboardInterrupt


@pytest.mark.parametrize("content", [fail_with_full_disk, interrupt])
@pytest.mark.parametrize("is_there", [True, False])
def test_what_cannot_be_finished_leaves_the_former_file_whole_and_nothing_beside(content, is_there, tmp_path):
    path = tmp_path / "a.txt"
    if is_there:
        path.write_text(KEPT)
    with pytest.raises((OSError, KeyboardInterrupt)) as raised:
        write_output(path, content, "", overwrite=True)
    assert raised.type is KeyboardInterrupt or str(raised.value) == f"[Errno 28] No space left on device: '{path}'"
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == ([("a.txt", KEPT)] if is_there else [])


LIMITED = (
    "import resource, signal, sys\nimport bostruct as bo\nfrom bostruct.cli import main\n"
    "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
    "main(sys.argv[1:])"
)


@pytest.mark.parametrize(("line", "name"), [(("show", "--csv"), "a.csv"), (("report", "--out"), "a.html")])
def test_a_command_that_may_write_no_more_names_the_file(line, name, facts, tmp_path):
    path = tmp_path / name
    arguments = (line[0], str(facts.file), line[1], str(path))
    call(*arguments)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"Error: {path}: File too large\n")
    assert ([one.name for one in tmp_path.iterdir()], path.read_bytes()) == ([name], before)


def test_devices_and_pipes_are_written_directly(facts, tmp_path):
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        facts.result.to_csv("/dev/full")
    for _ in range(2):
        facts.result.to_csv("/dev/null")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        facts.result.to_csv(tmp_path / "link")
        assert reader.communicate()[0].startswith("number,status,value")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize(
    ("path", "is_file"),
    [
        ("/dev/stdout", True),
        ("/dev/fd/1", False),
        pytest.param("/dev/stdout", False, marks=pytest.mark.slow),
        pytest.param("/dev/fd/1", True, marks=pytest.mark.slow),
        pytest.param("/proc/self/fd/1", True, marks=pytest.mark.slow),
        pytest.param("/proc/self/fd/1", False, marks=pytest.mark.slow),
    ],
)
def test_standard_output_goes_on_where_it_is(path, is_file, facts, tmp_path):
    line = [sys.executable, "-m", "bostruct", "show", facts.file, "--csv", path]
    with open(tmp_path / "out", "wb") as file:
        file.write(b"before\n")
        file.flush()
        done = subprocess.run(line, stdout=file if is_file else subprocess.PIPE, check=True)
    shown = (tmp_path / "out").read_bytes() if is_file else b"before\n" + done.stdout
    assert shown.startswith(b"before\nnumber,status,value")
    assert shown.rstrip().endswith(path.encode())


def test_links_are_followed_and_loops_are_named(facts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    Path("home").mkdir()
    Path("dangling").symlink_to("home/made.csv")
    facts.result.to_csv("dangling")
    assert (Path("dangling").is_symlink(), Path("home/made.csv").is_file()) == (True, True)
    facts.result.to_csv("~/tilde.csv")
    assert Path("home/tilde.csv").is_file()
    Path("loop").symlink_to("loop")
    with pytest.raises(OSError, match="Too many levels of symbolic links: 'loop'"):
        facts.result.to_csv("loop", overwrite=True)
    Path("nowhere.csv").symlink_to("nowhere/made.csv")
    for one in ("nowhere.csv", "nowhere/a.csv"):
        with pytest.raises(FileNotFoundError, match=f"expected a file in a folder that exists: '{one}'"):
            facts.result.to_csv(one)
    for one in ("home", "home/", "new/", "."):
        with pytest.raises(IsADirectoryError, match="expected a file"):
            facts.result.to_csv(one, overwrite=True)
    with pytest.raises(NotADirectoryError, match="dangling/a"):
        facts.result.to_csv("dangling/a")
    assert {path.name for path in tmp_path.iterdir()} == {"home", "dangling", "loop", "nowhere.csv"}


def test_a_file_or_a_folder_that_must_not_be_written_is_left(facts, tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    facts.result.to_csv(path)
    before = path.read_bytes()
    for forbidden in (path, tmp_path):
        with monkeypatch.context() as patch:  # root may write anywhere
            patch.setattr(os, "access", lambda given, *_, no=forbidden: Path(given) != no)
            with pytest.raises(PermissionError, match=f"Permission denied: '{path}'"):
                facts.result.to_csv(path)
    assert path.read_bytes() == before


def test_a_new_file_has_the_mode_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_output(tmp_path / "a", "text", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_file_that_came_while_the_content_was_made_is_left(tmp_path):
    with pytest.raises(OutputRefused):
        write_output(tmp_path / "a", lambda _: (tmp_path / "a").write_text(KEPT), "")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a", KEPT)]


def test_of_many_writers_each_leaves_a_whole_file(tmp_path):
    texts = [output_files.format_csv(["number", "status", "value", "reason"], [[i] * 4] * 3000) for i in range(4)]
    path, barrier, seen = tmp_path / "a.csv", threading.Barrier(5), []

    def write(text):
        barrier.wait()
        for _ in range(5):
            write_output(path, text, "", overwrite=True)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    barrier.wait()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            seen.append(path.read_bytes().decode())
    assert seen
    assert set(seen) <= set(texts)
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]


TEXTS = st.text(st.one_of(st.sampled_from("=+-@\t\r\n'\"\\\ud800\uff1d (1,"), st.characters()), max_size=8)


@given(TEXTS)
@example("'\\ud800'")
@example("'=1+1'")
def test_a_cell_is_no_formula_and_stands_for_its_text(text):
    cell = quote_cell(text)
    assert not str(cell).startswith(tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"))
    str(cell).encode()
    assert output_files.unquote_cell(cell) == text


def test_what_utf_8_lacks_is_escaped_in_text(tmp_path):
    write_output(tmp_path / "a", "lone \ud800, and \xe9", "")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "lone \\ud800, and \xe9"


def test_numbers_are_no_texts():
    numbers = [-1, -1.5, np.float64(-2.0), np.int64(-3), True, None, float("-inf")]
    assert list(map(quote_cell, numbers)) == numbers
    assert quote_cell(("=a", -1)) == "('=a', -1)"


FORMULAS = ["=1+1", "+1", "-2", "@a", "\t=3", "\r=4", "\n5", "\uff1d6", "lone \ud800", "'=1+1'", "plain", '"-2"']


def test_trials_come_back_from_a_csv_file_that_spreadsheets_may_open(tmp_path):
    space = {
        "x\ud800": FORMULAS,
        "word": bo.Sequence("-=x", length=(1, 3)),
        "beans": bo.Subset(["=a", "@b", "c"], size=2),
    }
    goals = {"constraints": {"=size": ("<=", 5.0)}, "method": "random", "seed": 0}
    study, again = bo.Study(space, **goals), bo.Study(space, **goals)
    for trial in study.ask(90):
        if trial.number % 3:
            study.tell(trial, -1.5, constraints={"=size": -1.0})
        else:
            study.tell(trial, failed=FORMULAS[trial.number % len(FORMULAS)])
    assert len({trial.point["x\ud800"] for trial in study.trials}) == len(FORMULAS)
    study.result.to_csv(tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert {cell for cell in cells if cell.startswith(tuple("=+-@\t\r\n\uff1d"))} == {"-1.5", "-1.0"}
    added = again.add_frame(pd.read_csv(tmp_path / "a.csv"))
    told = [[(t.point, t.value, t.reason, dict(t.constraints)) for t in one] for one in (added, study.trials)]
    assert told[0] == told[1]


def test_a_choice_that_looks_quoted_is_read_from_a_frame_as_it_is():
    frame = pd.DataFrame({"x": ["'=a'", '"b"'], "reason": ["'=c'", None], "value": [1.0, 2.0]})
    added = bo.Study({"x": ["'=a'", '"b"']}).add_frame(frame)
    assert [trial.point["x"] for trial in added] == ["'=a'", '"b"']


def test_labels_of_methods_are_no_formulas_and_lone_surrogates_break_no_table(facts, tmp_path):
    facts.compared.write_tables(tmp_path)
    with open(tmp_path / "incumbents.csv", newline="", encoding="utf-8") as file:
        assert {row["method"] for row in csv.DictReader(file)} == {"'=cmd'", "'lone \\ud800'"}
    assert "lone \\ud800" in (tmp_path / "comparison.txt").read_text(encoding="utf-8")


def test_every_kind_but_those_without_a_mark_is_written_somewhere():
    source = "".join(path.read_text() for path in Path(bo.__file__).parent.rglob("*.py") if path.stem != "output_files")
    assert [kind for kind in MARKS if f'"{kind}"' not in source] == []
