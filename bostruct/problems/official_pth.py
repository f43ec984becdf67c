"""NAS-Bench-201 in the first files of its authors, NAS-Bench-201-v1_0-e61699.pth and NAS-Bench-201-v1_1-096897.pth.

Dong and Yang, ICLR 2020; the layout is that of their nas_201_api 2.1. What torch.save wrote there holds no tensors, and
is read without torch, which needs 28 GB of memory for the 4.7 of the second: of a training, what is not asked for is
dropped as soon as all of it is there.
"""

from __future__ import annotations

import pickle
import struct
import sys
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from bostruct.problems.paths import check_regular, is_regular

PTH = "NAS-Bench-201-v1_1-096897.pth"
TORCH_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # of torch.save before torch 1.6
HEADERS = 3  # pickles in front of the object's: magic number, version of the format, machine
BROKEN = (
    pickle.UnpicklingError, zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, LookupError, TypeError,
    ValueError, AttributeError, OverflowError, RuntimeError, MemoryError,
)  # fmt: skip  # what reading a damaged, cut or encrypted file can raise
Pickled: TypeAlias = Any  # what a pickle holds
SCALAR: Pickled = np.float64(0).__reduce__()[0]  # makes NumPy scalars from bytes, wherever NumPy keeps it


def _latin(text: str, encoding: str) -> bytes:
    """Return the bytes that protocol 2 holds as text."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it asks for the encoding {encoding!r}")
    return text.encode("latin1")


HARMLESS: dict[tuple[str, str], Callable[..., object]] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("__builtin__", "set"): set,
    ("builtins", "set"): set,
    ("_codecs", "encode"): _latin,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "scalar"): SCALAR,
    ("numpy._core.multiarray", "scalar"): SCALAR,
}


def harmless(module: str, name: str) -> Callable[..., object]:
    """Return a callable that a pickle of numbers may ask for; raise UnpicklingError for others, before they run.

    module: dotted name of the module that the pickle asks for.
    name: of the callable in it.
    """
    if (module, name) not in HARMLESS:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which a table of numbers does not need")
    return HARMLESS[module, name]


def is_pth(file: str | Path) -> bool:
    """Tell whether a path is a file as torch.save writes it, before torch 1.6 or since.

    file: a path.
    """
    path = Path(file)
    if not is_regular(path):
        return False
    with open(path, "rb") as stream:
        return stream.read(len(TORCH_MAGIC)) == TORCH_MAGIC or _member(path) is not None


def architectures(path: Path) -> Iterator[tuple[str, Pickled]]:
    """Yield a name for messages, and the results by number of epochs, of each architecture in order of its index.

    The results of a training are ``epochs`` and the last epoch of ``eval_acc1es``.

    path: of the .pth file.

    Raises ValueError.
    """
    check_regular(f"file: {path}", path)
    try:
        with _pickle(path) as stream:
            stored = _LastEpochs(stream).load()
    except BROKEN as error:
        raise ValueError(f"file: {path} is no file of NAS-Bench-201: {error}") from error
    found = stored.get("arch2infos") if isinstance(stored, dict) else None
    if not isinstance(found, dict) or not all(isinstance(index, int) for index in found):
        raise ValueError(f"file: {path} has no results of architectures (arch2infos); expected {PTH}")
    for index in sorted(found):
        infos = found[index]
        yield f"{path}: architecture {index}", {"200": infos.get("full") if isinstance(infos, dict) else None}


@contextmanager
def _pickle(path: Path) -> Iterator[IO[bytes]]:
    """Open the file where the object's pickle begins."""
    if (member := _member(path)) is not None:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            yield stream
        return
    with open(path, "rb") as stream:
        for _ in range(HEADERS):
            _LastEpochs(stream).load()
        yield stream


