"""Data files: what is no regular file is refused before it is opened, for a FIFO would never end; lines of text."""

from __future__ import annotations

import bz2
import gzip
import os
from functools import partial
from pathlib import Path

import pytest

from bostruct import problems
from bostruct.problems import official
from bostruct.problems.fcnet import fcnet
from bostruct.problems.maxsat import read_wcnf
from bostruct.problems.opb import read_opb
from bostruct.problems.paths import MAX_LINE, MAX_TEXT, check_regular, is_folder, is_regular, read_lines
from bostruct.problems.tsplib import read_qaplib, read_tsplib

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


def test_text_of_many_lines_is_refused_once_it_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr("bostruct.problems.paths.MAX_TEXT", 100)
    (tmp_path / "a").write_text("123\n" * 25)
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"123\n" * 26))
    with read_lines(tmp_path / "a") as lines:
        assert list(lines) == ["123\n"] * 25
    refused = pytest.raises(ValueError, match=r"b\.gz, line 26, column 1: expected at most 100 char.*the line is '123'")
    with refused, read_lines(tmp_path / "b.gz") as lines:
        list(lines)
