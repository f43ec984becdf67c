"""Output files: each is written completely or not at all, and never replaces a file that bostruct did not write."""

from __future__ import annotations

import ast
import csv
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from io import BytesIO, StringIO
from itertools import chain, islice
from numbers import Number
from typing import BinaryIO, TypeAlias

Content: TypeAlias = str | bytes | Callable[[BinaryIO], object]
PICTURE_METADATA = {"png": {"Software": "bostruct"}, "svg": {"Creator": "bostruct"}, "pdf": {"Creator": "bostruct"}}
ENDS = 2**20  # bytes at each end of a file that are searched for a mark
MARKS = {  # patterns of earlier outputs, also of earlier versions if these left a reliable mark
    "picture": rb"\x89PNG\r\n\x1a\n.{25}.{4}tEXtSoftware\0bostruct|%PDF-.*/Creator \(bostruct\)"
    rb"|<\?xml .*?<dc:creator>\s*<cc:Agent>\s*<dc:title>bostruct</dc:title>",
    "page": rb'<!doctype html>\s*<html lang="en">(<head>)?\s*<meta charset="utf-8">\s*(<meta name="generator" '
    rb'content="bostruct">|<meta http-equiv="Content-Security-Policy" content="default-src &#x27;none&#x27;; '
    rb"img-src data:; style-src &#x27;sha256-)",
    "table of trials": rb'number,status,value(\.\d+)?(,value\.\d+)*(,constraint\.[^",\r\n]*|,"constraint\.([^"]|"")*")*'
    rb"(,feasible)?,reason,origin,started,seconds,suggest_seconds"
    rb'(,stopped_at|,unread|,no_data|,(point|attribute)(\.[^",\r\n]*)?|,"(point|attribute)\.([^"]|"")*")*\r?\n',
    "table of incumbents": rb"method,seed,n_trials,value,best_value,regret,origin,suggest_seconds\r?\n",
    "comparison": rb"[^\r\n]*: [0-9,]+ trials? a run[.,](.*\n\n(<!-- )?written by bostruct compare( -->)?\n\Z"
    rb"|[^\r\n]*\n\n(method +runs |\| method \| runs \||(failed|not compared): [^\r\n]+, seed [0-9]+: ))",
    "record of a comparison": rb'\{"written_by": "bostruct", "problem": "|\{"problem": "([^"\\]|\\.)*", "methods": '
    rb'\[("([^"\\]|\\.)*"(, )?)+\], "seeds": [0-9]+, "trials": [0-9]+(, "space": .*, "goals": .*, "described": \{.*\})?'
    rb"\}\n?\Z",
    "record of CPU seconds": rb'\{"suggestions": [0-9]+, "seconds": -?[0-9.e+-]+\}\n?\Z',
    "architecture": rb'\{\s*"written_by": "bostruct"',
    "program": rb'"""The network that `bostruct nas ',
    "archive": rb"PK\x03\x04.*PK\x05\x06.{16}\x08\0bostruct\Z",
    "searcher": rb"\x80.{,40}bostruct\.integrations\.ray_tune\.BostructSearch ",
    "journal of Optuna": rb'\{"op_code": ?[0-9]+, ?"worker_id": ?"',
}
SQLITE_MAGIC = b"SQLite format 3\0"
COMPANION = re.compile(r"(.+?)(-journal|-wal|-shm|\.[0-9]+\.lock|\.[0-9]+\.[0-9]+-[0-9a-f]{12}\.writer)", re.DOTALL)
DESCRIPTOR = re.compile(r"(?:/dev|/proc/self)/fd/([0-9]+)|/dev/std(out|err)")
QUOTED = tuple("'\"=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # starts of formulas, and of literals of `quote_cell`
ROWS_AT_ONCE = 1_000  # rows of a table that are formatted together
PLAIN = frozenset((int, float, bool, type(None)))  # types of most cells, which are written unchanged
_databases: list[int] = []  # descriptors that stay open; closing one would drop this process's locks on the file


class OutputRefused(FileExistsError):
    """Raised if an output would replace a file that bostruct did not write, a SQLite database, or an input."""


def check_page_ending(path: str | os.PathLike[str]) -> None:
    """Raise ValueError if a page has the ending of another kind of file; a device has none."""
    if os.path.splitext(os.fsdecode(path))[1].lower() not in ("", ".html", ".htm"):
        raise ValueError(f"expected a file that ends in .html or .htm; got {os.fsdecode(path)}")


def write_output(path: str | os.PathLike[str], content: Content, kind: str, *, overwrite: bool | None = False) -> None:
    """Write an output file: first to a draft in the same folder, which replaces a former file at the end.

    The file keeps the mode of a former file, and links to it stay. Devices and pipes are written directly.

    content: text, bytes, or a function that writes bytes to the open file. Text is escaped if UTF-8 cannot encode it.
    overwrite: True also replaces a file that bostruct did not write; with None, errors do not suggest that.

    Raises OutputRefused, as `check_output` does; OSError, with the path, if the file cannot be written.
    """
    path = os.path.expanduser(os.fsdecode(path))
    found = check_output(path, kind, overwrite=overwrite)
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    draft = os.path.join(folder, f".bostruct-{secrets.token_hex(8)}.tmp")
    try:
        if (descriptor := _find_descriptor(path)) is not None:
            _write_content(os.dup(descriptor), content)
        elif found is not None and not stat.S_ISREG(found.st_mode):
            _write_content(os.open(path, os.O_WRONLY), content)
        else:
            _write_content(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), content, found)
            check_output(path, kind, overwrite=overwrite)  # a file may have been created meanwhile
            os.replace(draft, target)
            sync_folder(folder)
    except OSError as error:
        if error.errno is None or error.filename not in (None, draft):
            raise
        is_lacking = error.errno == errno.ENOENT and not os.path.isdir(folder)
        why = "expected a file in a folder that exists" if is_lacking else os.strerror(error.errno)
        raise OSError(error.errno, why, path) from error
    finally:
        with suppress(OSError):
            os.unlink(draft)


