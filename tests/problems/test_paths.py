"""Data files: what is no regular file is refused before it is opened, for a FIFO would never end; lines of text."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from functools import partial
from pathlib import Path

import pytest

from bostruct import problems
from bostruct.integrations import kernel_tuner
from bostruct.problems import official
from bostruct.problems.fcnet import fcnet
from bostruct.problems.maxsat import maxsat, read_wcnf
from bostruct.problems.opb import read_opb
from bostruct.problems.orders import read_qaplib, read_tsplib
from bostruct.problems.paths import MAX_LINE, MAX_TEXT, check_regular, is_folder, is_regular, read_lines
from bostruct.study.experiments import read_csv_columns

NO_PATHS = ("x" * 300, "a\0", "\udcff")


@pytest.fixture
def fifo(tmp_path) -> Path:
    """A FIFO that nobody writes to, behind a link."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "1.pickle.pbz2").symlink_to(tmp_path / "pipe")
    return tmp_path / "1.pickle.pbz2"


def test_links_are_followed_and_what_can_be_no_path_is_nothing(tmp_path, fifo):
    (tmp_path / "file").write_text("a")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for regular in ("file", "link"):
        assert is_regular(tmp_path / regular)
        check_regular("file", tmp_path / regular)
    for other in (tmp_path, fifo, "none", *NO_PATHS):
        assert not is_regular(other)
        assert is_folder(other) == (other == tmp_path)
    check_regular("file", tmp_path / "none")
    for other in (tmp_path, fifo):
        with pytest.raises(ValueError, match=r"file: x: expected a regular file, .*; got a folder, device, FIFO"):
            check_regular("file: x", other)


READERS = [
    read_wcnf,
    read_opb,
    read_qaplib,
    partial(read_tsplib, kinds=("TSP",)),
    official.read_nats,
    official.read_macro,
    lambda file: official.read_nats(file.parent),
    lambda file: list(official.architectures(file)),
    partial(official.read_fcnet, data="naval_propulsion"),
]


@pytest.mark.parametrize("read", READERS)
def test_readers_refuse_a_fifo_by_name(fifo, read):
    with pytest.raises(ValueError, match=r"1\.pickle\.pbz2: expected a regular file"):
        read(fifo)


@pytest.mark.parametrize("file", NO_PATHS)
def test_what_can_be_no_path_is_refused_by_argument(file):
    with pytest.raises(ValueError, match=r"file: expected an \.npz file, or fcnet_.*found none at"):
        fcnet(file)
    for name in ("nasbench201", "nasbench101", "nasbench-macro"):
        with pytest.raises(ValueError, match=r"file: expected an \.npz file.*found none at"):
            problems.load(f"{name}:file={file}")


TEXT_READERS = [read_wcnf, read_opb, read_qaplib, partial(read_tsplib, kinds=("TSP",))]


@pytest.mark.parametrize("read", TEXT_READERS)
def test_a_file_that_is_too_large_or_expands_too_far_is_refused_with_its_name(tmp_path, read):
    with open(tmp_path / "large", "wb") as stream:
        stream.truncate(10**9)
    with pytest.raises(ValueError, match=f"large: expected at most {MAX_TEXT:,} bytes, got 1,000,000,000"):
        read(tmp_path / "large")
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"1 " * MAX_LINE))
    with pytest.raises(
        ValueError, match=f"bomb.gz, line 1, column 1: expected at most .* characters, and {MAX_LINE:,} in a line"
    ):
        read(tmp_path / "bomb.gz")
    (tmp_path / "empty.bz2").write_bytes(bz2.compress(b""))
    with pytest.raises(ValueError, match=r"empty\.bz2, line 1, column 1: expected"):
        read(tmp_path / "empty.bz2")


PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
TEXTS = {  # files of each kind that are right until they are too long
    "a.dat": (read_qaplib, "40\n" + "1 2 3\n" * 90),
    "a.tsp": (partial(read_tsplib, kinds=("TSP",)), "DIMENSION: 99\nEDGE_WEIGHT_SECTION\n" + "1 2 3\n" * 90),
    "a.opb": (read_opb, "min: 1 a;\n" + "1 a >= 0;\n" * 90),
    "a.wcnf": (read_wcnf, "1 1 0\n" * 90),
    "a.cnf": (read_wcnf, "p cnf 1 90\n" + "1 0\n" * 90),
}
VALUES = json.dumps({"TuningParameters": [{"Name": f"x{i}", "Values": [1, 2]} for i in range(90)]})
CACHE = json.dumps({"tune_params": {"x": [1, 2]}, "cache": {str(i): {"x": i % 2 + 1, "time": i} for i in range(90)}})
T4 = json.dumps({"results": [{"configuration": {"x": i}} for i in range(90)]})
WHOLE = {  # readers of whole files
    "t1.json": (kernel_tuner.read_space, VALUES),
    "cache.json": (kernel_tuner.read_problem, CACHE),
    "t4.json": (kernel_tuner.read_results, T4),
    "a.csv": (lambda file: read_csv_columns(str(file)), "x,y\n" + "1,2\n" * 200),
}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("name", [*TEXTS, *WHOLE])
def test_each_reader_refuses_a_file_above_its_limit(name, suffix, tmp_path, monkeypatch):
    monkeypatch.setattr("bostruct.problems.paths.MAX_TEXT", 200)
    monkeypatch.setattr("bostruct.problems.paths.MAX_CONTENT", 600)
    read, text = (TEXTS | WHOLE)[name]
    (tmp_path / (name + suffix)).write_bytes(PACK[suffix](text.encode()))
    with pytest.raises(ValueError, match=rf"{name}{suffix}\b.*: expected at most (200|600) (bytes|characters)"):
        read(tmp_path / (name + suffix))


@pytest.mark.parametrize("name", TEXTS)
def test_each_reader_of_lines_refuses_a_line_above_its_limit(name, tmp_path, monkeypatch):
    monkeypatch.setattr("bostruct.problems.paths.MAX_LINE", 40)
    read, text = TEXTS[name]
    (tmp_path / name).write_text(text[:20] + " " * 40 + text[20:])
    with pytest.raises(ValueError, match=rf"{name}, line [1-9], column \d+: expected at most .*, and 40 in a line"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", [name for name in WHOLE if name.endswith(".json")])
def test_each_reader_of_json_refuses_what_takes_too_much_memory(name, tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_tuner, "MAX_MEMORY", 2_000)
    read, text = WHOLE[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=rf"{name}: expected JSON that takes at most 2,000 bytes of memory, got "):
        read(tmp_path / name)


LIMITS = {  # a limit of counts, its value, a file above it, the refusal
    "problems.opb.MAX_VARIABLES": (2, "a.opb", "min: 1 a 1 b\n 1 c;", "line 2, column 4: expected at most 2 variables"),
    "problems.maxsat.MAX_VARIABLES": (2, "a.cnf", "p cnf 3 1\n1 0\n", "a.cnf: expected at most 2 variables, got 3"),
    "problems.orders.MAX_ITEMS": (
        2,
        "a.tsp",
        "DIMENSION: 3\n",
        "line 1, column 1: DIMENSION: expected between 2 and 2",
    ),
    "study.experiments.MAX_ROWS": (2, "a.csv", "x,y\n1,2\n1,2\n1,2\n", "line 4: expected at most 2 rows"),
    "study.experiments.MAX_CELLS": (3, "a.csv", "x,y\n1,2\n1,2\n", "line 3: expected at most .* and 3 cells"),
    "study.experiments.MAX_LINE": (8, "a.csv", 'x,y\n"1\n1\n1\n",2', "line 4: expected rows of at most 8 characters"),
    "study.experiments.MAX_DIGITS": (
        3,
        "a.csv",
        "x,y\n1,2\n1234,2",
        "line 3, column 'x': expected a number of at most 3",
    ),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_each_limit_of_a_count_is_refused_with_its_place(limit, tmp_path, monkeypatch):
    most, name, text, message = LIMITS[limit]
    monkeypatch.setattr(f"bostruct.{limit}", most)
    read = {".opb": read_opb, ".cnf": maxsat, ".tsp": TEXTS["a.tsp"][0], ".csv": WHOLE["a.csv"][0]}
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        read[Path(name).suffix](tmp_path / name)


@pytest.mark.parametrize("line", range(3))
def test_the_last_line_is_named_where_a_file_ends_too_early(line, tmp_path):
    (tmp_path / "a.opb").write_text("min: 1 a" + "\r\n" * line)
    number, column = max(line, 1), 9 if line < 2 else 1
    with pytest.raises(ValueError, match=f"line {number}, column {column}: expected ';'.*; the file ends"):
        read_opb(tmp_path / "a.opb")


def test_text_of_many_lines_is_refused_once_it_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr("bostruct.problems.paths.MAX_TEXT", 100)
    (tmp_path / "a").write_text("123\n" * 25)
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"123\n" * 26))
    with read_lines(tmp_path / "a") as lines:
        assert list(lines) == ["123\n"] * 25
    refused = pytest.raises(ValueError, match=r"b\.gz, line 26, column 1: expected at most 100 char.*the line is '123'")
    with refused, read_lines(tmp_path / "b.gz") as lines:
        list(lines)