def _member(path: Path) -> str | None:
    """Find the object's pickle in an archive, as torch.save writes since 1.6; None where there is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            return next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
    except zipfile.BadZipFile:
        return None


class _LastEpochs:
    """Unpickles containers and numbers of protocol 2; of each training no more than its last accuracies is kept.

    pickle's own unpickler keeps all that it has read until its end, since what follows may refer to it. Here the curves
    of a training and the names of their epochs are forgotten when it ends; a file that refers to them is refused.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._read = stream.read
        self._readline = stream.readline
        self._stack: list[Pickled] = []
        self._marks: list[int] = []
        self._memo: dict[int, Pickled] = {}
        self._passing: list[int] = []  # places in the memo that a training has to itself
        self._steps = self._instructions()

    def load(self) -> Pickled:
        """Return the object of the next pickle; raises UnpicklingError."""
        read, steps = self._read, self._steps
        while (code := read(1)) != pickle.STOP:
            if code not in steps:
                what = f"the instruction {code!r}, which a table of numbers does not need" if code else "no end"
                raise pickle.UnpicklingError(f"it has {what}")
            steps[code]()
        return self._stack.pop()

    def _instructions(self) -> dict[bytes, Callable[[], object]]:
        stack, push, pop = self._stack, self._stack.append, self._stack.pop
        byte, word = self._number("<B"), self._number("<I")
        double, integer, short = self._number(">d"), self._number("<i"), self._number("<H")
        return {
            pickle.PROTO: byte,
            pickle.MARK: lambda: self._marks.append(len(stack)),
            pickle.NONE: lambda: push(None),
            pickle.NEWTRUE: lambda: push(True),
            pickle.NEWFALSE: lambda: push(False),
            pickle.BINFLOAT: lambda: push(double()),
            pickle.BININT: lambda: push(integer()),
            pickle.BININT1: lambda: push(byte()),
            pickle.BININT2: lambda: push(short()),
            pickle.LONG1: lambda: push(int.from_bytes(self._read(byte()), "little", signed=True)),
            pickle.BINUNICODE: lambda: push(str(self._read(word()), "utf-8")),
            pickle.EMPTY_DICT: lambda: push({}),
            pickle.EMPTY_LIST: lambda: push([]),
            pickle.EMPTY_TUPLE: lambda: push(()),
            pickle.TUPLE: lambda: push(tuple(self._pop_to_mark())),
            pickle.TUPLE1: lambda: push((pop(),)),
            pickle.TUPLE2: lambda: push((pop(-2), pop())),
            pickle.TUPLE3: lambda: push((pop(-3), pop(-2), pop())),
            pickle.APPEND: lambda: stack[-2].append(pop()),
            pickle.APPENDS: lambda: self._extend(self._pop_to_mark()),
            pickle.SETITEM: lambda: self._update([pop(-2), pop()]),
            pickle.SETITEMS: lambda: self._update(self._pop_to_mark()),
            pickle.BINPUT: lambda: self._remember(byte()),
            pickle.LONG_BINPUT: lambda: self._remember(word()),
            pickle.BINGET: lambda: push(self._recall(byte())),
            pickle.LONG_BINGET: lambda: push(self._recall(word())),
            pickle.GLOBAL: lambda: push(harmless(self._line(), self._line())),
            pickle.REDUCE: lambda: push(pop(-2)(*pop())),
            pickle.BUILD: lambda: self._build(pop()),
        }

    def _number(self, form: str) -> Callable[[], Pickled]:
        read, size, unpack = self._read, struct.calcsize(form), struct.Struct(form).unpack
        return lambda: unpack(read(size))[0]

    def _line(self) -> str:
        return self._readline()[:-1].decode("ascii")

    def _pop_to_mark(self) -> list[Pickled]:
        """Take off the stack what was put there since the last mark, and return it."""
        start = self._marks.pop()
        found = self._stack[start:]
        del self._stack[start:]
        return found

    def _extend(self, items: list[Pickled]) -> None:
        self._stack[-1].extend(items)

    def _update(self, items: list[Pickled]) -> None:
        """Put items, keys and values in turn, into the dict on the stack.

        The dict of a training gets them all at once.
        """
        one = self._stack[-1]
        one.update(zip(items[::2], items[1::2], strict=True))
        if "eval_acc1es" in one:
            last = f"@{int(one['epochs']) - 1}"
            accuracies = {sys.intern(name): value for name, value in one["eval_acc1es"].items() if name.endswith(last)}
            kept = {"epochs": one["epochs"], "eval_acc1es": accuracies}
            one.clear()
            one.update(kept)
            for place in self._passing:
                self._memo.pop(place, None)
            self._passing.clear()

    def _build(self, state: Pickled) -> None:
        one = self._stack[-1]
        if not isinstance(one, np.dtype):
            raise pickle.UnpicklingError(f"it sets the state of {type(one).__name__}, which numbers do not need")
        one.__setstate__(state)  # type: ignore[attr-defined]

    def _remember(self, place: int) -> None:
        one = self._stack[-1]
        self._memo[place] = one
        if isinstance(one, dict | list | bytes | np.generic) or (isinstance(one, str) and "@" in one):
            self._passing.append(place)

    def _recall(self, place: int) -> Pickled:
        if place not in self._memo:
            raise pickle.UnpicklingError("it refers to what is in a training before, which is forgotten by then")
        return self._memo[place]