def _write_content(descriptor: int, content: Content, former: os.stat_result | None = None) -> None:
    """Write to an open file, with owner and mode of a former file; return when a regular file is on disk."""
    with open(descriptor, "wb") as file:
        if former is not None and sys.platform != "win32":
            with suppress(OSError):  # another user's file, or a file system without owners
                os.fchown(descriptor, former.st_uid, former.st_gid)
            with suppress(OSError):
                os.fchmod(descriptor, stat.S_IMODE(former.st_mode))
        if callable(content):
            content(file)
        else:
            file.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
        file.flush()
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fsync(descriptor)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Write the names of a folder's new files to disk, if the system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def check_output(
    path: str | os.PathLike[str], kind: str, *, overwrite: bool | None = False, inputs: Iterable[str] = ()
) -> os.stat_result | None:
    """Return the `os.stat` of the file that an output would replace, following links; None if there is no file.

    Raises OutputRefused for a file that bostruct did not write, unless `overwrite` is True, and always for a SQLite
    database, a companion file of a database, or an input; OSError, with the path, if the file cannot be written.
    """
    path = os.path.expanduser(os.fsdecode(path))
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        found = None
    if path.endswith(os.sep) or (found is not None and stat.S_ISDIR(found.st_mode)):
        raise IsADirectoryError(errno.EISDIR, "is a directory; expected a file", path)
    if _find_descriptor(path) is not None:
        return found
    refuse_name_of_database(path)
    if refusal := _find_refusal(target, found, kind, overwrite, inputs):
        raise OutputRefused(errno.EEXIST, refusal, path)
    needs_draft = found is None or stat.S_ISREG(found.st_mode)
    if not (found is None or os.access(path, os.W_OK)) or (
        needs_draft and os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK)
    ):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    return found


