"""Read data files, plain or compressed, as bytes or lines of text; paths are checked before they are opened."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from bostruct.checks import short_repr

MAX_CONTENT = 2**28  # bytes of a file that is read as a whole, compressed or not; its reader limits the parsed size
MAX_TEXT = 2**26  # characters of a file that is read by lines; as formulas or matrices they take up to 2 GB of memory
MAX_LINE = 2**23
MARK = "\xef\xbb\xbf"  # the byte-order mark of UTF-8, read as Latin-1
WORDS = re.compile(r"\S+")
COMPRESSION: dict[str, Any] = {".gz": gzip, ".bz2": bz2, ".xz": lzma}  # modules with `open` and `compress`, by suffix


def is_regular(file: str | Path) -> bool:
    """Return whether a path is a regular file, or a link to a regular file; False for an invalid path."""
    return os.path.isfile(Path(file))


def is_folder(file: str | Path) -> bool:
    """Return whether a path is a folder, or a link to a folder; False for an invalid path, such as a long name."""
    return os.path.isdir(Path(file))


def check_regular(place: str, file: str | Path) -> None:
    """Raise ValueError if a path is not a regular file; opening a FIFO would wait for its writer."""
    if os.path.exists(Path(file)) and not is_regular(file):
        raise ValueError(f"{place}: expected a regular file, or a link to one; got a folder, device, FIFO or socket")


@contextmanager
def open_data(file: str | Path, mode: str = "rb", **options: Any) -> Iterator[Any]:
    """Open a regular file, with the compression of its suffix.

    mode, options: see `open`.

    Raises OSError if it cannot be opened, and ValueError if it is damaged or not a regular file.
    """
    path = Path(file)
    check_regular(str(path), path)
    try:
        with getattr(COMPRESSION.get(path.suffix), "open", open)(path, mode, **options) as stream:
            yield stream
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path}: expected a file with the compression of its suffix: {error}") from None


def read_content(file: str | Path) -> bytearray:
    """Return the content of a file of at most 256 MiB; raise like `open_data`, and ValueError for a larger file."""
    content = bytearray()
    with open_data(file) as stream:
        is_small = os.path.getsize(file) <= MAX_CONTENT
        while is_small and (chunk := stream.read(2**20)):
            content += chunk
            is_small = len(content) <= MAX_CONTENT
    if not is_small:
        raise ValueError(f"{file}: expected at most {MAX_CONTENT:,} bytes, got more; keep the rows that matter")
    return content


class WrongWord(ValueError):
    """An error about a word of a line.

    index: index of the word among the words that `words` finds in the line.
    """

    def __init__(self, message: str, index: int, words: re.Pattern[str] = WORDS) -> None:
        super().__init__(message)
        self.index, self.words = index, words


@contextmanager
def read_lines(file: str | Path) -> Iterator[Iterator[str]]:
    """Yield an iterator over the lines of a text file, plain, .gz, .bz2 or .xz.

    file: file of at most 64 MiB of text, in lines of at most 8 MiB.

    A ValueError inside the block is raised again with the file, the last line read, and the column of a `WrongWord`,
    otherwise of the first word, or of the end. Raises OSError if the file cannot be opened, and ValueError if it is too
    large, damaged or not a regular file.
    """
    path = Path(file)
    number, line, is_over = 0, "", False

    def lines(stream: TextIO) -> Iterator[str]:
        nonlocal number, line, is_over
        left = MAX_TEXT
        while text := stream.readline(MAX_LINE + 1):
            number, line, left = number + 1, text if number else text.removeprefix(MARK), left - len(text)
            if len(line) > MAX_LINE or left < 0:
                raise ValueError(f"expected at most {MAX_TEXT:,} characters, and {MAX_LINE:,} in a line")
            yield line
        is_over = True

    with open_data(path, "rt", encoding="latin-1") as stream:  # comments may contain any byte
        if (size := path.stat().st_size) > MAX_TEXT:
            raise ValueError(f"{path}: expected at most {MAX_TEXT:,} bytes, got {size:,}")
        try:
            yield lines(stream)
        except ValueError as error:
            shown = "the file ends" if is_over else f"the line is {short_repr(line.rstrip())}"
            column = len(line.rstrip()) if is_over else len(line) - len(line.lstrip())
            if isinstance(error, WrongWord):
                column = next(islice(error.words.finditer(line), error.index, None)).start()
            position = f"line {max(number, 1)}, column {column + 1}"
            raise ValueError(f"{path}, {position}: {error}; {shown}") from None
