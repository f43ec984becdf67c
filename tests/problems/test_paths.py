"""Paths of data files: what is no regular file is refused before it is opened, for a FIFO would never end."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from bostruct import problems
from bostruct.problems import official
from bostruct.problems.fcnet import fcnet
from bostruct.problems.maxsat import read_wcnf
from bostruct.problems.paths import check_regular, is_folder, is_regular

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