def _find_refusal(
    target: str, found: os.stat_result | None, kind: str, overwrite: bool | None, inputs: Iterable[str]
) -> str | None:
    """Return the reason why a file must not be written; None if it may be written."""
    if found is not None and not (stat.S_ISREG(found.st_mode) or stat.S_ISBLK(found.st_mode)):
        return None
    ends = _read_ends(target)
    if ends.startswith(SQLITE_MAGIC):
        return "is a SQLite database, which no output replaces; give another path"
    if any(_leads_to(one, target) for one in inputs):
        return "is an input of this command; give another path for the output"
    if found is None or overwrite or (kind in MARKS and re.match(MARKS[kind], ends, re.DOTALL)):
        return None
    offer = "" if overwrite is None else ", or overwrite=True to replace it"
    return f"a file of {found.st_size:,} bytes is there, and it is no {kind} by bostruct; give another path{offer}"


def refuse_name_of_database(path: str) -> None:
    """Raise OutputRefused if a SQLite database keeps a companion file of this name."""
    companion = COMPANION.fullmatch(os.path.realpath(path))
    if companion is not None and _read_ends(companion[1]).startswith(SQLITE_MAGIC):
        refusal = f"the database {companion[1]} keeps a file of this name; give another path"
        raise OutputRefused(errno.EEXIST, refusal, path)


def _leads_to(path: str, target: str) -> bool:
    """Return whether a path leads to a file, which need not exist; False for a text that is not a path."""
    try:
        path = os.path.realpath(os.path.expanduser(path))
        return path == target or os.path.samefile(path, target)
    except (OSError, ValueError):
        return False


def _read_ends(path: str) -> bytes:
    """Return the start and the end of a regular file; b"" for any other."""
    with suppress(FileNotFoundError, NotADirectoryError):
        found = os.stat(path)
        if any(os.path.samestat(os.fstat(one), found) for one in _databases):
            return SQLITE_MAGIC
        if stat.S_ISREG(found.st_mode) and found.st_size > 0:  # an empty file may become a database
            descriptor = os.open(path, os.O_RDONLY | (os.O_BINARY if sys.platform == "win32" else 0))
            ends = os.read(descriptor, ENDS)
            if ends.startswith(SQLITE_MAGIC):
                _databases.append(descriptor)
                return ends
            os.lseek(descriptor, max(len(ends), found.st_size - ENDS), os.SEEK_SET)
            ends += os.read(descriptor, ENDS)
            os.close(descriptor)
            return ends
    return b""


def _find_descriptor(path: str) -> int | None:
    """Return the descriptor of this process that a path such as /dev/stdout names; None for any other path."""
    if (found := DESCRIPTOR.fullmatch(os.path.abspath(path))) is None:
        return None
    return int(found[1]) if found[1] else {"out": 1, "err": 2}[found[2]]


def sign_archive(archive: BytesIO) -> bytes:
    """Return a zip archive with the mark of an output of the kind "archive"."""
    import zipfile

    with zipfile.ZipFile(archive, "a") as opened:
        opened.comment = b"bostruct"
    return archive.getvalue()


def format_csv(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table as CSV without formulas for spreadsheets, which UTF-8 can encode."""
    text = StringIO()
    written = csv.writer(text)
    known: dict[str, object] = {}
    left = chain((header,), rows)
    while some := list(islice(left, ROWS_AT_ONCE)):
        columns = [
            column if PLAIN.issuperset(map(type, column)) else [_quote_known(one, known) for one in column]
            for column in zip(*some, strict=True)
        ]
        known.clear()
        written.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _quote_known(value: object, known: dict[str, object]) -> object:
    if type(value) is not str:
        return quote_cell(value)
    if value not in known:
        known[value] = quote_cell(value)
    return known[value]


def quote_cell(value: object) -> object:
    """Return the cell of a value; a string becomes a Python literal if it is like a formula, or invalid in UTF-8.

    value: any object; numbers and None are unchanged.
    """
    if value is None or isinstance(value, Number):
        return value
    text = str(value)
    is_encodable = text.encode("utf-8", "backslashreplace").decode() == text
    return text if is_encodable and not text.startswith(QUOTED) else repr(text)


def unquote_cell(cell: object) -> object:
    """Return the string of a literal of `quote_cell`; anything else is unchanged."""
    if isinstance(cell, str) and cell.startswith(QUOTED[:2]):
        with suppress(ValueError, SyntaxError):
            text = ast.literal_eval(cell)
            if isinstance(text, str) and quote_cell(text) == cell:
                return text
    return cell
